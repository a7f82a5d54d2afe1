import { questionMessage } from '../chat/chat-batches.ts'
import type { ThreadInput } from '../chat/create-loop.ts'
import type { Part } from '../data/part.ts'
import type { Message } from '../data/message.ts'
import type { Session } from '../data/session.ts'
import { appendMessages } from '../data/thread.ts'
import { user } from '../make/messages.ts'
import { assertValid } from '../validate/assert-valid.ts'
import { validateSession } from '../validate/validate-session.ts'
import { cleared } from './cleared.ts'
import { createSession } from './create-session.ts'
import { assertLegal, type Operation } from './transition.ts'

/** What a session starts from: its first messages, a thread, or a session that was made before. */
export type SessionInput = Session | ThreadInput

/** A session that takes `operation` now, or the error that says why not. */
export function checked(session: Session, operation: Operation): Session {
  assertValid('invalid_session', validateSession(session))
  assertLegal(session, operation)
  return session
}

/** The session that a new run starts from. */
export function begun(input: SessionInput): Session {
  if (isSession(input)) return cleared(checked(input, 'start'))
  return createSession('messages' in input ? { thread: input } : { messages: input })
}

/** The session with the user's words added. To a question, they are the answer, and the question goes before them. */
export function replied(session: Session, text: string | readonly Part[]): Session {
  checked(session, 'reply')
  const { thread, pendingQuestion, pendingToolCallId } = session
  const added: Message[] = [user(text)]
  if (pendingQuestion !== undefined && pendingToolCallId !== undefined) {
    const question = questionMessage(pendingQuestion, pendingToolCallId)
    if (!endsWith(thread.messages, question)) added.unshift(question)
  }
  return { ...cleared(session), status: 'idle', thread: appendMessages(thread, ...added) }
}

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

function isSession(input: SessionInput): input is Session {
  return 'status' in input
}

function endsWith(messages: readonly Message[], question: Message): boolean {
  const { metadata } = messages.at(-1) ?? {}
  return (
    metadata?.['askUser'] === true && metadata['toolCallId'] === question.metadata?.['toolCallId']
  )
}
