import { maxTraceLength } from '../base/telemetry.ts'
import {
  maxAuthorLength,
  type CallApproval,
  type CallNote,
  type CallQuestion,
} from '../types/call.ts'
import { errorKinds, type CauseData, type ErrorData, type Issue } from '../types/error-data.ts'
import { assertNever } from '../types/guards.ts'
import { finishReasons } from '../types/response.ts'
import type { PendingApproval, ToolHalt } from '../types/results.ts'
import {
  sessionStatuses,
  sessionVersion,
  type AnswerFacts,
  type CallDecision,
  type CallStart,
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
  recordOf,
  shape,
  shapeOf,
  someText,
  text,
  timeoutMs,
  within,
  type Check,
} from './checks.ts'
import {
  agentName,
  content,
  openThread,
  threadTranscript,
  toolCall,
  validateMessage,
  warning,
} from './validate.ts'

/**
 * The problems of a session: of its fields, of its thread, and of the fields that its status requires.
 *
 * Tool calls may be unanswered at the end of the thread only while the session waits or a run is in progress.
 */
export function validateSession(value: unknown): readonly Issue[] {
  if (isRunResult(value)) return [{ path: '', problem: runResultProblem }]
  return sessionIssues(value, 0)
}

/** Whether a value is what a run of a session gives, and not the session itself. */
export function isRunResult(value: unknown): boolean {
  return isPlainObject(value) && !('status' in value) && isPlainObject(value['session'])
}

/** What is wrong with it. */
export const runResultProblem =
  'must be a session, not what a run of one gave: pass its `session`, as in `const { session } = await Session.start(…)`'

const version: Check = must(
  `a version from 1 to ${sessionVersion} (a newer one needs a newer allm-ts)`,
  (value) => Number.isInteger(value) && Number(value) >= 1 && Number(value) <= sessionVersion,
)

const errorNames = { kind: oneOf(errorKinds), reason: someText, message: text }

const errorFacts = {
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
}

const error = shapeOf<ErrorData>(errorNames, {
  ...errorFacts,
  partial: json,
  causes: listOf(shapeOf<CauseData>(errorNames, errorFacts)),
})

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
  {
    id: text,
    model: text,
    rawFinishReason: text,
    error,
    warnings: listOf(warning),
  },
)

const storedResult = shapeOf<StoredResult>(
  { toolCallId: someText },
  {
    value: json,
    parts: must('true', (value) => value === true),
    error,
    question: shape({ question: text, options: jsonObject }),
    haltReason: someText,
  },
)

const callStart = shapeOf<CallStart>(
  // The clock of an engine may count from any moment.
  { toolCallId: someText, at: between(-Number.MAX_VALUE, Number.MAX_VALUE) },
  { timeoutMs, idempotent: must('true', (value) => value === true) },
)

const decision = shapeOf<CallDecision>(
  { call: toolCall },
  { deny: text, answer: content, late: must('true', (value) => value === true) },
)

const author = must(
  `a text of at most ${maxAuthorLength} characters`,
  (value) => typeof value === 'string' && value.length <= maxAuthorLength,
)

const milliseconds = must('a number of milliseconds', Number.isFinite)

const callNote = shapeOf<CallNote>(
  { settled: listOf(someText) },
  {
    approval: shapeOf<CallApproval>(
      { decision: oneOf(['approved', 'denied']) },
      { by: author, at: milliseconds, reason: text, arguments: jsonObject },
    ),
    question: shapeOf<CallQuestion>(
      { text },
      { options: jsonObject, answer: content, by: author, at: milliseconds },
    ),
  },
)

const pendingApproval = shapeOf<PendingApproval>(
  { id: someText, name: someText, arguments: jsonObject },
  { rawArguments: text, opaque: json, reason: text },
)

/** How deep sessions may be inside of one another. A run is refused long before, unless its agents are told otherwise. */
export const maxInnerDepth = 16

/** The problems of the sessions of agents, by the calls that they are in. */
const innerSessions =
  (depth: number): Check =>
  (value) => {
    if (depth < maxInnerDepth) return recordOf((member) => sessionIssues(member, depth + 1))(value)
    return [{ path: '', problem: `is inside of ${depth} other sessions, which is the limit` }]
  }

/** The checks of sessions, by their depth. They are made when they are needed. */
const sessions: Check[] = []

function sessionIssues(value: unknown, depth: number): readonly Issue[] {
  const issues = (sessions[depth] ??= sessionAt(depth))(value)
  return isPlainObject(value) ? join(issues, statusIssues(value)) : issues
}

function sessionAt(depth: number): Check {
  return shapeOf<Session>(
    {
      version,
      id: someText,
      status: oneOf(sessionStatuses),
      thread: openThread,
      pendingToolCalls: listOf(toolCall),
      pendingApprovals: listOf(pendingApproval),
      context: jsonObject,
      metadata: jsonObject,
    },
    {
      pendingQuestion: text,
      pendingToolCallId: someText,
      pendingQuestionOptions: jsonObject,
      moreQuestions: listOf(halt),
      haltedReason: someText,
      error,
      calls: recordOf(callNote),
      run: runAt(depth),
    },
  )
}

function runAt(depth: number): Check {
  return shapeOf<RunProgress>(
    {
      mode: oneOf(['auto', 'manual']),
      turns: nonNegativeInteger,
      phase: oneOf(['model', 'tools', 'waiting', 'between']),
      started: listOf(someText),
      halts: listOf(halt),
    },
    {
      attempts: nonNegativeInteger,
      takeOvers: nonNegativeInteger,
      trace: must(
        `a text of at most ${maxTraceLength} characters`,
        (value) => typeof value === 'string' && value.length <= maxTraceLength,
      ),
      answer,
      usage: jsonObject,
      told: jsonObject,
      starts: listOf(callStart),
      agent: agentName,
      silent: must('true', (value) => value === true),
      requested: listOf(pendingApproval),
      results: listOf(storedResult),
      decisions: listOf(decision),
      haltResult: json,
      late: listOf(validateMessage),
      inner: innerSessions(depth),
    },
  )
}

function statusIssues(value: Readonly<Record<string, unknown>>): readonly Issue[] {
  const { pendingToolCalls, pendingApprovals, pendingQuestion, run: progress } = value
  const status = sessionStatuses.find((known) => known === value['status'])
  /** The calls that may be unanswered although no run is in progress. */
  const waiting: unknown[] = []
  switch (status) {
    case 'awaiting_user':
      if (pendingQuestion === undefined) return needed('pendingQuestion', status)
      waiting.push(pendingToolCalls, pendingApprovals)
      break
    case 'awaiting_approval':
      if (isEmpty(pendingApprovals)) return needed('pendingApprovals', status)
      waiting.push(pendingToolCalls, pendingApprovals)
      break
    case 'awaiting_tools':
      if (isEmpty(pendingToolCalls)) return needed('pendingToolCalls', status)
      waiting.push(pendingToolCalls)
      break
    case 'halted':
      if (value['haltedReason'] === undefined) return needed('haltedReason', status)
      break
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
  // Between two steps, every call of the step before has its answer.
  const isSettled =
    progress === undefined || (isPlainObject(progress) && progress['phase'] === 'between')
  return isSettled ? unansweredCalls(value['thread'], waiting.flat()) : fine
}

function isEmpty(list: unknown): boolean {
  return Array.isArray(list) && list.length === 0
}

function needed(path: string, status: string): readonly Issue[] {
  return [{ path, problem: `is required when the status is ${status}` }]
}

/** The problems of a thread that has no other problems than unanswered calls at its end. Pending calls may be unanswered. */
function unansweredCalls(value: unknown, pending: readonly unknown[]): readonly Issue[] {
  const other = threadTranscript(value, () => true)
  if (other.length > 0) return fine
  const ids = new Set(pending.map((call) => (isPlainObject(call) ? call['id'] : undefined)))
  return within(
    'thread',
    threadTranscript(value, (id) => ids.has(id)),
  )
}
