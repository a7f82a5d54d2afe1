import {
  clearMessage,
  foldModelEvent,
  idOf,
  isCancellation,
  isPaused,
  none,
  partialMessages,
  proposed,
  toResponse,
  type Collector,
  type FoldedCall,
  type InnerRun,
} from '../../core/answer/fold-answer.ts'
import { itemAt, itemsOf, placeOf, withKeyed } from '../../core/base/shared-list.ts'
import type { Approval } from '../../core/contracts/options.ts'
import { AdapterError } from '../../core/errors/errors.ts'
import {
  askedMessage,
  interruptedMessage,
  lateMessage,
  lateResultOf,
  resultState,
  toolMessage,
} from '../../core/messages/tool-messages.ts'
import type { ErrorData } from '../../core/types/error-data.ts'
import {
  innerEvent,
  innerSession,
  type HandlerSignal,
  type StreamEvent,
} from '../../core/types/events.ts'
import { defined, merged } from '../../core/types/guards.ts'
import type { JsonObject } from '../../core/types/json.ts'
import {
  appendMessages,
  endedByItself,
  messageText,
  type Message,
  type Thread,
  type ToolCall,
} from '../../core/types/message.ts'
import {
  addUsage,
  answerUsage,
  brokenOff,
  type AnswerUsage,
  type ModelResponse,
  type Usage,
} from '../../core/types/response.ts'
import type {
  ChatOutcome,
  ChatResult,
  ChatStep,
  HaltedReason,
  PendingApproval,
  StepResult,
  ToolHalt,
} from '../../core/types/results.ts'
import type {
  CallHalt,
  CallResult,
  SavedCall,
  SavedCalls,
  Session,
} from '../../core/types/session.ts'
import { toApproval } from '../calls/decided.ts'
import { pastCalls } from '../calls/kept.ts'
import { enterInner } from './restore.ts'

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
      const { toolCallId, reason, at: since, expiresAt } = event
      if (isInnerCall(state, toolCallId)) break
      const halt = { reason: 'approval' }
      changeCall(state, toolCallId, { state: 'awaiting_approval', reason, since, expiresAt, halt })
      break
    }
    case 'tool_execution_started':
      startCall(state, event)
      break
    case 'tool_progress':
      if (event.inner !== undefined) foldInner(state, event)
      break
    case 'tool_execution_completed':
      leaveInner(state, event.id)
      endCall(state, event)
      break
    case 'tool_result_encoded':
      addToolMessage(state, event.id, resultMessage(event), event.halt)
      break
    case 'ask_user_requested':
      if (!isInnerCall(state, event.toolCallId)) askUser(state, event)
      break
    case 'tool_halt': {
      const { toolCallId, reason, result, content, metadata } = event
      const message = withMetadata(toolMessage(toolCallId, content), metadata)
      addToolMessage(state, toolCallId, message, { reason, result })
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

/** The record of a call: of the answer, or of an earlier one. */
export function recordOf(state: Collector, id: string): FoldedCall | undefined {
  const at = placeOf(state.records, id, idOf)
  return at === undefined ? state.earlier.find((call) => call.id === id) : itemAt(state.records, at)
}

/** All records: those of earlier answers first. */
export function allRecords({ earlier, records }: Collector): readonly FoldedCall[] {
  return [...earlier, ...itemsOf(records)]
}

/** What changes of a call. A member that is `undefined` is not there any more. */
type CallChange = { readonly [Key in keyof FoldedCall]?: FoldedCall[Key] | undefined }

/** Changes the record of a call. A call that the fold has not seen before, as of a runner without a model, gets one. */
function changeCall(state: Collector, id: string, change: CallChange): void {
  const changed = (call: FoldedCall): FoldedCall => withChange(call, change)
  const known = placeOf(state.records, id, idOf)
  const call = known === undefined ? undefined : itemAt(state.records, known)
  const isEarlier = call === undefined && state.earlier.some((one) => one.id === id)
  if (isEarlier) {
    state.earlier = state.earlier.map((one) => (one.id === id ? changed(one) : one))
    return
  }
  // A thread that ends with open calls has their records only when it is asked for them.
  const at = known ?? state.records.length
  state.records = withKeyed(state.records, at, changed(call ?? proposed(id)), idOf)
}

/** Each event of a call changes its record: in one pass, without an object between. */
function withChange(call: FoldedCall, change: CallChange): FoldedCall {
  const next: Record<string, unknown> = {}
  for (const key in call) if (!(key in change)) next[key] = call[key as keyof FoldedCall]
  for (const key in change) {
    const value = change[key as keyof FoldedCall]
    if (value !== undefined) next[key] = value
  }
  // A change never takes the id or a state away.
  return next as unknown as FoldedCall
}

/** The tool messages of the step under way, in the order of the calls. */
export function stepResults({ records }: Collector): readonly Message[] {
  return itemsOf(records).flatMap(({ message }) => message ?? [])
}

/** Notes what was decided about a call that is open. */
export function decideCall(state: Collector, { id }: ToolCall, approval: Approval): void {
  const kept = toApproval(approval)
  changeCall(state, id, { state: kept.decision, approval: kept })
}

type ExecutionStarted = Extract<StreamEvent, { type: 'tool_execution_started' }>

function startCall(state: Collector, event: ExecutionStarted): void {
  const { id, at: startedAt, timeoutMs, idempotent } = event
  renewCall(state, id)
  changeCall(state, id, {
    state: 'running',
    startedAt,
    timeoutMs,
    idempotent,
    since: undefined,
    expiresAt: undefined,
    endedAt: undefined,
    error: undefined,
    result: undefined,
    halt: undefined,
    rests: undefined,
  })
}

/** A call that has its answer, and gets another one, is another call with the same id, as a runner without a model may be given. */
function renewCall(state: Collector, id: string): void {
  const at = placeOf(state.records, id, idOf)
  const call = at === undefined ? undefined : itemAt(state.records, at)
  if (call?.told !== 'result') return
  state.records = withKeyed(state.records, state.records.length, proposed(id), idOf)
}

type ExecutionCompleted = Extract<StreamEvent, { type: 'tool_execution_completed' }>

/** The handler of a call has ended. A call asks when its question is told. */
function endCall(state: Collector, { id, result, outcome, at: endedAt }: ExecutionCompleted): void {
  if ('error' in result) {
    const { error } = result
    changeCall(state, id, { state: 'failed', error, endedAt })
    return
  }
  const question = outcome?.type === 'ask_user' ? outcome : undefined
  const left = defined<CallResult>({
    value: result.ok,
    parts: result.parts,
    question: question && questionOf(question),
    haltReason: outcome?.type === 'halt' ? outcome.reason : undefined,
  })
  const next = question === undefined ? 'done' : 'running'
  changeCall(state, id, { state: next, result: left, endedAt })
}

function questionOf({
  question,
  options,
  expiresInMs,
}: Extract<HandlerSignal, { type: 'ask_user' }>): NonNullable<CallResult['question']> {
  return defined({ question, options, expiresInMs })
}

type Asked = Extract<StreamEvent, { type: 'ask_user_requested' }>

function askUser(state: Collector, event: Asked): void {
  const { toolCallId, question: text, options, metadata, at: since, expiresAt } = event
  leaveInner(state, toolCallId)
  // A late question has no place in the thread: the model was told that there is no result yet.
  const isLate = lateResultOf(event) === toolCallId
  const asked = withMetadata(askedMessage(toolCallId), metadata)
  changeCall(state, toolCallId, {
    state: 'asking',
    message: isLate ? undefined : asked,
    question: { text, options },
    result: undefined,
    since,
    expiresAt,
    halt: { reason: 'ask_user' },
  })
}

type Progress = Extract<StreamEvent, { type: 'tool_progress' }>

/** Whether an id is that of a call inside an agent, and not of a call of the answer. */
function isInnerCall(state: Collector, id: string): boolean {
  if (!id.includes('/') || recordOf(state, id) !== undefined) return false
  return allRecords(state).some(({ id: callId, inner }) => {
    return inner !== undefined && id.startsWith(`${callId}/`)
  })
}

/** Folds what an agent inside a call reports: where it goes on from, or an event of its own. */
function foldInner(state: Collector, progress: Progress): void {
  const { id: callId } = progress
  const base = innerSession(progress)
  const known = recordOf(state, callId)?.inner
  if (base !== undefined) {
    // A call that is entered again has the same inner session, which knows what it used.
    if (known !== undefined && known.base.id !== base.id) leaveInner(state, callId)
    const inner = { ...enterInner(base), entered: true }
    changeCall(state, callId, { inner })
    return
  }
  const event = innerEvent(progress)
  if (known === undefined || event === undefined) return
  const next = applyEvent(known.state, event)
  changeCall(state, callId, { inner: { ...known, state: next } })
  const told = [...answersSince(known.state, next), ...answerOf(known.state, event)]
  if (told.length > 0) state.innerAnswers = [...(state.innerAnswers ?? []), ...told]
  // What a result tells is not in the inner session any more.
  if (event.type === 'chat_completed') state.spent = addUsage(state.spent, event.result.usage)
}

/** What agents further inside have used by an event. */
function answersSince(before: Collector, after: Collector): readonly AnswerUsage[] {
  return (after.innerAnswers ?? []).slice(before.innerAnswers?.length ?? 0)
}

/**
 * What the answer of a step used, or one that broke off. What was not reported is not known, except of a step that goes on with an
 * answer: that was counted before.
 */
function answerOf(before: Collector, event: StreamEvent): readonly AnswerUsage[] {
  const brokeOff = event.type === 'error' && before.active && before.end === undefined
  if (event.type !== 'step_completed' && !brokeOff) return []
  const answer = answerUsage(event.type === 'step_completed' ? event.response : before)
  const continues = event.type === 'step_completed' && event.continues === true
  if (continues && Object.keys(answer.usage).length === 0) return []
  const failed = event.type === 'step_completed' ? brokenOff(event.response).map(answerUsage) : []
  // Answers that broke off before it are not part of the usage of the run, so they are told with it and not beside it.
  const told = { ...answer, metadata: { fallback: { failed } } }
  return [failed.length === 0 ? answer : told]
}

/** The call has its answer: of its inner run only the usage is kept. */
function leaveInner(state: Collector, id: string): void {
  const inner = recordOf(state, id)?.inner
  if (inner === undefined) return
  changeCall(state, id, { inner: undefined, rests: undefined, inside: pastOf(inner) })
  state.spent = addUsage(state.spent, untoldUsage(inner))
}

/** What is kept of the calls of an inner run that is over. */
function pastOf({ base, state }: InnerRun): SavedCalls | undefined {
  const records = allRecords(state).map(({ id, inner, ...record }): [string, SavedCall] => {
    const inside = inner === undefined ? record.inside : pastOf(inner)
    return [id, defined<SavedCall>(merged(record, { inside }))]
  })
  const messages = [...state.thread.messages, ...partialMessages(state)]
  return pastCalls([...Object.entries(base.calls ?? {}), ...records], messages)
}

/** What an inner run used, as far as no result of it has told. */
function untoldUsage({ state }: Pick<InnerRun, 'state'>): Usage {
  return state.result === undefined ? totalUsage(state) : {}
}

/** Pending work of inner agents. Their call ids are prefixed with the id of the outer call. */
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
  const waiting = new Set<string>()
  const halts: ToolHalt[] = []
  const approvals: PendingApproval[] = []
  const manual: ToolCall[] = []
  for (const { callId, at } of waitingAgents(state)) {
    const { pendingQuestion: question, pendingToolCallId: asking } = at
    waiting.add(callId)
    const idOf = (id: string): string => `${callId}/${id}`
    const own = at.pendingApprovals.map((call) => ({ ...call, id: idOf(call.id) }))
    approvals.push(...own)
    manual.push(...at.manualToolCalls.map((call) => ({ ...call, id: idOf(call.id) })))
    if (asking !== undefined) {
      const options = at.pendingQuestionOptions
      const toolCallId = idOf(asking)
      halts.push(defined<ToolHalt>({ reason: 'ask_user', toolCallId, question, options }))
    }
    const [first] = own
    if (first !== undefined) halts.push({ reason: 'approval', toolCallId: first.id })
  }
  return { waiting, halts, approvals, manual }
}

/** An agent inside a call that waits for somebody. */
interface WaitingAgent {
  readonly callId: string
  /** The session that its run went on from. */
  readonly base: Session
  /** The result of its run. Absent if it has no event since it was entered again: then it waits as its session says. */
  readonly told: ChatOutcome | undefined
  readonly at: Pick<
    ChatOutcome,
    | 'pendingQuestion'
    | 'pendingToolCallId'
    | 'pendingQuestionOptions'
    | 'pendingApprovals'
    | 'manualToolCalls'
  >
}

/** The agents that this run has entered and that wait for somebody. */
export function waitingAgents(state: Collector): readonly WaitingAgent[] {
  return innerRuns(state).flatMap(({ callId, base, state: within, entered }) => {
    const told = within.result
    const at = told ?? { ...base, manualToolCalls: base.pendingToolCalls }
    const isNew = entered && (told !== undefined || within.count === 0)
    const count = at.pendingApprovals.length + at.manualToolCalls.length
    const waits = at.pendingToolCallId !== undefined || count > 0
    return isNew && waits ? { callId, base, told, at } : []
  })
}

/** The runs of agents inside calls, with their calls. */
export function innerRuns(state: Collector): readonly (InnerRun & { readonly callId: string })[] {
  const found: (InnerRun & { readonly callId: string })[] = []
  for (const { id, inner } of allRecords(state)) {
    if (inner !== undefined) found.push({ ...inner, callId: id })
  }
  return found
}

/** Why calls stop the loop, in the order of the calls. */
export function haltsOf(records: readonly FoldedCall[]): readonly ToolHalt[] {
  return records.flatMap(({ id: toolCallId, halt, question }) => {
    if (halt === undefined) return []
    if (halt.reason !== 'ask_user') return { ...halt, toolCallId }
    const { text, options } = question ?? {}
    return defined<ToolHalt>({ reason: 'ask_user', toolCallId, question: text, options })
  })
}

/** Why calls of the last answer stop the loop, in the order of the calls. */
export function stepHalts({ records }: Collector): readonly ToolHalt[] {
  return haltsOf(itemsOf(records))
}

/** The calls of the last answer that wait for approval, in the order of the calls. */
export function requestedCalls({ records, end, steps }: Collector): readonly PendingApproval[] {
  const calls = end?.message.toolCalls ?? steps.at(-1)?.response.toolCalls ?? none
  const waiting = itemsOf(records).filter(({ state }) => state === 'awaiting_approval')
  if (waiting.length === 0) return none
  const known = new Map(calls.map((call) => [call.id, call]))
  return waiting.flatMap(({ id, reason }) => {
    const call = known.get(id)
    return call === undefined ? [] : defined<PendingApproval>(Object.assign({}, call, { reason }))
  })
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
  Object.freeze(state.thread.messages)
  const step = defined<ChatStep>({
    response,
    newMessages,
    toolResults: Object.freeze(newMessages.filter((message) => message.role === 'tool')),
    manualToolCalls,
    halt,
    continues: event.continues,
  })
  // Hooks see the steps. Those that are there already are not copied for each.
  state.steps = Object.freeze([...state.steps, Object.freeze(step)])
  state.haltedReason = event.haltedReason
  for (const { id } of manualToolCalls) {
    if (isInnerCall(state, id)) continue
    changeCall(state, id, { state: 'awaiting_result', since: event.at })
  }
  for (const message of newMessages) {
    const id = lateResultOf(message)
    if (id !== undefined) changeKnown(state, id, { told: 'result' })
  }
  clearMessage(state)
}

/** Changes a record that the fold has. */
function changeKnown(state: Collector, id: string, change: CallChange): void {
  if (recordOf(state, id) !== undefined) changeCall(state, id, change)
}

type ResultEncoded = Extract<StreamEvent, { type: 'tool_result_encoded' }>

function resultMessage(event: ResultEncoded): Message {
  const { id, content, interrupted, metadata } = event
  if (lateResultOf(event) === id) {
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
function addToolMessage(
  state: Collector,
  id: string,
  message: Message,
  halt: CallHalt | undefined,
): void {
  leaveInner(state, id)
  const isLate = message.role !== 'tool'
  if (isLate) state.thread = appendMessages(state.thread, message)
  else renewCall(state, id)
  changeCall(state, id, {
    state: resultState(message),
    told: 'result',
    ...(isLate ? undefined : { message }),
    result: undefined,
    halt:
      halt && defined<CallHalt>({ reason: halt.reason, result: halt.result, error: halt.error }),
  })
}

/** A thread without its last answer and the results after it. */
function beforeAnswer(thread: Thread): Thread {
  const at = thread.messages.findLastIndex(({ role }) => role === 'assistant')
  return at === -1 ? thread : { ...thread, messages: thread.messages.slice(0, at) }
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
  return innerRuns(state).reduce((sum, run) => addUsage(sum, untoldUsage(run)), ownUsage(state))
}

/** The usage of every step, of the message under way, and of what came before a cut. */
export function ownUsage(state: Collector): Usage {
  let total = state.spent
  for (const { response } of state.steps) total = addUsage(total, response.usage)
  return addUsage(total, state.usage)
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

/** Whether no model call follows a step: something halted or waits, or there was nothing to run. */
export function isDone(step: Pick<StepResult, 'response' | 'manualToolCalls' | 'halt'>): boolean {
  const { response, manualToolCalls, halt } = step
  if (halt !== undefined || awaits(response)) return true
  return manualToolCalls.length === 0 && !runsTools(response) && !isPaused(response)
}

/** Whether messages end with one of the loop, or a late result, which asks the model again. */
export function asksAgain(messages: readonly Message[]): boolean {
  const last = messages.at(-1)
  if (last === undefined) return false
  const { metadata } = last
  return (
    lateResultOf(last) !== undefined ||
    ['structuredFinalize', 'repair'].some((mark) => metadata?.[mark])
  )
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

/**
 * The text of a turn: that of its last answer, after that of the answers in which the provider paused before it.
 *
 * They are found in the thread, so that a run that was cut and goes on has them too.
 */
export function turnText({ thread, active }: Collector, last: ModelResponse | undefined): string {
  if (last === undefined) return ''
  const { messages } = thread
  let at = active ? messages.length : messages.findLastIndex(({ role }) => role === 'assistant')
  // An answer that said nothing is not in the thread.
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

/** Of several halts: a question, then an approval, then the one whose call comes first. */
export function firstHalt(halts: readonly ToolHalt[]): ToolHalt | undefined {
  const of = (reason: string): ToolHalt | undefined => halts.find((halt) => halt.reason === reason)
  return of('ask_user') ?? of('approval') ?? halts[0]
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
