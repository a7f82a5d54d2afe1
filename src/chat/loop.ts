import { emitTelemetry, isObserved, span, type Span } from '../core/telemetry.ts'
import { isAllmError, StreamError } from '../errors/errors.ts'
import { interruptedMessage, questionMessage } from '../make/tool-messages.ts'
import {
  applyEvent,
  foldEvent,
  inCallOrder,
  isDone,
  partialMessages,
  runsTools,
  stepError,
  toResponse,
  toStepResult,
  totalUsage,
} from '../run/collector.ts'
import { optionOf } from '../run/context.ts'
import { checkRequest, modelCall } from '../run/model-call.ts'
import type { BatchSource } from '../run/run-stream.ts'
import { toolBatches } from '../tools/batch.ts'
import { answerStored } from '../tools/results.ts'
import type { Batch, StreamEvent } from '../types/events.ts'
import { defined } from '../types/guards.ts'
import { appendMessages, type ToolCall } from '../types/message.ts'
import type { ModelResponse } from '../types/response.ts'
import type { ChatResult, HaltedReason } from '../types/results.ts'
import { finalizeMessage, isFinalizing, turnRequest, turnTools, type LoopState } from './prepare.ts'

/**
 * The loop as a source of batches: one step, or with kind `chat` steps until one of them halts, then `chat_completed`.
 *
 * A failure before the run's first event rejects. A later failure is emitted as the last event, and what was received stays
 * in the fold. Leaving closes whatever is being read, also while a `next()` is pending.
 */
export function loopSource(loop: LoopState): BatchSource {
  const batches = runLoop(loop)
  return {
    next: () => batches.next(),
    async return() {
      loop.left = true
      // A generator handles `return` only after its pending read, and closing what it reads ends that read.
      await loop.source?.return()
      return batches.return()
    },
  }
}

/**
 * Ask the model, run the tools it called, decide whether to go on.
 *
 *     until halted:
 *       answer  = one model call            (events are folded as they pass)
 *       results = the calls of the answer   (checked, run side by side)
 *       halted  = why the loop ends here, if it does
 */
async function* runLoop(loop: LoopState): AsyncGenerator<Batch, void> {
  const { state } = loop
  const spans = loopSpans(loop)
  let failure: unknown
  try {
    do {
      spans.startStep()
      // A step that was cut goes on where it was: its answer is there already.
      if (!state.active) {
        const model = askModel(loop)
        for (let read = await model.next(); read.done !== true; read = await model.next()) {
          yield read.value
        }
        if (state.error !== undefined) return
      }
      const answer = toResponse(state)
      const { open, known } = sortCalls(loop, answer)
      if (known.length > 0) yield emit(loop, known)
      if (open.length > 0) {
        const tools = runTools(loop, open)
        for (let read = await tools.next(); read.done !== true; read = await tools.next()) {
          yield emit(loop, read.value)
        }
        throwIfStopped(loop)
      }
      const step = completedStep(loop, answer)
      const batch = closeStep(
        loop,
        step,
        loop.kind === 'chat' ? await haltedAfter(loop, step) : undefined,
      )
      spans.endStep(step)
      yield batch
    } while (loop.kind === 'chat' && loop.haltedReason === undefined)
    if (loop.haltedReason !== undefined) {
      yield emit(loop, [{ type: 'chat_completed', result: chatResult(loop, loop.haltedReason) }])
    }
  } catch (error) {
    await loop.source?.return()
    if (state.count === 0 || !isAllmError(error)) {
      failure = error
      throw error
    }
    yield emit(loop, [{ type: 'error', error: error.toJSON() }])
  } finally {
    spans.end(failure)
  }
}

/** Folds events of the loop and its tools, and shows them to the caller's observer. */
function emit(loop: LoopState, batch: Batch): Batch {
  const observer = optionOf(loop.context, 'onEvent')
  for (const event of batch) {
    foldEvent(loop.state, event)
    observer?.(event)
  }
  return batch
}

/** The next model call. It folds its own events. */
function askModel(loop: LoopState): BatchSource {
  const request = turnRequest(loop)
  // Later requests consist of parts that were checked or made here.
  if (loop.turns === 0) checkRequest(loop.context, request)
  loop.turns++
  loop.source = modelCall(loop.context, request, loop.state)
  return loop.source
}

/** The handlers of calls, side by side. */
function runTools(loop: LoopState, calls: readonly ToolCall[]): BatchSource {
  loop.source = toolBatches(calls, turnTools(loop))
  return loop.source
}

/** A run that was stopped while handlers ran has no complete step, whatever the handlers returned. */
function throwIfStopped({ context, left }: LoopState): void {
  const { signal } = context.call
  if (!left && signal?.aborted !== true) return
  throw new StreamError('cancelled', 'the run was cancelled', { cause: signal?.reason })
}

/** The calls of an answer that the loop has to answer and that have no answer yet. */
interface SortedCalls {
  /** To be run now. */
  readonly open: readonly ToolCall[]
  /** The answers to calls that were started before the run was cut. */
  readonly known: readonly StreamEvent[]
}

/**
 * Sorts the unanswered calls of an answer, except those that the caller has to answer.
 *
 * A call that was started before the run was cut and left no result is run again only if its tool is idempotent. Otherwise
 * it is answered as interrupted, and reported.
 */
function sortCalls(loop: LoopState, response: ModelResponse): SortedCalls {
  const { state, mode } = loop
  const tools = turnTools(loop)
  const open: ToolCall[] = []
  const known: StreamEvent[] = []
  if (mode === 'manual' || !runsTools(response)) return { open, known }
  // In a pass without tools nothing can have run.
  const started = isFinalizing(loop) ? [] : state.started
  const answered = new Set(state.toolMessages.map(({ toolCallId }) => toolCallId))
  for (const call of response.toolCalls) {
    const tool = tools.tools.get(call.name)
    if (answered.has(call.id) || tool?.manual === true) continue
    const stored = state.results.find(({ toolCallId }) => toolCallId === call.id)
    if (stored !== undefined) known.push(answerStored(call, stored, tools))
    else if (started.includes(call.id) && tool?.idempotent !== true) {
      known.push(interrupted(loop, call))
    } else open.push(call)
  }
  return { open, known }
}

function interrupted({ context }: LoopState, call: ToolCall): StreamEvent {
  const { requestId, sessionId, engine } = context
  if (isObserved()) {
    const at = engine.clock.now()
    const facts = { requestId, sessionId, toolName: call.name, toolCallId: call.id }
    emitTelemetry({ name: 'tool.interrupted', at, ...facts })
  }
  const { content } = interruptedMessage(call.id, 'interrupted')
  const text = typeof content === 'string' ? content : ''
  return { type: 'tool_result_encoded', id: call.id, content: text, interrupted: 'interrupted' }
}

/** The event that ends a step. */
type StepCompleted = Extract<StreamEvent, { type: 'step_completed' }>

/** The end of a step: the messages it added to the thread, and the calls that the caller has to answer. */
function completedStep(loop: LoopState, answer: ModelResponse): StepCompleted {
  const { state } = loop
  const manual = manualCalls(loop, answer)
  return defined<StepCompleted>({
    type: 'step_completed',
    response: answer,
    newMessages: partialMessages(state, new Set(manual.map(({ id }) => id))),
    manualToolCalls: manual,
    mode: loop.mode,
    // Of several halts, the one whose call comes first.
    halt: inCallOrder(state.halts, answer)[0],
  })
}

/** The calls that the caller has to answer: all of them in manual mode, else those of manual tools. */
function manualCalls(loop: LoopState, response: ModelResponse): readonly ToolCall[] {
  if (!runsTools(response)) return []
  if (loop.mode === 'manual') return response.toolCalls
  const { tools } = turnTools(loop)
  return response.toolCalls.filter(({ name }) => tools.get(name)?.manual === true)
}

/**
 * Why the loop ends after a step, or `undefined` when it goes on. The first that applies: a tool's halt (a question, an
 * error, a reason of its own), calls that the caller has to answer, an answer that asks for nothing more, `haltWhen`, `maxTurns`.
 */
async function haltedAfter(
  loop: LoopState,
  step: StepCompleted,
): Promise<HaltedReason | undefined> {
  if (step.halt !== undefined) return step.halt.reason
  if (step.manualToolCalls.length > 0) return 'manual_tool_calls'
  if (isDone(step)) return step.response.finishReason === 'error' ? 'error' : 'completed'
  const haltWhen = optionOf(loop.context, 'haltWhen')
  if (haltWhen !== undefined && (await haltWhen(toStepResult(applyEvent(loop.state, step))))) {
    return 'halt_when'
  }
  return loop.turns >= loop.maxTurns ? 'max_turns' : undefined
}

/** The reasons after which `structuredFinalize` asks for the final answer. */
const finalizable: ReadonlySet<string> = new Set(['completed', 'max_turns', 'halt_when'])

/** Ends a step, and with a reason the loop. */
function closeStep(loop: LoopState, step: StepCompleted, reason: HaltedReason | undefined): Batch {
  if (reason === undefined) return emit(loop, [step])
  // The request for the final answer is part of this step, so that a run that is cut after it goes on with the answer.
  if (loop.finalize && finalizable.has(reason) && !isFinalizing(loop)) {
    return emit(loop, [{ ...step, newMessages: [...step.newMessages, finalizeMessage] }])
  }
  loop.haltedReason = reason
  return emit(loop, [{ ...step, haltedReason: reason }])
}

/** The result of a loop whose last step halted. A question is added to the thread as an assistant message. */
function chatResult(loop: LoopState, haltedReason: HaltedReason): ChatResult {
  const { state } = loop
  const last = state.steps.at(-1)
  const halt = last?.halt
  const manualToolCalls = last?.manualToolCalls ?? []
  const question = haltedReason === 'ask_user' ? halt?.question : undefined
  const asked = question !== undefined && halt !== undefined && manualToolCalls.length === 0
  return defined<ChatResult>({
    thread: asked
      ? appendMessages(state.thread, questionMessage(question, halt.toolCallId))
      : state.thread,
    finalResponse: last?.response,
    steps: state.steps,
    haltedReason,
    pendingQuestion: question,
    pendingToolCallId: question === undefined ? undefined : halt?.toolCallId,
    manualToolCalls,
    haltResult: halt?.result,
    error: last === undefined ? undefined : stepError(last),
    usage: totalUsage(state),
    metadata: isFinalizing(loop) ? { structuredFinalize: true } : {},
  })
}

/** The spans of a loop. */
interface LoopSpans {
  startStep(): void
  endStep(step: StepCompleted): void
  /** Ends what is open: with the failure, the error that ended the run, or its outcome. */
  end(failure: unknown): void
}

/** A span over the whole run, and in a chat one over each step. */
function loopSpans(loop: LoopState): LoopSpans {
  const { context, state, kind } = loop
  const { requestId, sessionId, engine } = context
  const facts = { requestId, sessionId, provider: engine.adapter?.provider }
  const whole = span(kind, facts, engine.clock)
  let step: Span | undefined
  return {
    startStep() {
      if (kind === 'chat') step = span('step', facts, engine.clock)
    },
    endStep({ response, halt }) {
      const { finishReason, usage } = response
      step?.stop({ finishReason, usage, haltedReason: halt?.reason, content: response })
      step = undefined
    },
    end(failure) {
      const error = failure ?? state.error
      if (error !== undefined) {
        step?.error(error)
        whole.error(error)
        return
      }
      step?.stop({})
      const { haltedReason } = loop
      whole.stop({ haltedReason, usage: totalUsage(state), content: state.result })
    },
  }
}
