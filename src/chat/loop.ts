import type { CallOptions, PrepareStep } from '../contracts/options.ts'
import { linkedAbort } from '../core/abort.ts'
import { emitTelemetry, isObserved, span, type Span } from '../core/telemetry.ts'
import { isAllmError, StreamError } from '../errors/errors.ts'
import { approvedContent, interruptedMessage, lateContent } from '../make/tool-messages.ts'
import {
  applyEvent,
  foldEvent,
  inCallOrder,
  isDone,
  partialMessages,
  restingReason,
  runsTools,
  stepError,
  toResponse,
  toStepResult,
  totalUsage,
  turnText,
} from '../run/collector.ts'
import { optionOf } from '../run/context.ts'
import { checkRequest, modelCall } from '../run/model-call.ts'
import { checkOutput, outputSchema, repairMessage, repairsIn } from '../run/output.ts'
import type { BatchSource } from '../run/run-stream.ts'
import {
  allOf,
  deniedEvent,
  judgeCalls,
  judged,
  unlessStopped,
  type Verdict,
} from '../tools/approval.ts'
import { callFacts, toolBatches } from '../tools/batch.ts'
import { isThenable, type ToolRun } from '../tools/execute.ts'
import { messageOf } from '../tools/failures.ts'
import { answerStored } from '../tools/results.ts'
import type { Batch, StreamEvent } from '../types/events.ts'
import { defined } from '../types/guards.ts'
import type { JsonObject } from '../types/json.ts'
import type { Message, ToolCall } from '../types/message.ts'
import type { ModelRequest } from '../types/request.ts'
import type { ModelResponse } from '../types/response.ts'
import type { ChatOutcome, HaltedReason, StepResult, ToolHalt } from '../types/results.ts'
import type { CallDecision } from '../types/session.ts'
import {
  answersIn,
  applyChanges,
  callKey,
  finalizeMessage,
  isFinalizing,
  nextStep,
  turnRequest,
  turnTools,
  type LoopState,
} from './prepare.ts'

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
 *       results = the calls of the answer   (checked, approved, run side by side)
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
      if (!state.active && loop.decisions.length > 0) yield* lateResults(loop)
      const prepareStep = optionOf(loop.context, 'prepareStep')
      if (prepareStep !== undefined) await prepareTurn(loop, prepareStep)
      if (!state.active) {
        const model = askModel(loop)
        for (let read = await model.next(); read.done !== true; read = await model.next()) {
          yield read.value
        }
        if (state.error !== undefined) return
      }
      const answer = toResponse(state)
      const settled = settleCalls(loop, answer)
      const { open, known } = settled instanceof Promise ? await settled : settled
      const changed = changedArguments(loop.decisions, answer.toolCalls)
      if (known.length > 0) yield emit(loop, withChanges(known, changed))
      if (open.length > 0) {
        const tools = runTools(loop, open, turnTools(loop))
        for (let read = await tools.next(); read.done !== true; read = await tools.next()) {
          yield emit(loop, withChanges(read.value, changed))
        }
        throwIfStopped(loop)
      }
      const step = completedStep(loop, answer)
      const halted = loop.kind === 'chat' ? haltedAfter(loop, step) : undefined
      const reason = halted instanceof Promise ? await halted : halted
      const repair = reason === 'completed' ? await checkedAnswer(loop, answer) : undefined
      const closed = closedStep(loop, step, reason, repair)
      const onStep = optionOf(loop.context, 'onStep')
      // If it fails, the step has not ended: a run that is resumed goes on with it and calls the hook again.
      if (onStep !== undefined) {
        await callHook(loop, 'onStep', () => onStep(resultAfter(loop, closed)))
      }
      const batch = endStep(loop, closed)
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

/** Calls a hook of the caller, and waits for it unless the run is stopped or left. */
async function callHook<T>(
  loop: LoopState,
  name: string,
  hook: () => T | Promise<T>,
): Promise<Awaited<T>> {
  try {
    const answer = hook()
    return await (isThenable(answer) ? waitFor(loop, Promise.resolve(answer)) : answer)
  } catch (thrown) {
    throw hookFailure(name, thrown)
  }
}

/** What a hook threw, as an error that names the hook. It ends the run, which keeps what it has. */
function hookFailure(name: string, thrown: unknown): unknown {
  if (isAllmError(thrown)) return thrown
  return new StreamError('unknown', `${name} threw: ${messageOf(thrown)}`, { cause: thrown })
}

/** Asks `prepareStep` about the next step. */
async function prepareTurn(loop: LoopState, prepareStep: PrepareStep): Promise<void> {
  applyChanges(loop, await callHook(loop, 'prepareStep', () => prepareStep(nextStep(loop))))
}

/** The next model call. It folds its own events. */
function askModel(loop: LoopState): BatchSource {
  const request = requestOf(loop)
  // Later requests consist of parts that were checked or made here.
  if (loop.turns === 0 || loop.changes !== undefined) checkRequest(loop.context, request)
  loop.turns++
  loop.source = modelCall(loop.context, request, loop.state)
  return loop.source
}

/** The request of the next turn. Of what makes it, only the caller's function of instructions can throw what is not an error of ours. */
function requestOf(loop: LoopState): ModelRequest {
  try {
    return turnRequest(loop)
  } catch (thrown) {
    throw hookFailure('instructions', thrown)
  }
}

/** The handlers of calls, side by side. */
function runTools(loop: LoopState, calls: readonly ToolCall[], tools: ToolRun): BatchSource {
  loop.source = toolBatches(calls, tools)
  return loop.source
}

/** A run that was stopped while handlers ran has no complete step, whatever the handlers returned. */
function throwIfStopped({ context, left }: LoopState): void {
  const { signal } = context.call
  if (!left && signal?.aborted !== true) return
  throw new StreamError('cancelled', 'the run was cancelled', { cause: signal?.reason })
}

/** The calls of an answer that the loop has to answer and that have no answer yet. */
interface SettledCalls {
  /** To be run now. */
  readonly open: readonly ToolCall[]
  /** What is known about the others without running them. */
  readonly known: readonly StreamEvent[]
}

/**
 * Decides about the unanswered calls of an answer: run now, answered without running, or waiting for somebody.
 *
 * What happened before the run was cut comes first, then what was decided while it waited, then the approval policy. The calls of
 * manual tools are left to the caller.
 */
function settleCalls(loop: LoopState, answer: ModelResponse): SettledCalls | Promise<SettledCalls> {
  if (loop.mode === 'manual' || !runsTools(answer)) return { open: [], known: [] }
  const tools = turnTools(loop)
  const calls = unanswered(loop, answer)
  const settled = new Map<string, Settled | Promise<Settled>>()
  for (const call of calls) {
    const earlier = settledBefore(loop, call, tools)
    if (earlier !== undefined) settled.set(call.id, earlier)
  }
  const fresh = calls.filter(({ id }) => !settled.has(id))
  const sort = (verdicts: readonly Verdict[]): SettledCalls | Promise<SettledCalls> => {
    fresh.forEach((call, index) => {
      const outcome = judged(call, verdicts[index])
      if (outcome !== undefined) settled.set(call.id, outcome)
    })
    const all = allOf(calls.flatMap(({ id }) => settled.get(id) ?? []))
    return all instanceof Promise ? waitFor(loop, all).then(sorted) : sorted(all)
  }
  const verdicts = judgeCalls(fresh, tools, { leaveManual: true })
  return verdicts instanceof Promise ? waitFor(loop, verdicts).then(sort) : sort(verdicts)
}

/** What becomes of a call: the event that settles it, or the call itself if it runs. */
type Settled = StreamEvent | ToolCall

function sorted(all: readonly Settled[]): SettledCalls {
  return {
    open: all.flatMap((outcome) => ('type' in outcome ? [] : outcome)),
    known: all.flatMap((outcome) => ('type' in outcome ? outcome : [])),
  }
}

/** The calls of the answer that have no message. */
function unanswered({ state }: LoopState, { toolCalls }: ModelResponse): readonly ToolCall[] {
  const answered = new Set(state.toolMessages.map(({ toolCallId }) => toolCallId))
  return toolCalls.filter(({ id }) => !answered.has(id))
}

/** Waits for a policy of the caller. Leaving the run ends the wait. */
async function waitFor<T>(loop: LoopState, policy: Promise<T>): Promise<T> {
  throwIfStopped(loop)
  const stop = linkedAbort(loop.context.call.signal)
  loop.source = {
    next: async () => ({ done: true, value: undefined }),
    return: async () => stop.abort(new StreamError('cancelled', 'the run was left')),
  }
  try {
    return await unlessStopped(policy, stop.signal)
  } catch (error) {
    throwIfStopped(loop)
    throw error
  } finally {
    stop.unlink()
  }
}

/**
 * The answer to a call that was started before the run was cut or decided about while it waited, or the call itself if it runs
 * now. Returns `undefined` for a call that nothing is known about.
 *
 * A call that was started and left no result is run again only if its tool is idempotent. Otherwise it is answered as
 * interrupted, and reported.
 */
function settledBefore(
  loop: LoopState,
  call: ToolCall,
  tools: ToolRun,
): Settled | Promise<Settled> | undefined {
  const { state, decisions } = loop
  const stored = state.results.find(({ toolCallId }) => toolCallId === call.id)
  if (stored !== undefined) return answerStored(call, stored, tools)
  // In a pass without tools nothing can have run.
  const wasStarted = !isFinalizing(loop) && state.started.includes(call.id)
  if (wasStarted && tools.tools.get(call.name)?.idempotent !== true) return interrupted(loop, call)
  const decision = decisions.find((decided) => decided.call.id === call.id && !decided.late)
  if (decision === undefined) return wasStarted ? call : undefined
  return decision.deny === undefined ? decision.call : deniedEvent(call, decision.deny)
}

/**
 * Runs the calls that were approved after the model had been told that there is no result yet. Each result follows the
 * thread as a message of its own. A question or a halt of such a handler comes too late: its result is told to the model.
 */
async function* lateResults(loop: LoopState): AsyncGenerator<Batch, void> {
  const late = loop.decisions.filter((decision) => decision.late === true)
  loop.decisions = []
  const { messages } = loop.state.thread
  const keyOf = ({ id }: ToolCall): string => {
    const at = messages.findLastIndex(({ toolCalls = [] }) =>
      toolCalls.some((own) => own.id === id),
    )
    return callKey(loop, at, id)
  }
  const tools = { ...loop.tools, keyOf, answers: answersIn(late) }
  const written = messages.toReversed().flatMap(({ toolCalls = [] }) => toolCalls)
  const changed = changedArguments(late, written)
  const open: ToolCall[] = []
  for (const { call } of late) {
    const earlier = await settledBefore(loop, call, tools)
    if (earlier === undefined || !('type' in earlier)) open.push(call)
    else yield emit(loop, withChanges([toLate(call, earlier)], changed))
  }
  if (open.length === 0) return
  const calls = new Map(open.map((call) => [call.id, call]))
  const running = runTools(loop, open, tools)
  for (let read = await running.next(); read.done !== true; read = await running.next()) {
    const events = read.value.map((event) => toLate(calls.get(eventCall(event)), event))
    yield emit(loop, withChanges(events, changed))
  }
  throwIfStopped(loop)
}

/** The arguments of calls that were approved with others than the model wrote, by call. */
function changedArguments(
  decisions: readonly CallDecision[],
  written: readonly ToolCall[],
): ReadonlyMap<string, JsonObject> {
  const changed = new Map<string, JsonObject>()
  for (const { call, deny } of decisions) {
    const own = written.find(({ id }) => id === call.id)
    if (deny !== undefined || own === undefined) continue
    if (JSON.stringify(own.arguments) !== JSON.stringify(call.arguments)) {
      changed.set(call.id, call.arguments)
    }
  }
  return changed
}

/** Events in which the answers to calls with changed arguments say so, to the model and in the metadata of the message. */
function withChanges(batch: Batch, changed: ReadonlyMap<string, JsonObject>): Batch {
  if (changed.size === 0) return batch
  return batch.map((event) => {
    const args = changed.get(eventCall(event))
    if (args === undefined) return event
    switch (event.type) {
      case 'tool_result_encoded':
      case 'tool_halt': {
        // A call without a result is not known to have run.
        if ('interrupted' in event) return event
        const metadata = { ...event.metadata, approvedArguments: args }
        return { ...event, content: approvedContent(args, event.content), metadata }
      }
      case 'ask_user_requested':
        return { ...event, metadata: { approvedArguments: args } }
      default:
        return event
    }
  })
}

function eventCall(event: StreamEvent): string {
  return 'toolCallId' in event ? event.toolCallId : 'id' in event ? (event.id ?? '') : ''
}

/** The answer to a call as a message that follows the thread. Other events stay as they are. */
function toLate(call: ToolCall | undefined, event: StreamEvent): StreamEvent {
  if (call === undefined) return event
  const told = toldBy(event)
  if (told === undefined) return event
  const { id } = call
  const { interrupted: reason, metadata } = event.type === 'tool_result_encoded' ? event : {}
  return defined<ResultEncoded>({
    type: 'tool_result_encoded',
    id,
    content: lateContent(call, told),
    metadata: { ...metadata, lateResultOf: id },
    interrupted: reason,
  })
}

type ResultEncoded = Extract<StreamEvent, { type: 'tool_result_encoded' }>

/** What an event tells the model about a call, if it answers it. */
function toldBy(event: StreamEvent): Message['content'] | undefined {
  if (event.type === 'tool_result_encoded' || event.type === 'tool_halt') return event.content
  if (event.type !== 'ask_user_requested') return undefined
  return JSON.stringify({ error: `the tool asked a question: ${event.question}` })
}

function interrupted({ context }: LoopState, call: ToolCall): StreamEvent {
  if (isObserved()) {
    const at = context.engine.clock.now()
    emitTelemetry({ name: 'tool.interrupted', at, ...callFacts(call, context) })
  }
  const reason = 'interrupted'
  const { content } = interruptedMessage(call.id, reason)
  return { type: 'tool_result_encoded', id: call.id, content, interrupted: reason }
}

/** The event that ends a step. */
type StepCompleted = Extract<StreamEvent, { type: 'step_completed' }>

/** The end of a step: the messages it added to the thread, and the calls that somebody has to settle. */
function completedStep(loop: LoopState, answer: ModelResponse): StepCompleted {
  const { state } = loop
  const manual = manualCalls(loop, answer)
  const open = new Set([...manual, ...state.requested].map(({ id }) => id))
  const isFirst = state.steps.length === 0
  const late = isFirst && open.size === 0 ? loop.late : []
  return defined<StepCompleted>({
    type: 'step_completed',
    response: answer,
    newMessages: [...partialMessages(state, open), ...late],
    manualToolCalls: manual,
    mode: loop.mode,
    continues: loop.continued && isFirst ? true : undefined,
    halt: firstHalt(inCallOrder(state.halts, answer)),
  })
}

/** The calls that the caller has to answer: all of them in manual mode, else those of manual tools. */
function manualCalls(loop: LoopState, response: ModelResponse): readonly ToolCall[] {
  if (!runsTools(response)) return []
  const calls = unanswered(loop, response)
  if (loop.mode === 'manual') return calls
  const { tools } = turnTools(loop)
  return calls.filter(({ name }) => tools.get(name)?.manual === true)
}

/** Of several halts: a question, then an approval, then the one whose call comes first. */
function firstHalt(halts: readonly ToolHalt[]): ToolHalt | undefined {
  const of = (reason: string): ToolHalt | undefined => halts.find((halt) => halt.reason === reason)
  return of('ask_user') ?? of('approval') ?? halts[0]
}

/**
 * Why the loop ends after a step, or `undefined` when it goes on. The first that applies: a question, an approval, calls
 * that the caller has to answer, a tool's halt (an error, a reason of its own), an answer that asks for nothing more,
 * `haltWhen`, `maxTurns`.
 */
function haltedAfter(
  loop: LoopState,
  step: StepCompleted,
): HaltedReason | undefined | Promise<HaltedReason | undefined> {
  const { halt } = step
  if (halt?.reason === 'ask_user' || halt?.reason === 'approval') return halt.reason
  if (step.manualToolCalls.length > 0) return 'manual_tool_calls'
  if (halt !== undefined) return halt.reason
  if (isDone(step)) return restingReason(step.response)
  const limit = loop.turns >= loop.maxTurns ? 'max_turns' : undefined
  const haltWhen = optionOf(loop.context, 'haltWhen')
  return haltWhen === undefined ? limit : haltedBy(haltWhen, loop, step, limit)
}

/** Asks the caller's `haltWhen`. */
async function haltedBy(
  haltWhen: NonNullable<CallOptions['haltWhen']>,
  loop: LoopState,
  step: StepCompleted,
  otherwise: HaltedReason | undefined,
): Promise<HaltedReason | undefined> {
  const halts = await callHook(loop, 'haltWhen', () => haltWhen(resultAfter(loop, step)))
  return halts ? 'halt_when' : otherwise
}

/** The result of a step that has not ended yet. It is built only for hooks, because that copies the thread. */
function resultAfter({ state }: LoopState, step: StepCompleted): StepResult {
  return toStepResult(applyEvent(state, step))
}

/**
 * Validates the answer that ends the loop, if there is a schema for it. A wrong answer throws, unless the model may be told
 * what is wrong: then returns the message that does so.
 */
async function checkedAnswer(loop: LoopState, answer: ModelResponse): Promise<Message | undefined> {
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
  if (!checked.repairable || spent >= repairs) throw checked.error
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

/** Ends a step, and the loop if the step says why. */
function endStep(loop: LoopState, step: StepCompleted): Batch {
  // What was decided about the calls of this step says nothing about later calls, which may have the same ids.
  loop.decisions = loop.decisions.filter(({ late }) => late === true)
  loop.haltedReason = step.haltedReason
  return emit(loop, [step])
}

/** The result of a loop whose last step halted. */
function chatResult(loop: LoopState, haltedReason: HaltedReason): ChatOutcome {
  const { state } = loop
  const last = state.steps.at(-1)
  const halt = last?.halt
  const [asked] = state.questions
  return defined<ChatOutcome>({
    outputText: turnText(state, last?.response),
    output: loop.output?.plain,
    finalResponse: last?.response,
    steps: state.steps,
    haltedReason,
    pendingQuestion: asked?.question,
    pendingToolCallId: asked?.toolCallId,
    pendingQuestionOptions: asked?.options,
    pendingApprovals: state.approvals,
    manualToolCalls: last?.manualToolCalls ?? [],
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
