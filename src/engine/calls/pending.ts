import type { CallQuestion, PendingCall, PendingKind } from '../../core/types/call.ts'
import { defined } from '../../core/types/guards.ts'
import type { ToolCall } from '../../core/types/message.ts'
import type { PendingApproval, ToolHalt } from '../../core/types/results.ts'
import type { Session } from '../../core/types/session.ts'
import {
  cutApprovals,
  cutQuestions,
  decisionOn,
  noteOf,
  ownPlace,
  questionsOf,
  sessionCall,
  unfulfilled,
} from './places.ts'
import { ticketOf } from './tickets.ts'

/**
 * What a session waits for, each with its ticket: open questions, then calls that wait for approval, then those whose result the caller
 * submits; each in the order of the calls, those of agents inside calls included. An approved call that could not run because its tool
 * is gone waits for another decision, and so does what a run had asked for when it was stopped or failed.
 */
export function pendingCalls(session: Session): readonly PendingCall[] {
  const again = unfulfilled(session)
  const unmet = again === undefined ? undefined : decisionOn(session, again)?.call
  const { pendingApprovals, pendingToolCalls } = session
  return waitsOf(session, {
    questions: [...questionsOf(session), ...cutQuestions(session)],
    approvals: [...pendingApprovals, ...cutApprovals(session), ...(unmet ? [unmet] : [])],
    results: pendingToolCalls,
  })
}

/** What a run that is under way has asked for until now, which it waits for when its other calls have ended. */
export function askedUnderWay(session: Session): readonly PendingCall[] {
  const { halts = [], requested = [], inner = {} } = session.run ?? {}
  const questions = halts.filter(({ reason }) => reason === 'ask_user')
  const own = waitsOf(session, { questions, approvals: requested, results: [] })
  const inside = Object.entries(inner).flatMap(([callId, agent]) => {
    const asked = agent.status === 'idle' ? askedUnderWay(agent) : pendingCalls(agent)
    return asked.map((one) => inCall(callId, one))
  })
  return [...own, ...inside]
}

/** What an agent inside a call waits for, as its outer session names it. */
export function inCall(callId: string, pending: PendingCall): PendingCall {
  const { call } = pending
  return Object.assign({}, pending, { call: { ...call, id: `${callId}/${call.id}` } })
}

interface Waits {
  readonly questions: readonly ToolHalt[]
  readonly approvals: readonly PendingApproval[]
  readonly results: readonly ToolCall[]
}

function waitsOf(
  session: Session,
  { questions, approvals, results }: Waits,
): readonly PendingCall[] {
  return [
    ...questions.map(({ toolCallId: id, question = '', options }) => {
      const call = sessionCall(session, id) ?? { id, name: '', arguments: {} }
      const asked = defined<CallQuestion>({ text: question, options })
      return pendingCall(session, 'question', call, { question: asked })
    }),
    ...approvals.map(({ reason, ...call }) => pendingCall(session, 'approval', call, { reason })),
    ...results.map((call) => pendingCall(session, 'result', call, {})),
  ]
}

function pendingCall(
  session: Session,
  kind: PendingKind,
  call: ToolCall,
  more: { readonly question?: CallQuestion | undefined; readonly reason?: string | undefined },
): PendingCall {
  const { question, reason } = more
  const own = ownPlace(session, call.id)
  const waits = noteOf(own.session, own.id)?.settled.length ?? 0
  const asked = { sessionId: own.session.id, id: own.id, name: call.name, kind, waits }
  const ticket = ticketOf(asked, question ?? call.arguments)
  return defined<PendingCall>({ ticket, kind, call, question, reason })
}
