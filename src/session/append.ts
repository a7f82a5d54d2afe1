import { assertValid } from '../schema/checks.ts'
import { validateSession } from '../schema/validate.ts'
import { checked } from './checked.ts'
import { cleared } from './cleared.ts'
import { appendMessages, type Message } from '../types/message.ts'
import type { Session } from '../types/session.ts'

/** The session with messages added; what was completed can then be resumed. Calls must be answered before. */
export function appended(session: Session, ...messages: readonly Message[]): Session {
  checked(session, 'append')
  const next: Session = {
    ...cleared(session),
    status: 'idle',
    thread: appendMessages(session.thread, ...messages),
  }
  assertValid('invalid_session', validateSession(next))
  return next
}
