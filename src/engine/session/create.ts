import { randomId } from '../../core/base/ids.ts'
import { ValidationError } from '../../core/errors/errors.ts'
import { assertValid, describe, unknownKeys } from '../../core/schema/checks.ts'
import {
  isRunResult,
  runResultProblem,
  validateSession,
} from '../../core/schema/validate-session.ts'
import { defined } from '../../core/types/guards.ts'
import type { JsonObject } from '../../core/types/json.ts'
import {
  type Message,
  type MessagesInput,
  type Thread,
  toMessages,
} from '../../core/types/message.ts'
import { type Session, sessionVersion } from '../../core/types/session.ts'
import type { ThreadInput } from '../chat/prepare.ts'
import { checked } from './legal.ts'
import { cleared } from './reduce.ts'

/** Makes an idle session. It is plain data, and no operation changes it. */
export function createSession(options: SessionOptions = {}): Session {
  assertValid('invalid_options', unknownKeys(options, keys, ''))
  const { id, thread, messages, context, metadata } = options
  if (thread !== undefined && messages !== undefined) {
    throw new ValidationError('invalid_options', [
      { path: 'messages', problem: 'cannot be combined with thread' },
    ])
  }
  const session = defined<Session>({
    version: sessionVersion,
    id: id ?? randomId('session'),
    status: 'idle',
    thread: thread ?? { messages: toMessages(messages ?? []), metadata: {} },
    pendingToolCalls: [],
    pendingApprovals: [],
    context: context ?? {},
    metadata: metadata ?? {},
  })
  assertValid('invalid_session', validateSession(session))
  return session
}

/** The options of a new session. A thread or messages, not both. */
export interface SessionOptions {
  /** Random unless given. */
  readonly id?: string | undefined
  readonly thread?: Thread | undefined
  /** A text is one user message. */
  readonly messages?: MessagesInput | undefined
  /** Passed to tool handlers, merged over the engine's. */
  readonly context?: JsonObject | undefined
  /** Yours. A run never changes it. */
  readonly metadata?: JsonObject | undefined
}

const keys = ['id', 'thread', 'messages', 'context', 'metadata'] as const

/** What a session starts from: its first messages (a text is one user message), a thread, or an existing session. */
export type SessionInput = Session | ThreadInput

/** The session that a new run starts from. A session keeps its id. */
export function started(input: SessionInput, id?: string): Session {
  if (typeof input === 'string') return createSession({ id, messages: input })
  if (typeof input !== 'object' || input === null) {
    const problem = `must be a text, messages, a thread or a session, not ${describe(input)}`
    throw new ValidationError('invalid_session', [{ path: '', problem }])
  }
  if (isRunResult(input)) {
    throw new ValidationError('invalid_session', [{ path: '', problem: runResultProblem }])
  }
  if (!isSession(input)) {
    return createSession('messages' in input ? { id, thread: input } : { id, messages: input })
  }
  if (id !== undefined && id !== input.id) {
    const problem = `must be absent or ${describe(input.id)}, the id of the session`
    throw new ValidationError('invalid_options', [{ path: 'id', problem }])
  }
  return cleared(checked(input, 'start'), input.calls)
}

function isSession(input: Session | Thread | readonly Message[]): input is Session {
  return 'status' in input
}
