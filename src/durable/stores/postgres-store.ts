import { systemClock } from '../../core/base/clock.ts'
import { isAllmError, SessionError } from '../../core/errors/errors.ts'
import { assertValid, flag, optionsOf, refuse, text, type Check } from '../../core/schema/checks.ts'
import { defined, isObject } from '../../core/types/guards.ts'
import type { Session, SessionCommand } from '../../core/types/session.ts'
import { stringifySession } from '../../engine/session/saved.ts'
import {
  assertPendingOptions,
  readPendingPage,
  waitingBody,
  waitingCalls,
  type PendingPlace,
} from './pending-rows.ts'
import { migration, statementsOf, stopMark, tablesOf } from './postgres-sql.ts'
import {
  assertAcquireOptions,
  assertPushOptions,
  busy,
  leaseLost,
  refuseGap,
  type AcquiredLease,
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
  toRunState,
  toSessionRow,
  toSlotTaken,
  toWaitingRow,
  unavailable,
  type InboxColumns,
  type ListedColumns,
  type LogColumns,
  type SqlNumber,
  type StateColumns,
  type WaitingColumns,
} from './sql.ts'

/**
 * The part of a Postgres client that the store needs. A `Pool` of `pg` or of `@neondatabase/serverless` has it, and a `PGlite`. Any
 * other client needs a wrapper of some lines; for postgres.js:
 *
 *     const pool = {
 *       query: async (text, params) => ({ rows: await sql.unsafe(text, params) }),
 *       listen: (channel, listener) => sql.listen(channel, listener).then((on) => () => on.unlisten()),
 *     }
 */
export interface PostgresPool {
  /** Runs one statement with the parameters `$1`, `$2`, … */
  query(text: string, params: PostgresParam[]): Promise<{ readonly rows: readonly unknown[] }>
  /** A connection of its own, to listen on. Only while somebody watches. */
  connect?(): Promise<PostgresConnection>
  /** Listens by other means, and returns the end of it. Preferred to `connect`. */
  listen?(channel: string, listener: (payload: string) => void): Promise<() => unknown>
  /** A pool of `pg` emits the errors of its idle connections. The store listens to them, because they would otherwise end the process. */
  on?(event: 'error', listener: () => void): unknown
  /** The settings of a pool. One with a single connection cannot listen. */
  readonly options?: { readonly max?: number | undefined } | undefined
}

/** A parameter of a statement. */
export type PostgresParam = string | number | boolean | null

/** A connection of a pool. */
export interface PostgresConnection {
  query(text: string): Promise<unknown>
  on(event: 'notification', listener: (message: PostgresMessage) => void): unknown
  on(event: 'error' | 'end', listener: () => void): unknown
  /** Ends it: a connection that has listened does not go back to the pool. */
  release(destroy: true): unknown
}

/** A notification. */
export interface PostgresMessage {
  readonly channel: string
  readonly payload?: string | undefined
}

/** Where the tables are, and whether the database is asked to notify. */
export interface PostgresStoreOptions {
  /** The schema of the tables; `migrate` creates it. Without it they are in the first one of the search path. */
  readonly schema?: string | undefined
  /** The beginning of the names of the tables; `allm_` without it. */
  readonly prefix?: string | undefined
  /**
   * Whether changes are notified (`NOTIFY`), and heard while somebody watches (`LISTEN`); by default they are. Postgres lets one notifying
   * transaction commit at a time, so a database with many hundred writes a second is faster without, and changes are found by looking.
   */
  readonly notify?: boolean | undefined
}

/** A store in Postgres. */
export interface PostgresStore extends RunStore {
  /** Creates the tables, or brings them up to date. Any number of processes may call it at the same time, each at its start. */
  migrate(): Promise<void>
}

/**
 * A store in a Postgres database (12 or newer, UTF-8), for any number of machines.
 *
 * Every operation is one statement, so a pool of connections is enough, and PgBouncer may stand between: there are no transactions, no
 * named statements and nothing that belongs to a connection, except for `LISTEN`. Time is that of the database.
 * Call `migrate` before the first use.
 */
export function postgresStore(
  pool: PostgresPool,
  options: PostgresStoreOptions = {},
): PostgresStore {
  assertValid('invalid_options', poolIssues(pool))
  assertValid('invalid_options', storeOptions(options))
  const { schema, prefix = 'allm_', notify = true } = options
  if (schema !== undefined) assertSqlName('schema', schema)
  assertSqlName('prefix', prefix)
  const tables = tablesOf(schema, prefix)
  const sql = statementsOf(tables, notify)
  const listeners = createListeners()
  /** Those that wait for stop requests. */
  const stops = createListeners()
  const hear = (payload?: string): void => {
    listeners.tell(payload)
    if (payload === undefined) stops.tell()
    else if (payload.startsWith(stopMark)) stops.tell(payload.slice(stopMark.length))
  }
  // The next statement says what is wrong.
  pool.on?.('error', () => undefined)
  const canListen =
    pool.listen !== undefined || (pool.connect !== undefined && pool.options?.max !== 1)
  const notifies = notify && canListen
  let listening: AbortController | undefined

  /** Runs a statement and returns its rows. */
  const rowsOf = async <Row>(
    what: string,
    statement: string,
    params: PostgresParam[],
  ): Promise<readonly Row[]> => {
    for (let attempt = 1; ; attempt++) {
      try {
        const { rows } = await pool.query(statement, params)
        return rows as readonly Row[] // The columns of the statement.
      } catch (thrown) {
        if (isAllmError(thrown)) throw thrown
        if (attempt < mostAttempts && repeatable.has(codeOf(thrown) ?? '')) continue
        throw unavailable(what, thrown, adviceFor(thrown))
      }
    }
  }
  const rowOf = async <Row>(
    what: string,
    statement: string,
    params: PostgresParam[],
  ): Promise<Row | undefined> => (await rowsOf<Row>(what, statement, params))[0]

  const save = async (
    id: string,
    values: PostgresParam[],
    { lease, ifVersion }: SaveOptions,
  ): Promise<number> => {
    const what = `${named(id)} cannot be saved`
    const expected = ifVersion ?? null
    for (let attempt = 0; attempt < mostAttempts; attempt++) {
      const saved =
        lease !== undefined
          ? await rowOf<VersionColumns>(what, sql.saveOwned, [...values, expected, lease.token])
          : // A session that must exist is not created, even if another process deletes it at this moment.
            await rowOf<VersionColumns>(
              what,
              ifVersion === undefined || ifVersion === 0 ? sql.saveAny : sql.saveKnown,
              [...values, expected],
            )
      if (saved !== undefined) return Number(saved.version)
      const found = await rowOf<RefusalColumns>(what, sql.refusal, [id])
      if (lease !== undefined && Number(found?.token) !== lease.token) throw leaseLost(id, lease)
      if (lease === undefined && found?.is_live === true) {
        throw busy(id, 'it cannot be saved without its lease')
      }
      refuseStale(id, Number(found?.version ?? 0), ifVersion)
      // What refused the save is over by now.
    }
    throw contended(id)
  }

  const push = async (
    id: string,
    command: SessionCommand,
    { key, ifIdle = false, slot }: PushOptions,
  ): Promise<boolean | SlotTaken> => {
    const what = `the command for ${named(id)} cannot be stored`
    const values = [id, JSON.stringify(command), keyText(key), ifIdle, keyText(slot)]
    for (let attempt = 1; ; attempt++) {
      const row = await rowOf<PushColumns>(what, sql.push, values).catch((thrown: unknown) => {
        // The same key or slot came at the same time, and was first. This statement stored nothing.
        if (attempt < mostAttempts && isUniqueViolation(thrown)) return undefined
        throw thrown
      })
      if (key !== undefined && typeof row?.known === 'string') {
        refuseOther(id, key, row.known, command)
        return false
      }
      if (row?.pushed === true) return true
      if (typeof row?.holder === 'string' && !row.is_busy) {
        return toSlotTaken({ at: row.holder_at ?? 0, body: row.holder }, id)
      }
      // A command with the same key may be what made the session busy.
      if (row !== undefined && (key === undefined || attempt > 1))
        throw busy(id, 'it takes no command')
    }
  }

  const page = async (options: ListOptions): Promise<readonly SessionRow[]> => {
    const range = idRange(options)
    if (range === undefined) return []
    const { status, limit } = options
    const params: PostgresParam[] = []
    const is = (condition: string, value: PostgresParam | undefined): readonly string[] =>
      value === undefined ? [] : [`${condition} $${params.push(value)}`]
    const conditions = [
      ...is('s.status =', status),
      ...is('s.id >=', range.from),
      ...is('s.id <', range.below),
      ...is('s.id >', range.after),
    ]
    const statement = [
      sql.list,
      conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`,
      'order by s.id',
      ...is('limit', limit),
    ].join(' ')
    const rows = await rowsOf<ListedColumns>('the sessions cannot be listed', statement, params)
    return rows.map(toSessionRow)
  }

  const pendingRows = async (
    { kind, prefix, expiresBy }: PendingOptions,
    after: PendingPlace | undefined,
    limit: number,
  ): Promise<readonly PendingRow[]> => {
    const range = idRange(defined<ListOptions>({ prefix }))
    if (range === undefined) return []
    const params: PostgresParam[] = expiresBy === undefined ? [] : [expiresBy]
    const is = (condition: string, value: PostgresParam | undefined): readonly string[] =>
      value === undefined ? [] : [`${condition} $${params.push(value)}`]
    const conditions = [
      ...is('p.kind =', kind),
      ...is('p.id >=', range.from),
      ...is('p.id <', range.below),
    ]
    if (after !== undefined) {
      const place = [after.since, after.sessionId, after.ticket].map((v) => `$${params.push(v)}`)
      conditions.push(`(p.since, p.id, p.ticket) > (${place.join(', ')})`)
    }
    const statement = [
      expiresBy === undefined ? sql.pending : sql.expired,
      conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`,
      'order by p.since, p.id, p.ticket',
      ...is('limit', limit),
    ].join(' ')
    const rows = await rowsOf<WaitingColumns>('what waits cannot be listed', statement, params)
    return rows.map(toWaitingRow)
  }

  /** Adds what waits in sessions that were saved by tables of an earlier version, once. */
  const fillPending = async (): Promise<void> => {
    if ((await rowsOf(migrates, sql.isFilled, [])).length > 0) return
    let last = '0'
    for (;;) {
      const rows = await rowsOf<UnfilledColumns>(migrates, sql.unfilled, [last, fillSize])
      for (const { key, id, version, updated_at, body } of rows) {
        last = key
        const session = readableSession(id, body)
        const calls = session === undefined ? '[]' : waitingParam(session)
        if (calls !== '[]') await rowsOf(migrates, sql.fill, [key, version, updated_at, calls])
      }
      if (rows.length < fillSize) break
    }
    await rowsOf(migrates, sql.filled, [])
  }

  return {
    notifies,
    migrate: async () => {
      await rowsOf(migrates, migration(tables, schema), [])
      await fillPending()
    },

    load: async (id) => {
      assertSessionId(id)
      const row = await rowOf<TextColumns>(`${named(id)} cannot be loaded`, sql.load, [id])
      return (
        row && {
          session: storedSession(id, row.body),
          version: Number(row.version),
          updatedAt: Number(row.updated_at),
          lastEventId: Number(row.folded),
        }
      )
    },
    save: async (session, options = {}) => {
      assertSaveOptions(options)
      const body = stringifySession(session)
      const { id, status, metadata } = session
      assertSessionId(id)
      const { events = [], taken = 0, refused, first = false } = options
      const refusedText = refused === undefined ? null : JSON.stringify(refused)
      const log = [JSON.stringify(events), events.length, taken, refusedText, first]
      const values = [id, status, body, JSON.stringify(metadata), ...log, waitingParam(session)]
      const version = await save(id, values, options)
      listeners.tell(id)
      return version
    },
    delete: async (id) => {
      assertSessionId(id)
      await rowsOf(`${named(id)} cannot be deleted`, sql.delete, [id])
      listeners.tell(id)
    },
    list: async (options = {}) => {
      assertListOptions(options)
      return listFiltered(page, options)
    },

    append: async (id, events, { lease, after }) => {
      assertSessionId(id)
      const what = `events of ${named(id)} cannot be stored`
      const log = [JSON.stringify(events), events.length, after ?? null]
      const row = await rowOf<NumberColumns>(what, sql.append, [id, lease.token, ...log])
      if (row === undefined) {
        const found = await rowOf<RefusalColumns>(what, sql.refusal, [id])
        if (Number(found?.token) === lease.token) refuseGap(id, Number(found?.last_event), after)
        throw leaseLost(id, lease)
      }
      listeners.tell(id)
      return Number(row.number)
    },

    acquire: async (id, options) => {
      assertSessionId(id)
      assertAcquireOptions(options)
      const { owner, ttlMs } = options
      const row = await rowOf<LeaseColumns>(
        `the lease of ${named(id)} cannot be taken`,
        sql.acquire,
        [id, storable(owner), ttlMs],
      )
      if (row === undefined) return undefined
      listeners.tell(id)
      return toLease(row)
    },
    renew: async (id, { token }, ttlMs) => {
      assertSessionId(id)
      const what = `the lease of ${named(id)} cannot be renewed`
      const rows = await rowsOf(what, sql.renew, [id, token, ttlMs])
      return rows.length > 0
    },
    release: async (id, { token }, { wakeInMs } = {}) => {
      assertSessionId(id)
      const what = `the lease of ${named(id)} cannot be given back`
      const row = await rowOf<DueColumns>(what, sql.release, [id, token, wakeInMs ?? null])
      if (row !== undefined) listeners.tell(id)
      return row?.is_due === true
    },
    claim: async (options) => {
      assertAcquireOptions(options)
      const { owner, ttlMs } = options
      const params = [storable(owner), ttlMs]
      const row = await rowOf<LeaseColumns>('no session can be claimed', sql.claim, params)
      if (row === undefined) return undefined
      listeners.tell(row.id)
      return { id: row.id, lease: toLease(row) }
    },

    push: async (id, command, options = {}) => {
      assertSessionId(id)
      assertPushOptions(options)
      const pushed = await push(id, command, options)
      if (pushed === true) listeners.tell(id)
      return pushed
    },
    knowsKey: async (id, key, command) => {
      assertSessionId(id)
      const what = `the keys of ${named(id)} cannot be read`
      const known = await rowOf<BodyColumns>(what, sql.knowsKey, [id, keyText(key)])
      if (known !== undefined && command !== undefined) refuseOther(id, key, known.body, command)
      return known !== undefined
    },
    readInbox: async (id) => {
      assertSessionId(id)
      const what = `the inbox of ${named(id)} cannot be read`
      const rows = await rowsOf<InboxColumns>(what, sql.readInbox, [id])
      return rows.map((row) => toInboxEntry(row, id))
    },
    due: async ({ limit }) => {
      const rows = await rowsOf<IdColumns>('the due sessions cannot be found', sql.due, [limit])
      return rows.map(({ id }) => id)
    },

    readEvents: async (id, options) => {
      assertSessionId(id)
      const { after = 0, afterCommand, limit = null, commands = false } = options
      const beyond = [afterCommand ?? 0, afterCommand === undefined ? after : 0]
      const what = `the log of ${named(id)} cannot be read`
      const rows = commands
        ? await rowsOf<LogColumns>(what, sql.readLog, [id, after, limit, ...beyond])
        : await rowsOf<LogColumns>(what, sql.readEvents, [id, after, limit])
      return rows.map((row) => toLogEntry(row, id))
    },
    readSnapshot: async (id, at) => {
      assertSessionId(id)
      const what = `the snapshot of ${named(id)} cannot be read`
      const row = await rowOf<SnapshotColumns>(what, sql.readSnapshot, [id, at])
      return row && { session: storedSession(id, row.body), lastEventId: Number(row.last_event) }
    },
    look: async (id) => {
      assertSessionId(id)
      const what = `the state of ${named(id)} cannot be read`
      const row = await rowOf<StateColumns>(what, sql.look, [id])
      return row && toRunState(row)
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
      await rowsOf(`${named(id)} cannot be asked to stop`, sql.requestStop, [id])
      listeners.tell(id)
      stops.tell(id)
    },
    stopRequested: async (id) => {
      assertSessionId(id)
      const what = `the state of ${named(id)} cannot be read`
      return (await rowOf<StopColumns>(what, sql.stopRequested, [id]))?.stop === true
    },
    watch: (id, listener, { stopsOnly = false } = {}) => {
      const remove = (stopsOnly ? stops : listeners).add(id, listener)
      if (notifies && listening === undefined) {
        listening = new AbortController()
        listen(pool, tables.channel, hear, listening.signal).catch(() => undefined)
      }
      return () => {
        remove()
        if (listeners.size + stops.size > 0) return
        listening?.abort()
        listening = undefined
      }
    },
    prune: async ({ keepMs, limit = null }) => {
      const what = 'what is old cannot be removed'
      return Number((await rowOf<NumberColumns>(what, sql.prune, [keepMs, limit]))?.number ?? 0)
    },
  }
}

/** What `migrate` could not do. */
const migrates = 'the tables cannot be created or brought up to date'

/** How many sessions are read at a time to find what waits in them. */
const fillSize = 200

/** What a session waits for, as a parameter. */
function waitingParam(session: Session): string {
  return JSON.stringify(
    waitingCalls(session).map((call) => {
      const { ticket, kind, expiresAt: expires } = call
      return { ticket, kind, body: waitingBody(call), expires }
    }),
  )
}

/** How often a statement is repeated that met another one. */
const mostAttempts = 20

/** Codes of conflicts after which nothing was stored: a serialization failure, a deadlock. */
const repeatable: ReadonlySet<string> = new Set(['40001', '40P01'])

/** The columns that statements return. Drivers differ in what they make of 64-bit integers, so numbers are sent as `float8`. */
interface VersionColumns {
  readonly version: SqlNumber
}
interface RefusalColumns extends VersionColumns {
  readonly token: SqlNumber
  readonly last_event: SqlNumber
  readonly is_live: boolean
}
interface TextColumns extends VersionColumns {
  readonly body: string
  readonly updated_at: SqlNumber
  readonly folded: SqlNumber
}
/** A session that was saved by tables of an earlier version. */
interface UnfilledColumns {
  readonly key: string
  readonly id: string
  readonly version: string
  readonly updated_at: string
  readonly body: string
}
interface NumberColumns {
  readonly number: SqlNumber
}
interface IdColumns {
  readonly id: string
}
interface LeaseColumns extends IdColumns {
  readonly token: SqlNumber
  readonly due_at: SqlNumber
  readonly wait_ms: SqlNumber | null
}
interface DueColumns {
  readonly is_due: boolean
}
interface BodyColumns {
  readonly body: string
}
interface PushColumns {
  /** The command that came before with the same key. */
  readonly known: string | null
  readonly pushed: boolean
  /** The command that has the slot, and when it was given. */
  readonly holder: string | null
  readonly holder_at: SqlNumber | null
  /** Whether `ifIdle` refuses the command. */
  readonly is_busy: boolean
}
interface SnapshotColumns {
  readonly body: string
  readonly last_event: SqlNumber
}
interface StopColumns {
  readonly stop: boolean
}

const storeOptions = optionsOf({ schema: text, prefix: text, notify: flag } satisfies Record<
  keyof PostgresStoreOptions,
  Check
>)

const poolIssues: Check = (pool) =>
  isObject(pool) && typeof pool['query'] === 'function'
    ? []
    : refuse('a pool with query(text, params), such as new Pool() of pg', pool)

function toLease({ token, due_at, wait_ms }: LeaseColumns): AcquiredLease {
  return defined<AcquiredLease>({
    token: Number(token),
    expiresAt: Number(due_at),
    wakeInMs: wait_ms === null ? undefined : Number(wait_ms),
  })
}

/** What to do about an error that has a usual cause. */
function adviceFor(thrown: unknown): string | undefined {
  // No such table, schema or column.
  return ['42P01', '3F000', '42703'].includes(codeOf(thrown) ?? '')
    ? 'the tables of postgresStore are missing, or were made by an older version. Call `await store.migrate()` before the first use'
    : undefined
}

function isUniqueViolation(thrown: unknown): boolean {
  return isAllmError(thrown) && thrown.metadata['code'] === '23505'
}

function contended(id: string): SessionError {
  const message = `${named(id)} was changed by others ${mostAttempts} times in a row`
  return new SessionError('unavailable', message)
}

/** Tells of changes that any process makes, until the signal is aborted. A connection that is lost is made again. */
async function listen(
  pool: PostgresPool,
  channel: string,
  tell: (id?: string) => void,
  signal: AbortSignal,
): Promise<void> {
  let delayMs = 100
  while (!signal.aborted) {
    const lost = new AbortController()
    try {
      const close = await openChannel(pool, channel, tell, lost)
      delayMs = 100
      // Something may have happened since the last connection.
      tell()
      await either(signal, lost.signal)
      await close()
    } catch {
      // A hint is never the only way: watchers also look from time to time.
    }
    if (!signal.aborted) await systemClock.sleep(delayMs, signal).catch(() => undefined)
    delayMs = Math.min(2 * delayMs, 30_000)
  }
}

/** Starts to listen, and returns the end of it. */
async function openChannel(
  pool: PostgresPool,
  channel: string,
  tell: (id?: string) => void,
  lost: AbortController,
): Promise<() => unknown> {
  if (pool.listen !== undefined) return pool.listen(channel, (payload) => tell(payload))
  const connection = await pool.connect?.()
  if (connection === undefined) return () => undefined
  const onLost = (): void => lost.abort()
  connection.on('error', onLost)
  connection.on('end', onLost)
  connection.on('notification', ({ payload }) => tell(payload))
  try {
    await connection.query(`listen ${channel}`)
  } catch (error) {
    connection.release(true)
    throw error
  }
  return () => connection.release(true)
}

/** Waits until one of two signals is aborted. */
async function either(left: AbortSignal, right: AbortSignal): Promise<void> {
  const signal = AbortSignal.any([left, right])
  if (signal.aborted) return
  await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
}
