import { errorFromJSON } from '../errors/error-json.ts'
import { AdapterError, isAllmError, type AllmError } from '../errors/errors.ts'
import {
  addImage,
  addItem,
  addSources,
  clearDraft,
  closeBlock,
  draftMessage,
  growBlock,
  growCall,
  messageDraft,
  openCall,
  setCall,
  type MessageDraft,
} from '../make/message-builder.ts'
import {
  itemAt,
  itemsOf,
  noItems,
  sharedList,
  withItem,
  type SharedList,
} from '../make/shared-list.ts'
import {
  askedMessage,
  interruptedMessage,
  lateMessage,
  toolMessage,
} from '../make/tool-messages.ts'
import type { ErrorData } from '../types/error-data.ts'
import type { InterruptedReason, ModelEvent, StreamEvent } from '../types/events.ts'
import { assertNever, defined } from '../types/guards.ts'
import type { JsonValue } from '../types/json.ts'
import type { JsonObject } from '../types/json.ts'
import {
  appendMessages,
  messageText,
  type Message,
  type Thread,
  type ToolCall,
} from '../types/message.ts'
import {
  addUsage,
  type AnswerUsage,
  type FinishReason,
  type ModelResponse,
  type Usage,
} from '../types/response.ts'
import type {
  ChatOutcome,
  ChatResult,
  ChatStep,
  HaltedReason,
  PartialResult,
  PendingApproval,
  StepResult,
  ToolHalt,
} from '../types/results.ts'
import type { AnswerFacts, Session, StoredResult } from '../types/session.ts'
import type { Warning } from '../types/warning.ts'

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
  /** What the run had used before it was cut, besides the answer under way. */
  spent: Usage
  /** What results of earlier parts of this run have told. It is in no later result. */
  told?: Usage | undefined
  warnings: readonly Warning[]
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
  /** A message for each call of the answer, in the order of the calls: its result, or the mark that stands for it. */
  tail: SharedList<Message>
  /** The halts of this step, in the order of arrival. */
  halts: readonly ToolHalt[]
  /** The calls of this step that wait for approval, in the order of arrival. */
  requested: readonly PendingApproval[]
  /** The questions of the last completed step, in the order of its calls. */
  questions: readonly ToolHalt[]
  /** The other halts of the last completed step, in the order of its calls. */
  halted: readonly ToolHalt[]
  /** The calls of the last completed step that wait for approval, in the order of its calls. */
  approvals: readonly PendingApproval[]
  /** The number of completed answers. */
  answers: number
  steps: readonly ChatStep[]
  /** Why the loop ends, as in its last step. */
  haltedReason: HaltedReason | undefined
  result: ChatOutcome | undefined
  /** The agents inside calls that have no result yet. They outlive the step of their call. */
  inner: readonly InnerRun[]
  /** What the agents inside calls have used since the run was entered, answer by answer. */
  innerAnswers?: readonly AnswerUsage[]
}

/** The run of an agent inside a call. */
export interface InnerRun {
  readonly callId: string
  /** The session that the inner run goes on from. */
  readonly base: Session
  /** The fold of its events since. */
  readonly state: Collector
  /** Whether this run has entered it. Otherwise an earlier one has, and it waits since. */
  readonly entered: boolean
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
    ...noMessage(),
    spent: {},
    error: undefined,
    questions: none,
    halted: none,
    approvals: none,
    answers: 0,
    steps: none,
    haltedReason: undefined,
    result: undefined,
    inner: none,
  }
}

/** What the state has of a message and its tools before the message starts. */
function noMessage() {
  // A spread with so many keys after it costs 25 µs on Node 20, and every answer needs two.
  return Object.assign(messageDraft(), {
    usage: {},
    warnings: none,
    end: undefined,
    active: false,
    started: none,
    results: none,
    toolMessages: none,
    tail: noItems,
    halts: none,
    requested: none,
  } satisfies Partial<Collector>)
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
  switch (event.type) {
    case 'approval_requested': {
      const { call, reason, toolCallId } = event
      if (isInnerCall(state, toolCallId)) break
      const request = reason === undefined ? call : { ...call, reason }
      state.requested = [...state.requested, request]
      state.halts = [...state.halts, { reason: 'approval', toolCallId }]
      break
    }
    case 'tool_execution_started':
      state.started = [...state.started, event.id]
      break
    case 'tool_progress':
      if (event.inner !== undefined) innerFold.by?.add(state, event)
      break
    case 'tool_execution_completed':
      state.results = [...state.results, storedResult(event)]
      innerFold.by?.leave(state, event.id)
      break
    case 'tool_result_encoded':
      addToolMessage(state, resultMessage(event))
      if (event.halt !== undefined) state.halts = [...state.halts, event.halt]
      break
    case 'ask_user_requested': {
      const { toolCallId, question, options, metadata } = event
      if (isInnerCall(state, toolCallId)) break
      // A late question has no place in the thread: the model was told that there is no result yet.
      if (metadata?.['lateResultOf'] === toolCallId) dropResult(state, toolCallId)
      else addToolMessage(state, withMetadata(askedMessage(toolCallId), metadata))
      state.halts = [...state.halts, { reason: 'ask_user', toolCallId, question, options }]
      break
    }
    case 'tool_halt': {
      const { toolCallId, reason, result, content, metadata } = event
      addToolMessage(state, withMetadata(toolMessage(toolCallId, content), metadata))
      state.halts = [...state.halts, { reason, toolCallId, result }]
      break
    }
    case 'step_completed':
      completeStep(state, event)
      break
    case 'chat_completed':
      state.result = event.result
      break
    default:
      foldModelEvent(state, event)
      return
  }
  state.count++
}

type Progress = Extract<StreamEvent, { type: 'tool_progress' }>

/** Whether an id is that of a call inside an agent, and not of a call of the answer. */
function isInnerCall({ inner, end }: Collector, id: string): boolean {
  if (end?.message.toolCalls?.some((call) => call.id === id) === true) return false
  return inner.some(({ callId }) => id.startsWith(`${callId}/`))
}

/** The fold of agents inside calls. What makes agents and what reads sessions puts it in place; a program without either does not load it. */
export interface InnerFold {
  /** Folds what an agent inside a call reports. */
  readonly add: (state: Collector, progress: Progress) => void
  /** The call has its answer: of its inner run only the usage is kept. */
  readonly leave: (state: Collector, callId: unknown) => void
  /** What agents inside calls used, as far as no result has told. */
  readonly usage: (state: Collector) => Usage
  /** What the agents that this run has entered wait for. */
  readonly pending: (state: Collector) => InnerPending
}

/** The fold of agents, once it is in place. There is only one. */
export const innerFold: { by?: InnerFold } = {}

/** What agents inside calls wait for. The ids of their calls begin with that of the call that they are in. */
export interface InnerPending {
  /** The calls that have no answer because of that. */
  readonly waiting: ReadonlySet<string>
  /** The first question or approval of each. */
  readonly halts: readonly ToolHalt[]
  readonly approvals: readonly PendingApproval[]
  readonly manual: readonly ToolCall[]
}

/** What the agents that this run has entered wait for. */
export function innerPending(state: Collector): InnerPending {
  return innerFold.by?.pending(state) ?? nothingPending
}

const nothingPending: InnerPending = {
  waiting: new Set(),
  halts: none,
  approvals: none,
  manual: none,
}

/** `foldEvent` for the events of a model, so that a program that runs no tools does not have the fold of theirs. */
export function foldModelEvent(state: Collector, event: ModelEvent): void {
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
      if (event.sources !== undefined) addSources(state, event.sources)
      return
    case 'reasoning_delta':
      growBlock(state, 'reasoning', event.index, event.delta)
      return
    case 'reasoning_completed':
      if (event.item === undefined) closeBlock(state, 'reasoning', event.index, event)
      else addItem(state, event.item)
      return
    case 'tool_call_started':
      openCall(state, event.id, event.name)
      markCalls(state)
      return
    case 'tool_call_delta':
      growCall(state, event.id, event.argumentsDelta)
      markCalls(state)
      return
    case 'tool_call_completed':
      setCall(state, event.call)
      markCalls(state)
      return
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
    default:
      assertNever(event)
  }
}

type Started = Extract<StreamEvent, { type: 'message_started' }>

type Completed = Extract<StreamEvent, { type: 'message_completed' }>

function startMessage(state: Collector, event: Started): void {
  clearMessage(state)
  state.active = true
  state.questions = none
  state.approvals = none
  state.requestId = event.requestId
  state.provider = event.provider
  state.id = event.id
  state.model = event.model
  state.usage = event.usage ?? {}
  state.warnings = event.warnings ?? none
}

function completeMessage(state: Collector, event: Completed): void {
  const { message, finishReason, rawFinishReason, metadata, output } = event
  state.end = defined<MessageEnd>({ message, finishReason, rawFinishReason, metadata, output })
  state.active = true
  state.answers++
  if (message.toolCalls !== undefined) state.tail = tailOf(state)
  // The latest count of each field wins.
  if (event.usage !== undefined) state.usage = { ...state.usage, ...event.usage }
}

type StepCompleted = Extract<StreamEvent, { type: 'step_completed' }>

function completeStep(state: Collector, event: StepCompleted): void {
  const { response, newMessages, manualToolCalls, halt } = event
  // A fold that did not start in the middle of the answer still has it in the thread.
  const continued = event.continues === true && !state.active
  state.thread = appendMessages(
    continued ? beforeAnswer(state.thread) : state.thread,
    ...newMessages,
  )
  const step = defined<ChatStep>({
    response,
    newMessages,
    toolResults: newMessages.filter((message) => message.role === 'tool'),
    manualToolCalls,
    halt,
    continues: event.continues,
  })
  state.steps = [...state.steps, step]
  state.haltedReason = event.haltedReason
  const halts = inCallOrder(state.halts, response)
  state.questions = halts.filter(({ reason }) => reason === 'ask_user')
  state.halted = halts.filter(({ reason }) => reason !== 'ask_user' && reason !== 'approval')
  state.approvals = response.toolCalls.flatMap(
    ({ id }) => state.requested.find((request) => request.id === id) ?? [],
  )
  clearMessage(state)
}

type ExecutionCompleted = Extract<StreamEvent, { type: 'tool_execution_completed' }>

function storedResult({ id, result, outcome }: ExecutionCompleted): StoredResult {
  return defined<StoredResult>({
    toolCallId: id,
    value: 'ok' in result ? result.ok : undefined,
    parts: 'ok' in result ? result.parts : undefined,
    error: 'error' in result ? result.error : undefined,
    question:
      outcome?.type === 'ask_user'
        ? { question: outcome.question, options: outcome.options }
        : undefined,
    haltReason: outcome?.type === 'halt' ? outcome.reason : undefined,
  })
}

type ResultEncoded = Extract<StreamEvent, { type: 'tool_result_encoded' }>

function resultMessage({ id, content, interrupted, metadata }: ResultEncoded): Message {
  if (metadata?.['lateResultOf'] === id) {
    const late = lateMessage(id, content)
    return withMetadata(
      late,
      interrupted === undefined ? metadata : { ...metadata, interrupted: true },
    )
  }
  if (interrupted !== undefined) {
    // Unlike the mark of a call whose result may still come.
    return { ...withMetadata(interruptedMessage(id, interrupted), { reported: true }), content }
  }
  return withMetadata(toolMessage(id, content), metadata)
}

function withMetadata(message: Message, metadata: JsonObject | undefined): Message {
  return metadata === undefined
    ? message
    : { ...message, metadata: { ...message.metadata, ...metadata } }
}

/** Adds the answer to a call. A late one is a message of its own; it comes between two steps. */
function addToolMessage(state: Collector, message: Message): void {
  const id = message.toolCallId ?? message.metadata?.['lateResultOf']
  dropResult(state, id)
  innerFold.by?.leave(state, id)
  if (message.role !== 'tool') {
    state.thread = appendMessages(state.thread, message)
    return
  }
  state.toolMessages = [...state.toolMessages, message]
  // A run that was cut and goes on has its calls from the session.
  if (state.tail.length === 0) state.tail = tailOf(state)
  const at = itemsOf(state.tail).findIndex(({ toolCallId }) => toolCallId === id)
  if (at !== -1) state.tail = withItem(state.tail, at, message)
}

/** The result of a call is no longer needed: it is told, or asked about. */
function dropResult(state: Collector, id: unknown): void {
  state.results = state.results.filter(({ toolCallId }) => toolCallId !== id)
}

/** Marks a call that was just added. The marks are made once, so that a session costs no more for many calls than for one. */
function markCalls(state: Collector): void {
  const at = state.tail.length
  const added = at < state.calls.length ? itemAt(state.calls, at) : undefined
  if (added === undefined) return
  state.tail = withItem(state.tail, at, interruptedMessage(added.id, 'interrupted'))
}

/** The messages after the answer as it is now. */
function tailOf(state: Collector): SharedList<Message> {
  return sharedList(
    callMessages(state, currentMessage(state).toolCalls ?? none, 'interrupted', noCalls),
  )
}

/**
 * Clears the message under way and its tools. Completed steps stay.
 *
 * Written out, because it is done between the first byte of an answer and its first event: `Object.assign` takes four microseconds there.
 */
function clearMessage(state: Collector): void {
  clearDraft(state)
  state.usage = {}
  state.warnings = none
  state.end = undefined
  state.active = false
  state.started = none
  state.results = none
  state.toolMessages = none
  state.tail = noItems
  state.halts = none
  state.requested = none
}

/** A thread without its last answer and the results after it. */
function beforeAnswer(thread: Thread): Thread {
  const at = thread.messages.findLastIndex(({ role }) => role === 'assistant')
  return at === -1 ? thread : { ...thread, messages: thread.messages.slice(0, at) }
}

/** The state of a run that goes on in the middle of a step: its answer is complete, and some of its calls may be answered. */
export function midStep(
  thread: Thread,
  answer: AnswerFacts,
  message: Message,
  toolMessages: readonly Message[] = none,
): Collector {
  const { requestId, provider, id, model, usage, warnings = none } = answer
  const { finishReason, rawFinishReason, metadata } = answer
  const end = defined<MessageEnd>({ message, finishReason, rawFinishReason, metadata })
  const known = { requestId, provider, id, model, usage, warnings }
  return { ...createCollector(thread), ...known, active: true, end, toolMessages }
}

/** A response, with the validated answer that its last event had. */
export interface FoldedResponse extends ModelResponse {
  readonly output?: JsonValue
}

/**
 * The response so far. After the end of the answer it is the whole response, with the model's own `finishReason`, also if the
 * run failed after it. Before that it is partial: its message is marked `partial`, and its `finishReason` is `error` if the
 * run failed and `other` if it was left.
 *
 * Between two steps of a loop it is the last step's response.
 */
export function toResponse(state: Collector): FoldedResponse {
  const last = state.steps.at(-1)
  if (!state.active && last !== undefined && state.error === undefined) return last.response
  const { end, error } = state
  const message = currentMessage(state)
  return defined<FoldedResponse>({
    requestId: state.requestId,
    id: state.id,
    model: state.model,
    provider: state.provider,
    message,
    outputText: messageText(message),
    toolCalls: message.toolCalls ?? [],
    finishReason: end?.finishReason ?? (error === undefined ? 'other' : 'error'),
    rawFinishReason: end?.rawFinishReason,
    usage: state.usage,
    warnings: state.warnings,
    error,
    metadata: end?.metadata ?? {},
    output: end?.output,
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
  const message = said ? end.message : draftMessage(state, state.provider)
  if (!isPaused(end)) return message
  return { ...message, metadata: { ...message.metadata, paused: true } }
}

/** The step so far. Its thread can always be sent: open calls are answered by marked messages. */
export function toStepResult(state: Collector): StepResult {
  const last = state.steps.at(-1)
  if (last !== undefined && !state.active) {
    const { newMessages: _added, continues: _continues, ...step } = last
    return { ...step, thread: state.thread, done: isDone(last) && !asksAgain(last.newMessages) }
  }
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
  if (state.result !== undefined) return { ...state.result, thread: state.thread }
  const { error, active, steps } = state
  const failed = error !== undefined && !isCancellation(error)
  const finalResponse = active || steps.length > 0 ? toResponse(state) : undefined
  return defined<ChatResult>({
    thread: appendMessages(state.thread, ...(active ? partialMessages(state) : leftOpen(state))),
    outputText: turnText(state, finalResponse),
    finalResponse,
    steps,
    haltedReason: failed ? 'error' : 'cancelled',
    pendingApprovals: [],
    manualToolCalls: [],
    error,
    usage: totalUsage(state),
    innerAnswers: state.innerAnswers,
    metadata: {},
  })
}

/** Marked answers to the calls that a completed step left open. */
function leftOpen({ steps }: Collector): readonly Message[] {
  const { response, newMessages = none } = steps.at(-1) ?? {}
  const answered = new Set(newMessages.map(({ toolCallId }) => toolCallId))
  const open = (response?.toolCalls ?? none).filter(({ id }) => !answered.has(id))
  return open.map(({ id }) => interruptedMessage(id, 'interrupted'))
}

/** Everything that a run used: its own usage, and what agents inside its calls used and have not told. */
export function totalUsage(state: Collector): Usage {
  return addUsage(ownUsage(state), innerFold.by?.usage(state) ?? {})
}

/** The usage of every step, of the message under way, and of what came before a cut. */
export function ownUsage(state: Collector): Usage {
  let total = state.spent
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
  const { tail } = state
  const known = reason === 'interrupted' && open.size === 0 && tail.length === calls.length
  return [message, ...(known ? itemsOf(tail) : callMessages(state, calls, reason, open))]
}

/** A message for each call: its result, or a mark. */
function callMessages(
  { toolMessages, tail }: Collector,
  calls: readonly ToolCall[],
  reason: InterruptedReason,
  open: ReadonlySet<string>,
): readonly Message[] {
  const answers = new Map(toolMessages.map((answer) => [answer.toolCallId, answer]))
  const messages: Message[] = []
  calls.forEach(({ id }, index) => {
    const answer = answers.get(id)
    const mark = itemAt(tail, index)
    if (answer !== undefined) messages.push(answer)
    else if (open.has(id)) return
    else if (reason === 'interrupted' && mark?.toolCallId === id) messages.push(mark)
    else messages.push(interruptedMessage(id, reason))
  })
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
export function isCancellation(error: { readonly kind: string; readonly reason: string }): boolean {
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

/** Whether no model call follows a step: something halted or waits, or there was nothing to run. */
export function isDone(step: Pick<StepResult, 'response' | 'manualToolCalls' | 'halt'>): boolean {
  const { response, manualToolCalls, halt } = step
  if (halt !== undefined || awaits(response)) return true
  return manualToolCalls.length === 0 && !runsTools(response) && !isPaused(response)
}

/** Whether messages end with one of the loop, or a late result, which asks the model again. */
export function asksAgain(messages: readonly Message[]): boolean {
  const { metadata } = messages.at(-1) ?? {}
  return ['structuredFinalize', 'repair', 'lateResultOf'].some((mark) => metadata?.[mark])
}

/** Why a loop rests after an answer that asks for no further model call. */
export function restingReason(response: ModelResponse): HaltedReason {
  if (awaits(response)) return 'provider_item'
  return response.finishReason === 'error' ? 'error' : 'completed'
}

/** Whether the caller has to answer an item of the provider, such as a request for approval. */
function awaits({ metadata }: ModelResponse): boolean {
  return metadata['awaits'] !== undefined
}

/** Whether the provider paused in the middle of its answer. It goes on when the answer is sent back. */
function isPaused({
  finishReason,
  metadata,
}: Pick<MessageEnd, 'finishReason' | 'metadata'>): boolean {
  return finishReason === 'other' && metadata?.['paused'] === true
}

/**
 * The text of a turn: that of its last answer, after that of the answers in which the provider paused before it.
 *
 * They are found in the thread, so that a run that was cut and goes on has them too.
 */
export function turnText({ thread, active }: Collector, last: ModelResponse | undefined): string {
  if (last === undefined) return ''
  const { messages } = thread
  let at = active ? messages.length : messages.findLastIndex(({ role }) => role === 'assistant')
  // An empty answer is not in the thread.
  if (!active && wasPaused(messages[at]) && !isPaused(last)) at++
  let text = last.outputText
  for (let before = messages[--at]; before && wasPaused(before); before = messages[--at]) {
    text = messageText(before) + text
  }
  return text
}

function wasPaused(message: Message | undefined): boolean {
  return message?.role === 'assistant' && message.metadata?.['paused'] === true
}

/** Halts in the order of the calls of an answer. */
export function inCallOrder(
  halts: readonly ToolHalt[],
  { toolCalls }: Pick<ModelResponse, 'toolCalls'>,
): readonly ToolHalt[] {
  if (halts.length < 2) return halts
  const placeOf = ({ toolCallId }: ToolHalt): number => {
    const own = toolCalls.findIndex(({ id }) => id === toolCallId)
    return own === -1 ? toolCalls.findIndex(({ id }) => toolCallId.startsWith(`${id}/`)) : own
  }
  return halts.toSorted((a, b) => placeOf(a) - placeOf(b))
}

/** The error that stopped a run, with the partial result. A value that is not an error of the library stays as it is. */
export function withPartial(
  error: unknown,
  state: Collector,
  project: (state: Collector) => PartialResult,
): unknown {
  if (isAllmError(error))
    error.partial = project({ ...state, error: state.error ?? error.toJSON() })
  return error
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
