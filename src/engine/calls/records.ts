import {
  deniedReason,
  isMark,
  isNotYet,
  lateResultOf,
  resultState,
} from '../../core/messages/tool-messages.ts'
import type { CallApproval, CallState, CallTold } from '../../core/types/call.ts'
import { defined, isObject } from '../../core/types/guards.ts'
import type { Message, ToolCall } from '../../core/types/message.ts'
import type { CallRecord, SavedCall, SavedCalls, Session } from '../../core/types/session.ts'
import { pendingCalls } from './pending.ts'
import { savedCall } from './places.ts'

/**
 * Every call of a session, in the order of its thread. The calls of an agent inside a call follow that call, as `outer/inner`: all of them
 * while the call has no result, and then those about which somebody was asked.
 *
 * An id that comes again in a thread is another call. Only the last one can wait.
 */
export function callRecords(session: Session): readonly CallRecord[] {
  const tickets = new Map(pendingCalls(session).map(({ call, ticket }) => [call.id, ticket]))
  const records: CallRecord[] = []
  const add = (list: readonly KnownCall[], prefix: string): void => {
    for (const { record, inside } of list) {
      const id = prefix + record.id
      const ticket = record.state in waiting ? tickets.get(id) : undefined
      records.push(defined<CallRecord>({ ...record, id, ticket }))
      if (record.inner !== undefined) add(knownCalls(record.inner), `${id}/`)
      else add(pastRecords(inside), `${id}/`)
    }
  }
  add(knownCalls(session), '')
  return records
}

/** A record, and what is kept of the calls of agents that were inside of the call. */
interface KnownCall {
  readonly record: CallRecord
  readonly inside: SavedCalls | undefined
}

/** The calls of an agent that is gone. */
function pastRecords(calls: SavedCalls | undefined): readonly KnownCall[] {
  return Object.entries(calls ?? {}).flatMap(([id, saved]): readonly KnownCall[] => {
    const { state, told = 'result', call, approval, question, inside } = saved
    if (state === undefined || call === undefined) return []
    const { idempotent, startedAt, endedAt } = saved
    const times = { idempotent, startedAt, endedAt }
    return [
      {
        record: defined<CallRecord>({ id, ...call, state, told, approval, question, ...times }),
        inside,
      },
    ]
  })
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
  return knownCalls(session).map(({ record }) => record)
}

function knownCalls(session: Session): readonly KnownCall[] {
  const placed = placedCalls(session)
  const last = new Map(placed.map((place) => [place.call.id, place]))
  const isUnderWay = session.run !== undefined && session.run.phase !== 'between'
  return placed.map((place) => {
    const { id } = place.call
    const saved = last.get(id) === place ? savedCall(session, id) : undefined
    return { record: recordOf(place, saved, isUnderWay), inside: saved?.inside }
  })
}

/** A call in a thread, with the messages about it. */
interface PlacedCall {
  readonly call: ToolCall
  /** The name of the engine whose answer has it. */
  readonly agent: string | undefined
  /** The tool message behind its answer. */
  answer?: Message
  /** The result that came after the model was told that there is none yet. */
  late?: Message
  /** Only tool messages follow its answer. */
  isOpen: boolean
}

function placedCalls({ thread }: Session): readonly PlacedCall[] {
  const placed: PlacedCall[] = []
  const last = new Map<string, PlacedCall>()
  let answer: PlacedCall[] = []
  for (const message of thread.messages) {
    const { role, toolCalls = [], toolCallId, agent } = message
    if (role === 'tool') {
      const call = last.get(toolCallId ?? '')
      if (call?.isOpen === true) call.answer = message
      continue
    }
    for (const call of answer) call.isOpen = false
    answer = toolCalls.map((call) => ({ call, agent, isOpen: true }))
    for (const call of answer) last.set(call.call.id, call)
    placed.push(...answer)
    const late = last.get(lateResultOf(message) ?? '')
    if (late !== undefined) late.late = message
  }
  return placed
}

/** A call is what is kept of it, or else what the messages about it say. */
function recordOf(
  place: PlacedCall,
  saved: SavedCall | undefined,
  isUnderWay: boolean,
): CallRecord {
  const { call, agent } = place
  const { id, name, arguments: args } = call
  const { state, told } =
    saved?.state === undefined
      ? byMessages(place, isUnderWay)
      : { state: saved.state, told: saved.told ?? 'no' }
  const { approval, question, idempotent, startedAt, endedAt, error, inner } = saved ?? {}
  return defined<CallRecord>({
    id,
    name,
    arguments: args,
    state,
    told,
    approval: approval ?? policyOf(place),
    question,
    idempotent,
    startedAt,
    endedAt,
    error,
    agent,
    inner,
  })
}

/** What became of a call, by the messages about it. */
function byMessages(
  { answer, late, isOpen }: PlacedCall,
  isUnderWay: boolean,
): { readonly state: CallState; readonly told: CallTold } {
  if (late !== undefined) return { state: resultState(late), told: 'result' }
  if (answer !== undefined && isNotYet(answer)) return { state: 'interrupted', told: 'placeholder' }
  // A mark behind the last answer stands for a call that is under way.
  if (answer !== undefined && !(isOpen && isUnderWay && isMark(answer))) {
    return { state: resultState(answer), told: 'result' }
  }
  return { state: isOpen ? 'proposed' : 'interrupted', told: 'no' }
}

/** What a policy decided about a call: that it was denied. What somebody approved with other arguments is in the message, too. */
function policyOf({ call, answer, late }: PlacedCall): CallApproval | undefined {
  const message = late ?? answer
  if (message?.metadata?.['denied'] === true) {
    const reason = deniedReason(message)
    return defined<CallApproval>({ decision: 'denied', reason: reason || undefined })
  }
  const args = message?.metadata?.['approvedArguments']
  if (!isObject(args) || JSON.stringify(args) === JSON.stringify(call.arguments)) return undefined
  return { decision: 'approved', arguments: args }
}
