import type { Clock } from '../../core/base/clock.ts'
import type { Engine } from '../../core/contracts/engine.ts'
import type { StreamEvent } from '../../core/types/events.ts'
import type { Session, SessionCommand } from '../../core/types/session.ts'
import { refused } from '../../durable/runs/handler.ts'
import { createRuns } from '../../durable/runs/runs.ts'
import { memoryStore } from '../../durable/stores/memory-store.ts'
import type { RunStore, Snapshot } from '../../durable/stores/run-store.ts'
import { createEngine } from '../../engine/model-call/engine.ts'
import type { ForkRequest } from './api.ts'
import { forkEngine } from './fork-engine.ts'
import { askingAgain, dropsWhatFollows, forkedSession, isChanged } from './forked-session.ts'
import { sessionAt, sessionBefore } from './history.ts'
import { engineOf } from './model-requests.ts'
import { placeOf, readAt, type Place } from './places.ts'
import { eventAtMessage, forkCommand, readRecording, type Recording } from './recording.ts'

/**
 * The forks of an inspector. They run in this process, in a store of their own in memory, so that no worker of the inspected store can take one: a fork
 * that was meant for a fake must never run on a real model. At rest they are saved into the inspected store, where nothing is due about them.
 */
export interface Forks {
  readonly place: Place
  /** Makes a fork of a session and starts it. Resolves with its id when it is under way. */
  fork(origin: Place, id: string, request: ForkRequest): Promise<string>
  /** Gives a command to a fork, and saves it when it is at rest again. */
  give(id: string, command: SessionCommand): Promise<void>
  stop(id: string): Promise<void>
  close(): Promise<void>
}

/** What forks need. */
export interface ForksOptions {
  /** Where they are saved, if they are. */
  readonly store: RunStore
  readonly isSaved: boolean
  readonly clock: Clock
  readonly engine: Engine | undefined
  readonly onError: (error: unknown) => void
}

/** How many forks are kept in memory. Of more, the oldest that is saved and at rest is dropped. */
const mostForks = 500

/** Forks without a fork. */
export function createForks(options: ForksOptions): Forks {
  const { store, clock, onError } = options
  const memory = memoryStore({ clock })
  const engines = new Map<string, Engine>()
  /** How far each fork is saved. */
  const saved = new Map<string, number>()
  const work = new Set<Promise<void>>()
  const noEngine = createEngine()
  const runs = createRuns({
    engine: ({ id }) => engines.get(id) ?? noEngine,
    store: memory,
    clock,
    // What is in memory goes with the process.
    keepEventsMs: Number.MAX_SAFE_INTEGER,
    whenBusy: 'refuse',
    onError: (error) => onError(error),
  })
  const place = placeOf('forks', runs)

  const unusedId = async (id: string): Promise<string> => {
    for (let number = 1; ; number++) {
      const own = `${id.slice(0, 480)}-fork-${number}`
      if (engines.has(own)) continue
      // Nobody else takes it while the store is asked.
      engines.set(own, noEngine)
      const isUsed = (await store.look(own)) !== undefined || (await memory.look(own)) !== undefined
      if (!isUsed) return own
      engines.delete(own)
    }
  }

  /** Advances a fork to its rest. Waits between attempts of a model call pass here. */
  const runToRest = async (id: string): Promise<void> => {
    for (;;) {
      const { more, wakeInMs, outcome } = await runs.advance(id)
      if (outcome === 'drained' || outcome === 'lost') return
      if (wakeInMs !== undefined) await clock.sleep(wakeInMs)
      else if (!more) return
    }
  }

  const save = async (id: string): Promise<void> => {
    if (!options.isSaved) return
    const last = await saveFork(memory, store, id, saved.get(id))
    saved.set(id, last)
  }

  const inBackground = (task: () => Promise<void>): void => {
    const running = task()
      .catch(onError)
      .finally(() => work.delete(running))
    work.add(running)
  }

  const dropOldest = async (): Promise<void> => {
    if (engines.size <= mostForks) return
    for (const id of saved.keys()) {
      if ((await memory.look(id))?.running === true) continue
      saved.delete(id)
      engines.delete(id)
      await memory.delete(id)
      return
    }
  }

  return {
    place,
    async fork(origin, id, request) {
      const { event, askBeforeTools = true } = request
      const latest = await readAt(origin, id)
      const session =
        event === undefined ? latest.session : (await sessionAt(origin, id, event)).session
      const recording = await readRecording(origin, id, latest.session.thread)
      const own = await unusedId(id)
      try {
        const forked = forkedSession(session, own, request)
        const kept = forked.session.thread.messages
        const isRecorded = request.engine.type === 'recorded'
        const at =
          event === undefined
            ? eventAtMessage(recording, latest.session.thread, kept.length)
            : isRecorded && dropsWhatFollows(session, request.changes)
              ? await eventBefore(origin, id, recording, kept.length)
              : event
        const known = options.engine ?? (await engineOf(origin, session))
        const given = options.engine
        const forkParts = { request, recording, event: at, messages: kept, known, given, clock }
        engines.set(own, forkEngine(forkParts))
        const asks = request.engine.type === 'given' && askBeforeTools
        const isSame = event !== undefined && !isChanged(request.changes)
        const isReplayed = isRecorded && isSame
        // Commands before the first event are in the session.
        const commands = recording.commands.filter(({ after }) => after >= Math.max(1, at))
        await begin(
          memory,
          asks ? askingAgain(forked.session) : forked.session,
          isReplayed ? commands.map(({ command }) => forkCommand(command, latest.session)) : [],
        )
      } catch (error) {
        engines.delete(own)
        throw error
      }
      inBackground(async () => {
        await dropOldest()
        await runToRest(own)
        await save(own)
      })
      return own
    },
    async give(id, command) {
      await place.give(id, command)
      inBackground(async () => {
        await runs.wait(id)
        await save(id)
      })
    },
    stop: (id) => runs.stop(id),
    async close() {
      await runs.close({ drainMs: 0 })
      await Promise.allSettled(work)
    },
  }
}

/**
 * The last event before the first model call that was asked with so many messages: the answers after it are those to the last of them.
 * Threads grow, so that half of the calls need not be looked at, again and again.
 */
async function eventBefore(
  place: Place,
  id: string,
  { calls }: Recording,
  length: number,
): Promise<number> {
  let low = 0
  for (let high = calls.length; low < high;) {
    const middle = Math.floor((low + high) / 2)
    const before = await sessionBefore(place, id, calls[middle]?.first ?? 0)
    if (before.thread.messages.length >= length) high = middle
    else low = middle + 1
  }
  const next = calls[low]
  const asked = next && (await sessionBefore(place, id, next.first)).thread.messages
  // The log may begin later than the answer.
  const isAnswered = asked?.slice(length).some(({ role }) => role === 'assistant') ?? true
  if (next !== undefined && !isAnswered) return next.first - 1
  throw refused(
    409,
    'nothing_recorded',
    `the log of session ${id} has no answer to message ${length}: run the fork on something else`,
  )
}

/** Puts a session into a store so that it is due, with commands that are applied one after the other when it rests. */
async function begin(
  store: RunStore,
  session: Session,
  commands: readonly SessionCommand[],
): Promise<void> {
  const { id } = session
  const lease = await store.acquire(id, { owner: 'inspector', ttlMs: 10_000 })
  if (lease === undefined) throw new Error(`somebody has the new session ${id}`)
  await store.save(session, { lease, first: true })
  for (const command of commands) await store.push(id, command)
  await store.release(id, lease, { wakeInMs: 0 })
}

/**
 * Copies a fork that is at rest, with the part of its log that is not copied yet. Nothing becomes due: a copy is saved without a lease and
 * without commands. Its metadata says only where it comes from, so that a list of the application does not find it. Returns the number of its
 * last event.
 */
async function saveFork(
  from: RunStore,
  to: RunStore,
  id: string,
  known: number | undefined,
): Promise<number> {
  const stored = await from.load(id)
  if (stored === undefined) return known ?? 0
  const { lastEventId } = stored
  const snapshots = await snapshotsAfter(from, id, known, lastEventId)
  let last = known ?? 0
  let ifVersion = known === undefined ? 0 : undefined
  const put = async (session: Session, at: number, first: boolean): Promise<void> => {
    const events = await eventsBetween(from, id, last, at)
    const own = { ...session, metadata: onlyOrigin(session) }
    await to.save(own, { ifVersion, events, ...(first ? { first } : {}) })
    ifVersion = undefined
    last = at
  }
  for (const snapshot of snapshots) await put(snapshot.session, snapshot.lastEventId, true)
  await put(stored.session, lastEventId, false)
  return lastEventId
}

function onlyOrigin({ metadata }: Session): Session['metadata'] {
  const { forkOf } = metadata
  return forkOf === undefined ? {} : { forkOf }
}

/** The first sessions of the runs that began after a number, in order. */
async function snapshotsAfter(
  store: RunStore,
  id: string,
  known: number | undefined,
  lastEventId: number,
): Promise<readonly Snapshot[]> {
  const found: Snapshot[] = []
  const least = known ?? 0
  let at = lastEventId
  while (at >= least) {
    const snapshot = await store.readSnapshot(id, at)
    if (snapshot === undefined || snapshot.lastEventId < least) break
    found.unshift(snapshot)
    at = snapshot.lastEventId - 1
  }
  return found
}

async function eventsBetween(
  store: RunStore,
  id: string,
  after: number,
  last: number,
): Promise<readonly StreamEvent[]> {
  if (last <= after) return []
  const entries = await store.readEvents(id, { after, limit: last - after })
  return entries.flatMap((entry) => ('event' in entry ? [entry.event] : []))
}
