import type { JsonObject } from '../../../data/json.ts'
import type { ModelEvent } from '../../../events/model-event.ts'
import { noteList, type MessageDraft } from '../message-draft.ts'
import { addImage } from '../message-events.ts'
import { asCount, asList, asObject, asText } from '../wire-value.ts'
import { endCall, growCall, startCall } from './call-item.ts'
import { generatedImage } from './generated-image.ts'
import { outputItem, type OutputItem, type TextBlock } from './output-item.ts'
import { endReasoning, growReasoning } from './reasoning-item.ts'
import { endMessageItem, endText, growText, openText } from './text-item.ts'

/** Reads the output items of a response, by their events or whole. */
export interface ItemReader {
  textDelta(event: JsonObject, refusal: boolean, out: ModelEvent[]): void
  textDone(event: JsonObject, refusal: boolean, out: ModelEvent[]): void
  reasoningDelta(event: JsonObject, out: ModelEvent[]): void
  argumentsDelta(event: JsonObject, out: ModelEvent[]): void
  added(event: JsonObject, out: ModelEvent[]): void
  done(event: JsonObject, out: ModelEvent[]): void
  /** The response is over: reads the items that had no events of their own, and ends what is still open. */
  end(output: unknown, out: ModelEvent[]): void
}

/** Items are told apart by `output_index`, and by their id where a server does not number them. */
export function itemReader(draft: MessageDraft): ItemReader {
  const items = new Map<unknown, OutputItem>()
  // The text that is being written, so that a delta finds it without a look-up.
  let writing: TextBlock | undefined
  let writingItem: unknown
  let writingPart: unknown

  const itemOf = (index: unknown, id: unknown): OutputItem => {
    const key = index ?? id
    const known = items.get(key)
    if (known !== undefined) return known
    const item = outputItem(asCount(index))
    items.set(key, item)
    return item
  }

  const itemOfEvent = (event: JsonObject): OutputItem =>
    itemOf(event['output_index'], event['item_id'] ?? asObject(event['item'])?.['id'])

  const textOf = (event: JsonObject, refusal: boolean, out: ModelEvent[]): TextBlock => {
    const key = event['output_index'] ?? event['item_id']
    const part = event['content_index']
    if (writing !== undefined && key === writingItem && part === writingPart) return writing
    const contentIndex = asCount(part) ?? 0
    writing = openText(draft, itemOfEvent(event), { contentIndex, refusal }, out)
    writingItem = key
    writingPart = part
    return writing
  }

  const finish = (item: OutputItem, wire: JsonObject, out: ModelEvent[]): void => {
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

  return {
    textDelta(event, refusal, out) {
      const delta = event['delta']
      if (typeof delta !== 'string' || delta === '') return
      growText(draft, textOf(event, refusal, out), delta, out)
    },
    textDone(event, refusal, out) {
      const whole = asText(event[refusal ? 'refusal' : 'text'])
      if (whole !== undefined) endText(draft, textOf(event, refusal, out), whole, out)
    },
    reasoningDelta(event, out) {
      const delta = asText(event['delta'])
      const part = asCount(event['summary_index'] ?? event['content_index']) ?? 0
      if (delta !== undefined) growReasoning(draft, itemOfEvent(event), { part, delta }, out)
    },
    argumentsDelta(event, out) {
      const delta = asText(event['delta'])
      if (delta !== undefined) growCall(itemOfEvent(event), delta, out)
    },
    added(event, out) {
      const wire = asObject(event['item'])
      if (wire?.['type'] === 'function_call') startCall(draft, itemOfEvent(event), wire, out)
    },
    done(event, out) {
      const wire = asObject(event['item'])
      if (wire !== undefined) finish(itemOfEvent(event), wire, out)
    },
    end(output, out) {
      asList(output).forEach((value, index) => {
        const wire = asObject(value)
        if (wire !== undefined) finish(items.get(wire['id']) ?? itemOf(index, undefined), wire, out)
      })
      for (const item of items.values()) finish(item, { type: openType(item) }, out)
    },
  }
}

/** What an item is that never got its end. */
function openType(item: OutputItem): string {
  if (item.call !== undefined) return 'function_call'
  return item.slot === undefined ? 'message' : 'reasoning'
}
