import {
  parseArguments,
  isObject,
  someText,
  textOf,
  type WireBlock,
  type WireDelta,
  type WireEvent,
  type WireMessage,
} from './wire.ts'
import { AdapterError } from '../../errors/errors.ts'
import type { SseDecoder } from '../../http/stream-http.ts'
import { assistantMessage } from '../../make/message-builder.ts'
import { errorFacts, parseStreamError, readError } from './failure.ts'
import { callFields, type ReasoningOpaque } from './render-messages.ts'
import { unwrapAnswer, type AnswerTool } from './render-request.ts'
import type { ModelEvent } from '../../types/events.ts'
import { assertNever, defined } from '../../types/guards.ts'
import type { JsonObject, JsonValue } from '../../types/json.ts'
import type { Part, ReasoningPart, ToolCall } from '../../types/message.ts'
import type { FinishReason, Usage } from '../../types/response.ts'

/** Decodes the events of one answer, from text or as they are. */
interface MessageDecoder extends SseDecoder<ModelEvent> {
  /** Decodes one event. An error among them throws. */
  take(event: WireEvent, out: Out): void
}

/**
 * Makes the decoder of one answer.
 *
 * Each delta costs one `JSON.parse` and one small object. Events of unknown types are passed over, blocks of unknown types
 * are kept in the message, so that they can be echoed.
 */
export function messageDecoder(call: DecodedCall): MessageDecoder {
  const state = decoderState(call)
  return {
    get done() {
      return state.done
    },
    push(data, name, out) {
      // Some proxies end the stream as another provider does, or send events without data.
      if (data === '[DONE]' || data === '') return
      // Whatever the server sent: every member is looked at with care.
      const event = JSON.parse(data) as WireEvent | null
      if (typeof event !== 'object' || event === null) return
      const type = event.type ?? name ?? (event.error ? 'error' : undefined)
      if (type === 'message') takeWhole(state, event, out)
      else takeEvent(state, event, type, out)
    },
    take: (event, out) => takeEvent(state, event, event.type, out),
    end: () => undefined,
    failure: (error) => ({ type: 'error', error }),
  }
}

/** Some servers answer a streaming call with the whole message. */
function takeWhole(state: DecoderState, message: WireEvent, out: Out): void {
  for (const event of eventsOfMessage(message) ?? []) takeEvent(state, event, event.type, out)
}

function takeEvent(
  state: DecoderState,
  event: WireEvent,
  type: string | undefined,
  out: Out,
): void {
  if (state.call.includeRawChunks) keepRaw(state, event, out)
  switch (type ?? '') {
    case 'content_block_delta':
      begin(state, out)
      growBlock(state, event, out)
      return
    case 'content_block_start':
      begin(state, out)
      startBlock(state, event, out)
      return
    case 'content_block_stop':
      stopBlock(state, event, out)
      return
    case 'message_start':
      startMessage(state, event.message ?? {}, out)
      return
    case 'message_delta':
      begin(state, out)
      growMessage(state, event)
      return
    case 'message_stop':
      begin(state, out)
      completeMessage(state, out)
      return
    case 'error':
      throw streamError(state, event)
    default:
  }
}

/** The message has begun, also when the server did not say so. */
function begin(state: DecoderState, out: Out): void {
  if (!state.started) startMessage(state, {}, out)
}

/** What came is shown before what it means, save that the message's beginning is always first. */
function keepRaw(state: DecoderState, event: WireEvent, out: Out): void {
  // An event was made by JSON.parse.
  const chunk = event as JsonValue
  if (state.started) out.push({ type: 'raw_chunk', chunk })
  else state.early.push(chunk)
}

function streamError({ call }: DecoderState, event: WireEvent): AdapterError {
  const { provider, requestId } = call
  const { request_id } = event
  const error = readError(event.error ?? event.message)
  const { reason, message } = parseStreamError(error)
  const metadata = errorFacts(error, call.providerRequestId ?? request_id)
  return new AdapterError(reason, call.clean(message), { provider, requestId, metadata })
}

type Started = Extract<ModelEvent, { type: 'message_started' }>

type Completed = Extract<ModelEvent, { type: 'message_completed' }>

/** The message begins. A second beginning, which some proxies send, is passed over. */
function startMessage(state: DecoderState, message: WireMessage, out: Out): void {
  if (state.started) return
  state.started = true
  state.counts = mergeCounts(state.counts, message.usage)
  takeFacts(state, message)
  const { requestId, provider } = state.call
  const { id, model, usage } = message
  out.push(
    defined<Started>({
      type: 'message_started',
      requestId,
      provider,
      id: someText(id),
      model: someText(model),
      usage: usage === undefined || usage === null ? undefined : parseUsage(state.counts),
    }),
  )
  for (const chunk of state.early) out.push({ type: 'raw_chunk', chunk })
  state.early = []
}

/** The message is about to end: why, and what it consumed. */
function growMessage(state: DecoderState, { delta, usage, ...rest }: WireEvent): void {
  state.counts = mergeCounts(state.counts, usage)
  takeFacts(state, rest)
  if (delta === undefined || delta === null) return
  state.stopReason = someText(delta.stop_reason) ?? state.stopReason
  takeFacts(state, delta)
}

/** The message is over. Blocks that were never ended, as those of an answer that was cut, end here. */
function completeMessage(state: DecoderState, out: Out): void {
  for (const block of state.blocks) if (!block.closed) closeBlock(state, block, out)
  const parts = state.blocks.flatMap(({ part }) => part ?? [])
  const calls = state.blocks.flatMap(({ call }) => call ?? [])
  const { stopReason, counts } = state
  const metadata = responseMetadata(state)
  state.done = true
  out.push(
    defined<Completed>({
      type: 'message_completed',
      message: assistantMessage(parts, calls),
      finishReason: finishReason(state, calls.length),
      rawFinishReason: stopReason,
      usage: Object.keys(counts).length === 0 ? undefined : parseUsage(counts),
      metadata: Object.keys(metadata).length === 0 ? undefined : metadata,
    }),
  )
}

/** A call of the answer's tool is no call to run; calls that are there are to be run, whatever the server says. */
function finishReason({ stopReason, metadata }: DecoderState, calls: number): FinishReason {
  const reason = parseFinishReason(stopReason)
  if (reason === 'tool_calls' && calls === 0 && metadata['structuredOutput'] === 'tool')
    return 'stop'
  return reason === 'stop' && calls > 0 ? 'tool_calls' : reason
}

/** The members of a message that stand beside the common fields, and our names for them. */
const factNames: readonly (readonly [wire: string, name: string])[] = [
  ['stop_sequence', 'stopSequence'],
  ['stop_details', 'stopDetails'],
  ['container', 'container'],
  ['context_management', 'contextManagement'],
  ['diagnostics', 'diagnostics'],
  ['input_transformations', 'inputTransformations'],
]

function takeFacts({ metadata }: DecoderState, from: Readonly<Record<string, unknown>>): void {
  for (const [wire, name] of factNames) {
    const value = from[wire]
    // The members were made by JSON.parse.
    if (value !== undefined && value !== null) metadata[name] = value as JsonValue
  }
}

function responseMetadata({ call, metadata, citations, serverTools }: DecoderState): JsonObject {
  const { adjusted, providerRequestId } = call
  return defined<JsonObject>({
    ...metadata,
    citations: citations.length === 0 ? undefined : citations,
    serverTools: serverTools.length === 0 ? undefined : serverTools,
    adjusted: adjusted.length === 0 ? undefined : adjusted,
    providerRequestId,
  })
}

/** A block begins. What its head already holds is said at once. */
function startBlock(state: DecoderState, event: WireEvent, out: Out): void {
  const head = event.content_block ?? {}
  const known = findBlock(state, event.index)
  if (known !== undefined) closeBlock(state, known, out)
  const block = addBlock(state, head, event.index)
  if (block.kind === 'tool') {
    state.calls++
    out.push({ type: 'tool_call_started', id: callId(state, block), name: callName(block) })
  }
  if (block.kind === 'text') growText(block, textOf(head.text), out)
  growThinking(block, textOf(head.thinking), out)
  block.signature += textOf(head.signature)
  for (const citation of head.citations ?? []) addCitation(state, block, citation)
}

/** A block grows. One that has not begun, as some servers leave out the beginning, begins here. */
function growBlock(state: DecoderState, event: WireEvent, out: Out): void {
  const { delta } = event
  if (delta === undefined || delta === null) return
  const block = findBlock(state, event.index) ?? addBlock(state, impliedHead(delta), event.index)
  switch (delta.type ?? '') {
    case 'text_delta':
      growText(block, textOf(delta.text), out)
      return
    case 'input_json_delta':
      growInput(state, block, textOf(delta.partial_json), out)
      return
    case 'thinking_delta':
      growThinking(block, textOf(delta.thinking), out)
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

/** A block ends. */
function stopBlock(state: DecoderState, event: WireEvent, out: Out): void {
  const block = findBlock(state, event.index)
  if (block !== undefined) closeBlock(state, block, out)
}

/** The open block with an index; a server that does not number its blocks means the last one. */
function findBlock(state: DecoderState, index: number | undefined): OpenBlock | undefined {
  const { current } = state
  const numbered = typeof index === 'number'
  const isMeant = (block: OpenBlock): boolean =>
    !block.closed && (!numbered || index === block.index)
  if (current !== undefined && isMeant(current)) return current
  const found = state.blocks.findLast(isMeant)
  if (found !== undefined) state.current = found
  return found
}

function addBlock(state: DecoderState, head: WireBlock, index: number | undefined): OpenBlock {
  const block: OpenBlock = {
    kind: kindOf(head, state.call.answerTool?.name),
    index: typeof index === 'number' ? index : state.blocks.length,
    head,
    callsBefore: state.calls,
    text: '',
    signature: '',
    fields: {},
    closed: false,
  }
  state.blocks.push(block)
  state.current = block
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

function addCitation(
  { citations }: DecoderState,
  { index }: OpenBlock,
  citation: JsonValue | undefined,
): void {
  if (citation !== undefined && citation !== null) citations.push({ index, citation })
}

function growText(block: OpenBlock, delta: string, out: Out): void {
  if (delta === '') return
  block.text += delta
  out.push({ type: 'text_delta', delta, index: block.index })
}

function growThinking(block: OpenBlock, delta: string, out: Out): void {
  if (delta === '') return
  block.text += delta
  out.push({ type: 'reasoning_delta', delta, index: block.index })
}

function growInput(state: DecoderState, block: OpenBlock, delta: string, out: Out): void {
  if (delta === '') return
  block.text += delta
  if (block.kind === 'tool') {
    out.push({ type: 'tool_call_delta', id: callId(state, block), argumentsDelta: delta })
  } else if (block.kind === 'answer' && state.call.answerTool?.wrapped === false) {
    out.push({ type: 'text_delta', delta, index: block.index })
  }
}

/** Kinds of blocks that are not known here are kept as they come: texts grow, anything else takes its place. */
function growFields({ fields, head }: OpenBlock, delta: WireDelta): void {
  for (const [name, value] of Object.entries(delta)) {
    if (name === 'type') continue
    const known = fields[name] ?? head[name]
    const grows = typeof value === 'string' && typeof known === 'string'
    // A delta was made by JSON.parse.
    fields[name] = grows ? known + value : (value as JsonValue)
  }
}

/** Closes a block: says what it came to, and keeps it for the message. A block that came to nothing is passed over. */
function closeBlock(state: DecoderState, block: OpenBlock, out: Out): void {
  block.closed = true
  const { text, signature, head } = block
  switch (block.kind) {
    case 'text':
      if (text !== '') completeText(block, text, out)
      return
    case 'thinking':
      if (text !== '' || signature !== '') {
        completeReasoning(state, block, signature === '' ? undefined : { signature }, out)
      }
      return
    case 'redacted':
      completeReasoning(state, block, { redacted: head.data ?? '' }, out)
      return
    case 'tool':
      completeCall(state, block, out)
      return
    case 'answer':
      completeAnswer(state, block, out)
      return
    case 'server':
      completeServerBlock(state, block, out)
      return
    default:
      assertNever(block.kind)
  }
}

function completeText(block: OpenBlock, text: string, out: Out): void {
  block.part = { type: 'text', text }
  out.push({ type: 'text_completed', text, index: block.index })
}

function completeReasoning(
  { call }: DecoderState,
  block: OpenBlock,
  echo: ReasoningOpaque | undefined,
  out: Out,
): void {
  const { index, callsBefore } = block
  const text = block.kind === 'thinking' ? block.text : ''
  const toolCalls = callsBefore === 0 ? undefined : callsBefore
  const opaque = echo === undefined ? undefined : { ...echo, ...defined<object>({ toolCalls }) }
  const { provider } = call
  block.part = defined<ReasoningPart>({ type: 'reasoning', text, opaque, provider })
  out.push({
    type: 'reasoning_completed',
    text,
    index,
    ...(opaque === undefined ? {} : { opaque }),
  })
}

function completeCall(state: DecoderState, block: OpenBlock, out: Out): void {
  const id = callId(state, block)
  const rawArguments = inputText(block)
  if (block.text === '' && rawArguments !== '{}') {
    out.push({ type: 'tool_call_delta', id, argumentsDelta: rawArguments })
  }
  const opaque = callFields(asJson(block))
  const call = defined<ToolCall>({
    id,
    name: callName(block),
    arguments: parseArguments(rawArguments) ?? {},
    rawArguments,
    opaque: Object.keys(opaque).length === 0 ? undefined : opaque,
  })
  block.call = call
  out.push({ type: 'tool_call_completed', call })
}

/** The arguments of the tool that stands for the answer are the answer's text. */
function completeAnswer({ call, metadata }: DecoderState, block: OpenBlock, out: Out): void {
  const raw = inputText(block)
  const wrapped = call.answerTool?.wrapped === true
  const text = wrapped ? unwrapAnswer(raw) : raw
  if (wrapped || block.text === '') {
    out.push({ type: 'text_delta', delta: text, index: block.index })
  }
  metadata['structuredOutput'] = 'tool'
  completeText(block, text, out)
}

/** A block of a tool on the provider's side is kept whole, so that it can be echoed. */
function completeServerBlock(state: DecoderState, block: OpenBlock, out: Out): void {
  const whole = asJson(block)
  state.serverTools.push(whole)
  completeReasoning(state, block, { block: whole }, out)
}

/** The input as JSON text: what the deltas added up to, else what the head held. */
function inputText({ text, head }: OpenBlock): string {
  return text === '' ? JSON.stringify(head.input ?? {}) : text
}

function asJson({ head, fields, text }: OpenBlock): JsonObject {
  const input = text === '' ? {} : { input: parseArguments(text) ?? {} }
  return { ...head, ...fields, ...input }
}

/** What is known of a call beside its answer. What is not readonly is filled in while the call is made. */
export interface DecodedCall {
  readonly provider: string
  readonly requestId: string
  readonly includeRawChunks: boolean
  /** The tool whose arguments are the answer. */
  answerTool?: AnswerTool | undefined
  /** The fields of the request that the model did not take as they were. */
  adjusted: readonly string[]
  /** The provider's id of the request, from the answer's headers. */
  providerRequestId?: string | undefined
  /** Takes the key out of what the provider says. */
  clean: (text: string) => string
}

/**
 * A content block under way.
 *
 * `answer` is a call of the tool that stands for the answer; `server` is a block of a tool on the provider's side, or of a
 * kind that is not known here.
 */
interface OpenBlock {
  readonly kind: 'text' | 'thinking' | 'redacted' | 'tool' | 'answer' | 'server'
  readonly index: number
  readonly head: WireBlock
  /** The calls that began before this block. */
  readonly callsBefore: number
  /** The text, the thinking, or the JSON of an input so far. */
  text: string
  signature: string
  /** What deltas of other kinds added to a `server` block. */
  fields: Record<string, JsonValue>
  closed: boolean
  /** What the block came to. */
  part?: Part
  call?: ToolCall
}

/** An answer under way. */
interface DecoderState {
  readonly call: DecodedCall
  /** In the order in which they began. */
  readonly blocks: OpenBlock[]
  /** The block that the last event was about. */
  current: OpenBlock | undefined
  calls: number
  counts: JsonObject
  stopReason: string | undefined
  readonly metadata: Record<string, JsonValue>
  /** Each with the index of the block that it supports. */
  readonly citations: JsonValue[]
  readonly serverTools: JsonValue[]
  /** Raw events that came before the message began. */
  early: JsonValue[]
  started: boolean
  done: boolean
}

/** Events decoded so far from one read. */
type Out = ModelEvent[]

/** An answer of which nothing has come yet. */
function decoderState(call: DecodedCall): DecoderState {
  return {
    call,
    blocks: [],
    current: undefined,
    calls: 0,
    counts: {},
    stopReason: undefined,
    metadata: {},
    citations: [],
    serverTools: [],
    early: [],
    started: false,
    done: false,
  }
}

/** The id of a tool's call; a server that gives none gets one that is unique in the answer. */
function callId({ call }: DecoderState, { head, callsBefore }: OpenBlock): string {
  return someText(head.id) ?? `${call.requestId}_${callsBefore}`
}

/** The name of a tool's call; one that came without gets one, so that it can be answered. */
function callName({ head }: OpenBlock): string {
  return someText(head.name) ?? 'unnamed'
}

/**
 * A whole answer as the events that would have streamed it, so that both ways have one decoder.
 *
 * `undefined` when the value is no answer. An error in an answer's place is given as the event that it would have been.
 */
export function eventsOfMessage(value: unknown): readonly WireEvent[] | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  // Whatever the server sent: every member is looked at with care.
  const message = value as WireMessage
  if (message.type === 'error' || (message.content === undefined && message.error !== undefined)) {
    return [{ ...message, type: 'error' }]
  }
  const { content, stop_reason, ...head } = message
  if (!Array.isArray(content)) return undefined
  const blocks = (content as readonly WireBlock[]).flatMap((content_block, index) => [
    { type: 'content_block_start', index, content_block },
    { type: 'content_block_stop', index },
  ])
  return [
    { type: 'message_start', message: head },
    ...blocks,
    {
      type: 'message_delta',
      ...(typeof stop_reason === 'string' ? { delta: { stop_reason } } : {}),
    },
    { type: 'message_stop' },
  ]
}

const reasons: ReadonlyMap<string, FinishReason> = new Map([
  ['end_turn', 'stop'],
  ['stop_sequence', 'stop'],
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['tool_use', 'tool_calls'],
  ['refusal', 'content_filter'],
])

/** Why a message ended, in our words. `pause_turn` and every word that is not known are `other`. */
function parseFinishReason(stopReason: string | undefined): FinishReason {
  return reasons.get(stopReason ?? '') ?? 'other'
}

/** Lays the counts of a later event over those of an earlier one. A count that is `null` says nothing. */
function mergeCounts(earlier: JsonObject, later: JsonObject | null | undefined): JsonObject {
  const merged: Record<string, JsonValue> = { ...earlier }
  for (const [name, value] of Object.entries(later ?? {})) if (value !== null) merged[name] = value
  return merged
}

/**
 * The API's counts in our words.
 *
 * The API counts cached input apart; here `inputTokens` includes what was read from a cache and written to one. What has no
 * word here is in `extra`.
 */
function parseUsage(counts: JsonObject): Usage {
  const {
    input_tokens,
    output_tokens,
    cache_read_input_tokens,
    cache_creation_input_tokens,
    output_tokens_details,
    ...extra
  } = counts
  const uncached = count(input_tokens)
  const cachedInputTokens = count(cache_read_input_tokens)
  const cacheWriteInputTokens = count(cache_creation_input_tokens)
  const outputTokens = count(output_tokens)
  const inputTokens =
    uncached === undefined
      ? undefined
      : uncached + (cachedInputTokens ?? 0) + (cacheWriteInputTokens ?? 0)
  return defined<Usage>({
    inputTokens,
    outputTokens,
    totalTokens:
      inputTokens === undefined || outputTokens === undefined
        ? undefined
        : inputTokens + outputTokens,
    cachedInputTokens,
    cacheWriteInputTokens,
    reasoningTokens: isObject(output_tokens_details)
      ? count(output_tokens_details['thinking_tokens'])
      : undefined,
    extra: Object.keys(extra).length === 0 ? undefined : extra,
  })
}

function count(value: JsonValue | undefined): number | undefined {
  return typeof value === 'number' ? value : undefined
}
