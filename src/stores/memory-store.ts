import { SessionError } from '../errors/errors.ts'
import { parseSession, stringifySession } from '../session/saved.ts'
import type { Session } from '../types/session.ts'

/** A store in memory, for tests and for one process. It keeps text, so nobody can change what it holds. */
export function memoryStore(): SessionStore {
  const saved = new Map<string, { readonly text: string; readonly version: number }>()
  return {
    load: async (id) => {
      const found = saved.get(id)
      return found && { session: parseSession(found.text), version: found.version }
    },
    save: async (session, { ifVersion } = {}) => {
      const text = stringifySession(session)
      const current = saved.get(session.id)?.version ?? 0
      refuseStale(session.id, current, ifVersion)
      saved.set(session.id, { text, version: current + 1 })
      return current + 1
    },
  }
}

/** A session as a store gave it, and the version that a save has to name. */
export interface StoredSession {
  readonly session: Session
  /** Counts the saves of this session. It has nothing to do with the version of the saved form. */
  readonly version: number
}

/** What a save expects to find. */
export interface SaveOptions {
  /** The version that was loaded; 0 for a session that was never saved. Absent: whatever is there is replaced. */
  readonly ifVersion?: number | undefined
}

/**
 * Where sessions are kept between runs. `sessionStoreCases` of `allm-ts/conformance` proves an implementation.
 *
 * - `load` gives what was saved last, deep-equal, or `undefined`; what can not be read is `SessionError` `unreadable`.
 * - `save` gives the new version. With `ifVersion`, a save over anything newer is refused with `SessionError` `stale` and changes nothing, so
 *   two workers can not fork a history without noticing.
 * - A save that is interrupted leaves the old session or the new one, never a mixture.
 */
export interface SessionStore {
  load(id: string): Promise<StoredSession | undefined>
  save(session: Session, options?: SaveOptions): Promise<number>
}

/** Refuses a save that was made from another version than the one that is there. */
export function refuseStale(id: string, current: number, expected: number | undefined): void {
  if (expected === undefined || expected === current) return
  throw new SessionError(
    'stale',
    `session ${id} is at version ${current}, not ${expected}: somebody saved it meanwhile. Load it again and decide what to keep`,
    { metadata: { id, version: current, ifVersion: expected } },
  )
}
