import type { CallNote } from '../../core/types/call.ts'
import { defined } from '../../core/types/guards.ts'
import type { Thread, ToolCall } from '../../core/types/message.ts'
import type { PendingApproval, ToolHalt } from '../../core/types/results.ts'
import type { CallDecision, Session } from '../../core/types/session.ts'

/** Where a call inside an agent is. */
export interface InnerPlace {
  /** The call that the agent is in. */
  readonly callId: string
  readonly session: Session
  /** The id of the call in that session. */
  readonly id: string
}

/** The agent that has a call with this id, which is `outer/inner`; `undefined` for a call of the session itself. */
export function innerPlace(session: Session, id: string): InnerPlace | undefined {
  if (callsOf(session.thread).has(id)) return undefined
  for (const [callId, inner] of Object.entries(session.run?.inner ?? {})) {
    const own = id.slice(callId.length + 1)
    if (!id.startsWith(`${callId}/`)) continue
    const isKnown = callsOf(inner.thread).has(own) || innerPlace(inner, own) !== undefined
    if (isKnown) return { callId, session: inner, id: own }
  }
  return undefined
}

/** The last call with this id, in the session or in an agent of it. */
export function sessionCall(session: Session, id: string): ToolCall | undefined {
  const place = innerPlace(session, id)
  const call = place ? sessionCall(place.session, place.id) : callsOf(session.thread).get(id)
  return call && { ...call, id }
}

/** The last call with each id. A thread is searched once, however many of its calls wait. */
function callsOf(thread: Thread): ReadonlyMap<string, ToolCall> {
  let calls = known.get(thread)
  if (calls === undefined) {
    const all = thread.messages.flatMap(({ toolCalls = [] }) => toolCalls)
    calls = new Map(all.map((call) => [call.id, call]))
    known.set(thread, calls)
  }
  return calls
}

const known = /* @__PURE__ */ new WeakMap<Thread, ReadonlyMap<string, ToolCall>>()

/** The session whose thread has a call, and the id of the call in it: for a call of an agent, those of the agent. */
export function ownPlace(session: Session, id: string): Pick<InnerPlace, 'session' | 'id'> {
  const place = innerPlace(session, id)
  return place === undefined ? { session, id } : ownPlace(place.session, place.id)
}

/** What a session keeps of one of its own calls. */
export function noteOf({ calls = {} }: Session, id: string): CallNote | undefined {
  return Object.hasOwn(calls, id) ? calls[id] : undefined
}

/** The open questions of a session. */
export function questionsOf(session: Session): ToolHalt[] {
  const { pendingQuestion: question, pendingToolCallId: toolCallId, moreQuestions = [] } = session
  const options = session.pendingQuestionOptions
  if (toolCallId === undefined) return []
  return [
    defined<ToolHalt>({ reason: 'ask_user', toolCallId, question, options }),
    ...moreQuestions,
  ]
}

/**
 * The call that was approved and could not run, if the session failed because of that: its tool is missing, or does not take the
 * arguments. It was not started, so somebody may decide about it once more.
 */
export function unfulfilled(session: Session): string | undefined {
  const { toolCallId = session.error?.metadata?.['toolCallId'] } = session.error ?? {}
  if (session.status !== 'error' || typeof toolCallId !== 'string') return undefined
  const decision = decisionOn(session, toolCallId)
  const isApproved = decision?.deny === undefined && decision?.answer === undefined
  return decision && isApproved && !wasStarted(session, toolCallId) ? toolCallId : undefined
}

/**
 * The approvals that a run had asked for when it was stopped or failed in the middle of its calls. They wait like others: what is decided
 * about them holds when the run goes on.
 */
export function cutApprovals({ status, run }: Session): readonly PendingApproval[] {
  if ((status !== 'halted' && status !== 'error') || run?.phase !== 'tools') return []
  const { requested = [], started, decisions = [] } = run
  const known = new Set([...started, ...decisions.map(({ call }) => call.id)])
  return requested.filter(({ id }) => !known.has(id))
}

/** The questions that a run had asked when it was stopped or failed in the middle of its calls. */
export function cutQuestions({ status, run }: Session): readonly ToolHalt[] {
  if ((status !== 'halted' && status !== 'error') || run?.phase !== 'tools') return []
  return run.halts.filter(({ reason }) => reason === 'ask_user')
}

/** Whether a call was started, also one inside an agent. */
function wasStarted(session: Session, toolCallId: string): boolean {
  const place = innerPlace(session, toolCallId)
  if (place !== undefined) return wasStarted(place.session, place.id)
  return session.run?.started.includes(toolCallId) === true
}

/** What was decided about a call, also about one inside an agent. */
export function decisionOn(session: Session, toolCallId: string): CallDecision | undefined {
  const own = session.run?.decisions?.find(({ call: { id } }) => id === toolCallId)
  const place = own === undefined ? innerPlace(session, toolCallId) : undefined
  const inner = place && decisionOn(place.session, place.id)
  return inner === undefined ? own : { ...inner, call: { ...inner.call, id: toolCallId } }
}
