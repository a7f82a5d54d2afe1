import type { AnswerForms } from '../../core/answer/answer-text.ts'
import { EngineError } from '../../core/errors/errors.ts'
import { mergeOptions, optionsFor } from '../../core/messages/provider-options.ts'
import { anthropicFormat, anthropicStrict } from '../../core/schema/dialects.ts'
import { assertNever, defined, isObject } from '../../core/types/guards.ts'
import type { JsonObject, JsonValue } from '../../core/types/json.ts'
import type { Message } from '../../core/types/message.ts'
import type { ProviderOptions } from '../../core/types/provider-options.ts'
import type {
  ModelRequest,
  PromptCache,
  ReasoningEffort,
  ReasoningOptions,
  ResponseFormat,
  ToolChoice,
  ToolSpec,
} from '../../core/types/request.ts'
import type { Warn } from '../../core/types/warning.ts'
import { asList, asObject } from '../shared/read-json.ts'
import { leaveOut, notTogether, otherEffort, type BodyOf } from '../shared/request-body.ts'
import { requestSchemas, type RequestSchemas } from '../shared/schemas.ts'
import { modelTraits, type ModelTraits } from './model-traits.ts'
import { ownOptions, renderMessages, wireName } from './render-messages.ts'

/** What the rendering depends on besides the request. */
interface RenderContext {
  readonly provider: string
  /** The `anthropic-version` that is sent. */
  readonly version: string
  /** Told about every setting that is left out, or of which the nearest is sent. */
  readonly warn: Warn
}

/** A request for the Messages API, without `stream`. */
interface RenderedRequest {
  readonly body: JsonObject
  /** The forms in which the schemas are sent. */
  readonly forms: AnswerForms
}

/** Renders a request, whose images and files were checked before. */
export function renderRequest(request: ModelRequest, context: RenderContext): RenderedRequest {
  const { provider, version, warn } = context
  const {
    // A call without one is refused before.
    model = '',
    messages,
    tools,
    parallelToolCalls,
    temperature,
    topP,
    topK,
    maxTokens,
    stopSequences,
    responseFormat,
    reasoning,
    promptCache,
    providerOptions,
  } = request
  const traits = modelTraits(model)
  const schemas = requestSchemas(provider, warn)
  const structured = structuredOutput(responseFormat, tools, traits, { model, schemas })
  const options = optionsFor('anthropic', provider, providerOptions)
  const max_tokens = maxTokens ?? traits.maxTokens
  const choice =
    tools.length === 0 && structured.by !== 'tool'
      ? declaredTools(messages, providerOptions)
      : renderTools(renderSpecs(request, traits, { schemas, provider }), request.toolChoice, {
          traits,
          structured,
          hosted: asList(options['tools']).length > 0,
        })
  const thought = renderReasoning(reasoning, traits, max_tokens, choice.forced)
  const own = ownThinking(options, choice.forced)
  if (own.problem !== undefined)
    warn('providerOptions.anthropic.thinking', `${model} ${own.problem}`)
  const thinking = own.type ?? thought.thinking?.['type']
  const isThinking = thinking === 'enabled' || thinking === 'adaptive'
  const samples = traits.sampling && version < withoutSampling && !isThinking
  const cache = promptCache === true ? {} : promptCache
  leaveOut(request, ['seed', 'presencePenalty', 'frequencyPenalty'], context)
  if (cache?.key !== undefined) warn('promptCache.key', `${model} takes no promptCache.key`)
  const when = isThinking ? ' while it reasons' : ''
  if (!samples) leaveOut(request, ['temperature', 'topP', 'topK'], context, when)
  else if (temperature !== undefined) {
    if (temperature > 1) warn('temperature', 'the highest is 1, which is sent')
    if (traits.oneSampler) leaveOut(request, ['topP'], context, ' together with a temperature')
  }
  const takesTopP = samples && !(traits.oneSampler && temperature !== undefined)
  if (choice.isLeftOut) warn('toolChoice', `${model} cannot be forced to call a tool`)
  if (thought.problem !== undefined) warn('reasoning', `${model} ${thought.problem}`)
  const format = structured.by === 'format' ? structured.format : undefined
  const rendered = renderMessages(messages, { provider, prefill: traits.prefill && !isThinking })
  if (format !== undefined && asList(rendered.messages).some(hasCitations)) {
    throw notTogether(provider, 'citations', 'responseFormat')
  }
  const body = defined<JsonObject>({
    model,
    max_tokens,
    ...rendered,
    temperature: samples && temperature !== undefined ? Math.min(temperature, 1) : undefined,
    top_p: takesTopP ? topP : undefined,
    top_k: samples ? topK : undefined,
    stop_sequences: stopSequences,
    tools: choice.tools,
    tool_choice: oneCallOnly(choice, parallelToolCalls),
    thinking: thought.thinking,
    output_config: outputConfig(thought.effort, format),
    cache_control: cache && cacheControl(cache),
  } satisfies Parameters)
  return {
    body: withProviderOptions(body, own.options),
    forms: schemas.forms,
  }
}

type Parameters = BodyOf<{
  model: 'model'
  messages: 'messages'
  tools: 'tools'
  toolChoice: 'tool_choice'
  parallelToolCalls: 'tool_choice'
  temperature: 'temperature'
  topP: 'top_p'
  topK: 'top_k'
  maxTokens: 'max_tokens'
  stopSequences: 'stop_sequences'
  responseFormat: 'output_config' | 'tools'
  reasoning: 'thinking' | 'output_config'
  promptCache: 'cache_control'
  // Left out, with a warning.
  seed: never
  presencePenalty: never
  frequencyPenalty: never
  // Merged over the whole body later.
  providerOptions: never
  // Never sent.
  metadata: never
}>

/** Whether a message or a block asks for citations of one of its documents. */
function hasCitations(value: JsonValue): boolean {
  const { citations, content } = asObject(value) ?? {}
  return asObject(citations)?.['enabled'] === true || asList(content).some(hasCitations)
}

/** The choice of tools, for an answer of one call if parallel calls are not wanted. */
function oneCallOnly(
  { tools, toolChoice }: RenderedTools,
  parallel: boolean | undefined,
): JsonObject | undefined {
  if (parallel !== false || tools === undefined || toolChoice?.['type'] === 'none') {
    return toolChoice
  }
  return { type: 'auto', ...toolChoice, disable_parallel_tool_use: true }
}

/** The first version of the API without `temperature`. */
const withoutSampling = '2026-10-21'

function outputConfig(
  effort: string | undefined,
  format: JsonObject | undefined,
): JsonObject | undefined {
  if (effort === undefined && format === undefined) return undefined
  return defined<JsonObject>({ effort, format })
}

/** One mark for the whole prompt; the API puts it on the last block that can be cached. */
function cacheControl({ retention }: Exclude<PromptCache, true>): JsonObject {
  return { type: 'ephemeral', ...(retention === 'long' ? { ttl: '1h' } : {}) }
}

/** What the options of the caller say about thinking. */
interface OwnThinking {
  /** The type of thinking that they ask for, in place of what `reasoning` asks for. */
  readonly type?: JsonValue | undefined
  /** Why it is left out. */
  readonly problem?: string
  /** The options to send. */
  readonly options: JsonObject
}

/** As with `reasoning`, a forced call excludes thinking. Options that choose the tool as well are sent as they are. */
function ownThinking(options: JsonObject, forced: boolean): OwnThinking {
  const { thinking, ...rest } = options
  const type = isObject(thinking) ? thinking['type'] : undefined
  const isOff = type === undefined || type === 'disabled'
  if (isOff || !forced || 'tool_choice' in rest) return { type, options }
  return { problem: notForced, options: rest }
}

/** The body with the options of the caller merged over it. */
function withProviderOptions(body: JsonObject, options: JsonObject): JsonObject {
  const merged = mergeOptions(body, options)
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

interface ToolsContext {
  readonly traits: ModelTraits
  readonly structured: StructuredOutput
  /** Whether the provider runs some of the tools. */
  readonly hosted: boolean
}

/** Renders tools and choice. A forced choice that the model refuses is left out. */
function renderTools(
  tools: readonly JsonObject[],
  toolChoice: ToolChoice | undefined,
  { traits, structured, hosted }: ToolsContext,
): RenderedTools {
  if (structured.by === 'tool') return withAnswerTool(tools, toolChoice, structured.tool, hosted)
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

function renderSpecs(
  { tools }: ModelRequest,
  traits: ModelTraits,
  { schemas, provider }: { readonly schemas: RequestSchemas; readonly provider: string },
): readonly JsonObject[] {
  return tools.map((spec, index): JsonObject => {
    const { name, description } = spec
    const dialect = spec.strict === true && traits.structuredOutput ? anthropicStrict : 'plain'
    const { schema, strict } = schemas.tool(spec, index, dialect)
    return {
      name,
      ...(description === '' ? {} : { description }),
      input_schema: schema,
      ...(strict ? { strict } : {}),
      ...ownOptions(spec, provider),
    }
  })
}

/** The answer is one more tool: the only one that may be called, or one of those that must be called, `hosted` ones included. */
function withAnswerTool(
  tools: readonly JsonObject[],
  toolChoice: ToolChoice = 'auto',
  answer: JsonObject,
  hosted: boolean,
): RenderedTools {
  const rendered = { forced: true, isLeftOut: false }
  const all = [...tools, answer]
  if ((tools.length === 0 && !hosted) || toolChoice === 'none') {
    return { ...rendered, tools: all, toolChoice: { type: 'tool', name: answer['name'] ?? '' } }
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
  | { readonly by: 'tool'; readonly tool: JsonObject }

/**
 * Decides how a request's `responseFormat` is requested.
 *
 * A schema is sent as `output_config.format` to models that have it. For other models, for a schema that the format cannot
 * express, and for JSON of any shape, a tool is forced instead. A model that has neither refuses the format by name.
 */
function structuredOutput(
  responseFormat: ResponseFormat | undefined,
  tools: readonly ToolSpec[],
  traits: ModelTraits,
  { model, schemas }: { readonly model: string; readonly schemas: RequestSchemas },
): StructuredOutput {
  switch (responseFormat?.type) {
    case undefined:
    case 'text':
      return { by: 'nothing' }
    case 'json_schema': {
      const { name, schema } = responseFormat
      const byTool = (reason?: unknown): StructuredOutput => {
        if (!traits.forcedTools) throw reason
        const input_schema = schemas.answer(schema, 'plain', reason).schema
        const tool = { ...schemas.answerTool(`respond_with_${name}`, tools), input_schema }
        return { by: 'tool', tool }
      }
      if (!traits.structuredOutput) return byTool()
      try {
        const lowered = schemas.answer(schema, anthropicFormat)
        return { by: 'format', format: { type: 'json_schema', schema: lowered.schema } }
      } catch (error) {
        return byTool(error)
      }
    }
    case 'json_object': {
      if (traits.forcedTools) {
        const input_schema = { type: 'object' }
        const tool = { ...schemas.answerTool('respond_with_json', tools), input_schema }
        return { by: 'tool', tool }
      }
      const message = `${model} has no JSON mode: set responseFormat to a jsonSchema(…)`
      throw new EngineError('unsupported_response_format', message)
    }
    default:
      return assertNever(responseFormat)
  }
}

/** The settings of thinking, as the API has them. */
interface RenderedReasoning {
  readonly thinking?: JsonObject
  /** For `output_config`. */
  readonly effort?: string
  /** Why the model does not take the setting as it is. The nearest is sent, or none. */
  readonly problem?: string | undefined
}

type Thinking = Exclude<ReasoningEffort, 'none'>

/** The budgets in tokens. A budget is at most three quarters of `maxTokens`: the rest is for the answer. */
const budgets: Readonly<Record<Thinking, number>> = {
  minimal: 1024,
  low: 4096,
  medium: 12_288,
  high: 24_000,
  max: 48_000,
}

const notForced = 'does not reason before a forced call'

/** The smallest budget that the API takes. */
const leastBudget = 1024

/** Renders `reasoning`: an effort for the models with adaptive thinking, a budget for older ones. A forced call excludes thinking. */
function renderReasoning(
  reasoning: ReasoningOptions | undefined,
  traits: ModelTraits,
  maxTokens: number,
  forced: boolean,
): RenderedReasoning {
  if (reasoning === undefined) return {}
  const { effort } = reasoning
  if (effort === 'none') return renderOff(traits)
  switch (traits.thinking) {
    case 'none':
      return { problem: otherEffort(effort, 'none') }
    case 'adaptive': {
      const nearest = effort === 'minimal' ? 'low' : effort
      if (forced) return { effort: nearest, problem: notForced }
      const thinking = { type: 'adaptive', ...renderDisplay(reasoning) }
      return { thinking, effort: nearest, problem: otherEffort(effort, nearest) }
    }
    case 'budget': {
      if (forced) return { problem: notForced }
      const wanted = budgets[effort]
      const room = Math.min(wanted, Math.floor(maxTokens * 0.75))
      const budget_tokens = room < leastBudget ? 0 : room
      const sent = budget_tokens === wanted ? effort : `${budget_tokens} tokens`
      const problem = otherEffort(effort, sent)
      if (budget_tokens === 0) return { problem }
      return { thinking: { type: 'enabled', budget_tokens, ...renderDisplay(reasoning) }, problem }
    }
    default:
      return assertNever(traits.thinking)
  }
}

function renderOff({ thinkingOff }: ModelTraits): RenderedReasoning {
  switch (thinkingOff) {
    case 'omit':
      return {}
    case 'disabled':
    case 'between_tools':
      return { thinking: { type: thinkingOff } }
    case 'low_effort':
      return { effort: 'low', problem: otherEffort('none', 'low') }
    default:
      return assertNever(thinkingOff)
  }
}

/** `summary` decides whether thinking is shown. Without it, the model's default applies. */
function renderDisplay({ summary }: ReasoningOptions): JsonObject {
  return summary === undefined ? {} : { display: summary ? 'summarized' : 'omitted' }
}
