import { noteList, type MessageDraft } from '../message-draft.ts'
import { addImage } from '../message-events.ts'
import { endCall, growCall, startCall } from './call-item.ts'
import { generatedImage } from './generated-image.ts'
import { outputItem, type OutputItem, type TextBlock } from './output-item.ts'
import { endReasoning, growReasoning } from './reasoning-item.ts'
import { endMessageItem, endText, growText, openText } from './text-item.ts'
import { asCount, asList, asObject, asText } from '../wire-value.ts'
import type { ModelEvent } from '../../../types/events.ts'
import type { JsonObject } from '../../../types/json.ts'

/** Reads the output items of a response, by their events or whole. */
export interface ItemReader {
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
export function itemReader(draft: MessageDraft): ItemReader {
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
      if (wire !== undefined) finish(draft, itemOfEvent(output, event), wire, out)
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

function finish(draft: MessageDraft, item: OutputItem, wire: JsonObject, out: ModelEvent[]): void {
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
    finish(draft, item, wire, out)
  })
  for (const item of output.items.values()) finish(draft, item, { type: openType(item) }, out)
}

/** What an item is that never got its end. */
function openType(item: OutputItem): string {
  if (item.call !== undefined) return 'function_call'
  return item.slot === undefined ? 'message' : 'reasoning'
}
