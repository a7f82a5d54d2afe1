import { startTimer, systemClock, type CancelTimer } from '../../core/base/clock.ts'
import { ValidationError } from '../../core/errors/errors.ts'
import { describe, assertOptions } from '../../core/schema/checks.ts'
import type { ErrorData } from '../../core/types/error-data.ts'
import type { StreamEvent } from '../../core/types/events.ts'
import { defined } from '../../core/types/guards.ts'
import type { JsonObject } from '../../core/types/json.ts'
import type { SessionCommand, SessionStatus } from '../../core/types/session.ts'
import { stringifySession } from '../../engine/session/saved.ts'
import {
  assertPendingOptions,
  readPendingPage,
  storedPendingRow,
  waitingBody,
  waitingCalls,
  type PendingPlace,
  type WaitingBody,
} from './pending-rows.ts'
import { redisScripts, type RedisOperation } from './redis-scripts.ts'
import {
  assertAcquireOptions,
  assertPushOptions,
  busy,
  commandDigest,
  leaseLost,
  refuseGap,
  refuseReuse,
  type AcquiredLease,
  type CommandEntry,
  type EventEntry,
  type InboxEntry,
  type KnownKey,
  type LogEntry,
  type PendingRow,
  type ReadEventsOptions,
  type RunState,
  type RunStore,
} from './run-store.ts'
import {
  assertListOptions,
  assertSaveOptions,
  assertSessionId,
  isBefore,
  matchesRow,
  refuseStale,
  storedSession,
  type ListOptions,
  type SessionRow,
} from './session-store.ts'
import { idRange, keyText, named, unavailable } from './sql.ts'

/** A client of ioredis, by the methods that the store calls. */
export interface IoRedisClient {
  call(command: string, args: string[]): Promise<unknown>
  on(event: string, listener: (...args: unknown[]) => void): unknown
  duplicate?(options: { readonly autoResubscribe: boolean }): IoRedisSubscriber
}

/** What `duplicate` of ioredis makes: a second connection, for hints. */
export interface IoRedisSubscriber {
  subscribe(channel: string): Promise<unknown>
  unsubscribe(channel: string): Promise<unknown>
  on(event: string, listener: (...args: unknown[]) => void): unknown
  disconnect(): unknown
}

/** A connected client of node-redis (version 4 or newer), by the methods that the store calls. */
export interface NodeRedisClient {
  sendCommand(args: string[]): Promise<unknown>
  on(event: string, listener: (...args: unknown[]) => void): unknown
  duplicate?(): NodeRedisSubscriber
}

/** What `duplicate` of node-redis makes: a second connection, for hints. */
export interface NodeRedisSubscriber {
  connect(): Promise<unknown>
  subscribe(channel: string, listener: (message: string, channel: string) => void): Promise<unknown>
  unsubscribe(channel: string): Promise<unknown>
  on(event: string, listener: (...args: unknown[]) => void): unknown
  /** Version 5 and newer. */
  destroy?(): unknown
  /** Version 4. */
  disconnect?(): unknown
}

/** The options of `redisStore`. */
export interface RedisStoreOptions {
  /** What all keys begin with, in braces: `{allm}:…` by default. It has no braces itself. Stores with different prefixes do not see each other. */
  readonly prefix?: string | undefined
}

/**
 * A store in Redis 6.2 or newer. The client is yours: one of ioredis (told by its `call`), or a connected one of node-redis.
 *
 * Every operation is one Lua script and one round trip, so it is atomic. Scripts are sent once and then called by their hash, also
 * after Redis was restarted or its scripts were flushed. Time is that of Redis. Hints come from other processes by pub/sub, over a
 * second connection that is open while something is watched.
 *
 * **What Redis promises is what you get.** With `appendfsync everysec`, the default of an append-only file, a power failure can lose the last
 * second, and a failover to a replica can lose what was not copied yet. A tool that was started may then be started again. Where
 * that costs money, use `appendonly yes` with `appendfsync always`, or another database.
 *
 * **Redis Cluster.** All keys of a prefix are in one slot (`{prefix}:…`), because a worker takes any session that is due in one step. A cluster
 * spreads prefixes, not the sessions of one prefix: use one store for each tenant or shard, with a prefix of its own.
 *
 * **Lost connections.** A call fails with `SessionError` `unavailable` when the client gives up; how long it tries is an option of the client. A
 * client that sends a command again after a broken connection (ioredis does) does not do it twice. The store listens to the
 * `error` events of the client, so that a lost connection does not end the process.
 */
export function redisStore(
  client: IoRedisClient | NodeRedisClient,
  options: RedisStoreOptions = {},
): RunStore {
  assertOptions('invalid_options', options, ['prefix'])
  const { prefix = 'allm' } = options
  if (typeof prefix !== 'string' || !/^[^{}\0]+$/.test(prefix)) {
    const problem = 'must be a text of at least one character, without { and }'
    throw new ValidationError('invalid_options', [{ path: 'prefix', problem }])
  }
  const base = `{${prefix}}:`
  const channel = `${base}changed:`
  const connection = connectionOf(client)
  const hints = hintsOf(connection, channel)
  /** Tells the writes of this store from those of others, for clients that send them again. */
  const writer = crypto.randomUUID()
  let writes = 0

  const run = async (
    name: RedisOperation,
    id: string,
    args: readonly string[] = [],
  ): Promise<readonly Reply[]> => {
    const script = redisScripts[name]
    const nonce = script.writes && connection.resends ? `${writer}:${++writes}` : ''
    const rest = ['1', base, id, channel, nonce, ...args]
    try {
      const sent = connection.send('EVALSHA', [await hashOf(script.text), ...rest])
      const reply = await sent.catch((error: unknown) => {
        // Redis was restarted, or never had the script.
        if (!isNoScript(error)) throw error
        return connection.send('EVAL', [script.text, ...rest])
      })
      // Every script gives a list, one text, or nothing.
      return (Array.isArray(reply) ? reply : [reply ?? null]) as readonly Reply[]
    } catch (error) {
      const what = id === '' ? '' : ` of ${named(id)}`
      throw unavailable(`${name}${what} failed in Redis`, error)
    }
  }
  const write = async (
    name: RedisOperation,
    id: string,
    args?: readonly string[],
  ): Promise<readonly Reply[]> => {
    const reply = await run(name, id, args)
    hints.changed(id, name === 'save' || name === 'append')
    return reply
  }

  return {
    notifies: connection.listen !== undefined,
    load: async (id) => {
      assertSessionId(id)
      const [body, version, updated, folded] = await run('load', id)
      if (typeof body !== 'string') return undefined
      const session = storedSession(id, body)
      return {
        session,
        version: Number(version),
        updatedAt: Number(updated),
        lastEventId: Number(folded),
      }
    },
    save: async (session, options = {}) => {
      assertSaveOptions(options)
      const { lease, ifVersion, events = [], taken = 0, refused, first } = options
      const body = stringifySession(session)
      const { id, status, metadata } = session
      assertSessionId(id)
      const [outcome, version] = await write('save', id, [
        body,
        status,
        JSON.stringify(metadata),
        lease === undefined ? '' : String(lease.token),
        ifVersion === undefined ? '' : String(ifVersion),
        String(taken),
        refused === undefined ? '' : JSON.stringify(refused),
        first === true ? '1' : '',
        JSON.stringify(
          waitingCalls(session).map((call) => {
            const { ticket, kind, expiresAt } = call
            const expires = expiresAt === undefined ? '' : String(expiresAt)
            return [ticket, kind, waitingBody(call), expires]
          }),
        ),
        ...events.map((event) => JSON.stringify(event)),
      ])
      if (outcome === 'lost' && lease !== undefined) throw leaseLost(id, lease)
      if (outcome === 'busy') throw busy(id, 'it cannot be saved without its lease')
      if (outcome === 'stale') refuseStale(id, Number(version), ifVersion)
      return Number(version)
    },
    delete: async (id) => {
      assertSessionId(id)
      await write('delete', id)
    },
    list: async (options = {}) => {
      assertListOptions(options)
      const page = async (min: string, max: string, limit: number): Promise<readonly Reply[]> =>
        run('list', '', [min, max, String(limit), options.status ?? ''])
      return listed(page, options)
    },

    append: async (id, events, { lease, after }) => {
      assertSessionId(id)
      const [outcome, last] = await write('append', id, [
        String(lease.token),
        after === undefined ? '' : String(after),
        ...events.map((event) => JSON.stringify(event)),
      ])
      if (outcome === 'lost') throw leaseLost(id, lease)
      if (outcome === 'gap') refuseGap(id, Number(last), after)
      return Number(last)
    },

    acquire: async (id, options) => {
      assertSessionId(id)
      assertAcquireOptions(options)
      return toLease(await write('acquire', id, [options.owner, String(options.ttlMs)]))?.lease
    },
    renew: async (id, { token }, ttlMs) => {
      assertSessionId(id)
      return (await run('renew', id, [String(token), String(ttlMs)]))[0] === 'renewed'
    },
    release: async (id, { token }, { wakeInMs } = {}) => {
      assertSessionId(id)
      const wake = wakeInMs === undefined ? '' : String(wakeInMs)
      return (await write('release', id, [String(token), wake]))[0] === 'due'
    },
    claim: async (options) => {
      assertAcquireOptions(options)
      const claimed = toLease(await run('claim', '', [options.owner, String(options.ttlMs)]))
      if (claimed !== undefined) hints.changed(claimed.id)
      return claimed
    },

    push: async (id, command, options = {}) => {
      assertSessionId(id)
      assertPushOptions(options)
      const { key, ifIdle, slot } = options
      const [outcome, found] = await write('push', id, [
        JSON.stringify(command),
        keyText(key) ?? '',
        ifIdle === true ? '1' : '',
        key === undefined ? '' : commandDigest(command),
        keyText(slot) ?? '',
      ])
      if (outcome === 'busy') throw busy(id, 'it takes no command')
      if (outcome === 'slot_taken') return { taken: false, ...toInboxEntry(found) }
      if (key !== undefined && outcome === 'known') refuseReuse(id, key, toKnown(found), command)
      return outcome === 'pushed'
    },
    knowsKey: async (id, key, command) => {
      assertSessionId(id)
      const [at, digest] = await run('knowsKey', id, [JSON.stringify(key)])
      if (at === null) return false
      if (command !== undefined) refuseReuse(id, key, toKnown(digest), command)
      return true
    },
    readInbox: async (id) => {
      assertSessionId(id)
      return (await run('readInbox', id)).map(toInboxEntry)
    },
    due: async ({ limit }) => (await run('due', '', [String(limit)])).map(String),

    readEvents: async (id, options) => {
      assertSessionId(id)
      const { after = 0, afterCommand, commands, limit } = options
      const [events, given] = await run('readEvents', id, [
        String(after),
        limit === undefined ? '' : String(limit),
        commands === true ? '1' : '',
        afterCommand === undefined ? '' : String(afterCommand),
      ])
      return merged(entriesOf(events).map(toEvent), entriesOf(given).map(toCommand), options)
    },
    readSnapshot: async (id, at) => {
      assertSessionId(id)
      const [place, body] = await run('readSnapshot', id, [String(at + 1)])
      if (typeof place !== 'string' || typeof body !== 'string') return undefined
      return { session: storedSession(id, body), lastEventId: numberOf(place) - 1 }
    },
    look: async (id) => {
      assertSessionId(id)
      const reply = await run('look', id)
      return reply.length === 0 ? undefined : toState(reply)
    },

    pending: async (options = {}) => {
      assertPendingOptions(options)
      const { kind = '', prefix, metadata, expiresBy } = options
      const by = expiresBy === undefined ? '' : String(expiresBy)
      const read = async (after: PendingPlace | undefined, limit: number) => {
        const { since = 0, sessionId = '', ticket = '' } = after ?? {}
        const place = `${String(since).padStart(16, '0')} ${sessionId}\0${ticket}`
        const min = after === undefined ? '-' : `(${place}`
        const rows = await run('pending', '', [min, String(limit), kind, by])
        return rows.map(toWaitingRow)
      }
      // The index of what expires does not tell kinds apart.
      const isOfKind = kind !== '' && expiresBy !== undefined
      const isFiltered = prefix !== undefined || metadata !== undefined || isOfKind
      return readPendingPage(read, options, isFiltered)
    },

    requestStop: async (id) => {
      assertSessionId(id)
      await write('requestStop', id)
    },
    stopRequested: async (id) => {
      assertSessionId(id)
      return (await run('stopRequested', id))[0] === '1'
    },
    watch: hints.watch,
    prune: async ({ keepMs, limit = Infinity }) => {
      let [count, left, before] = [0, limit, '0']
      for (let age = String(keepMs); left > 0; age = '') {
        const size = Math.min(left, pruneSize)
        const [looked, pruned, time] = await run('prune', '', [before, String(size), age])
        count += Number(pruned)
        left -= Number(looked)
        before = String(time)
        if (Number(looked) < size) break
      }
      return count
    },
  }
}

/** What Redis answers. */
type Reply = string | number | null | readonly Reply[]

/** How many sessions one script prunes. Redis does nothing else while it runs. */
const pruneSize = 50

/** How many rows of a list one script reads. */
const pageSize = 500

/** The hashes of the scripts, by their text. */
const hashes = new Map<string, Promise<string>>()

/** The name by which Redis knows a script. */
function hashOf(script: string): Promise<string> {
  const known = hashes.get(script)
  if (known !== undefined) return known
  const hash = crypto.subtle
    .digest('SHA-1', new TextEncoder().encode(script))
    .then((bytes) =>
      Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, '0')).join(''),
    )
  hashes.set(script, hash)
  return hash
}

function isNoScript(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('NOSCRIPT')
}

/** What is known of a key that came before. */
function toKnown(digest: Reply | undefined): Pick<KnownKey, 'digest'> {
  return { digest: typeof digest === 'string' ? digest : undefined }
}

/** A command that was given, and when. */
function toInboxEntry(reply: Reply | undefined): InboxEntry {
  const entry = String(reply)
  const blank = entry.indexOf(' ')
  const command = JSON.parse(entry.slice(blank + 1)) as SessionCommand // Written by `push`.
  return { at: Number(entry.slice(0, blank)), command }
}

/** The lease of `acquire` and `claim`: the id, the token, the end, and the time that is left to sleep. */
function toLease(reply: readonly Reply[]): { id: string; lease: AcquiredLease } | undefined {
  const [id, token, expiresAt, wake] = reply
  if (id === undefined || id === null) return undefined
  const wakeInMs = wake === '' ? undefined : Number(wake)
  const lease = { token: Number(token), expiresAt: Number(expiresAt), wakeInMs }
  return { id: String(id), lease: defined<AcquiredLease>(lease) }
}

async function listed(
  page: (min: string, max: string, limit: number) => Promise<readonly Reply[]>,
  options: ListOptions,
): Promise<readonly SessionRow[]> {
  const { limit = Infinity } = options
  const range = idRange(options)
  if (range === undefined) return []
  const { from = '', below, after } = range
  const isAfter = after !== undefined && !isBefore(after, from)
  let min = isAfter ? `(${after}` : from === '' ? '-' : `[${from}`
  const max = below === undefined ? '+' : `(${below}`
  const rows: SessionRow[] = []
  for (;;) {
    // A filter may need more rows than there are to return.
    const isFiltered = options.metadata !== undefined || options.status !== undefined
    const size = isFiltered ? pageSize : Math.min(pageSize, limit - rows.length)
    const found = await page(min, max, size)
    rows.push(...found.map(toRow).filter((row) => matchesRow(row, options)))
    const last = found.at(-1)
    if (found.length < size || rows.length >= limit || last === undefined) break
    min = `(${toRow(last).id}`
  }
  return rows.slice(0, Number.isFinite(limit) ? limit : undefined)
}

function toRow(reply: Reply): SessionRow {
  const [id, status, version, updated, due, metadata] = listOf(reply)
  return {
    id: String(id),
    status: toStatus(status),
    version: Number(version ?? 0),
    updatedAt: Number(updated),
    running: typeof due === 'string',
    // Written by `save`.
    metadata: typeof metadata === 'string' ? (JSON.parse(metadata) as JsonObject) : {},
  }
}

/** A call that waits: its value is a time, a blank, a kind, a blank, the call. */
function toWaitingRow(reply: Reply): PendingRow {
  const [id, ticket, value, metadata] = listOf(reply).map(String)
  const [, since, kind = '', body = ''] = /^(\d+) (\w+) (.*)$/s.exec(value ?? '') ?? []
  const place = { sessionId: id ?? '', ticket: ticket ?? '', since: Number(since) }
  const waits = JSON.parse(body) as WaitingBody // Written by `save`, as the metadata.
  return storedPendingRow(place, kind, waits, JSON.parse(metadata ?? '{}') as JsonObject)
}

function toState([
  version,
  status,
  events,
  commands,
  due,
  owner,
  queued,
]: readonly Reply[]): RunState {
  return defined<RunState>({
    version: Number(version ?? 0),
    status: toStatus(status),
    running: typeof due === 'string',
    lastEventId: Number(events ?? 0),
    lastCommandId: Number(commands ?? 0),
    queued: Number(queued),
    owner: typeof owner === 'string' ? owner : undefined,
    dueAt: typeof due === 'string' ? Number(due) : undefined,
  })
}

function toStatus(reply: Reply | undefined): SessionStatus {
  // Written by `save`.
  return (reply ?? 'idle') as SessionStatus
}

function listOf(reply: Reply | undefined): readonly Reply[] {
  return typeof reply === 'object' && reply !== null ? reply : []
}

/** An entry of a stream: its number, and its values without their names. */
interface StreamEntry {
  readonly number: number
  readonly values: readonly Reply[]
}

function entriesOf(reply: Reply | undefined): readonly StreamEntry[] {
  return listOf(reply).map((entry) => {
    const [place, fields] = listOf(entry)
    const values = listOf(fields).filter((_, index) => index % 2 === 1)
    return { number: numberOf(String(place)), values }
  })
}

/** The number in the id of a stream's entry. */
function numberOf(place: string): number {
  return Number(place.slice(0, place.indexOf('-')))
}

function toEvent({ number, values: [at, text] }: StreamEntry): EventEntry {
  const event = JSON.parse(String(text)) as StreamEvent // Written by `save` or `append`.
  return { id: number, at: Number(at), event }
}

interface PlacedCommand {
  /** The number of the last event before it. */
  readonly position: number
  readonly entry: CommandEntry
}

function toCommand({ number, values: [at, position, text, refused] }: StreamEntry): PlacedCommand {
  const command = JSON.parse(String(text)) as SessionCommand // Written by `push`.
  const why = refused === '' ? undefined : (JSON.parse(String(refused)) as ErrorData) // Written by `save`.
  const entry = defined<CommandEntry>({ id: number, at: Number(at), command, refused: why })
  return { position: Number(position), entry }
}

/** Events and commands in one order: a command comes after the events that were there when it was applied. */
function merged(
  events: readonly EventEntry[],
  commands: readonly PlacedCommand[],
  { limit }: ReadEventsOptions,
): readonly LogEntry[] {
  const entries: LogEntry[] = []
  let next = 0
  for (const event of events) {
    for (; (commands[next]?.position ?? event.id) < event.id; next++) {
      entries.push(...commands.slice(next, next + 1).map(({ entry }) => entry))
    }
    entries.push(event)
  }
  return [...entries, ...commands.slice(next).map(({ entry }) => entry)].slice(0, limit)
}

/** What the store needs of a client, the same for both kinds. */
interface Connection {
  send(command: string, args: string[]): Promise<unknown>
  /** The client sends a command again when the connection broke before the reply. */
  readonly resends: boolean
  /** Opens a connection for hints. Absent if the client cannot. */
  readonly listen?: (events: SubscriberEvents) => Subscriber | undefined
}

interface SubscriberEvents {
  /** The message is `log` after a write of an owner, which is not a stop request. */
  readonly onHint: (channel: string, message: string) => void
  /** The connection is there, perhaps again: hints may have been missed. */
  readonly onReady: () => void
  /** The connection is lost for good. */
  readonly onLost: () => void
}

interface Subscriber {
  subscribe(channel: string): void
  unsubscribe(channel: string): void
  close(): void
}

function connectionOf(client: IoRedisClient | NodeRedisClient): Connection {
  const isClient = typeof client === 'object' || typeof client === 'function'
  if (isClient && client !== null && typeof client.on === 'function') {
    client.on('error', ignore)
    // ioredis has a method `sendCommand` too, of another kind.
    if ('call' in client) return ofIoRedis(client)
    if ('sendCommand' in client) return ofNodeRedis(client)
  }
  const hasPassword = typeof client === 'string' && /[@?]/.test(client)
  const given = hasPassword ? 'an address with a password' : describe(client)
  const problem = `must be a client of ioredis (with call) or of node-redis (with sendCommand), not ${given}`
  throw new ValidationError('invalid_options', [{ path: 'client', problem }])
}

function ofIoRedis(client: IoRedisClient): Connection {
  const listen = ({ onHint, onReady, onLost }: SubscriberEvents): Subscriber | undefined => {
    // If ioredis subscribed again by itself, nobody would hear that it failed, and the process would end of it.
    const subscriber = client.duplicate?.({ autoResubscribe: false })
    if (subscriber === undefined) return undefined
    const channels = new Set<string>()
    const subscribe = (channel: string): void => {
      subscriber.subscribe(channel).catch(ignore)
    }
    subscriber.on('error', ignore)
    subscriber.on('message', (channel, message) => onHint(String(channel), String(message)))
    subscriber.on('ready', () => {
      channels.forEach(subscribe)
      onReady()
    })
    subscriber.on('end', onLost)
    return {
      subscribe: (channel) => {
        channels.add(channel)
        subscribe(channel)
      },
      unsubscribe: (channel) => {
        channels.delete(channel)
        subscriber.unsubscribe(channel).catch(ignore)
      },
      close: () => void subscriber.disconnect(),
    }
  }
  const send: Connection['send'] = (command, args) => client.call(command, args)
  return connection(send, true, client.duplicate && listen)
}

function ofNodeRedis(client: NodeRedisClient): Connection {
  const listen = ({ onHint, onReady, onLost }: SubscriberEvents): Subscriber | undefined => {
    const subscriber = client.duplicate?.()
    if (subscriber === undefined) return undefined
    subscriber.on('error', ignore)
    subscriber.on('ready', onReady)
    subscriber.on('end', onLost)
    const connected = subscriber.connect()
    connected.catch(onLost)
    const hear = (message: string, channel: string): void => onHint(channel, message)
    const close = (): void => {
      try {
        void (subscriber.destroy === undefined ? subscriber.disconnect?.() : subscriber.destroy())
      } catch {
        // It was closed already.
      }
    }
    return {
      subscribe: (channel) =>
        void connected.then(() => subscriber.subscribe(channel, hear)).catch(ignore),
      unsubscribe: (channel) =>
        void connected.then(() => subscriber.unsubscribe(channel)).catch(ignore),
      close,
    }
  }
  const send: Connection['send'] = (command, args) => client.sendCommand([command, ...args])
  // A command whose connection broke is rejected.
  return connection(send, false, client.duplicate && listen)
}

function connection(
  send: Connection['send'],
  resends: boolean,
  listen: ((events: SubscriberEvents) => Subscriber | undefined) | undefined,
): Connection {
  return listen === undefined ? { send, resends } : { send, resends, listen }
}

function ignore(): void {
  // The call that failed tells it.
}

/** The listeners of a store, and the connection that they share. */
interface Hints {
  readonly watch: RunStore['watch']
  /** This process has changed something; perhaps only the log. */
  changed(id: string, isLog?: boolean): void
}

/** How long the first wait for another connection is, and the longest. Each wait is twice as long as the one before. */
const [firstWaitMs, longestWaitMs] = [500, 30_000]

function hintsOf({ listen }: Connection, channel: string): Hints {
  const listeners = new Map<string, Set<(isLog: boolean) => void>>()
  let subscriber: Subscriber | undefined
  let cancel: CancelTimer | undefined
  let waitMs = firstWaitMs

  const changed = (id: string, isLog = false): void => {
    for (const listener of listeners.get(id) ?? []) queueMicrotask(() => listener(isLog))
  }
  const open = (): void => {
    cancel = undefined
    const own = listen?.({
      onHint: (name, message) => changed(name.slice(channel.length), message === 'log'),
      onReady: () => {
        waitMs = firstWaitMs
        for (const id of listeners.keys()) changed(id)
      },
      onLost: () => {
        if (own === undefined || subscriber !== own) return
        subscriber = undefined
        own.close()
        cancel = startTimer(systemClock, waitMs, open)
        waitMs = Math.min(2 * waitMs, longestWaitMs)
      },
    })
    subscriber = own
    for (const id of listeners.keys()) own?.subscribe(`${channel}${id}`)
  }
  const close = (): void => {
    cancel?.()
    cancel = undefined
    const own = subscriber
    subscriber = undefined
    own?.close()
  }

  return {
    changed,
    watch: (id, listener, { stopsOnly = false } = {}) => {
      // The same function may watch twice.
      const entry = (isLog: boolean): void => {
        if (isLog && stopsOnly) return
        if (listeners.get(id)?.has(entry) === true) listener()
      }
      const own = listeners.get(id) ?? new Set()
      const isFirst = own.size === 0
      listeners.set(id, own.add(entry))
      if (subscriber === undefined && cancel === undefined) open()
      else if (isFirst) subscriber?.subscribe(`${channel}${id}`)
      return () => {
        if (!own.delete(entry) || own.size > 0) return
        listeners.delete(id)
        if (listeners.size === 0) close()
        else subscriber?.unsubscribe(`${channel}${id}`)
      }
    },
  }
}
