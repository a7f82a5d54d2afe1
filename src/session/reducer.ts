import { applyEvent, toChatResult, type Collector } from '../run/collector.ts'
import { restore } from './restore.ts'
import { snapshot } from './snapshot.ts'
import type { StreamEvent } from '../types/events.ts'
import type { ChatResult } from '../types/results.ts'
import type { Session } from '../types/session.ts'

/** A session and the events that have happened to it since. Pure: any earlier one can be kept. */
export interface SessionReducer {
  /** The session that the run started from, its input included: a stream's first `session`. */
  readonly base: Session
  readonly state: Collector
}

/** A session after a run, and what the run came to. */
export interface SessionResult<Result = ChatResult> {
  readonly session: Session
  readonly result: Result
}

/** Starts folding a run's events into a session. Start it from the stream's first `session`. */
export function reduceSession(base: Session): SessionReducer {
  return { base, state: restore(base) }
}

/** One more event. */
export function applySessionEvent(reducer: SessionReducer, event: StreamEvent): SessionReducer {
  return { base: reducer.base, state: applyEvent(reducer.state, event) }
}

/** The session as of the last event, and the result so far. It may be asked for at any event, and again. */
export function finalizeSession(reducer: SessionReducer): SessionResult {
  const { base, state } = reducer
  return { session: snapshot(base, state), result: toChatResult(state) }
}
