import { SessionError } from '../errors/errors.ts'
import { parseSession, stringifySession } from '../session/saved.ts'
import type { Session } from '../types/session.ts'

/** A store in memory, for tests and for one process. It stores text, so a session that was saved cannot be changed from outside. */
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

/** A loaded session, and its version in the store. */
export interface StoredSession {
  readonly session: Session
  /** The number of saves of this session. It is unrelated to `session.version`, the version of the saved format. */
  readonly version: number
}

/** The options of `save`. */
export interface SaveOptions {
  /** The version that was loaded; 0 for a session that was never saved. Without it, any stored session is replaced. */
  readonly ifVersion?: number | undefined
}

/**
 * Stores sessions between runs. `sessionStoreCases` of `allm-ts/conformance` tests an implementation.
 *
 * - `load` returns the session that was saved last, deep-equal, or `undefined`. An unreadable session is `SessionError`
 *   `unreadable`.
 * - `save` returns the new version. With `ifVersion`, a save over another version is refused with `SessionError` `stale`
 *   and changes nothing, so two workers cannot fork a history unnoticed.
 * - An interrupted save leaves the old session or the new one, never a mixture.
 */
export interface SessionStore {
  load(id: string): Promise<StoredSession | undefined>
  save(session: Session, options?: SaveOptions): Promise<number>
}

/** Throws `SessionError` `stale` when the stored version is not the expected one. */
export function refuseStale(id: string, current: number, expected: number | undefined): void {
  if (expected === undefined || expected === current) return
  throw new SessionError(
    'stale',
    `session ${id} is at version ${current}, not ${expected}: it was saved by someone else in the meantime. Load it again and apply your change to it`,
    { metadata: { id, version: current, ifVersion: expected } },
  )
}
