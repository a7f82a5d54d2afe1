import { isNoted } from '../../core/answer/fold-answer.ts'
import { defined } from '../../core/types/guards.ts'
import type { SavedCall, SavedCalls } from '../../core/types/session.ts'

// What a session keeps of its calls.

/** What is kept of a call: nothing if it has its result, or was not started, and nobody was asked about it. */
export function keptCall(saved: SavedCall): SavedCall | undefined {
  const { state, told, settled, approval, question, since, halt } = saved
  const inside = goneInside(saved)
  const people = defined<SavedCall>({ settled, inside, approval, question })
  const isKept = isNoted(people)
  const isOpen = state !== 'proposed' || since !== undefined
  if (told !== 'result') return isKept || isOpen ? saved : undefined
  if (halt === undefined && !isKept) return undefined
  const { idempotent, startedAt, endedAt } = saved
  const times = { idempotent, startedAt, endedAt }
  return defined<SavedCall>({ state, told, ...people, ...times, halt })
}

/** What is kept of calls that are gone: their settled tickets, which must not come again. */
export function goneCall(saved: SavedCall): SavedCall | undefined {
  const { settled } = saved
  const inside = goneInside(saved)
  if (settled === undefined && inside === undefined) return undefined
  return defined<SavedCall>({ settled, inside })
}

/** A call without the agent inside of it. */
export function withoutInner(saved: SavedCall): SavedCall {
  const { inner: _inner, rests: _rests, ...rest } = saved
  return defined<SavedCall>({ ...rest, inside: goneInside(saved) })
}

/** What is kept of the calls of an agent inside a call when the agent is gone. */
function goneInside({ inner, inside }: SavedCall): SavedCalls | undefined {
  return inner === undefined ? inside : mapCalls(inner.calls, goneCall)
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
