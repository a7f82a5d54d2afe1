import type { ToolEvent } from '../../core/types/events.ts'
import { assertNever, defined } from '../../core/types/guards.ts'
import { callOf, type Message } from '../../core/types/message.ts'
import { addUsage, type Usage } from '../../core/types/response.ts'
import type { ToolHalt } from '../../core/types/results.ts'
import type { RunProgress, Session } from '../../core/types/session.ts'
import { askedUnderWay, pendingCalls } from '../calls/pending.ts'
import { questionsOf } from '../calls/places.ts'

// Agents inside the calls of a session. Their sessions are the truth; what the outer one says that it waits for is derived from them.

/** The sessions of agents inside calls, by the call. */
export type InnerSessions = NonNullable<RunProgress['inner']>

/** Whether a session waits for somebody. */
export function waits({ status }: Session): boolean {
  return status === 'awaiting_user' || status === 'awaiting_approval' || status === 'awaiting_tools'
}

/**
 * The session whose lists say what its agents wait for, besides what it waits for itself. `before` are the agents that the lists
 * were made from.
 */
export function withInnerPending(
  session: Session,
  before: InnerSessions | undefined = session.run?.inner,
): Session {
  const inner = session.run?.inner ?? {}
  const keys = [...Object.keys(inner), ...Object.keys(before ?? {})]
  if (keys.length === 0) return session
  const isOwn = (id: string): boolean =>
    !keys.some((callId) => id.startsWith(`${callId}/`)) || callOf(session.thread, id) !== undefined
  const waiting = Object.entries(inner).filter(([, one]) => waits(one))
  const of = <Call extends { readonly id: string }>(
    list: (one: Session) => readonly Call[],
  ): readonly Call[] => [
    ...list(session).filter(({ id }) => isOwn(id)),
    ...waiting.flatMap(([callId, one]) =>
      list(one).map((call) => Object.assign({}, call, { id: `${callId}/${call.id}` })),
    ),
  ]
  const asked = questionsOf(session).filter(({ toolCallId }) => isOwn(toolCallId))
  for (const [callId, one] of waiting) {
    for (const question of questionsOf(one)) {
      asked.push({ ...question, toolCallId: `${callId}/${question.toolCallId}` })
    }
  }
  return withQuestions(
    {
      ...session,
      pendingToolCalls: of(({ pendingToolCalls }) => pendingToolCalls),
      pendingApprovals: of(({ pendingApprovals }) => pendingApprovals),
    },
    inOrder(session.thread.messages, asked),
  )
}

/**
 * What a session asks for: one that waits, and one that is under way, which asks before its other tools have ended. `prefix` is put
 * before the ids: for an agent, that of the call that it is in, and a slash.
 */
export function waitingEvents(session: Session, prefix: string = ''): readonly WaitingEvent[] {
  const { halts = [], requested = [] } = session.run ?? {}
  const own = new Set([
    ...halts.map(({ toolCallId }) => toolCallId),
    ...requested.map(({ id }) => id),
  ])
  const asked =
    session.status === 'idle'
      ? askedUnderWay(session).filter(({ call }) => own.has(call.id))
      : pendingCalls(session)
  return asked.flatMap(
    ({ kind, ticket, call: { id, ...rest }, question, reason }): WaitingEvent[] => {
      const call = { ...rest, id: prefix + id }
      const request = { toolCallId: call.id, toolName: call.name, ticket }
      switch (kind) {
        case 'question': {
          const { text = '', options = {} } = question ?? {}
          return [{ type: 'ask_user_requested', ...request, question: text, options }]
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

/** The session with these open questions. */
export function withQuestions(session: Session, [first, ...more]: readonly ToolHalt[]): Session {
  return defined<Session>({
    ...session,
    pendingQuestion: first?.question,
    pendingToolCallId: first?.toolCallId,
    pendingQuestionOptions: first?.options,
    moreQuestions: more.length === 0 ? undefined : more,
  })
}

/** Questions in the order of the calls of the last answer. */
function inOrder(messages: readonly Message[], asked: readonly ToolHalt[]): readonly ToolHalt[] {
  if (asked.length < 2) return asked
  const calls = messages.findLast(({ toolCalls }) => toolCalls !== undefined)?.toolCalls ?? []
  const placeOf = ({ toolCallId }: ToolHalt): number =>
    calls.findIndex(({ id }) => toolCallId === id || toolCallId.startsWith(`${id}/`))
  return asked.toSorted((a, b) => placeOf(a) - placeOf(b))
}

/** What a run used and no result has told, agents inside its calls included. */
export function untoldUsage(run: RunProgress | undefined): Usage {
  if (run === undefined) return {}
  const own = addUsage(run.usage ?? {}, run.answer?.usage ?? {})
  return Object.values(run.inner ?? {}).reduce(
    (sum, session) => addUsage(sum, untoldUsage(session.run)),
    own,
  )
}

/** What is kept of a run when a result has told all that it used. A run that counts anew does not count what was told. */
export function toldRun(run: RunProgress): RunProgress {
  const { usage: _usage, told = {}, answer, inner, ...rest } = run
  const sum = run.turns === 0 ? {} : addUsage(told, untoldUsage(run))
  return defined<RunProgress>({
    ...rest,
    told: someUsage(sum),
    answer: answer && { ...answer, usage: {} },
    inner:
      inner &&
      mapInner(inner, (session) =>
        session.run === undefined ? session : { ...session, run: toldRun(session.run) },
      ),
  })
}

/** A usage that says something. */
export function someUsage(usage: Usage): Usage | undefined {
  return Object.keys(usage).length === 0 ? undefined : usage
}

/** Agents, each changed in the same way. */
function mapInner(
  inner: InnerSessions,
  change: (session: Session, callId: string) => Session,
): InnerSessions {
  return Object.fromEntries(
    Object.entries(inner).map(([callId, session]) => [callId, change(session, callId)]),
  )
}

/** The agents of these calls; `undefined` if there are none. */
export function pickInner(
  inner: InnerSessions | undefined,
  isKept: (callId: string) => boolean,
): InnerSessions | undefined {
  const kept = Object.entries(inner ?? {}).filter(([callId]) => isKept(callId))
  return kept.length === 0 ? undefined : Object.fromEntries(kept)
}
