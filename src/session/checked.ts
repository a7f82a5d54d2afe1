import { assertValid } from '../schema/checks.ts'
import { validateSession } from '../schema/validate.ts'
import { assertLegal, type Operation } from './transition.ts'
import type { Session } from '../types/session.ts'

/** A session that takes `operation` now, or the error that says why not. */
export function checked(session: Session, operation: Operation): Session {
  assertValid('invalid_session', validateSession(session))
  assertLegal(session, operation)
  return session
}
