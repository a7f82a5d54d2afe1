import type { ToolEvent } from '../../core/types/events.ts'
import { assertNever, defined } from '../../core/types/guards.ts'
import { addUsage, type Usage } from '../../core/types/response.ts'
import type { RunProgress, Session } from '../../core/types/session.ts'
import { mapCalls } from '../calls/kept.ts'
import { askedUnderWay, pendingCalls } from '../calls/pending.ts'
import { agentsOf, savedCall } from '../calls/places.ts'

// Agents inside the calls of a session, and what they have used.

/**
 * What a session asks for: one that waits, and one that is under way, which asks before its other tools have ended. `prefix` is put
 * before the ids: for an agent, that of the call that it is in, and a slash.
 */
export function waitingEvents(session: Session, prefix: string = ''): readonly WaitingEvent[] {
  const asked =
    session.status === 'idle'
      ? askedUnderWay(session).filter(({ call }) => savedCall(session, call.id) !== undefined)
      : pendingCalls(session)
  return asked.flatMap(
    ({ kind, ticket, call: { id, ...rest }, question, reason, expiresAt }): WaitingEvent[] => {
      const call = { ...rest, id: prefix + id }
      const request = { toolCallId: call.id, toolName: call.name, ticket, expiresAt }
      switch (kind) {
        case 'question': {
          const { text = '', options = {} } = question ?? {}
          const type = 'ask_user_requested'
          return [defined<WaitingEvent>({ type, ...request, question: text, options })]
        }
        case 'approval':
          return [defined<WaitingEvent>({ type: 'approval_requested', ...request, call, reason })]
        case 'result':
          return []
        default:
          return assertNever(kind)
      }
    },
  )
}

type WaitingEvent = Extract<ToolEvent, { type: 'ask_user_requested' | 'approval_requested' }>

/** What a session used and no result has told, agents inside its calls included. */
export function untoldUsage(session: Session): Usage {
  const { run } = session
  const own = addUsage(run?.usage ?? {}, run?.answer?.usage ?? {})
  return agentsOf(session).reduce((sum, [, inner]) => addUsage(sum, untoldUsage(inner)), own)
}

/** A session when a result has told all that it used. A run that counts anew does not count what was told. */
export function toldSession(session: Session): Session {
  const { run } = session
  if (run === undefined) return session
  const { usage: _usage, told = {}, answer, ...rest } = run
  const sum = run.turns === 0 ? {} : addUsage(told, untoldUsage(session))
  const next = defined<RunProgress>({
    ...rest,
    told: someUsage(sum),
    answer: answer && { ...answer, usage: {} },
  })
  const calls = mapCalls(session.calls, (saved) =>
    saved.inner === undefined ? saved : { ...saved, inner: toldSession(saved.inner) },
  )
  return defined<Session>({ ...session, run: next, calls })
}

/** A usage that says something. */
export function someUsage(usage: Usage): Usage | undefined {
  return Object.keys(usage).length === 0 ? undefined : usage
}
