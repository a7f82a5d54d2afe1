import { isAllmError, type AllmError } from '../errors/errors.ts'
import {
  applyEvent,
  asksAgain,
  createCollector,
  isCancellation,
  isDone,
  midStep,
  partialMessages,
  restingReason,
  stepError,
  toChatResult,
  toResponse,
  totalUsage,
  type Collector,
} from '../run/collector.ts'
import type { ErrorData } from '../types/error-data.ts'
import type { StreamEvent } from '../types/events.ts'
import { defined } from '../types/guards.ts'
import { appendMessages, type Message, type Thread, type ToolCall } from '../types/message.ts'
import { addUsage, type ModelResponse, type Usage } from '../types/response.ts'
import type { ChatResult, HaltedReason, PendingApproval, ToolHalt } from '../types/results.ts'
import type { AnswerFacts, CallDecision, RunProgress, Session } from '../types/session.ts'

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
  if (rests(base)) return { base, state: createCollector(base.thread) }
  const { requested, halts = [] } = base.run ?? {}
  const state = restore(base)
  // The run that goes on in the events has asked about these calls. One that is resumed would ask again.
  return { base, state: requested === undefined ? state : { ...state, requested, halts } }
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
  const rest = { ...cleared(base), thread, run }
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

/** The session that goes with a result: of the usage it keeps what the result does not tell. */
export function afterResult(session: Session, left: Usage = {}): Session {
  const { run, ...rest } = session
  if (run === undefined) return session
  const usage = someUsage(left)
  if (session.status === 'completed' && usage === undefined) return rest
  const answer = run.answer && { ...run.answer, usage: {} }
  return { ...rest, run: defined<RunProgress>({ ...run, usage, answer }) }
}

function someUsage(usage: Usage): Usage | undefined {
  return Object.keys(usage).length === 0 ? undefined : usage
}

/** Whether nothing is under way: the base of a run is always idle. */
function rests({ status }: Session): boolean {
  return status !== 'idle'
}

/** Whether a session waits for somebody. */
export function waits({ status }: Session): boolean {
  return status === 'awaiting_user' || status === 'awaiting_approval' || status === 'awaiting_tools'
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
    approvals,
    questions,
    halts: halted,
    error: stepError(last),
    response,
  }
}

/** How the run ended, if handlers of late calls asked or halted: before the model is asked, and after all of those calls. */
function lateOutcome({ decisions = [] }: RunProgress, state: Collector): Outcome | undefined {
  const { active, halts, error, thread, count } = state
  // Before its first event a run has not ended, whatever it starts from.
  if (count === 0 || active || halts.length === 0 || error !== undefined) return undefined
  const questions = halts.filter(({ reason }) => reason === 'ask_user')
  const isAsked = ({ call }: CallDecision): boolean =>
    questions.some(({ toolCallId }) => toolCallId === call.id)
  if (!decisions.every(isAsked)) return undefined
  const others = halts.filter(({ reason }) => reason !== 'ask_user')
  return {
    haltedReason: others[0]?.reason ?? 'ask_user',
    thread,
    manualToolCalls: [],
    approvals: [],
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
  const [question, ...more] = questions
  const { late, decisions } = run
  const rest = defined<Session>({
    ...cleared(base),
    thread,
    pendingToolCalls: [...base.pendingToolCalls, ...manualToolCalls],
    pendingApprovals: [...base.pendingApprovals, ...approvals],
    pendingQuestion: question?.question,
    pendingToolCallId: question?.toolCallId,
    pendingQuestionOptions: question?.options,
    moreQuestions: more.length === 0 ? undefined : more,
  })
  const next = (status: Session['status'], progressed: RunProgress): Session => ({
    ...rest,
    status,
    run: defined<RunProgress>({ ...progressed, usage: run.usage, late, decisions }),
  })
  const resting: RunProgress = {
    ...restingRun(run.mode),
    turns: run.turns,
    halts: outcome.halts,
  }
  const waiting: RunProgress =
    response === undefined ? resting : { ...resting, phase: 'waiting', answer: toldFacts(response) }
  if (question !== undefined) return next('awaiting_user', waiting)
  if (approvals.length > 0) return next('awaiting_approval', waiting)
  if (manualToolCalls.length > 0) {
    return next(rest.pendingApprovals.length > 0 ? 'awaiting_approval' : 'awaiting_tools', waiting)
  }
  if (haltedReason === 'tool_error' && error !== undefined) {
    return { ...next('error', restingRun(run.mode)), error }
  }
  if (haltedReason === 'error' && error !== undefined) {
    return { ...next('error', failedRun(run.mode, response)), error }
  }
  if (haltedReason !== 'completed') return { ...next('halted', restingRun(run.mode)), haltedReason }
  if (rest.pendingApprovals.length > 0) return next('awaiting_approval', resting)
  if (rest.pendingToolCalls.length > 0) return next('awaiting_tools', resting)
  return run.usage === undefined
    ? { ...rest, status: 'completed' }
    : next('completed', restingRun(run.mode))
}

/** What a run keeps whose answer did not match its schema. */
function invalidRun(base: Session, state: Collector): RunProgress {
  const run = failedRun(base.run?.mode ?? 'auto', toResponse({ ...state, error: undefined }))
  return defined<RunProgress>({ ...run, usage: someUsage(totalUsage(state)) })
}

/** What a resumed run needs to know beside the thread. */
function progress(base: Session, state: Collector): RunProgress {
  const mode = base.run?.mode ?? 'auto'
  const turns = (base.run?.turns ?? 0) + state.answers
  const { started, halts, results } = state
  const requested = state.requested.length === 0 ? undefined : state.requested
  const left = unsettled(base, state)
  const stored = results.length === 0 ? undefined : results
  // The usage of an answer whose tools run is kept with the answer.
  const spent = totalUsage(state.end === undefined ? state : { ...state, usage: {} })
  // Until something has happened, the attempts of an earlier run count.
  const attempts = state.count === 0 ? base.run?.attempts : undefined
  const takeOvers = state.steps.length === 0 ? base.run?.takeOvers : undefined
  const counts = { mode, turns, attempts, takeOvers, usage: someUsage(spent) }
  if (!state.active) {
    const at = { ...counts, phase: 'between', started, halts, results: stored } as const
    return defined<RunProgress>({ ...at, ...left })
  }
  if (state.end === undefined) {
    return defined<RunProgress>({ ...counts, phase: 'model', started: [], halts: [], ...left })
  }
  // The answer is complete: an error after it is not how the answer ended.
  const answer = answerFacts(toResponse({ ...state, error: undefined }))
  return defined<RunProgress>({
    ...counts,
    phase: 'tools',
    answer,
    silent: partialMessages(state).length === 0 ? true : undefined,
    started,
    halts,
    requested,
    results: stored,
    ...left,
  })
}

/** What was decided and told before the run, as far as the run has not settled it. */
function unsettled(base: Session, state: Collector): Pick<RunProgress, 'decisions' | 'late'> {
  const { decisions = [], late = [] } = base.run ?? {}
  if (decisions.length === 0 && late.length === 0) return {}
  const { messages } = state.thread
  const isTold = (id: string): boolean =>
    messages.some(({ metadata }) => metadata?.['lateResultOf'] === id)
  const left = decisions.filter((decision) =>
    decision.late === true ? !isTold(decision.call.id) : state.steps.length === 0,
  )
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

/** A run whose last answer is not usable: the model is asked again. An empty answer is not in the thread. */
function failedRun(mode: RunProgress['mode'], response: ModelResponse | undefined): RunProgress {
  const run = restingRun(mode)
  if (response === undefined) return run
  const { content, toolCalls } = response.message
  if (content.length === 0 && toolCalls === undefined) return run
  return { ...run, phase: 'model', answer: toldFacts(response) }
}

/** Whether an error happened in a call and belongs into the session. Any other error is a mistake of the caller. */
export function isFailure(error: unknown): error is AllmError {
  return isAllmError(error) && (error.kind === 'adapter' || error.kind === 'stream')
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

/** A session without the leftovers of an earlier run, except for the usage that no result has told. */
export function cleared(session: Session): Session {
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
  const usage = someUsage(addUsage(run.usage ?? {}, run.answer?.usage ?? {}))
  return usage === undefined ? rest : { ...rest, run: { ...restingRun(run.mode), usage } }
}

/** Whether a run that waited goes on with the calls of its last answer: something is left to run, to tell or to halt for. */
export function goesOn({ run, thread }: Session): boolean {
  if (run?.phase !== 'waiting') return false
  if (run.halts.length > 0 || run.decisions?.some(({ late }) => late !== true) === true) return true
  const at = thread.messages.findLastIndex(({ role }) => role !== 'tool')
  return (thread.messages[at]?.toolCalls?.length ?? 0) > thread.messages.length - at - 1
}

/** The session with the messages that waited for the calls at the end of its thread, unless the run goes on there. */
export function withLateMessages(session: Session): Session {
  const { run } = session
  if (run?.late === undefined || goesOn(session) || run.phase === 'tools') return session
  const { mode, turns, attempts, takeOvers, trace, usage, started, results, decisions } = run
  // Without a partial answer, which is asked for again.
  const { thread } = restore(session)
  const halts = run.phase === 'between' ? run.halts : []
  const counts = { mode, turns, attempts, takeOvers, trace, usage }
  const at = { ...counts, phase: 'between', started, halts, results, decisions } as const
  return {
    ...session,
    thread: appendMessages(thread, ...run.late),
    run: defined<RunProgress>(at),
  }
}

/**
 * The state of a run that was cut, as far as the session kept it.
 *
 * A partial answer is dropped, and the model is asked again. Tools that were running go on: their results are kept, and the
 * marked messages in place of results are dropped.
 */
export function restore(session: Session): Collector {
  return { ...restored(session), spent: session.run?.usage ?? {} }
}

function restored(session: Session): Collector {
  const { run, thread } = session
  const { messages } = thread
  if (run?.silent === true && run.answer !== undefined) return midStep(thread, run.answer, silence)
  const at = messages.findLastIndex((message) => message.role === 'assistant')
  const last = messages[at]
  if (run === undefined || last === undefined || at < lastInput(messages)) return between(session)
  const before = { ...thread, messages: messages.slice(0, at) }
  const failed = last.metadata?.['partial'] === true || run.answer !== undefined
  if (run.phase === 'model' && failed) return createCollector(before)
  const isWaiting = run.phase === 'waiting' && goesOn(session)
  if (run.answer === undefined || (run.phase !== 'tools' && !isWaiting)) return between(session)
  // The calls whose question was answered, unless they have run with the answer and asked again.
  const asked = new Set(
    run.decisions?.flatMap(({ call, answer }) => (answer === undefined ? [] : call.id)),
  )
  for (const { reason, toolCallId } of run.halts)
    if (reason === 'ask_user') asked.delete(toolCallId)
  const results = messages.slice(at + 1).filter((message) => {
    const waits = message.metadata?.['askUser'] === true && asked.has(message.toolCallId ?? '')
    return !waits && (isWaiting || !isMark(message))
  })
  return {
    ...midStep(before, run.answer, last, results),
    // A call that was answered as interrupted before the run waited looks like one under way. It must not run again.
    started: [...run.started, ...results.filter(isMark).map(({ toolCallId = '' }) => toolCallId)],
    // Calls that wait for approval are asked about again.
    halts: run.halts.filter(({ reason }) => reason !== 'approval'),
    results: run.results ?? [],
  }
}

/** The state between two steps. Late calls may have been started, have left a result, have asked or have halted. */
function between({ run, thread }: Session): Collector {
  const state = createCollector(thread)
  if (run === undefined) return state
  const { started, results = [] } = run
  const halts = run.phase === 'between' ? run.halts : []
  return run.decisions === undefined ? { ...state, halts } : { ...state, halts, started, results }
}

/** The caller's last message: nothing before it is still under way. */
function lastInput(messages: readonly Message[]): number {
  return messages.findLastIndex(({ role }) => role === 'user' || role === 'system')
}

/** An empty answer. */
const silence: Message = { role: 'assistant', content: '' }

/** Whether a tool message marks a result that may still come. A call that the provider cut, or was reported as interrupted, has none. */
export function isMark({ metadata }: Message): boolean {
  const reason = metadata?.['reason']
  return (
    metadata?.['interrupted'] === true &&
    metadata['reported'] !== true &&
    (reason === 'interrupted' || reason === 'cancelled' || reason === 'error')
  )
}
