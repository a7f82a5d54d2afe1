import type { Session, SessionCommand } from '../../../core/types/session.ts'
import type { CommandEntry, LogEntry } from '../../../durable/stores/run-store.ts'
import { waits } from '../../../engine/calls/pending.ts'
import { applyCommand } from '../../../engine/session/commands.ts'
import {
  applySessionEvent,
  reduceSession,
  snapshot,
  withLateMessages,
  restingRun,
  type SessionReducer,
} from '../../../engine/session/reduce.ts'

/** The session at each place of a log that grows. */
export interface History {
  /** The session after so many entries. What is asked for again, or a little later, costs a little. */
  readonly at: (length: number) => Session
  /** How many entries were folded since it was made. For tests. */
  readonly folded: () => number
}

/** How many entries may have to be folded to go somewhere. */
const spacing = 256

/** What is known after some entries. */
interface Place {
  readonly length: number
  readonly reducer: SessionReducer
  /** Whether an event was folded: what was commanded before the first one is part of the session that the log goes on from. */
  readonly hasEvent: boolean
}

/**
 * The history of a session, from the one that the log goes on from. The list of entries may grow later. A state is kept every few hundred
 * entries and at the place that was asked for last, so that no step of a scrubber folds from the start.
 */
export function historyOf(base: Session, entries: readonly LogEntry[]): History {
  const kept: Place[] = [{ length: 0, reducer: reduceSession(base), hasEvent: false }]
  let recent: Place | undefined
  let folded = 0
  const nearest = (length: number): Place => {
    let low = 0
    for (let high = kept.length - 1; low < high;) {
      const middle = Math.ceil((low + high) / 2)
      if ((kept[middle]?.length ?? 0) <= length) low = middle
      else high = middle - 1
    }
    const place = kept[low] ?? { length: 0, reducer: reduceSession(base), hasEvent: false }
    const isCloser = recent !== undefined && recent.length <= length && recent.length > place.length
    return isCloser && recent !== undefined ? recent : place
  }
  return {
    at(length) {
      const end = Math.min(length, entries.length)
      let place = nearest(end)
      while (place.length < end) {
        const entry = entries[place.length]
        if (entry === undefined) break
        place = { ...advanced(place, entry), length: place.length + 1 }
        folded++
        if (place.length === (kept.at(-1)?.length ?? 0) + spacing) kept.push(place)
      }
      recent = place
      const { base: from, state } = place.reducer
      return snapshot(from, state)
    },
    folded: () => folded,
  }
}

function advanced(
  { reducer, hasEvent }: Place,
  entry: LogEntry,
): Pick<Place, 'reducer' | 'hasEvent'> {
  if ('event' in entry) return { reducer: applySessionEvent(reducer, entry.event), hasEvent: true }
  if (!hasEvent || entry.refused !== undefined) return { reducer, hasEvent }
  const session = snapshot(reducer.base, reducer.state)
  try {
    return { reducer: reduceSession(begun(applyCommand(session, timed(entry)))), hasEvent }
  } catch {
    // The log was written by somebody else's code: what cannot be applied is shown in the list of events, and changes nothing.
    return { reducer, hasEvent }
  }
}

/** A command with its time, which the user's words carry and the log has beside it. */
function timed({ command, at }: CommandEntry): SessionCommand {
  return command.type === 'send' ? { ...command, at: command.at ?? at } : command
}

/** The session that a run starts from after a command. One that still waits is not run. */
function begun(session: Session): Session {
  if (waits(session)) return session
  const { error: _error, haltedReason: _reason, ...rest } = withLateMessages(session)
  return { ...rest, status: 'idle', run: rest.run ?? restingRun('auto') }
}
