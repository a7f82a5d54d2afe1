import type { ContentOutcome, ResultPart } from '../../core/contracts/tool.ts'
import { content } from '../../core/messages/outcomes.ts'
import { isUsersOwn } from '../../core/messages/tool-messages.ts'
import {
  assertValid,
  type Check,
  flag,
  json,
  jsonObject,
  must,
  oneOf,
  refuse,
  text,
  unknownKeys,
  within,
} from '../../core/schema/checks.ts'
import { resultParts } from '../../core/schema/validate.ts'
import { assertNever, defined, isObject } from '../../core/types/guards.ts'
import type { Session, SessionCommand } from '../../core/types/session.ts'
import { assertSettleOptions } from '../calls/settle.ts'
import { approveOptions, decided } from './decide.ts'
import { checked } from './legal.ts'
import { replied } from './reply.ts'
import { submitToolResult } from './submit.ts'

/** The session after a command. A command that is not legal now throws, and nothing changes. */
export function applyCommand(session: Session, command: SessionCommand): Session {
  assertValid('invalid_options', within('command', commandIssues(command)))
  switch (command.type) {
    case 'send': {
      // A command may have come from outside: it has the user's words and media, never an item for a provider.
      if (Array.isArray(command.content)) {
        assertValid('invalid_message', within('content', resultParts(command.content)))
      }
      const { content, toolCallId, answers, by, implied, context, metadata, at } = command
      assertTime(at)
      const words = replied(session, content, { toolCallId, answers, by }, { at, implied })
      const next = at === undefined ? words : withTime(words, session, at)
      assertValid('invalid_options', within('context', jsonObject(context ?? {})))
      assertValid('invalid_options', within('metadata', jsonObject(metadata ?? {})))
      return {
        ...next,
        context: { ...next.context, ...context },
        metadata: { ...next.metadata, ...metadata },
      }
    }
    case 'approve': {
      const { toolCallId, arguments: args, ticket, by, at } = command
      assertValid('invalid_options', approveOptions(defined({ arguments: args, ticket, by })))
      assertTime(at)
      const approval = args === undefined ? true : { arguments: args }
      return decided(session, toolCallId, approval, { ticket, by, at })
    }
    case 'deny': {
      const { toolCallId, reason = '', ticket, by, at } = command
      assertValid('invalid_options', within('reason', text(reason)))
      assertSettleOptions({ ticket, by })
      assertTime(at)
      return decided(session, toolCallId, { deny: reason }, { ticket, by, at })
    }
    case 'submitToolResult': {
      const { toolCallId, parts, isError, ticket, by } = command
      assertValid('invalid_options', within('parts', flag(parts ?? false)))
      const result = parts === true ? toContent(command.content) : asData(command.content)
      return submitToolResult(session, toolCallId, result, { isError, ticket, by })
    }
    case 'resume':
      return checked(session, 'resume')
    default:
      return assertNever(command)
  }
}

/** The keys of each command. */
const commandKeys: {
  readonly [C in SessionCommand as C['type']]: Readonly<Record<keyof C, true>>
} = {
  send: {
    type: true,
    content: true,
    toolCallId: true,
    answers: true,
    implied: true,
    by: true,
    context: true,
    metadata: true,
    at: true,
  },
  approve: {
    type: true,
    toolCallId: true,
    arguments: true,
    ticket: true,
    implied: true,
    by: true,
    at: true,
  },
  deny: {
    type: true,
    toolCallId: true,
    reason: true,
    ticket: true,
    implied: true,
    by: true,
    at: true,
  },
  submitToolResult: {
    type: true,
    toolCallId: true,
    content: true,
    parts: true,
    isError: true,
    ticket: true,
    implied: true,
    by: true,
    at: true,
  },
  resume: { type: true },
}

/** The problems of a command: its type, and keys that it does not have. Its values are checked where they are used. */
const commandIssues: Check = (value) => {
  if (!isObject(value)) return refuse('a command, such as { type: "resume" }', value)
  const { type } = value
  const known = new Map(Object.entries(commandKeys)).get(String(type))
  return known === undefined
    ? within('type', oneOf(Object.keys(commandKeys))(type))
    : unknownKeys(value, Object.keys(known))
}

export const time: Check = must('a number of milliseconds', Number.isFinite)

function assertTime(at: number | undefined): void {
  if (at !== undefined) assertValid('invalid_options', within('at', time(at)))
}

/** The session in which the user's words that an earlier one does not have are marked with their time. */
export function withTime(
  session: Session,
  { thread: { messages: known } }: Session,
  at: number,
): Session {
  const before = new Set(known)
  const messages = session.thread.messages.map((message) => {
    const { metadata = {} } = message
    const isOwn = isUsersOwn(message) || metadata['answeredByUser'] === true
    return isOwn && !before.has(message) ? { ...message, metadata: { ...metadata, at } } : message
  })
  return { ...session, thread: { ...session.thread, messages } }
}

/** The parts of a command's result. */
function toContent(parts: unknown): ContentOutcome {
  assertValid('invalid_message', within('content', resultParts(parts)))
  return content(parts as readonly ResultPart[]) // They were just checked.
}

/** The result of a command as text: a list in it that looks like parts is data. */
function asData(value: unknown): string {
  assertValid('invalid_message', within('content', json(value)))
  return typeof value === 'string' ? value : JSON.stringify(value)
}
