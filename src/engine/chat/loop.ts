import { partialMessages, toResponse, type Collector } from '../../core/answer/fold-answer.ts'
import { onAbort } from '../../core/base/abort.ts'
import { frozen, frozenEvents, withFrozenMembers } from '../../core/base/frozen.ts'
import {
  span,
  traceOf,
  type Span,
  type SpanFacts,
  type SpanOutcome,
} from '../../core/base/telemetry.ts'
import type { PrepareStep } from '../../core/contracts/options.ts'
import { isAllmError, StreamError } from '../../core/errors/errors.ts'
import { lateResultOf } from '../../core/messages/tool-messages.ts'
import type { Batch, StreamEvent } from '../../core/types/events.ts'
import { defined } from '../../core/types/guards.ts'
import type { Message, ToolCall } from '../../core/types/message.ts'
import { addUsage, type ModelResponse } from '../../core/types/response.ts'
import type { ChatOutcome, HaltedReason, StepResult } from '../../core/types/results.ts'
import { isDue } from '../calls/decided.ts'
import { hookFailure, optionOf, show, callMetadata } from '../model-call/context.ts'
import {
  applyEvent,
  firstHalt,
  foldEvent,
  haltsOf,
  inCallOrder,
  innerPending,
  isDone,
  recordOf,
  requestedCalls,
  restingReason,
  runsTools,
  stepError,
  stepHalts,
  toStepResult,
  totalUsage,
  turnText,
} from '../model-call/fold.ts'
import { checkRequest, modelCall } from '../model-call/model-call.ts'
import { checkOutput, outputSchema, repairMessage, repairsIn } from '../model-call/output.ts'
import type { BatchSource } from '../model-call/run-stream.ts'
import { isCallersCall } from '../tools/tool-run.ts'
import { settleCalls } from './answer-calls.ts'
import { haltedAfterResults, lateResults } from './late-results.ts'
import {
  applyChanges,
  cancelled,
  decisionOn,
  finalizeMessage,
  handOver,
  isFinalizing,
  nextStep,
  openCalls,
  throwIfStopped,
  turnRequest,
  turnToolsByName,
  waitFor,
  type LoopState,
} from './prepare.ts'
import { waitsOf, withTickets } from './waits.ts'

/**
 * The loop as a source of batches: one step, or with kind `chat` steps until one of them halts, then `chat_completed`.
 *
 * A failure before the run's first event rejects, except a wrong answer that an earlier run received. That and a later failure
 * are emitted as the last event, and what was received stays in the fold. Leaving closes whatever is being read, also while a `next()` is pending.
 */
export function loopSource(loop: LoopState): BatchSource {
  const spans = loopSpans(loop)
  const batches = runLoop(loop, spans)
  const next = (): ReturnType<BatchSource['next']> => batches.next()
  return {
    // Hooks run in the span of the run.
    next: () => spans.run(next),
    async return() {
      // A generator handles `return` only after its pending read, and closing what it reads ends that read.
      loop.stop.abort(new StreamError('cancelled', 'the run was left'))
      await loop.source?.return()
      return batches.return()
    },
  }
}

/** Whether results or decisions of calls of earlier answers wait to be reported, before the model is asked. */
function hasLateResults({ state, hasLate }: LoopState): boolean {
  return !state.active && hasLate
}

/**
 * Ask the model, run the tools it called, decide whether to go on.
 *
 *     until halted:
 *       answer  = one model call            (events are folded as they pass)
 *       results = the calls of the answer   (checked, approved, run side by side)
 *       halted  = why the loop ends here, if it does
 */
async function* runLoop(loop: LoopState, spans: LoopSpans): AsyncGenerator<Batch, void> {
  const { state } = loop
  const { signal } = loop.context.call
  const stop = (): void => loop.stop.abort(signal?.reason)
  if (signal?.aborted === true) stop()
  const unlink = signal && onAbort(signal, stop)
  let failure: unknown
  try {
    while (loop.haltedReason === undefined) {
      spans.startStep()
      if (hasLateResults(loop)) {
        for await (const batch of lateResults(loop)) yield emit(loop, batch)
        handOver(loop, state.thread.messages)
        loop.haltedReason = haltedAfterResults(loop)
        if (loop.haltedReason !== undefined) {
          if (loop.kind === 'step') return
          break
        }
      }
      const prepareStep = optionOf(loop.context, 'prepareStep')
      if (prepareStep !== undefined && mayPrepare(loop)) await prepareTurn(loop, prepareStep)
      // A step that was cut goes on where it was: its answer is there already.
      if (!state.active) {
        const model = askModel(loop)
        for (let read = await model.next(); read.done !== true; read = await model.next()) {
          yield read.value
        }
        if (state.error !== undefined) return
      }
      const answer = toResponse(state)
      if (runsTools(answer)) {
        const settled = settleCalls(loop, answer)
        const { known, run, told } = settled instanceof Promise ? await settled : settled
        if (known.length > 0) {
          yield emit(loop, told(known))
          throwIfStopped(loop)
        }
        if (run !== undefined) {
          const calls = (loop.source = run())
          for (let read = await calls.next(); read.done !== true; read = await calls.next()) {
            yield emit(loop, told(read.value))
            if (state.error !== undefined) break
          }
          throwIfStopped(loop)
        }
      }
      const step = withFrozenMembers(completedStep(loop, answer))
      const halted = restsAfter(loop, step) ?? limitAfter(loop, step)
      const reason = halted instanceof Promise ? await halted : halted
      const repair =
        reason === 'completed' ? await waitFor(loop, checkedAnswer(loop, step)) : undefined
      const closed = withFrozenMembers(closedStep(loop, step, reason, repair))
      const onStep = optionOf(loop.context, 'onStep')
      // If it fails, the step has not ended: a run that is resumed goes on with it and calls the hook again.
      if (onStep !== undefined) {
        await callHook(loop, 'onStep', () => onStep(resultAfter(loop, closed)))
      }
      const { newMessages } = closed
      const batch = endStep(loop, closed)
      spans.endStep(step)
      yield batch
      // `endStep` emitted `chat_completed` when the step halted, and the observer may have failed.
      if (loop.kind === 'step' || state.error !== undefined || state.result !== undefined) return
      // From here on another engine may answer.
      handOver(loop, newMessages)
    }
    // The loop ends between two steps.
    yield emitEnd(loop, [{ type: 'chat_completed', result: chatResult(loop, loop.haltedReason) }])
  } catch (thrown) {
    await loop.source?.return()
    // An observer failed, and the stream has said so.
    if (state.error !== undefined) return
    const error = loop.stop.signal.aborted ? cancelled(loop, thrown) : thrown
    // What another call of the answer still waits for is of no use any more.
    loop.stop.abort(error)
    if (!isAllmError(error) || (state.count === 0 && error.reason !== 'invalid_output')) {
      failure = error
      throw error
    }
    yield emit(loop, [{ type: 'error', error: error.toJSON() }])
  } finally {
    unlink?.()
    spans.end(failure)
  }
}

/**
 * Folds events of the loop and its tools, and shows them to the caller's observer. If that throws, an `error` ends the run: what has
 * happened stays.
 */
function emit(loop: LoopState, given: Batch): Batch {
  const { context, state } = loop
  const batch = frozenEvents(withTickets(loop, given))
  let failure: StreamError | undefined
  for (const event of batch) {
    foldEvent(state, event)
    failure ??= show(optionOf(context, 'onEvent'), event)
  }
  if (failure === undefined || state.error !== undefined) return batch
  return [...batch, failed(state, failure)]
}

/**
 * Shows the events that end a step or the run to the caller's observer, and folds them. If that throws, an `error` takes their place:
 * nothing has ended, and a run that is resumed shows them again.
 */
function emitEnd({ context, state }: LoopState, given: Batch): Batch {
  const batch = frozenEvents(given)
  for (const event of batch) {
    const failure = show(optionOf(context, 'onEvent'), event)
    if (failure !== undefined) return [failed(state, failure)]
  }
  for (const event of batch) foldEvent(state, event)
  return batch
}

/** Folds the error of an observer, and returns its event. */
function failed(state: Collector, failure: StreamError): StreamEvent {
  const event = { type: 'error', error: failure.toJSON() } as const
  foldEvent(state, event)
  return event
}

/** Calls a hook of the caller, and waits for it unless the run is stopped or left. What it throws ends the run, which keeps what it has. */
async function callHook<T>(
  loop: LoopState,
  name: string,
  hook: () => T | Promise<T>,
): Promise<Awaited<T>> {
  try {
    return await waitFor(loop, Promise.resolve(hook()))
  } catch (thrown) {
    throw hookFailure(name, thrown)
  }
}

/** Asks `prepareStep` about the next step. */
async function prepareTurn(loop: LoopState, prepareStep: PrepareStep): Promise<void> {
  applyChanges(loop, await callHook(loop, 'prepareStep', () => prepareStep(nextStep(loop))))
}

/**
 * Whether `prepareStep` is asked: before a model call, and about a step that was cut if it may say which of its calls run. Calls that
 * somebody decided about were offered to the model.
 */
function mayPrepare(loop: LoopState): boolean {
  const { state, tools } = loop
  if (!state.active) return true
  return openCalls(loop, toResponse(state)).some(
    (call) => !tools.tools.has(call.name) || decisionOn(loop, call) === undefined,
  )
}

/** The next model call. It folds its own events. */
function askModel(loop: LoopState): BatchSource {
  const request = turnRequest(loop)
  // Later requests consist of parts that were checked or made here.
  if (!loop.isChecked || loop.changes !== undefined) checkRequest(loop.context, request)
  loop.isChecked = true
  loop.turns++
  loop.source = modelCall(loop.context, request, loop.state, loop.attempts)
  loop.attempts = 0
  return loop.source
}

/** The event that ends a step. */
type StepCompleted = Extract<StreamEvent, { type: 'step_completed' }>

/** The end of a step: the messages it added to the thread, and the calls that somebody has to settle. */
function completedStep(loop: LoopState, answer: ModelResponse): StepCompleted {
  const { state } = loop
  const inner = innerPending(state)
  const manual = manualCalls(loop, answer)
  const waiting = [...manual, ...requestedCalls(state)].map(({ id }) => id)
  const open = new Set([...waiting, ...inner.waiting])
  const isFirst = state.steps.length === 0
  const halt = firstHalt(inCallOrder([...stepHalts(state), ...inner.halts], answer))
  // The answer to a question replaces its placeholder, so nothing may follow that yet.
  const isSettled = open.size === 0 && halt?.reason !== 'ask_user'
  const late = isFirst && isSettled ? loop.late : []
  return defined<StepCompleted>({
    type: 'step_completed',
    response: answer,
    newMessages: [...partialMessages(state, open), ...late],
    manualToolCalls: [...manual, ...inner.manual],
    at: manual.length === 0 ? undefined : loop.context.engine.clock.now(),
    mode: loop.mode,
    continues: loop.continued && isFirst ? true : undefined,
    halt,
  })
}

/** The calls that the caller has to answer: all of them in manual mode, else those of manual tools. */
function manualCalls(loop: LoopState, response: ModelResponse): readonly ToolCall[] {
  if (!runsTools(response)) return []
  const tools = turnToolsByName(loop)
  return openCalls(loop, response).flatMap((call) => {
    const isAsked = recordOf(loop.state, call.id)?.state === 'awaiting_approval'
    const isLeft = loop.mode === 'manual' || isCallersCall(tools.get(call.name), call)
    return isLeft && !isAsked ? (decisionOn(loop, call)?.call ?? call) : []
  })
}

/**
 * Why no model call follows a step, or `undefined` when one does. The first that applies: a question, an approval, calls that the
 * caller has to answer, a tool's halt (an error, a reason of its own), an answer that asks for nothing more.
 */
function restsAfter(loop: LoopState, step: StepCompleted): HaltedReason | undefined {
  const { halt } = step
  if (halt?.reason === 'ask_user' || halt?.reason === 'approval') return halt.reason
  if (step.manualToolCalls.length > 0) return 'manual_tool_calls'
  if (halt !== undefined) return halt.reason
  return isDone(step) && !tellsMore(loop, step) ? restingReason(step.response) : undefined
}

/** Why a loop ends after a step that a model call would follow: `haltWhen` or `maxTurns`. */
function limitAfter(
  loop: LoopState,
  step: StepCompleted,
): HaltedReason | undefined | Promise<HaltedReason | undefined> {
  if (loop.kind === 'step') return undefined
  const haltWhen = optionOf(loop.context, 'haltWhen')
  const limit = loop.turns >= loop.maxTurns ? 'max_turns' : undefined
  if (haltWhen === undefined) return limit
  const halting = callHook(loop, 'haltWhen', () => {
    const after = applyEvent(loop.state, step)
    const { steps, innerAnswers = [], told = {} } = after
    const own = steps.map(({ response }) => response)
    // The answer that a run goes on with was counted before.
    if (loop.continued && Object.keys(own[0]?.usage ?? {}).length === 0) own.shift()
    const usage = addUsage(told, totalUsage(after))
    return haltWhen(toStepResult(after), { usage, answers: [...own, ...frozen(innerAnswers)] })
  })
  return halting.then((halts) => (halts ? 'halt_when' : limit))
}

/** Whether late results follow an answer that needs nothing else: the model has not read them. */
function tellsMore({ state }: LoopState, { response, newMessages }: StepCompleted): boolean {
  return (
    restingReason(response) === 'completed' &&
    (lateResultOf(newMessages.at(-1) ?? {}) !== undefined ||
      state.earlier.some((call) => isDue(call)))
  )
}

/** The result of a step that has not ended yet. It is built only for hooks, because that copies the thread. */
function resultAfter({ state }: LoopState, step: StepCompleted): StepResult {
  return toStepResult(applyEvent(state, step))
}

/**
 * Validates the answer that ends the loop, if there is a schema for it. A wrong answer throws, unless the model may be told
 * what is wrong, which `haltWhen` is asked about: then returns the message that does so.
 */
async function checkedAnswer(loop: LoopState, step: StepCompleted): Promise<Message | undefined> {
  const { response: answer } = step
  const schema = outputSchema(loop.format)
  const finalizing = isFinalizing(loop)
  if (schema === undefined || (loop.finalize && !finalizing)) return undefined
  const outputText = turnText(loop.state, answer)
  const checked = await checkOutput(schema, { ...answer, outputText })
  if (checked.error === undefined) {
    loop.output = checked
    return undefined
  }
  const repairs = optionOf(loop.context, 'repair') ?? 0
  const spent = repairsIn(loop.state.thread.messages)
  // A repair may exceed `maxTurns`, which `limitAfter` reports too: only `haltWhen` prevents it.
  if (!checked.repairable || spent >= repairs || (await limitAfter(loop, step)) === 'halt_when') {
    throw checked.error
  }
  return repairMessage(checked.error, finalizing ? finalizeMessage.metadata : undefined)
}

/** The reasons after which `structuredFinalize` asks for the final answer. */
const finalizable: ReadonlySet<string> = new Set(['completed', 'max_turns', 'halt_when'])

/** The end of a step, with why the loop ends here, or with the message that asks the model again. */
function closedStep(
  loop: LoopState,
  step: StepCompleted,
  reason: HaltedReason | undefined,
  repair: Message | undefined,
): StepCompleted {
  if (reason === undefined) return step
  const finalizes = loop.finalize && finalizable.has(reason) && !isFinalizing(loop)
  const again = repair ?? (finalizes ? finalizeMessage : undefined)
  // What asks the model again is part of this step, so that a run that is cut after it goes on with the answer.
  return again === undefined
    ? { ...step, haltedReason: reason }
    : { ...step, newMessages: [...step.newMessages, again] }
}

/** Ends a step, and with it the loop if the step says why. */
function endStep(loop: LoopState, step: StepCompleted): Batch {
  const { kind, state } = loop
  const { haltedReason } = step
  loop.haltedReason = haltedReason
  if (kind === 'step' || haltedReason === undefined) return emitEnd(loop, [step])
  const result = chatResult({ ...loop, state: applyEvent(state, step) }, haltedReason)
  return emitEnd(loop, [step, { type: 'chat_completed', result }])
}

/** The result of a loop whose last step halted. */
function chatResult(loop: LoopState, haltedReason: HaltedReason): ChatOutcome {
  const { state } = loop
  const last = state.steps.at(-1)
  // Between two steps, those of late calls.
  const halts = haltsOf(state.earlier)
  const late = firstHalt(halts)
  const inner = innerPending(state)
  const waits = [...stepHalts(state), ...halts, ...inner.halts]
  const [asked] = inCallOrder(
    waits.filter(({ reason }) => reason === 'ask_user'),
    last?.response ?? { toolCalls: [] },
  )
  // Those of agents are in its step, too. Late calls have none.
  const manual = last?.manualToolCalls ?? inner.manual
  const approvals = requestedCalls(state)
  const pendingApprovals = [...approvals, ...inner.approvals]
  return defined<ChatOutcome>({
    outputText: turnText(state, last?.response),
    output: loop.output?.plain,
    finalResponse: last?.response,
    steps: state.steps,
    haltedReason,
    pendingQuestion: asked?.question,
    pendingToolCallId: asked?.toolCallId,
    pendingQuestionOptions: asked?.options,
    pendingApprovals,
    manualToolCalls: manual,
    pending: waitsOf(loop, { halts: waits, approvals, manual }),
    haltResult: (late ?? last?.halt)?.result,
    error: late === undefined && last !== undefined ? stepError(last) : late?.error,
    usage: totalUsage(state),
    innerAnswers: state.innerAnswers,
    metadata: isFinalizing(loop) ? { structuredFinalize: true } : {},
  })
}

/** The spans of a loop. */
interface LoopSpans {
  /** Does a piece of the run's work in its span, which starts with the first. */
  run<T>(work: () => T): T
  startStep(): void
  endStep(step: StepCompleted): void
  /** Ends what is open: with the failure, the error that ended the run, or its outcome. */
  end(failure: unknown): void
}

/** A span over the whole run, and in a chat one over each step. */
function loopSpans(loop: LoopState): LoopSpans {
  const { entry, state, kind } = loop
  const { requestId, sessionId, engine, trace } = entry
  // The engine that answers may change from step to step.
  const facts = (): SpanFacts => ({
    requestId,
    sessionId,
    agent: loop.context.engine.name,
    provider: loop.context.engine.adapter?.provider,
    model: loop.context.call.model ?? loop.context.engine.model,
    metadata: callMetadata(loop.context),
  })
  let whole: Span | undefined
  const begin = (): Span => {
    const { messages } = state.thread
    const own = span(kind, engine, trace.parent, () => ({
      ...facts(),
      resumes: loop.traced,
      content: { messages },
    }))
    loop.traced ??= traceOf(own.id)
    enter(own)
    return own
  }
  /** What follows is part of the span. */
  const enter = (own: Span): void => {
    loop.span = own
    trace.parent = own.id ?? trace.parent
  }
  return {
    run(work) {
      whole ??= begin()
      return whole.run(work)
    },
    startStep() {
      if (kind === 'chat') enter(span('step', engine, whole?.id, facts))
    },
    endStep({ response, halt }) {
      if (kind === 'step' || whole === undefined) return
      const { finishReason, usage, provider } = response
      const haltedReason = halt?.reason
      loop.span.stop({ finishReason, usage, provider, haltedReason, content: response })
      enter(whole)
    },
    end(failure) {
      if (whole?.id === undefined) return
      const error = failure ?? state.error
      const finish = (own: Span, outcome: SpanOutcome): void =>
        error === undefined ? own.stop(outcome) : own.error(error, outcome)
      const isOver = state.result !== undefined || (kind === 'step' && state.steps.length > 0)
      const haltedReason = loop.haltedReason ?? (isOver || error ? undefined : 'cancelled')
      const usage = state.active ? state.usage : undefined
      if (loop.span !== whole) finish(loop.span, { haltedReason, usage })
      finish(whole, { haltedReason, usage: totalUsage(state), content: state.result })
    },
  }
}
