import { EngineError } from '../../errors/errors.ts'
import { modelTraits, type ModelTraits } from './model-traits.ts'
import { renderMessages, wireName } from './render-messages.ts'
import { strictSchema } from './strict-schema.ts'
import { isObject } from './wire.ts'
import { assertNever, defined } from '../../types/guards.ts'
import type { JsonObject, JsonValue } from '../../types/json.ts'
import type {
  ModelRequest,
  PromptCache,
  ReasoningEffort,
  ReasoningOptions,
  ToolSpec,
} from '../../types/request.ts'

/** What the rendering depends on beside the request. */
interface RenderContext {
  readonly provider: string
  /** The `anthropic-version` that is sent. */
  readonly version: string
}

/** A request as the Messages API takes it, save for `stream`. */
interface RenderedRequest {
  readonly body: JsonObject
  /** The tool whose arguments are the answer, when the form is asked for that way. */
  readonly answerTool?: AnswerTool
  /** The fields of the request that this model does not take as they are; they are left out, or the nearest is sent. */
  readonly adjusted: readonly string[]
}

/** The first version of the API without `temperature`. */
const withoutSampling = '2026-10-21'

/** Renders a request. Images in files have been read by now. */
export function renderRequest(request: ModelRequest, context: RenderContext): RenderedRequest {
  const { model } = request
  if (model === undefined) {
    const { provider } = context
    throw new EngineError('missing_model', `${provider} needs a model`, { provider })
  }
  const traits = modelTraits(model)
  const structured = structuredOutput(request, traits)
  const { maxTokens = traits.maxTokens } = request
  const { tools, toolChoice, forced, dropped } = renderTools(request, traits, structured)
  const { thinking, effort, adjusted } = renderReasoning(request.reasoning, {
    traits,
    maxTokens,
    forced,
  })
  const isThinking = thinking?.['type'] === 'enabled' || thinking?.['type'] === 'adaptive'
  const prefill = traits.prefill && !isThinking
  const { system, messages } = renderMessages(request.messages, { ...context, prefill })
  const sampling = traits.sampling && context.version < withoutSampling && !isThinking
  const temperature = sampling ? renderTemperature(request) : undefined
  const body = defined<JsonObject>({
    model,
    max_tokens: maxTokens,
    system,
    messages,
    temperature,
    tools,
    tool_choice: toolChoice,
    thinking,
    output_config: outputConfig(effort, structured.by === 'format' ? structured.format : undefined),
    cache_control: cacheControl(request.promptCache),
  })
  return defined<RenderedRequest>({
    body: withProviderOptions(body, request, context.provider),
    answerTool: structured.by === 'tool' ? structured.tool : undefined,
    adjusted: [
      ...(temperature === request.temperature ? [] : ['temperature']),
      ...(dropped ? ['toolChoice'] : []),
      ...(adjusted ? ['reasoning'] : []),
    ],
  })
}

/** Other providers count to 2; here 1 is the most. */
function renderTemperature({ temperature }: ModelRequest): number | undefined {
  return temperature === undefined ? undefined : Math.min(temperature, 1)
}

/** The options of the protocol, then those under the adapter's own name when it has another. */
function withProviderOptions(
  body: JsonObject,
  { providerOptions }: ModelRequest,
  provider: string,
): JsonObject {
  const merged = mergeOptions(body, providerOptions.anthropic ?? {})
  return provider === 'anthropic' ? merged : mergeOptions(merged, providerOptions[provider] ?? {})
}

function outputConfig(
  effort: string | undefined,
  format: JsonObject | undefined,
): JsonObject | undefined {
  if (effort === undefined && format === undefined) return undefined
  return defined<JsonObject>({ effort, format })
}

/** One mark for the whole prompt; the API puts it on the last block that can be cached. */
function cacheControl(promptCache: PromptCache | undefined): JsonObject | undefined {
  if (promptCache === undefined) return undefined
  const isLong = promptCache !== true && promptCache.retention === 'long'
  return { type: 'ephemeral', ...(isLong ? { ttl: '1h' } : {}) }
}

/** The tools of a request and how the model has to choose among them. */
interface RenderedTools {
  readonly tools?: readonly JsonObject[]
  readonly toolChoice?: JsonObject
  /** A call is forced, which the API does not allow together with thinking. */
  readonly forced: boolean
  /** The request forces a call and the model does not take that. */
  readonly dropped: boolean
}

/** Renders tools and choice. A forced choice that the model refuses is left out, and said so. */
function renderTools(
  request: ModelRequest,
  traits: ModelTraits,
  structured: StructuredOutput,
): RenderedTools {
  const tools = request.tools.map((tool) => renderTool(tool, traits.structuredOutput))
  if (structured.by === 'tool') return withAnswerTool(request, tools, structured.tool)
  if (tools.length === 0) return withoutTools(request)
  const choice = renderChoice(request.toolChoice)
  const forced = choice !== undefined && choice['type'] !== 'none'
  const dropped = forced && !traits.forcedTools
  return defined<RenderedTools>({
    tools,
    toolChoice: dropped ? undefined : choice,
    forced: forced && !dropped,
    dropped,
  })
}

/** `auto` is the API's default and is not written. */
function renderChoice(choice: string | undefined): JsonObject | undefined {
  switch (choice) {
    case undefined:
    case 'auto':
      return undefined
    case 'none':
      return { type: 'none' }
    case 'required':
      return { type: 'any' }
    default:
      return { type: 'tool', name: choice }
  }
}

function renderTool(
  { name, description, schema, strict }: ToolSpec,
  canBeStrict: boolean,
): JsonObject {
  const isStrict = strict === true && canBeStrict
  const input_schema = { ...(isStrict ? strictSchema(schema) : schema), type: 'object' }
  return {
    name,
    ...(description === '' ? {} : { description }),
    input_schema,
    ...(isStrict ? { strict: true } : {}),
  }
}

/** The answer is one more tool: the only one that may be called, or one among those that must be. */
function withAnswerTool(
  { toolChoice = 'auto' }: ModelRequest,
  tools: readonly JsonObject[],
  { name, description, schema }: AnswerTool,
): RenderedTools {
  const rendered = { forced: true, dropped: false }
  const all = [...tools, { name, description, input_schema: schema }]
  if (tools.length === 0 || toolChoice === 'none') {
    return { ...rendered, tools: all, toolChoice: { type: 'tool', name } }
  }
  if (toolChoice === 'auto') return { ...rendered, tools: all, toolChoice: { type: 'any' } }
  // The caller wants one of their own tools first; the answer comes in a later turn.
  return defined<RenderedTools>({ ...rendered, tools, toolChoice: renderChoice(toolChoice) })
}

/** A conversation with calls in it has to declare their tools, also when none may be called any more. */
function withoutTools({ messages, providerOptions }: ModelRequest): RenderedTools {
  const rendered = { forced: false, dropped: false }
  const names = new Set<string>()
  for (const { toolCalls = [] } of messages) {
    for (const { name } of toolCalls) names.add(wireName(name, 'unnamed'))
  }
  if (names.size === 0 || providerOptions.anthropic?.['tools'] !== undefined) return rendered
  const tools = Array.from(names, (name) => ({ name, input_schema: { type: 'object' } }))
  return { ...rendered, tools, toolChoice: { type: 'none' } }
}

/** How the form of an answer is asked for: not at all, by the API's own field, or by a tool that stands for the answer. */
type StructuredOutput =
  | { readonly by: 'nothing' }
  | { readonly by: 'format'; readonly format: JsonObject }
  | { readonly by: 'tool'; readonly tool: AnswerTool }

/** The tool whose arguments are the answer. */
export interface AnswerTool {
  readonly name: string
  readonly description: string
  readonly schema: JsonObject
  /** The schema is not of an object, so the answer is the member `value` of the arguments. */
  readonly wrapped: boolean
}

/**
 * Decides how a request's `responseFormat` is asked for.
 *
 * A schema goes by `output_config.format` where the model has it. Elsewhere, and for JSON of any shape, a tool is forced
 * instead; a model that has neither throws `EngineError` `unsupported_response_format`.
 */
function structuredOutput(
  { responseFormat, tools, model }: ModelRequest,
  traits: ModelTraits,
): StructuredOutput {
  if (responseFormat === undefined || responseFormat.type === 'text') return { by: 'nothing' }
  const isSchema = responseFormat.type === 'json_schema'
  if (isSchema && traits.structuredOutput) {
    const schema = strictSchema(responseFormat.schema)
    return { by: 'format', format: { type: 'json_schema', schema } }
  }
  if (!traits.forcedTools) {
    const message = `${model} has no JSON mode without a schema; give responseFormat a jsonSchema(…)`
    throw new EngineError('unsupported_response_format', message)
  }
  let name = isSchema ? `respond_with_${responseFormat.name}` : 'respond_with_json'
  name = name.replaceAll(/[^\w-]/g, '_').slice(0, 60)
  while (tools.some((tool) => tool.name === name)) name += '_'
  const schema = isSchema ? responseFormat.schema : { type: 'object' }
  return { by: 'tool', tool: answerTool(name, schema) }
}

function answerTool(name: string, schema: JsonObject): AnswerTool {
  const description =
    'Gives the final answer. Call it when the answer is ready, with the answer as its input.'
  if (schema['type'] === 'object') return { name, description, schema, wrapped: false }
  // References count from the root, so the definitions move there with it.
  const { $defs, definitions, ...value } = schema
  const wrapper: Record<string, JsonValue> = {
    type: 'object',
    properties: { value },
    required: ['value'],
  }
  if ($defs !== undefined) wrapper['$defs'] = $defs
  if (definitions !== undefined) wrapper['definitions'] = definitions
  return { name, description, schema: wrapper, wrapped: true }
}

/** The answer that a wrapping tool was called with, as JSON; the text itself when it is not what was asked for. */
export function unwrapAnswer(text: string): string {
  try {
    // Whatever the model wrote: JSON.parse makes a JSON value of it, or throws.
    const parsed = JSON.parse(text) as JsonValue
    const value = isObject(parsed) ? parsed['value'] : undefined
    return value === undefined ? text : JSON.stringify(value)
  } catch {
    return text
  }
}

/** How hard a model thinks, in the API's words. */
interface RenderedReasoning {
  readonly thinking?: JsonObject
  /** For `output_config`. */
  readonly effort?: string
  /** The model does not take what was asked for; what comes nearest is sent. */
  readonly adjusted: boolean
}

/** What the rendering depends on. */
interface ReasoningContext {
  readonly traits: ModelTraits
  readonly maxTokens: number
  /** A tool call is forced; the API then refuses thinking. */
  readonly forced: boolean
}

type Thinking = Exclude<ReasoningEffort, 'none'>

const efforts: Readonly<Record<Thinking, string>> = {
  minimal: 'low',
  low: 'low',
  medium: 'medium',
  high: 'high',
  max: 'max',
}

/** Tokens to think with, where the API wants a number. At most three quarters of `maxTokens`: the rest is the answer. */
const budgets: Readonly<Record<Thinking, number>> = {
  minimal: 1024,
  low: 4096,
  medium: 12_288,
  high: 24_576,
  max: 49_152,
}

/** The least that the API takes. */
const leastBudget = 1024

/** Renders `reasoning`: an effort for the models that decide by themselves, a budget for those before them. */
function renderReasoning(
  reasoning: ReasoningOptions | undefined,
  { traits, maxTokens, forced }: ReasoningContext,
): RenderedReasoning {
  if (reasoning === undefined) return { adjusted: false }
  const { effort } = reasoning
  if (effort === 'none') return renderOff(traits)
  if (traits.thinking === 'none') return { adjusted: true }
  if (traits.thinking === 'adaptive') {
    if (forced) return { effort: efforts[effort], adjusted: true }
    const thinking = { type: 'adaptive', ...renderDisplay(reasoning) }
    return { thinking, effort: efforts[effort], adjusted: false }
  }
  const budget_tokens = Math.min(budgets[effort], Math.floor(maxTokens * 0.75))
  if (forced || budget_tokens < leastBudget) return { adjusted: true }
  return {
    thinking: { type: 'enabled', budget_tokens, ...renderDisplay(reasoning) },
    adjusted: false,
  }
}

function renderOff({ thinkingOff }: ModelTraits): RenderedReasoning {
  switch (thinkingOff) {
    case 'omit':
      return { adjusted: false }
    case 'disabled':
    case 'between_tools':
      return { thinking: { type: thinkingOff }, adjusted: false }
    case 'low_effort':
      return { effort: 'low', adjusted: true }
    default:
      return assertNever(thinkingOff)
  }
}

/** Left to the model's default unless the caller says. */
function renderDisplay({ summary }: ReasoningOptions): JsonObject {
  return summary === undefined ? {} : { display: summary ? 'summarized' : 'omitted' }
}

/**
 * Merges `providerOptions` into a body, as the last word.
 *
 * A list of `tools` is added to the request's; an object is merged with the one that is there, unless its `type` is another;
 * anything else takes the place of what was there.
 */
function mergeOptions(body: JsonObject, options: JsonObject): JsonObject {
  const merged: Record<string, JsonValue> = { ...body }
  for (const [key, value] of Object.entries(options))
    merged[key] = mergeMember(key, body[key], value)
  return merged
}

function mergeMember(key: string, ours: JsonValue | undefined, theirs: JsonValue): JsonValue {
  if (key === 'tools' && Array.isArray(ours) && Array.isArray(theirs)) {
    return [...(ours as readonly JsonValue[]), ...(theirs as readonly JsonValue[])] // isArray forgets the items' type.
  }
  if (key === 'tool_choice' && isObject(theirs)) return { type: 'auto', ...sameKind(ours, theirs) }
  return isObject(theirs) ? sameKind(ours, theirs) : theirs
}

function sameKind(ours: JsonValue | undefined, theirs: JsonObject): JsonObject {
  const differ = isObject(ours) && 'type' in theirs && ours['type'] !== theirs['type']
  return isObject(ours) && !differ ? { ...ours, ...theirs } : theirs
}
