import {
  messageBuilder,
  type MessageBuilder,
  type MessageEnd,
} from '../../core/answer/message-builder.ts'
import { AdapterError } from '../../core/errors/errors.ts'
import { defined, setMember } from '../../core/types/guards.ts'
import type { JsonObject, JsonValue } from '../../core/types/json.ts'
import type { Source } from '../../core/types/message.ts'
import type { Usage } from '../../core/types/response.ts'
import type { CallSink } from '../http/answer.ts'
import { asCount, asList, asObject, asText } from '../shared/read-json.ts'
import { judgeFailure, readFailure } from '../shared/reported-failure.ts'

/** A response under way: the builder of its message, and what both endpoints gather beside the message. */
export interface ResponseState {
  readonly sink: CallSink
  readonly message: MessageBuilder
  id: string | undefined
  model: string | undefined
  usage: JsonObject | undefined
  refusal: string
  readonly metadata: Record<string, JsonValue>
  /** The lists of the metadata, which grow. */
  readonly lists: Record<string, JsonValue[]>
  /** The sources that came after their text was complete. */
  readonly lateSources: Source[]
}

export function responseState(sink: CallSink): ResponseState {
  return {
    sink,
    message: messageBuilder(sink),
    id: undefined,
    model: undefined,
    usage: undefined,
    refusal: '',
    metadata: {},
    lists: {},
    lateSources: [],
  }
}

/** Takes the id and the model of the response from the first place that has them. */
export function noteHead(state: ResponseState, head: JsonObject): void {
  state.id ??= asText(head['id'])
  state.model ??= asText(head['model'])
}

/** Adds to a list of the metadata. A list without items is not kept. */
export function noteList(
  { lists }: ResponseState,
  name: string,
  items: JsonValue | undefined,
): void {
  const added = asList(items)
  if (added.length === 0) return
  const known = (lists[name] ??= [])
  for (const item of added) known.push(item)
}

/** Starts the message, unless it has started. To be called before any content is given to the builder. */
export function startMessage({ message, id, model }: ResponseState): void {
  if (!message.started) message.head({ id, model })
}

/** Completes the message. A refusal turns the finish reason `stop` into `content_filter`. */
export function finishMessage(
  state: ResponseState,
  { finishReason, rawFinishReason }: Pick<MessageEnd, 'finishReason' | 'rawFinishReason'>,
): void {
  const { message, sink, usage, refusal } = state
  const { metadata } = state
  for (const [name, list] of Object.entries(state.lists)) setMember(metadata, name, list)
  if (refusal !== '') metadata['refusal'] = refusal
  const requestId = providerRequestId(sink)
  if (requestId !== undefined) metadata['providerRequestId'] = requestId
  startMessage(state)
  const end = {
    finishReason: refusal !== '' && finishReason === 'stop' ? 'content_filter' : finishReason,
    rawFinishReason,
    usage: usage === undefined ? undefined : parseUsage(usage),
    metadata: Object.keys(metadata).length === 0 ? undefined : metadata,
  }
  message.finish(end, state.lateSources)
}

/** The error that a provider reported inside an answer that began as a success. */
export function reportedError({ sink }: ResponseState, value: unknown): AdapterError {
  const reported = readFailure(value)
  const { reason, message, metadata, ...rest } = judgeFailure(sink.provider, reported)
  return new AdapterError(reason, message, {
    status: reported.status,
    ...rest,
    metadata: defined<JsonObject>({ ...metadata, providerRequestId: providerRequestId(sink) }),
  })
}

function providerRequestId({ headers }: CallSink): string | undefined {
  return headers.get('x-request-id') ?? undefined
}

// The names of the counts: those of Chat Completions first, those of Responses second.

const inputNames = ['prompt_tokens', 'input_tokens'] as const

const outputNames = ['completion_tokens', 'output_tokens'] as const

const inputDetails = ['prompt_tokens_details', 'input_tokens_details'] as const

const outputDetails = ['completion_tokens_details', 'output_tokens_details'] as const

/** The members that have a field of `Usage`. */
const lifted: ReadonlySet<string> = new Set([
  ...inputNames,
  ...outputNames,
  'total_tokens',
  'cached_tokens',
  'cache_write_tokens',
  'reasoning_tokens',
])

/**
 * The usage of either endpoint as `Usage`. Members without a field of their own are in `extra`, under their own names.
 *
 * Some servers do not count reasoning as output, which shows in their total; there it is added to the output.
 */
function parseUsage(wire: JsonObject): Usage {
  const input = asObject(first(wire, inputDetails))
  const output = asObject(first(wire, outputDetails))
  const inputTokens = asCount(first(wire, inputNames))
  const reasoningTokens = asCount(output?.['reasoning_tokens'])
  const totalTokens = asCount(wire['total_tokens'])
  let outputTokens = asCount(first(wire, outputNames))
  if (
    outputTokens !== undefined &&
    reasoningTokens !== undefined &&
    reasoningTokens > 0 &&
    totalTokens === (inputTokens ?? 0) + outputTokens + reasoningTokens
  ) {
    outputTokens += reasoningTokens
  }
  return defined<Usage>({
    inputTokens,
    outputTokens,
    totalTokens,
    cachedInputTokens: asCount(input?.['cached_tokens'] ?? wire['prompt_cache_hit_tokens']),
    cacheWriteInputTokens: asCount(input?.['cache_write_tokens']),
    reasoningTokens,
    extra: remainder(wire),
  })
}

function first(wire: JsonObject, names: readonly string[]): JsonValue | undefined {
  for (const name of names) if (wire[name] !== undefined && wire[name] !== null) return wire[name]
  return undefined
}

/** The members that are not lifted, here and in the details. */
function remainder(wire: JsonObject): JsonObject | undefined {
  const rest: Record<string, JsonValue> = {}
  for (const [name, value] of Object.entries(wire)) {
    if (lifted.has(name) || value === null) continue
    const details = asObject(value)
    const kept = details === undefined ? value : remainder(details)
    if (kept !== undefined) setMember(rest, name, kept)
  }
  return Object.keys(rest).length === 0 ? undefined : rest
}
