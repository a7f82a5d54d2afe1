import { expect } from 'vitest'
import { assertNever } from '../../src/core/types/guards.ts'
import { callMoves, type CallCause, type CallPlace } from '../../src/engine/calls/moves.ts'
import { callRecords } from '../../src/engine/calls/records.ts'
import { Session, type CallRecord, type SessionCommand, type StreamEvent } from '../../src/index.ts'

/** Fails if a call moved between two sessions in a way that the table does not have for any of these causes. */
export function checkMoves(
  before: Session,
  after: Session,
  causes: readonly CallCause[],
  what: string,
): void {
  const [from, to] = [before, after].map((session) => placesOf(callRecords(session)))
  for (const id of new Set([...(from?.keys() ?? []), ...(to?.keys() ?? [])])) {
    const [left = 'none', right = 'none'] = [from?.get(id), to?.get(id)]
    if (left === right) continue
    const isLegal = causes.some((cause) => callMoves[cause][left]?.includes(right))
    if (!isLegal) throw new Error(`${what} moved ${id} from ${left} to ${right}`)
  }
}

function placesOf(records: readonly CallRecord[]): ReadonlyMap<string, CallPlace> {
  return new Map(records.map(({ id, state }) => [id, state]))
}

/** The causes that a command may have. With any of them a run that was cut may go on, without its partial answer. */
export function causesOfCommand({ type }: SessionCommand): readonly CallCause[] {
  switch (type) {
    case 'send':
      return ['answer', 'message', 'asked_again']
    case 'approve':
      return ['approve', 'asked_again']
    case 'deny':
      return ['deny', 'asked_again']
    case 'submitToolResult':
      return ['submit', 'asked_again']
    case 'resume':
      return ['asked_again']
    default:
      return assertNever(type)
  }
}

/** The causes that an event may have. The end of a step tells what its calls came to. */
export function causesOfEvent({ type }: StreamEvent): readonly CallCause[] {
  switch (type) {
    case 'message_started':
    case 'text_delta':
    case 'text_completed':
    case 'error':
      return ['asked_again']
    case 'tool_call_started':
    case 'tool_call_delta':
    case 'tool_call_completed':
    case 'message_completed':
      return ['answered', 'cut_told', 'asked_again']
    case 'approval_requested':
      return ['approval_requested']
    case 'tool_execution_started':
      return ['started']
    case 'tool_execution_completed':
      return ['returned']
    case 'tool_result_encoded':
      return ['result_told', 'error_told', 'denial_told', 'interruption_told', 'left']
    case 'ask_user_requested':
      return ['asked']
    case 'tool_halt':
      return ['result_told', 'left']
    case 'tool_progress':
      return Object.keys(callMoves) as CallCause[]
    case 'step_completed':
      return ['left_to_caller', 'interruption_told', 'cut_told', 'asked_again']
    case 'reasoning_delta':
    case 'reasoning_completed':
    case 'image_completed':
    case 'raw_chunk':
    case 'chat_completed':
      return []
    default:
      return assertNever(type)
  }
}

/** What holds of the records of any session. */
export function checkRecords(session: Session): void {
  const records = callRecords(session)
  const own = records.filter(({ id }) => isOwn(session, id))
  const calls = session.thread.messages.flatMap(({ toolCalls = [] }) => toolCalls)
  expect(own.map(({ id }) => id)).toEqual(calls.map(({ id }) => id))
  const waiting = records.filter(({ ticket }) => ticket !== undefined)
  expect(new Set(waiting.map(({ ticket }) => ticket)).size).toBe(waiting.length)
  const { status } = session
  const pending = Session.pending(session)
  const states = {
    question: ['asking'],
    approval: ['awaiting_approval', 'approved'],
    result: ['awaiting_result'],
  }
  expect(new Set(waiting.map(({ ticket }) => ticket))).toEqual(
    new Set(pending.map(({ ticket }) => ticket)),
  )
  for (const { kind, call } of pending) {
    const record = records.find(({ id }) => id === call.id)
    expect(states[kind]).toContain(record?.state)
  }
  for (const { id, state } of waiting) {
    if (state === 'awaiting_approval') expect(pending.some(({ call }) => call.id === id)).toBe(true)
  }
  const lists = [...session.pendingApprovals, ...session.pendingToolCalls].map(({ id }) => id)
  expect(pending.map(({ call }) => call.id)).toEqual(expect.arrayContaining(lists))
  // A session at rest has told the model everything, or waits for somebody.
  if (status === 'completed') {
    for (const { id, state, told } of records) {
      const isSettled =
        ['denied', 'done', 'failed', 'interrupted'].includes(state) && told === 'result'
      expect([id, state, told, isSettled]).toEqual([id, state, told, true])
    }
  }
}

function isOwn({ thread }: Session, id: string): boolean {
  return thread.messages.some(({ toolCalls = [] }) => toolCalls.some((call) => call.id === id))
}
