import type { JsonObject } from '../../core/types/json.ts'
import type { Thread, ToolCall } from '../../core/types/message.ts'
import type { SavedCall, SavedCalls, Session } from '../../core/types/session.ts'

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
  for (const [callId, inner] of agentsOf(session)) {
    const own = id.slice(callId.length + 1)
    if (!id.startsWith(`${callId}/`)) continue
    const isKnown = callsOf(inner.thread).has(own) || innerPlace(inner, own) !== undefined
    if (isKnown) return { callId, session: inner, id: own }
  }
  return undefined
}

/** The sessions of the agents inside calls of a session, by the call. */
export function agentsOf({ calls = {} }: Session): readonly (readonly [string, Session])[] {
  return Object.entries(calls).flatMap(([id, { inner }]) =>
    inner === undefined ? [] : [[id, inner] as const],
  )
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
export function savedCall({ calls = {} }: Session, id: string): SavedCall | undefined {
  return Object.hasOwn(calls, id) ? calls[id] : undefined
}

/** What is kept of a call, also of one inside an agent. */
export function savedAt(session: Session, toolCallId: string): SavedCall | undefined {
  const own = ownPlace(session, toolCallId)
  return savedCall(own.session, own.id) ?? savedInside(own.session.calls, own.id)
}

/** What is kept of a call of an agent that is gone. */
function savedInside(calls: SavedCalls | undefined, toolCallId: string): SavedCall | undefined {
  for (const [callId, { inside }] of Object.entries(calls ?? {})) {
    if (inside === undefined || !toolCallId.startsWith(`${callId}/`)) continue
    const id = toolCallId.slice(callId.length + 1)
    return Object.hasOwn(inside, id) ? inside[id] : savedInside(inside, id)
  }
  return undefined
}

/** Whether the user has answered the question of a call, for a handler that asked to be called again. */
export function hasAnswer({ question }: Pick<SavedCall, 'question'>): boolean {
  return question?.answer !== undefined
}

/** A call with the arguments that it was approved with, if they are others than the model wrote. */
export function callAsApproved(call: ToolCall, approval: SavedCall['approval']): ToolCall {
  return approval?.arguments === undefined ? call : withArguments(call, approval.arguments)
}

/** A call with other arguments. They replace the text that the model wrote, too. */
export function withArguments(call: ToolCall, args: JsonObject): ToolCall {
  const { rawArguments: _text, ...rest } = call
  return { ...rest, arguments: args }
}

/**
 * The call that was approved and could not run, if the session failed because of that: its tool is missing, or does not take the
 * arguments. It was not started, so somebody may decide about it once more.
 */
export function unfulfilled(session: Session): string | undefined {
  if (session.status !== 'error') return undefined
  const { toolCallId = session.error?.metadata?.['toolCallId'] } = session.error ?? {}
  if (typeof toolCallId !== 'string') return undefined
  return savedAt(session, toolCallId)?.state === 'approved' ? toolCallId : undefined
}
