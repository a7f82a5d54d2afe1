import type { Session } from '../types/session.ts'

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
