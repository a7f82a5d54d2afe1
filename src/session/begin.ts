import type { ThreadInput } from '../chat/prepare.ts'
import { ValidationError } from '../errors/errors.ts'
import { user } from '../make/messages.ts'
import { questionMessage } from '../make/tool-messages.ts'
import { checked } from './checked.ts'
import { cleared } from './cleared.ts'
import { createSession } from './create-session.ts'
import { appendMessages, type Message } from '../types/message.ts'
import type { Session } from '../types/session.ts'

/** What a session starts from: its first messages, a thread, or a session that was made before. */
export type SessionInput = Session | ThreadInput

/** The session that a new run starts from. */
export function begun(input: SessionInput): Session {
  if (typeof input !== 'object' || input === null) {
    const problem = 'must be messages, a thread or a session'
    throw new ValidationError('invalid_session', [{ path: '', problem }])
  }
  if (isSession(input)) return cleared(checked(input, 'start'))
  return createSession('messages' in input ? { thread: input } : { messages: input })
}

/** The session with the user's words added. To a question, they are the answer, and the question goes before them. */
export function replied(session: Session, text: Parameters<typeof user>[0]): Session {
  checked(session, 'reply')
  const { thread, pendingQuestion, pendingToolCallId } = session
  const added: Message[] = [user(text)]
  if (pendingQuestion !== undefined && pendingToolCallId !== undefined) {
    const question = questionMessage(pendingQuestion, pendingToolCallId)
    if (!endsWith(thread.messages, question)) added.unshift(question)
  }
  return { ...cleared(session), status: 'idle', thread: appendMessages(thread, ...added) }
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
