import { errorFromJSON } from '../errors/error-json.ts'
import { AdapterError, type AllmError } from '../errors/errors.ts'
import {
  addImage,
  closeBlock,
  draftMessage,
  growBlock,
  growCall,
  messageDraft,
  setCall,
  type MessageDraft,
} from '../make/message-builder.ts'
import { askedMessage, interruptedMessage, toolMessage } from '../make/tool-messages.ts'
import type { ErrorData } from '../types/error-data.ts'
import type { InterruptedReason, ModelEvent, StreamEvent } from '../types/events.ts'
import { assertNever, defined } from '../types/guards.ts'
import { appendMessages, messageText, type Message, type Thread } from '../types/message.ts'
import { addUsage, type FinishReason, type ModelResponse, type Usage } from '../types/response.ts'
import type {
  ChatResult,
  HaltedReason,
  PartialResult,
  StepResult,
  ToolHalt,
} from '../types/results.ts'
import type { StoredResult } from '../types/session.ts'

/** How a message ended, as in its last event. */
export type MessageEnd = Omit<Extract<ModelEvent, { type: 'message_completed' }>, 'type' | 'usage'>

/**
 * Everything that a run emitted so far, folded. Plain values: make one with `createCollector`, read it with `toResponse`,
 * `toStepResult` and `toChatResult`.
 */
export interface Collector extends MessageDraft {
  /** The thread that the run started from, with every completed step's messages added. */
  thread: Thread
  /** The number of events folded. */
  count: number
  requestId: string
  provider: string
  id: string | undefined
  model: string | undefined
  usage: Usage
  end: MessageEnd | undefined
  error: ErrorData | undefined
  /** A message was started and its step is not completed. */
  active: boolean
  /** The calls of this step whose handlers were started. */
  started: readonly string[]
  /** The results of this step that are not a message yet. */
  results: readonly StoredResult[]
  /** The tool messages of this step, in the order of arrival. */
  toolMessages: readonly Message[]
  /** The halts of this step, in the order of arrival. */
  halts: readonly ToolHalt[]
  /** The questions of the last completed step, in the order of its calls. */
  questions: readonly ToolHalt[]
  /** The number of completed answers. */
  answers: number
  steps: readonly StepResult[]
  /** Why the loop ends, as in its last step. */
  haltedReason: HaltedReason | undefined
  result: ChatResult | undefined
}

/** The state before the first event of a run that starts from `thread`. */
export function createCollector(thread: Thread = { messages: [], metadata: {} }): Collector {
  return {
    thread,
    count: 0,
    requestId: '',
    provider: '',
    id: undefined,
    model: undefined,
    usage: {},
    ...messageDraft(),
    end: undefined,
    error: undefined,
    active: false,
    started: none,
    results: none,
    toolMessages: none,
    halts: none,
    questions: none,
    answers: 0,
    steps: none,
    haltedReason: undefined,
    result: undefined,
  }
}

/** Lists in a state are replaced and never changed, so all states share the empty one. */
const none: readonly never[] = []

/** The state after one more event. Pure: the given state is not changed, so any earlier state can be kept. */
export function applyEvent(state: Collector, event: StreamEvent): Collector {
  const next = { ...state }
  foldEvent(next, event)
  return next
}

/**
 * Folds one event into a state that may be written to; `applyEvent` does the same on a copy.
 *
 * Only the state's own fields are written: every list in it is replaced, never changed, so a copy of the state is a snapshot.
 */
export function foldEvent(state: Collector, event: StreamEvent): void {
  state.count++
  switch (event.type) {
    case 'text_delta':
      // The path of most events: a delta of the open block is one append.
      if (state.openKind === 'text' && state.openIndex === event.index) {
        state.openText += event.delta
      } else growBlock(state, 'text', event.index, event.delta)
      return
    case 'text_completed':
      closeBlock(state, 'text', event.index, event)
      return
    case 'reasoning_delta':
      growBlock(state, 'reasoning', event.index, event.delta)
      return
    case 'reasoning_completed':
      closeBlock(state, 'reasoning', event.index, event)
      return
    case 'tool_call_started':
      setCall(state, { id: event.id, name: event.name, raw: '' })
      return
    case 'tool_call_delta':
      growCall(state, event.id, event.argumentsDelta)
      return
    case 'tool_call_completed': {
      const { call } = event
      setCall(state, { id: call.id, name: call.name, raw: call.rawArguments ?? '', call })
      return
    }
    case 'image_completed':
      addImage(state, event.image)
      return
    case 'message_started':
      startMessage(state, event)
      return
    case 'message_completed':
      completeMessage(state, event)
      return
    case 'raw_chunk':
      return
    case 'error':
      state.error = event.error
      return
    case 'tool_execution_started':
      state.started = [...state.started, event.id]
      return
    case 'tool_execution_completed':
      state.results = [...state.results, storedResult(event)]
      return
    case 'tool_result_encoded':
      addToolMessage(
        state,
        event.interrupted === undefined
          ? toolMessage(event.id, event.content)
          : interruptedMessage(event.id, event.interrupted),
      )
      if (event.halt !== undefined) state.halts = [...state.halts, event.halt]
      return
    case 'ask_user_requested': {
      const { toolCallId, question, options } = event
      addToolMessage(state, askedMessage(toolCallId))
      state.halts = [...state.halts, { reason: 'ask_user', toolCallId, question, options }]
      return
    }
    case 'tool_halt': {
      const { toolCallId, reason, result, content } = event
      addToolMessage(state, toolMessage(toolCallId, content))
      state.halts = [...state.halts, { reason, toolCallId, result }]
      return
    }
    case 'step_completed':
      completeStep(state, event)
      return
    case 'chat_completed':
      state.result = event.result
      return
    default:
      assertNever(event)
  }
}

type Started = Extract<StreamEvent, { type: 'message_started' }>

type Completed = Extract<StreamEvent, { type: 'message_completed' }>

function startMessage(state: Collector, event: Started): void {
  clearMessage(state)
  state.active = true
  state.questions = []
  state.requestId = event.requestId
  state.provider = event.provider
  state.id = event.id
  state.model = event.model
  state.usage = event.usage ?? {}
}

function completeMessage(state: Collector, event: Completed): void {
  const { message, finishReason, rawFinishReason, metadata } = event
  state.end = defined<MessageEnd>({ message, finishReason, rawFinishReason, metadata })
  state.active = true
  state.answers++
  // The latest count of each field wins.
  if (event.usage !== undefined) state.usage = { ...state.usage, ...event.usage }
}

type StepCompleted = Extract<StreamEvent, { type: 'step_completed' }>

function completeStep(state: Collector, event: StepCompleted): void {
  const { response, newMessages, manualToolCalls, halt } = event
  state.thread = appendMessages(state.thread, ...newMessages)
  const step = defined<StepResult>({
    thread: state.thread,
    response,
    toolResults: newMessages.filter((message) => message.role === 'tool'),
    done: isDone(event),
    manualToolCalls,
    halt,
  })
  state.steps = [...state.steps, step]
  state.haltedReason = event.haltedReason
  state.questions = inCallOrder(state.halts, response).filter(
    (asked) => asked.reason === 'ask_user',
  )
  clearMessage(state)
}

type ExecutionCompleted = Extract<StreamEvent, { type: 'tool_execution_completed' }>

function storedResult({ id, result, outcome }: ExecutionCompleted): StoredResult {
  return defined<StoredResult>({
    toolCallId: id,
    value: 'ok' in result ? result.ok : undefined,
    error: 'error' in result ? result.error : undefined,
    question:
      outcome?.type === 'ask_user'
        ? { question: outcome.question, options: outcome.options }
        : undefined,
    haltReason: outcome?.type === 'halt' ? outcome.reason : undefined,
  })
}

function addToolMessage(state: Collector, message: Message): void {
  state.results = state.results.filter(({ toolCallId }) => toolCallId !== message.toolCallId)
  state.toolMessages = [...state.toolMessages, message]
}

/** Clears the message under way and its tools. Completed steps stay. */
function clearMessage(state: Collector): void {
  Object.assign(state, messageDraft())
  state.end = undefined
  state.active = false
  state.usage = {}
  state.started = none
  state.results = none
  state.toolMessages = none
  state.halts = none
}

/**
 * The response so far. After the last event it is the whole response. Before that it is partial: its message is marked
 * `partial`, and its `finishReason` is `error` if the run failed and `other` if it was left.
 *
 * Between two steps of a loop it is the last step's response.
 */
export function toResponse(state: Collector): ModelResponse {
  const last = state.steps.at(-1)
  if (!state.active && last !== undefined && state.error === undefined) return last.response
  const { end, error } = state
  const message = currentMessage(state)
  return defined<ModelResponse>({
    requestId: state.requestId,
    id: state.id,
    model: state.model,
    provider: state.provider,
    message,
    outputText: messageText(message),
    toolCalls: message.toolCalls ?? [],
    finishReason: error !== undefined ? 'error' : (end?.finishReason ?? 'other'),
    rawFinishReason: end?.rawFinishReason,
    usage: state.usage,
    error,
    metadata: end?.metadata ?? {},
  })
}

/** The assistant message so far: the adapter's own once it arrived, else the sum of the deltas. */
function currentMessage(state: Collector): Message {
  const { end } = state
  if (end === undefined) {
    const message = draftMessage(state, state.provider)
    return { ...message, metadata: { partial: true } }
  }
  const said = end.message.content.length > 0 || end.message.toolCalls !== undefined
  // A simple adapter may leave the message empty and rely on the fold.
  return said ? end.message : draftMessage(state, state.provider)
}

/** The step so far. Its thread can always be sent: open calls are answered by marked messages. */
export function toStepResult(state: Collector): StepResult {
  const last = state.steps.at(-1)
  if (last !== undefined && !state.active) return last
  const added = partialMessages(state)
  return {
    thread: appendMessages(state.thread, ...added),
    response: toResponse(state),
    toolResults: added.filter((message) => message.role === 'tool'),
    done: true,
    manualToolCalls: [],
  }
}

/**
 * The chat so far: the result itself once the loop has ended, else a partial result with `haltedReason` `error` or
 * `cancelled` and a thread that can be sent.
 */
export function toChatResult(state: Collector): ChatResult {
  if (state.result !== undefined) return state.result
  const { error, active, steps } = state
  const failed = error !== undefined && !isCancellation(error)
  return defined<ChatResult>({
    thread: appendMessages(state.thread, ...(active ? partialMessages(state) : leftOpen(state))),
    finalResponse: active || steps.length > 0 ? toResponse(state) : undefined,
    steps,
    haltedReason: failed ? 'error' : 'cancelled',
    manualToolCalls: [],
    error,
    usage: totalUsage(state),
    metadata: {},
  })
}

/** Marked answers to the calls that a completed step left to the caller. */
function leftOpen({ steps }: Collector): readonly Message[] {
  const calls = steps.at(-1)?.manualToolCalls ?? []
  return calls.map(({ id }) => interruptedMessage(id, 'interrupted'))
}

/** The usage of every step, and of the message under way. */
export function totalUsage(state: Collector): Usage {
  let total: Usage = {}
  for (const { response } of state.steps) total = addUsage(total, response.usage)
  return addUsage(total, state.usage)
}

/**
 * The messages that the step under way adds to the thread: its answer so far, and a message for each of its calls, in the
 * order of the calls.
 *
 * A call without a result is answered by a marked message, so that the thread can be sent. Only the calls in `open`, which
 * the caller has to answer, stay without a message.
 */
export function partialMessages(
  state: Collector,
  open: ReadonlySet<string> = noCalls,
): readonly Message[] {
  if (!state.active) return []
  const message = currentMessage(state)
  const calls = message.toolCalls ?? []
  if (calls.length === 0) return message.content.length === 0 ? [] : [message]
  const reason = interruptedReason(state)
  const answers = new Map(state.toolMessages.map((answer) => [answer.toolCallId, answer]))
  const messages = [message]
  for (const { id } of calls) {
    const answer = answers.get(id)
    if (answer !== undefined) messages.push(answer)
    else if (!open.has(id)) messages.push(interruptedMessage(id, reason))
  }
  return messages
}

const noCalls: ReadonlySet<string> = new Set()

function interruptedReason({ end, error }: Collector): InterruptedReason {
  if (end !== undefined && !endedByItself(end.finishReason)) {
    return end.finishReason === 'length' || end.finishReason === 'content_filter'
      ? end.finishReason
      : 'error'
  }
  if (error === undefined) return 'interrupted'
  return isCancellation(error) ? 'cancelled' : 'error'
}

/** Whether an error means that the caller stopped the run. */
function isCancellation(error: { readonly kind: string; readonly reason: string }): boolean {
  return error.kind === 'stream' && error.reason === 'cancelled'
}

/**
 * Whether the tool calls of an answer may be run.
 *
 * Only an answer that ended by itself has complete calls. The calls of an answer that was cut by `length`, by a filter or
 * for an unknown reason are not run, even if their arguments parse.
 */
export function runsTools(response: Pick<ModelResponse, 'finishReason' | 'toolCalls'>): boolean {
  return response.toolCalls.length > 0 && endedByItself(response.finishReason)
}

/** Whether a model ended its answer by itself. */
function endedByItself(finishReason: FinishReason): boolean {
  return finishReason === 'tool_calls' || finishReason === 'stop'
}

/** Whether no model call follows a step: something halted, or there was nothing to run. */
export function isDone(step: Pick<StepResult, 'response' | 'manualToolCalls' | 'halt'>): boolean {
  return step.halt !== undefined || (step.manualToolCalls.length === 0 && !runsTools(step.response))
}

/** Halts in the order of the calls of an answer. */
export function inCallOrder(
  halts: readonly ToolHalt[],
  { toolCalls }: Pick<ModelResponse, 'toolCalls'>,
): readonly ToolHalt[] {
  if (halts.length < 2) return halts
  const order = toolCalls.map(({ id }) => id)
  return halts.toSorted((a, b) => order.indexOf(a.toolCallId) - order.indexOf(b.toolCallId))
}

/** The error that ended a run, with the partial result. */
export function failureOf(error: ErrorData, partial: PartialResult): AllmError {
  const failure = errorFromJSON(error)
  failure.partial = partial
  return failure
}

/**
 * Why a step failed, if it did: the tool failure that halted it, or an answer whose `finishReason` is `error`.
 *
 * A provider may end an answer this way without an error. Then the error is made here.
 */
export function stepError({
  response,
  halt,
}: Pick<StepResult, 'response' | 'halt'>): ErrorData | undefined {
  if (halt !== undefined) return halt.error
  const { finishReason, rawFinishReason, error, provider, requestId } = response
  if (finishReason !== 'error') return undefined
  if (error !== undefined) return error
  const word = rawFinishReason === undefined ? '' : ` (${rawFinishReason})`
  const message = `${provider} ended its answer with an error${word}`
  return new AdapterError('unknown', message, { provider, requestId }).toJSON()
}
