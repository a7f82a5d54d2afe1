import { SessionError } from '../errors/errors.ts'
import { assertValid } from '../schema/checks.ts'
import { validateSession } from '../schema/validate-session.ts'
import type { Issue } from '../types/error-data.ts'
import { sessionVersion, type Session } from '../types/session.ts'

/** Turns the saved form of one version into that of the next. Every version ever written stays readable. */
type Migration = (saved: Record<string, unknown>) => Record<string, unknown>

/** The migrations, by the version that they read. There is one version so far. */
const migrations: Readonly<Record<number, Migration>> = {}

/** A session as text. A session that could not be read back throws, with all its problems. */
export function stringifySession(session: Session): string {
  assertValid('invalid_session', validateSession(session))
  return JSON.stringify(session)
}

/** Reads a session from text, of this version or any older one. A problem throws `SessionError` `unreadable`, with its place. */
export function parseSession(text: string): Session {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw unreadable('it is not JSON', [], cause)
  }
  const current = migrate(value)
  const issues = validateSession(current)
  if (issues.length > 0) throw unreadable('it is not a legal session', issues)
  // Just validated.
  return current as Session
}

function migrate(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw unreadable('it is not an object', [])
  }
  let saved = { ...value } as Record<string, unknown> // An object of JSON.
  const { version } = saved
  if (typeof version !== 'number' || !Number.isInteger(version) || version < 1) {
    throw unreadable(`its version is ${JSON.stringify(version)}`, [
      { path: 'version', problem: `must be a whole number from 1 to ${sessionVersion}` },
    ])
  }
  if (version > sessionVersion) {
    throw unreadable(`it was written by a newer allm-ts (version ${version})`, [
      {
        path: 'version',
        problem: `is newer than ${sessionVersion}, the newest version that this release reads`,
      },
    ])
  }
  for (let from = version; from < sessionVersion; from++) {
    saved = { ...migrations[from]?.(saved), version: from + 1 }
  }
  return saved
}

function unreadable(what: string, issues: readonly Issue[], cause?: unknown): SessionError {
  const where = issues.map(({ path, problem }) => `${path} ${problem}`.trim()).join('; ')
  const message = `the session cannot be read: ${what}${where === '' ? '' : ` (${where})`}`
  return new SessionError('unreadable', message, { cause, metadata: { issues } })
}
