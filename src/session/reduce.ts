import { isAllmError, type AllmError } from '../errors/errors.ts'
import {
  createCollector,
  applyEvent,
  partialMessages,
  stepError,
  toChatResult,
  toResponse,
  type MessageEnd,
  type Collector,
} from '../run/collector.ts'
import type { ErrorData } from '../types/error-data.ts'
import type { StreamEvent } from '../types/events.ts'
import { defined } from '../types/guards.ts'
import { appendMessages, type Message, type Thread, type ToolCall } from '../types/message.ts'
import type { ModelResponse } from '../types/response.ts'
import type { ChatResult, HaltedReason, ToolHalt } from '../types/results.ts'
import type { AnswerFacts, RunProgress, Session } from '../types/session.ts'

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
  return { base, state: restore(base) }
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
 * and holds what is needed to go on from exactly this event. The thread can always be sent.
 */
export function snapshot(base: Session, state: Collector): Session {
  // The next of several questions is asked without a run: its session waits from the start.
  if (state.count === 0 && base.status === 'awaiting_user') return base
  const run = progress(base, state)
  const outcome = outcomeOf(base, state)
  if (outcome !== undefined) return settled(base, outcome, run)
  const { error } = state
  return defined<Session>({
    ...cleared(base),
    status: error === undefined ? 'idle' : 'error',
    thread: appendMessages(state.thread, ...partialMessages(state)),
    error,
    run,
  })
}

/** How the run ended, if it did. The last step of a loop has everything that its result has. */
function outcomeOf(base: Session, state: Collector): Outcome | undefined {
  const { result, questions, error, haltedReason } = state
  if (result !== undefined) {
    const asked = questions.length > 0 ? questions : askedBy(base, result)
    return { ...result, questions: asked, response: result.finalResponse }
  }
  const last = state.steps.at(-1)
  if (last === undefined || state.active || error !== undefined) return undefined
  const { thread, manualToolCalls, halt, response } = last
  const rests = last.done || manualToolCalls.length > 0
  if (haltedReason === undefined && (!rests || asksForFinalAnswer(thread))) return undefined
  const reason = response.finishReason === 'error' ? 'error' : 'completed'
  return {
    haltedReason: haltedReason ?? halt?.reason ?? reason,
    thread,
    manualToolCalls,
    questions,
    error: stepError(last),
    response,
  }
}

/** A question that was asked without a step had waited behind another one. */
function askedBy(base: Session, result: ChatResult): Outcome['questions'] {
  const { pendingQuestion: question, pendingToolCallId: toolCallId } = result
  if (question === undefined || toolCallId === undefined) return []
  return [{ reason: 'ask_user', toolCallId, question }, ...(base.moreQuestions ?? [])]
}

function asksForFinalAnswer({ messages }: Thread): boolean {
  return messages.at(-1)?.metadata?.['structuredFinalize'] === true
}

/** How a run ended. */
interface Outcome {
  readonly haltedReason: HaltedReason
  readonly thread: Thread
  readonly manualToolCalls: readonly ToolCall[]
  /** All questions to the user, in the order of the calls. */
  readonly questions: readonly ToolHalt[]
  readonly error?: ErrorData | undefined
  /** The last answer. */
  readonly response?: ModelResponse | undefined
}

/**
 * The session after a run that ended.
 *
 * Calls for the caller go before questions for the user: their results have to follow the assistant's message.
 */
function settled(base: Session, outcome: Outcome, run: RunProgress): Session {
  const { haltedReason, thread, manualToolCalls, questions, error, response } = outcome
  const [question, ...more] = questions
  const rest = { ...cleared(base), thread }
  const suspended = restingRun(run.mode)
  const asking = {
    pendingQuestion: question?.question,
    pendingToolCallId: question?.toolCallId,
    moreQuestions: more.length === 0 ? undefined : more,
  }
  if (manualToolCalls.length > 0) {
    const pendingToolCalls = manualToolCalls
    return defined<Session>({
      ...rest,
      status: 'awaiting_tools',
      ...asking,
      pendingToolCalls,
      run: suspended,
    })
  }
  if (question !== undefined) {
    return defined<Session>({ ...rest, status: 'awaiting_user', ...asking, run: suspended })
  }
  if (haltedReason === 'tool_error' && error !== undefined) {
    return defined<Session>({ ...rest, status: 'error', error, run: suspended })
  }
  if (haltedReason === 'error' && error !== undefined) {
    return defined<Session>({ ...rest, status: 'error', error, run: failedRun(run.mode, response) })
  }
  return { ...rest, status: 'completed' }
}

/** What a resumed run needs to know beside the thread. */
function progress(base: Session, state: Collector): RunProgress {
  const mode = base.run?.mode ?? 'auto'
  const turns = (base.run?.turns ?? 0) + state.answers
  if (!state.active) return { mode, turns, phase: 'between', started: [], halts: [] }
  if (state.end === undefined) return { mode, turns, phase: 'model', started: [], halts: [] }
  const { started, halts, results } = state
  // The answer is complete: an error after it is not how the answer ended.
  const answer = answerFacts(toResponse({ ...state, error: undefined }))
  return defined<RunProgress>({
    mode,
    turns,
    phase: 'tools',
    answer,
    silent: partialMessages(state).length === 0 ? true : undefined,
    started,
    halts,
    results: results.length === 0 ? undefined : results,
  })
}

/** A run between two steps: it keeps its mode, and its turns are counted from zero. */
export function restingRun(mode: RunProgress['mode']): RunProgress {
  return { mode, turns: 0, phase: 'between', started: [], halts: [] }
}

/** A run whose last answer is not usable: the model is asked again. An empty answer is not in the thread. */
export function failedRun(
  mode: RunProgress['mode'],
  response: ModelResponse | undefined,
): RunProgress {
  const run = restingRun(mode)
  if (response === undefined) return run
  const { content, toolCalls } = response.message
  if (content.length === 0 && toolCalls === undefined) return run
  return { ...run, phase: 'model', answer: answerFacts(response) }
}

/** Whether an error happened in a call and belongs into the session. Any other error is a mistake of the caller. */
export function isFailure(error: unknown): error is AllmError {
  return isAllmError(error) && (error.kind === 'adapter' || error.kind === 'stream')
}

/** The fields of a response that a session keeps beside the message. */
function answerFacts(response: ModelResponse): AnswerFacts {
  const { message: _message, outputText: _text, toolCalls: _calls, ...facts } = response
  return facts
}

/** A session without the leftovers of an earlier run. */
export function cleared(session: Session): Session {
  const {
    pendingQuestion: _question,
    pendingToolCallId: _call,
    moreQuestions: _more,
    error: _error,
    run: _run,
    ...rest
  } = session
  return { ...rest, pendingToolCalls: [] }
}

/**
 * The state of a run that was cut, as far as the session kept it.
 *
 * A partial answer is dropped, and the model is asked again. Tools that were running go on: their results are kept, and the
 * marked messages in place of results are dropped.
 */
export function restore(session: Session): Collector {
  const { run, thread } = session
  const { messages } = thread
  if (run?.silent === true && run.answer !== undefined) {
    return { ...createCollector(thread), ...underWay(run.answer, silence) }
  }
  const at = messages.findLastIndex((message) => message.role === 'assistant')
  const last = messages[at]
  if (run === undefined || last === undefined || at < lastInput(messages)) {
    return createCollector(thread)
  }
  const failed = last.metadata?.['partial'] === true || run.answer !== undefined
  if (run.phase === 'model' && failed) {
    return createCollector({ ...thread, messages: messages.slice(0, at) })
  }
  if (run.phase !== 'tools' || run.answer === undefined) return createCollector(thread)
  return {
    ...createCollector({ ...thread, messages: messages.slice(0, at) }),
    ...underWay(run.answer, last),
    started: run.started,
    halts: run.halts,
    results: run.results ?? [],
    toolMessages: messages.slice(at + 1).filter((message) => !isMark(message)),
  }
}

/** The caller's last message: nothing before it is still under way. */
function lastInput(messages: readonly Message[]): number {
  return messages.findLastIndex(({ role }) => role === 'user' || role === 'system')
}

/** An empty answer. */
const silence: Message = { role: 'assistant', content: '' }

/** The state of a step whose answer is complete. */
function underWay(answer: AnswerFacts, message: Message): Partial<Collector> {
  const { requestId, provider, id, model, usage } = answer
  const { finishReason, rawFinishReason, metadata } = answer
  const end = defined<MessageEnd>({ message, finishReason, rawFinishReason, metadata })
  return { active: true, requestId, provider, id, model, usage, end }
}

/** Whether a tool message marks a result that may still come. A call that the provider cut has none. */
function isMark({ metadata }: Message): boolean {
  const reason = metadata?.['reason']
  return (
    metadata?.['interrupted'] === true &&
    (reason === 'interrupted' || reason === 'cancelled' || reason === 'error')
  )
}
