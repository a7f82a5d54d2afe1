import { deniedReason, isNotYet, isMark } from '../../core/messages/tool-messages.ts'
import type {
  CallApproval,
  CallNote,
  CallQuestion,
  CallState,
  CallTold,
} from '../../core/types/call.ts'
import type { ErrorData } from '../../core/types/error-data.ts'
import { defined, isObject } from '../../core/types/guards.ts'
import type { JsonObject } from '../../core/types/json.ts'
import type { Message, ToolCall } from '../../core/types/message.ts'
import type { ToolHalt } from '../../core/types/results.ts'
import type { CallDecision, CallRecord, Session, StoredResult } from '../../core/types/session.ts'
import { pendingCalls } from './pending.ts'
import { questionsOf } from './places.ts'

/**
 * Every call of a session, in the order of its thread. The calls of an agent inside a call follow that call, as `outer/inner`, for as
 * long as it has no result.
 *
 * An id that comes again in a thread is another call. Only the last one can wait.
 */
export function callRecords(session: Session): readonly CallRecord[] {
  const tickets = new Map(pendingCalls(session).map(({ call, ticket }) => [call.id, ticket]))
  const records: CallRecord[] = []
  const add = (list: readonly CallRecord[], prefix: string): void => {
    for (const record of list) {
      const id = prefix + record.id
      const ticket = record.state in waiting ? tickets.get(id) : undefined
      records.push(defined<CallRecord>({ ...record, id, ticket }))
      if (record.inner !== undefined) add(ownRecords(record.inner), `${id}/`)
    }
  }
  add(ownRecords(session), '')
  return records
}

/** The states of a call that waits for somebody; an approved call whose tool is gone waits for another decision. */
const waiting: { readonly [State in CallState]?: true } = {
  awaiting_approval: true,
  asking: true,
  awaiting_result: true,
  approved: true,
}

/** The calls of a session itself, without those of agents inside and without tickets. */
export function ownRecords(session: Session): readonly CallRecord[] {
  const facts = callFacts(session)
  const placed = placedCalls(session)
  const last = new Map(placed.map((place) => [place.call.id, place]))
  return placed.map((place) =>
    recordOf(place, last.get(place.call.id) === place ? facts : undefined),
  )
}

/** A call in a thread, with the messages about it. */
interface PlacedCall {
  readonly call: ToolCall
  /** The tool message behind its answer. */
  answer?: Message
  /** The result that came after the model was told that there is none yet. */
  late?: Message
  /** Such a result that is not in the thread yet. */
  waiting?: Message
  /** Only tool messages follow its answer. */
  isOpen: boolean
}

function placedCalls({ thread, run }: Session): readonly PlacedCall[] {
  const placed: PlacedCall[] = []
  const last = new Map<string, PlacedCall>()
  let answer: PlacedCall[] = []
  for (const message of thread.messages) {
    const { role, toolCalls = [], toolCallId, metadata } = message
    if (role === 'tool') {
      const call = last.get(toolCallId ?? '')
      if (call?.isOpen === true) call.answer = message
      continue
    }
    for (const call of answer) call.isOpen = false
    answer = toolCalls.map((call) => ({ call, isOpen: true }))
    for (const call of answer) last.set(call.call.id, call)
    placed.push(...answer)
    const late = last.get(lateId(metadata))
    if (late !== undefined) late.late = message
  }
  for (const message of run?.late ?? []) {
    const call = last.get(lateId(message.metadata))
    if (call !== undefined) call.waiting = message
  }
  return placed
}

function lateId(metadata: JsonObject | undefined): string {
  const id = metadata?.['lateResultOf']
  return typeof id === 'string' ? id : ''
}

/** What a session knows of its open calls beside the thread, by id. */
interface CallFacts {
  readonly hasRun: boolean
  readonly notes: Readonly<Record<string, CallNote>>
  readonly results: ReadonlyMap<string, StoredResult>
  readonly questions: ReadonlyMap<string, ToolHalt>
  readonly decisions: ReadonlyMap<string, CallDecision>
  readonly started: ReadonlySet<string>
  readonly requested: ReadonlySet<string>
  readonly approvals: ReadonlySet<string>
  readonly manual: ReadonlySet<string>
  readonly inner: Readonly<Record<string, Session>>
  /** A run that waited has told these marks. */
  readonly isWaiting: boolean
}

function callFacts(session: Session): CallFacts {
  const { run, calls = {}, pendingApprovals, pendingToolCalls } = session
  const { halts = [], results = [], decisions = [], started = [], requested = [] } = run ?? {}
  const asked = [...questionsOf(session), ...halts.filter(({ reason }) => reason === 'ask_user')]
  const phase = run?.phase
  return {
    hasRun: phase !== undefined && phase !== 'between',
    notes: calls,
    results: new Map(results.map((result) => [result.toolCallId, result])),
    questions: new Map(asked.map((halt) => [halt.toolCallId, halt])),
    decisions: new Map(decisions.map((decision) => [decision.call.id, decision])),
    started: new Set(started),
    requested: idsOf(requested),
    approvals: idsOf(pendingApprovals),
    manual: idsOf(pendingToolCalls),
    inner: run?.inner ?? {},
    isWaiting: phase === 'waiting',
  }
}

function idsOf(calls: readonly { readonly id: string }[]): ReadonlySet<string> {
  return new Set(calls.map(({ id }) => id))
}

function recordOf(place: PlacedCall, facts: CallFacts | undefined): CallRecord {
  const { id, name, arguments: args } = place.call
  const note = own(facts?.notes, id)
  const told = place.late ?? place.waiting ?? resultMessage(place, facts)
  const open = told === undefined ? openState(place, facts) : undefined
  const inner = open === undefined ? undefined : own(facts?.inner, id)
  return defined<CallRecord>({
    id,
    name,
    arguments: args,
    state: told === undefined ? (open?.state ?? 'interrupted') : stateOf(told),
    told: toldOf(place, told),
    approval: note?.approval ?? approvalOf(place, told, facts?.decisions.get(id)),
    question: open?.question ?? note?.question,
    error: open?.error,
    inner,
  })
}

/** The message with the result of a call: not one that stands for a result that comes later, or for an answer. */
function resultMessage(
  { call, answer, isOpen }: PlacedCall,
  facts: CallFacts | undefined,
): Message | undefined {
  if (answer === undefined || isNotYet(answer)) return undefined
  if (answer.metadata?.['askUser'] === true) return facts === undefined ? answer : undefined
  // A mark behind the last answer stands for a call that is under way, unless the run was at rest when it was made.
  const isUnderWay = isMark(answer) && isOpen && facts?.hasRun === true
  if (!isUnderWay) return answer
  return facts.isWaiting && !isKnown(call.id, facts) ? answer : undefined
}

/** Whether a call is open by more than its place in the thread. */
function isKnown(id: string, facts: CallFacts): boolean {
  const { decisions, approvals, manual, questions, inner } = facts
  return (
    [decisions, approvals, manual, questions].some((known) => known.has(id)) ||
    Object.hasOwn(inner, id)
  )
}

/** The state of a call that has its result. */
function stateOf({ metadata = {} }: Message): CallState {
  if (metadata['denied'] === true) return 'denied'
  if (metadata['interrupted'] === true) {
    const reason = metadata['reason']
    return reason === 'length' || reason === 'content_filter' ? 'failed' : 'interrupted'
  }
  if (metadata['askUser'] === true) return 'interrupted'
  return metadata['isError'] === true ? 'failed' : 'done'
}

function toldOf({ answer, waiting, late }: PlacedCall, told: Message | undefined): CallTold {
  if (late !== undefined) return 'result'
  if (waiting !== undefined || (answer !== undefined && isNotYet(answer))) return 'placeholder'
  return told === undefined ? 'no' : 'result'
}

/** What is known of a call that has no result. */
interface OpenCall {
  readonly state: CallState
  readonly question?: CallQuestion
  readonly error?: ErrorData
}

/** The state of a call that has no result: the latest that was noted about it counts. */
function openState({ call: { id }, isOpen }: PlacedCall, facts: CallFacts | undefined): OpenCall {
  const isLeft = !isOpen || facts?.hasRun !== true
  if (facts === undefined) return { state: 'interrupted' }
  const asked = facts.questions.get(id)
  const decision = facts.decisions.get(id)
  const result = facts.results.get(id)
  if (asked !== undefined) return { state: 'asking', question: questionOf(asked) }
  if (result !== undefined) return resultState(result)
  if (facts.manual.has(id)) return { state: 'awaiting_result' }
  if (facts.approvals.has(id)) return { state: 'awaiting_approval' }
  if (facts.started.has(id) || Object.hasOwn(facts.inner, id)) return { state: 'running' }
  if (decision?.deny !== undefined) return { state: 'denied' }
  if (decision?.answer !== undefined) return { state: 'asking' }
  if (decision !== undefined) return { state: 'approved' }
  if (facts.requested.has(id)) return { state: 'awaiting_approval' }
  return { state: isLeft && !isOpen ? 'interrupted' : 'proposed' }
}

function resultState({ question, error }: StoredResult): OpenCall {
  // It asks when the question is told.
  if (question !== undefined) return { state: 'running' }
  return error === undefined ? { state: 'done' } : { state: 'failed', error }
}

function questionOf({ question = '', options }: ToolHalt): CallQuestion {
  return defined<CallQuestion>({ text: question, options })
}

/** What was decided about a call, as far as its messages or its run say. */
function approvalOf(
  { call, answer }: PlacedCall,
  told: Message | undefined,
  decision: CallDecision | undefined,
): CallApproval | undefined {
  const message = told ?? answer
  if (message?.metadata?.['denied'] === true || decision?.deny !== undefined) {
    const reason = decision?.deny ?? (message && deniedReason(message))
    return defined<CallApproval>({ decision: 'denied', reason: reason || undefined })
  }
  const args = message?.metadata?.['approvedArguments'] ?? decision?.call.arguments
  if (!isObject(args) || JSON.stringify(args) === JSON.stringify(call.arguments)) return undefined
  return { decision: 'approved', arguments: args }
}

/** The own member of an object whose names come from outside. */
function own<T>(record: Readonly<Record<string, T>> | undefined, id: string): T | undefined {
  return record !== undefined && Object.hasOwn(record, id) ? record[id] : undefined
}
