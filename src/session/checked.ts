import type { Session } from '../data/session.ts'
import { assertValid } from '../validate/assert-valid.ts'
import { validateSession } from '../validate/validate-session.ts'
import { assertLegal, type Operation } from './transition.ts'

/** A session that takes `operation` now, or the error that says why not. */
export function checked(session: Session, operation: Operation): Session {
  assertValid('invalid_session', validateSession(session))
  assertLegal(session, operation)
  return session
}
