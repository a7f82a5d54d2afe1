import type { Clock } from '../../core/base/clock.ts'
import type { Engine } from '../../core/contracts/engine.ts'
import type { Session, SessionCommand } from '../../core/types/session.ts'
import type { Runs } from '../../durable/runs/contract.ts'
import type { RunInfo } from '../../durable/runs/contract.ts'
import { partsOf } from '../../durable/runs/parts.ts'
import { readSession } from '../../durable/runs/read.ts'
import type { RunState, RunStore } from '../../durable/stores/run-store.ts'
import { assertSessionId } from '../../durable/stores/session-store.ts'
import { unknownSession } from './answers.ts'

/** Where sessions are: the store that is inspected, or the memory in which this inspector runs its forks. */
export interface Place {
  readonly name: 'store' | 'forks'
  readonly runs: Runs
  readonly store: RunStore
  readonly clock: Clock
  /** The engine of a session, as far as the place knows it. */
  readonly engineFor: (session: Session) => Engine | Promise<Engine>
  readonly give: (id: string, command: SessionCommand) => Promise<unknown>
}

/** The place of runs. */
export function placeOf(name: Place['name'], runs: Runs): Place {
  return { name, runs, ...partsOf(runs) }
}

/** Both places. A fork that is in memory hides its copy in the store. */
export interface Places {
  readonly store: Place
  readonly forks: Place
}

/** The place of a session, and what is known about it without reading it. Throws a refusal if there is none. */
export async function findSession(
  { store, forks }: Places,
  id: string,
): Promise<{ readonly place: Place; readonly state: RunState }> {
  assertSessionId(id)
  for (const place of [forks, store]) {
    const state = await place.store.look(id)
    if (state !== undefined) return { place, state }
  }
  throw unknownSession(id)
}

/** A session as of the last event of its log. Throws a refusal if it was deleted meanwhile. */
export async function readAt({ store }: Place, id: string): Promise<RunInfo> {
  const info = await readSession(store, id)
  if (info === undefined) throw unknownSession(id)
  return info
}
