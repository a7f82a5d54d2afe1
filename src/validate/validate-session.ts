import type { ErrorKind, Issue } from '../data/error-data.ts'
import { finishReasons } from '../data/finish-reason.ts'
import { sessionStatuses, sessionVersion } from '../data/session.ts'
import { fine, join, must, within, type Check } from './check.ts'
import { isPlainObject } from './is-plain-object.ts'
import { json, jsonObject } from './json-value.ts'
import { listOf, shape } from './shape.ts'
import { toolCall } from './validate-message.ts'
import { openThread, validateThread } from './validate-thread.ts'
import { between, flag, integer, oneOf, someText, text } from './values.ts'

const kinds: readonly ErrorKind[] = [
  'adapter',
  'stream',
  'tool',
  'engine',
  'validation',
  'session',
  'image_adapter',
]

const error = shape(
  { kind: oneOf(kinds), reason: someText, message: text },
  {
    metadata: jsonObject,
    cause: json,
    requestId: text,
    provider: text,
    status: integer,
    retryAfterMs: between(0, Number.MAX_VALUE),
    retryable: flag,
    eventIndex: integer,
    toolName: text,
    toolCallId: text,
    issues: listOf(shape({ path: text, problem: text })),
    partial: json,
  },
)

const halt = shape(
  { reason: someText, toolCallId: someText },
  { result: json, question: text, options: jsonObject, error },
)

const answer = shape(
  {
    requestId: text,
    provider: text,
    finishReason: oneOf(finishReasons),
    usage: jsonObject,
    metadata: jsonObject,
  },
  { id: text, model: text, rawFinishReason: text, error },
)

const stored = shape(
  { toolCallId: someText },
  {
    value: json,
    error,
    question: shape({ question: text, options: jsonObject }),
    haltReason: someText,
  },
)

const run = shape(
  {
    mode: oneOf(['auto', 'manual']),
    turns: integer,
    phase: oneOf(['model', 'tools', 'between']),
    started: listOf(someText),
    halts: listOf(halt),
  },
  { answer, silent: must('true', (value) => value === true), results: listOf(stored) },
)

const version: Check = must(
  `a version from 1 to ${sessionVersion} (a newer one needs a newer allm-ts)`,
  (value) => Number.isInteger(value) && Number(value) >= 1 && Number(value) <= sessionVersion,
)

const session = shape(
  {
    version,
    id: someText,
    status: oneOf(sessionStatuses),
    thread: openThread,
    pendingToolCalls: listOf(toolCall),
    context: jsonObject,
    metadata: jsonObject,
  },
  {
    pendingQuestion: text,
    pendingToolCallId: someText,
    moreQuestions: listOf(halt),
    error,
    run,
  },
)

/**
 * The problems of a session: of its fields, of its thread, and of what its status needs.
 *
 * Tool calls may be open at the end of the thread only while the session waits or a run is under way.
 */
export function validateSession(value: unknown): readonly Issue[] {
  const issues = session(value)
  return isPlainObject(value) ? join(issues, statusIssues(value)) : issues
}

function statusIssues(value: Readonly<Record<string, unknown>>): readonly Issue[] {
  const { status, pendingToolCalls, pendingQuestion, thread } = value
  if (status === 'awaiting_user') {
    return pendingQuestion === undefined ? needed('pendingQuestion', status) : fine
  }
  if (status === 'awaiting_tools') {
    const none = Array.isArray(pendingToolCalls) && pendingToolCalls.length === 0
    return none ? needed('pendingToolCalls', status) : fine
  }
  if (status === 'error' && value['error'] === undefined) return needed('error', status)
  return value['run'] === undefined ? openCalls(thread) : fine
}

function needed(path: string, status: string): readonly Issue[] {
  return [{ path, problem: `is needed when the status is ${status}` }]
}

/** What is wrong with a thread only because its last calls are open. */
function openCalls(thread: unknown): readonly Issue[] {
  return openThread(thread).length > 0 ? fine : within('thread', validateThread(thread))
}
