import { parseArguments, type MessageEnd } from '../../core/answer/message-builder.ts'
import { defined } from '../../core/types/guards.ts'
import type { JsonObject, JsonValue } from '../../core/types/json.ts'
import type { InlineImage } from '../../core/types/media.ts'
import type { Source } from '../../core/types/message.ts'
import type { ToolSpec } from '../../core/types/request.ts'
import type { FinishReason } from '../../core/types/response.ts'
import type { CallSink } from '../http/answer.ts'
import type { AnswerDecoder } from '../http/stream-http.ts'
import {
  argumentsText,
  asCount,
  asList,
  asObject,
  asText,
  parseChunk,
  wrongMember,
} from '../shared/read-json.ts'
import {
  finishMessage,
  noteHead,
  noteList,
  reportedError,
  responseState,
  startMessage,
  type ResponseState,
} from './response.ts'
import { sourcesOf } from './sources.ts'
import { answeredBy, askedBy } from './wire.ts'

/**
 * Decodes the Responses API: the events of a stream, or a whole response as if its last event were the only one.
 *
 * `response.completed` and `response.incomplete` end it; `response.failed`, `response.cancelled` and `error` are thrown.
 * Unknown events are ignored. Items of the provider's own are kept in the message, to be sent back.
 */
export function responsesDecoder(
  sink: CallSink,
  tools: readonly Pick<ToolSpec, 'name'>[] = [],
): AnswerDecoder {
  const state = responseState(sink)
  const output: Output = {
    state,
    tools,
    items: new Map(),
    byId: new Map(),
    callIds: new Set(),
    waiting: new Map(),
    writing: undefined,
    writingItem: undefined,
    writingPart: undefined,
  }
  return {
    push(data, event) {
      if (data === '' || data === '[DONE]') return
      const value = parseChunk(data)
      state.message.raw(value)
      takeEvent(output, value['type'] ?? event, value)
    },
  }
}

/** The output of a response under way. Items are identified by `output_index`, or by their id when a server does not number them. */
interface Output {
  readonly state: ResponseState
  /** The tools of the request. */
  readonly tools: readonly Pick<ToolSpec, 'name'>[]
  readonly items: Map<unknown, OutputItem>
  /** The same items by their ids and those of their calls; `undefined` for an id that several have. */
  readonly byId: Map<unknown, OutputItem | undefined>
  /** The ids of the tool calls that were emitted as started. */
  readonly callIds: Set<string>
  /** The types of the items that wait for an answer of the caller, by the ids that the answers name. */
  readonly waiting: Map<string, string>
  /** The text that is being written, so that a delta finds it without a look-up. */
  writing: TextBlock | undefined
  writingItem: unknown
  writingPart: unknown
}

/** An output item under way. */
interface OutputItem {
  /** `output_index`, for our events. Some servers do not number their items. */
  readonly index: number | undefined
  done: boolean
  /** The texts of a message by `content_index`. */
  readonly texts: Map<number, TextBlock>
  /** Whether it has had a delta of reasoning. */
  isReasoning: boolean
  /** The reasoning, or the arguments of a call, so far. */
  text: string
  /** The part of a reasoning item that is being written. */
  part: number
  /** The tool call, once it was emitted as started. */
  call: { readonly id: string; readonly name: string } | undefined
}

/** A text under way: an `output_text` or a `refusal` of a message item. */
interface TextBlock {
  readonly index: number | undefined
  readonly isRefusal: boolean
  text: string
  readonly annotations: JsonValue[]
  done: boolean
}

function takeEvent(output: Output, type: unknown, event: JsonObject): void {
  switch (type) {
    case 'response.output_text.delta':
      takeTextDelta(output, event, false)
      return
    case 'response.refusal.delta':
      takeTextDelta(output, event, true)
      return
    case 'response.function_call_arguments.delta':
      takeArguments(output, event, event['delta'])
      return
    case 'response.reasoning_summary_text.delta':
    case 'response.reasoning_summary.delta':
    case 'response.reasoning_text.delta':
      takeReasoningDelta(output, event)
      return
    case 'response.output_text.done':
      takeTextDone(output, event, event['text'], false)
      return
    case 'response.refusal.done':
      takeTextDone(output, event, event['refusal'], true)
      return
    case 'response.output_text.annotation.added': {
      textOf(output, event, false).annotations.push(event['annotation'] ?? null)
      return
    }
    case 'response.function_call_arguments.done':
      // The whole arguments matter only when there were no deltas.
      if (itemOfEvent(output, event).text === '') takeArguments(output, event, event['arguments'])
      return
    case 'response.output_item.added':
      takeItemAdded(output, event)
      return
    case 'response.output_item.done':
      takeItemDone(output, event)
      return
    case 'error':
    case 'response.error':
      throw reportedError(output.state, event)
    default:
      takeResponse(output, type, event)
  }
}

function takeTextDelta(output: Output, event: JsonObject, isRefusal: boolean): void {
  const delta = event['delta']
  if (typeof delta !== 'string') {
    if (delta === undefined || delta === null) return
    throw wrongMember('delta', 'a text')
  }
  if (delta === '') return
  addText(output.state, textOf(output, event, isRefusal), delta)
}

function takeTextDone(
  output: Output,
  event: JsonObject,
  text: JsonValue | undefined,
  isRefusal: boolean,
): void {
  const whole = asText(text)
  if (whole !== undefined) endText(output.state, textOf(output, event, isRefusal), whole)
}

function takeReasoningDelta(output: Output, event: JsonObject): void {
  const delta = asText(event['delta'])
  const part = asCount(event['summary_index'] ?? event['content_index']) ?? 0
  if (delta !== undefined) addReasoning(output.state, itemOfEvent(output, event), part, delta)
}

function takeArguments(output: Output, event: JsonObject, delta: JsonValue | undefined): void {
  const text = argumentsText(delta)
  if (text !== '') addArguments(output.state, itemOfEvent(output, event), text)
}

/** Starts a call as soon as its id and its name are known. */
function takeItemAdded(output: Output, event: JsonObject): void {
  const wire = asObject(event['item'])
  if (wire?.['type'] !== 'function_call') return
  const item = itemOfEvent(output, event)
  const id = asText(wire['call_id'])
  const name = asText(wire['name'])
  if (item.call !== undefined || id === undefined || name === undefined) return
  startCall(output, item, id, name)
}

function takeItemDone(output: Output, event: JsonObject): void {
  const wire = asObject(event['item'])
  if (wire !== undefined) endItem(output, itemOfEvent(output, event), wire)
}

/** Takes an event that carries the response itself. A whole answer is nothing but the response. */
function takeResponse(output: Output, type: unknown, event: JsonObject): void {
  const { state } = output
  if (event['object'] === 'response' || Array.isArray(event['output'])) {
    finish(output, event)
    return
  }
  const response = asObject(event['response'])
  if (response === undefined) {
    if (event['error']) throw reportedError(state, event)
    return
  }
  noteHead(state, response)
  if (type === 'response.failed') throw failedResponse(state, response)
  if (endings.has(type)) finish(output, response)
}

const endings: ReadonlySet<unknown> = new Set([
  'response.completed',
  'response.incomplete',
  'response.cancelled',
  'response.done',
])

function finish(output: Output, response: JsonObject): void {
  const { state, callIds, waiting } = output
  noteHead(state, response)
  const status = response['status']
  if (status === 'failed' || status === 'cancelled') throw failedResponse(state, response)
  state.usage = asObject(response['usage'])
  endOutput(output, response['output'])
  for (const name of ['incomplete_details', 'service_tier']) {
    const value = response[name]
    if (value !== undefined && value !== null) state.metadata[name] = value
  }
  const [awaits] = waiting.values()
  if (awaits !== undefined) state.metadata['awaits'] = awaits
  finishMessage(state, responseEnd(response, callIds.size > 0, awaits))
}

function failedResponse(state: ResponseState, response: JsonObject): Error {
  const error = response['error'] ?? { message: `the response is ${asText(response['status'])}` }
  return reportedError(state, { error })
}

function itemOf({ items, byId }: Output, index: unknown, id: unknown): OutputItem {
  const key = index ?? id
  const known = items.get(key)
  if (known !== undefined) return known
  const item: OutputItem = {
    index: asCount(index),
    done: false,
    texts: new Map(),
    isReasoning: false,
    text: '',
    part: 0,
    call: undefined,
  }
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

/** The item of a call that came before under another number. */
function itemOfCall({ byId }: Output, wire: JsonObject | undefined): OutputItem | undefined {
  return wire?.['type'] === 'function_call' ? byId.get(wire['call_id']) : undefined
}

/** The text that an event belongs to. */
function textOf(output: Output, event: JsonObject, isRefusal: boolean): TextBlock {
  const item = event['output_index'] ?? event['item_id']
  const part = event['content_index']
  const { writing } = output
  if (writing !== undefined && item === output.writingItem && part === output.writingPart) {
    return writing
  }
  const block = textBlock(output.state, itemOfEvent(output, event), asCount(part) ?? 0, isRefusal)
  output.writing = block
  output.writingItem = item
  output.writingPart = part
  return block
}

/** Completes an item with its whole content. A second end of the same item is ignored. */
function endItem(output: Output, item: OutputItem, wire: JsonObject): void {
  if (item.done) return
  item.done = true
  const { state } = output
  switch (wire['type']) {
    case 'message':
      endMessageItem(state, item, wire)
      return
    case 'reasoning':
      endReasoning(output, item, wire)
      return
    case 'function_call':
      endCall(output, item, wire)
      return
    case 'custom_tool_call':
      if (output.tools.some(({ name }) => name === wire['name'])) endCustomCall(output, item, wire)
      else addItem(output, wire)
      return
    default: {
      const image = generatedImage(wire)
      if (image === undefined) addItem(output, wire)
      else {
        startMessage(state)
        state.message.image(image)
      }
    }
  }
}

/**
 * Keeps an item of the provider's own, to be sent back. Calls that the provider does not answer itself, and requests for
 * approval, wait for the caller.
 */
function addItem({ state, waiting }: Output, wire: JsonObject): void {
  const type = asText(wire['type'])
  if (type === undefined) return
  startMessage(state)
  state.message.item(wire)
  const asked = askedBy(wire)
  const answered = answeredBy(wire)
  if (asked !== undefined) waiting.set(asked, type)
  else if (answered !== undefined) waiting.delete(answered)
}

/**
 * Reads the items that had no events of their own and completes the items that are still open.
 *
 * Known items are found by their ids: some servers leave items out of the whole output, so a position means nothing.
 */
function endOutput(output: Output, wireItems: unknown): void {
  asList(wireItems).forEach((value, index) => {
    const wire = asObject(value)
    if (wire === undefined) return
    const known = output.byId.get(wire['id']) ?? itemOfCall(output, wire)
    endItem(output, known ?? itemOf(output, index, undefined), wire)
  })
  for (const item of output.items.values()) endItem(output, item, { type: typeOfOpen(item) })
}

/** The type of an item that was never completed. */
function typeOfOpen({ call, isReasoning }: OutputItem): string {
  if (call !== undefined) return 'function_call'
  return isReasoning ? 'reasoning' : 'message'
}

/** The text at a place of a message item; a new one starts the message. A refusal is text too: the model answered it. */
function textBlock(
  state: ResponseState,
  item: OutputItem,
  contentIndex: number,
  isRefusal: boolean,
): TextBlock {
  const known = item.texts.get(contentIndex)
  if (known !== undefined) return known
  startMessage(state)
  const block = { index: item.index, isRefusal, text: '', annotations: [], done: false }
  item.texts.set(contentIndex, block)
  return block
}

function addText(state: ResponseState, block: TextBlock, delta: string): void {
  block.text += delta
  if (block.isRefusal) state.refusal += delta
  state.message.text(delta, block.index)
}

/** Completes a text. What the deltas left out is emitted first. */
function endText(state: ResponseState, block: TextBlock, whole: string): void {
  if (block.done) return
  const { text } = block
  if (whole.length > text.length && whole.startsWith(text)) {
    addText(state, block, whole.slice(text.length))
  }
  block.done = true
  block.text = whole
  state.message.endText(block.index, whole, annotated(state, block, block.annotations))
}

function annotated(
  { message, sink }: ResponseState,
  { index, text }: TextBlock,
  annotations: readonly JsonValue[],
): readonly Source[] {
  if (annotations.length === 0) return []
  const { provider } = sink
  return sourcesOf(annotations, { text, offset: message.textStart(index), provider })
}

/** Completes the texts of a whole message item, and keeps what stands beside them. */
function endMessageItem(state: ResponseState, item: OutputItem, wire: JsonObject): void {
  asList(wire['content']).forEach((value, contentIndex) => {
    const part = asObject(value) ?? {}
    const isRefusal = part['type'] === 'refusal'
    const whole = asText(isRefusal ? part['refusal'] : part['text'])
    const annotations = asList(part['annotations'])
    if (whole !== undefined) {
      const block = textBlock(state, item, contentIndex, isRefusal)
      const late = annotations.slice(block.annotations.length)
      if (block.done) {
        for (const source of annotated(state, block, late)) state.lateSources.push(source)
      } else for (const annotation of late) block.annotations.push(annotation)
      endText(state, block, whole)
    }
    noteList(state, 'annotations', annotations)
    noteList(state, 'logprobs', part['logprobs'])
  })
  for (const block of item.texts.values()) endText(state, block, block.text)
}

/** What separates two parts of a summary. */
const gap = '\n\n'

/** Adds to a reasoning item. A new part of it begins after a blank line. */
function addReasoning(state: ResponseState, item: OutputItem, part: number, delta: string): void {
  const added = part !== item.part && item.text !== '' ? gap + delta : delta
  item.isReasoning = true
  item.part = part
  item.text += added
  startMessage(state)
  state.message.reasoning(added, item.index)
}

/**
 * Completes a reasoning item. Its id and its encrypted content are kept to be sent back, and so is the number of the calls
 * before it, because the items have to be sent back in their order.
 */
function endReasoning({ state, callIds }: Output, item: OutputItem, wire: JsonObject): void {
  const whole = reasoningText(wire)
  const opaque = opaqueOf(wire, callIds.size)
  if (whole === '' && item.text === '' && opaque === undefined) return
  if (item.text === '' && whole !== '') addReasoning(state, item, 0, whole)
  startMessage(state)
  state.message.endReasoning(opaque, item.index, whole === '' ? item.text : whole)
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

/** The text of a reasoning item: its summary, or its content if a server shows that. */
function reasoningText(wire: JsonObject): string {
  const summary = texts(wire['summary'])
  return (summary.length > 0 ? summary : texts(wire['content'])).join(gap)
}

function texts(parts: JsonValue | undefined): readonly string[] {
  return asList(parts).flatMap((part) => asText(asObject(part)?.['text']) ?? [])
}

/** Adds to the arguments of a call. They are held back until the call has started. */
function addArguments({ message }: ResponseState, item: OutputItem, delta: string): void {
  item.text += delta
  if (item.call !== undefined) message.callDelta(item.call.id, delta)
}

/** Completes a call with its whole arguments, or with the sum of the deltas if they are not given. */
function endCall(output: Output, item: OutputItem, wire: JsonObject): void {
  const { state, callIds } = output
  const { id, name } =
    item.call ??
    startCall(
      output,
      item,
      asText(wire['call_id']) ?? asText(wire['id']) ?? `call_${callIds.size}`,
      asText(wire['name']) ?? 'unnamed',
    )
  const whole = argumentsText(wire['arguments'])
  if (item.text === '' && whole !== '') addArguments(state, item, whole)
  state.message.endCall({ id, name, ...parseArguments(whole === '' ? item.text : whole) })
}

/** The call of a custom tool, whose input is a text, as the call of a tool with the argument `input`. */
function endCustomCall(output: Output, item: OutputItem, wire: JsonObject): void {
  const { id, name } = startCall(
    output,
    item,
    asText(wire['call_id']) ?? `call_${output.callIds.size}`,
    asText(wire['name']) ?? 'unnamed',
  )
  // An input that is not a text stays what it is, so that the schema of the tool refuses it.
  const raw = JSON.stringify({ input: wire['input'] ?? '' })
  addArguments(output.state, item, raw)
  output.state.message.endCall({
    id,
    name,
    ...parseArguments(raw),
    opaque: { type: 'custom_tool_call' },
  })
}

/** Starts a call, and emits the arguments that were held back. An id that is taken is replaced by a new one. */
function startCall(
  { state, callIds }: Output,
  item: OutputItem,
  wireId: string,
  name: string,
): { readonly id: string; readonly name: string } {
  const { message, sink } = state
  const id = callIds.has(wireId) ? sink.newId('call') : wireId
  const call = { id, name }
  item.call = call
  callIds.add(id)
  startMessage(state)
  message.startCall(id, name)
  if (item.text !== '') message.callDelta(id, item.text)
  return call
}

/** The image of an `image_generation_call` item. The item's id is kept with it, so that it can be sent back. */
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

/**
 * Why a response ended, and the provider's own word: the reason of an incomplete response, else its status.
 *
 * OpenAI reports `completed` also for a response that ended in order to call tools, or to wait for the caller; then the word
 * is the type of the item that waits.
 */
function responseEnd(
  response: JsonObject,
  hasCalls: boolean,
  awaits: string | undefined,
): MessageEnd {
  const status = asText(response['status'])
  const why = asText(asObject(response['incomplete_details'])?.['reason'])
  if (status !== 'incomplete') {
    const known = status === 'completed' || status === undefined
    const ended = awaits === undefined ? 'stop' : 'other'
    return {
      finishReason: known ? (hasCalls ? 'tool_calls' : ended) : 'other',
      rawFinishReason: known ? (awaits ?? status) : status,
    }
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
