import {
  finalizeMessage,
  isFinalizing,
  say,
  sayAll,
  turnRequest,
  turnTools,
  type Loop,
} from './prepare.ts'
import type { CallOptions } from '../contracts/options.ts'
import { emitTelemetry, isObserved, span, type Span, type SpanOutcome } from '../core/telemetry.ts'
import { isAllmError, StreamError } from '../errors/errors.ts'
import { interruptedMessage, questionMessage } from '../make/tool-messages.ts'
import {
  applyEvent,
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
import { checkRequest, startCall } from '../run/model-call.ts'
import type { BatchSource } from '../run/run-stream.ts'
import { toolBatches } from '../tools/batch.ts'
import { answerStored } from '../tools/results.ts'
import type { Batch, StreamEvent } from '../types/events.ts'
import { assertNever, defined } from '../types/guards.ts'
import { appendMessages, type ToolCall } from '../types/message.ts'
import type { ModelResponse } from '../types/response.ts'
import type { ChatResult, HaltedReason } from '../types/results.ts'

type Read = IteratorResult<Batch, void>

const over: Read = { done: true, value: undefined }

/**
 * A loop as a source of batches: one step, or with `chat` steps until one of them halts, and then `chat_completed`.
 *
 * What fails before the run's first event throws; what fails later is the last event, and what was received stays in the fold.
 * Leaving closes whatever is read just then, also while a `next()` waits for it.
 */
function loopSource(loop: Loop, kind: Place['kind']): BatchSource {
  const place: Place = {
    loop,
    kind,
    stage: 'start',
    source: undefined,
    answer: toResponse(loop.state),
    left: false,
  }
  let reading: Promise<Read> | undefined
  return {
    next: () => {
      reading = read(place)
      return reading
    },
    return: async () => {
      place.left = true
      await place.source?.return()
      await reading?.catch(() => undefined)
      place.stage = 'over'
      place.source = undefined
      return over
    },
  }
}

/** Reads on from where the loop is. It is one function for all stages, so that a batch does not cost promises for each layer. */
async function read(place: Place): Promise<Read> {
  const { loop } = place
  try {
    while (place.stage !== 'over') {
      if (place.source !== undefined) {
        const result = await place.source.next()
        if (result.done !== true) {
          // A model call folds its events by itself.
          if (place.stage === 'tools') sayAll(loop, result.value)
          return result
        }
        place.source = undefined
      }
      const said = proceed(place)
      const value = said instanceof Promise ? await said : said
      if (value !== undefined) return { done: false, value }
    }
    return over
  } catch (error) {
    place.stage = 'over'
    await place.source?.return()
    if (loop.state.count === 0 || !isAllmError(error)) throw error
    return { done: false, value: say(loop, { type: 'error', error: error.toJSON() }) }
  }
}

/** Where a loop is. */
export interface Place {
  readonly loop: Loop
  /** One step, or all of them. */
  readonly kind: 'step' | 'chat'
  /** How far the step has come: `tools` are run, `answered` is every call that is ours to answer, `halted` was the last step. */
  stage: 'start' | 'model' | 'tools' | 'answered' | 'halted' | 'over'
  /** What is read now: a model call, or a batch of tools. */
  source: BatchSource | undefined
  /** The answer of the step, once its tools are begun. */
  answer: ModelResponse
  /** Nobody wants to hear more. */
  left: boolean
}

/**
 * Goes on from where nothing is left to read: begins what comes next, and gives what the loop itself has to say.
 *
 * `undefined` when it has nothing to say by itself; then there is something to read, or the loop is over.
 */
function proceed(place: Place): Batch | undefined | Promise<Batch> {
  const { loop, stage } = place
  const { state } = loop
  switch (stage) {
    case 'start':
      // A step that was cut is taken up where it was.
      return state.active ? beginTools(place) : beginModel(place)
    case 'model':
      if (state.error === undefined) return beginTools(place)
      place.stage = 'over'
      return undefined
    case 'tools':
      refuseCut(place)
      return endStep(place)
    case 'answered':
      return endStep(place)
    case 'halted':
      return endChat(place)
    case 'over':
      return undefined
    default:
      return assertNever(stage)
  }
}

function beginModel(place: Place): undefined {
  const { loop } = place
  const request = turnRequest(loop)
  // Later requests are made of parts that were checked or made here.
  if (loop.turns === 0) checkRequest(loop.scene, request)
  loop.turns++
  place.source = startCall(loop.scene, request, loop.state)
  place.stage = 'model'
}

/** Whatever the handlers made of it, a run that was stopped while they ran has no whole step. */
function refuseCut({ loop, left }: Place): void {
  const { signal } = loop.scene.call
  if (!left && signal?.aborted !== true) return
  throw new StreamError('cancelled', 'the run was cancelled', { cause: signal?.reason })
}

function endChat(place: Place): Batch | undefined {
  const { loop } = place
  place.stage = 'over'
  if (loop.haltedReason === undefined) return undefined
  return say(loop, { type: 'chat_completed', result: chatResult(loop, loop.haltedReason) })
}

/** Begins to answer the calls of an answer that is there. Gives the answers that are known already, if there are any. */
function beginTools(place: Place): Batch | undefined {
  const { loop } = place
  const answer = toResponse(loop.state)
  const { open, known } = sortCalls(loop, answer)
  place.answer = answer
  place.stage = open.length > 0 ? 'tools' : 'answered'
  if (open.length > 0) place.source = toolBatches(open, turnTools(loop))
  return known.length > 0 ? sayAll(loop, known) : undefined
}

/** The calls of an answer that are ours to answer and have no answer yet. */
interface SortedCalls {
  /** To be run now. */
  readonly open: readonly ToolCall[]
  /** The answers to what was begun in an earlier life of the run. */
  readonly known: readonly StreamEvent[]
}

/**
 * Sorts the calls of an answer that are not answered yet, save those that are the caller's.
 *
 * A call that was started in an earlier life of the run and left no result is run again only if its tool is idempotent; else
 * it is answered as interrupted, and reported.
 */
function sortCalls(loop: Loop, response: ModelResponse): SortedCalls {
  const { state, mode } = loop
  const tools = turnTools(loop)
  const open: ToolCall[] = []
  const known: StreamEvent[] = []
  if (mode === 'manual' || !runsTools(response)) return { open, known }
  // In a pass without tools nothing can have run.
  const begun = isFinalizing(loop) ? [] : state.started
  const answered = new Set(state.toolMessages.map(({ toolCallId }) => toolCallId))
  for (const call of response.toolCalls) {
    const tool = tools.tools.get(call.name)
    if (answered.has(call.id) || tool?.manual === true) continue
    const stored = state.results.find(({ toolCallId }) => toolCallId === call.id)
    if (stored !== undefined) known.push(answerStored(call, stored, tools))
    else if (begun.includes(call.id) && tool?.idempotent !== true) {
      known.push(interrupted(loop, call))
    } else open.push(call)
  }
  return { open, known }
}

/** The calls of an answer that the caller has to answer: all of them in manual mode, else those of manual tools. */
function manualCalls(loop: Loop, response: ModelResponse): readonly ToolCall[] {
  if (!runsTools(response)) return []
  if (loop.mode === 'manual') return response.toolCalls
  const { tools } = turnTools(loop)
  return response.toolCalls.filter(({ name }) => tools.get(name)?.manual === true)
}

function interrupted({ scene }: Loop, call: ToolCall): StreamEvent {
  const { requestId, sessionId, engine } = scene
  if (isObserved()) {
    const at = engine.clock.now()
    const facts = { requestId, sessionId, toolName: call.name, toolCallId: call.id }
    emitTelemetry({ name: 'tool.interrupted', at, ...facts })
  }
  const { content } = interruptedMessage(call.id, 'interrupted')
  const text = typeof content === 'string' ? content : ''
  return { type: 'tool_result_encoded', id: call.id, content: text, interrupted: 'interrupted' }
}

/** Ends a step and decides what comes after it. A promise only where the caller's `haltWhen` is asked. */
function endStep(place: Place): Batch | Promise<Batch> {
  const { loop, kind } = place
  const step = completedStep(place)
  const end = (reason: HaltedReason | undefined): Batch => {
    const batch = closeStep(loop, step, reason)
    if (kind === 'step') place.stage = 'over'
    else place.stage = loop.haltedReason === undefined ? 'start' : 'halted'
    return batch
  }
  const reason = kind === 'step' ? undefined : haltedAfter(loop, step)
  return reason instanceof Promise ? reason.then(end) : end(reason)
}

/** The reasons after which `structuredFinalize` asks for its answer. */
const finalizable: ReadonlySet<string> = new Set(['completed', 'max_turns', 'halt_when'])

/** The end of a step: what it added to the thread, and who has to answer what is open. */
function completedStep({ loop, answer }: Place): StepCompleted {
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

/** Ends a step, and with a reason the loop. */
function closeStep(loop: Loop, step: StepCompleted, reason: HaltedReason | undefined): Batch {
  if (reason === undefined) return say(loop, step)
  // The request for the final answer belongs to this step, so that a run cut after it goes on with the answer.
  if (loop.finalize && finalizable.has(reason) && !isFinalizing(loop)) {
    return say(loop, { ...step, newMessages: [...step.newMessages, finalizeMessage] })
  }
  loop.haltedReason = reason
  return say(loop, { ...step, haltedReason: reason })
}

/** The event that ends a step. */
type StepCompleted = Extract<StreamEvent, { type: 'step_completed' }>

/**
 * Why the loop ends after a step, or `undefined` when it goes on. The first that holds counts: what a tool said (a
 * question, an error, a halt), calls that the caller has to answer, an answer that asks for nothing more, `haltWhen`, `maxTurns`.
 */
function haltedAfter(
  loop: Loop,
  step: StepCompleted,
): HaltedReason | undefined | Promise<HaltedReason | undefined> {
  if (step.halt !== undefined) return step.halt.reason
  if (step.manualToolCalls.length > 0) return 'manual_tool_calls'
  if (isDone(step)) return step.response.finishReason === 'error' ? 'error' : 'completed'
  const limit = loop.turns >= loop.maxTurns ? 'max_turns' : undefined
  const haltWhen = optionOf(loop.scene, 'haltWhen')
  return haltWhen === undefined ? limit : askedTo(haltWhen, loop, step, limit)
}

/** The step is shown as the caller will see it. It is made only where somebody asks, for it copies the thread. */
async function askedTo(
  haltWhen: NonNullable<CallOptions['haltWhen']>,
  { state }: Loop,
  step: StepCompleted,
  otherwise: HaltedReason | undefined,
): Promise<HaltedReason | undefined> {
  return (await haltWhen(toStepResult(applyEvent(state, step)))) ? 'halt_when' : otherwise
}

/** The result of a loop whose last step has halted. A question is added to the thread, as the assistant's own words. */
function chatResult(loop: Loop, haltedReason: HaltedReason): ChatResult {
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

/** A loop's batches, with a span over all of them, and in a chat one over each step. */
export function tracedLoop(loop: Loop, kind: Place['kind']): BatchSource {
  const source = loopSource(loop, kind)
  let trace: Span | undefined
  let step: Span | undefined
  let reported = false
  const report = (failure: unknown): void => {
    if (reported || trace === undefined) return
    reported = true
    for (const open of [step, trace]) {
      if (failure !== undefined) open?.error(failure)
      else open?.stop(open === trace ? outcomeOf(loop) : {})
    }
  }
  const passed = (result: IteratorResult<Batch, void>): IteratorResult<Batch, void> => {
    if (result.done === true) report(loop.state.error)
    else if (step !== undefined) step = afterBatch(step, result.value)
    return result
  }
  const failed = (error: unknown): never => {
    report(error)
    throw error
  }
  return {
    next: () => {
      trace ??= loopSpan(loop, kind)
      if (kind === 'chat' && loop.haltedReason === undefined) step ??= loopSpan(loop, 'step')
      return source.next().then(passed, failed)
    },
    return: async () => {
      const result = await source.return()
      report(loop.state.error)
      return result
    },
  }
}

/** The span of the step that is under way after a batch: none, when the batch ended it. */
function afterBatch(step: Span, batch: Batch): Span | undefined {
  const last = batch.at(-1)
  if (last?.type !== 'step_completed') return step
  const { finishReason, usage } = last.response
  step.stop({ finishReason, usage, haltedReason: last.halt?.reason, content: last.response })
  return undefined
}

function loopSpan({ scene }: Loop, kind: Place['kind']): Span {
  const { requestId, sessionId, engine } = scene
  return span(kind, { requestId, sessionId, provider: engine.adapter?.provider }, engine.clock)
}

function outcomeOf({ state, haltedReason }: Loop): SpanOutcome {
  return { haltedReason, usage: totalUsage(state), content: state.result }
}
