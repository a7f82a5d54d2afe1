import { SessionError } from '../../core/errors/errors.ts'
import type { CallQuestion, PendingCall, PendingKind } from '../../core/types/call.ts'
import { assertNever, defined } from '../../core/types/guards.ts'
import type { Thread, ToolCall } from '../../core/types/message.ts'
import type { PendingApproval, ToolHalt } from '../../core/types/results.ts'
import {
  sessionVersion,
  type SavedCall,
  type Session,
  type SessionStatus,
} from '../../core/types/session.ts'
import { agentsOf, callAsApproved, hasAnswer, ownPlace, savedCall, unfulfilled } from './places.ts'
import { ticketOf } from './tickets.ts'

/** A call that waits for somebody. */
interface Wait {
  readonly kind: PendingKind
  /** The session that has the call: for a call of an agent, that of the agent. */
  readonly owner: Session
  /** The call, with the id that it has there. */
  readonly own: ToolCall
  /** The call as the outermost session names it. */
  readonly call: ToolCall
  readonly saved: SavedCall
}

/** Which calls that wait are meant: those that a session at rest lists, all that a run which was cut has asked for, or what a run under way has asked for. */
type Scope = 'listed' | 'cut' | 'asked'

/**
 * What a session waits for, each with its ticket: open questions, then calls that wait for approval, then those whose result the caller
 * submits; each in the order of the calls, those of agents inside calls included. An approved call that could not run because its tool
 * is gone waits for another decision, and so does what a run had asked for when it was stopped or failed.
 */
export function pendingCalls(session: Session): readonly PendingCall[] {
  assertCurrent(session)
  return inOrder(allWaits(session)).map(pendingCall)
}

/** Throws if a session was saved by an older version and not read since: what its calls wait for is elsewhere in it. */
export function assertCurrent({ version }: Session): void {
  if (version === sessionVersion) return
  throw new SessionError(
    'unreadable',
    `the session has the form of version ${version}: read its text by Session.parse`,
    { metadata: { version } },
  )
}

/** What one call of a session waits for, if it is of this kind. */
export function pendingCallOf(
  session: Session,
  kind: PendingKind,
  toolCallId: string,
): PendingCall | undefined {
  const wait = allWaits(session).find((one) => one.kind === kind && one.call.id === toolCallId)
  return wait && pendingCall(wait)
}

/** The kinds of what a session waits for. */
export function pendingKinds(session: Session): ReadonlySet<PendingKind> {
  return new Set(allWaits(session).map(({ kind }) => kind))
}

function allWaits(session: Session): readonly Wait[] {
  const { status } = session
  // What a run has asked for waits, too, when it was stopped or failed in the middle of its calls.
  const isCut = status === 'halted' || status === 'error'
  const waits = waitsIn(session, isCut ? 'cut' : 'listed')
  const unmet = unfulfilled(session)
  if (unmet !== undefined) {
    const { session: owner, id } = ownPlace(session, unmet)
    const saved = savedCall(owner, id)
    const [found] = saved === undefined ? [] : callsIn(owner.thread, new Set([id]))
    if (saved !== undefined && found !== undefined) {
      const own = callAsApproved(found, saved.approval)
      waits.push({ kind: 'approval', owner, own, call: { ...own, id: unmet }, saved })
    }
  }
  return waits
}

/** What a run that is under way has asked for until now, which it waits for when its other calls have ended. */
export function askedUnderWay(session: Session): readonly PendingCall[] {
  return inOrder(waitsIn(session, 'asked')).map(pendingCall)
}

/** What an agent inside a call waits for, as its outer session names it. */
export function inCall(callId: string, pending: PendingCall): PendingCall {
  const { call } = pending
  return Object.assign({}, pending, { call: { ...call, id: `${callId}/${call.id}` } })
}

/** The open questions of a session. */
export function questionsOf(session: Session): readonly ToolHalt[] {
  return waitsIn(session, 'listed').flatMap(toQuestion)
}

function toQuestion({ kind, call, saved: { question } }: Wait): ToolHalt | readonly never[] {
  if (kind !== 'question') return []
  const { text, options } = question ?? {}
  return defined<ToolHalt>({ reason: 'ask_user', toolCallId: call.id, question: text, options })
}

/** The session whose lists say what its calls wait for. They are derived from its calls, and from nothing else. */
export function withLists(session: Session): Session {
  if (session.calls === undefined && !hasLists(session)) return session
  const waits = waitsIn(session, 'listed')
  const [first, ...more] = waits.flatMap(toQuestion)
  return defined<Session>({
    ...session,
    pendingToolCalls: waits.flatMap(({ kind, call }) => (kind === 'result' ? call : [])),
    pendingApprovals: waits.flatMap(toApproval),
    pendingQuestion: first && (first.question ?? ''),
    pendingToolCallId: first?.toolCallId,
    pendingQuestionOptions: first?.options,
    moreQuestions: more.length === 0 ? undefined : more,
  })
}

/** Whether a session says that something waits. */
function hasLists(session: Session): boolean {
  const { pendingToolCalls, pendingApprovals, pendingQuestion, pendingToolCallId } = session
  const { pendingQuestionOptions, moreQuestions } = session
  const asked = pendingQuestion ?? pendingToolCallId ?? pendingQuestionOptions ?? moreQuestions
  return asked !== undefined || pendingToolCalls.length + pendingApprovals.length > 0
}

function toApproval({ kind, call, saved }: Wait): PendingApproval | readonly never[] {
  if (kind !== 'approval') return []
  return saved.reason === undefined ? call : { ...call, reason: saved.reason }
}

/** The status of a session that waits: that of the first that its lists name. */
export function waitingStatus({
  pendingToolCallId,
  pendingApprovals,
  pendingToolCalls,
}: Session): SessionStatus | undefined {
  if (pendingToolCallId !== undefined) return 'awaiting_user'
  if (pendingApprovals.length > 0) return 'awaiting_approval'
  return pendingToolCalls.length > 0 ? 'awaiting_tools' : undefined
}

/** Whether a session waits for somebody. */
export function waits({ status }: Pick<Session, 'status'>): boolean {
  return status === 'awaiting_user' || status === 'awaiting_approval' || status === 'awaiting_tools'
}

/** What a call waits for, if it waits for somebody. */
function waitOf(saved: SavedCall): PendingKind | undefined {
  switch (saved.state) {
    case 'asking':
      return hasAnswer(saved) ? undefined : 'question'
    case 'awaiting_approval':
      return 'approval'
    case 'awaiting_result':
      return 'result'
    case 'proposed':
    case 'approved':
    case 'denied':
    case 'running':
    case 'done':
    case 'failed':
    case 'interrupted':
    case undefined:
      return undefined
    default:
      return assertNever(saved.state)
  }
}

/** Whether a run has asked for something that it waits for when its other calls have ended. */
function isAsked({ halt }: SavedCall): boolean {
  return halt?.reason === 'ask_user' || halt?.reason === 'approval'
}

/** The calls of a session that wait, in the order of its thread. Those of an agent take the place of its call. */
function waitsIn(session: Session, scope: Scope): Wait[] {
  const { calls = {}, thread } = session
  const isMeant = (saved: SavedCall): boolean =>
    waitOf(saved) !== undefined && (scope === 'cut' || isAsked(saved) === (scope === 'asked'))
  const own = Object.entries(calls).filter(([, saved]) => isMeant(saved))
  const inside = new Map(
    agentsOf(session).map(([id, agent]) => [id, waitsInside(calls[id], agent, scope)]),
  )
  const ids = new Set(own.map(([id]) => id))
  for (const [id, found] of inside) if (found.length > 0) ids.add(id)
  return callsIn(thread, ids).flatMap((written): readonly Wait[] => {
    const { id } = written
    const saved = savedCall(session, id)
    const kind = saved && isMeant(saved) ? waitOf(saved) : undefined
    if (saved === undefined || kind === undefined) {
      return (inside.get(id) ?? []).map((wait) => insideCall(wait, id))
    }
    const call = callAsApproved(written, saved.approval)
    return [{ kind, owner: session, own: call, call, saved }]
  })
}

/** A wait of an agent inside a call, as the session around the agent names it. */
function insideCall(wait: Wait, outerId: string): Wait {
  return { ...wait, call: { ...wait.call, id: `${outerId}/${wait.call.id}` } }
}

/** The waits of an agent inside a call. It waits for the session around it when both rest. */
function waitsInside(outer: SavedCall | undefined, agent: Session, scope: Scope): readonly Wait[] {
  if (scope === 'asked') return waitsIn(agent, agent.status === 'idle' ? 'asked' : 'listed')
  return outer?.rests === true || scope === 'cut' ? waitsIn(agent, scope) : []
}

/** The last calls with these ids, in the order of a thread. It is read from its end, and no further than to the first of them. */
function callsIn({ messages }: Thread, ids: ReadonlySet<string>): readonly ToolCall[] {
  const left = new Set(ids)
  const found: ToolCall[] = []
  for (let at = messages.length - 1; at >= 0 && left.size > 0; at--) {
    for (const call of messages[at]?.toolCalls?.toReversed() ?? []) {
      if (left.delete(call.id)) found.push(call)
    }
  }
  return found.toReversed()
}

/** The order in which what waits is settled: questions, then approvals, then results. */
const order: Readonly<Record<PendingKind, number>> = { question: 0, approval: 1, result: 2 }

function inOrder(found: readonly Wait[]): readonly Wait[] {
  return found.toSorted((a, b) => order[a.kind] - order[b.kind])
}

function pendingCall({ kind, owner, own, call, saved }: Wait): PendingCall {
  const { settled = [], reason, since, expiresAt } = saved
  const { text = '', options } = saved.question ?? {}
  const question = kind === 'question' ? defined<CallQuestion>({ text, options }) : undefined
  const asked = { sessionId: owner.id, id: own.id, name: own.name, kind, waits: settled.length }
  return defined<PendingCall>({
    ticket: ticketOf(asked, question ?? own.arguments),
    kind,
    call,
    question,
    reason: kind === 'approval' ? reason : undefined,
    since,
    // Nobody is told that a result has to come in time.
    expiresAt: kind === 'result' ? undefined : expiresAt,
  })
}
