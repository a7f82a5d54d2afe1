import {
  createCollector,
  isCancellation,
  partialMessages,
  toResponse,
  type Collector,
  type FoldedCall,
  type InnerRun,
} from '../../core/answer/fold-answer.ts'
import { isAllmError, type AllmError } from '../../core/errors/errors.ts'
import { lateResultOf } from '../../core/messages/tool-messages.ts'
import type { ErrorData } from '../../core/types/error-data.ts'
import type { StreamEvent } from '../../core/types/events.ts'
import { defined, merged } from '../../core/types/guards.ts'
import { appendMessages, isBlank, type Message, type Thread } from '../../core/types/message.ts'
import type { ModelResponse, Usage } from '../../core/types/response.ts'
import type { ChatResult, HaltedReason, ToolHalt } from '../../core/types/results.ts'
import type {
  AnswerFacts,
  RunProgress,
  SavedCall,
  SavedCalls,
  Session,
} from '../../core/types/session.ts'
import { isDue, isOver } from '../calls/decided.ts'
import { keptCall, mapCalls } from '../calls/kept.ts'
import { waitingStatus, withLists } from '../calls/pending.ts'
import { agentsOf } from '../calls/places.ts'
import {
  allRecords,
  applyEvent,
  asksAgain,
  haltsOf,
  innerPending,
  innerRuns,
  isDone,
  ownUsage,
  requestedCalls,
  restingReason,
  stepError,
  stepHalts,
  toChatResult,
} from '../model-call/fold.ts'
import { goesOn, goOnFrom, restore } from '../model-call/restore.ts'
import { someUsage, toldSession, untoldUsage } from './inner.ts'

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
  const calls = savedCalls(base, state)
  const outcome = lateOutcome(state) ?? outcomeOf(state)
  const { haltedReason: _reason, error: _error, ...rest } = base
  if (outcome !== undefined) return settled({ ...rest, run }, outcome, calls)
  const { error, result } = state
  const thread = appendMessages(state.thread, ...partialMessages(state))
  const at = withLists(defined<Session>(merged(rest, { thread, calls, run })))
  // A run that may ask no more ends without a step. If it is resumed, it counts anew.
  if (result !== undefined) {
    const { haltedReason } = result
    return { ...at, run: { ...run, turns: 0 }, status: 'halted', haltedReason }
  }
  if (error === undefined) return { ...at, status: 'idle' }
  // Stopping is not failing.
  if (isCancellation(error)) return { ...at, status: 'halted', haltedReason: 'cancelled' }
  return { ...at, status: 'error', error }
}

/** What is kept of the calls of a session and of a run of it. */
function savedCalls({ calls = {} }: Session, state: Collector): SavedCalls | undefined {
  // A call that was not over when the run began has a record, or was left when a model was asked.
  const all = new Map(Object.entries(calls).filter(([, saved]) => isOver(saved)))
  for (const { id, mark: _mark, message: _message, inner, ...record } of allRecords(state)) {
    // A call that comes again under the id of one that was removed keeps the tickets of that one.
    const { settled = calls[id]?.settled, inside = calls[id]?.inside } = record
    const saved = keptCall(
      defined<SavedCall>({ ...record, settled, inside, inner: inner && innerSession(inner) }),
    )
    if (saved === undefined) all.delete(id)
    else all.set(id, saved)
  }
  return all.size === 0 ? undefined : Object.fromEntries(all)
}

/** The session of an agent. Without an event since, it is as it was, a partial answer included. */
function innerSession({ base, state }: InnerRun): Session {
  return state.count === 0 ? base : snapshot(base, state)
}

/**
 * The session that goes with a result, which tells all that was used. Of a single step it tells the usage of the answer only: `left`
 * is the rest, and agents inside its calls keep theirs.
 */
export function afterResult(session: Session, left?: Usage): Session {
  const { run, ...rest } = session
  if (run === undefined) return session
  const usage = someUsage(left ?? {})
  const isOver = session.status === 'completed' && agentsOf(session).length === 0
  if (isOver && usage === undefined) return rest
  const after = toldSession(session)
  const { calls } = left === undefined ? after : session
  const told = left === undefined ? after.run?.told : run.told
  return defined<Session>({
    ...rest,
    calls,
    run: defined<RunProgress>({ ...(after.run ?? run), usage, told }),
  })
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
function outcomeOf(state: Collector): Outcome | undefined {
  const { thread, haltedReason, earlier } = state
  const last = state.steps.at(-1)
  if (last === undefined || state.active) return undefined
  const { manualToolCalls, halt, response } = last
  const rests = isDone(last) || manualToolCalls.length > 0
  const hasLate = halt === undefined && earlier.some(isDue)
  const goesOn = !rests || asksAgain(thread.messages) || hasLate
  if (haltedReason === undefined && goesOn) return undefined
  const halts = stepHalts(state)
  const approvals = requestedCalls(state).length + innerPending(state).approvals.length
  return {
    haltedReason: haltedReason ?? halt?.reason ?? restingReason(response),
    thread,
    waits: approvals + manualToolCalls.length > 0,
    ...bySort(halts),
    error: stepError(last),
    response,
  }
}

/** Questions, and the halts that are neither a question nor a request for approval. */
function bySort(all: readonly ToolHalt[]): Pick<Outcome, 'asks' | 'halts'> {
  const halts = all.filter(({ reason }) => reason !== 'ask_user' && reason !== 'approval')
  return { asks: all.some(({ reason }) => reason === 'ask_user'), halts }
}

/** How the run ended, if handlers of late calls asked or halted: before the model is asked, and after all of those calls. */
function lateOutcome(state: Collector): Outcome | undefined {
  const { active, error, thread, count, earlier } = state
  // Before its first event a run has not ended, whatever it starts from.
  if (count === 0 || active || error !== undefined) return undefined
  const all = haltsOf(earlier)
  const { waiting, approvals, manual } = innerPending(state)
  const isWaiting = ({ id }: FoldedCall): boolean => waiting.has(id)
  if (all.length === 0 && !earlier.some(isWaiting)) return undefined
  if (!earlier.filter(isDue).every(isWaiting)) return undefined
  const { asks, halts } = bySort(all)
  return {
    haltedReason: halts[0]?.reason ?? 'ask_user',
    thread,
    waits: approvals.length + manual.length > 0,
    asks,
    halts,
    error: halts[0]?.error,
    response: undefined,
  }
}

/** How a run ended. */
interface Outcome {
  readonly haltedReason: HaltedReason
  readonly thread: Thread
  /** Somebody has to approve, or to give a result. */
  readonly waits: boolean
  /** The user is asked. */
  readonly asks: boolean
  /** The other halts, in the order of the calls. They take effect when what waits is settled. */
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
function settled(
  base: Session & { readonly run: RunProgress },
  outcome: Outcome,
  calls: SavedCalls | undefined,
): Session {
  const { haltedReason, thread, asks, halts, error, response } = outcome
  const { run } = base
  const { late, usage } = run
  const { run: _run, ...rest } = withLists(
    defined<Session>({ ...base, thread, calls: callsAtRest(calls) }),
  )
  const hasAgents = agentsOf(rest).length > 0
  const next = (status: Session['status'], progressed: RunProgress): Session => ({
    ...rest,
    status,
    run: defined<RunProgress>({ ...progressed, usage, late }),
  })
  const resting = defined<RunProgress>({
    ...restingRun(run.mode),
    turns: run.turns,
    told: run.told,
  })
  const waiting: RunProgress =
    response === undefined ? resting : { ...resting, phase: 'waiting', answer: toldFacts(response) }
  const status = waitingStatus(rest)
  const waitsNow = asks || haltedReason === 'ask_user' || outcome.waits
  if (waitsNow && status !== undefined) {
    return defined<Session>({ ...next(status, waiting), calls: callsAtRest(calls, true) })
  }
  if (haltedReason === 'tool_error' && error !== undefined) {
    return { ...next('error', restingRun(run.mode)), error }
  }
  if (haltedReason === 'error' && error !== undefined) {
    return { ...next('error', failedRun(run.mode, response)), error }
  }
  if (haltedReason !== 'completed') {
    const haltResult = halts.find(({ reason }) => reason === haltedReason)?.result
    const stopped = defined<RunProgress>({ ...restingRun(run.mode), haltResult })
    return { ...next('halted', stopped), haltedReason }
  }
  if (status !== undefined) return next(status, resting)
  return usage === undefined && !hasAgents
    ? { ...rest, status: 'completed' }
    : next('completed', restingRun(run.mode))
}

/**
 * The calls of a run that rests. What they have asked for waits, and agents inside of them rest. Other halts have taken effect, unless they
 * do so only when what waits is settled.
 */
function callsAtRest(
  calls: SavedCalls | undefined,
  keepsHalts: boolean = false,
): SavedCalls | undefined {
  return mapCalls(calls, ({ halt, ...saved }) => {
    const isKept = keepsHalts && halt?.reason !== 'ask_user' && halt?.reason !== 'approval'
    const rests = saved.inner === undefined ? undefined : true
    return keptCall(defined<SavedCall>({ ...saved, rests, halt: isKept ? halt : undefined }))
  })
}

/** What a run keeps whose answer did not match its schema. */
function invalidRun(base: Session, state: Collector): RunProgress {
  const run = failedRun(base.run?.mode ?? 'auto', toResponse({ ...state, error: undefined }))
  return defined<RunProgress>({ ...run, usage: someUsage(ownUsage(state)) })
}

/** What a resumed run needs to know beside the thread. */
function progress(base: Session, state: Collector): RunProgress {
  const mode = base.run?.mode ?? 'auto'
  const turns = (base.run?.turns ?? 0) + state.answers
  const late = lateMessages(base, state)
  // The usage of an answer whose tools run is kept with the answer.
  const spent = ownUsage(state.end === undefined ? state : { ...state, usage: {} })
  // Until something has happened, the attempts of an earlier run count.
  const attempts = state.count === 0 ? base.run?.attempts : undefined
  const takeOvers = hasAdvanced(state) ? undefined : base.run?.takeOvers
  const told = base.run?.told
  const counts = { mode, turns, attempts, takeOvers, usage: someUsage(spent), told, late }
  if (!state.active) return defined<RunProgress>({ ...counts, phase: 'between' })
  if (state.end === undefined) {
    return defined<RunProgress>({ ...counts, phase: 'model', agent: state.agent })
  }
  // The answer is complete: an error after it is not how the answer ended.
  const answer = answerFacts(toResponse({ ...state, error: undefined }))
  const silent = partialMessages(state).length === 0 ? true : undefined
  return defined<RunProgress>({ ...counts, phase: 'tools', answer, silent })
}

/** Whether a step has ended, also one of an agent inside a call. */
function hasAdvanced(state: Collector): boolean {
  return state.steps.length > 0 || innerRuns(state).some((inner) => hasAdvanced(inner.state))
}

/** The messages that wait for the calls of the answer, as far as the run has not added them to the thread. */
function lateMessages({ run }: Session, { steps }: Collector): RunProgress['late'] {
  const { late } = run ?? {}
  if (late === undefined) return undefined
  const added = new Set(steps[0]?.newMessages.map((message) => JSON.stringify(message)))
  const waiting = late.filter((message) => !added.has(JSON.stringify(message)))
  return waiting.length === 0 ? undefined : waiting
}

/** A run between two steps: it keeps its mode, and its turns are counted from zero. */
export function restingRun(mode: RunProgress['mode']): RunProgress {
  return { mode, turns: 0, phase: 'between' }
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

/**
 * A session without the leftovers of an earlier run, with these calls. What was used and no result has told stays, also that of agents inside
 * calls that are gone.
 */
export function cleared(session: Session, calls: Session['calls']): Session {
  const { haltedReason: _reason, error: _error, calls: before, run, ...rest } = session
  const next = withLists(defined<Session>({ ...rest, calls }))
  if (run === undefined) return next
  const kept = new Set(agentsOf(next).map(([id]) => id))
  const gone = mapCalls(before, (saved, id) => (kept.has(id) ? undefined : saved))
  const usage = someUsage(untoldUsage(defined<Session>({ ...rest, calls: gone, run })))
  if (usage === undefined && kept.size === 0) return next
  return { ...next, run: defined<RunProgress>({ ...restingRun(run.mode), usage }) }
}

/** The session with the messages that waited for the calls at the end of its thread, unless the run goes on there. */
export function withLateMessages(session: Session): Session {
  const { run, calls } = session
  if (run?.late === undefined || goesOn(session) || run.phase === 'tools') return session
  const { mode, turns, attempts, takeOvers, trace, usage, told, late } = run
  // Without a partial answer, which is asked for again.
  const { thread } = restore(session)
  const counts = { mode, turns, attempts, takeOvers, trace, usage, told }
  return defined<Session>({
    ...session,
    thread: appendMessages(thread, ...late),
    calls: toldLate(calls, late),
    run: defined<RunProgress>({ ...counts, phase: 'between' }),
  })
}

/** Calls whose results are in messages that the model reads. */
export function toldLate(calls: Session['calls'], messages: readonly Message[]): Session['calls'] {
  const told = new Set(messages.map(lateResultOf))
  return mapCalls(calls, (saved, id) => {
    return told.has(id) ? keptCall({ ...saved, told: 'result' }) : saved
  })
}
