import { errorKinds, type ErrorData, type Issue } from '../types/error-data.ts'
import { assertNever } from '../types/guards.ts'
import { finishReasons } from '../types/response.ts'
import type { ToolHalt } from '../types/results.ts'
import {
  sessionStatuses,
  sessionVersion,
  type AnswerFacts,
  type RunProgress,
  type Session,
  type StoredResult,
} from '../types/session.ts'
import {
  between,
  fine,
  flag,
  nonNegativeInteger,
  isPlainObject,
  join,
  json,
  jsonObject,
  listOf,
  must,
  oneOf,
  shape,
  shapeOf,
  someText,
  text,
  within,
  type Check,
} from './checks.ts'
import { openThread, threadTranscript, toolCall } from './validate.ts'

/**
 * The problems of a session: of its fields, of its thread, and of the fields that its status requires.
 *
 * Tool calls may be unanswered at the end of the thread only while the session waits or a run is in progress.
 */
export function validateSession(value: unknown): readonly Issue[] {
  const issues = session(value)
  return isPlainObject(value) ? join(issues, statusIssues(value)) : issues
}

const version: Check = must(
  `a version from 1 to ${sessionVersion} (a newer one needs a newer allm-ts)`,
  (value) => Number.isInteger(value) && Number(value) >= 1 && Number(value) <= sessionVersion,
)

const error = shapeOf<ErrorData>(
  { kind: oneOf(errorKinds), reason: someText, message: text },
  {
    metadata: jsonObject,
    cause: json,
    requestId: text,
    provider: text,
    status: nonNegativeInteger,
    retryAfterMs: between(0, Number.MAX_VALUE),
    retryable: flag,
    eventIndex: nonNegativeInteger,
    toolName: text,
    toolCallId: text,
    issues: listOf(shapeOf<Issue>({ path: text, problem: text }, {})),
    partial: json,
  },
)

const halt = shapeOf<ToolHalt>(
  { reason: someText, toolCallId: someText },
  { result: json, question: text, options: jsonObject, error },
)

const answer = shapeOf<AnswerFacts>(
  {
    requestId: text,
    provider: text,
    finishReason: oneOf(finishReasons),
    usage: jsonObject,
    metadata: jsonObject,
  },
  { id: text, model: text, rawFinishReason: text, error },
)

const storedResult = shapeOf<StoredResult>(
  { toolCallId: someText },
  {
    value: json,
    error,
    question: shape({ question: text, options: jsonObject }),
    haltReason: someText,
  },
)

const run = shapeOf<RunProgress>(
  {
    mode: oneOf(['auto', 'manual']),
    turns: nonNegativeInteger,
    phase: oneOf(['model', 'tools', 'between']),
    started: listOf(someText),
    halts: listOf(halt),
  },
  { answer, silent: must('true', (value) => value === true), results: listOf(storedResult) },
)

const session = shapeOf<Session>(
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

function statusIssues(value: Readonly<Record<string, unknown>>): readonly Issue[] {
  const { pendingToolCalls, pendingQuestion, run: progress } = value
  const status = sessionStatuses.find((known) => known === value['status'])
  switch (status) {
    case 'awaiting_user':
      return pendingQuestion === undefined ? needed('pendingQuestion', status) : fine
    case 'awaiting_tools': {
      const none = Array.isArray(pendingToolCalls) && pendingToolCalls.length === 0
      return none ? needed('pendingToolCalls', status) : fine
    }
    case 'error':
      if (value['error'] === undefined) return needed('error', status)
      break
    case 'idle':
    case 'completed':
    case undefined:
      break
    default:
      return assertNever(status)
  }
  return progress === undefined ? unansweredCalls(value['thread']) : fine
}

function needed(path: string, status: string): readonly Issue[] {
  return [{ path, problem: `is required when the status is ${status}` }]
}

/** The problems of a thread that has no other problems than unanswered calls at its end. */
function unansweredCalls(value: unknown): readonly Issue[] {
  const other = threadTranscript(value, true)
  return other.length > 0 ? fine : within('thread', threadTranscript(value, false))
}
