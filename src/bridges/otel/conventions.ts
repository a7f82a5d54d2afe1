import type { SpanName, TelemetryEvent } from '../../core/base/telemetry.ts'
import type { ErrorData } from '../../core/types/error-data.ts'
import { defined } from '../../core/types/guards.ts'
import type { OtelAttributes, OtelContext, OtelHistogram, OtelMeter } from './shapes.ts'

/** The start of a span of the library. */
export type StartEvent = Extract<TelemetryEvent, { phase: 'start' }>

/** The end of one, whatever came of it. */
export type EndEvent = Extract<TelemetryEvent, { phase: 'stop' | 'error' }>

/** What a span of the library is in the words of OpenTelemetry. */
export interface Operation {
  /** `gen_ai.operation.name`. Absent for work that the conventions have no word for. */
  readonly name?: string
  /** 0 is internal, 2 is a client. */
  readonly kind: 0 | 2
}

const agent: Operation = { name: 'invoke_agent', kind: 0 }

/**
 * The operation that a span is; `undefined` for one that OpenTelemetry is not told about. A step of a chat is a part of its agent. A single
 * call is the model call in it.
 */
const operations: Readonly<Record<SpanName, Operation | undefined>> = {
  chat: agent,
  step: agent,
  stream: { name: 'chat', kind: 2 },
  tool: { name: 'execute_tool', kind: 0 },
  image: { name: 'generate_content', kind: 2 },
  embed: { name: 'embeddings', kind: 2 },
  speak: { name: 'generate_content', kind: 2 },
  transcribe: { name: 'generate_content', kind: 2 },
  moderate: { kind: 2 },
  rerank: { kind: 2 },
  advance: { kind: 0 },
  generate: undefined,
}

/** The operation of a span, which depends on the span that it is part of. */
export function operationOf(
  { name }: StartEvent,
  parent: SpanName | undefined,
): Operation | undefined {
  return name === 'step' && parent === 'chat' ? undefined : operations[name]
}

/** The name of a span: its operation and what it works with. A tool that does not exist is not named: models invent them. */
export function spanName(
  event: StartEvent,
  { name, kind }: Operation,
  known: OtelAttributes,
): string {
  const tool = event.toolDescription === undefined ? undefined : event.toolName
  const subject = kind === 2 ? event.model : (tool ?? known['gen_ai.agent.name'])
  return [name ?? event.name, subject].filter(Boolean).join(' ')
}

/** What comes out of spans that are not chat. */
const outputTypes: Partial<Readonly<Record<SpanName, string>>> = {
  image: 'image',
  speak: 'speech',
  transcribe: 'text',
}

/** A text if it is a word, as names and codes are. Anything else may be what somebody wrote. */
export function wordOr<Other>(text: string, other: Other): string | Other {
  return /^[\w.:-]{1,64}$/.test(text) ? text : other
}

/** What is known of a span when it starts. With `content` also the name of a tool that a model has made up. */
export function startAttributes(
  event: StartEvent,
  operation: Operation,
  content: boolean,
): OtelAttributes {
  const { name, settings = {}, toolName } = event
  const isKnown = event.toolDescription !== undefined || content
  const { stopSequences, responseFormat: format } = settings
  return defined<OtelAttributes>({
    ...commonAttributes(event, operation),
    'gen_ai.agent.name': operation.name === agent.name ? event.agent : undefined,
    'gen_ai.conversation.id': event.sessionId,
    'gen_ai.output.type': outputTypes[name] ?? (format && (format === 'text' ? format : 'json')),
    'gen_ai.request.stream': name === 'stream' ? true : undefined,
    'gen_ai.request.temperature': settings.temperature,
    'gen_ai.request.top_p': settings.topP,
    'gen_ai.request.top_k': settings.topK,
    'gen_ai.request.max_tokens': settings.maxTokens,
    'gen_ai.request.stop_sequences': stopSequences && [...stopSequences],
    'gen_ai.request.seed': settings.seed,
    'gen_ai.request.presence_penalty': settings.presencePenalty,
    'gen_ai.request.frequency_penalty': settings.frequencyPenalty,
    'gen_ai.tool.name': toolName === undefined || isKnown ? toolName : wordOr(toolName, undefined),
    'gen_ai.tool.call.id': event.toolCallId,
    'gen_ai.tool.description': event.toolDescription,
    'gen_ai.tool.type': name === 'tool' ? 'function' : undefined,
  })
}

/** What is known of a span when it ends. */
export function endAttributes(event: EndEvent): OtelAttributes {
  const { finishReason, timeToFirstChunkMs: firstMs, usage } = event
  return defined<OtelAttributes>({
    // A fallback may have asked another one than the first.
    'gen_ai.provider.name': providerName(event.provider),
    'gen_ai.response.id': event.responseId,
    'gen_ai.response.model': event.responseModel,
    'gen_ai.response.finish_reasons': finishReason === undefined ? undefined : [finishReason],
    'gen_ai.response.time_to_first_chunk': firstMs === undefined ? undefined : firstMs / 1000,
    'gen_ai.usage.input_tokens': usage?.inputTokens,
    'gen_ai.usage.output_tokens': usage?.outputTokens,
    'gen_ai.usage.cache_read.input_tokens': usage?.cachedInputTokens,
    'gen_ai.usage.cache_creation.input_tokens': usage?.cacheWriteInputTokens,
    'gen_ai.usage.reasoning.output_tokens': usage?.reasoningTokens,
    'error.type': errorType(event),
  })
}

/** Why a span did not end by itself. A cancellation has a type too, so that it can be found and told from an answer. */
function errorType(event: EndEvent): string | undefined {
  if (event.phase === 'error') return event.error.reason
  return event.haltedReason === 'cancelled' ? event.haltedReason : undefined
}

/** What is known of a failure. */
export function errorAttributes({ reason, status }: ErrorData): OtelAttributes {
  return defined<OtelAttributes>({ 'error.type': reason, 'http.response.status_code': status })
}

/** What spans and metrics have in common. */
function commonAttributes(
  { provider, model, server }: StartEvent | EndEvent,
  operation: Operation,
): OtelAttributes {
  const url = server === undefined ? undefined : new URL(server)
  return {
    'gen_ai.operation.name': operation.name,
    'gen_ai.provider.name': providerName(provider),
    'gen_ai.request.model': model,
    'server.address': url?.hostname,
    'server.port': url && Number(url.port || (url.protocol === 'http:' ? 80 : 443)),
  }
}

/** The name of a provider in the conventions. Models of the AI SDK name their API behind a dot. */
function providerName(provider: string | undefined): string | undefined {
  const [company = '', service] = provider?.split('.') ?? []
  return providers[`${company}.${service}`] ?? providers[company] ?? provider
}

/** The providers that the conventions name, by their names in the library and in the AI SDK. */
const providers: Readonly<Record<string, string>> = {
  'amazon-bedrock': 'aws.bedrock',
  anthropic: 'anthropic',
  'anthropic-bedrock': 'aws.bedrock',
  'anthropic-vertex': 'gcp.vertex_ai',
  azure: 'azure.ai.openai',
  cohere: 'cohere',
  deepseek: 'deepseek',
  gemini: 'gcp.gemini',
  'gemini-vertex': 'gcp.vertex_ai',
  google: 'gcp.gemini',
  'google.vertex': 'gcp.vertex_ai',
  groq: 'groq',
  mistral: 'mistral_ai',
  openai: 'openai',
  perplexity: 'perplexity',
  xai: 'x_ai',
}

/** Records the metrics of a model call that has ended. Other spans have none: their tokens are those of the calls in them. */
export function recorder(
  meter: OtelMeter,
): (event: EndEvent, operation: Operation, context: OtelContext) => void {
  const histogram = (name: string, unit: string, base: number, first: number): OtelHistogram =>
    meter.createHistogram(`gen_ai.client.${name}`, {
      unit,
      // The bounds of the conventions: each is `base` times the one before.
      advice: {
        explicitBucketBoundaries: Array.from({ length: 14 }, (_, power) => first * base ** power),
      },
    })
  const tokens = histogram('token.usage', '{token}', 4, 1)
  const duration = histogram('operation.duration', 's', 2, 0.01)
  const firstChunk = histogram('operation.time_to_first_chunk', 's', 2, 0.01)
  return (event, operation, context) => {
    if (operation.kind !== 2) return
    const { usage, timeToFirstChunkMs: firstMs } = event
    const common: OtelAttributes = {
      ...commonAttributes(event, operation),
      'gen_ai.response.model': event.responseModel,
    }
    const record = (histogram: OtelHistogram, value: number, more: OtelAttributes = {}): void =>
      histogram.record(value, defined<OtelAttributes>({ ...common, ...more }), context)
    const count = (type: string, used: number | undefined): void => {
      if (used !== undefined) record(tokens, used, { 'gen_ai.token.type': type })
    }
    count('input', usage?.inputTokens)
    count('output', usage?.outputTokens)
    record(duration, event.durationMs / 1000, { 'error.type': errorType(event) })
    if (firstMs !== undefined) record(firstChunk, firstMs / 1000)
  }
}
