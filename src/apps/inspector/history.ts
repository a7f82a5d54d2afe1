import { paced } from '../../core/base/clock.ts'
import { SessionError } from '../../core/errors/errors.ts'
import { defined } from '../../core/types/guards.ts'
import type { Session } from '../../core/types/session.ts'
import { pulledStream } from '../../durable/runs/handler.ts'
import type { LogEntry, RunState, Snapshot } from '../../durable/stores/run-store.ts'
import { engineParts } from '../../engine/model-call/context.ts'
import { applySessionEvent, finalizeSession, reduceSession } from '../../engine/session/reduce.ts'
import { refusalOf, safeHeaders } from './answers.ts'
import type { LogPage, SessionAt, SessionDetail } from './api.ts'
import { readAt, type Place } from './places.ts'
import type { Summaries } from './sessions.ts'

/** Everything about a session except its log. */
export async function sessionDetail(
  place: Place,
  state: RunState,
  id: string,
  summaries: Summaries,
): Promise<SessionDetail> {
  const [item, { session, lastEventId }, base, inbox] = await Promise.all([
    summaries.read(place, id),
    readAt(place, id),
    oldestSnapshot(place, id),
    state.queued > 0 ? place.store.readInbox(id) : [],
  ])
  return defined<SessionDetail>({
    item,
    session,
    lastEventId,
    base,
    instructions: await instructionsOf(place, session),
    owner: state.owner,
    dueAt: state.dueAt,
    inbox: inbox.length > 0 ? inbox.map(({ command }) => command) : undefined,
  })
}

/** The session that the oldest kept event goes on from. */
async function oldestSnapshot({ store }: Place, id: string): Promise<Snapshot | undefined> {
  const [first] = await store.readEvents(id, { after: 0, limit: 1 })
  return first === undefined ? undefined : store.readSnapshot(id, first.id - 1)
}

/** The system text that the engine of a session adds. An engine that cannot be made has none. */
async function instructionsOf({ engineFor }: Place, session: Session): Promise<string | undefined> {
  try {
    const { defaults, context } = engineParts(await engineFor(session))
    const { instructions } = defaults
    const text =
      typeof instructions === 'function'
        ? instructions({ ...context, ...session.context })
        : instructions
    return typeof text === 'string' && text !== '' ? text : undefined
  } catch {
    return undefined
  }
}

/**
 * The session as of an event: the newest base before it, with the events up to it folded in. Commands that were applied right after the
 * event are not in it; those before the first event are.
 */
export async function sessionAt(place: Place, id: string, event: number): Promise<SessionAt> {
  const base = await baseOf(place, id, Math.max(0, event - 1), event)
  const session = await foldTo(place, id, base, event)
  return { session, base }
}

/** The session that a model is asked with when it answers with an event: the commands before it are in it. */
export async function sessionBefore(place: Place, id: string, event: number): Promise<Session> {
  const base = await baseOf(place, id, event - 1, event)
  return foldTo(place, id, base, event - 1)
}

async function baseOf({ store }: Place, id: string, at: number, event: number): Promise<Snapshot> {
  const base = await store.readSnapshot(id, at)
  if (base !== undefined) return base
  throw new SessionError(
    'stale',
    `the log of session ${id} does not reach back to event ${event}: it is kept for a time (keepEventsMs of createRuns). Choose a message instead`,
    { metadata: { id, event } },
  )
}

const pageSize = 500

async function foldTo(
  { store }: Place,
  id: string,
  { session, lastEventId }: Snapshot,
  event: number,
): Promise<Session> {
  let reducer = reduceSession(session)
  let last = lastEventId
  while (last < event) {
    const limit = Math.min(pageSize, event - last)
    const page = await store.readEvents(id, { after: last, limit })
    for (const entry of page) {
      if (!('event' in entry)) continue
      reducer = applySessionEvent(reducer, entry.event)
      last = entry.id
    }
    if (page.length < limit && last < event) throw noEvent(id, event, last)
  }
  return last === lastEventId ? session : finalizeSession(reducer).session
}

function noEvent(id: string, event: number, last: number): SessionError {
  const message = `session ${id} has no event ${event}: its log ends with ${last}`
  return new SessionError('stale', message, { metadata: { id, event, lastEventId: last } })
}

/** Which part of a log is asked for. */
export interface LogQuery {
  readonly after: number
  readonly afterCommand?: number | undefined
  readonly limit: number
}

/** A piece of the log, with the commands. */
export async function logPage({ store }: Place, id: string, query: LogQuery): Promise<LogPage> {
  const { after, afterCommand, limit } = query
  const options = { after, afterCommand, commands: true, limit: limit + 1 }
  const entries = await store.readEvents(id, options)
  return { entries: entries.slice(0, limit), more: entries.length > limit }
}

/** The options of a connection that follows a session. */
export interface FollowSettings {
  readonly after: number
  readonly afterCommand?: number | undefined
  readonly heartbeatMs: number
  readonly onError: (error: unknown) => void
}

/** The log of a session and then what is written, as server-sent events, until it is at rest. */
export function followed(
  place: Place,
  id: string,
  request: Request,
  settings: FollowSettings,
): Response {
  const stop = new AbortController()
  const log = place.runs.follow(id, {
    after: settings.after,
    afterCommand: settings.afterCommand,
    commands: true,
    signal: stop.signal,
  })
  const entries: LogEntries = log[Symbol.asyncIterator]()
  const chunks = followChunks(place, id, entries, settings)
  const body = pulledStream(chunks, request.signal, {
    end() {
      stop.abort()
      entries.return?.().catch(() => undefined)
    },
    onError: settings.onError,
  })
  return new Response(body, {
    headers: {
      ...safeHeaders,
      'content-type': 'text/event-stream; charset=utf-8',
      // Proxies would otherwise hold events back.
      'x-accel-buffering': 'no',
    },
  })
}

/** Entries of a log, one after the other. */
type LogEntries = AsyncIterator<LogEntry, void>

async function* followChunks(
  { clock, store }: Place,
  id: string,
  entries: LogEntries,
  { heartbeatMs }: FollowSettings,
): AsyncGenerator<string, void> {
  const log = paced(entries, clock, heartbeatMs)
  try {
    // Something that makes proxies send the head of the answer.
    yield ':\n\n'
    for (;;) {
      const { done, value: entry } = await log.next()
      if (done === true) break
      if (entry === undefined) yield ':\n\n'
      else if ('event' in entry) yield `id: ${entry.id}\ndata: ${JSON.stringify(entry)}\n\n`
      else yield `data: ${JSON.stringify(entry)}\n\n`
    }
    const state = await store.look(id)
    const rest = { status: state?.status ?? 'idle', lastEventId: state?.lastEventId ?? 0 }
    yield `event: rest\ndata: ${JSON.stringify(rest)}\n\n`
  } catch (error) {
    const { reason, message } = refusalOf(error)
    yield `event: error\ndata: ${JSON.stringify({ reason, message })}\n\n`
    throw error
  } finally {
    await log.return?.()
  }
}
