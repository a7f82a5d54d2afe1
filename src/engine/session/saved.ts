import { issueList, SessionError } from '../../core/errors/errors.ts'
import { assertValid, describe } from '../../core/schema/checks.ts'
import { validateSession } from '../../core/schema/validate-session.ts'
import type { Issue } from '../../core/types/error-data.ts'
import { isObject, parseWithoutProto } from '../../core/types/guards.ts'
import { sessionVersion, type Session } from '../../core/types/session.ts'
import { waitingStatus, waits, withLists } from '../calls/pending.ts'
import { form2Issues, fromForm2, type SessionForm2 } from './form-2.ts'

/**
 * Version 1 put a question into the thread as an assistant message, which the user's answer followed; the call itself kept a
 * placeholder. A question that is still open is now only in the session, and its placeholder takes the answer. Questions that
 * were answered stay as they are. A question goes before calls that wait for a result; then it was the other way round. A run that
 * was stopped was an error then.
 */
function fromVersion1(saved: Record<string, unknown>): Record<string, unknown> {
  const { thread, pendingQuestion, pendingToolCallId, status, error } = saved
  const next: Record<string, unknown> = { ...saved, pendingApprovals: [] }
  const isOpen = status === 'awaiting_user' || status === 'awaiting_tools'
  if (isOpen && isObject(saved['run'])) next['run'] = { ...saved['run'], phase: 'waiting' }
  if (isOpen && pendingQuestion !== undefined) next['status'] = 'awaiting_user'
  if (isObject(error) && status === 'error' && error['reason'] === 'cancelled') {
    delete next['error']
    Object.assign(next, { status: 'halted', haltedReason: 'cancelled' })
  }
  if (!isOpen || !isObject(thread) || !Array.isArray(thread['messages'])) return next
  const messages: readonly unknown[] = thread['messages']
  const last = messages.at(-1)
  const asks =
    isObject(last) &&
    last['role'] === 'assistant' &&
    isObject(last['metadata']) &&
    last['metadata']['askUser'] === true &&
    last['metadata']['toolCallId'] === pendingToolCallId
  return asks ? { ...next, thread: { ...thread, messages: messages.slice(0, -1) } } : next
}

/** A session as text. A session that could not be read back throws, with all its problems. */
export function stringifySession(session: Session): string {
  assertValid('invalid_session', validateSession(session))
  return JSON.stringify(session)
}

/**
 * Reads a session from text, of this version or any older one. A problem throws `SessionError` `unreadable`, with its place.
 *
 * The text is not trusted: reading is linear in its length, at most 50 problems are reported, values may be nested up to
 * 500 levels, and members named `__proto__` are dropped.
 */
export function parseSession(text: string): Session {
  if (typeof text !== 'string') {
    throw unreadable(`it must be the text that Session.stringify makes, not ${describe(text)}`, [])
  }
  let value: unknown
  try {
    value = parseWithoutProto(text)
  } catch (cause) {
    throw unreadable('it is not JSON', [], cause)
  }
  return readForm(value)
}

/** A session of any version in the newest form. Every version ever written stays readable. */
function readForm(value: unknown): Session {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw unreadable('it is not an object', [])
  }
  const saved = { ...value } as Record<string, unknown> // An object of JSON.
  const { version } = saved
  if (typeof version !== 'number' || !Number.isInteger(version) || version < 1) {
    throw unreadable(`its version is ${describe(version)}`, [
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
  if (version === sessionVersion) {
    assertReadable(validateSession(saved))
    return withOwnLists(saved as unknown as Session) // Just validated.
  }
  const older = version === 1 ? { ...fromVersion1(withoutPaths(saved)), version: 2 } : saved
  assertReadable(form2Issues(older))
  const session = fromForm2(older as unknown as SessionForm2) // Just validated.
  assertReadable(validateSession(session))
  return session
}

function assertReadable(issues: readonly Issue[]): void {
  if (issues.length > 0) throw unreadable('it is not a legal session', issues)
}

/** A session whose lists and status say what its calls wait for. Saved data may say anything else. */
function withOwnLists(session: Session): Session {
  const next = withLists(session)
  if (waits(session) && waitingStatus(next) !== session.status) {
    const problem = `is ${session.status}, and none of its calls waits for that`
    assertReadable([{ path: 'status', problem }])
  }
  // The lists say which calls may be unanswered, and those that were saved said it until now.
  if (waitingIds(next) !== waitingIds(session)) assertReadable(validateSession(next))
  return next
}

function waitingIds({ pendingToolCalls, pendingApprovals }: Session): string {
  return JSON.stringify([...pendingToolCalls, ...pendingApprovals].map(({ id }) => id))
}

/**
 * An image that named a local file, as a text that says so.
 *
 * Such an image was read when the session was resumed: everybody who could write a session could read any file of the machine.
 */
function withoutPaths(saved: Record<string, unknown>): Record<string, unknown> {
  const { thread } = saved
  if (!isObject(thread) || !Array.isArray(thread['messages'])) return saved
  const messages = thread['messages'].map((message: unknown) =>
    isObject(message) && Array.isArray(message['content'])
      ? { ...message, content: message['content'].map(withoutPath) }
      : message,
  )
  return { ...saved, thread: { ...thread, messages } }
}

function withoutPath(part: unknown): unknown {
  if (!isObject(part) || part['type'] !== 'image') return part
  const { image } = part
  if (!isObject(image) || image['type'] !== 'file') return part
  const { path } = image
  const name = typeof path === 'string' ? path.split(/[\\/]/).pop() : 'without a name'
  return { type: 'text', text: `[image of the file ${name}, which was not read]` }
}

function unreadable(what: string, issues: readonly Issue[], cause?: unknown): SessionError {
  const where = issueList(issues)
  const message = `the session cannot be read: ${what}${where === '' ? '' : ` (${where})`}`
  return new SessionError('unreadable', message, { cause, metadata: { issues } })
}
