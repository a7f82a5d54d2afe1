import { systemClock } from '../../core/base/clock.ts'
import { isAllmError, SessionError } from '../../core/errors/errors.ts'
import { assertValid, optionsOf, refuse, text, type Check } from '../../core/schema/checks.ts'
import type { StreamEvent } from '../../core/types/events.ts'
import { defined, isObject } from '../../core/types/guards.ts'
import type { Session, SessionCommand, SessionStatus } from '../../core/types/session.ts'
import { stringifySession } from '../../engine/session/saved.ts'
import {
  assertPendingOptions,
  readPendingPage,
  waitingBody,
  waitingCalls,
  type PendingPlace,
} from './pending-rows.ts'
import { clockSlackMs, isOfTheFuture, waitOf } from './run-record.ts'
import {
  assertAcquireOptions,
  assertPushOptions,
  busy,
  leaseLost,
  refuseGap,
  type AcquiredLease,
  type AcquireOptions,
  type PendingOptions,
  type PendingRow,
  type PushOptions,
  type RunStore,
  type SlotTaken,
} from './run-store.ts'
import {
  assertListOptions,
  assertSaveOptions,
  assertSessionId,
  refuseStale,
  storedSession,
  type Lease,
  type ListOptions,
  type SaveOptions,
  type SessionRow,
} from './session-store.ts'
import {
  assertSqlName,
  codeOf,
  createListeners,
  idRange,
  keyText,
  listFiltered,
  named,
  readableSession,
  refuseOther,
  storable,
  toInboxEntry,
  toLogEntry,
  toWaitingRow,
  toRunState,
  toSessionRow,
  toSlotTaken,
  unavailable,
  type InboxColumns,
  type ListedColumns,
  type LogColumns,
  type WaitingColumns,
} from './sql.ts'

/**
 * The part of an SQLite database that the store needs. `DatabaseSync` of `node:sqlite`, `Database` of `better-sqlite3` and `Database` of
 * `bun:sqlite` have it.
 */
export interface SqliteDatabase {
  exec(sql: string): unknown
  prepare(sql: string): SqliteStatement
}

/** A prepared statement with parameters that are written `?`. */
export interface SqliteStatement {
  all(...params: SqliteParam[]): readonly unknown[]
  run(...params: SqliteParam[]): unknown
}

/** A parameter of a statement. */
export type SqliteParam = string | number | null

/** Where the tables are. */
export interface SqliteStoreOptions {
  /** The beginning of the names of the tables; `allm_` without it. */
  readonly prefix?: string | undefined
}

/** A store in SQLite. */
export interface SqliteStore extends RunStore {
  /** Creates the tables, or brings them up to date. The first operation does so too. */
  migrate(): Promise<void>
}

/**
 * A store in an SQLite database (3.24 or newer), for the processes of one machine.
 *
 * Every operation is one synchronous transaction. While another process writes, it waits and tries again for some seconds, without
 * blocking this process. Processes do not hear of each other's changes: `notifies` is false, and `watch` hears of those of this store.
 *
 * The settings of the database stay as they are. `pragma journal_mode = wal` is recommended: readers and writers do not block each
 * other then. With `pragma synchronous = normal`, which is common with it, the last writes may be lost when the machine loses power.
 */
export function sqliteStore(
  database: SqliteDatabase,
  options: SqliteStoreOptions = {},
): SqliteStore {
  assertValid('invalid_options', databaseIssues(database))
  assertValid('invalid_options', storeOptions(options))
  const { prefix = 'allm_' } = options
  assertSqlName('prefix', prefix)
  const db = openTables(database, prefix)
  const listeners = createListeners()

  /** Runs an operation. It is done when this returns, unless another process is writing. */
  const perform = async <T>(what: string, work: () => T): Promise<T> => {
    for (let attempt = 1; ; attempt++) {
      try {
        db.migrate()
        return work()
      } catch (thrown) {
        if (isAllmError(thrown)) throw thrown
        if (!isLocked(thrown) || attempt >= mostAttempts) throw unavailable(what, thrown)
      }
      await systemClock.sleep((0.5 + Math.random() / 2) * Math.min(2 ** attempt, longestDelayMs))
    }
  }
  /** The same for an operation that writes. */
  const write = <T>(what: string, work: () => T): Promise<T> =>
    perform(what, () => db.transaction(work))

  const page = async (options: ListOptions): Promise<readonly SessionRow[]> => {
    const range = idRange(options)
    if (range === undefined) return []
    const given = [
      ['s.status = ?', options.status],
      ['s.id >= ?', range.from],
      ['s.id < ?', range.below],
      ['s.id > ?', range.after],
    ] as const
    const conditions = given.filter(([, value]) => value !== undefined)
    const where =
      conditions.length === 0 ? '' : `where ${conditions.map(([sql]) => sql).join(' and ')}`
    const rows = await perform('the sessions cannot be listed', () =>
      db.all<ListedColumns>(
        `select s.id, s.status, s.version, s.updated_at, s.due_at, t.metadata
        from ${db.sessions} s left join ${db.texts} t on t.session = s.key ${where} order by s.id limit ?`,
        [...conditions.flatMap(([, value]) => value ?? []), options.limit ?? -1],
      ),
    )
    return rows.map(toSessionRow)
  }

  const pendingRows = async (
    { kind, prefix, expiresBy }: PendingOptions,
    after: PendingPlace | undefined,
    limit: number,
  ): Promise<readonly PendingRow[]> => {
    const range = idRange(defined<ListOptions>({ prefix }))
    if (range === undefined) return []
    const given = [
      ['p.expires <= ?', [expiresBy]],
      ['p.kind = ?', [kind]],
      ['p.id >= ?', [range.from]],
      ['p.id < ?', [range.below]],
      ['(p.since, p.id, p.ticket) > (?, ?, ?)', [after?.since, after?.sessionId, after?.ticket]],
    ] as const
    const conditions = given.filter(([, [value]]) => value !== undefined)
    const where =
      conditions.length === 0 ? '' : `where ${conditions.map(([sql]) => sql).join(' and ')}`
    // Of all that waits little has expired, and SQLite does not know.
    const index = expiresBy === undefined ? '' : `indexed by ${db.byExpires}`
    // The order of a cross join is kept: the index of what waits comes first, whatever is known of the tables.
    const rows = await perform('what waits cannot be listed', () =>
      db.all<WaitingColumns>(
        `select p.id, p.ticket, p.kind, p.since, p.body, t.metadata from ${db.pending} p ${index}
        cross join ${db.sessions} s on s.key = p.session and s.version = p.version
        cross join ${db.texts} t on t.session = p.session ${where} order by p.since, p.id, p.ticket limit ?`,
        [...conditions.flatMap(([, values]) => values.flatMap((value) => value ?? [])), limit],
      ),
    )
    return rows.map(toWaitingRow)
  }

  return {
    notifies: false,
    migrate: () => perform('the tables cannot be created or brought up to date', () => undefined),

    load: async (id) => {
      assertSessionId(id)
      const [row] = await perform(`${named(id)} cannot be loaded`, () =>
        db.all<Pick<SessionColumns, 'version' | 'updated_at' | 'folded'> & TextColumns>(
          `select s.version, s.updated_at, s.folded, t.body
          from ${db.sessions} s join ${db.texts} t on t.session = s.key where s.id = ?`,
          [id],
        ),
      )
      if (row === undefined) return undefined
      const { version, updated_at: updatedAt, folded: lastEventId } = row
      return { session: storedSession(id, row.body), version, updatedAt, lastEventId }
    },
    save: async (session, options = {}) => {
      assertSaveOptions(options)
      const body = stringifySession(session)
      assertSessionId(session.id)
      const version = await write(`${named(session.id)} cannot be saved`, () =>
        save(db, session, body, options),
      )
      listeners.tell(session.id)
      return version
    },
    delete: async (id) => {
      assertSessionId(id)
      await write(`${named(id)} cannot be deleted`, () => {
        const { row } = db.find(id)
        if (row !== undefined) remove(db, row)
      })
      listeners.tell(id)
    },
    list: async (options = {}) => {
      assertListOptions(options)
      return listFiltered(page, options)
    },

    append: async (id, events, { lease, after }) => {
      assertSessionId(id)
      const last = await write(`events of ${named(id)} cannot be stored`, () => {
        const { row, now } = db.find(id)
        if (row === undefined || row.token !== lease.token) throw leaseLost(id, lease)
        refuseGap(id, row.last_event, after)
        addEvents(db, row, events, now)
        const lastEvent = row.last_event + events.length
        const pruneAt = row.prune_at ?? (events.length > 0 ? now : null)
        db.run(`update ${db.sessions} set last_event = ?, prune_at = ? where key = ?`, [
          lastEvent,
          pruneAt,
          row.key,
        ])
        return lastEvent
      })
      listeners.tell(id)
      return last
    },

    acquire: async (id, options) => {
      assertSessionId(id)
      assertAcquireOptions(options)
      const lease = await write(`the lease of ${named(id)} cannot be taken`, () =>
        acquire(db, id, options),
      )
      if (lease !== undefined) listeners.tell(id)
      return lease
    },
    renew: async (id, lease, ttlMs) => {
      assertSessionId(id)
      return write(`the lease of ${named(id)} cannot be renewed`, () => {
        const { row, now } = db.find(id)
        if (row === undefined || !isOwner(row, lease)) return false
        db.setDue(row, now + ttlMs, now)
        return true
      })
    },
    release: async (id, lease, { wakeInMs } = {}) => {
      assertSessionId(id)
      const dueNow = await write(`the lease of ${named(id)} cannot be given back`, () => {
        const { row, now } = db.find(id)
        if (row === undefined || !isOwner(row, lease)) return undefined
        const wakeAt = wakeInMs === undefined ? null : now + wakeInMs
        const isStopped = row.stop !== 0 && wakeAt !== null
        const dueAt = row.queued > 0 || isStopped ? now : wakeAt
        const isEmpty = row.version === 0 && row.last_event === 0 && dueAt === null
        // It was only made to take its lease.
        if (isEmpty) remove(db, row)
        else {
          const values = [isStopped ? 1 : 0, row.key]
          db.run(`update ${db.sessions} set owner = null, stop = ? where key = ?`, values)
          db.setDue(row, dueAt, now)
        }
        return dueAt !== null && dueAt <= now
      })
      if (dueNow !== undefined) listeners.tell(id)
      return dueNow === true
    },
    claim: async (options) => {
      assertAcquireOptions(options)
      const claimed = await write('no session can be claimed', () => {
        const [due] = db.due(1)
        const lease = due === undefined ? undefined : acquire(db, due.id, options)
        return due === undefined || lease === undefined ? undefined : { id: due.id, lease }
      })
      if (claimed !== undefined) listeners.tell(claimed.id)
      return claimed
    },

    push: async (id, command, options = {}) => {
      assertSessionId(id)
      assertPushOptions(options)
      const pushed = await write(`the command for ${named(id)} cannot be stored`, () =>
        push(db, id, command, options),
      )
      if (pushed === true) listeners.tell(id)
      return pushed
    },
    knowsKey: async (id, key, command) => {
      assertSessionId(id)
      const what = `the keys of ${named(id)} cannot be read`
      const known = await perform(what, () => db.commandWith(id, key))
      if (known !== undefined && command !== undefined) refuseOther(id, key, known, command)
      return known !== undefined
    },
    readInbox: async (id) => {
      assertSessionId(id)
      const rows = await perform(`the inbox of ${named(id)} cannot be read`, () =>
        db.all<InboxColumns>(
          `select c.at, c.body from ${db.sessions} s join ${db.commands} c on c.session = s.key
          where s.id = ? and c.number > s.last_command order by c.number`,
          [id],
        ),
      )
      return rows.map((row) => toInboxEntry(row, id))
    },
    due: async ({ limit }) => {
      const rows = await perform('the due sessions cannot be found', () => db.due(limit))
      return rows.map((row) => row.id)
    },

    readEvents: async (id, options) => {
      assertSessionId(id)
      const { after = 0, afterCommand, limit = -1, commands = false } = options
      const beyond = [afterCommand ?? 0, afterCommand === undefined ? after : 0]
      const ofSession = `session = (select key from ${db.sessions} where id = ?)`
      const events = `select number as place, 0 as rank, number, at, body, null as refused
        from ${db.events} where ${ofSession} and number > ? order by number limit ?`
      const taken = `select position as place, 1 as rank, number, taken_at as at, body, refused
        from ${db.commands} where ${ofSession} and number > ? and position >= ? order by number limit ?`
      // A command comes after the events that were there when it was applied.
      const both = `select * from (${events}) union all select * from (${taken}) order by place, rank, number limit ?`
      const rows = await perform(`the log of ${named(id)} cannot be read`, () =>
        commands
          ? db.all<LogColumns>(both, [id, after, limit, id, ...beyond, limit, limit])
          : db.all<LogColumns>(events, [id, after, limit]),
      )
      return rows.map((row) => toLogEntry(row, id))
    },
    readSnapshot: async (id, at) => {
      assertSessionId(id)
      const [row] = await perform(`the snapshot of ${named(id)} cannot be read`, () =>
        db.all<Pick<SessionColumns, 'last_event'> & TextColumns>(
          `select p.body, p.last_event from ${db.sessions} s join ${db.snapshots} p on p.session = s.key
          where s.id = ? and p.last_event <= ? order by p.version desc limit 1`,
          [id, at],
        ),
      )
      return row && { session: storedSession(id, row.body), lastEventId: row.last_event }
    },
    look: async (id) => {
      assertSessionId(id)
      const { row, now } = await perform(`the state of ${named(id)} cannot be read`, () =>
        db.find(id),
      )
      if (row === undefined) return undefined
      const [owner, due_at] = [
        isLive(row, now) ? row.owner : null,
        isLate(row, now) ? now : row.due_at,
      ]
      return toRunState({ ...row, owner, due_at })
    },

    pending: async (options = {}) => {
      assertPendingOptions(options)
      const isFiltered = options.metadata !== undefined
      const read = (after: PendingPlace | undefined, limit: number) =>
        pendingRows(options, after, limit)
      return readPendingPage(read, options, isFiltered)
    },

    requestStop: async (id) => {
      assertSessionId(id)
      await write(`${named(id)} cannot be asked to stop`, () => {
        const { row, now } = db.find(id)
        if (row === undefined || row.due_at === null) return
        const dueAt = row.owner === null ? Math.min(row.due_at, now) : row.due_at
        db.run(`update ${db.sessions} set stop = 1 where key = ?`, [row.key])
        if (dueAt !== row.due_at) db.setDue(row, dueAt, now)
      })
      listeners.tell(id)
    },
    stopRequested: async (id) => {
      assertSessionId(id)
      const { row } = await perform(`the state of ${named(id)} cannot be read`, () => db.find(id))
      return row?.stop === 1
    },
    watch: listeners.add,
    prune: async ({ keepMs, limit = -1 }) => {
      const what = 'what is old cannot be removed'
      const old = await perform(what, () => db.pruneable(keepMs, limit))
      let count = 0
      for (const { id } of old) if (await write(what, () => prune(db, id, keepMs))) count++
      return count
    },
  }
}

/** How often an operation is tried while another process writes, and the longest time between: some ten seconds in all. */
const mostAttempts = 250
const longestDelayMs = 50

const storeOptions = optionsOf({ prefix: text } satisfies Record<keyof SqliteStoreOptions, Check>)

const databaseIssues: Check = (database) =>
  isObject(database) &&
  typeof database['prepare'] === 'function' &&
  typeof database['exec'] === 'function'
    ? []
    : refuse(
        'a database with prepare and exec, such as new DatabaseSync() of node:sqlite',
        database,
      )

/** A row of `sessions`. */
interface SessionColumns {
  readonly key: number
  readonly id: string
  readonly version: number
  readonly status: SessionStatus
  readonly updated_at: number
  readonly folded: number
  readonly last_event: number
  readonly last_command: number
  readonly queued: number
  readonly token: number
  readonly owner: string | null
  readonly due_at: number | null
  /** When `due_at` was set. */
  readonly due_from: number | null
  readonly stop: number
  readonly prune_at: number | null
}

interface TextColumns {
  readonly body: string
}

interface IdColumns {
  readonly id: string
}

/** Whether another connection has locked the database. Drivers name it in different ways. */
function isLocked(thrown: unknown): boolean {
  if (/^SQLITE_(?:BUSY|LOCKED)/.test(codeOf(thrown) ?? '')) return true
  const number = isObject(thrown) ? (thrown['errcode'] ?? thrown['errno']) : undefined
  // Of an extended code the last byte is the plain one: 5 is busy, 6 is locked.
  return typeof number === 'number' && [5, 6].includes(number & 0xff)
}

function isLive(row: SessionColumns, now: number): boolean {
  return row.owner !== null && row.due_at !== null && row.due_at > now && !isLate(row, now)
}

/** Whether the clock was set back since `due_at` was set. */
function isLate({ due_from }: SessionColumns, now: number): boolean {
  return isOfTheFuture({ dueFrom: due_from ?? undefined }, now)
}

function isOwner({ owner, token }: SessionColumns, lease: Lease): boolean {
  return owner !== null && token === lease.token
}

function save(db: Tables, session: Session, body: string, options: SaveOptions): number {
  const { id, status, metadata } = session
  const { lease, ifVersion, events = [], taken = 0, refused, first = false } = options
  const { row: known, now } = db.find(id)
  if (lease !== undefined && known?.token !== lease.token) throw leaseLost(id, lease)
  if (lease === undefined && known !== undefined && isLive(known, now)) {
    throw busy(id, 'it cannot be saved without its lease')
  }
  refuseStale(id, known?.version ?? 0, ifVersion)
  const row = known ?? db.insert(id, now)
  const takes = Math.min(taken, row.queued)
  const lastCommand = row.last_command + takes
  if (takes > 0) {
    const why = refused === undefined ? null : JSON.stringify(refused)
    const slot = why === null ? 'slot' : 'null'
    db.run(
      `update ${db.commands} set taken_at = ?, position = ?, refused = ?, slot = ${slot} where session = ? and number > ? and number <= ?`,
      [now, row.last_event, why, row.key, row.last_command, lastCommand],
    )
  }
  addEvents(db, row, events, now)
  const version = row.version + 1
  const lastEvent = row.last_event + events.length
  const isLogged = takes > 0 || events.length > 0 || first
  const pruneAt = row.prune_at ?? (isLogged ? now : null)
  db.run(
    `update ${db.sessions} set version = ?, status = ?, updated_at = ?, folded = ?, last_event = ?, last_command = ?, queued = ?, prune_at = ?
    where key = ?`,
    [version, status, now, lastEvent, lastEvent, lastCommand, row.queued - takes, pruneAt, row.key],
  )
  db.run(`insert or replace into ${db.texts} (session, body, metadata) values (?, ?, ?)`, [
    row.key,
    body,
    JSON.stringify(metadata),
  ])
  addWaiting(db, { ...row, version }, session, now)
  db.run(`delete from ${db.pending} where session = ? and version <> ?`, [row.key, version])
  if (first) {
    db.run(
      `insert into ${db.snapshots} (session, version, at, last_event, body) values (?, ?, ?, ?, ?)`,
      [row.key, version, now, lastEvent, body],
    )
  }
  return version
}

/** Stores what a session waits for. What waited before keeps its time. */
function addWaiting(
  db: Pick<Tables, 'pending' | 'run'>,
  { key, id, version }: Pick<SessionColumns, 'key' | 'id' | 'version'>,
  session: Session,
  now: number,
): void {
  for (const call of waitingCalls(session)) {
    db.run(
      `insert into ${db.pending} (session, ticket, id, kind, since, version, body, expires) values (?, ?, ?, ?, ?, ?, ?, ?)
      on conflict (session, ticket) do update set kind = excluded.kind, version = excluded.version, body = excluded.body,
        expires = excluded.expires`,
      [key, call.ticket, id, call.kind, now, version, waitingBody(call), call.expiresAt ?? null],
    )
  }
}

function addEvents(
  db: Tables,
  { key, last_event }: SessionColumns,
  events: readonly StreamEvent[],
  now: number,
): void {
  events.forEach((event, index) =>
    db.run(`insert into ${db.events} (session, number, at, body) values (?, ?, ?, ?)`, [
      key,
      last_event + 1 + index,
      now,
      JSON.stringify(event),
    ]),
  )
}

function remove(db: Tables, { key }: SessionColumns): void {
  for (const table of [db.texts, db.events, db.commands, db.snapshots, db.pending]) {
    db.run(`delete from ${table} where session = ?`, [key])
  }
  db.run(`delete from ${db.sessions} where key = ?`, [key])
}

function acquire(
  db: Tables,
  id: string,
  { owner, ttlMs }: AcquireOptions,
): AcquiredLease | undefined {
  const { row: known, now } = db.find(id)
  if (known !== undefined && isLive(known, now)) return undefined
  const row = known ?? db.insert(id, now)
  const sleeps = { dueAt: row.due_at ?? undefined, dueFrom: row.due_from ?? undefined }
  const waitMs = row.owner === null && row.queued === 0 ? waitOf(sleeps, now) : 0
  const token = db.nextToken()
  const expiresAt = now + ttlMs
  db.run(`update ${db.sessions} set token = ?, owner = ? where key = ?`, [
    token,
    storable(owner),
    row.key,
  ])
  db.setDue(row, expiresAt, now)
  return defined<AcquiredLease>({ token, expiresAt, wakeInMs: waitMs > 0 ? waitMs : undefined })
}

function push(
  db: Tables,
  id: string,
  command: SessionCommand,
  { key, ifIdle = false, slot }: PushOptions,
): boolean | SlotTaken {
  const known = key === undefined ? undefined : db.commandWith(id, key)
  if (key !== undefined && known !== undefined) {
    refuseOther(id, key, known, command)
    return false
  }
  const { row: found, now } = db.find(id)
  if (ifIdle && found !== undefined && found.due_at !== null) throw busy(id, 'it takes no command')
  const holder = slot === undefined ? undefined : db.slotHolder(id, slot)
  if (holder !== undefined) return toSlotTaken(holder, id)
  const row = found ?? db.insert(id, now)
  const queued = row.queued + 1
  db.run(
    `insert into ${db.commands} (session, number, at, key, slot, body) values (?, ?, ?, ?, ?, ?)`,
    [row.key, row.last_command + queued, now, keyText(key), keyText(slot), JSON.stringify(command)],
  )
  db.run(`update ${db.sessions} set queued = ?, prune_at = ? where key = ?`, [
    queued,
    row.prune_at ?? now,
    row.key,
  ])
  if (!isLive(row, now)) db.setDue(row, Math.min(row.due_at ?? now, now), now)
  return true
}

/**
 * Removes what is older. The log is cut at the newest first snapshot before which all events are old, or at its end if all of it is older and
 * in the session. Returns whether there was anything.
 */
function prune(db: Tables, id: string, keepMs: number): boolean {
  const { row, now } = db.find(id)
  if (row === undefined) return false
  const { key, folded, last_event } = row
  const before = now - keepMs
  const time = (sql: string, params: readonly SqliteParam[]): number | null =>
    db.all<{ readonly at: number | null }>(sql, params)[0]?.at ?? null
  const newest = time(`select at from ${db.events} where session = ? and number = ?`, [
    key,
    last_event,
  ])
  const isOver = folded === last_event && (newest ?? 0) < before
  const [run] = db.all<Pick<SessionColumns, 'version' | 'last_event'>>(
    `select version, last_event from ${db.snapshots}
    where session = ? and last_event <= (select coalesce(max(number), 0) from ${db.events} where session = ? and at < ?)
    order by version desc limit 1`,
    [key, key, before],
  )
  const cut = isOver ? folded : (run?.last_event ?? 0)
  const gone = [
    db.count(`delete from ${db.events} where session = ? and number <= ?`, [key, cut]),
    db.count(
      `delete from ${db.commands} where session = ? and taken_at < ? and position <= ? and slot is null`,
      [key, before, cut],
    ),
    // A command without a position is not in the log. It only has its slot.
    db.count(
      `update ${db.commands} set position = null where session = ? and taken_at < ? and position <= ?`,
      [key, before, cut],
    ),
    db.count(
      `update ${db.commands} set key = null where session = ? and key is not null and at < ?`,
      [key, before],
    ),
    isOver
      ? db.count(`delete from ${db.snapshots} where session = ? and at < ?`, [key, before])
      : db.count(`delete from ${db.snapshots} where session = ? and version < ?`, [
          key,
          run?.version ?? 0,
        ]),
  ]
  const next = [
    // Events that are not in the session yet can be removed as soon as they are.
    folded < last_event ? newest : null,
    time(`select min(at) as at from ${db.events} where session = ? and at >= ?`, [key, before]),
    time(`select min(at) as at from ${db.snapshots} where session = ? and at >= ?`, [key, before]),
    time(`select min(at) as at from ${db.commands} where session = ? and key is not null`, [key]),
    time(`select min(taken_at) as at from ${db.commands} where session = ? and taken_at >= ?`, [
      key,
      before,
    ]),
  ].filter((at) => at !== null)
  const pruneAt = next.length === 0 ? null : Math.min(...next)
  db.run(`update ${db.sessions} set prune_at = ? where key = ?`, [pruneAt, key])
  return gone.some((count) => count > 0)
}

/** The tables, and how they are reached. Everything is synchronous. */
interface Tables {
  readonly sessions: string
  readonly texts: string
  readonly events: string
  readonly commands: string
  readonly snapshots: string
  readonly pending: string
  /** The index of the calls that expire. */
  readonly byExpires: string
  /** Creates what is missing. Does nothing after the first time. */
  readonly migrate: () => void
  /** Runs `work` with the right to write. Whatever it throws takes back what it wrote. */
  readonly transaction: <T>(work: () => T) => T
  // Only the writer of a statement knows its columns.
  // oxlint-disable-next-line no-unnecessary-type-parameters
  readonly all: <Row>(sql: string, params?: readonly SqliteParam[]) => readonly Row[]
  readonly run: (sql: string, params?: readonly SqliteParam[]) => void
  /** Runs a statement and returns how many rows it changed. */
  readonly count: (sql: string, params?: readonly SqliteParam[]) => number
  /** The row of a session, and the time of the database. */
  readonly find: (id: string) => {
    readonly now: number
    readonly row: SessionColumns | undefined
  }
  readonly insert: (id: string, now: number) => SessionColumns
  /** Sets the end of the lease, or the time at which the session is due. */
  readonly setDue: (row: SessionColumns, dueAt: number | null, now: number) => void
  readonly nextToken: () => number
  /** The command that came with a key. */
  readonly commandWith: (id: string, key: string) => string | undefined
  /** The command that has a slot. */
  readonly slotHolder: (id: string, slot: string) => InboxColumns | undefined
  readonly due: (limit: number) => readonly IdColumns[]
  readonly pruneable: (keepMs: number, limit: number) => readonly IdColumns[]
}

/** How many sessions are read at a time to find what waits in them. */
const fillSize = 200

/** Milliseconds since 1970. SQLite counts them in days. */
const now = `cast(round((julianday('now') - 2440587.5) * 86400000) as integer)`

function openTables(database: SqliteDatabase, prefix: string): Tables {
  const table = (name: string): string => `"${prefix}${name}"`
  const [sessions, commands] = [table('sessions'), table('commands')]
  const statements = new Map<string, SqliteStatement>()
  let isReady = false

  const prepared = (sql: string): SqliteStatement => {
    const known = statements.get(sql)
    if (known !== undefined) return known
    const statement = database.prepare(sql)
    statements.set(sql, statement)
    return statement
  }
  // oxlint-disable-next-line no-unnecessary-type-parameters
  const all = <Row>(sql: string, params: readonly SqliteParam[] = []): readonly Row[] =>
    prepared(sql)
      .all(...params)
      .map((row) => plain(row) as Row) // The columns of the statement.
  const run = (sql: string, params: readonly SqliteParam[] = []): void => {
    prepared(sql).run(...params)
  }
  const transaction = <T>(work: () => T): T => {
    run('begin immediate')
    try {
      const result = work()
      run('commit')
      return result
    } catch (thrown) {
      try {
        run('rollback')
      } catch {
        // SQLite has rolled back by itself.
      }
      throw thrown
    }
  }
  const isTable = (name: string): boolean =>
    all(`select 1 from sqlite_master where type = 'table' and name = ?`, [name]).length > 0
  const currentVersion = (): number => {
    if (!isTable(`${prefix}migrations`)) return 0
    const [row] = all<{ readonly version: number | null }>(
      `select max(version) as version from ${table('migrations')}`,
    )
    return row?.version ?? 0
  }
  const find: Tables['find'] = (id) => {
    const [row] = all<SessionColumns & { readonly now: number }>(
      `select ${now} as now, s.* from (select 1) left join ${sessions} s on s.id = ?`,
      [id],
    )
    if (row === undefined) throw new Error('a select without a condition returned no row')
    return { now: row.now, row: row.id === null ? undefined : row }
  }

  /** What waits in sessions that were saved by tables of an earlier version. A session that is over waits for nothing. */
  const fillPending = (): void => {
    let last = 0
    for (;;) {
      const rows = all<Pick<SessionColumns, 'key' | 'id' | 'version' | 'updated_at'> & TextColumns>(
        `select s.key, s.id, s.version, s.updated_at, t.body from ${sessions} s join ${table('texts')} t on t.session = s.key
        where s.key > ? and s.status <> 'completed' order by s.key limit ${fillSize}`,
        [last],
      )
      for (const row of rows) {
        const session = readableSession(row.id, row.body)
        if (session !== undefined) {
          addWaiting({ pending: table('pending'), run }, row, session, row.updated_at)
        }
        last = row.key
      }
      if (rows.length < fillSize) return
    }
  }

  return {
    sessions,
    commands,
    texts: table('texts'),
    events: table('events'),
    snapshots: table('snapshots'),
    pending: table('pending'),
    byExpires: table('by_expires'),
    transaction,
    all,
    run,
    find,
    migrate: () => {
      if (isReady) return
      const steps = [
        firstTables(table),
        dueSince(table),
        slots(table),
        waiting(table),
        expiry(table),
      ]
      if (currentVersion() !== steps.length) {
        transaction(() => {
          const version = currentVersion()
          if (version > steps.length) {
            throw new SessionError(
              'unavailable',
              `the tables have version ${version}, and this allm-ts knows ${steps.length}: update it`,
            )
          }
          steps.slice(version).forEach((step, index) => {
            database.exec(step)
            database.exec(`insert into ${table('migrations')} values (${version + index + 1})`)
          })
          if (version > 0 && version < 5) fillPending()
        })
      }
      isReady = true
    },
    count: (sql, params) => {
      run(sql, params)
      return all<{ readonly count: number }>('select changes() as count')[0]?.count ?? 0
    },
    insert: (id, at) => {
      run(`insert into ${sessions} (id, updated_at) values (?, ?)`, [id, at])
      const { row } = find(id)
      if (row === undefined) throw new Error('a row that was inserted is not there')
      return row
    },
    setDue: ({ key }, dueAt, at) =>
      run(`update ${sessions} set due_at = ?, due_from = ? where key = ?`, [
        dueAt,
        dueAt === null ? null : at,
        key,
      ]),
    nextToken: () => {
      run(`update ${table('tokens')} set last = last + 1`)
      const [row] = all<{ readonly last: number }>(`select last from ${table('tokens')}`)
      if (row === undefined) throw new Error(`the table ${prefix}tokens is empty`)
      return row.last
    },
    commandWith: (id, key) =>
      all<TextColumns>(
        `select c.body from ${sessions} s join ${commands} c on c.session = s.key where s.id = ? and c.key = ?`,
        [id, keyText(key)],
      )[0]?.body,
    slotHolder: (id, slot) =>
      all<InboxColumns>(
        `select c.at, c.body from ${sessions} s join ${commands} c on c.session = s.key where s.id = ? and c.slot = ?`,
        [id, keyText(slot)],
      )[0],
    due: (limit) =>
      all<IdColumns>(
        `select id from ${sessions} where due_at <= ${now} or due_from > ${now} + ${clockSlackMs} order by due_at limit ?`,
        [limit],
      ),
    pruneable: (keepMs, limit) =>
      all<IdColumns>(
        `select id from ${sessions} where prune_at < ${now} - ? order by folded < last_event, prune_at limit ?`,
        [keepMs, limit],
      ),
  }
}

/** A row with plain numbers. A database may be set to return big integers. */
function plain(row: unknown): unknown {
  if (!isObject(row)) return row
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name,
      typeof value === 'bigint' ? Number(value) : value,
    ]),
  )
}

function firstTables(table: (name: string) => string): string {
  return `create table ${table('migrations')} (version integer primary key);
    create table ${table('tokens')} (last integer not null);
    insert into ${table('tokens')} values (0);
    create table ${table('sessions')} (
      key integer primary key autoincrement,
      id text not null unique,
      version integer not null default 0,
      status text not null default 'idle',
      updated_at integer not null,
      folded integer not null default 0,
      last_event integer not null default 0,
      last_command integer not null default 0,
      queued integer not null default 0,
      token integer not null default 0,
      owner text,
      due_at integer,
      stop integer not null default 0,
      prune_at integer
    );
    create index ${table('by_status')} on ${table('sessions')} (status, id);
    create index ${table('by_due')} on ${table('sessions')} (due_at) where due_at is not null;
    create index ${table('by_prune')} on ${table('sessions')} (prune_at) where prune_at is not null;
    create table ${table('texts')} (session integer primary key, body text not null, metadata text not null);
    create table ${table('events')} (
      session integer not null, number integer not null, at integer not null, body text not null, primary key (session, number)
    ) without rowid;
    create table ${table('commands')} (
      session integer not null, number integer not null, at integer not null, key text, body text not null,
      taken_at integer, position integer, refused text, primary key (session, number)
    ) without rowid;
    create unique index ${table('by_key')} on ${table('commands')} (session, key) where key is not null;
    create table ${table('snapshots')} (
      session integer not null, version integer not null, at integer not null, last_event integer not null, body text not null,
      primary key (session, version)
    );`
}

/** When `due_at` was set: it tells that the clock was set back since. */
function dueSince(table: (name: string) => string): string {
  return `alter table ${table('sessions')} add column due_from integer;
    create index ${table('by_due_from')} on ${table('sessions')} (due_from) where due_from is not null;`
}

/** The slots of commands. */
function slots(table: (name: string) => string): string {
  return `alter table ${table('commands')} add column slot text;
    create unique index ${table('by_slot')} on ${table('commands')} (session, slot) where slot is not null;`
}

/** What waits for somebody. */
function waiting(table: (name: string) => string): string {
  return `create table ${table('pending')} (
      session integer not null, ticket text not null, id text not null, kind text not null, since integer not null,
      version integer not null, body text not null, primary key (session, ticket)
    ) without rowid;
    create index ${table('by_since')} on ${table('pending')} (since, id, ticket);
    create index ${table('by_kind')} on ${table('pending')} (kind, since, id, ticket);`
}

/** When what waits expires, if it does. */
function expiry(table: (name: string) => string): string {
  return `alter table ${table('pending')} add column expires real;
    create index ${table('by_expires')} on ${table('pending')} (expires) where expires is not null;`
}
