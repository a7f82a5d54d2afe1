import { adapterErrorReasons, type AdapterErrorReason } from '../../core/errors/errors.ts'
import type { ErrorData } from '../../core/types/error-data.ts'
import type { ModelEvent } from '../../core/types/events.ts'
import { assertNever, defined } from '../../core/types/guards.ts'
import type { JsonObject, JsonValue } from '../../core/types/json.ts'
import type { Image } from '../../core/types/media.ts'
import type { Source, ToolCall } from '../../core/types/message.ts'
import type { FinishReason, Usage } from '../../core/types/response.ts'
import { compileScript, defaultFailureMessage } from '../fakes/interpret.ts'
import { scriptedConnection, type Script } from '../fakes/script.ts'

/** One call of a script as content blocks and steps: the same for all formats, streamed or not. */
export interface WirePlan {
  readonly blocks: readonly PlanBlock[]
  readonly steps: readonly PlanStep[]
  readonly usage?: Usage
  readonly end: PlanEnd
  /** The connection stays open after the end. */
  readonly staysOpen?: boolean
  /** The id and the model that an `ok` entry gives its response. */
  readonly id?: string
  readonly model?: string
}

/** A content block of an answer, whole. */
export type PlanBlock =
  /** The places of the sources are those in the block. */
  | { readonly type: 'text'; readonly text: string; readonly sources?: readonly Source[] }
  | { readonly type: 'reasoning'; readonly text: string; readonly opaque?: JsonValue }
  | {
      readonly type: 'tool_call'
      readonly id: string
      readonly name: string
      /** The arguments as the model wrote them. */
      readonly text: string
      readonly opaque?: JsonValue
    }
  | { readonly type: 'image'; readonly text: ''; readonly image: Image }
  /** An item in the words of one provider. The other formats do not send it. */
  | { readonly type: 'item'; readonly text: ''; readonly item: JsonObject }

/** A step of a stream. `block` is an index into the plan's blocks. */
export type PlanStep =
  | { readonly type: 'open'; readonly block: number }
  | { readonly type: 'delta'; readonly block: number; readonly text: string }
  | { readonly type: 'close'; readonly block: number }
  | { readonly type: 'raw'; readonly chunk: JsonValue }
  | { readonly type: 'wait'; readonly ms: number }
  /** The status and the headers are sent, and nothing else. */
  | { readonly type: 'headers' }

/** How an answer finished. An `ok` entry may give the provider's own word as its `rawFinishReason`. */
export interface FinishedEnd {
  readonly reason: FinishReason
  readonly word?: string
}

/** The end of an answer. */
type PlanEnd =
  | ({ readonly type: 'finished' } & FinishedEnd)
  /** An HTTP error status instead of an answer. */
  | { readonly type: 'refused'; readonly failure: PlanFailure }
  /** The provider's own error inside the stream. */
  | { readonly type: 'failed'; readonly failure: PlanFailure }
  /** The transport breaks: the connection closes, the body ends early, an event cannot be parsed, or nothing more arrives. */
  | { readonly type: 'broken'; readonly how: 'cut' | 'end' | 'malformed' | 'stall' }

/** A failure that the provider reports. */
export interface PlanFailure {
  readonly reason: AdapterErrorReason
  readonly message?: string
  readonly status?: number
  readonly retryAfterMs?: number
  readonly requestId?: string
  /** Where a 3xx status redirects to. */
  readonly location?: string
}

/** Plans one call of a script, from the events that the fake would emit for it. */
export function planScript(script: Script): WirePlan {
  const call = { provider: 'fake', includeRawChunks: true, onWire: true }
  const { preflight, sections, usage } = compileScript(script, call)
  const { headersFirst, truncatedBy, staysOpen, location } = scriptedConnection(script)
  if (preflight !== undefined) {
    const failure = planFailure(preflight.toJSON())
    return refusedPlan(location === undefined ? failure : { ...failure, location })
  }
  const draft: PlanDraft = { blocks: [], steps: [], openCalls: new Map(), open: undefined }
  if (headersFirst) draft.steps.push({ type: 'headers' })
  let facts: Pick<WirePlan, 'id' | 'model'> = {}
  let end: PlanEnd = { type: 'finished', reason: 'stop' }
  const sources: Source[] = []
  for (const { delayMs, events } of sections) {
    if (delayMs !== undefined) draft.steps.push({ type: 'wait', ms: delayMs })
    for (const event of events) {
      if (event.type === 'text_completed') sources.push(...(event.sources ?? []))
      if (event.type === 'message_started') facts = event
      else if (event.type === 'error') end = failedEnd(event.error, truncatedBy)
      else if (event.type === 'message_completed') {
        closeOpen(draft)
        const { finishReason: reason, rawFinishReason: word } = event
        end = defined<PlanEnd>({ type: 'finished', reason, word })
      } else addEvent(draft, event)
    }
  }
  const { steps } = draft
  const blocks = placeSources(draft.blocks, sources)
  return defined<WirePlan>({
    blocks,
    steps,
    end,
    usage,
    staysOpen: staysOpen || undefined,
    id: facts.id,
    model: facts.model,
  })
}

/** Gives each source to the text block that holds its place; one without a place goes to the last text block. */
function placeSources(
  blocks: readonly PlanBlock[],
  sources: readonly Source[],
): readonly PlanBlock[] {
  if (sources.length === 0) return blocks
  const last = blocks.findLastIndex(({ type }) => type === 'text')
  let offset = 0
  return blocks.map((block, at) => {
    if (block.type !== 'text') return block
    const from = offset
    offset += block.text.length
    const own = sources.flatMap((source) => {
      const { start, end } = source
      if (start === undefined || end === undefined) return at === last ? [source] : []
      const isInside = start >= from && (start < offset || at === last)
      return isInside ? [{ ...source, start: start - from, end: end - from }] : []
    })
    return own.length === 0 ? block : { ...block, sources: own }
  })
}

/** The plan of a call that is refused with an HTTP status. */
export function refusedPlan(failure: PlanFailure): WirePlan {
  return { blocks: [], steps: [], end: { type: 'refused', failure } }
}

/** A plan under way. */
interface PlanDraft {
  readonly blocks: PlanBlock[]
  readonly steps: PlanStep[]
  /** The blocks of the tool calls that are not complete, by their ids. */
  readonly openCalls: Map<string, number>
  /** The text or reasoning block that grows. */
  open: number | undefined
}

type ContentEvent = Exclude<
  ModelEvent,
  { readonly type: 'message_started' | 'message_completed' | 'error' }
>

function addEvent(draft: PlanDraft, event: ContentEvent): void {
  switch (event.type) {
    case 'text_delta':
      return append(draft, openBlock(draft, { type: 'text', text: '' }), event.delta)
    case 'reasoning_delta':
      return append(draft, openBlock(draft, { type: 'reasoning', text: '' }), event.delta)
    case 'text_completed':
      return closeOpen(draft)
    case 'reasoning_completed': {
      if (event.item !== undefined)
        return addWhole(draft, { type: 'item', text: '', item: event.item })
      const index = openBlock(draft, { type: 'reasoning', text: '' })
      setOpaque(draft, index, event.opaque)
      return closeOpen(draft)
    }
    case 'tool_call_started':
      return void callBlock(draft, event.id, event.name)
    case 'tool_call_delta':
      return append(draft, callBlock(draft, event.id, ''), event.argumentsDelta)
    case 'tool_call_completed':
      return completeCall(draft, event.call)
    case 'image_completed':
      return addWhole(draft, { type: 'image', text: '', image: event.image })
    case 'raw_chunk':
      draft.steps.push({ type: 'raw', chunk: event.chunk })
      return
    default:
      return assertNever(event)
  }
}

/** Adds a block that comes in one piece. */
function addWhole(draft: PlanDraft, whole: PlanBlock): void {
  closeOpen(draft)
  draft.steps.push({ type: 'close', block: add(draft, whole) })
}

/** The open block if it is of this type, else a new one. */
function openBlock(draft: PlanDraft, block: PlanBlock): number {
  if (draft.open !== undefined && draft.blocks[draft.open]?.type === block.type) return draft.open
  closeOpen(draft)
  draft.open = add(draft, block)
  return draft.open
}

function closeOpen(draft: PlanDraft): void {
  if (draft.open !== undefined) draft.steps.push({ type: 'close', block: draft.open })
  draft.open = undefined
}

/** The block of a tool call that is not complete, made with its first event. */
function callBlock(draft: PlanDraft, id: string, name: string): number {
  const known = draft.openCalls.get(id)
  if (known !== undefined) return known
  closeOpen(draft)
  const index = add(draft, { type: 'tool_call', id, name, text: '' })
  draft.openCalls.set(id, index)
  return index
}

/** Appends the rest of the arguments, which is all of them if the call came without pieces. The first name is kept. */
function completeCall(draft: PlanDraft, call: ToolCall): void {
  const index = callBlock(draft, call.id, call.name)
  const block = draft.blocks[index]
  const text = call.rawArguments ?? JSON.stringify(call.arguments)
  if (block?.type === 'tool_call') {
    if (block.name === '') draft.blocks[index] = { ...block, name: call.name }
    const rest = text.startsWith(block.text) ? text.slice(block.text.length) : ''
    if (rest !== '') append(draft, index, rest)
  }
  setOpaque(draft, index, call.opaque ?? undefined)
  draft.steps.push({ type: 'close', block: index })
  draft.openCalls.delete(call.id)
}

function add(draft: PlanDraft, block: PlanBlock): number {
  const index = draft.blocks.push(block) - 1
  draft.steps.push({ type: 'open', block: index })
  return index
}

function append(draft: PlanDraft, index: number, text: string): void {
  const block = draft.blocks[index]
  if (block === undefined || block.type === 'image' || block.type === 'item') return
  draft.blocks[index] = { ...block, text: block.text + text }
  draft.steps.push({ type: 'delta', block: index, text })
}

function setOpaque(draft: PlanDraft, index: number, opaque: JsonValue | undefined): void {
  const block = draft.blocks[index]
  if (opaque === undefined || (block?.type !== 'reasoning' && block?.type !== 'tool_call')) return
  draft.blocks[index] = { ...block, opaque }
}

/** Failures of the transport. No provider reports them, so they are shown as what they are. */
const breaks: Partial<Record<AdapterErrorReason, 'cut' | 'malformed' | 'stall'>> = {
  timeout: 'stall',
  network_error: 'cut',
  malformed_response: 'malformed',
}

/** The end of an answer that fails after its start. */
function failedEnd(error: ErrorData, truncatedBy: 'end' | 'reset'): PlanEnd {
  if (error.kind === 'stream') {
    if (error.reason === 'malformed_event') return { type: 'broken', how: 'malformed' }
    if (error.reason === 'timeout') return { type: 'broken', how: 'stall' }
    return { type: 'broken', how: truncatedBy === 'end' ? 'end' : 'cut' }
  }
  const failure = planFailure(error)
  const how = breaks[failure.reason]
  return how === undefined ? { type: 'failed', failure } : { type: 'broken', how }
}

/** The failure of an error. Without a message of its own it gets the usual message of the provider. */
export function planFailure(
  error: Pick<ErrorData, 'reason' | 'message' | 'status' | 'retryAfterMs' | 'requestId'>,
): PlanFailure {
  const { reason, message, status, retryAfterMs, requestId } = error
  return defined<PlanFailure>({
    reason: adapterErrorReasons.find((known) => known === reason) ?? 'unknown',
    message: message === defaultFailureMessage ? undefined : message,
    status,
    retryAfterMs,
    requestId,
  })
}
