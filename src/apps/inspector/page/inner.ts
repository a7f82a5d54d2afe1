import { innerEvent, innerSession, type StreamEvent } from '../../../core/types/events.ts'
import type { Session } from '../../../core/types/session.ts'
import type { LogEntry } from '../../../durable/stores/run-store.ts'
import { applySessionEvent, reduceSession, snapshot } from '../../../engine/session/reduce.ts'

/** The run of an agent inside of a call, as far as it was told. */
export interface InnerRun {
  /** What it went on from last. */
  readonly base: Session
  /** What has happened since. */
  readonly events: readonly StreamEvent[]
  /** Everything that it has told. Agents inside of it are told of in there. */
  readonly told: readonly StreamEvent[]
}

/** The runs of agents, by the ids of their calls. */
export type InnerRuns = ReadonlyMap<string, InnerRun>

/** The runs of the agents that some events tell of. */
export function innerRunsOf(events: Iterable<StreamEvent>): InnerRuns {
  const runs = new Map<string, { base: Session; events: StreamEvent[]; told: StreamEvent[] }>()
  for (const event of events) {
    if (event.type !== 'tool_progress') continue
    const run = runs.get(event.id)
    const base = innerSession(event)
    const told = innerEvent(event)
    if (base !== undefined) runs.set(event.id, { base, events: [], told: run?.told ?? [] })
    if (told === undefined) continue
    run?.events.push(told)
    run?.told.push(told)
  }
  return runs
}

/** The events of a log up to a length. */
export function* eventsOf(entries: readonly LogEntry[], length: number): Iterable<StreamEvent> {
  for (let index = 0; index < length; index++) {
    const entry = entries[index]
    if (entry !== undefined && 'event' in entry) yield entry.event
  }
}

/** The session inside of a call after what is known of it. */
export function innerSessionOf({ base, events }: InnerRun): Session {
  const reducer = events.reduce(applySessionEvent, reduceSession(base))
  return snapshot(reducer.base, reducer.state)
}
