import {
  createCollector,
  isCancellation,
  partialMessages,
  toResponse,
  type Collector,
} from '../../core/answer/fold-answer.ts'
import { isAllmError, type AllmError } from '../../core/errors/errors.ts'
import type { ErrorData } from '../../core/types/error-data.ts'
import type { StreamEvent } from '../../core/types/events.ts'
import { defined } from '../../core/types/guards.ts'
import { appendMessages, isBlank, type Thread, type ToolCall } from '../../core/types/message.ts'
import type { ModelResponse, Usage } from '../../core/types/response.ts'
import type {
  ChatResult,
  HaltedReason,
  PendingApproval,
  ToolHalt,
} from '../../core/types/results.ts'
import type {
  AnswerFacts,
  CallDecision,
  RunProgress,
  Session,
  SessionStatus,
} from '../../core/types/session.ts'
import { questionsOf } from '../calls/places.ts'
import {
  applyEvent,
  asksAgain,
  innerPending,
  isDone,
  ownUsage,
  restingReason,
  stepError,
  toChatResult,
} from '../model-call/fold.ts'
import { goesOn, goOnFrom, restore } from '../model-call/restore.ts'
import {
  pickInner,
  someUsage,
  toldRun,
  untoldUsage,
  waits,
  withInnerPending,
  withQuestions,
  type InnerSessions,
} from './inner.ts'

/** A session and the events folded into it since. Pure: any earlier one can be kept. */
export interface SessionReducer {
  /** The session that the run started from, its input included: a stream's first `session`. */
  readonly base: Session
  readonly state: Collector
}

/** A session after a run, and the result of the run. */
export interface SessionResult<Result = ChatResult> {
  readonly session: Session
  readonly result: Result
}

/** Starts folding a run's events into a session. Start it from the stream's first `session`. */
export function reduceSession(base: Session): SessionReducer {
  // A session that rests is not run, so none of its steps goes on.
  return { base, state: rests(base) ? createCollector(base.thread) : goOnFrom(base) }
}

/** Folds one more event. */
export function applySessionEvent(reducer: SessionReducer, event: StreamEvent): SessionReducer {
  return { base: reducer.base, state: applyEvent(reducer.state, event) }
}

/** The session as of the last event, and the result so far. It may be called after any event, any number of times. */
export function finalizeSession(reducer: SessionReducer): SessionResult {
  const { base, state } = reducer
  return { session: snapshot(base, state), result: toChatResult(state) }
}

/**
 * The session as of the last event that was folded: what it would be if the run ended here.
 *
 * After a run that ended, the session has its new status. After a failure it has status `error`. During a run it is `idle`
 * and holds what is needed to go on from exactly this event. After a run, or a cut, the thread can be sent.
 */
export function snapshot(base: Session, state: Collector): Session {
  // A session that rests is not run: what may follow is the event that says so.
  const session = rests(base) ? base : withTrace(atEvent(base, state), base.run?.trace)
  return state.result === undefined ? session : afterResult(session)
}

/** The session whose run can be found by telemetry. One that is completed does not go on. */
export function withTrace(session: Session, trace: string | undefined): Session {
  const { run, status } = session
  if (trace === undefined || run === undefined || run.trace !== undefined) return session
  return status === 'completed' ? session : { ...session, run: { ...run, trace } }
}

function atEvent(base: Session, state: Collector): Session {
  const run = isInvalidOutput(state) ? invalidRun(base, state) : progress(base, state)
  const outcome = lateOutcome(run, state) ?? outcomeOf(run, state)
  if (outcome !== undefined) return settled(base, outcome, run)
  const { error, result } = state
  const thread = appendMessages(state.thread, ...partialMessages(state))
  const rest = { ...withQuestions(cleared(base), questionsOf(base)), thread, run }
  // A run that may ask no more ends without a step. If it is resumed, it counts anew.
  if (result !== undefined) {
    const { haltedReason } = result
    return { ...rest, run: { ...rest.run, turns: 0 }, status: 'halted', haltedReason }
  }
  if (error === undefined) return { ...rest, status: 'idle' }
  // Stopping is not failing.
  if (isCancellation(error)) return { ...rest, status: 'halted', haltedReason: 'cancelled' }
  return { ...rest, status: 'error', error }
}

/**
 * The session that goes with a result, which tells all that was used. Of a single step it tells the usage of the answer only: `left`
 * is the rest, and agents inside its calls keep theirs.
 */
export function afterResult(session: Session, left?: Usage): Session {
  const { run, ...rest } = session
  if (run === undefined) return session
  const usage = someUsage(left ?? {})
  if (session.status === 'completed' && usage === undefined && run.inner === undefined) return rest
  const after = toldRun(run)
  const { inner, told } = left === undefined ? after : run
  return { ...rest, run: defined<RunProgress>({ ...after, usage, inner, told }) }
}

/** Whether nothing is under way: the base of a run is always idle. */
function rests({ status }: Session): boolean {
  return status !== 'idle'
}

/** Whether the answer did not match its schema. It stays in the thread until the model is asked again. */
function isInvalidOutput({ error }: Collector): boolean {
  return error?.kind === 'validation' && error.reason === 'invalid_output'
}

/** How the run ended, if it did. The last step of a loop has everything that its result has. */
function outcomeOf({ decisions }: RunProgress, state: Collector): Outcome | undefined {
  const { thread, questions, approvals, haltedReason, halted } = state
  const last = state.steps.at(-1)
  if (last === undefined || state.active) return undefined
  const { manualToolCalls, halt, response } = last
  const rests = isDone(last) || manualToolCalls.length > 0
  const goesOn =
    !rests || asksAgain(thread.messages) || (halt === undefined && decisions !== undefined)
  if (haltedReason === undefined && goesOn) return undefined
  return {
    haltedReason: haltedReason ?? halt?.reason ?? restingReason(response),
    thread,
    manualToolCalls,
    approvals: [...approvals, ...innerPending(state).approvals],
    questions,
    halts: halted,
    error: stepError(last),
    response,
  }
}

/** How the run ended, if handlers of late calls asked or halted: before the model is asked, and after all of those calls. */
function lateOutcome(run: RunProgress, state: Collector): Outcome | undefined {
  const { active, halts, error, thread, count } = state
  // The others are arguments that were approved for an agent of the last answer.
  const decisions = run.decisions?.filter(({ late }) => late === true) ?? []
  const { waiting, approvals, manual } = innerPending(state)
  const isWaiting = ({ call }: CallDecision): boolean => waiting.has(call.id)
  // Before its first event a run has not ended, whatever it starts from.
  if (count === 0 || active || error !== undefined) return undefined
  if (halts.length === 0 && !decisions.some(isWaiting)) return undefined
  const questions = halts.filter(({ reason }) => reason === 'ask_user')
  const isAsked = ({ call }: CallDecision): boolean =>
    questions.some(({ toolCallId }) => toolCallId === call.id)
  if (!decisions.every((decision) => isAsked(decision) || isWaiting(decision))) return undefined
  const others = halts.filter(({ reason }) => reason !== 'ask_user')
  return {
    haltedReason: others[0]?.reason ?? 'ask_user',
    thread,
    manualToolCalls: manual,
    approvals,
    questions,
    halts: others,
    error: others[0]?.error,
    response: undefined,
  }
}

/** How a run ended. */
interface Outcome {
  readonly haltedReason: HaltedReason
  readonly thread: Thread
  readonly manualToolCalls: readonly ToolCall[]
  readonly approvals: readonly PendingApproval[]
  /** All questions to the user, in the order of the calls. */
  readonly questions: readonly ToolHalt[]
  /** The other halts of the last step, which take effect when its calls are settled. */
  readonly halts: readonly ToolHalt[]
  readonly error?: ErrorData | undefined
  /** The last answer, unless late calls ended the run. */
  readonly response: ModelResponse | undefined
}

/**
 * The session after a run that ended.
 *
 * Calls that waited before the run, and whose results will be told late, still wait. They do not keep a run from being
 * halted or failed.
 */
function settled(base: Session, outcome: Outcome, run: RunProgress): Session {
  const { haltedReason, thread, manualToolCalls, approvals, questions, error, response } = outcome
  const { late, inner } = run
  const asked: Session = {
    ...cleared(base),
    thread,
    pendingToolCalls: [...base.pendingToolCalls, ...manualToolCalls],
    pendingApprovals: [...base.pendingApprovals, ...approvals],
    run,
  }
  const before = { ...base.run?.inner, ...inner }
  // Those that were open before stay open. One whose call asked again is another.
  const open = questionsOf(base).filter(
    ({ toolCallId }) => !questions.some((question) => question.toolCallId === toolCallId),
  )
  const all = [...open, ...questions]
  const { run: _run, ...rest } = withInnerPending(withQuestions(asked, all), before)
  // An agent that waits is not entered again before somebody has settled what it waits for.
  const decisions = run.decisions?.filter(
    ({ call, late: isLate }) => isLate !== true || !isWaiting(inner, call.id),
  )
  const next = (status: Session['status'], progressed: RunProgress): Session => ({
    ...rest,
    status,
    run: defined<RunProgress>({
      ...progressed,
      usage: run.usage,
      late,
      decisions: decisions?.length === 0 ? undefined : decisions,
      inner,
    }),
  })
  const resting = defined<RunProgress>({
    ...restingRun(run.mode),
    turns: run.turns,
    halts: outcome.halts,
    told: run.told,
  })
  const waiting: RunProgress =
    response === undefined ? resting : { ...resting, phase: 'waiting', answer: toldFacts(response) }
  const waits = waitingStatus(rest)
  const asksNow = questions.length > 0 || haltedReason === 'ask_user'
  const waitsNow = asksNow || approvals.length + manualToolCalls.length > 0
  if (waitsNow && waits !== undefined) return next(waits, waiting)
  if (haltedReason === 'tool_error' && error !== undefined) {
    return { ...next('error', restingRun(run.mode)), error }
  }
  if (haltedReason === 'error' && error !== undefined) {
    return { ...next('error', failedRun(run.mode, response)), error }
  }
  if (haltedReason !== 'completed') {
    const haltResult = outcome.halts.find(({ reason }) => reason === haltedReason)?.result
    const stopped = defined<RunProgress>({ ...restingRun(run.mode), haltResult })
    return { ...next('halted', stopped), haltedReason }
  }
  if (waits !== undefined) return next(waits, resting)
  return run.usage === undefined && inner === undefined
    ? { ...rest, status: 'completed' }
    : next('completed', restingRun(run.mode))
}

/** The status of a session that waits: that of the first that its lists name. */
export function waitingStatus({
  pendingToolCallId,
  pendingApprovals,
  pendingToolCalls,
}: Session): SessionStatus | undefined {
  if (pendingToolCallId !== undefined) return 'awaiting_user'
  if (pendingApprovals.length > 0) return 'awaiting_approval'
  return pendingToolCalls.length > 0 ? 'awaiting_tools' : undefined
}

function isWaiting(inner: InnerSessions | undefined, callId: string): boolean {
  const session = Object.hasOwn(inner ?? {}, callId) ? inner?.[callId] : undefined
  return session !== undefined && waits(session)
}

/** What a run keeps whose answer did not match its schema. */
function invalidRun(base: Session, state: Collector): RunProgress {
  const run = failedRun(base.run?.mode ?? 'auto', toResponse({ ...state, error: undefined }))
  return defined<RunProgress>({
    ...run,
    usage: someUsage(ownUsage(state)),
    inner: innerSessions(state),
  })
}

/** What a resumed run needs to know beside the thread. */
function progress(base: Session, state: Collector): RunProgress {
  const mode = base.run?.mode ?? 'auto'
  const turns = (base.run?.turns ?? 0) + state.answers
  const { started, halts, results } = state
  const requested = state.requested.length === 0 ? undefined : state.requested
  const left = unsettled(base, state)
  const stored = results.length === 0 ? undefined : results
  const starts = state.starts.length === 0 ? undefined : state.starts
  // The usage of an answer whose tools run is kept with the answer.
  const spent = ownUsage(state.end === undefined ? state : { ...state, usage: {} })
  // Until something has happened, the attempts of an earlier run count.
  const attempts = state.count === 0 ? base.run?.attempts : undefined
  const takeOvers = hasAdvanced(state) ? undefined : base.run?.takeOvers
  const inner = innerSessions(state)
  const told = base.run?.told
  const counts = { mode, turns, attempts, takeOvers, usage: someUsage(spent), told, inner }
  if (!state.active) {
    const at = { ...counts, phase: 'between', started, starts, halts, results: stored } as const
    return defined<RunProgress>({ ...at, ...left })
  }
  if (state.end === undefined) {
    const { agent } = state
    return defined<RunProgress>({
      ...counts,
      phase: 'model',
      agent,
      started: [],
      halts: [],
      ...left,
    })
  }
  // The answer is complete: an error after it is not how the answer ended.
  const answer = answerFacts(toResponse({ ...state, error: undefined }))
  return defined<RunProgress>({
    ...counts,
    phase: 'tools',
    answer,
    silent: partialMessages(state).length === 0 ? true : undefined,
    started,
    starts,
    halts,
    requested,
    results: stored,
    ...left,
  })
}

/** Whether a step has ended, also one of an agent inside a call. */
function hasAdvanced({ steps, inner }: Collector): boolean {
  return steps.length > 0 || inner.some(({ state }) => hasAdvanced(state))
}

/** The sessions of the agents inside calls that have no result yet. */
function innerSessions({ inner }: Collector): InnerSessions | undefined {
  if (inner.length === 0) return undefined
  return Object.fromEntries(
    inner.map(({ callId, base, state }) => [
      callId,
      // Without an event since, it is as it was, a partial answer included.
      state.count === 0 ? base : snapshot(base, state),
    ]),
  )
}

/** What was decided and told before the run, as far as the run has not settled it. */
function unsettled(base: Session, state: Collector): Pick<RunProgress, 'decisions' | 'late'> {
  const { decisions = [], late = [] } = base.run ?? {}
  if (decisions.length === 0 && late.length === 0) return {}
  const { messages } = state.thread
  const isTold = (id: string): boolean =>
    messages.some(({ metadata }) => metadata?.['lateResultOf'] === id)
  const left = decisions.filter(({ call, late: isLate }) => {
    if (isLate === true) return !isTold(call.id)
    // The arguments that were approved for an agent hold as long as it runs or waits.
    return state.steps.length === 0 || state.inner.some(({ callId }) => callId === call.id)
  })
  const added = new Set(state.steps[0]?.newMessages.map((message) => JSON.stringify(message)))
  const waiting = late.filter((message) => !added.has(JSON.stringify(message)))
  return defined<Pick<RunProgress, 'decisions' | 'late'>>({
    decisions: left.length === 0 ? undefined : left,
    late: waiting.length === 0 ? undefined : waiting,
  })
}

/** A run between two steps: it keeps its mode, and its turns are counted from zero. */
export function restingRun(mode: RunProgress['mode']): RunProgress {
  return { mode, turns: 0, phase: 'between', started: [], halts: [] }
}

/** A run whose last answer is not usable: the model is asked again. An answer that said nothing has nothing in the thread to replace. */
function failedRun(mode: RunProgress['mode'], response: ModelResponse | undefined): RunProgress {
  const run = restingRun(mode)
  if (response === undefined) return run
  const { message } = response
  if (isBlank(message) && message.finishReason === undefined) return run
  return { ...run, phase: 'model', answer: toldFacts(response) }
}

/** Whether an error happened in a call and belongs into the session. Any other error is a mistake of the caller. */
export function isFailure(error: unknown): error is AllmError {
  const kinds = ['adapter', 'stream', 'tool']
  return isAllmError(error) && kinds.includes(error.kind)
}

/** The fields of a response that a session keeps beside the message. */
function answerFacts(response: ModelResponse): AnswerFacts {
  const { message: _message, outputText: _text, toolCalls: _calls, warnings, ...facts } = response
  return warnings.length === 0 ? facts : { ...facts, warnings }
}

/** The facts of an answer whose usage is in that of the run. */
function toldFacts(response: ModelResponse): AnswerFacts {
  return { ...answerFacts(response), usage: {} }
}

/** A session without the leftovers of an earlier run, except for the usage that no result has told, and for these agents. */
export function cleared(session: Session, kept?: InnerSessions): Session {
  const {
    pendingQuestion: _question,
    pendingToolCallId: _call,
    pendingQuestionOptions: _options,
    moreQuestions: _more,
    haltedReason: _reason,
    error: _error,
    run,
    ...rest
  } = session
  if (run === undefined) return rest
  const left = pickInner(run.inner, (callId) => !Object.hasOwn(kept ?? {}, callId))
  const usage = someUsage(untoldUsage(defined<RunProgress>({ ...run, inner: left })))
  if (usage === undefined && kept === undefined) return rest
  const resting = { ...restingRun(run.mode), usage, inner: kept }
  return { ...rest, run: defined<RunProgress>(resting) }
}

/** The session with the messages that waited for the calls at the end of its thread, unless the run goes on there. */
export function withLateMessages(session: Session): Session {
  const { run } = session
  if (run?.late === undefined || goesOn(session) || run.phase === 'tools') return session
  const { mode, turns, attempts, takeOvers, trace, usage, told } = run
  const { started, starts, results, decisions, inner } = run
  // Without a partial answer, which is asked for again.
  const { thread } = restore(session)
  const halts = run.phase === 'between' ? run.halts : []
  const counts = { mode, turns, attempts, takeOvers, trace, usage, told }
  const calls = { started, starts, halts, results, decisions, inner }
  const at = { ...counts, phase: 'between', ...calls } as const
  return {
    ...session,
    thread: appendMessages(thread, ...run.late),
    run: defined<RunProgress>(at),
  }
}
