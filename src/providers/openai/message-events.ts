import { assistantMessage } from '../../make/assistant-message.ts'
import type { MessageDraft } from './message-draft.ts'
import { parseUsage } from './parse-usage.ts'
import { asText } from './wire-value.ts'
import type { ModelEvent } from '../../types/events.ts'
import { defined } from '../../types/guards.ts'
import type { JsonObject, JsonValue } from '../../types/json.ts'
import type { Image } from '../../types/media.ts'
import type { Part } from '../../types/message.ts'
import type { FinishReason } from '../../types/response.ts'

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
    ...draft.lists,
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

/** An empty block is no part of a message, save reasoning that has something to echo. */
function saysSomething(part: Part): boolean {
  if (part.type === 'image' || part.text !== '') return true
  return part.type === 'reasoning' && part.opaque !== undefined
}
