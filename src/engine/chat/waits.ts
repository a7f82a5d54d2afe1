import type { CallQuestion, PendingCall, PendingKind } from '../../core/types/call.ts'
import type { Batch, StreamEvent } from '../../core/types/events.ts'
import { defined } from '../../core/types/guards.ts'
import { callOf, type ToolCall } from '../../core/types/message.ts'
import type { PendingApproval, ToolHalt } from '../../core/types/results.ts'
import { ticketOf } from '../calls/tickets.ts'
import type { LoopState } from './prepare.ts'

// The tickets of what a run of a session asks for. A run without a session has none: nothing could settle them.

/** Events in which each question and each request for approval has its ticket. Those of an agent inside a call have theirs already. */
export function withTickets(loop: LoopState, batch: Batch): Batch {
  if (loop.entry.sessionId === undefined) return batch
  return batch.some((event) => isRequest(event))
    ? batch.map((event) => (isRequest(event) ? withTicket(loop, event) : event))
    : batch
}

type Request = Extract<StreamEvent, { type: 'approval_requested' | 'ask_user_requested' }>

function isRequest(event: StreamEvent): event is Request {
  return event.type === 'approval_requested' || event.type === 'ask_user_requested'
}

function withTicket(loop: LoopState, event: Request): Request {
  if (event.ticket !== undefined) return event
  const call = { id: event.toolCallId, name: event.toolName }
  if (event.type === 'approval_requested') {
    return { ...event, ticket: ticket(loop, 'approval', call, event.call.arguments) }
  }
  const question = { text: event.question, options: event.options }
  return { ...event, ticket: ticket(loop, 'question', call, question) }
}

function ticket(
  { entry, calls }: LoopState,
  kind: PendingKind,
  { id, name }: Pick<ToolCall, 'id' | 'name'>,
  shown: CallQuestion | ToolCall['arguments'],
): string {
  const waits = Object.hasOwn(calls, id) ? (calls[id]?.settled.length ?? 0) : 0
  return ticketOf({ sessionId: entry.sessionId ?? '', id, name, kind, waits }, shown)
}

/** What a run waits for at its end. */
interface Asked {
  readonly halts: readonly ToolHalt[]
  readonly approvals: readonly PendingApproval[]
  readonly manual: readonly ToolCall[]
  /** What agents inside calls wait for. */
  readonly inner: readonly PendingCall[]
}

/** What a run of a session waits for at its end, with tickets; `undefined` if it waits for nothing. */
export function waitsOf(
  loop: LoopState,
  { halts, approvals, manual, inner }: Asked,
): readonly PendingCall[] | undefined {
  if (loop.entry.sessionId === undefined) return undefined
  const isOwn = (id: string): boolean => !inner.some(({ call }) => call.id === id)
  const { thread } = loop.state
  const questions = halts.flatMap(({ reason, toolCallId, question: text = '', options }) => {
    const call = reason === 'ask_user' && isOwn(toolCallId) && callOf(thread, toolCallId)
    if (!call) return []
    const question = defined<CallQuestion>({ text, options })
    return {
      ticket: ticket(loop, 'question', call, question),
      kind: 'question',
      call,
      question,
    } as const
  })
  const own = [
    ...questions,
    ...approvals.map(({ reason, ...call }) =>
      defined<PendingCall>({
        ticket: ticket(loop, 'approval', call, call.arguments),
        kind: 'approval',
        call,
        reason,
      }),
    ),
    ...manual
      .filter(({ id }) => isOwn(id))
      .map((call): PendingCall => ({
        ticket: ticket(loop, 'result', call, call.arguments),
        kind: 'result',
        call,
      })),
  ]
  return own.length + inner.length === 0 ? undefined : [...own, ...inner]
}
