import type { Message } from '../data/message.ts'
import type { Session } from '../data/session.ts'
import { appendMessages } from '../data/thread.ts'
import { assertValid } from '../validate/assert-valid.ts'
import { validateSession } from '../validate/validate-session.ts'
import { checked } from './checked.ts'
import { cleared } from './cleared.ts'

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
