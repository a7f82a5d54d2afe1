import { SessionError } from '../errors/errors.ts'

/** Refuses a save that was made from another version than the one that is there. */
export function refuseStale(id: string, current: number, expected: number | undefined): void {
  if (expected === undefined || expected === current) return
  throw new SessionError(
    'stale',
    `session ${id} is at version ${current}, not ${expected}: somebody saved it meanwhile. Load it again and decide what to keep`,
    { metadata: { id, version: current, ifVersion: expected } },
  )
}
