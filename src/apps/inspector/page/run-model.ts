import { isStreamEvent } from '../../../core/types/events.ts'
import type { Session } from '../../../core/types/session.ts'
import type { LogEntry } from '../../../durable/stores/run-store.ts'
import type { SessionDetail } from '../api.ts'
import { InspectorRefusal, type Client, type LogPlace } from './client.ts'
import { historyOf, type History } from './fold.ts'
import { timelineBuilder, type Timeline } from './timeline.ts'

/** A run that the page looks at: its log as far as it is known, and what is derived from it. */
export interface RunModel {
  readonly state: RunState
  readonly subscribe: (listener: () => void) => () => void
  /** The entries, in order. The list grows, and is the same one all the time. */
  readonly entries: readonly LogEntry[]
  /** The indexes of the entries that are not pieces of an answer. It grows, too. */
  readonly steps: readonly number[]
  /** The session after so many entries, or the newest one if the log does not tell. */
  readonly sessionAt: (length: number) => Session | undefined
  /** The index of an event or a command by its number, or -1. */
  readonly indexOf: (kind: 'event' | 'command', id: number) => number
  readonly timeline: () => Timeline
  readonly eventCount: () => number
  /** The number of the last event; 0 without one. */
  readonly lastEvent: () => number
  /**
   * Whether an answer was recorded after an event, or, with a number of messages, whether the log has an answer to the last of them: what a
   * fork on recorded answers goes on with.
   */
  readonly isAnswered: (kept: number | undefined, event: number | undefined) => boolean
  /** Looks whether something has happened. */
  readonly refresh: () => void
  /** Looks who runs it and what it has used, without reading the log. */
  readonly look: () => void
  readonly close: () => void
}

/** What is known of a run. A new object for each change. */
export interface RunState {
  readonly detail?: SessionDetail
  /** How many entries are known. */
  readonly length: number
  readonly isLoading: boolean
  /** Whether new entries are awaited. */
  readonly isFollowing: boolean
  readonly error?: InspectorRefusal | undefined
}

const firstWaitMs = 500
const longestWaitMs = 15_000
const pollMs = 4000
/** The timeline of a long log is not drawn for each new entry, but so often. */
const longLog = 2000
const redrawMs = 500

/** Opens a run: reads its log, and follows it while it runs. */
export function openRun(client: Client, id: string): RunModel {
  const entries: LogEntry[] = []
  const steps: number[] = []
  const eventIndexes = new Map<number, number>()
  const commandIndexes = new Map<number, number>()
  const listeners = new Set<() => void>()
  const closing = new AbortController()
  const { signal } = closing
  const builder = timelineBuilder()
  let drawn:
    | { readonly length: number; readonly at: number; readonly timeline: Timeline }
    | undefined
  let redraw: ReturnType<typeof setTimeout> | undefined
  let history: History | undefined
  let state: RunState = { length: 0, isLoading: true, isFollowing: false }
  let isTold = false
  let isBusy = false
  let isAgain = false
  let timer: ReturnType<typeof setTimeout> | undefined

  /** Listeners are called once for everything that came in one frame. */
  const changed = (next: Partial<RunState>): void => {
    state = { ...state, ...next, length: entries.length }
    if (isTold || signal.aborted) return
    isTold = true
    soon(() => {
      isTold = false
      for (const listener of listeners) listener()
    })
  }

  const add = (news: readonly LogEntry[]): void => {
    for (const entry of news) {
      const indexes = 'event' in entry ? eventIndexes : commandIndexes
      if (indexes.has(entry.id)) continue
      indexes.set(entry.id, entries.length)
      if (!isPiece(entry)) steps.push(entries.length)
      entries.push(entry)
      builder.add(entry)
    }
  }

  const place = (): LogPlace => ({
    after: lastId(entries, true) ?? state.detail?.base?.lastEventId ?? 0,
    afterCommand: lastId(entries, false),
  })

  const readDetail = async (): Promise<SessionDetail> => {
    const detail = await client.session(id, signal)
    const { base } = detail
    if (history === undefined && base !== undefined) history = historyOf(base.session, entries)
    changed({ detail, error: undefined })
    return detail
  }

  const readLog = async (): Promise<void> => {
    for (let more = true; more && !signal.aborted;) {
      const page = await client.log(id, place(), signal)
      const before = entries.length
      add(page.entries)
      more = page.more && entries.length > before
      changed({})
    }
  }

  /** Reads what there is, follows the run to its rest, and looks what it rests as. */
  const read = async (): Promise<void> => {
    let failures = 0
    let [detail] = await Promise.all([readDetail(), readLog()])
    // What was written between the two.
    if ((lastId(entries, true) ?? 0) < detail.lastEventId) await readLog()
    changed({ isLoading: false })
    while (detail.item.running && !signal.aborted) {
      changed({ isFollowing: true })
      try {
        const isAtRest = await client.follow(
          id,
          place(),
          (news) => {
            failures = 0
            add(news)
            changed({})
          },
          signal,
        )
        if (!isAtRest) failures++
      } catch (error) {
        if (error instanceof InspectorRefusal && error.status >= 400 && error.status < 500)
          throw error
        failures++
      }
      if (signal.aborted) return
      if (failures > 0)
        await wait(Math.min(longestWaitMs, firstWaitMs * 2 ** (failures - 1)), signal)
      detail = await readDetail()
      await readLog()
    }
  }

  const begin = (): void => {
    if (signal.aborted) return
    if (isBusy) {
      isAgain = true
      return
    }
    isBusy = true
    isAgain = false
    clearTimeout(timer)
    read()
      .then(
        () => changed({ isFollowing: false, isLoading: false }),
        (error: unknown) => {
          if (signal.aborted) return
          changed({ isFollowing: false, isLoading: false, error: asRefusal(error) })
        },
      )
      .finally(() => {
        isBusy = false
        if (isAgain) begin()
        // Somebody else may go on with it.
        else if (!signal.aborted) timer = setTimeout(poll, pollMs)
      })
      .catch(() => undefined)
  }
  const poll = (): void => {
    if (document.visibilityState === 'visible') begin()
    else timer = setTimeout(poll, pollMs)
  }
  begin()

  return {
    get state() {
      return state
    },
    subscribe(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    entries,
    steps,
    sessionAt: (length) =>
      history === undefined || (length >= entries.length && entries.length === 0)
        ? state.detail?.session
        : history.at(length),
    indexOf: (kind, number) => (kind === 'event' ? eventIndexes : commandIndexes).get(number) ?? -1,
    eventCount: () => eventIndexes.size,
    lastEvent: () => lastId(entries, true) ?? 0,
    isAnswered(kept, event) {
      if (kept === undefined) {
        return entries.some((entry) => isAnswerEnd(entry) && entry.id > (event ?? 0))
      }
      // Threads grow: if the last call was not asked with so many messages, none was.
      const last = entries.findLastIndex(isAnswerStart)
      const asked = last === -1 ? undefined : history?.at(last)
      return (asked?.thread.messages.length ?? -1) >= kept
    },
    timeline() {
      if (drawn?.length === entries.length) return drawn.timeline
      const now = performance.now()
      if (drawn !== undefined && entries.length > longLog && now - drawn.at < redrawMs) {
        redraw ??= setTimeout(() => {
          redraw = undefined
          changed({})
        }, redrawMs)
        return drawn.timeline
      }
      drawn = { length: entries.length, at: now, timeline: builder.timeline() }
      return drawn.timeline
    },
    refresh: begin,
    look() {
      // Whatever fails here fails for the reader of the log, too, and is told by it.
      readDetail().catch(() => undefined)
    },
    close() {
      clearTimeout(timer)
      clearTimeout(redraw)
      closing.abort()
      listeners.clear()
    },
  }
}

/** The number of the last event, or of the last command. */
function lastId(entries: readonly LogEntry[], isEvent: boolean): number | undefined {
  return entries.findLast((entry) => 'event' in entry === isEvent)?.id
}

/** Whether a model call begins with an entry: one that was refused has only an error. */
function isAnswerStart(entry: LogEntry): boolean {
  return (
    'event' in entry && (entry.event.type === 'message_started' || entry.event.type === 'error')
  )
}

function isAnswerEnd(entry: LogEntry): boolean {
  return (
    'event' in entry && (entry.event.type === 'message_completed' || entry.event.type === 'error')
  )
}

/** Whether an entry is a piece of something that another entry has as a whole. */
function isPiece(entry: LogEntry): boolean {
  if (!('event' in entry)) return false
  const { event } = entry
  const inner = event.type === 'tool_progress' ? event.data : undefined
  const type = isStreamEvent(inner) ? inner.type : event.type
  return type.endsWith('_delta') || type === 'raw_chunk'
}

function asRefusal(error: unknown): InspectorRefusal {
  if (error instanceof InspectorRefusal) return error
  return new InspectorRefusal('unknown', String(error), 0)
}

/** A hidden page draws no frames, and still counts its entries. */
function soon(task: () => void): void {
  if (document.visibilityState === 'visible') requestAnimationFrame(task)
  else setTimeout(task, 100)
}

function wait(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, ms)
    function done(): void {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    signal.addEventListener('abort', done)
  })
}
