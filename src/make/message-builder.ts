import type { ModelEvent } from '../types/events.ts'
import { defined } from '../types/guards.ts'
import type { JsonObject, JsonValue } from '../types/json.ts'
import type { Image } from '../types/media.ts'
import type { Message, Part, ReasoningPart, ToolCall } from '../types/message.ts'
import type { Usage } from '../types/response.ts'

/**
 * Builds one assistant message and emits its events: started, deltas, completed, the message itself last.
 *
 * A wire decoder calls it with what it reads, so that all providers and the fake emit the same events in the same order.
 * Nothing is emitted before there is content: the first call that has something to say emits `message_started` first, so a
 * failure before it fails the whole call.
 */
export interface MessageBuilder {
  /** Whether `message_started` was emitted. */
  readonly started: boolean
  /** Whether `message_completed` was emitted. */
  readonly done: boolean
  /** The completed calls, in the order in which they began. */
  readonly calls: readonly ToolCall[]
  /** Emits `message_started`, unless it was emitted before. */
  start(facts?: StartFacts): void
  /** Emits a raw chunk; one that comes before `message_started` follows it. */
  raw(chunk: JsonValue): void
  /** Appends to a text block, and opens it if needed. An empty delta only opens the block, which keeps its place in the message. */
  text(delta: string, index?: number): void
  /** Completes an open text block. `whole` replaces the sum of the deltas. Without an open block nothing is emitted. */
  endText(index?: number, whole?: string): void
  /** Appends to a reasoning block, as `text` does. */
  reasoning(delta: string, index?: number): void
  /** Completes a reasoning block with what has to be sent back. Without an open block only something to send back is emitted. */
  endReasoning(opaque?: JsonValue, index?: number, whole?: string): void
  image(image: Image): void
  startCall(id: string, name: string): void
  callDelta(id: string, argumentsDelta: string): void
  endCall(call: ToolCall): void
  /** Emits `message_completed`. Blocks that are still open must be completed first. */
  finish(end: MessageEnd): void
}

/** What `message_started` says beside the ids of the call. */
export interface StartFacts {
  readonly id?: string | undefined
  readonly model?: string | undefined
  readonly usage?: Usage | undefined
}

type Completed = Extract<ModelEvent, { type: 'message_completed' }>

/** How a message ended, without the message. */
export type MessageEnd = {
  readonly [Key in Exclude<keyof Completed, 'type' | 'message'>]?: Completed[Key] | undefined
} & Pick<Completed, 'finishReason'>

/** Makes a builder that hands its events to `sink`. */
export function messageBuilder(
  { provider, requestId }: { readonly provider: string; readonly requestId: string },
  sink: (event: ModelEvent) => void,
): MessageBuilder {
  const draft = messageDraft()
  let started = false
  let done = false
  let early: JsonValue[] = []

  const start = (facts?: StartFacts): void => {
    if (started) return
    started = true
    sink(defined<Started>({ type: 'message_started', requestId, provider, ...facts }))
    for (const chunk of early) sink({ type: 'raw_chunk', chunk })
    early = []
  }
  return {
    get started() {
      return started
    },
    get done() {
      return done
    },
    get calls() {
      return draft.calls.flatMap(({ call }) => call ?? [])
    },
    start,
    raw(chunk) {
      if (started) sink({ type: 'raw_chunk', chunk })
      else early.push(chunk)
    },
    text(delta, index) {
      start()
      growBlock(draft, 'text', index, delta)
      if (delta === '') return
      sink(
        index === undefined ? { type: 'text_delta', delta } : { type: 'text_delta', delta, index },
      )
    },
    endText(index, whole) {
      const text = whole ?? openTextOf(draft, 'text', index)
      if (text === undefined) return
      start()
      closeBlock(draft, 'text', index, { text })
      sink(defined<TextCompleted>({ type: 'text_completed', text, index }))
    },
    reasoning(delta, index) {
      start()
      growBlock(draft, 'reasoning', index, delta)
      if (delta === '') return
      sink(
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
      sink(
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
      sink({ type: 'image_completed', image })
    },
    startCall(id, name) {
      start()
      setCall(draft, { id, name, raw: '' })
      sink({ type: 'tool_call_started', id, name })
    },
    callDelta(id, argumentsDelta) {
      start()
      growCall(draft, id, argumentsDelta)
      sink({ type: 'tool_call_delta', id, argumentsDelta })
    },
    endCall(call) {
      start()
      setCall(draft, { id: call.id, name: call.name, raw: '', call })
      sink({ type: 'tool_call_completed', call })
    },
    finish(end) {
      start()
      done = true
      const message = draftMessage(draft, provider)
      sink(defined<Completed>({ type: 'message_completed', message, ...end }))
    },
  }
}

type Started = Extract<ModelEvent, { type: 'message_started' }>
type TextCompleted = Extract<ModelEvent, { type: 'text_completed' }>
type ReasoningCompleted = Extract<ModelEvent, { type: 'reasoning_completed' }>

/**
 * The assistant message that finished parts and calls make.
 *
 * Content is a string when there is nothing but text (blocks joined), else the parts in their order.
 */
export function assistantMessage(parts: readonly Part[], toolCalls: readonly ToolCall[]): Message {
  const content = parts.every((part) => part.type === 'text')
    ? parts.map((part) => part.text).join('')
    : parts
  return toolCalls.length === 0
    ? { role: 'assistant', content }
    : { role: 'assistant', content, toolCalls }
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

/** The JSON object in a text, if it is one. */
export function parseObject(text: string): JsonObject | undefined {
  try {
    const value = JSON.parse(text) as JsonValue
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as JsonObject)
      : undefined
  } catch {
    return undefined
  }
}

type BlockKind = 'text' | 'reasoning'

interface Block {
  readonly kind: BlockKind | 'image'
  readonly index: number | undefined
  readonly text: string
  readonly closed: boolean
  readonly opaque?: JsonValue | undefined
  readonly image?: Image
}

/** A tool call under way: the arguments streamed so far, or the whole call. */
interface DraftCall {
  readonly id: string
  readonly name: string
  readonly raw: string
  readonly call?: ToolCall | undefined
}

/**
 * A message under way: its content blocks and its calls, in the order in which they began.
 *
 * Both the builder and the fold of a run write to one. Its lists are replaced and never changed, so a shallow copy is a
 * snapshot. The block that grows is kept flat (`openKind`, `openIndex`, `openText`), so that a delta costs one string append.
 */
export interface MessageDraft {
  blocks: readonly Block[]
  openKind: BlockKind | undefined
  openIndex: number | undefined
  openText: string
  /** The position of the open block in `blocks`. */
  openAt: number
  calls: readonly DraftCall[]
}

/** A message without content. */
export function messageDraft(): MessageDraft {
  return {
    blocks: [],
    openKind: undefined,
    openIndex: undefined,
    openText: '',
    openAt: -1,
    calls: [],
  }
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
  const block: Block = { kind: 'image', index: undefined, text: '', closed: true, image }
  draft.blocks = [...draft.blocks, block]
}

/** Adds a call, or replaces the one with its id. */
export function setCall(draft: MessageDraft, call: DraftCall): void {
  const at = draft.calls.findIndex(({ id }) => id === call.id)
  draft.calls = at === -1 ? [...draft.calls, call] : replaced(draft.calls, at, call)
}

/** Appends to the arguments of a call. */
export function growCall(draft: MessageDraft, id: string, delta: string): void {
  const last = draft.calls.length - 1
  const at =
    draft.calls[last]?.id === id ? last : draft.calls.findLastIndex((call) => call.id === id)
  const known = draft.calls[at]
  if (known === undefined) draft.calls = [...draft.calls, { id, name: '', raw: delta }]
  else {
    const { name, raw, call } = known
    draft.calls = replaced(draft.calls, at, { id, name, raw: raw + delta, call })
  }
}

/**
 * The message as far as it has come. Empty blocks are left out, except reasoning that has something to send back. A call
 * that was never completed keeps its text and has no arguments; it is never run.
 */
export function draftMessage(draft: Readonly<MessageDraft>, provider: string): Message {
  const calls = draft.calls.map(
    ({ id, name, raw, call }): ToolCall => call ?? { id, name, arguments: {}, rawArguments: raw },
  )
  return assistantMessage(draftParts(draft, provider), calls)
}

function draftParts(draft: Readonly<MessageDraft>, provider: string): readonly Part[] {
  const all = { ...draft }
  park(all, false)
  const parts: Part[] = []
  for (const { kind, text, opaque, image } of all.blocks) {
    if (image !== undefined) parts.push({ type: 'image', image })
    else if (kind === 'text' && text !== '') parts.push({ type: 'text', text })
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
  return draft.blocks[findOpen(draft, kind, index)]?.text
}

function findOpen(draft: MessageDraft, kind: BlockKind, index: number | undefined): number {
  return draft.blocks.findLastIndex(
    (block) => !block.closed && block.kind === kind && block.index === index,
  )
}

function openBlock(draft: MessageDraft, kind: BlockKind, index: number | undefined): void {
  park(draft, false)
  const known = findOpen(draft, kind, index)
  draft.openKind = kind
  draft.openIndex = index
  if (known === -1) {
    draft.openAt = draft.blocks.length
    draft.openText = ''
    draft.blocks = [...draft.blocks, { kind, index, text: '', closed: false }]
  } else {
    draft.openAt = known
    draft.openText = draft.blocks[known]?.text ?? ''
  }
}

/** Writes the open block back to its position. */
function park(draft: MessageDraft, closed: boolean, opaque?: JsonValue): void {
  const { openKind: kind, openIndex: index, openText: text, openAt } = draft
  if (kind === undefined) return
  draft.blocks = replaced(draft.blocks, openAt, { kind, index, text, closed, opaque })
  draft.openKind = undefined
  draft.openText = ''
  draft.openAt = -1
}

/** A copy of a list with one item replaced. */
function replaced<T>(list: readonly T[], at: number, item: T): readonly T[] {
  const copy = list.slice()
  copy[at] = item
  return copy
}
