import { systemClock, type Clock } from '../../core/base/clock.ts'
import { assertOptions } from '../../core/schema/checks.ts'
import type { ErrorData } from '../../core/types/error-data.ts'
import type { StreamEvent } from '../../core/types/events.ts'
import { defined } from '../../core/types/guards.ts'
import type { JsonObject } from '../../core/types/json.ts'
import type { SessionCommand, SessionStatus } from '../../core/types/session.ts'
import { stringifySession } from '../../engine/session/saved.ts'
import {
  assertPendingOptions,
  firstExpiry,
  matchesExpiry,
  pendingPageOf,
  rowsOfSession,
  waitingCalls,
  waitingSince,
} from './pending-rows.ts'
import {
  assertAcquireOptions,
  assertPushOptions,
  busy,
  commandDigest,
  leaseLost,
  refuseGap,
  refuseReuse,
  type AcquiredLease,
  type AcquireOptions,
  type CommandEntry,
  type EventEntry,
  type InboxEntry,
  type KnownKey,
  type LogEntry,
  type ReadEventsOptions,
  type RunState,
  type RunStore,
  type SlotTaken,
} from './run-store.ts'
import {
  assertListOptions,
  assertSaveOptions,
  assertSessionId,
  matchesRow,
  refuseStale,
  selectIds,
  storedSession,
  type Lease,
  type SessionRow,
} from './session-store.ts'

/** The clock of a memory store; by default that of the system. */
export interface MemoryStoreOptions {
  readonly clock?: Clock | undefined
}

/**
 * A store in memory, for tests and for one process. It stores text, so what was saved cannot be changed from outside.
 *
 * It is also the shortest complete `RunStore`: every operation is one synchronous step on a record.
 */
export function memoryStore(options: MemoryStoreOptions = {}): RunStore {
  assertOptions('invalid_options', options, ['clock'])
  const { clock = systemClock } = options
  const records = new Map<string, StoredRecord>()
  const listeners = new Map<string, Set<() => void>>()
  let lastToken = 0

  const recordOf = (id: string): StoredRecord => {
    assertSessionId(id)
    const known = records.get(id)
    if (known !== undefined) return known
    const record = emptyRecord(clock.now())
    records.set(id, record)
    return record
  }
  /** The record of a session that the caller owns. */
  const owned = (id: string, lease: Lease): StoredRecord => {
    assertSessionId(id)
    const record = records.get(id)
    if (record === undefined || record.token !== lease.token) throw leaseLost(id, lease)
    return record
  }
  const changed = (id: string): void => {
    for (const listener of listeners.get(id) ?? []) queueMicrotask(listener)
  }
  const acquire = (id: string, { owner, ttlMs }: AcquireOptions): AcquiredLease | undefined => {
    const record = recordOf(id)
    const now = clock.now()
    if (isLive(record, now)) return undefined
    const waitMs = record.owner === undefined ? (record.dueAt ?? now) - now : 0
    lastToken++
    const expiresAt = now + ttlMs
    Object.assign(record, { token: lastToken, owner, dueAt: expiresAt })
    changed(id)
    const wakeInMs = waitMs > 0 && record.inbox.length === 0 ? waitMs : undefined
    return defined<AcquiredLease>({ token: lastToken, expiresAt, wakeInMs })
  }
  const dueIds = (): readonly string[] => {
    const now = clock.now()
    return [...records]
      .filter(([, { dueAt }]) => dueAt !== undefined && dueAt <= now)
      .toSorted(([, left], [, right]) => (left.dueAt ?? 0) - (right.dueAt ?? 0))
      .map(([id]) => id)
  }

  return {
    // There is no other process.
    notifies: true,
    load: async (id) => {
      assertSessionId(id)
      const record = records.get(id)
      if (record?.text === undefined) return undefined
      const { version, updatedAt, folded: lastEventId } = record
      return { session: storedSession(id, record.text), version, updatedAt, lastEventId }
    },
    save: async (session, options = {}) => {
      assertSaveOptions(options)
      const { lease, ifVersion, events = [], taken = 0, refused, first } = options
      const text = stringifySession(session)
      const { id, status, metadata } = session
      const now = clock.now()
      const known = lease === undefined ? records.get(id) : owned(id, lease)
      if (lease === undefined && known !== undefined && isLive(known, now)) {
        throw busy(id, 'it cannot be saved without its lease')
      }
      refuseStale(id, known?.version ?? 0, ifVersion)
      const record = known ?? recordOf(id)
      const texts = events.map((event) => JSON.stringify(event))
      take(record, taken, now, refused)
      addEvents(record, texts, now)
      const version = record.version + 1
      const own = structuredClone(metadata)
      const folded = record.lastEventId
      const calls = waitingCalls(session)
      const waiting = waitingSince(calls, record.waiting, now)
      Object.assign(record, {
        text,
        status,
        metadata: own,
        version,
        updatedAt: now,
        folded,
        waiting,
        expiresAt: firstExpiry(calls),
      })
      if (first === true) record.snapshots.push({ at: now, text, lastEventId: folded })
      changed(id)
      return version
    },
    delete: async (id) => {
      assertSessionId(id)
      records.delete(id)
      changed(id)
    },
    list: async (options = {}) => {
      assertListOptions(options)
      return selectIds(records.keys(), options)
        .flatMap((id) => rowOf(id, records.get(id)) ?? [])
        .filter((row) => matchesRow(row, options))
        .slice(0, options.limit)
    },

    append: async (id, events, { lease, after }) => {
      const record = owned(id, lease)
      refuseGap(id, record.lastEventId, after)
      const texts = events.map((event) => JSON.stringify(event))
      addEvents(record, texts, clock.now())
      changed(id)
      return record.lastEventId
    },

    acquire: async (id, options) => {
      assertAcquireOptions(options)
      return acquire(id, options)
    },
    renew: async (id, { token }, ttlMs) => {
      const record = records.get(id)
      if (record?.token !== token || record.owner === undefined) return false
      record.dueAt = clock.now() + ttlMs
      return true
    },
    release: async (id, { token }, { wakeInMs } = {}) => {
      const record = records.get(id)
      if (record?.token !== token || record.owner === undefined) return false
      const now = clock.now()
      const wakeAt = wakeInMs === undefined ? undefined : now + wakeInMs
      const stop = record.stop && wakeAt !== undefined
      const dueAt = record.inbox.length > 0 || stop ? now : wakeAt
      Object.assign(record, { owner: undefined, stop, dueAt })
      if (dueAt === undefined && isEmpty(record)) records.delete(id)
      changed(id)
      return dueAt !== undefined && dueAt <= now
    },
    claim: async (options) => {
      assertAcquireOptions(options)
      const [id] = dueIds()
      const lease = id === undefined ? undefined : acquire(id, options)
      return id === undefined || lease === undefined ? undefined : { id, lease }
    },

    push: async (id, command, options = {}) => {
      assertPushOptions(options)
      const { key, ifIdle, slot } = options
      const text = JSON.stringify(command)
      const now = clock.now()
      const record = recordOf(id)
      const known = key === undefined ? undefined : record.keys.get(key)
      if (key !== undefined && known !== undefined) {
        refuseReuse(id, key, known, command)
        return false
      }
      if (ifIdle === true && record.dueAt !== undefined) throw busy(id, 'it takes no command')
      const holder = slot === undefined ? undefined : record.slots.get(slot)
      if (holder !== undefined) return toSlotTaken(holder)
      if (key !== undefined) record.keys.set(key, { at: now, digest: commandDigest(command) })
      if (slot !== undefined) record.slots.set(slot, { at: now, text })
      record.inbox.push({ at: now, text, slot })
      if (!isLive(record, now)) record.dueAt = Math.min(record.dueAt ?? now, now)
      changed(id)
      return true
    },
    knowsKey: async (id, key, command) => {
      const known = records.get(id)?.keys.get(key)
      if (known !== undefined && command !== undefined) refuseReuse(id, key, known, command)
      return known !== undefined
    },
    readInbox: async (id) => {
      assertSessionId(id)
      return (records.get(id)?.inbox ?? []).map(
        ({ at, text }): InboxEntry => ({ at, command: JSON.parse(text) as SessionCommand }), // Written by `push`.
      )
    },
    due: async ({ limit }) => dueIds().slice(0, limit),

    readEvents: async (id, options) => {
      assertSessionId(id)
      return entriesOf(records.get(id), options)
    },
    readSnapshot: async (id, at) => {
      assertSessionId(id)
      const found = records.get(id)?.snapshots.findLast(({ lastEventId }) => lastEventId <= at)
      return found && { session: storedSession(id, found.text), lastEventId: found.lastEventId }
    },
    look: async (id) => {
      assertSessionId(id)
      const record = records.get(id)
      return record && stateOf(record, clock.now())
    },

    pending: async (options = {}) => {
      assertPendingOptions(options)
      const rows = [...records].flatMap(([id, { text, waiting, expiresAt, updatedAt }]) =>
        text === undefined || waiting.size === 0 || !matchesExpiry(expiresAt, options)
          ? []
          : rowsOfSession(storedSession(id, text), waiting, updatedAt),
      )
      return pendingPageOf(rows, options)
    },

    requestStop: async (id) => {
      assertSessionId(id)
      const record = records.get(id)
      if (record?.dueAt === undefined) return
      record.stop = true
      if (record.owner === undefined) record.dueAt = Math.min(record.dueAt, clock.now())
      changed(id)
    },
    stopRequested: async (id) => records.get(id)?.stop === true,
    watch: (id, listener) => {
      const own = listeners.get(id) ?? new Set()
      listeners.set(id, own.add(listener))
      return () => {
        own.delete(listener)
        if (own.size === 0 && listeners.get(id) === own) listeners.delete(id)
      }
    },
    prune: async ({ keepMs, limit = Infinity }) => {
      const before = clock.now() - keepMs
      let count = 0
      for (const record of records.values()) {
        if (count >= limit) break
        if (prune(record, before)) count++
      }
      return count
    },
  }
}

/** A session and what belongs to it. */
interface StoredRecord {
  /** Absent until the first save. */
  text?: string
  status: SessionStatus
  metadata: JsonObject
  version: number
  updatedAt: number
  /** The number of the last event that is folded into the session. */
  folded: number
  lastEventId: number
  lastCommandId: number
  /** Since when the calls wait that the session waits for, by their tickets. */
  waiting: Map<string, number>
  /** When the first of these calls expires. */
  expiresAt?: number | undefined
  events: StoredEvent[]
  commands: StoredCommand[]
  /** The first sessions of the runs in the log. */
  snapshots: { readonly at: number; readonly text: string; readonly lastEventId: number }[]
  inbox: (GivenCommand & { readonly slot: string | undefined })[]
  readonly keys: Map<string, KnownKey>
  /** The commands that have slots. */
  readonly slots: Map<string, GivenCommand>
  token: number
  /** Set while there is a lease, live or expired. */
  owner?: string | undefined
  /** The end of the lease, or else the time at which the session is due. Absent at rest. */
  dueAt?: number | undefined
  stop: boolean
}

interface GivenCommand {
  readonly at: number
  readonly text: string
}

interface StoredEvent {
  readonly id: number
  readonly at: number
  readonly text: string
}

interface StoredCommand extends StoredEvent {
  /** The number of the last event before it. */
  readonly position: number
  readonly refused?: ErrorData | undefined
}

function emptyRecord(now: number): StoredRecord {
  return {
    status: 'idle',
    metadata: {},
    version: 0,
    updatedAt: now,
    folded: 0,
    lastEventId: 0,
    lastCommandId: 0,
    waiting: new Map(),
    events: [],
    commands: [],
    snapshots: [],
    inbox: [],
    keys: new Map(),
    slots: new Map(),
    token: 0,
    stop: false,
  }
}

/** Whether somebody owns the session now. */
function isLive({ owner, dueAt }: StoredRecord, now: number): boolean {
  return owner !== undefined && dueAt !== undefined && dueAt > now
}

/** Whether a record was only made to take its lease. */
function isEmpty({ version, inbox, keys, lastEventId }: StoredRecord): boolean {
  return version === 0 && inbox.length === 0 && keys.size === 0 && lastEventId === 0
}

function take(record: StoredRecord, count: number, at: number, refused?: ErrorData): void {
  for (const { text, slot } of record.inbox.splice(0, count)) {
    if (slot !== undefined && refused !== undefined) record.slots.delete(slot)
    record.lastCommandId++
    const { lastCommandId: id, lastEventId: position } = record
    record.commands.push({ id, at, text, position, refused })
  }
}

function addEvents(record: StoredRecord, texts: readonly string[], at: number): void {
  for (const text of texts) {
    record.lastEventId++
    record.events.push({ id: record.lastEventId, at, text })
  }
}

function rowOf(id: string, record: StoredRecord | undefined): SessionRow | undefined {
  if (record === undefined) return undefined
  const { status, version, updatedAt, dueAt, metadata } = record
  return { id, status, version, updatedAt, running: dueAt !== undefined, metadata }
}

function stateOf(record: StoredRecord, now: number): RunState {
  const { version, status, lastEventId, lastCommandId, inbox, owner, dueAt } = record
  return defined<RunState>({
    version,
    status,
    running: dueAt !== undefined,
    lastEventId,
    lastCommandId,
    queued: inbox.length,
    owner: isLive(record, now) ? owner : undefined,
    dueAt,
  })
}

function entriesOf(
  record: StoredRecord | undefined,
  options: ReadEventsOptions,
): readonly LogEntry[] {
  const { after = 0, afterCommand, commands = false, limit } = options
  if (record === undefined) return []
  const first = record.events[0]?.id ?? 0
  const events = record.events.slice(Math.max(0, after + 1 - first)).slice(0, limit)
  if (!commands) return events.map(toEventEntry)
  const given = record.commands
    .filter(({ id, position }) =>
      afterCommand === undefined ? position >= after : id > afterCommand,
    )
    .slice(0, limit)
  const entries: LogEntry[] = []
  // A command comes after the events that were there when it was applied.
  for (const event of events) {
    while ((given[0]?.position ?? event.id) < event.id)
      entries.push(...given.splice(0, 1).map(toCommandEntry))
    entries.push(toEventEntry(event))
  }
  return [...entries, ...given.map(toCommandEntry)].slice(0, limit)
}

function toSlotTaken({ at, text }: GivenCommand): SlotTaken {
  return { taken: false, command: JSON.parse(text) as SessionCommand, at } // Written by `push`.
}

function toEventEntry({ id, at, text }: StoredEvent): EventEntry {
  return { id, at, event: JSON.parse(text) as StreamEvent } // Written by `addEvents`.
}

function toCommandEntry({ id, at, text, refused }: StoredCommand): CommandEntry {
  const command = JSON.parse(text) as SessionCommand // Written by `push`.
  return defined<CommandEntry>({ id, at, command, refused })
}

/** Removes what is older. Returns whether there was anything. */
function prune(record: StoredRecord, before: number): boolean {
  const { events, commands, snapshots, keys, folded, lastEventId } = record
  const size = events.length + commands.length + snapshots.length + keys.size
  // Whole runs are removed, so that what is left goes on from a snapshot; the last run too, if all of it is in the session.
  const old = events.findLast(({ at }) => at < before)?.id ?? 0
  const isOver = old === lastEventId && folded === lastEventId
  const next = snapshots.findLastIndex((snapshot) => snapshot.lastEventId <= old)
  const cut = isOver ? folded : (snapshots[next]?.lastEventId ?? 0)
  record.events = events.filter(({ id }) => id > cut)
  record.commands = commands.filter(({ at, position }) => at >= before || position > cut)
  record.snapshots = isOver
    ? snapshots.filter(({ at }) => at >= before)
    : snapshots.slice(Math.max(0, next))
  for (const [key, { at }] of keys) if (at < before) keys.delete(key)
  const left = record.events.length + record.commands.length + record.snapshots.length
  return left + keys.size < size
}
