import { startTimer, type Clock } from '../../core/base/clock.ts'
import { SessionError } from '../../core/errors/errors.ts'
import { defined } from '../../core/types/guards.ts'
import { messageText, type Message } from '../../core/types/message.ts'
import type { ChatOutcome, ChatResult, HaltedReason } from '../../core/types/results.ts'
import type { Session, SessionStatus } from '../../core/types/session.ts'
import { createSession } from '../../engine/session/create.ts'
import {
  applySessionEvent,
  finalizeSession,
  reduceSession,
  type SessionReducer,
} from '../../engine/session/reduce.ts'
import type { LogEntry, RunStore } from '../stores/run-store.ts'
import { assertSessionId } from '../stores/session-store.ts'
import type { FollowOptions, RestedRun, RunInfo } from './contract.ts'

/** Where runs are read, and by which clock their readers wait. */
export interface Reading {
  readonly store: RunStore
  readonly clock: Clock
}

/** Entries that are read at once. */
const pageSize = 500

/** How often a session is read again because it was saved in the meantime. */
const mostAttempts = 100

/** The session as of the last event of its log: what was saved last, with the later events folded in. */
export async function readSession(store: RunStore, id: string): Promise<RunInfo | undefined> {
  for (let attempt = 0; attempt < mostAttempts; attempt++) {
    const stored = await store.load(id)
    const folded = stored && (await foldLog(store, id, stored.session, stored.lastEventId))
    const state = await store.look(id)
    if (state === undefined) return undefined
    const { version, running, owner, dueAt } = state
    // If it was saved meanwhile, the events may be those of another run.
    if (version !== (stored?.version ?? 0)) continue
    if (folded === undefined) {
      return { session: createSession({ id }), version, running, lastEventId: 0 }
    }
    const { reducer, lastEventId } = folded
    const isLater = lastEventId > (stored?.lastEventId ?? 0)
    const session = isLater ? finalizeSession(reducer).session : reducer.base
    const isWaiting = owner === undefined && session.run?.attempts !== undefined
    const wakeAt = isWaiting ? dueAt : undefined
    return defined<RunInfo>({ session, version, running, lastEventId, wakeAt })
  }
  throw new SessionError(
    'unavailable',
    `session ${id} was saved ${mostAttempts} times while it was read`,
  )
}

/** Throws if the session or its inbox cannot be read: every attempt to advance it would fail. */
export async function assertReadable(store: RunStore, id: string): Promise<void> {
  await readSession(store, id)
  await store.readInbox(id)
}

/** The error of an id that nobody has sent anything. */
export function noSession(id: string): SessionError {
  const message = `there is no session ${id}: runs.send makes one`
  return new SessionError('illegal_status', message, { metadata: { id, unknown: true } })
}

/** The session at rest, and the result of its last run from the first snapshot on; nothing while it runs. */
export async function readResult(store: RunStore, id: string): Promise<RestedRun | undefined> {
  const info = await readSession(store, id)
  if (info === undefined) throw noSession(id)
  const { session, lastEventId, running } = info
  if (running) return undefined
  const first = await store.readSnapshot(id, lastEventId)
  // The log is not kept for ever.
  if (first === undefined) return { session, result: restedResult(session), pruned: true }
  const { reducer } = await foldLog(store, id, first.session, first.lastEventId)
  return { session, result: finalizeSession(reducer).result }
}

/** The result of a run whose log is not kept any more, as far as its session tells. */
function restedResult(session: Session): ChatResult {
  const { thread, status, haltedReason, pendingApprovals, pendingToolCalls } = session
  const from = thread.messages.findLastIndex(({ role }) => role === 'user')
  const said = thread.messages.slice(from + 1).filter(({ role }) => role === 'assistant')
  const outcome = defined<ChatOutcome>({
    outputText: said.length === 0 ? '' : messageText(said[said.length - 1] ?? silent),
    steps: [],
    haltedReason: haltedReason ?? restedReasons[status],
    pendingQuestion: session.pendingQuestion,
    pendingToolCallId: session.pendingToolCallId,
    pendingQuestionOptions: session.pendingQuestionOptions,
    pendingApprovals,
    manualToolCalls: pendingToolCalls,
    usage: {},
    metadata: {},
    error: session.error,
  })
  const rested = reduceSession({ ...session, status: status === 'idle' ? 'halted' : status })
  return finalizeSession(applySessionEvent(rested, { type: 'chat_completed', result: outcome }))
    .result
}

const silent: Message = { role: 'assistant', content: '' }

const restedReasons: Readonly<Record<SessionStatus, HaltedReason>> = {
  idle: 'cancelled',
  awaiting_user: 'ask_user',
  awaiting_approval: 'approval',
  awaiting_tools: 'manual_tool_calls',
  completed: 'completed',
  halted: 'cancelled',
  error: 'error',
}

/** Folds the events after a number into the session that goes with it. */
async function foldLog(
  store: RunStore,
  id: string,
  session: Session,
  after: number,
): Promise<{ readonly reducer: SessionReducer; readonly lastEventId: number }> {
  let reducer = reduceSession(session)
  let lastEventId = after
  for (;;) {
    const page = await store.readEvents(id, { after: lastEventId, limit: pageSize })
    for (const entry of page) {
      if (!('event' in entry)) continue
      reducer = applySessionEvent(reducer, entry.event)
      lastEventId = entry.id
    }
    if (page.length < pageSize) return { reducer, lastEventId }
  }
}

/**
 * The entries of a log and then those that are written, until the session is at rest. An unknown session throws, unless it may be
 * about to be made.
 */
export async function* followLog(
  { store, clock }: Reading,
  id: string,
  options: FollowOptions,
  mayBeUnknown = false,
): AsyncGenerator<LogEntry, void> {
  assertSessionId(id)
  const { after = 0, commands = false, signal } = options
  let last = after
  let lastCommand = options.afterCommand
  let isKnown = mayBeUnknown
  const hints = listen(store, id, clock)
  try {
    for (;;) {
      if (isAborted(signal)) return
      // The state is read first: if nothing runs in it, the entries that are read then are all there are.
      const state = await store.look(id)
      // It may be deleted while it is followed.
      if (state === undefined && !isKnown) throw noSession(id)
      isKnown = true
      if (state !== undefined && state.lastEventId < last) {
        throw unknownNumber(id, 'event', last, state.lastEventId)
      }
      if (state !== undefined && lastCommand !== undefined && state.lastCommandId < lastCommand) {
        throw unknownNumber(id, 'command', lastCommand, state.lastCommandId)
      }
      const entries = await store.readEvents(id, {
        after: last,
        afterCommand: lastCommand,
        commands,
        limit: pageSize,
      })
      for (const entry of entries) {
        if (!('event' in entry)) lastCommand = entry.id
        else {
          if (after > 0 && entry.id > last + 1) throw notKept(id, last, entry.id)
          last = entry.id
        }
        yield entry
        if (isAborted(signal)) return
      }
      if (entries.length === 0 && after > 0 && (state?.lastEventId ?? 0) > last) {
        throw notKept(id, last, (state?.lastEventId ?? 0) + 1)
      }
      if (entries.length > 0) hints.reset()
      else if (state?.running !== true) return
      else await hints.next(signal)
    }
  } finally {
    hints.end()
  }
}

function isAborted(signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true
}

function notKept(id: string, last: number, first: number): SessionError {
  return new SessionError(
    'stale',
    `the events ${last + 1} to ${first - 1} of session ${id} are not kept any more: read the session and follow it from its lastEventId`,
    { metadata: { id, after: last, first } },
  )
}

function unknownNumber(
  id: string,
  what: 'event' | 'command',
  last: number,
  end: number,
): SessionError {
  return new SessionError(
    'stale',
    `session ${id} has no ${what} ${last}: its log ends with ${end}. It was deleted and made again; read it and follow it from its lastEventId`,
    {
      metadata:
        what === 'event'
          ? { id, after: last, lastEventId: end }
          : { id, afterCommand: last, lastCommandId: end },
    },
  )
}

/** Tells when it is worth to look at a session again. */
interface Hints {
  /** Resolves with the next hint, when it is time to look without one, or when the signal is aborted. */
  next(signal?: AbortSignal): Promise<void>
  /** Something happened, so the next look comes soon. */
  reset(): void
  end(): void
}

/** The waits between two looks without a hint: from the first, doubling to the longest. */
const firstWaitMs = 20
const longestWaitMs = 1000
/** The longest wait where the store says by itself that something changed. */
const longestNotifiedWaitMs = 10_000

/** Listens to the hints of a store, and looks by itself with a back-off, because a hint may get lost. */
function listen(store: RunStore, id: string, clock: Clock): Hints {
  const longest = store.notifies ? longestNotifiedWaitMs : longestWaitMs
  let waitMs = store.notifies ? longest : firstWaitMs
  let rang = false
  let wake: (() => void) | undefined
  const unwatch = store.watch(id, () => {
    rang = true
    wake?.()
  })
  return {
    async next(signal) {
      if (!rang && signal?.aborted !== true) {
        await new Promise<void>((resolve) => {
          const done = (): void => {
            wake = undefined
            cancel()
            signal?.removeEventListener('abort', done)
            resolve()
          }
          const cancel = startTimer(clock, waitMs, done)
          wake = done
          signal?.addEventListener('abort', done, { once: true })
        })
        waitMs = Math.min(longest, waitMs * 2)
      }
      rang = false
    },
    reset() {
      waitMs = store.notifies ? longest : firstWaitMs
    },
    end: unwatch,
  }
}
