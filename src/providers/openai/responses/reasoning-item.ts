import type { MessageDraft } from '../message-draft.ts'
import { begin } from '../message-events.ts'
import type { OutputItem } from './output-item.ts'
import { asList, asObject, asText } from '../wire-value.ts'
import type { ModelEvent } from '../../../types/events.ts'
import { defined } from '../../../types/guards.ts'
import type { JsonObject, JsonValue } from '../../../types/json.ts'
import type { ReasoningPart } from '../../../types/message.ts'

type Delta = Extract<ModelEvent, { type: 'reasoning_delta' }>
type Completed = Extract<ModelEvent, { type: 'reasoning_completed' }>

/** What stands between two parts of a summary. */
const gap = '\n\n'

/** Adds to a reasoning item. A new part of it begins after a blank line. */
export function growReasoning(
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
export function endReasoning(
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
  out.push(defined<Completed>({ type: 'reasoning_completed', text, index, opaque }))
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
