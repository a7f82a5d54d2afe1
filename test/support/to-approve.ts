import { assistant, Session } from '../../src/index.ts'

/** A session whose calls wait for approval: of one call `c`, unless ids are given. The arguments say which session it is. */
export function toApprove(id: string, callIds: readonly string[] = ['c']): Session {
  const toolCalls = callIds.map((callId) => ({ id: callId, name: 'pay', arguments: { to: id } }))
  const session = Session.create({ id })
  const waiting = { state: 'awaiting_approval', told: 'no' } as const
  return {
    ...session,
    status: 'awaiting_approval',
    thread: { messages: [assistant('', { toolCalls })], metadata: {} },
    pendingApprovals: toolCalls,
    calls: Object.fromEntries(callIds.map((callId) => [callId, waiting])),
  }
}
