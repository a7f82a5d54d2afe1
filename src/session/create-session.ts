import { randomId } from '../core/ids.ts'
import { ValidationError } from '../errors/errors.ts'
import { assertValid, unknownKeys } from '../schema/checks.ts'
import { validateSession } from '../schema/validate.ts'
import { defined } from '../types/guards.ts'
import type { JsonObject } from '../types/json.ts'
import type { Message, Thread } from '../types/message.ts'
import { sessionVersion, type Session } from '../types/session.ts'

/** What a session is made of. A thread or messages, not both. */
export interface SessionOptions {
  /** Random unless given. */
  readonly id?: string | undefined
  readonly thread?: Thread | undefined
  readonly messages?: readonly Message[] | undefined
  /** Handed to tool handlers, merged over the engine's. */
  readonly context?: JsonObject | undefined
  readonly metadata?: JsonObject | undefined
}

const keys = ['id', 'thread', 'messages', 'context', 'metadata'] as const

/** A new session, idle. It is plain data: saved with `JSON.stringify`, and never changed by an operation. */
export function createSession(options: SessionOptions = {}): Session {
  assertValid('invalid_options', unknownKeys(options, keys, ''))
  const { id, thread, messages, context, metadata } = options
  if (thread !== undefined && messages !== undefined) {
    throw new ValidationError('invalid_options', [
      { path: 'messages', problem: 'can not be given together with thread' },
    ])
  }
  const session = defined<Session>({
    version: sessionVersion,
    id: id ?? randomId('session'),
    status: 'idle',
    thread: thread ?? { messages: messages ?? [], metadata: {} },
    pendingToolCalls: [],
    context: context ?? {},
    metadata: metadata ?? {},
  })
  assertValid('invalid_session', validateSession(session))
  return session
}
