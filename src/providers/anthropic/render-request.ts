import { EngineError } from '../../errors/errors.ts'
import { parseObject } from '../../make/message-builder.ts'
import { assertNever, defined, isObject } from '../../types/guards.ts'
import type { JsonObject, JsonValue, ProviderOptions } from '../../types/json.ts'
import type { Message } from '../../types/message.ts'
import type {
  ModelRequest,
  PromptCache,
  ReasoningEffort,
  ReasoningOptions,
  ResponseFormat,
  ToolChoice,
  ToolSpec,
} from '../../types/request.ts'
import { mergeOptions } from '../shared/merge-options.ts'
import { modelTraits, type ModelTraits } from './model-traits.ts'
import { renderMessages, wireName } from './render-messages.ts'
import { strictSchema } from './strict-schema.ts'

/** What the rendering depends on besides the request. */
interface RenderContext {
  readonly provider: string
  /** The `anthropic-version` that is sent. */
  readonly version: string
}

/** A request for the Messages API, without `stream`. */
interface RenderedRequest {
  readonly body: JsonObject
  /** The tool whose arguments are the answer, when the response format is requested that way. */
  readonly answerTool?: AnswerTool
  /** The fields of the request that this model does not take as they are. They are left out, or the nearest is sent. */
  readonly leftOut: readonly string[]
}

/** Renders a request. Images in files must be read before. */
export function renderRequest(request: ModelRequest, context: RenderContext): RenderedRequest {
  const { provider, version } = context
  const {
    model,
    messages,
    tools,
    toolChoice,
    temperature,
    maxTokens,
    responseFormat,
    reasoning,
    promptCache,
    providerOptions,
    metadata: _notSent,
    ...undecided
  } = request
  // A new field of ModelRequest is a compile error here until this function decides about it.
  undecided satisfies Readonly<Record<string, never>>
  if (model === undefined) {
    throw new EngineError('missing_model', `${provider} needs a model: set model`, { provider })
  }
  const traits = modelTraits(model)
  const structured = structuredOutput(responseFormat, tools, traits, model)
  const max_tokens = maxTokens ?? traits.maxTokens
  const choice =
    tools.length === 0 && structured.by !== 'tool'
      ? declaredTools(messages, providerOptions)
      : renderTools(tools, toolChoice, traits, structured)
  const thought = renderReasoning(reasoning, traits, max_tokens, choice.forced)
  const thinking = thought.thinking?.['type']
  const isThinking = thinking === 'enabled' || thinking === 'adaptive'
  const takesTemperature = traits.sampling && version < withoutSampling && !isThinking
  const sentTemperature = takesTemperature ? cappedTemperature(temperature) : undefined
  const format = structured.by === 'format' ? structured.format : undefined
  const body = defined<JsonObject>({
    model,
    max_tokens,
    ...renderMessages(messages, { provider, prefill: traits.prefill && !isThinking }),
    temperature: sentTemperature,
    tools: choice.tools,
    tool_choice: choice.toolChoice,
    thinking: thought.thinking,
    output_config: outputConfig(thought.effort, format),
    cache_control: cacheControl(promptCache),
  })
  return defined<RenderedRequest>({
    body: withProviderOptions(body, providerOptions, provider),
    answerTool: structured.by === 'tool' ? structured.tool : undefined,
    leftOut: [
      ...(sentTemperature === temperature ? [] : ['temperature']),
      ...(choice.isLeftOut ? ['toolChoice'] : []),
      ...(thought.isLeftOut ? ['reasoning'] : []),
    ],
  })
}

/** The first version of the API without `temperature`. */
const withoutSampling = '2026-10-21'

/** The maximum of other providers is 2; here it is 1. */
function cappedTemperature(temperature: number | undefined): number | undefined {
  return temperature === undefined ? undefined : Math.min(temperature, 1)
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

/** Merges the options of the protocol, then those under the adapter's own name when it has another. They override the body. */
function withProviderOptions(
  body: JsonObject,
  options: ProviderOptions,
  provider: string,
): JsonObject {
  const merged = withOptions(body, options.anthropic)
  return provider === 'anthropic' ? merged : withOptions(merged, options[provider])
}

function withOptions(body: JsonObject, options: JsonObject | undefined): JsonObject {
  const merged = mergeOptions(body, options, { addedTo: ['tools'], objects: 'same_type' })
  const { tool_choice } = merged
  // The API requires a type here, also when the options only set `disable_parallel_tool_use`.
  return isObject(tool_choice)
    ? { ...merged, tool_choice: { type: 'auto', ...tool_choice } }
    : merged
}

/** The tools of a request and how the model has to choose among them. */
interface RenderedTools {
  readonly tools?: readonly JsonObject[]
  readonly toolChoice?: JsonObject
  /** Whether a call is forced, which the API does not allow together with thinking. */
  readonly forced: boolean
  /** Whether the request forces a call and the model does not take that. */
  readonly isLeftOut: boolean
}

/** Renders tools and choice. A forced choice that the model refuses is left out. */
function renderTools(
  specs: readonly ToolSpec[],
  toolChoice: ToolChoice | undefined,
  traits: ModelTraits,
  structured: StructuredOutput,
): RenderedTools {
  const tools = specs.map((tool) => renderTool(tool, traits.structuredOutput))
  if (structured.by === 'tool') return withAnswerTool(tools, toolChoice, structured.tool)
  const choice = renderChoice(toolChoice)
  const forced = choice !== undefined && choice['type'] !== 'none'
  const isLeftOut = forced && !traits.forcedTools
  return defined<RenderedTools>({
    tools,
    toolChoice: isLeftOut ? undefined : choice,
    forced: forced && !isLeftOut,
    isLeftOut,
  })
}

/** `auto` is the API's default and is not sent. */
function renderChoice(choice: ToolChoice | undefined): JsonObject | undefined {
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

/** The answer is one more tool: the only one that may be called, or one of those that must be called. */
function withAnswerTool(
  tools: readonly JsonObject[],
  toolChoice: ToolChoice = 'auto',
  { name, description, schema }: AnswerTool,
): RenderedTools {
  const rendered = { forced: true, isLeftOut: false }
  const all = [...tools, { name, description, input_schema: schema }]
  if (tools.length === 0 || toolChoice === 'none') {
    return { ...rendered, tools: all, toolChoice: { type: 'tool', name } }
  }
  if (toolChoice === 'auto') return { ...rendered, tools: all, toolChoice: { type: 'any' } }
  // The caller wants one of their own tools first; the answer comes in a later turn.
  return defined<RenderedTools>({ ...rendered, tools, toolChoice: renderChoice(toolChoice) })
}

/** A conversation that contains calls has to declare their tools, also when the request has no tools. */
function declaredTools(messages: readonly Message[], options: ProviderOptions): RenderedTools {
  const rendered = { forced: false, isLeftOut: false }
  const names = new Set<string>()
  for (const { toolCalls = [] } of messages) {
    for (const { name } of toolCalls) names.add(wireName(name, 'unnamed'))
  }
  if (names.size === 0 || options.anthropic?.['tools'] !== undefined) return rendered
  const tools = Array.from(names, (name) => ({ name, input_schema: { type: 'object' } }))
  return { ...rendered, tools, toolChoice: { type: 'none' } }
}

/** How the response format is requested: not at all, by the API's own field, or by a tool whose arguments are the answer. */
type StructuredOutput =
  | { readonly by: 'nothing' }
  | { readonly by: 'format'; readonly format: JsonObject }
  | { readonly by: 'tool'; readonly tool: AnswerTool }

/** The tool whose arguments are the answer. */
export interface AnswerTool {
  readonly name: string
  readonly description: string
  readonly schema: JsonObject
  /** Whether the answer is the member `value` of the arguments, because its schema is not an object's. */
  readonly wrapped: boolean
}

/**
 * Decides how a request's `responseFormat` is requested.
 *
 * A schema is sent as `output_config.format` to models that have it. For other models, and for JSON of any shape, a tool is
 * forced instead. A model that has neither throws `EngineError` `unsupported_response_format`.
 */
function structuredOutput(
  responseFormat: ResponseFormat | undefined,
  tools: readonly ToolSpec[],
  traits: ModelTraits,
  model: string,
): StructuredOutput {
  const byTool = (name: string, schema: JsonObject): StructuredOutput => {
    if (traits.forcedTools) return { by: 'tool', tool: answerTool(name, schema, tools) }
    const message = `${model} has no JSON mode without a schema: set responseFormat to a jsonSchema(…)`
    throw new EngineError('unsupported_response_format', message)
  }
  switch (responseFormat?.type) {
    case undefined:
    case 'text':
      return { by: 'nothing' }
    case 'json_schema': {
      const { name, schema } = responseFormat
      if (!traits.structuredOutput) return byTool(`respond_with_${name}`, schema)
      return { by: 'format', format: { type: 'json_schema', schema: strictSchema(schema) } }
    }
    case 'json_object':
      return byTool('respond_with_json', { type: 'object' })
    default:
      return assertNever(responseFormat)
  }
}

function answerTool(wanted: string, schema: JsonObject, tools: readonly ToolSpec[]): AnswerTool {
  let name = wanted.replaceAll(/[^\w-]/g, '_').slice(0, 60)
  while (tools.some((tool) => tool.name === name)) name += '_'
  const description =
    'Gives the final answer. Call it when the answer is ready, with the answer as its input.'
  if (schema['type'] === 'object') return { name, description, schema, wrapped: false }
  // References start at the root, so the definitions move there.
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

/** The member `value` of a wrapped answer, as JSON. A text that has no such member is returned as it is. */
export function unwrapAnswer(text: string): string {
  const value = parseObject(text)?.['value']
  return value === undefined ? text : JSON.stringify(value)
}

/** The settings of thinking on the wire. */
interface RenderedReasoning {
  readonly thinking?: JsonObject
  /** For `output_config`. */
  readonly effort?: string
  /** Whether the model does not take the setting as it is; the nearest is sent. */
  readonly isLeftOut: boolean
}

type Thinking = Exclude<ReasoningEffort, 'none'>

const efforts: Readonly<Record<Thinking, string>> = {
  minimal: 'low',
  low: 'low',
  medium: 'medium',
  high: 'high',
  max: 'max',
}

/** The budgets in tokens. A budget is at most three quarters of `maxTokens`: the rest is for the answer. */
const budgets: Readonly<Record<Thinking, number>> = {
  minimal: 1024,
  low: 4096,
  medium: 12_288,
  high: 24_576,
  max: 49_152,
}

/** The smallest budget that the API takes. */
const leastBudget = 1024

/** Renders `reasoning`: an effort for the models with adaptive thinking, a budget for older ones. A forced call excludes thinking. */
function renderReasoning(
  reasoning: ReasoningOptions | undefined,
  traits: ModelTraits,
  maxTokens: number,
  forced: boolean,
): RenderedReasoning {
  if (reasoning === undefined) return { isLeftOut: false }
  const { effort } = reasoning
  if (effort === 'none') return renderOff(traits)
  switch (traits.thinking) {
    case 'none':
      return { isLeftOut: true }
    case 'adaptive': {
      if (forced) return { effort: efforts[effort], isLeftOut: true }
      const thinking = { type: 'adaptive', ...renderDisplay(reasoning) }
      return { thinking, effort: efforts[effort], isLeftOut: false }
    }
    case 'budget': {
      const budget_tokens = Math.min(budgets[effort], Math.floor(maxTokens * 0.75))
      if (forced || budget_tokens < leastBudget) return { isLeftOut: true }
      const thinking = { type: 'enabled', budget_tokens, ...renderDisplay(reasoning) }
      return { thinking, isLeftOut: false }
    }
    default:
      return assertNever(traits.thinking)
  }
}

function renderOff({ thinkingOff }: ModelTraits): RenderedReasoning {
  switch (thinkingOff) {
    case 'omit':
      return { isLeftOut: false }
    case 'disabled':
    case 'between_tools':
      return { thinking: { type: thinkingOff }, isLeftOut: false }
    case 'low_effort':
      return { effort: 'low', isLeftOut: true }
    default:
      return assertNever(thinkingOff)
  }
}

/** `summary` decides whether thinking is shown. Without it, the model's default applies. */
function renderDisplay({ summary }: ReasoningOptions): JsonObject {
  return summary === undefined ? {} : { display: summary ? 'summarized' : 'omitted' }
}
