import { EngineError } from '../../errors/errors.ts'
import { mergeOptions } from './merge-options.ts'
import { modelTraits } from './model-traits.ts'
import { renderMessages } from './render-messages.ts'
import { renderReasoning } from './render-reasoning.ts'
import { renderTools } from './render-tools.ts'
import { structuredOutput, type AnswerTool } from './structured-output.ts'
import { defined } from '../../types/guards.ts'
import type { JsonObject } from '../../types/json.ts'
import type { ModelRequest, PromptCache } from '../../types/request.ts'

/** What the rendering depends on beside the request. */
export interface RenderContext {
  readonly provider: string
  /** The `anthropic-version` that is sent. */
  readonly version: string
}

/** A request as the Messages API takes it, save for `stream`. */
export interface RenderedRequest {
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
