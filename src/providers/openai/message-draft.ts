import { defined } from '../../data/defined.ts'
import type { FinishReason } from '../../data/finish-reason.ts'
import type { Image } from '../../data/image.ts'
import type { JsonObject, JsonValue } from '../../data/json.ts'
import type { Part } from '../../data/part.ts'
import type { ToolCall } from '../../data/tool-call.ts'
import { AdapterError } from '../../errors/adapter-error.ts'
import { assistantMessage } from '../../events/assistant-message.ts'
import type { ModelEvent } from '../../events/model-event.ts'
import type { CallNotes } from './call-notes.ts'
import { judgeFailure, readFailure } from './parse-failure.ts'
import { parseUsage } from './parse-usage.ts'
import { asObject, asText } from './wire-value.ts'

/**
 * An answer under way: what both endpoints have in common.
 *
 * Nothing is said before there is something to say, so that a failure that comes first fails the call as a whole.
 */
export interface MessageDraft {
  readonly notes: CallNotes
  started: boolean
  done: boolean
  id: string | undefined
  model: string | undefined
  /** Raw chunks that came before the first event. */
  held: JsonValue[]
  /** The content in the order in which it began; a block that is still open has its place, and no text. */
  readonly parts: Part[]
  readonly calls: ToolCall[]
  usage: JsonObject | undefined
  refusal: string
  readonly metadata: Record<string, JsonValue>
}

export function messageDraft(notes: CallNotes): MessageDraft {
  return {
    notes,
    started: false,
    done: false,
    id: undefined,
    model: undefined,
    held: [],
    parts: [],
    calls: [],
    usage: undefined,
    refusal: '',
    metadata: {},
  }
}

type Started = Extract<ModelEvent, { type: 'message_started' }>
type Completed = Extract<ModelEvent, { type: 'message_completed' }>

/** Says that the message has begun, unless that is said. Comes before every other event. */
export function begin(draft: MessageDraft, out: ModelEvent[]): void {
  if (draft.started) return
  draft.started = true
  const { id, model } = draft
  const { requestId, provider } = draft.notes
  out.push(defined<Started>({ type: 'message_started', requestId, provider, id, model }))
  for (const chunk of draft.held) out.push({ type: 'raw_chunk', chunk })
  draft.held = []
}

/** Passes a chunk on as it came; before the first event it is held back. */
export function passRaw(draft: MessageDraft, chunk: JsonValue, out: ModelEvent[]): void {
  if (draft.started) out.push({ type: 'raw_chunk', chunk })
  else draft.held.push(chunk)
}

/** Takes the answer's id and model from wherever they are first given. */
export function noteHead(draft: MessageDraft, head: { id?: unknown; model?: unknown }): void {
  draft.id ??= asText(head.id)
  draft.model ??= asText(head.model)
}

/** Adds to a list in the metadata; an empty one is not worth keeping. */
export function noteList(
  draft: MessageDraft,
  name: string,
  items: JsonValue | undefined,
): void {
  if (!Array.isArray(items) || items.length === 0) return
  const known = draft.metadata[name]
  draft.metadata[name] = Array.isArray(known) ? [...known, ...items] : items
}

/** Adds a finished image. */
export function addImage(draft: MessageDraft, image: Image, out: ModelEvent[]): void {
  begin(draft, out)
  draft.parts.push({ type: 'image', image })
  out.push({ type: 'image_completed', image })
}

/** Says that the message is complete. A refusal is what a filter said in the model's own words. */
export function complete(
  draft: MessageDraft,
  end: { readonly finishReason: FinishReason; readonly rawFinishReason: string | undefined },
  out: ModelEvent[],
): void {
  begin(draft, out)
  draft.done = true
  const { parts, calls, usage, refusal, notes } = draft
  const metadata = defined<JsonObject>({
    ...draft.metadata,
    refusal: asText(refusal),
    droppedParameters: notes.dropped.length === 0 ? undefined : notes.dropped,
    providerRequestId: notes.providerRequestId,
  })
  const { finishReason, rawFinishReason } = end
  out.push(
    defined<Completed>({
      type: 'message_completed',
      message: assistantMessage(parts.filter(saysSomething), calls),
      finishReason: refusal !== '' && finishReason === 'stop' ? 'content_filter' : finishReason,
      rawFinishReason,
      usage: usage === undefined ? undefined : parseUsage(usage),
      metadata: Object.keys(metadata).length === 0 ? undefined : metadata,
    }),
  )
}

function saysSomething(part: Part): boolean {
  switch (part.type) {
    case 'text':
      return part.text !== ''
    case 'reasoning':
      return part.text !== '' || part.opaque !== undefined
    case 'image':
      return true
  }
}

/** The error that a provider reported inside an answer that began as a success. */
export function reportedError(draft: MessageDraft, value: unknown): AdapterError {
  const { provider, requestId, providerRequestId, clean } = draft.notes
  const reported = readFailure(value)
  const { reason, message, metadata, ...rest } = judgeFailure(provider, reported)
  return new AdapterError(reason, clean(message), {
    provider,
    requestId,
    status: reported.status,
    ...rest,
    metadata: { ...metadata, ...(providerRequestId === undefined ? {} : { providerRequestId }) },
  })
}

/** What a stream carries that is no object can not be a chunk. */
export function chunkObject(value: unknown): JsonObject {
  const chunk = asObject(value)
  if (chunk === undefined) throw new SyntaxError('a chunk is no JSON object')
  return chunk
}
