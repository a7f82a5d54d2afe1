import type { PoolClient } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  isAllmError,
  type Session,
  type SessionCommand,
  type StreamEvent,
} from '../../../src/index.ts'
import { memoryStore, postgresStore, type Lease, type RunStore } from '../../../src/stores.ts'
import { toApprove } from '../../support/to-approve.ts'
import { createPlace, pgPool, reasonToSkip, type Place } from './postgres.ts'

/** Tells two commands and two events apart. */
const said = (content: string): SessionCommand => ({ type: 'send', content })
const delta = (text: string): StreamEvent => ({ type: 'text_delta', delta: text })
const saved = (by: string): Session => ({ ...toApprove('s', ['each', by]), metadata: { by } })
const owner = { owner: 'first', ttlMs: 60_000 }

/** A lease that nobody has. */
const noLease: Lease = { token: -1, expiresAt: 0 }

/** What a session can be like before, with the lease that somebody has or had. */
const states: Readonly<Record<string, (world: World) => Promise<Lease>>> = {
  absent: async () => noLease,
  'at rest': async ({ store }) => {
    await store.save(saved('before'))
    return noLease
  },
  'only pushed': async ({ store }) => {
    await store.push('s', said('before'), { key: 'k' })
    return noLease
  },
  'new and owned': async ({ store }) => taken(store),
  'owned with an inbox': async ({ store }) => {
    await store.save(saved('before'), { first: true })
    await store.push('s', said('before'))
    return taken(store)
  },
  'owned, and a command has the slot': async ({ store }) => {
    await store.push('s', said('before'), { slot: 'c' })
    return taken(store)
  },
  'left by a dead owner': async ({ store, expire }) => {
    const lease = await taken(store)
    await store.save(saved('before'), { lease, events: [delta('before')] })
    await expire()
    return lease
  },
  'waiting for a wake-up': async ({ store }) => {
    const lease = await taken(store)
    await store.save(saved('before'), { lease })
    await store.release('s', lease, { wakeInMs: 60_000 })
    return lease
  },
}

type Operation = (store: RunStore, lease: Lease, by: string) => Promise<unknown>

const operations: Readonly<Record<string, Operation>> = {
  push: (store, _lease, by) => store.push('s', said(by)),
  'push with a key': (store, _lease, by) => store.push('s', said(by), { key: 'k' }),
  'push if idle': (store, _lease, by) => store.push('s', said(by), { ifIdle: true }),
  'push with a key if idle': (store, _lease, by) =>
    store.push('s', said(by), { key: 'k', ifIdle: true }),
  'push with a slot': (store, _lease, by) => store.push('s', said(by), { slot: 'c' }),
  'push with a slot if idle': (store, _lease, by) =>
    store.push('s', said(by), { slot: 'c', ifIdle: true }),
  'push with a key and a slot': (store, _lease, by) =>
    store.push('s', said(by), { key: 'k', slot: 'c' }),
  acquire: (store) => store.acquire('s', { ...owner, owner: 'second' }),
  renew: (store, lease) => store.renew('s', lease, 60_000),
  release: (store, lease) => store.release('s', lease),
  'release until later': (store, lease) => store.release('s', lease, { wakeInMs: 60_000 }),
  append: (store, lease, by) => store.append('s', [delta(by), delta(by)], { lease }),
  'append after 0': (store, lease, by) => store.append('s', [delta(by)], { lease, after: 0 }),
  save: (store, _lease, by) => store.save(saved(by)),
  'save version 1': (store, _lease, by) => store.save(saved(by), { ifVersion: 0 }),
  'save version 2': (store, _lease, by) => store.save(saved(by), { ifVersion: 1 }),
  'save as owner': (store, lease, by) =>
    store.save(saved(by), { lease, events: [delta(by)], taken: 1, first: true }),
  'refuse as owner': (store, lease, by) =>
    store.save(saved(by), {
      lease,
      taken: 1,
      refused: { kind: 'session', reason: 'busy', message: by },
    }),
  requestStop: (store) => store.requestStop('s'),
  delete: (store) => store.delete('s'),
}

const names = Object.keys(operations)

/** Every seventh pair, so that each operation meets most others in some state. All pairs take a minute: `ALLM_ALL_PAIRS=1`. */
const step = process.env['ALLM_ALL_PAIRS'] === undefined ? 7 : 1

describe.skipIf(reasonToSkip !== undefined)(
  `two operations at the same time in Postgres${reasonToSkip ?? ''}`,
  () => {
    let place: Place
    let pool: ReturnType<typeof pgPool>
    let clients: readonly [PoolClient, PoolClient]
    beforeAll(async () => {
      place = await createPlace('pg')
      pool = pgPool()
      clients = [await pool.connect(), await pool.connect()]
    })
    afterAll(async () => {
      for (const client of clients) client.release()
      await pool.end()
      await place.remove()
    })

    test.each(Object.keys(states))('give what one after the other gives: %s', async (state) => {
      const pairs = names.flatMap((first) => names.map((second) => [first, second] as const))
      const offset = Object.keys(states).indexOf(state)
      for (const [index, [first, second]] of pairs.entries()) {
        if ((index + offset) % step !== 0) continue
        const name = `${first}, then ${second}`
        const found = await atTheSameTime(state, first, second)
        const forward = await inOrder(state, [first, 'first'], [second, 'second'])
        const backward = await inOrder(state, [second, 'second'], [first, 'first'])
        const legal = [forward, { ...backward, outcomes: backward.outcomes.toReversed() }]
        expect(legal, `${name}: ${JSON.stringify(found)}`).toContainEqual(found)
      }
    })

    /** The first operation is in a transaction that is committed when the second one waits for it, or is done. */
    async function atTheSameTime(state: string, first: string, second: string) {
      const { schema } = place
      await place.clear()
      const [holder, other] = clients
      const on = (client: PoolClient): RunStore =>
        postgresStore({ query: (text, params) => client.query(text, params) }, { schema })
      const expire = async (): Promise<void> => {
        await holder.query(`update "${schema}".allm_sessions set due_at = due_at - 3600000`)
      }
      const world = { store: on(holder), expire }
      const lease = (await states[state]?.(world)) ?? noLease
      await holder.query('begin')
      const one = await outcomeOf(operations[first]?.(on(holder), lease, 'first'))
      const progress = { isDone: false }
      const waiting = outcomeOf(operations[second]?.(on(other), lease, 'second')).finally(() => {
        progress.isDone = true
      })
      while (!progress.isDone && !(await isWaiting(pool, other))) continue
      await holder.query('commit')
      return { outcomes: [one, await waiting], after: await lookAt(world.store) }
    }
  },
)

/** A store, and how the leases in it end. */
interface World {
  readonly store: RunStore
  readonly expire: () => Promise<void>
}

async function taken(store: RunStore): Promise<Lease> {
  const lease = await store.acquire('s', owner)
  if (lease === undefined) throw new Error('the lease is not free')
  return lease
}

/** What both operations give in memory, one after the other. */
async function inOrder(state: string, ...order: readonly (readonly [name: string, by: string])[]) {
  let now = 1_800_000_000_000
  const store = memoryStore({ clock: { now: () => now, sleep: async () => undefined } })
  const expire = async (): Promise<void> => {
    now += 3_600_000
  }
  const lease = (await states[state]?.({ store, expire })) ?? noLease
  const outcomes: unknown[] = []
  for (const [name, by] of order)
    outcomes.push(await outcomeOf(operations[name]?.(store, lease, by)))
  return { outcomes, after: await lookAt(store) }
}

/** The result of an operation, without tokens and times. */
async function outcomeOf(work: Promise<unknown> | undefined): Promise<unknown> {
  try {
    const result = await work
    if (typeof result !== 'object' || result === null) return result
    if ('taken' in result) return { ...result, at: 0 }
    return 'token' in result ? { lease: true, waits: 'wakeInMs' in result } : result
  } catch (error) {
    return isAllmError(error) ? error.reason : String(error)
  }
}

/** Everything that can be seen of the session, without times. The slot is last: the look may take it. */
async function lookAt(store: RunStore) {
  const state = await store.look('s')
  const log = await store.readEvents('s', { commands: true })
  const snapshot = await store.readSnapshot('s', 100)
  return {
    state: state && { ...state, dueAt: state.dueAt !== undefined },
    isDue: (await store.due({ limit: 10 })).includes('s'),
    stops: await store.stopRequested('s'),
    knows: await store.knowsKey('s', 'k'),
    inbox: (await store.readInbox('s')).map(({ command }) => command),
    log: log.map(({ at: _at, ...entry }) => entry),
    by: (await store.load('s'))?.session.metadata,
    snapshot: snapshot && { by: snapshot.session.metadata, after: snapshot.lastEventId },
    listed: (await store.list()).map(({ updatedAt: _updatedAt, ...row }) => row),
    waits: Object.fromEntries(
      (await store.pending()).rows.map((row) => [row.ticket, row.metadata]),
    ),
    slot: await outcomeOf(store.push('s', said('late'), { slot: 'c' })),
  }
}

/** Whether a connection waits for a lock. */
async function isWaiting(pool: ReturnType<typeof pgPool>, client: PoolClient): Promise<boolean> {
  const { processID: pid } = client as PoolClient & { readonly processID?: number }
  const { rows } = await pool.query(
    `select 1 from pg_stat_activity where pid = $1 and wait_event_type = 'Lock'`,
    [pid],
  )
  return rows.length > 0
}
