import type { MessageDraft } from '../message-draft.ts'
import { begin } from '../message-events.ts'
import { parseArguments } from '../parse-arguments.ts'
import type { OutputItem } from './output-item.ts'
import { asText } from '../wire-value.ts'
import type { ModelEvent } from '../../../types/events.ts'
import type { JsonObject } from '../../../types/json.ts'

/** Announces a call as soon as its id and its name are known. */
export function startCall(
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
export function growCall(item: OutputItem, argumentsDelta: string, out: ModelEvent[]): void {
  item.text += argumentsDelta
  if (item.call !== undefined) {
    out.push({ type: 'tool_call_delta', id: item.call.id, argumentsDelta })
  }
}

/** Completes a call. The whole arguments hold, if they are given; else what the deltas added up to. */
export function endCall(
  draft: MessageDraft,
  item: OutputItem,
  wire: JsonObject,
  out: ModelEvent[],
): void {
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
