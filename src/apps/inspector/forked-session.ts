import { ValidationError } from '../../core/errors/errors.ts'
import { refusal } from '../../core/schema/checks.ts'
import { defined } from '../../core/types/guards.ts'
import type { JsonObject } from '../../core/types/json.ts'
import type { Message } from '../../core/types/message.ts'
import type { SavedCall, Session } from '../../core/types/session.ts'
import { hasLeft, wasStarted } from '../../engine/calls/decided.ts'
import { goneCall, mapCalls } from '../../engine/calls/kept.ts'
import { withLists } from '../../engine/calls/pending.ts'
import { hasAnswer } from '../../engine/calls/places.ts'
import { createSession } from '../../engine/session/create.ts'
import { rewound } from '../../engine/session/rewind.ts'
import type { ForkChanges, ForkOrigin, ForkRequest } from './api.ts'

/** A fork before it runs. */
export interface ForkedSession {
  readonly session: Session
  readonly origin: ForkOrigin
}

/** The session that a fork begins with: that of the origin, with the changes, under an id of its own. The origin stays as it is. */
export function forkedSession(
  origin: Session,
  id: string,
  { event, messages, changes, engine }: ForkRequest,
): ForkedSession {
  const kept = messages === undefined ? origin : rewound(resting(origin), messages)
  const changed = withInstructions(
    withToolResult(withMessage(kept, changes.message), changes.toolResult),
    changes.instructions,
  )
  const from = defined<ForkOrigin>({
    id: origin.id,
    event,
    messages,
    changes: changesInWords(changes),
    engine: engine.type,
  })
  const metadata: JsonObject = { ...changed.metadata, forkOf: { ...from } }
  const own = engine.type === 'given' ? changed : withoutStarts(changed)
  return { session: { ...untraced(own), id, metadata }, origin: from }
}

/**
 * The session of a fork whose tools answer what was recorded: to do that again does no harm, whatever the tools of the origin have said
 * when the calls that have no result were started. Then the tools of the fork say it.
 */
function withoutStarts(session: Session): Session {
  const calls = mapCalls(session.calls, (saved) => {
    const { startedAt: _at, timeoutMs: _timeout, idempotent: _flag, ...rest } = saved
    const own = wasStarted(saved) && !hasLeft(saved) ? rest : saved
    return own.inner === undefined ? own : { ...own, inner: withoutStarts(own.inner) }
  })
  return defined<Session>({ ...session, calls })
}

/**
 * The session in which no call may run without being asked about again: what was started or approved before is forgotten, so that every call
 * is judged anew. Agents go on where they were, and inside of them the same holds.
 */
export function askingAgain(session: Session): Session {
  return withLists(defined<Session>({ ...session, calls: mapCalls(session.calls, askedAgain) }))
}

function askedAgain(saved: SavedCall): SavedCall | undefined {
  const { state, told, inner, settled } = saved
  if (inner !== undefined) return { ...saved, inner: askingAgain(inner) }
  const isAnswered = state === 'asking' && hasAnswer(saved)
  const wouldRun = state === 'approved' || state === 'running' || isAnswered
  if (!wouldRun || hasLeft(saved)) return saved
  // The model knows already that it has no result yet: it waits, and the run goes on.
  if (told === 'placeholder')
    return defined<SavedCall>({ state: 'awaiting_approval', told, settled })
  return goneCall(saved)
}

/** A session that runs in another process is rewound like one that rests. */
function resting(session: Session): Session {
  return session.status === 'idle' ? plain(session, session.thread.messages) : session
}

/** Its telemetry is another one's. */
function untraced(session: Session): Session {
  const { run } = session
  if (run?.trace === undefined) return session
  const { trace: _trace, ...rest } = run
  return { ...session, run: rest }
}

/** A session with these messages, of which nothing is under way. */
function plain({ id, thread, context, metadata }: Session, messages: readonly Message[]): Session {
  return createSession({ id, thread: { ...thread, messages }, context, metadata })
}

/** Another text of a message. Words of the user begin anew: what follows them is dropped. */
function withMessage(session: Session, change: ForkChanges['message']): Session {
  if (change === undefined) return session
  const { messages } = session.thread
  const { index, text } = change
  const message = messages[index]
  if (message === undefined) {
    const problem = `must be the place of a message from 0 to ${messages.length - 1}, not ${index}`
    throw refusal('invalid_options', 'changes.message.index', problem)
  }
  if (message.role === 'tool') {
    const problem = `is the place of a tool result: use changes.toolResult with the id of its call`
    throw refusal('invalid_options', 'changes.message.index', problem)
  }
  // Another text is whole, however the one before it ended.
  const { finishReason: _reason, ...rest } = message
  const edited: Message = { ...rest, content: editedContent(message.content, text) }
  if (message.role === 'user') return plain(session, [...messages.slice(0, index), edited])
  const thread = { ...session.thread, messages: messages.with(index, edited) }
  return { ...session, thread }
}

/** The text of a message is replaced; its images and files stay. What only its provider can read belongs to the old text, and goes. */
function editedContent(content: Message['content'], text: string): Message['content'] {
  if (typeof content === 'string') return text
  const media = content.filter(({ type }) => type === 'image' || type === 'file')
  return media.length === 0 ? text : [{ type: 'text', text }, ...media]
}

/** Another result of a call. What follows the results of its answer is dropped, so that the model is asked next. */
function withToolResult(session: Session, change: ForkChanges['toolResult']): Session {
  if (change === undefined) return session
  const { messages } = session.thread
  const { toolCallId, text } = change
  const at = messages.findLastIndex((message) => message.toolCallId === toolCallId)
  const answer = messages
    .slice(0, Math.max(0, at))
    .findLastIndex(({ role }) => role === 'assistant')
  if (at === -1 || answer === -1) {
    const problem = `must be the id of a call that is answered in the thread as of the event`
    throw refusal('invalid_options', 'changes.toolResult.toolCallId', problem)
  }
  const next = messages.findIndex(({ role }, index) => index > answer && role !== 'tool')
  const results = messages.slice(answer + 1, next === -1 ? messages.length : next)
  const open = results.find(({ metadata, toolCallId: id }) => {
    return metadata?.['interrupted'] === true && id !== toolCallId
  })
  if (open !== undefined) {
    throw new ValidationError('invalid_options', [
      {
        path: 'changes.toolResult',
        problem: `cannot be changed while ${open.toolCallId} of the same answer has no result: fork at a later event`,
      },
    ])
  }
  const edited: Message = { role: 'tool', toolCallId, content: text }
  const told = results.map((message) => (message.toolCallId === toolCallId ? edited : message))
  return plain(session, [...messages.slice(0, answer + 1), ...told])
}

/** A thread that begins with a system text has it replaced. Otherwise the engine of the fork has the instructions. */
function withInstructions(session: Session, text: string | undefined): Session {
  const { messages } = session.thread
  if (text === undefined || messages[0]?.role !== 'system') return session
  const first: Message = { role: 'system', content: text }
  return { ...session, thread: { ...session.thread, messages: [first, ...messages.slice(1)] } }
}

function changesInWords({ message, toolResult, instructions, model }: ForkChanges): string[] {
  return [
    ...(message === undefined ? [] : [`message ${message.index + 1}: ${short(message.text)}`]),
    ...(toolResult === undefined
      ? []
      : [`result of ${toolResult.toolCallId}: ${short(toolResult.text)}`]),
    ...(instructions === undefined ? [] : [`instructions: ${short(instructions)}`]),
    ...(model === undefined ? [] : [`model: ${model}`]),
  ]
}

function short(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text)
}

/** Whether a fork is changed in a way after which the recorded commands may not fit any more. */
export function isChanged(changes: ForkChanges): boolean {
  return Object.values(changes).some((change) => change !== undefined)
}

/** Whether a change drops the messages after the one that is changed. */
export function dropsWhatFollows({ thread }: Session, changes: ForkChanges): boolean {
  const { message, toolResult } = changes
  if (toolResult !== undefined) return true
  return message !== undefined && thread.messages[message.index]?.role === 'user'
}
