import {
  itemAt,
  itemsOf,
  noItems,
  placeOf,
  withItem,
  withKeyed,
  type SharedList,
} from '../base/shared-list.ts'
import { mapTexts } from '../errors/redact.ts'
import type { ModelEvent } from '../types/events.ts'
import { defined, type Written } from '../types/guards.ts'
import type { JsonObject, JsonValue } from '../types/json.ts'
import type { Image } from '../types/media.ts'
import type {
  Message,
  Part,
  ProviderItemPart,
  ReasoningPart,
  Source,
  ToolCall,
} from '../types/message.ts'
import type { Usage } from '../types/response.ts'
import type { Warning } from '../types/warning.ts'
import { answerText, restoredCall, type AnswerForms, type AnswerText } from './answer-text.ts'
import { maxCalls, readObject, tooManyCalls } from './gate.ts'

/**
 * Builds one assistant message and emits its events: started, deltas, completed, the message itself last.
 *
 * The decoder of a provider calls it with what it reads, so that all providers and the fake emit the same events in the same order.
 * Nothing is emitted before there is content: the first call that has something to say emits `message_started` first, so a
 * failure before it fails the whole call. An API that does not say where a block ends need not call `endText`, `endReasoning` and
 * `endCall`: `finish` completes what is open.
 */
export interface MessageBuilder {
  /** Whether `message_started` was emitted. */
  readonly started: boolean
  /** Whether `message_completed` was emitted. */
  readonly done: boolean
  /** The completed calls, in the order in which they began. */
  readonly calls: readonly ToolCall[]
  /** Notes what `message_started` will say. Nothing is emitted. */
  head(facts: StartFacts): void
  /** Emits `message_started` without content, unless it was emitted before. Only a script that fails has a reason to. */
  start(): void
  /** Emits a raw chunk, if they are wanted; one that comes before `message_started` follows it. */
  raw(chunk: JsonValue): void
  /**
   * Appends to a text block, and opens it if needed. An empty delta only opens the block, which keeps its place in the message;
   * `undefined` does nothing.
   */
  text(delta: string | undefined, index?: number): void
  /**
   * Completes an open text block. `whole` replaces the sum of the deltas. Without an open block nothing is emitted.
   *
   * `sources` are those that became known with the block; their places are those in the text of the message.
   */
  endText(index?: number, whole?: string, sources?: readonly Source[]): void
  /**
   * Where the last text block with this index begins in the text of the message. `undefined` if it is not known: blocks that end
   * in another order than they began are counted again, and not without end.
   */
  textStart(index?: number): number | undefined
  /** Appends to a reasoning block, as `text` does. */
  reasoning(delta: string | undefined, index?: number): void
  /** Completes a reasoning block with what has to be sent back. Without an open block only something to send back is emitted. */
  endReasoning(opaque?: JsonValue, index?: number, whole?: string): void
  image(image: Image): void
  /** Adds an item that only the provider understands, to be sent back unchanged. */
  item(item: JsonObject): void
  startCall(id: string, name: string): void
  /** Appends to the arguments of a call. `undefined` does nothing. */
  callDelta(id: string, argumentsDelta: string | undefined): void
  /**
   * Completes a call. One that was not started is started first. The id alone completes a call that was started and has grown by
   * `callDelta`: its arguments are read by `parseArguments`.
   */
  endCall(call: ToolCall | string): void
  /** Completes the blocks and calls that are still open, and emits `message_completed`. `sources` came after their texts. */
  finish(end: MessageEnd, sources?: readonly Source[]): void
}

/** What `message_started` says beside the ids of the call. */
export interface StartFacts {
  readonly id?: string | undefined
  readonly model?: string | undefined
  readonly usage?: Usage | undefined
  readonly warnings?: readonly Warning[] | undefined
}

type Completed = Extract<ModelEvent, { type: 'message_completed' }>

/** How a message ended, without the message. */
export type MessageEnd = {
  readonly [Key in Exclude<keyof Completed, 'type' | 'message'>]?: Completed[Key] | undefined
} & Pick<Completed, 'finishReason'>

/** Where the events of one message go, and what is known of the call that it answers. */
export interface MessageSink {
  readonly provider: string
  readonly requestId: string
  /** Takes the next event. */
  emit(event: ModelEvent): void
  /** Removes the secrets of the call from a text: from what the provider says about the message, not from its content. */
  readonly clean?: ((text: string) => string) | undefined
  /** The settings of the request that could not be sent. `message_started` carries them. */
  readonly warnings?: readonly Warning[] | undefined
  /** The forms in which the schemas of the request were sent. Text and arguments are emitted in the form that the caller asked for. */
  readonly forms?: AnswerForms | undefined
  /** Whether `raw_chunk` events are wanted (no). */
  readonly rawChunks?: boolean | undefined
  /** `false`: a message may have any number of calls. A script may ask for more than a model may. */
  readonly bounded?: false | undefined
}

/** Makes the builder of one message, which hands its events to `sink`. */
export function messageBuilder(sink: MessageSink): MessageBuilder {
  const { provider, requestId } = sink
  const draft = messageDraft()
  const calls: ToolCall[] = []
  /** The positions of the completed calls. */
  const completed = new Map<string, number>()
  let answer: AnswerText | undefined
  let early: JsonValue[] = []
  /** The length of the text in the first blocks, so that no block is counted twice, and how often it was counted anew. */
  let counted = { blocks: 0, length: 0, again: 0 }

  let head: StartFacts = {}
  const start = (): void => {
    if (builder.started) return
    builder.started = true
    const { id, model, usage, warnings = sink.warnings ?? [] } = head
    sink.emit(
      defined<Started>({
        type: 'message_started',
        requestId,
        provider,
        id: cleaned(sink, id),
        model: cleaned(sink, model),
        // Numbers hold no secret.
        usage: usage?.extra === undefined ? usage : cleaned(sink, usage),
        warnings: warnings.length === 0 ? undefined : warnings,
      }),
    )
    for (const chunk of early) sink.emit({ type: 'raw_chunk', chunk })
    early = []
  }
  const builder: Written<MessageBuilder> = {
    started: false,
    done: false,
    calls,
    head(facts) {
      head = facts
    },
    start,
    raw(chunk) {
      if (sink.rawChunks !== true) return
      if (builder.started) sink.emit({ type: 'raw_chunk', chunk })
      else early.push(chunk)
    },
    text(given, index) {
      if (given === undefined) return
      const form = sink.forms?.answer
      if (form !== undefined) answer ??= answerText(form)
      const delta = answer === undefined ? given : answer.push(given)
      growBlock(draft, 'text', index, delta)
      if (delta === '') return
      start()
      sink.emit(
        index === undefined ? { type: 'text_delta', delta } : { type: 'text_delta', delta, index },
      )
    },
    endText(index, whole, given = []) {
      let text = whole ?? openTextOf(draft, 'text', index)
      if (text === undefined) return
      start()
      const form = sink.forms?.answer
      if (form !== undefined) {
        const read = (answer ?? answerText(form)).end(whole)
        answer = undefined
        text = read.text
        if (read.rest !== '')
          sink.emit(defined<TextDelta>({ type: 'text_delta', delta: read.rest, index }))
      }
      closeBlock(draft, 'text', index, { text })
      // The places are those in the text that the provider sent, which is another one then.
      const sources = form === undefined ? given : given.map(withoutPlace)
      addSources(draft, sources)
      const added = sources.length === 0 ? undefined : sources
      sink.emit(defined<TextCompleted>({ type: 'text_completed', text, index, sources: added }))
    },
    textStart(index) {
      const { blocks } = draft
      const at = lastWith(draft, 'text', index) ?? 0
      if (at < counted.blocks) counted = { blocks: 0, length: 0, again: counted.again + 1 }
      if (counted.again > mostCounts) return undefined
      let { length } = counted
      for (let n = counted.blocks; n < at; n++) {
        const block = itemAt(blocks, n)
        if (block?.kind === 'text') length += block.text.length
      }
      counted = { ...counted, blocks: at, length }
      return length
    },
    reasoning(delta, index) {
      if (delta === undefined) return
      growBlock(draft, 'reasoning', index, delta)
      if (delta === '') return
      start()
      sink.emit(
        index === undefined
          ? { type: 'reasoning_delta', delta }
          : { type: 'reasoning_delta', delta, index },
      )
    },
    endReasoning(opaque, index, whole) {
      const text = whole ?? openTextOf(draft, 'reasoning', index)
      if (text === undefined && opaque === undefined) return
      start()
      closeBlock(draft, 'reasoning', index, { text: text ?? '', opaque })
      sink.emit(
        defined<ReasoningCompleted>({
          type: 'reasoning_completed',
          text: text ?? '',
          index,
          opaque,
        }),
      )
    },
    image(image) {
      start()
      addImage(draft, image)
      sink.emit({ type: 'image_completed', image })
    },
    item(item) {
      start()
      addItem(draft, item)
      sink.emit({ type: 'reasoning_completed', text: '', item })
    },
    startCall(id, name) {
      if (draft.calls.length === maxCalls && sink.bounded !== false) throw tooManyCalls(sink)
      start()
      openCall(draft, id, name)
      sink.emit({ type: 'tool_call_started', id, name })
    },
    callDelta(id, argumentsDelta) {
      if (argumentsDelta === undefined) return
      start()
      growCall(draft, id, argumentsDelta)
      sink.emit({ type: 'tool_call_delta', id, argumentsDelta })
    },
    endCall(callOrId) {
      const given = typeof callOrId === 'string' ? grownCall(draft, callOrId) : callOrId
      const whole = sink.forms === undefined ? given : restoredCall(given, sink.forms)
      if (findCall(draft, whole.id) === undefined) builder.startCall(whole.id, whole.name)
      setCall(draft, whole)
      const at = completed.get(whole.id) ?? calls.length
      completed.set(whole.id, at)
      calls[at] = whole
      sink.emit({ type: 'tool_call_completed', call: whole })
    },
    finish(end, sources = []) {
      start()
      for (const { kind, index, text } of openBlocks(draft)) {
        // An answer in another form may hold back its text.
        if (text === '' && answer === undefined) continue
        if (kind === 'text') builder.endText(index)
        else builder.endReasoning(undefined, index)
      }
      for (const { id } of itemsOf(draft.calls)) if (!completed.has(id)) builder.endCall(id)
      builder.done = true
      addSources(draft, sources)
      const message = draftMessage(draft, provider)
      const rawFinishReason = cleaned(sink, end.rawFinishReason)
      const metadata = cleaned(sink, end.metadata)
      const usage = end.usage?.extra === undefined ? end.usage : cleaned(sink, end.usage)
      sink.emit(
        defined<Completed>({
          type: 'message_completed',
          message,
          ...end,
          rawFinishReason,
          usage,
          metadata,
        }),
      )
    },
  }
  return builder
}

/** How often the texts of the blocks are counted anew. */
const mostCounts = 100

function withoutPlace({ start: _start, end: _end, ...source }: Source): Source {
  return source
}

/** What a provider says about a message, without the secrets of the call. */
function cleaned<T extends JsonValue | Usage>(
  { clean }: MessageSink,
  value: T | undefined,
): T | undefined {
  // Usage is JSON too. Only texts change.
  return value === undefined || clean === undefined
    ? value
    : (mapTexts(value as JsonValue, clean) as T)
}

type Started = Extract<ModelEvent, { type: 'message_started' }>
type TextDelta = Extract<ModelEvent, { type: 'text_delta' }>
type TextCompleted = Extract<ModelEvent, { type: 'text_completed' }>
type ReasoningCompleted = Extract<ModelEvent, { type: 'reasoning_completed' }>

/**
 * The assistant message that finished parts and calls make.
 *
 * Content is a string when there is nothing but text (blocks joined), else the parts in their order.
 */
export function assistantMessage(
  parts: readonly Part[],
  toolCalls: readonly ToolCall[],
  sources: readonly Source[] = [],
): Message {
  const content = parts.every((part) => part.type === 'text')
    ? parts.map((part) => part.text).join('')
    : parts
  return {
    role: 'assistant',
    content,
    ...(toolCalls.length === 0 ? {} : { toolCalls }),
    ...(sources.length === 0 ? {} : { sources }),
  }
}

/**
 * The arguments of a tool call, decoded from the text that the model wrote.
 *
 * A text that is not a JSON object gives `{}` beside the raw text. An empty text is a call without arguments and has no
 * raw text.
 */
export function parseArguments(raw: string): Pick<ToolCall, 'arguments' | 'rawArguments'> {
  if (raw.trim() === '') return { arguments: {} }
  return { arguments: parseObject(raw) ?? {}, rawArguments: raw }
}

/** The JSON object in a text, if it is one that can be kept: its numbers are finite, and it is not nested too deeply. */
export function parseObject(text: string): JsonObject | undefined {
  return readObject(text).value
}

type BlockKind = 'text' | 'reasoning'

interface Block {
  readonly kind: BlockKind | 'image' | 'item'
  readonly index: number | undefined
  readonly text: string
  readonly closed: boolean
  readonly opaque?: JsonValue | undefined
  readonly image?: Image
  readonly item?: JsonObject
  /** The number of calls that began before an item. */
  readonly callsBefore?: number | undefined
}

/**
 * A message under way: its content blocks and its calls, in the order in which they began.
 *
 * Both the builder and the fold of a run write to one. Its lists are replaced and never changed, so a shallow copy is a
 * snapshot. The block that grows is kept flat (`openKind`, `openIndex`, `openText`), and so is the call that grows (`callAt`,
 * `callText`), so that a delta costs one string append.
 */
export interface MessageDraft {
  blocks: SharedList<Block>
  openKind: BlockKind | undefined
  openIndex: number | undefined
  openText: string
  /** The position of the open block in `blocks`. */
  openAt: number
  /** A call that is not complete has no arguments; its text is in `rawArguments`, or in `callText` while it grows. */
  calls: SharedList<ToolCall>
  /** The position in `calls` of the call that grows, or -1. */
  callAt: number
  callText: string
  /** The sources, as they came. */
  sources: SharedList<readonly Source[]>
}

/** A message without content. */
export function messageDraft(): MessageDraft {
  return {
    blocks: noItems,
    openKind: undefined,
    openIndex: undefined,
    openText: '',
    openAt: -1,
    calls: noItems,
    callAt: -1,
    callText: '',
    sources: noItems,
  }
}

/** Makes a draft empty again. */
export function clearDraft(draft: MessageDraft): void {
  draft.blocks = noItems
  draft.openKind = undefined
  draft.openIndex = undefined
  draft.openText = ''
  draft.openAt = -1
  draft.calls = noItems
  draft.callAt = -1
  draft.callText = ''
  draft.sources = noItems
}

/** Appends a delta to its block: the open one, one that was left open earlier, or a new one. */
export function growBlock(
  draft: MessageDraft,
  kind: BlockKind,
  index: number | undefined,
  delta: string,
): void {
  if (draft.openKind !== kind || draft.openIndex !== index) openBlock(draft, kind, index)
  draft.openText += delta
}

/** Closes a block with its whole text, which replaces the sum of its deltas. */
export function closeBlock(
  draft: MessageDraft,
  kind: BlockKind,
  index: number | undefined,
  whole: { readonly text: string; readonly opaque?: JsonValue | undefined },
): void {
  if (draft.openKind !== kind || draft.openIndex !== index) openBlock(draft, kind, index)
  draft.openText = whole.text
  park(draft, true, whole.opaque)
}

/** Adds a finished image. */
export function addImage(draft: MessageDraft, image: Image): void {
  park(draft, false)
  setBlock(draft, draft.blocks.length, {
    kind: 'image',
    index: undefined,
    text: '',
    closed: true,
    image,
  })
}

/** Adds the sources of a text. */
export function addSources(draft: MessageDraft, sources: readonly Source[]): void {
  if (sources.length > 0) draft.sources = withItem(draft.sources, draft.sources.length, sources)
}

/** Adds an item of the provider, which keeps its place among the calls. */
export function addItem(draft: MessageDraft, item: JsonObject): void {
  park(draft, false)
  const callsBefore = draft.calls.length === 0 ? undefined : draft.calls.length
  const block: Block = { kind: 'item', index: undefined, text: '', closed: true, item, callsBefore }
  setBlock(draft, draft.blocks.length, block)
}

/** Adds a call, or replaces the one with its id. */
export function setCall(draft: MessageDraft, call: ToolCall): void {
  const at = findCall(draft, call.id) ?? draft.calls.length
  if (at === draft.callAt) draft.callAt = -1
  else parkCall(draft)
  draft.calls = withKeyed(draft.calls, at, call, callKey)
}

/** Adds a call whose arguments have not come. */
export function openCall(draft: MessageDraft, id: string, name: string): void {
  setCall(draft, { id, name, arguments: {}, rawArguments: '' })
}

/** Appends to the arguments of a call. */
export function growCall(draft: MessageDraft, id: string, delta: string): void {
  if (draft.callAt !== -1 && itemAt(draft.calls, draft.callAt)?.id === id) {
    draft.callText += delta
    return
  }
  parkCall(draft)
  if (findCall(draft, id) === undefined) openCall(draft, id, 'unnamed')
  draft.callAt = findCall(draft, id) ?? -1
  draft.callText = (itemAt(draft.calls, draft.callAt)?.rawArguments ?? '') + delta
}

/** A call with the arguments that have come so far. */
function grownCall(draft: MessageDraft, id: string): ToolCall {
  parkCall(draft)
  const at = findCall(draft, id) ?? -1
  const { name = 'unnamed', rawArguments = '' } = itemAt(draft.calls, at) ?? {}
  return { id, name, ...parseArguments(rawArguments) }
}

/** The position of a call. */
function findCall({ calls }: MessageDraft, id: string): number | undefined {
  return placeOf(calls, id, callKey)
}

function callKey({ id }: ToolCall): string {
  return id
}

/** Writes the call that grows back to its position. */
function parkCall(draft: MessageDraft): void {
  const { calls, callAt, callText } = draft
  const open = callAt === -1 ? undefined : itemAt(calls, callAt)
  draft.callAt = -1
  if (open === undefined) return
  draft.calls = withKeyed(calls, callAt, { ...open, rawArguments: callText }, callKey)
}

/** The calls, with the text of the one that grows. */
function wholeCalls({ calls, callAt, callText }: Readonly<MessageDraft>): readonly ToolCall[] {
  const whole = itemsOf(calls)
  const open = whole[callAt]
  return open === undefined ? whole : whole.with(callAt, { ...open, rawArguments: callText })
}

/**
 * The message as far as it has come. Empty blocks are left out, except reasoning that has something to send back. A call
 * that was never completed keeps its text and has no arguments; it is never run.
 */
export function draftMessage(draft: Readonly<MessageDraft>, provider: string): Message {
  const sources = itemsOf(draft.sources).flat()
  return assistantMessage(draftParts(draft, provider), wholeCalls(draft), sources)
}

/** The parts of the message as far as it has come, in the order in which they began. */
export function draftParts(draft: Readonly<MessageDraft>, provider: string): readonly Part[] {
  const parts: Part[] = []
  for (const [at, block] of itemsOf(draft.blocks).entries()) {
    const { kind, opaque, image, item, callsBefore } = block
    const text = at === draft.openAt ? draft.openText : block.text
    if (image !== undefined) parts.push({ type: 'image', image })
    else if (item !== undefined) {
      parts.push(defined<ProviderItemPart>({ type: 'provider_item', provider, item, callsBefore }))
    } else if (kind === 'text' && text !== '') parts.push({ type: 'text', text })
    else if (kind === 'reasoning' && (text !== '' || opaque !== undefined)) {
      parts.push(defined<ReasoningPart>({ type: 'reasoning', text, opaque, provider }))
    }
  }
  return parts
}

/** The text of a block that was opened and not closed. */
function openTextOf(
  draft: MessageDraft,
  kind: BlockKind,
  index: number | undefined,
): string | undefined {
  if (draft.openKind === kind && draft.openIndex === index) return draft.openText
  return findOpen(draft, kind, index)?.block.text
}

/** The blocks that were not closed, in their order. */
function openBlocks(draft: MessageDraft): readonly Block[] {
  park(draft, false)
  return itemsOf(draft.blocks).filter(({ closed }) => !closed)
}

/** The open block of a kind and an index. There is at most one: the last that has both. */
function findOpen(
  draft: MessageDraft,
  kind: BlockKind,
  index: number | undefined,
): { readonly at: number; readonly block: Block } | undefined {
  const at = lastWith(draft, kind, index)
  const block = at === undefined ? undefined : itemAt(draft.blocks, at)
  return at === undefined || block === undefined || block.closed ? undefined : { at, block }
}

function openBlock(draft: MessageDraft, kind: BlockKind, index: number | undefined): void {
  park(draft, false)
  const known = findOpen(draft, kind, index)
  draft.openKind = kind
  draft.openIndex = index
  draft.openAt = known?.at ?? draft.blocks.length
  draft.openText = known?.block.text ?? ''
  if (known === undefined) {
    setBlock(draft, draft.openAt, { kind, index, text: '', closed: false })
  }
}

/** Writes the open block back to its position. */
function park(draft: MessageDraft, closed: boolean, opaque?: JsonValue): void {
  const { openKind: kind, openIndex: index, openText: text, openAt } = draft
  if (kind === undefined) return
  setBlock(draft, openAt, { kind, index, text, closed, opaque })
  draft.openKind = undefined
  draft.openText = ''
  draft.openAt = -1
}

function setBlock(draft: MessageDraft, at: number, block: Block): void {
  draft.blocks = withKeyed(draft.blocks, at, block, blockKey)
}

/** The position of the last block of a kind and an index. */
function lastWith(
  { blocks }: MessageDraft,
  kind: BlockKind,
  index: number | undefined,
): number | undefined {
  return placeOf(blocks, blockKey({ kind, index }), blockKey)
}

function blockKey({ kind, index }: Pick<Block, 'kind' | 'index'>): string {
  return `${kind} ${index}`
}
