import type { CallQuestion, PendingCall } from '../../core/types/call.ts'
import type { Batch, StreamEvent } from '../../core/types/events.ts'
import { defined } from '../../core/types/guards.ts'
import { callOf, type ToolCall } from '../../core/types/message.ts'
import type { PendingApproval, ToolHalt } from '../../core/types/results.ts'
import { allRecords, waitingAgents } from '../model-call/fold.ts'
import type { LoopState, Tickets } from './prepare.ts'

/** Events in which each question and each request for approval has its ticket. Those of an agent inside a call have theirs already. */
export function withTickets({ tickets }: LoopState, batch: Batch): Batch {
  if (tickets === undefined || !batch.some((event) => isRequest(event))) return batch
  return batch.map((event) => (isRequest(event) ? withTicket(tickets, event) : event))
}

type Request = Extract<StreamEvent, { type: 'approval_requested' | 'ask_user_requested' }>

function isRequest(event: StreamEvent): event is Request {
  return event.type === 'approval_requested' || event.type === 'ask_user_requested'
}

function withTicket(tickets: Tickets, event: Request): Request {
  if (event.ticket !== undefined) return event
  const call = { id: event.toolCallId, name: event.toolName }
  if (event.type === 'approval_requested') {
    return { ...event, ticket: tickets.of('approval', call, event.call.arguments) }
  }
  const question = { text: event.question, options: event.options }
  return { ...event, ticket: tickets.of('question', call, question) }
}

/** What a run waits for at its end. */
interface Asked {
  readonly halts: readonly ToolHalt[]
  readonly approvals: readonly PendingApproval[]
  readonly manual: readonly ToolCall[]
}

/** What a run of a session waits for at its end, with tickets; `undefined` if it waits for nothing. */
export function waitsOf(
  { tickets, state }: LoopState,
  { halts, approvals, manual }: Asked,
): readonly PendingCall[] | undefined {
  if (tickets === undefined) return undefined
  const inner = waitingAgents(state).flatMap(({ callId, base, told }) =>
    tickets.inside(callId, told === undefined ? base : (told.pending ?? [])),
  )
  const isOwn = (id: string): boolean => !inner.some(({ call }) => call.id === id)
  const questions = halts.flatMap(({ reason, toolCallId, question: text = '', options }) => {
    const call = reason === 'ask_user' && isOwn(toolCallId) && callOf(state.thread, toolCallId)
    if (!call) return []
    const question = defined<CallQuestion>({ text, options })
    return [
      { kind: 'question' as const, call, question, ticket: tickets.of('question', call, question) },
    ]
  })
  const requests = approvals.map(({ reason, ...call }) => {
    return {
      kind: 'approval' as const,
      call,
      reason,
      ticket: tickets.of('approval', call, call.arguments),
    }
  })
  const results = manual.flatMap((call) => {
    if (!isOwn(call.id)) return []
    return [{ kind: 'result' as const, call, ticket: tickets.of('result', call, call.arguments) }]
  })
  const records = new Map(allRecords(state).map((record) => [record.id, record]))
  const own = [...questions, ...requests, ...results].map((wait) => {
    const { since, expiresAt } = records.get(wait.call.id) ?? {}
    return defined<PendingCall>({ ...wait, since, expiresAt })
  })
  return own.length + inner.length === 0 ? undefined : [...own, ...inner]
}
