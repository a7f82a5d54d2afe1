import { noteList, type MessageDraft } from '../message-draft.ts'
import { begin } from '../message-events.ts'
import type { OutputItem, TextBlock } from './output-item.ts'
import { asList, asObject, asText } from '../wire-value.ts'
import type { ModelEvent } from '../../../types/events.ts'
import { defined } from '../../../types/guards.ts'
import type { JsonObject } from '../../../types/json.ts'

type Completed = Extract<ModelEvent, { type: 'text_completed' }>

/** Which text of a message item. A refusal is text too: it is what the model answered. */
export interface TextPlace {
  readonly contentIndex: number
  readonly refusal: boolean
}

/** The text at a place; it is opened if it is new. */
export function openText(
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
export function growText(
  draft: MessageDraft,
  block: TextBlock,
  delta: string,
  out: ModelEvent[],
): void {
  const { index } = block
  block.text += delta
  if (block.refusal) draft.refusal += delta
  out.push(
    index === undefined ? { type: 'text_delta', delta } : { type: 'text_delta', delta, index },
  )
}

/** Ends a text; what the deltas left out is made up for. */
export function endText(
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
  out.push(defined<Completed>({ type: 'text_completed', text, index }))
}

/** Reads a whole message item: every text that is not complete yet, and what stands beside the texts. */
export function endMessageItem(
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
