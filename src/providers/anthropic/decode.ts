import {
  messageBuilder,
  parseObject,
  type MessageBuilder,
} from '../../core/answer/message-builder.ts'
import { AdapterError } from '../../core/errors/errors.ts'
import { assertNever, defined, isObject, setMember } from '../../core/types/guards.ts'
import type { JsonObject, JsonValue } from '../../core/types/json.ts'
import type { Source, ToolCall } from '../../core/types/message.ts'
import type { FinishReason, Usage } from '../../core/types/response.ts'
import type { CallSink } from '../http/answer.ts'
import type { AnswerDecoder } from '../http/stream-http.ts'
import { argumentsText, asCount, asObject, asText, asUsage } from '../shared/read-json.ts'
import { errorFacts, parseStreamError, readError } from './failure.ts'
import { callFields, type ReasoningOpaque } from './render-messages.ts'
import { textOf, type WireBlock, type WireDelta, type WireEvent, type WireMessage } from './wire.ts'

/**
 * Makes the decoder of one answer, streamed or whole.
 *
 * Each delta costs one `JSON.parse` and one small object. Events of unknown types are ignored. Blocks of unknown types are
 * kept in the message, so that they can be sent back.
 */
export function messageDecoder(sink: CallSink): AnswerDecoder {
  const builder = messageBuilder(sink)
  const state: DecoderState = {
    sink,
    builder,
    begun: false,
    open: [],
    byIndex: new Map(),
    blocks: 0,
    callIds: new Set(),
    counts: {},
    stopReason: undefined,
    metadata: {},
    citations: [],
  }
  return {
    push(data, name) {
      // Some proxies end the stream as another provider does, or send events without data.
      if (data === '[DONE]' || data === '') return
      // The server may send any JSON; no member is used before its type is checked.
      const event = JSON.parse(data) as WireEvent | null
      if (typeof event !== 'object' || event === null) return
      // An event was made by JSON.parse.
      builder.raw(event as JsonValue)
      decodeEvent(state, event, event.type ?? name ?? (event.error ? 'error' : undefined))
    },
  }
}

/** An answer under way. Its parts and calls are in the builder. */
interface DecoderState {
  readonly sink: CallSink
  readonly builder: MessageBuilder
  /** Whether the message has begun. Its first content emits `message_started`. */
  begun: boolean
  /** The blocks in the order in which they began. The last one has not ended; others may have. */
  readonly open: OpenBlock[]
  /** The blocks that have not ended, by their indexes. */
  readonly byIndex: Map<number, OpenBlock>
  /** The number of blocks so far. */
  blocks: number
  /** The ids of the tool calls so far. */
  readonly callIds: Set<string>
  counts: JsonObject
  stopReason: string | undefined
  readonly metadata: Record<string, JsonValue>
  /** Each with the index of the block that it supports. */
  readonly citations: JsonValue[]
}

function decodeEvent(state: DecoderState, event: WireEvent, type: string | undefined): void {
  switch (type ?? '') {
    case 'content_block_delta':
      growBlock(state, event)
      return
    case 'content_block_start':
      startBlock(state, event.content_block ?? {}, event.index)
      return
    case 'content_block_stop': {
      const block = findBlock(state, event.index)
      if (block !== undefined) completeBlock(state, block)
      return
    }
    case 'message_start':
      startMessage(state, event.message ?? {})
      return
    case 'message_delta':
      growMessage(state, event)
      return
    case 'message_stop':
      completeMessage(state)
      return
    case 'error':
      throw streamError(state.sink, event)
    case 'message':
      decodeWhole(state, event)
      return
    default:
      // Some servers leave out the type of a whole answer.
      if (Array.isArray(event['content'])) decodeWhole(state, event)
  }
}

/** Decodes an answer that came in one piece. A body that is not an answer emits nothing. */
function decodeWhole(state: DecoderState, message: WireMessage): void {
  const { content, error, stop_reason } = message
  if (message.type === 'error' || (content === undefined && error !== undefined)) {
    throw streamError(state.sink, message)
  }
  if (!Array.isArray(content)) return
  startMessage(state, message)
  // A server may send any JSON as a block; isArray forgets the items' type.
  for (const [index, head] of (content as readonly (WireBlock | null)[]).entries()) {
    completeBlock(state, startBlock(state, head ?? {}, index))
  }
  state.stopReason = asText(stop_reason)
  completeMessage(state)
}

/** An error that came inside an answer. */
function streamError(sink: CallSink, event: WireEvent | WireMessage): AdapterError {
  const error = readError(event.error ?? event.message)
  const { reason, message } = parseStreamError(error)
  const metadata = errorFacts(error, requestIdIn(sink) ?? event.request_id)
  return new AdapterError(reason, message, { metadata })
}

/** The id of the request at the provider, under Anthropic's or AWS's name. */
function requestIdIn({ headers }: CallSink): string | undefined {
  return headers.get('request-id') ?? headers.get('x-amzn-requestid') ?? undefined
}

/** The message begins. A second beginning, which some proxies send, is ignored. */
function startMessage(state: DecoderState, message: WireMessage): void {
  if (state.begun) return
  state.begun = true
  const { id, model, usage } = message
  state.counts = mergeCounts(state.counts, usage)
  addFacts(state, message)
  state.builder.head({
    id: asText(id),
    model: asText(model),
    usage: usage === undefined || usage === null ? undefined : parseUsage(state.counts),
  })
}

/** The message is about to end: why, and what it consumed. */
function growMessage(state: DecoderState, { delta, usage, ...rest }: WireEvent): void {
  state.counts = mergeCounts(state.counts, usage)
  addFacts(state, rest)
  if (delta === undefined || delta === null) return
  state.stopReason = asText(delta.stop_reason) ?? state.stopReason
  addFacts(state, delta)
}

/** The message is over. Blocks that were never ended, such as those of an answer that was cut, end here. */
function completeMessage(state: DecoderState): void {
  const { builder, counts } = state
  for (const block of state.byIndex.values()) completeBlock(state, block)
  if (state.stopReason === 'pause_turn') state.metadata['paused'] = true
  const metadata = responseMetadata(state)
  builder.finish({
    finishReason: finishReason(state, builder.calls.length),
    rawFinishReason: state.stopReason,
    usage: Object.keys(counts).length === 0 ? undefined : parseUsage(counts),
    metadata: Object.keys(metadata).length === 0 ? undefined : metadata,
  })
}

const finishReasons: ReadonlyMap<string, FinishReason> = new Map([
  ['end_turn', 'stop'],
  ['stop_sequence', 'stop'],
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['tool_use', 'tool_calls'],
  ['refusal', 'content_filter'],
])

/**
 * Why the message ended. `pause_turn` and unknown reasons are `other`; the loop sends a paused answer back.
 *
 * A message that only calls the answer tool has stopped. A message with calls to run ended for them, even when the server
 * says that it stopped.
 */
function finishReason({ stopReason = '', metadata }: DecoderState, calls: number): FinishReason {
  const reason = finishReasons.get(stopReason) ?? 'other'
  const answered = metadata['structuredOutput'] === 'tool'
  if (reason === 'tool_calls' && calls === 0 && answered) return 'stop'
  return reason === 'stop' && calls > 0 ? 'tool_calls' : reason
}

/** The members of a message that have no common field, and their names in the metadata. */
const factNames: readonly (readonly [wire: string, name: string])[] = [
  ['stop_sequence', 'stopSequence'],
  ['stop_details', 'stopDetails'],
  ['container', 'container'],
  ['context_management', 'contextManagement'],
  ['diagnostics', 'diagnostics'],
  ['input_transformations', 'inputTransformations'],
]

function addFacts({ metadata }: DecoderState, from: Readonly<Record<string, unknown>>): void {
  for (const [wire, name] of factNames) {
    const value = from[wire]
    // The members were made by JSON.parse.
    if (value !== undefined && value !== null) metadata[name] = value as JsonValue
  }
}

function responseMetadata({ sink, metadata, citations }: DecoderState): JsonObject {
  return defined<JsonObject>({
    ...metadata,
    citations: citations.length === 0 ? undefined : citations,
    providerRequestId: requestIdIn(sink),
  })
}

/**
 * A content block under way. Its text and its thinking are in the builder.
 *
 * `answer` is a call of the tool whose arguments are the answer. `server` is a block of a tool that runs at the provider, or
 * a block of an unknown type.
 */
interface OpenBlock {
  readonly kind: 'text' | 'thinking' | 'redacted' | 'tool' | 'answer' | 'server'
  readonly index: number
  readonly head: WireBlock
  /** The id of a `tool` block's call. */
  readonly callId: string
  /** The number of calls that began before this block. */
  readonly callsBefore: number
  textLength: number
  hasText: boolean
  /** The citations of a text. */
  readonly cited: JsonObject[]
  hasThinking: boolean
  signature: string
  /** The JSON of an input so far. */
  input: string
  /** The members that unknown deltas added to a `server` block. */
  fields: Record<string, JsonValue>
}

/** A block begins. The content of its head is emitted at once. */
function startBlock(state: DecoderState, head: WireBlock, index: number | undefined): OpenBlock {
  const known = findBlock(state, index)
  if (known !== undefined) completeBlock(state, known)
  const block = addBlock(state, head, index)
  if (block.kind === 'text') growText(state, block, textOf(head.text))
  growThinking(state, block, textOf(head.thinking))
  block.signature += textOf(head.signature)
  for (const citation of head.citations ?? []) addCitation(state, block, citation)
  return block
}

/** A block grows. Some servers leave out the beginning of a block; such a block begins with its first delta. */
function growBlock(state: DecoderState, { index, delta }: WireEvent): void {
  if (delta === undefined || delta === null) return
  const block = findBlock(state, index) ?? addBlock(state, impliedHead(delta), index)
  switch (delta.type ?? '') {
    case 'text_delta':
      growText(state, block, textOf(delta.text))
      return
    case 'input_json_delta':
      growInput(state, block, argumentsText(delta.partial_json))
      return
    case 'thinking_delta':
      growThinking(state, block, textOf(delta.thinking))
      return
    case 'signature_delta':
      block.signature += textOf(delta.signature)
      return
    case 'citations_delta':
      addCitation(state, block, delta.citation)
      return
    default:
      if (block.kind === 'server') growFields(block, delta)
  }
}

/** The open block with an index. Without an index it is the last one: some servers do not number their blocks. */
function findBlock(
  { open, byIndex }: DecoderState,
  index: number | undefined,
): OpenBlock | undefined {
  const last = open.at(-1)
  if (typeof index !== 'number' || last?.index === index) return last
  return byIndex.get(index)
}

/** Adds a block, and opens its part or its call in the message, so that it keeps its place there. */
function addBlock(state: DecoderState, head: WireBlock, given: number | undefined): OpenBlock {
  const { builder, callIds } = state
  const kind = kindOf(head, state.sink.forms?.answerTool)
  const index = typeof given === 'number' ? given : state.blocks
  const known = state.byIndex.get(index)
  if (known !== undefined) completeBlock(state, known)
  const callsBefore = callIds.size
  const callId = kind === 'tool' ? newCallId(state, head) : ''
  const block: OpenBlock = {
    kind,
    index,
    head,
    callId,
    callsBefore,
    textLength: 0,
    hasText: false,
    cited: [],
    hasThinking: false,
    signature: '',
    input: '',
    fields: {},
  }
  state.blocks++
  state.open.push(block)
  state.byIndex.set(index, block)
  if (kind === 'tool') builder.startCall(callId, callName(head))
  else if (kind === 'text' || kind === 'answer') builder.text('', index)
  else if (kind !== 'server') builder.reasoning('', index)
  return block
}

function kindOf({ type = '', name }: WireBlock, answerTool: string | undefined): OpenBlock['kind'] {
  switch (type) {
    case 'text':
    case 'thinking':
      return type
    case 'redacted_thinking':
      return 'redacted'
    case 'tool_use':
      return name !== undefined && name === answerTool ? 'answer' : 'tool'
    default:
      return 'server'
  }
}

function impliedHead({ type }: WireDelta): WireBlock {
  return type === 'thinking_delta' ? { type: 'thinking' } : { type: 'text' }
}

/** The id of a call. A call without an id, or with the id of an earlier call, gets one that is unique in the answer. */
function newCallId({ sink, callIds }: DecoderState, head: WireBlock): string {
  const given = asText(head.id)
  const id = given === undefined || callIds.has(given) ? `${sink.requestId}_${callIds.size}` : given
  callIds.add(id)
  return id
}

/** The name of a call. A call without a name gets one, so that it can be answered. */
function callName({ name }: WireBlock): string {
  return asText(name) ?? 'unnamed'
}

function growText({ builder }: DecoderState, block: OpenBlock, delta: string): void {
  if (delta === '') return
  block.hasText = true
  block.textLength += delta.length
  builder.text(delta, block.index)
}

function growThinking({ builder }: DecoderState, block: OpenBlock, delta: string): void {
  if (delta === '') return
  block.hasThinking = true
  builder.reasoning(delta, block.index)
}

function growInput({ builder }: DecoderState, block: OpenBlock, delta: string): void {
  if (delta === '') return
  block.input += delta
  if (block.kind === 'tool') builder.callDelta(block.callId, delta)
  else if (block.kind === 'answer') builder.text(delta, block.index)
}

/** Keeps an unknown delta of a block: a text is appended, any other value replaces the known one. */
function growFields({ fields, head }: OpenBlock, delta: WireDelta): void {
  for (const [name, value] of Object.entries(delta)) {
    if (name === 'type') continue
    const known = fields[name] ?? head[name]
    const grows = typeof value === 'string' && typeof known === 'string'
    // A delta was made by JSON.parse.
    setMember(fields, name, grows ? known + value : (value as JsonValue))
  }
}

function addCitation(
  { citations }: DecoderState,
  { index, cited }: OpenBlock,
  citation: JsonValue | undefined,
): void {
  if (citation === undefined || citation === null) return
  citations.push({ index, citation })
  if (isObject(citation)) cited.push(citation)
}

/** The citations of a text block as sources. They support all of its text. */
function blockSources({ builder, sink }: DecoderState, block: OpenBlock): readonly Source[] {
  if (block.cited.length === 0) return []
  const start = builder.textStart(block.index)
  const end = start === undefined ? undefined : start + block.textLength
  return block.cited.map((citation) => {
    const { url, source, title, document_title, cited_text } = citation
    const address = asText(url) ?? (URL.canParse(textOf(source)) ? textOf(source) : undefined)
    return defined<Source>({
      type: address === undefined ? 'file' : 'url',
      url: address,
      title: asText(title) ?? asText(document_title),
      text: asText(cited_text),
      start,
      end,
      providerMetadata: { [sink.provider]: citation },
    })
  })
}

/** A block ends. Nothing is emitted for a block without content. */
function completeBlock(state: DecoderState, block: OpenBlock): void {
  const { builder, open, byIndex } = state
  const { kind, index, head, signature } = block
  byIndex.delete(index)
  for (let last = open.at(-1); last && byIndex.get(last.index) !== last; last = open.at(-1)) {
    open.pop()
  }
  switch (kind) {
    case 'text':
      break
    case 'thinking':
      if (signature !== '') completeReasoning(state, block, { signature })
      break
    case 'redacted':
      completeReasoning(state, block, { redacted: head.data ?? '' })
      break
    case 'tool':
      completeCall(state, block)
      break
    case 'answer':
      completeAnswer(state, block)
      break
    case 'server':
      builder.item(wholeBlock(block))
      break
    default:
      assertNever(kind)
  }
  if (block.hasThinking) builder.endReasoning(undefined, index)
  if (block.hasText) builder.endText(index, undefined, blockSources(state, block))
}

/** Completes a reasoning part with what the API wants back. */
function completeReasoning(
  { builder }: DecoderState,
  { index, callsBefore }: OpenBlock,
  opaque: ReasoningOpaque,
): void {
  const placed = callsBefore === 0 ? opaque : { ...opaque, toolCalls: callsBefore }
  builder.endReasoning(placed, index)
}

function completeCall({ builder }: DecoderState, block: OpenBlock): void {
  const { callId: id, head } = block
  const rawArguments = inputText(block)
  if (block.input === '' && rawArguments !== '{}') builder.callDelta(id, rawArguments)
  const opaque = callFields(wholeBlock(block))
  builder.endCall(
    defined<ToolCall>({
      id,
      name: callName(head),
      arguments: parseObject(rawArguments) ?? {},
      rawArguments,
      opaque: Object.keys(opaque).length === 0 ? undefined : opaque,
    }),
  )
}

/** The arguments of the answer tool are the text of the answer. */
function completeAnswer({ builder, metadata }: DecoderState, block: OpenBlock): void {
  const text = inputText(block)
  if (block.input === '') builder.text(text, block.index)
  metadata['structuredOutput'] = 'tool'
  builder.endText(block.index, text)
}

/** The input as JSON text: the sum of its deltas, or the input in the head. */
function inputText({ input, head }: OpenBlock): string {
  return input === '' ? JSON.stringify(head.input ?? {}) : input
}

/** A block as it would have come in a whole answer. */
function wholeBlock({ head, fields, input }: OpenBlock): JsonObject {
  const parsed = input === '' ? {} : { input: parseObject(input) ?? {} }
  return { ...head, ...fields, ...parsed }
}

/** The counts of an earlier event, replaced by those of a later one. A count that is `null` is ignored. */
function mergeCounts(earlier: JsonObject, later: JsonObject | null | undefined): JsonObject {
  const merged: Record<string, JsonValue> = { ...earlier }
  for (const [name, value] of Object.entries(later ?? {})) {
    if (value !== null) setMember(merged, name, value)
  }
  return merged
}

/**
 * The API's counts as `Usage`.
 *
 * The API counts cached input separately; `inputTokens` includes the tokens that were read from a cache and written to one.
 * Counts without a common field are in `extra`.
 */
function parseUsage(counts: JsonObject): Usage | undefined {
  const {
    input_tokens,
    output_tokens,
    cache_read_input_tokens,
    cache_creation_input_tokens,
    output_tokens_details,
    ...extra
  } = counts
  const uncached = asCount(input_tokens)
  const cachedInputTokens = asCount(cache_read_input_tokens) ?? 0
  const cacheWriteInputTokens = asCount(cache_creation_input_tokens) ?? 0
  const known = {
    inputTokens:
      uncached === undefined ? undefined : uncached + cachedInputTokens + cacheWriteInputTokens,
    outputTokens: output_tokens,
    cachedInputTokens: cache_read_input_tokens,
    cacheWriteInputTokens: cache_creation_input_tokens,
    reasoningTokens: asObject(output_tokens_details)?.['thinking_tokens'],
  }
  return asUsage(known, extra)
}
