import { isNoted } from '../../core/answer/fold-answer.ts'
import { defined } from '../../core/types/guards.ts'
import type { Message } from '../../core/types/message.ts'
import type { PastCall, SavedCall, SavedCalls } from '../../core/types/session.ts'

// What a session keeps of its calls.

/** What is kept of a call: nothing if it has its result, or was not started, and nobody was asked about it. */
export function keptCall(saved: SavedCall): SavedCall | undefined {
  const { state, told, settled, approval, question, since, halt, call } = saved
  if (told !== 'result') {
    const isOpen = state !== 'proposed' || since !== undefined
    return isOpen || isNoted(saved) ? saved : undefined
  }
  const people = defined<SavedCall>({ settled, inside: insideOf(saved), approval, question })
  if (halt === undefined && !isNoted(people)) return undefined
  const { idempotent, startedAt, endedAt } = saved
  const times = { idempotent, startedAt, endedAt }
  return defined<SavedCall>({ state, told, ...people, ...times, halt, call })
}

/** What is kept of calls that are gone: their settled tickets, which must not come again. */
export function goneCall({ settled, inner, inside }: SavedCall): SavedCall | undefined {
  const within = mapCalls(inner === undefined ? inside : inner.calls, goneCall)
  if (settled === undefined && within === undefined) return undefined
  return defined<SavedCall>({ settled, inside: within })
}

/** A call without the agent inside of it. */
export function withoutInner(saved: SavedCall): SavedCall {
  const { inner: _inner, rests: _rests, ...rest } = saved
  return defined<SavedCall>({ ...rest, inside: insideOf(saved) })
}

/** What is kept of the calls of an agent inside a call when the agent is gone. */
function insideOf({ inner, inside }: SavedCall): SavedCalls | undefined {
  if (inner === undefined) return inside
  return pastCalls(Object.entries(inner.calls ?? {}), inner.thread.messages)
}

/**
 * What is kept of the calls of an agent that is gone: all that is known of those about which somebody was asked. What they had still to
 * do will not be done. Of calls with one id the last counts.
 */
export function pastCalls(
  calls: Iterable<readonly [id: string, saved: SavedCall]>,
  messages: readonly Message[],
): SavedCalls | undefined {
  const known = new Map(calls)
  for (const [id, saved] of known) {
    const inside = insideOf(saved)
    if (!isNoted(defined<SavedCall>({ ...saved, inside }))) known.delete(id)
  }
  if (known.size === 0) return undefined
  const made = new Map<string, PastCall>()
  for (const { toolCalls = [], agent } of messages) {
    for (const { id, name, arguments: args } of toolCalls) {
      made.set(id, defined<PastCall>({ name, arguments: args, agent }))
    }
  }
  return mapCalls(Object.fromEntries(known), (saved, id) => {
    const call = made.get(id)
    return call === undefined || saved.state === undefined ? goneCall(saved) : past(saved, call)
  })
}

function past(saved: SavedCall, call: PastCall): SavedCall {
  const { settled, approval, question, idempotent, startedAt, endedAt } = saved
  const isOver = saved.state === 'done' || saved.state === 'failed' || saved.state === 'denied'
  const people = { settled, inside: insideOf(saved), approval, question }
  const times = { idempotent, startedAt, endedAt }
  const state = isOver ? saved.state : 'interrupted'
  return defined<SavedCall>({ state, told: 'result', ...people, ...times, call })
}

/** Calls, each changed in the same way. Those of which nothing is left are not kept; `undefined` if there are none. */
export function mapCalls(
  calls: SavedCalls | undefined,
  change: (saved: SavedCall, id: string) => SavedCall | undefined,
): SavedCalls | undefined {
  const kept = Object.entries(calls ?? {}).flatMap(([id, saved]) => {
    const next = change(saved, id)
    return next === undefined ? [] : [[id, next] as const]
  })
  return kept.length === 0 ? undefined : Object.fromEntries(kept)
}
