import { Client } from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { Session, type StreamEvent } from '../../../src/index.ts'
import {
  postgresStore,
  type PostgresParam,
  type PostgresPool,
  type RunStore,
} from '../../../src/stores.ts'
import { toApprove } from '../../support/to-approve.ts'
import { clients, createPlace, pgPool, reasonToSkip, serverUrl, type Place } from './postgres.ts'

const owner = { owner: 'me', ttlMs: 60_000 }
const delta = (text: string): StreamEvent => ({ type: 'text_delta', delta: text })

test.each([
  [{ schema: 'a"b' }, 'schema'],
  [{ prefix: 'x; drop table y' }, 'prefix'],
  [{ prefix: '' }, 'prefix'],
  [{ prefix: 'a'.repeat(41) }, 'prefix'],
  [{ prefx: 'a' }, 'did you mean prefix'],
])('the options %j are refused', (options, word) => {
  const pool = { query: async () => ({ rows: [] }) }
  expect(() => postgresStore(pool, options as never)).toThrow(word)
})

test('what is not a pool is refused, and the message says what is one', () => {
  expect(() => postgresStore('postgres://ann:secret@db' as never)).toThrow('new Pool() of pg')
})

test('a failure of the driver is typed, keeps its cause, and does not show a password', async () => {
  const cause = Object.assign(new Error('no route to postgres://ann:s3cret@db/x'), { code: 'E1' })
  const store = postgresStore({ query: () => Promise.reject(cause) })
  const thrown = await store.load('s').catch((error: unknown) => error)
  expect(thrown).toMatchObject({ reason: 'unavailable', cause, metadata: { code: 'E1' } })
  expect(JSON.stringify(thrown)).not.toContain('s3cret')
  expect(String(thrown)).toContain(
    'session s cannot be loaded: no route to postgres://ann:[redacted]@db/x',
  )
})

for (const { title, missing, open } of clients) {
  describe.skipIf(missing)(`postgresStore on ${title}`, () => {
    let place: Place
    beforeAll(async () => {
      place = await createPlace(open)
    })
    afterEach(() => place.clear())
    afterAll(() => place.remove())

    test('without its tables every operation says that migrate was not called', async () => {
      const store = postgresStore(place.pool, { schema: place.schema, prefix: 'other_' })
      await expect(store.load('s')).rejects.toMatchObject({
        reason: 'unavailable',
        message: expect.stringContaining('await store.migrate()') as string,
      })
      const nowhere = postgresStore(place.pool, { schema: 'no_such_schema' })
      await expect(nowhere.push('s', { type: 'resume' })).rejects.toThrow('await store.migrate()')
    })

    test('many may migrate at the same time, and again, and nothing is lost', async () => {
      const schema = `${place.schema}_b`
      const opened = Array.from({ length: 8 }, () => open())
      const stores = opened.map(({ pool }) => postgresStore(pool, { schema, prefix: 'App_' }))
      try {
        await Promise.all(stores.flatMap((store) => [store.migrate(), store.migrate()]))
        await stores[0]?.save(Session.create({ id: 's' }))
        await Promise.all(stores.map((store) => store.migrate()))
        const loaded = await Promise.all(stores.map((store) => store.load('s')))
        expect(loaded.map((found) => found?.version)).toEqual(stores.map(() => 1))
        await place.pool.query(`insert into "${schema}"."App_migrations" (version) values (99)`, [])
        await expect(stores[1]?.migrate()).rejects.toThrow('the tables have version 99')
      } finally {
        await place.pool.query(`drop schema "${schema}" cascade`, [])
        await Promise.all(opened.map((client) => client.close()))
      }
    })

    test('tables of version 0.2 need migrate, and keep what they have', async () => {
      const schema = `${place.schema}_old`
      const client = open()
      const store = postgresStore(client.pool, { schema })
      try {
        await store.migrate()
        await store.push('s', { type: 'resume' }, { key: 'k' })
        await store.push('s', { type: 'resume' })
        await store.save(Session.create({ id: 's' }), { taken: 1 })
        for (const back of [
          `alter table "${schema}".allm_commands drop column slot`,
          `drop table "${schema}".allm_pending`,
          `delete from "${schema}".allm_migrations where version > 1`,
        ]) {
          await client.pool.query(back, [])
        }
        await expect(store.push('s', { type: 'resume' })).rejects.toThrow('await store.migrate()')
        await store.migrate()
        expect(await store.push('s', { type: 'resume' }, { key: 'k', slot: 'c' })).toBe(false)
        expect(await store.readInbox('s')).toHaveLength(1)
        const deny = { type: 'deny', toolCallId: 'c' } as const
        expect(await store.push('s', deny, { slot: 'c' })).toBe(true)
        expect(await store.push('s', { type: 'resume' }, { slot: 'c' })).toMatchObject({
          taken: false,
          command: deny,
        })
        expect(await store.readInbox('s')).toHaveLength(2)
      } finally {
        await place.pool.query(`drop schema "${schema}" cascade`, [])
        await client.close()
      }
    })

    test('what waits in sessions of version 0.2 is in the index after migrate, since they were saved', async () => {
      const schema = `${place.schema}_waits`
      const client = open()
      const store = postgresStore(client.pool, { schema })
      const run = (sql: string) => client.pool.query(sql.replaceAll('$schema', `"${schema}"`), [])
      try {
        await store.migrate()
        for (const id of ['s', 'unreadable']) await store.save(toApprove(id))
        await store.save(Session.create({ id: 'over' }))
        // More than are read at a time.
        for (let index = 0; index < 250; index++) await store.save(toApprove(`s${index}`))
        await run('alter table $schema.allm_commands drop column slot')
        await run('drop table $schema.allm_pending')
        await run('delete from $schema.allm_migrations where version > 1')
        await run("update $schema.allm_sessions set updated_at = 5 where id = 's'")
        await run(`update $schema.allm_texts set body = '{' where session =
          (select key from $schema.allm_sessions where id = 'unreadable')`)
        await Promise.all([store.migrate(), store.migrate()])
        const { rows } = await store.pending()
        expect(rows).toHaveLength(251)
        expect(rows[0]).toMatchObject({ sessionId: 's', since: 5, kind: 'approval' })
        // A process that died before it was done is followed by one that begins again.
        await run('delete from $schema.allm_pending where since > 5')
        await run('delete from $schema.allm_migrations where version = 6')
        await store.migrate()
        expect((await store.pending()).rows).toEqual(rows)
        // It is done once.
        await run('delete from $schema.allm_pending where since > 5')
        await store.migrate()
        expect((await store.pending()).rows).toEqual(rows.slice(0, 1))
      } finally {
        await place.pool.query(`drop schema "${schema}" cascade`, [])
        await client.close()
      }
    })

    test('a process of version 0.2 that saves a session hides what it waited for until the next save', async () => {
      const store = place.connect()
      await store.save(toApprove('s'))
      await place.pool.query(`update "${place.schema}".allm_sessions set version = version + 1`, [])
      expect((await store.pending()).rows).toEqual([])
      await store.save(toApprove('s'))
      expect((await store.pending()).rows).toHaveLength(1)
    })

    test('a change is heard by another store, and by nobody after the last one stopped watching', async () => {
      const [watching, writing] = [place.connect(), place.connect()]
      expect(watching.notifies).toBe(true)
      const listener = vi.fn()
      const others = vi.fn()
      const stop = watching.watch('s', listener)
      const stopOthers = watching.watch('t', others)
      // Telling all listeners is the sign that it listens now.
      await vi.waitUntil(() => others.mock.calls.length > 0, { timeout: 30_000 })
      const before = listener.mock.calls.length
      await writing.push('s', { type: 'resume' })
      await vi.waitUntil(() => listener.mock.calls.length > before, { timeout: 30_000 })
      expect(others).toHaveBeenCalledTimes(1)
      stop()
      stopOthers()
      const count = listener.mock.calls.length
      await writing.requestStop('s')
      await watching.look('s')
      expect(listener).toHaveBeenCalledTimes(count)
    })

    test('every operation is one statement', async () => {
      const counted = counting(place.pool)
      const calls: PropertyKey[] = []
      const store = new Proxy(postgresStore(counted.pool, { schema: place.schema }), {
        get: (target, name, receiver) => {
          calls.push(name)
          return Reflect.get(target, name, receiver) as unknown
        },
      })
      await everyOperation(store)
      expect(counted.statements).toHaveLength(calls.length)
      expect(calls).toHaveLength(new Set(calls).size)
    })

    test('an append, a renewal and a push leave the text of the session where it is', async () => {
      const store = place.connect()
      await store.save(Session.create({ id: 's', metadata: { big: 'x'.repeat(5000) } }))
      const where = async () => {
        const { rows } = await place.pool.query(
          `select ctid::text as place, xmin::text as writer from "${place.schema}".allm_texts`,
          [],
        )
        return rows
      }
      const before = await where()
      const lease = await store.acquire('s', owner)
      if (lease === undefined) throw new Error('the lease is not free')
      await store.append('s', [delta('a'), delta('b')], { lease })
      await store.renew('s', lease, 60_000)
      await store.push('s', { type: 'resume' }, { key: 'k' })
      await store.release('s', lease)
      expect(await where()).toEqual(before)
    })

    test('a run that was old before it was saved is pruned after the save', async () => {
      const store = place.connect()
      const lease = await store.acquire('s', owner)
      if (lease === undefined) throw new Error('the lease is not free')
      await store.append('s', [delta('a')], { lease })
      // The event is old when the clock of the store has moved on; it is not in the session yet.
      const [event] = await store.readEvents('s', {})
      while (
        ((await store.renew('s', lease, 1)) && (await store.look('s'))?.dueAt) ===
        (event?.at ?? 0) + 1
      )
        continue
      expect(await store.prune({ keepMs: 0 })).toBe(0)
      await store.save(Session.create({ id: 's' }), { lease })
      expect(await store.prune({ keepMs: 0 })).toBe(1)
      expect(await store.readEvents('s', {})).toEqual([])
    })

    test('lists, due sessions and claims are found by an index', async () => {
      const { schema } = place
      await place.pool.query(
        `insert into "${schema}".allm_sessions (id, updated_at, status, due_at)
        select 'u' || n % 100 || '/' || n, 0, case when n % 50 = 0 then 'halted' else 'completed' end, case when n % 1000 = 0 then n end
        from generate_series(1, 20000) n`,
        [],
      )
      await place.pool.query(`analyze "${schema}".allm_sessions`, [])
      const counted = counting(place.pool)
      const store = postgresStore(counted.pool, { schema })
      const planOf = async (work: (store: RunStore) => Promise<unknown>): Promise<string> => {
        counted.statements.length = 0
        await work(store)
        const [text, params] = counted.statements[0] ?? ['', []]
        const { rows } = await place.pool.query(`explain ${text}`, params)
        return rows.map((row) => Object.values(row as object)[0] as string).join('\n')
      }
      const plans = {
        due: await planOf((store) => store.due({ limit: 5 })),
        claim: await planOf((store) => store.claim(owner)),
        'list by prefix': await planOf((store) => store.list({ prefix: 'u7/', limit: 20 })),
        'list by status': await planOf((store) => store.list({ status: 'halted', limit: 20 })),
        'list a page': await planOf((store) => store.list({ after: 'u5/105', limit: 20 })),
        prune: await planOf((store) => store.prune({ keepMs: 0, limit: 5 })),
        'a page of the log': await planOf((store) => store.readEvents('s', { after: 5, limit: 9 })),
      }
      for (const [name, plan] of Object.entries(plans)) {
        expect(plan, name).not.toContain('Seq Scan on allm_sessions')
      }
      expect(plans.due).toContain('allm_by_due')
      expect(plans.claim).toContain('allm_by_due')
      expect(plans['list by status']).toContain('allm_by_status')
      expect(plans['a page of the log']).toMatch(/Index Cond: .*number > .* AND .*number <= /)
      expect(plans['list by prefix']).toMatch(/Index Cond: .*>= '?.*u7\//)
    })
  })
}

describe.skipIf(reasonToSkip !== undefined)(`postgresStore on pg${reasonToSkip ?? ''}`, () => {
  let place: Place
  beforeAll(async () => {
    place = await createPlace('pg')
  })
  afterEach(() => place.clear())
  afterAll(() => place.remove())

  test('statements may each run on another connection, as with PgBouncer', async () => {
    const pool: PostgresPool = {
      query: async (text, params) => {
        const client = new Client({ connectionString: serverUrl })
        await client.connect()
        try {
          return await client.query(text, params)
        } finally {
          await client.end()
        }
      },
    }
    const store = postgresStore(pool, { schema: place.schema })
    expect(store.notifies).toBe(false)
    await store.migrate()
    await everyOperation(store)
  })

  test.each(['repeatable read', 'serializable'])(
    'a database that is set to %s loses nothing',
    async (level) => {
      const options = `-c default_transaction_isolation=${level.replace(' ', '\\ ')}`
      const pool = pgPool({ options, max: 6 })
      try {
        const store = postgresStore(pool, { schema: place.schema })
        const versions = await Promise.all(
          Array.from({ length: 12 }, () => store.save(Session.create({ id: 's' }))),
        )
        expect(versions.toSorted((a, b) => a - b)).toEqual(versions.map((_, index) => index + 1))
      } finally {
        await pool.end()
      }
    },
  )

  test('a listening connection that is lost is made again, and the listeners are told', async () => {
    const pool = pgPool({ application_name: place.schema })
    pool.on('error', () => undefined)
    const store = postgresStore(pool, { schema: place.schema })
    const listener = vi.fn()
    const stop = store.watch('s', listener)
    try {
      await vi.waitUntil(() => listener.mock.calls.length > 0, { timeout: 30_000 })
      const { rows } = await place.pool.query(
        `select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1 and query ilike 'listen%'`,
        [place.schema],
      )
      expect(rows).toHaveLength(1)
      await vi.waitUntil(() => listener.mock.calls.length > 1, { timeout: 30_000 })
      const before = listener.mock.calls.length
      await place.connect().push('s', { type: 'resume' })
      await vi.waitUntil(() => listener.mock.calls.length > before, { timeout: 30_000 })
    } finally {
      stop()
      // Without a listening connection the pool can end.
      await pool.end()
    }
  })

  test('a pool with one connection does not listen on it', async () => {
    const pool = pgPool({ max: 1 })
    try {
      const store = postgresStore(pool, { schema: place.schema })
      expect(store.notifies).toBe(false)
      const stop = store.watch('s', () => undefined)
      expect(await store.look('s')).toBeUndefined()
      stop()
    } finally {
      await pool.end()
    }
  })

  test('without notify no statement notifies', async () => {
    const counted = counting(place.pool)
    const store = postgresStore(counted.pool, { schema: place.schema, notify: false })
    expect(store.notifies).toBe(false)
    await everyOperation(store)
    expect(counted.statements.filter(([text]) => text.includes('pg_notify'))).toEqual([])
  })
})

/** A pool that remembers its statements. */
function counting(pool: PostgresPool) {
  const statements: (readonly [text: string, params: PostgresParam[]])[] = []
  const query: PostgresPool['query'] = (text, params) => {
    statements.push([text, params])
    return pool.query(text, params)
  }
  return { statements, pool: { query } satisfies PostgresPool }
}

/** Uses every operation once. */
async function everyOperation(store: RunStore): Promise<void> {
  await store.push('s', { type: 'send', content: 'a' }, { key: 'k', ifIdle: true })
  expect(await store.knowsKey('s', 'k')).toBe(true)
  const claimed = await store.claim(owner)
  expect(claimed?.id).toBe('s')
  const lease = claimed?.lease ?? { token: 0, expiresAt: 0 }
  expect(await store.readInbox('s')).toHaveLength(1)
  const options = { lease, taken: 1, events: [delta('a')], first: true, ifVersion: 0 }
  expect(await store.save(Session.create({ id: 's' }), options)).toBe(1)
  expect(await store.append('s', [delta('b'), delta('c')], { lease, after: 1 })).toBe(3)
  expect(await store.renew('s', lease, 60_000)).toBe(true)
  await store.requestStop('s')
  expect(await store.stopRequested('s')).toBe(true)
  expect(await store.release('s', lease)).toBe(false)
  expect(await store.acquire('s', owner)).toHaveProperty('token')
  expect(await store.due({ limit: 5 })).toEqual([])
  expect(await store.readEvents('s', { commands: true })).toHaveLength(4)
  expect(await store.readSnapshot('s', 3)).toMatchObject({ lastEventId: 1 })
  expect(await store.look('s')).toMatchObject({ lastEventId: 3, owner: 'me' })
  expect(await store.load('s')).toMatchObject({ version: 1, lastEventId: 1 })
  expect(await store.list({ prefix: 's', status: 'idle' })).toHaveLength(1)
  expect(await store.pending({ kind: 'approval', prefix: 's' })).toEqual({ rows: [] })
  expect(await store.prune({ keepMs: 60_000 })).toBe(0)
  await store.delete('s')
}
