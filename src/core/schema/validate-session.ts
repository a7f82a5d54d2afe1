import { maxTraceLength } from '../base/telemetry.ts'
import { callStates, maxAuthorLength, type CallApproval, type CallQuestion } from '../types/call.ts'
import { errorKinds, type CauseData, type ErrorData, type Issue } from '../types/error-data.ts'
import { assertNever } from '../types/guards.ts'
import { finishReasons } from '../types/response.ts'
import type { PendingApproval, ToolHalt } from '../types/results.ts'
import {
  sessionStatuses,
  sessionVersion,
  type AnswerFacts,
  type CallHalt,
  type CallResult,
  type RunProgress,
  type PastCall,
  type SavedCall,
  type Session,
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
  `${sessionVersion} (an older session is read with Session.parse, and a newer one needs a newer allm-ts)`,
  (value) => value === sessionVersion,
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

/** The check of an error as data. */
export const error: Check = shapeOf<ErrorData>(errorNames, {
  ...errorFacts,
  partial: json,
  causes: listOf(shapeOf<CauseData>(errorNames, errorFacts)),
})

/** The check of a halt. */
export const halt: Check = shapeOf<ToolHalt>(
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

const truth: Check = must('true', (value) => value === true)

/** The check of what a handler has left: its value, its question or its word for `halt`. */
export const callResultShape: Readonly<Record<keyof CallResult, Check>> = {
  value: json,
  parts: truth,
  question: shapeOf<NonNullable<CallResult['question']>>(
    { question: text, options: jsonObject },
    { expiresInMs: between(0, Number.MAX_VALUE) },
  ),
  haltReason: someText,
}

const author = must(
  `a text of at most ${maxAuthorLength} characters`,
  (value) => typeof value === 'string' && value.length <= maxAuthorLength,
)

const milliseconds = must('a number of milliseconds', Number.isFinite)

const approval = shapeOf<CallApproval>(
  { decision: oneOf(['approved', 'denied']) },
  { by: author, at: milliseconds, reason: text, arguments: jsonObject },
)

const question = shapeOf<CallQuestion>(
  { text },
  { options: jsonObject, answer: content, by: author, at: milliseconds },
)

const pastCall = shapeOf<PastCall>({ name: someText, arguments: jsonObject }, { agent: agentName })

/** The check of an approval that somebody is asked for. */
export const pendingApproval: Check = shapeOf<PendingApproval>(
  { id: someText, name: someText, arguments: jsonObject },
  { rawArguments: text, opaque: json, reason: text },
)

/** How deep sessions may be inside of one another. A run is refused long before, unless its agents are told otherwise. */
export const maxInnerDepth = 16

/** The checks of sessions and of their calls, by their depth. They are made when they are needed. */
const sessions: Check[] = []
const calls: Check[] = []

function sessionIssues(value: unknown, depth: number): readonly Issue[] {
  return (sessions[depth] ??= sessionAt(depth))(value)
}

function callIssues(value: unknown, depth: number): readonly Issue[] {
  return (calls[depth] ??= recordOf(callAt(depth)))(value)
}

function sessionAt(depth: number): Check {
  const run = shapeOf<RunProgress>(runNeeds, runMay)
  return sessionShape({ version, run, calls: (value) => callIssues(value, depth) })
}

interface OwnChecks {
  readonly version: Check
  readonly run: Check
  readonly calls?: Check
}

/** The check of a session, given the checks of what only the library reads. */
export function sessionShape({ version: form, ...own }: OwnChecks): Check {
  const shaped = shapeOf<Omit<Session, 'calls' | 'run'>>(
    {
      version: form,
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
      ...own,
    },
  )
  return (value) =>
    isPlainObject(value) ? join(shaped(value), statusIssues(value)) : shaped(value)
}

/** The checks of the required members of `run`. */
export const runNeeds: Readonly<Record<'mode' | 'turns' | 'phase', Check>> = {
  mode: oneOf(['auto', 'manual']),
  turns: nonNegativeInteger,
  phase: oneOf(['model', 'tools', 'waiting', 'between']),
}

/** The checks of its other members. */
export const runMay: Readonly<
  Record<Exclude<keyof RunProgress, 'mode' | 'turns' | 'phase'>, Check>
> = {
  attempts: nonNegativeInteger,
  takeOvers: nonNegativeInteger,
  trace: must(
    `a text of at most ${maxTraceLength} characters`,
    (value) => typeof value === 'string' && value.length <= maxTraceLength,
  ),
  answer,
  usage: jsonObject,
  told: jsonObject,
  agent: agentName,
  silent: truth,
  haltResult: json,
  late: listOf(validateMessage),
}

function callAt(depth: number): Check {
  return shapeOf<SavedCall>(
    {},
    {
      state: oneOf(callStates),
      told: oneOf(['no', 'placeholder', 'result']),
      settled: listOf(someText),
      approval,
      question,
      reason: text,
      since: milliseconds,
      expiresAt: milliseconds,
      // The clock of an engine may count from any moment.
      startedAt: milliseconds,
      timeoutMs,
      idempotent: truth,
      endedAt: milliseconds,
      result: shapeOf<CallResult>({}, callResultShape),
      error,
      halt: shapeOf<CallHalt>({ reason: someText }, { result: json, error }),
      inner: insideOf(depth, sessionIssues),
      inside: insideOf(depth, callIssues),
      call: pastCall,
      rests: truth,
    },
  )
}

/** The check of the session of an agent inside a call of a session that is `depth` sessions deep. */
export function insideOf(
  depth: number,
  issuesOf: (value: unknown, depth: number) => readonly Issue[],
): Check {
  return (value) => {
    if (depth < maxInnerDepth) return issuesOf(value, depth + 1)
    return [{ path: '', problem: `is inside of ${depth} other sessions, which is the limit` }]
  }
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
