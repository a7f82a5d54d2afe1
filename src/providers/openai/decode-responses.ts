import type { SseDecoder } from '../../http/sse.ts'
import {
  addImage,
  begin,
  complete,
  messageDraft,
  noteHead,
  noteList,
  parseArguments,
  passRaw,
  reportedError,
  type DecoderOptions,
  type MessageDraft,
} from './message.ts'
import { asCount, asList, asObject, asText, chunkObject } from './wire.ts'
import type { ModelEvent } from '../../types/events.ts'
import { defined } from '../../types/guards.ts'
import type { JsonObject, JsonValue } from '../../types/json.ts'
import type { InlineImage } from '../../types/media.ts'
import type { ReasoningPart } from '../../types/message.ts'
import type { FinishReason } from '../../types/response.ts'

/**
 * Decodes the Responses API: the events of a stream, or a whole response as if its last event were the only one.
 *
 * `response.completed` and `response.incomplete` end it; `response.failed`, `response.cancelled` and `error` are thrown.
 * Events that are not known are passed over; unknown items are kept in the metadata.
 */
export function responsesDecoder({ notes, rawChunks }: DecoderOptions): SseDecoder<ModelEvent> {
  const draft = messageDraft(notes)
  const answer: Answer = { draft, items: itemReader(draft) }
  return {
    get done() {
      return draft.done
    },
    push(data, event, out) {
      if (data === '' || data === '[DONE]') return
      const value = chunkObject(JSON.parse(data))
      if (rawChunks) passRaw(draft, value, out)
      takeEvent(answer, value['type'] ?? event, value, out)
    },
    end: () => undefined,
    failure: (error) => ({ type: 'error', error }),
  }
}

interface Answer {
  readonly draft: MessageDraft
  readonly items: ItemReader
}

function takeEvent(answer: Answer, type: unknown, event: JsonObject, out: ModelEvent[]): void {
  const { draft, items } = answer
  switch (type) {
    case 'response.output_text.delta':
      items.textDelta(event, false, out)
      return
    case 'response.refusal.delta':
      items.textDelta(event, true, out)
      return
    case 'response.function_call_arguments.delta':
      items.argumentsDelta(event, out)
      return
    case 'response.reasoning_summary_text.delta':
    case 'response.reasoning_summary.delta':
    case 'response.reasoning_text.delta':
      items.reasoningDelta(event, out)
      return
    case 'response.output_text.done':
      items.textDone(event, false, out)
      return
    case 'response.refusal.done':
      items.textDone(event, true, out)
      return
    case 'response.function_call_arguments.done':
      items.argumentsDone(event, out)
      return
    case 'response.output_item.added':
      items.added(event, out)
      return
    case 'response.output_item.done':
      items.done(event, out)
      return
    case 'error':
    case 'response.error':
      throw reportedError(draft, event)
    default:
      takeResponse(answer, type, event, out)
  }
}

/** The events that carry the response itself; a whole answer is nothing but the response. */
function takeResponse(answer: Answer, type: unknown, event: JsonObject, out: ModelEvent[]): void {
  if (event['object'] === 'response' || Array.isArray(event['output'])) {
    finish(answer, event, out)
    return
  }
  const { draft } = answer
  const response = asObject(event['response'])
  if (response === undefined) {
    if (event['error']) throw reportedError(draft, event)
    return
  }
  noteHead(draft, response)
  if (type === 'response.failed') throw failedResponse(draft, response)
  if (endings.has(type)) finish(answer, response, out)
}

function finish({ draft, items }: Answer, response: JsonObject, out: ModelEvent[]): void {
  noteHead(draft, response)
  const status = response['status']
  if (status === 'failed' || status === 'cancelled') throw failedResponse(draft, response)
  draft.usage = asObject(response['usage'])
  items.end(response['output'], out)
  noteEnd(draft, response)
  complete(draft, responseEnd(response, draft.calls.length > 0), out)
}

const endings: ReadonlySet<unknown> = new Set([
  'response.completed',
  'response.incomplete',
  'response.cancelled',
  'response.done',
])

function failedResponse(draft: MessageDraft, response: JsonObject): Error {
  const error = response['error'] ?? { message: `the response is ${asText(response['status'])}` }
  return reportedError(draft, { error })
}

/** Keeps what a response says beyond its output. */
function noteEnd(draft: MessageDraft, response: JsonObject): void {
  for (const name of ['incomplete_details', 'service_tier']) {
    const value = response[name]
    if (value !== undefined && value !== null) draft.metadata[name] = value
  }
}

/** Reads the output items of a response, by their events or whole. */
interface ItemReader {
  textDelta(event: JsonObject, refusal: boolean, out: ModelEvent[]): void
  textDone(event: JsonObject, refusal: boolean, out: ModelEvent[]): void
  reasoningDelta(event: JsonObject, out: ModelEvent[]): void
  argumentsDelta(event: JsonObject, out: ModelEvent[]): void
  argumentsDone(event: JsonObject, out: ModelEvent[]): void
  added(event: JsonObject, out: ModelEvent[]): void
  done(event: JsonObject, out: ModelEvent[]): void
  /** The response is over: reads the items that had no events of their own, and ends what is still open. */
  end(output: unknown, out: ModelEvent[]): void
}

/**
 * Items are told apart by `output_index`, and by their id where a server does not number them.
 *
 * In the whole output at the end an item is found by its id, for some servers leave items out there.
 */
function itemReader(draft: MessageDraft): ItemReader {
  const output: Output = {
    draft,
    items: new Map(),
    byId: new Map(),
    writing: undefined,
    writingItem: undefined,
    writingPart: undefined,
  }
  return {
    textDelta(event, refusal, out) {
      const delta = event['delta']
      if (typeof delta !== 'string' || delta === '') return
      growText(draft, textOf(output, event, refusal, out), delta, out)
    },
    textDone(event, refusal, out) {
      const whole = asText(event[refusal ? 'refusal' : 'text'])
      if (whole !== undefined) endText(draft, textOf(output, event, refusal, out), whole, out)
    },
    reasoningDelta(event, out) {
      const delta = asText(event['delta'])
      const part = asCount(event['summary_index'] ?? event['content_index']) ?? 0
      if (delta === undefined) return
      growReasoning(draft, itemOfEvent(output, event), { part, delta }, out)
    },
    argumentsDelta(event, out) {
      const delta = asText(event['delta'])
      if (delta !== undefined) growCall(itemOfEvent(output, event), delta, out)
    },
    argumentsDone(event, out) {
      const item = itemOfEvent(output, event)
      const whole = asText(event['arguments'])
      if (whole !== undefined && item.text === '') growCall(item, whole, out)
    },
    added(event, out) {
      const wire = asObject(event['item'])
      if (wire?.['type'] !== 'function_call') return
      startCall(draft, itemOfEvent(output, event), wire, out)
    },
    done(event, out) {
      const wire = asObject(event['item'])
      if (wire !== undefined) finishItem(draft, itemOfEvent(output, event), wire, out)
    },
    end: (items, out) => endAll(output, items, out),
  }
}

interface Output {
  readonly draft: MessageDraft
  readonly items: Map<unknown, OutputItem>
  /** The same items by their ids and those of their calls; `undefined` for an id that several have. */
  readonly byId: Map<unknown, OutputItem | undefined>
  /** The text that is being written, so that a delta finds it without a look-up. */
  writing: TextBlock | undefined
  writingItem: unknown
  writingPart: unknown
}

function itemOf({ items, byId }: Output, index: unknown, id: unknown): OutputItem {
  const key = index ?? id
  const known = items.get(key)
  if (known !== undefined) return known
  const item = outputItem(asCount(index))
  items.set(key, item)
  if (asText(id) !== undefined) byId.set(id, byId.has(id) ? undefined : item)
  return item
}

function itemOfEvent(output: Output, event: JsonObject): OutputItem {
  const wire = asObject(event['item'])
  const known = itemOfCall(output, wire)
  if (known !== undefined) return known
  const item = itemOf(output, event['output_index'], event['item_id'] ?? wire?.['id'])
  const call = wire?.['type'] === 'function_call' ? asText(wire['call_id']) : undefined
  if (call !== undefined) output.byId.set(call, item)
  return item
}

/** The item of a call that was heard of under another number. */
function itemOfCall({ byId }: Output, wire: JsonObject | undefined): OutputItem | undefined {
  return wire?.['type'] === 'function_call' ? byId.get(wire['call_id']) : undefined
}

function textOf(output: Output, event: JsonObject, refusal: boolean, out: ModelEvent[]): TextBlock {
  const item = event['output_index'] ?? event['item_id']
  const part = event['content_index']
  const { writing } = output
  if (writing !== undefined && item === output.writingItem && part === output.writingPart) {
    return writing
  }
  const place = { contentIndex: asCount(part) ?? 0, refusal }
  const block = openText(output.draft, itemOfEvent(output, event), place, out)
  output.writing = block
  output.writingItem = item
  output.writingPart = part
  return block
}

function finishItem(
  draft: MessageDraft,
  item: OutputItem,
  wire: JsonObject,
  out: ModelEvent[],
): void {
  if (item.done) return
  item.done = true
  switch (wire['type']) {
    case 'message':
      endMessageItem(draft, item, wire, out)
      return
    case 'reasoning':
      endReasoning(draft, item, wire, out)
      return
    case 'function_call':
      endCall(draft, item, wire, out)
      return
    default: {
      const image = generatedImage(wire)
      if (image === undefined) noteList(draft, 'items', [wire])
      else addImage(draft, image, out)
    }
  }
}

function endAll(output: Output, items: unknown, out: ModelEvent[]): void {
  const { draft } = output
  asList(items).forEach((value, index) => {
    const wire = asObject(value)
    if (wire === undefined) return
    const known = output.byId.get(wire['id']) ?? itemOfCall(output, wire)
    const item = known ?? itemOf(output, index, undefined)
    finishItem(draft, item, wire, out)
  })
  for (const item of output.items.values()) finishItem(draft, item, { type: openType(item) }, out)
}

/** What an item is that never got its end. */
function openType(item: OutputItem): string {
  if (item.call !== undefined) return 'function_call'
  return item.slot === undefined ? 'message' : 'reasoning'
}

/** A text that is under way: an `output_text` or a `refusal` of a message item. */
interface TextBlock {
  /** Its place among the message's parts. */
  readonly slot: number
  readonly index: number | undefined
  readonly refusal: boolean
  text: string
  done: boolean
}

/** What is known of one output item while it is under way. */
interface OutputItem {
  /** `output_index`, for our events; some servers do not number their items. */
  readonly index: number | undefined
  done: boolean
  /** The texts of a message by `content_index`. */
  readonly texts: Map<number, TextBlock>
  /** The place of a reasoning item among the message's parts. */
  slot: number | undefined
  /** What a reasoning item has said, or the arguments that a call has got, so far. */
  text: string
  /** The part of a reasoning item that is being written. */
  part: number
  /** The announced tool call, and its place among the message's calls. */
  call: { readonly slot: number; readonly id: string; readonly name: string } | undefined
}

function outputItem(index: number | undefined): OutputItem {
  return {
    index,
    done: false,
    texts: new Map(),
    slot: undefined,
    text: '',
    part: 0,
    call: undefined,
  }
}

type TextCompleted = Extract<ModelEvent, { type: 'text_completed' }>

/** Which text of a message item. A refusal is text too: it is what the model answered. */
interface TextPlace {
  readonly contentIndex: number
  readonly refusal: boolean
}

/** The text at a place; it is opened if it is new. */
function openText(
  draft: MessageDraft,
  item: OutputItem,
  { contentIndex, refusal }: TextPlace,
  out: ModelEvent[],
): TextBlock {
  const known = item.texts.get(contentIndex)
  if (known !== undefined) return known
  begin(draft, out)
  const slot = draft.parts.push({ type: 'text', text: '' }) - 1
  const block = { slot, index: item.index, refusal, text: '', done: false }
  item.texts.set(contentIndex, block)
  return block
}

/** Adds to an open text. */
function growText(draft: MessageDraft, block: TextBlock, delta: string, out: ModelEvent[]): void {
  const { index } = block
  block.text += delta
  if (block.refusal) draft.refusal += delta
  out.push(
    index === undefined ? { type: 'text_delta', delta } : { type: 'text_delta', delta, index },
  )
}

/** Ends a text; what the deltas left out is made up for. */
function endText(
  draft: MessageDraft,
  block: TextBlock,
  whole: string | undefined,
  out: ModelEvent[],
): void {
  if (block.done) return
  if (whole !== undefined && whole.length > block.text.length && whole.startsWith(block.text)) {
    growText(draft, block, whole.slice(block.text.length), out)
  }
  const { index } = block
  const text = whole ?? block.text
  block.done = true
  draft.parts[block.slot] = { type: 'text', text }
  out.push(defined<TextCompleted>({ type: 'text_completed', text, index }))
}

/** Reads a whole message item: every text that is not complete yet, and what stands beside the texts. */
function endMessageItem(
  draft: MessageDraft,
  item: OutputItem,
  wire: JsonObject,
  out: ModelEvent[],
): void {
  asList(wire['content']).forEach((value, contentIndex) => {
    const part = asObject(value) ?? {}
    const refusal = part['type'] === 'refusal'
    const whole = asText(refusal ? part['refusal'] : part['text'])
    if (whole !== undefined) {
      endText(draft, openText(draft, item, { contentIndex, refusal }, out), whole, out)
    }
    noteList(draft, 'annotations', part['annotations'])
    noteList(draft, 'logprobs', part['logprobs'])
  })
  for (const block of item.texts.values()) endText(draft, block, undefined, out)
}

type Delta = Extract<ModelEvent, { type: 'reasoning_delta' }>

type ReasoningCompleted = Extract<ModelEvent, { type: 'reasoning_completed' }>

/** What stands between two parts of a summary. */
const gap = '\n\n'

/** Adds to a reasoning item. A new part of it begins after a blank line. */
function growReasoning(
  draft: MessageDraft,
  item: OutputItem,
  { part, delta }: { readonly part: number; readonly delta: string },
  out: ModelEvent[],
): void {
  openReasoning(draft, item, out)
  const said = part !== item.part && item.text !== '' ? gap + delta : delta
  item.part = part
  item.text += said
  out.push(defined<Delta>({ type: 'reasoning_delta', delta: said, index: item.index }))
}

/**
 * Ends a reasoning item. Its id and its encrypted content are kept to be echoed; so is the number of the calls that
 * came before it, for the items have to be sent back in their order.
 */
function endReasoning(
  draft: MessageDraft,
  item: OutputItem,
  wire: JsonObject,
  out: ModelEvent[],
): void {
  const whole = reasoningText(wire)
  const opaque = opaqueOf(wire, draft.calls.length)
  if (whole === '' && item.text === '' && opaque === undefined) return
  if (item.text === '' && whole !== '') growReasoning(draft, item, { part: 0, delta: whole }, out)
  openReasoning(draft, item, out)
  const text = whole === '' ? item.text : whole
  const { index, slot = 0 } = item
  const { provider } = draft.notes
  draft.parts[slot] = defined<ReasoningPart>({ type: 'reasoning', text, opaque, provider })
  out.push(defined<ReasoningCompleted>({ type: 'reasoning_completed', text, index, opaque }))
}

function openReasoning(draft: MessageDraft, item: OutputItem, out: ModelEvent[]): void {
  begin(draft, out)
  item.slot ??= draft.parts.push({ type: 'reasoning', text: '' }) - 1
}

function opaqueOf(wire: JsonObject, callsBefore: number): JsonValue | undefined {
  const id = asText(wire['id'])
  if (id === undefined) return undefined
  return defined<JsonObject>({
    id,
    encrypted_content: asText(wire['encrypted_content']),
    calls_before: callsBefore === 0 ? undefined : callsBefore,
  })
}

/** The text of a reasoning item: its summary, or its content where a server shows that. */
function reasoningText(wire: JsonObject): string {
  const summary = texts(wire['summary'])
  return (summary.length > 0 ? summary : texts(wire['content'])).join(gap)
}

function texts(parts: JsonValue | undefined): readonly string[] {
  return asList(parts).flatMap((part) => asText(asObject(part)?.['text']) ?? [])
}

/** Announces a call as soon as its id and its name are known. */
function startCall(
  draft: MessageDraft,
  item: OutputItem,
  wire: JsonObject,
  out: ModelEvent[],
): void {
  const id = asText(wire['call_id'])
  const name = asText(wire['name'])
  if (id !== undefined && name !== undefined) announce(draft, item, { id, name }, out)
}

/** Adds to the arguments of a call. What comes before the announcement is held back. */
function growCall(item: OutputItem, argumentsDelta: string, out: ModelEvent[]): void {
  item.text += argumentsDelta
  if (item.call !== undefined) {
    out.push({ type: 'tool_call_delta', id: item.call.id, argumentsDelta })
  }
}

/** Completes a call. The whole arguments hold, if they are given; else what the deltas added up to. */
function endCall(draft: MessageDraft, item: OutputItem, wire: JsonObject, out: ModelEvent[]): void {
  if (item.call === undefined) {
    const id = asText(wire['call_id']) ?? asText(wire['id']) ?? `call_${draft.calls.length}`
    announce(draft, item, { id, name: asText(wire['name']) ?? 'unnamed' }, out)
  }
  const { call } = item
  if (call === undefined) return
  const whole = asText(wire['arguments'])
  if (item.text === '' && whole !== undefined) growCall(item, whole, out)
  const done = { id: call.id, name: call.name, ...parseArguments(whole ?? item.text) }
  draft.calls[call.slot] = done
  out.push({ type: 'tool_call_completed', call: done })
}

function announce(
  draft: MessageDraft,
  item: OutputItem,
  { id, name }: { readonly id: string; readonly name: string },
  out: ModelEvent[],
): void {
  begin(draft, out)
  const slot = draft.calls.push({ id, name, arguments: {} }) - 1
  item.call = { slot, id, name }
  out.push({ type: 'tool_call_started', id, name })
  if (item.text !== '') out.push({ type: 'tool_call_delta', id, argumentsDelta: item.text })
}

/** The image that an `image_generation_call` item holds. The item's id stays with it, so that it can be sent back. */
function generatedImage(wire: JsonObject): InlineImage | undefined {
  const base64 = asText(wire['result'])
  if (wire['type'] !== 'image_generation_call' || base64 === undefined) return undefined
  const id = asText(wire['id'])
  return defined<InlineImage>({
    type: 'base64',
    base64,
    mimeType: `image/${asText(wire['output_format']) ?? 'png'}`,
    revisedPrompt: asText(wire['revised_prompt']),
    metadata: id === undefined ? undefined : { id },
  })
}

/** Why a response ended, and the provider's own word: the reason of an incomplete one, else its status. */
interface ResponseEnd {
  readonly finishReason: FinishReason
  readonly rawFinishReason: string | undefined
}

/** Reads how a response ended. One that called tools ended for that, though OpenAI only says `completed`. */
function responseEnd(response: JsonObject, hasCalls: boolean): ResponseEnd {
  const status = asText(response['status'])
  const why = asText(asObject(response['incomplete_details'])?.['reason'])
  if (status !== 'incomplete') {
    const known = status === 'completed' || status === undefined
    const ended = hasCalls ? 'tool_calls' : 'stop'
    return { finishReason: known ? ended : 'other', rawFinishReason: status }
  }
  return { finishReason: cutReason(why), rawFinishReason: why ?? status }
}

function cutReason(why: string | undefined): FinishReason {
  switch (why) {
    case 'max_output_tokens':
    case 'max_tokens':
      return 'length'
    case 'content_filter':
      return 'content_filter'
    default:
      return 'other'
  }
}
