import { canonicalJson } from '../../core/base/digest.ts'
import { sha256 } from '../../core/base/sha256.ts'
import type { CallQuestion, PendingCall, PendingKind } from '../../core/types/call.ts'
import { defined } from '../../core/types/guards.ts'
import type { JsonValue } from '../../core/types/json.ts'
import type { ToolCall } from '../../core/types/message.ts'
import type { PendingApproval } from '../../core/types/results.ts'
import type { Session } from '../../core/types/session.ts'
import { decisionOn, innerPlace, noteOf, questionsOf, sessionCall, unfulfilled } from './places.ts'

/**
 * What a session waits for, each with its ticket: open questions, then calls that wait for approval, then those whose result the caller
 * submits; each in the order of the calls, those of agents inside calls included. An approved call that could not run because its tool
 * is gone waits for another decision.
 */
export function pendingCalls(session: Session): readonly PendingCall[] {
  const questions = questionsOf(session).map(({ toolCallId, question = '', options }) => {
    const call = sessionCall(session, toolCallId)
    const asked = defined<CallQuestion>({ text: question, options })
    return pendingCall(session, 'question', call ?? { id: toolCallId, name: '', arguments: {} }, {
      question: asked,
    })
  })
  const again = unfulfilled(session)
  const unmet = again === undefined ? undefined : decisionOn(session, again)?.call
  const approvable: readonly PendingApproval[] = [
    ...session.pendingApprovals,
    ...(unmet === undefined ? [] : [unmet]),
  ]
  const approvals = approvable.map(({ reason, ...call }) =>
    pendingCall(session, 'approval', call, { reason }),
  )
  const results = session.pendingToolCalls.map((call) => pendingCall(session, 'result', call, {}))
  return [...questions, ...approvals, ...results]
}

function pendingCall(
  session: Session,
  kind: PendingKind,
  call: ToolCall,
  more: { readonly question?: CallQuestion | undefined; readonly reason?: string | undefined },
): PendingCall {
  const shown = more.question ?? call.arguments
  return defined<PendingCall>({
    // Both are JSON.
    ticket: ticketOf(
      call,
      kind,
      settledTickets(session, call.id).length,
      shown as unknown as JsonValue,
    ),
    kind,
    call,
    question: more.question,
    reason: more.reason,
  })
}

/**
 * The ticket of a wait. It is derived from what was shown and from how often the call has waited before, so every process has the same,
 * and a call that comes again with other arguments has another.
 */
function ticketOf(
  { id, name }: ToolCall,
  kind: PendingKind,
  waits: number,
  shown: JsonValue,
): string {
  const digest = sha256(canonicalJson([id, name, kind, waits, shown]))
  const bytes = (digest.slice(0, 24).match(/../g) ?? []).map((byte) => Number.parseInt(byte, 16))
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
}

/** The tickets of a call that were settled. */
function settledTickets(session: Session, id: string): readonly string[] {
  const place = innerPlace(session, id)
  if (place !== undefined) return settledTickets(place.session, place.id)
  return noteOf(session, id)?.settled ?? []
}
