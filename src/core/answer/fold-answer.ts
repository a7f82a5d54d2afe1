import {
  itemAt,
  itemsOf,
  noItems,
  sharedList,
  withKeyed,
  type SharedList,
} from '../base/shared-list.ts'
import { errorFromJSON } from '../errors/error-json.ts'
import { isAllmError, type AllmError } from '../errors/errors.ts'
import { interruptedMessage, resultState } from '../messages/tool-messages.ts'
import type { CallState, CallTold } from '../types/call.ts'
import type { ErrorData } from '../types/error-data.ts'
import type { InterruptedReason, ModelEvent, StreamEvent } from '../types/events.ts'
import { assertNever, defined } from '../types/guards.ts'
import type { JsonValue } from '../types/json.ts'
import {
  endedByItself,
  messageText,
  type Message,
  type Thread,
  type ToolCall,
} from '../types/message.ts'
import type { AnswerUsage, ModelResponse, Usage } from '../types/response.ts'
import type { ChatOutcome, ChatStep, HaltedReason, PartialResult } from '../types/results.ts'
import type { AnswerFacts, SavedCall, Session } from '../types/session.ts'
import type { Warning } from '../types/warning.ts'
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
} from './message-builder.ts'

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
  /** The name of the engine whose answer is under way. */
  agent: string | undefined
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
  /** The calls of the answer under way, or of the last completed step, in the order of the answer. */
  records: SharedList<FoldedCall>
  /** The calls of earlier answers that have no result, or that somebody was asked about. */
  earlier: readonly FoldedCall[]
  /** The number of completed answers. */
  answers: number
  steps: readonly ChatStep[]
  /** Why the loop ends, as in its last step. */
  haltedReason: HaltedReason | undefined
  result: ChatOutcome | undefined
  /** What the agents inside calls have used since the run was entered, answer by answer. */
  innerAnswers?: readonly AnswerUsage[]
}

/** A call as the events of a run have left it. */
export interface FoldedCall extends Omit<SavedCall, 'inner'> {
  readonly id: string
  readonly state: CallState
  readonly told: CallTold
  /** The message behind its answer: its result, or the placeholder of its question. */
  readonly message?: Message
  /** The message that stands for it until then. */
  readonly mark?: Message
  readonly inner?: InnerRun
}

/** The run of an agent inside a call. */
export interface InnerRun {
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
    earlier: none,
    answers: 0,
    steps: none,
    haltedReason: undefined,
    result: undefined,
  }
}

/** What the state has of a message and its tools before the message starts. */
function noMessage() {
  // A spread with so many keys after it costs 25 µs on Node 20, and every answer needs two.
  return Object.assign(messageDraft(), {
    agent: undefined,
    usage: {},
    warnings: none,
    end: undefined,
    active: false,
    records: noItems,
  } satisfies Partial<Collector>)
}

/** Lists in a state are replaced and never changed, so all states share the empty one. */
export const none: readonly never[] = Object.freeze([])

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
      addRecord(state)
      return
    case 'tool_call_delta':
      growCall(state, event.id, event.argumentsDelta)
      addRecord(state)
      return
    case 'tool_call_completed':
      setCall(state, event.call)
      addRecord(state)
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
  leaveCalls(state)
  state.active = true
  state.requestId = event.requestId
  state.provider = event.provider
  state.id = event.id
  state.model = event.model
  state.agent = event.agent
  state.usage = event.usage ?? {}
  state.warnings = event.warnings ?? none
}

function completeMessage(state: Collector, event: Completed): void {
  const { message, finishReason, rawFinishReason, metadata, output } = event
  state.end = defined<MessageEnd>({ message, finishReason, rawFinishReason, metadata, output })
  state.active = true
  state.answers++
  if (message.toolCalls !== undefined || state.records.length > 0) {
    state.records = recordsOf(currentMessage(state), state)
  }
  // The latest count of each field wins.
  if (event.usage !== undefined) state.usage = { ...state.usage, ...event.usage }
}

/** Adds the record of a call that was just added to the answer, so that a session costs no more for many calls than for one. */
function addRecord(state: Collector): void {
  const at = state.records.length
  const added = at < state.calls.length ? itemAt(state.calls, at) : undefined
  if (added === undefined) return
  state.records = withKeyed(state.records, at, proposed(added.id), idOf)
}

/** A call that the model made, and about which nothing is known. */
export function proposed(id: string): FoldedCall {
  return { id, state: 'proposed', told: 'no', mark: interruptedMessage(id, 'interrupted') }
}

/** The id of a record. */
export function idOf({ id }: FoldedCall): string {
  return id
}

/** The records of the calls of a message: those that are known, and new ones. */
function recordsOf({ toolCalls = none }: Message, { records }: Collector): SharedList<FoldedCall> {
  const known = new Map(itemsOf(records).map((record) => [record.id, record]))
  return sharedList(toolCalls.map(({ id }) => known.get(id) ?? proposed(id)))
}

/** A model is asked: of the calls before, those are kept that have no result, or that somebody was asked about. */
function leaveCalls(state: Collector): void {
  const { records, earlier } = state
  if (records.length === 0) return
  const kept = itemsOf(records).filter((record) => isOpenCall(record) || isNoted(record))
  state.earlier = [...earlier, ...kept]
  state.records = noItems
}

/** Whether a call has no result yet, and something is known of it. */
function isOpenCall({ state, told }: FoldedCall): boolean {
  return told !== 'result' && state !== 'proposed'
}

/** Whether somebody was asked about a call, or about one inside of it. */
export function isNoted({
  settled,
  inside,
  approval,
  question,
}: Pick<SavedCall, 'settled' | 'inside' | 'approval' | 'question'>): boolean {
  return [settled, inside, approval, question].some((member) => member !== undefined)
}

/**
 * Clears the message under way. Completed steps stay, and so do the records of its calls.
 *
 * Written out, because it is done between the first byte of an answer and its first event: `Object.assign` takes four microseconds there.
 */
export function clearMessage(state: Collector): void {
  clearDraft(state)
  state.agent = undefined
  state.usage = {}
  state.warnings = none
  state.end = undefined
  state.active = false
}

/**
 * The state of a run that goes on in the middle of a step: its answer is complete, and some of its calls may be answered. A call is known by
 * its record, or by the message behind the answer.
 */
export function midStep(
  thread: Thread,
  answer: AnswerFacts,
  message: Message,
  recordOf: (call: ToolCall) => FoldedCall,
): Collector {
  const { requestId, provider, id, model, usage, warnings = none } = answer
  const { finishReason, rawFinishReason, metadata } = answer
  const end = defined<MessageEnd>({ message, finishReason, rawFinishReason, metadata })
  const known = { requestId, provider, id, model, usage, warnings, agent: message.agent }
  const records = sharedList((message.toolCalls ?? none).map(recordOf))
  return { ...createCollector(thread), ...known, active: true, end, records }
}

/** The record of a call that is known by the message behind its answer only. */
export function recordBy(id: string, message: Message | undefined): FoldedCall {
  if (message === undefined) return proposed(id)
  return { ...proposed(id), state: resultState(message), told: 'result', message }
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
  const { end, agent } = state
  const drafted = (metadata: Message['metadata']): Message =>
    defined<Message>({ ...draftMessage(state, state.provider), agent, metadata })
  if (end === undefined) return drafted({ partial: true })
  const said = end.message.content.length > 0 || end.message.toolCalls !== undefined
  // A simple adapter may leave the message empty and rely on the fold.
  const message = said ? end.message : drafted(end.message.metadata)
  const finishReason = notedReason(end)
  const isWhole = message.finishReason === finishReason && message.agent === agent
  if (isWhole && !isPaused(end)) return message
  const metadata = isPaused(end) ? { ...message.metadata, paused: true } : message.metadata
  return defined<Message>({ ...message, finishReason, agent, metadata })
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
  // An answer that said nothing is not in the thread, unless something kept it from ending by itself.
  const isKept = message.content.length > 0 || message.finishReason !== undefined
  if (calls.length === 0) return isKept ? [message] : []
  const reason = interruptedReason(state)
  return [message, ...callMessages(state, calls, reason, open)]
}

/** A message for each call: its result, or a mark. */
function callMessages(
  { records }: Collector,
  calls: readonly ToolCall[],
  reason: InterruptedReason,
  open: ReadonlySet<string>,
): readonly Message[] {
  const known = itemsOf(records)
  return calls.flatMap(({ id }, index) => {
    const { message, mark } = known[index] ?? {}
    if (message !== undefined) return message
    if (open.has(id)) return []
    return reason === 'interrupted' && mark !== undefined ? mark : interruptedMessage(id, reason)
  })
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

/** Why an answer ended, as its message notes it: nothing if it ended by itself, or goes on in the next message. */
export function notedReason(
  end: Pick<MessageEnd, 'finishReason' | 'metadata'>,
): Message['finishReason'] {
  const { finishReason } = end
  return endedByItself(finishReason) || isPaused(end) ? undefined : finishReason
}

/** Whether the provider paused in the middle of its answer. It goes on when the answer is sent back. */
export function isPaused({
  finishReason,
  metadata,
}: Pick<MessageEnd, 'finishReason' | 'metadata'>): boolean {
  return finishReason === 'other' && metadata?.['paused'] === true
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

/** Folds a list of a model's events. A final `error` event is thrown, with the partial response. */
export function collectEventsSync(events: readonly ModelEvent[]): ModelResponse {
  const state = createCollector()
  for (const event of events) foldModelEvent(state, event)
  const response = toResponse(state)
  if (response.error !== undefined) throw failureOf(response.error, response)
  return response
}
