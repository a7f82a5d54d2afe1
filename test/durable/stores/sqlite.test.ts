import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { Session, type StreamEvent } from '../../../src/index.ts'
import { sqliteStore, type SqliteDatabase } from '../../../src/stores.ts'
import { toApprove } from '../../support/to-approve.ts'
import { createPlace, drivers, type Place } from './sqlite.ts'

const owner = { owner: 'me', ttlMs: 60_000 }
const delta = (text: string): StreamEvent => ({ type: 'text_delta', delta: text })

test.each([
  [{ prefix: 'x; drop table y' }, 'prefix'],
  [{ prefix: '' }, 'prefix'],
  [{ schema: 'a' }, 'schema'],
])('the options %j are refused', (options, word) => {
  expect(() => sqliteStore(lockedDatabase, options as never)).toThrow(word)
})

test('what is not a database is refused, and the message says what is one', () => {
  expect(() => sqliteStore('store.db' as never)).toThrow('new DatabaseSync() of node:sqlite')
})

test('a database that stays locked is unavailable in the end', async () => {
  vi.useFakeTimers()
  try {
    const loaded = sqliteStore(lockedDatabase)
      .load('s')
      .catch((error: unknown) => error)
    await vi.advanceTimersByTimeAsync(60_000)
    expect(await loaded).toMatchObject({
      reason: 'unavailable',
      message: 'session s cannot be loaded: database is locked',
      metadata: { code: 'SQLITE_BUSY' },
    })
  } finally {
    vi.useRealTimers()
  }
})

/** A database that another process never unlocks. */
const lockedDatabase: SqliteDatabase = {
  exec: () => undefined,
  prepare: () => {
    throw Object.assign(new Error('database is locked'), { code: 'SQLITE_BUSY' })
  },
}

for (const { title, missing, open } of drivers) {
  describe.skipIf(missing)(`sqliteStore on ${title}`, () => {
    let place: Place
    beforeEach(() => {
      place = createPlace(open)
    })
    afterEach(() => place.remove())

    test('the first operation creates the tables, whoever else does so at the same time', async () => {
      const stores = Array.from({ length: 6 }, () => place.connect())
      const saves = stores.map((store, index) => store.save(Session.create({ id: `s${index}` })))
      expect(await Promise.all(saves)).toEqual([1, 1, 1, 1, 1, 1])
      await Promise.all(stores.map((store) => store.migrate()))
      expect(await stores[0]?.list()).toHaveLength(6)
    })

    test('tables of a newer version are not touched', async () => {
      await place.connect().migrate()
      place.open().exec('insert into allm_migrations values (99)')
      await expect(place.connect().look('s')).rejects.toMatchObject({
        reason: 'unavailable',
        message: expect.stringContaining('the tables have version 99') as string,
      })
    })

    test('stores with other prefixes in one database are apart', async () => {
      const database = place.open()
      const [one, two] = [sqliteStore(database), sqliteStore(database, { prefix: 'other_' })]
      await one.save(Session.create({ id: 's' }))
      expect(await two.load('s')).toBeUndefined()
    })

    test('an operation waits for another connection that writes, without blocking', async () => {
      const store = place.connect()
      await store.save(Session.create({ id: 's' }))
      const other = place.open()
      other.exec('begin immediate')
      const saved = store.save(Session.create({ id: 's' }))
      const isPending = await Promise.race([saved, Promise.resolve('pending')])
      other.exec('commit')
      expect([isPending, await saved]).toEqual(['pending', 2])
    })

    test('inside a transaction of the caller an operation fails typed, and the transaction stays', async () => {
      const database = place.open()
      const store = sqliteStore(database)
      await store.migrate()
      database.exec('create table own (n integer)')
      database.exec('begin')
      database.exec('insert into own values (1)')
      await expect(store.save(Session.create({ id: 's' }))).rejects.toMatchObject({
        reason: 'unavailable',
      })
      database.exec('commit')
      expect(database.prepare('select n from own').all()).toHaveLength(1)
      expect(await store.save(Session.create({ id: 's' }))).toBe(1)
    })

    describe('a clock that is set back', () => {
      /** What was written until now comes to be of the future. */
      const setBack = (ms: number): void =>
        void place
          .open()
          .exec(`update allm_sessions set due_at = due_at + ${ms}, due_from = due_from + ${ms}`)

      test('does not keep a lease beyond its time', async () => {
        const store = place.connect()
        const lease = await store.acquire('s', owner)
        if (lease === undefined) throw new Error('the lease is not free')
        setBack(900)
        expect(await store.acquire('s', owner)).toBeUndefined()
        setBack(3_600_000)
        // Its owner is there, and renews it by the new time.
        expect(await store.renew('s', lease, 60_000)).toBe(true)
        expect(await store.acquire('s', owner)).toBeUndefined()
        setBack(3_600_000)
        expect(await store.due({ limit: 9 })).toEqual(['s'])
        expect((await store.look('s'))?.owner).toBeUndefined()
        expect((await store.claim({ owner: 'next', ttlMs: 60_000 }))?.id).toBe('s')
        expect(await store.claim({ owner: 'next', ttlMs: 60_000 })).toBeUndefined()
      })

      test('delays no command, and no session sleeps longer than it wanted to', async () => {
        const store = place.connect()
        await store.push('command', { type: 'resume' })
        const lease = await store.acquire('sleeps', owner)
        if (lease === undefined) throw new Error('the lease is not free')
        await store.save(Session.create({ id: 'sleeps' }), { lease })
        await store.release('sleeps', lease, { wakeInMs: 50_000 })
        setBack(3_600_000)
        expect((await store.due({ limit: 9 })).toSorted()).toEqual(['command', 'sleeps'])
        expect((await store.acquire('command', owner))?.wakeInMs).toBeUndefined()
        expect((await store.acquire('sleeps', owner))?.wakeInMs).toBe(50_000)
      })

      test('does not matter to tables of version 0.2, which are brought up to date', async () => {
        const old = place.connect()
        await old.save(Session.create({ id: 's' }))
        const lease = await old.acquire('s', owner)
        toVersion02(place.open())
        const store = place.connect()
        await store.migrate()
        expect((await store.load('s'))?.version).toBe(1)
        expect(await store.acquire('s', owner)).toBeUndefined()
        if (lease === undefined) throw new Error('the lease is not free')
        expect(await store.renew('s', lease, 60_000)).toBe(true)
        setBack(3_600_000)
        expect(await store.acquire('s', owner)).toBeDefined()
      })
    })

    test('commands in tables of version 0.2 have no slots, and those that come later have', async () => {
      const old = place.connect()
      await old.push('s', { type: 'resume' }, { key: 'k' })
      await old.push('s', { type: 'resume' })
      await old.save(Session.create({ id: 's' }), { taken: 1 })
      toVersion02(place.open())
      const store = place.connect()
      expect(await store.push('s', { type: 'resume' }, { key: 'k', slot: 'c' })).toBe(false)
      expect(await store.readInbox('s')).toHaveLength(1)
      const deny = { type: 'deny', toolCallId: 'c' } as const
      expect(await store.push('s', deny, { slot: 'c' })).toBe(true)
      expect(await store.push('s', { type: 'resume' }, { slot: 'c' })).toMatchObject({
        taken: false,
        command: deny,
      })
      expect(await store.readInbox('s')).toHaveLength(2)
    })

    test('what waits in sessions of version 0.2 is in the index, since they were saved', async () => {
      const old = place.connect()
      for (const id of ['s', 'unreadable']) await old.save(toApprove(id))
      await old.save(Session.create({ id: 'over' }))
      // More than are read at a time.
      for (let index = 0; index < 250; index++) await old.save(toApprove(`s${index}`))
      const database = place.open()
      toVersion02(database)
      database.exec("update allm_sessions set updated_at = 5 where id = 's'")
      database.exec("update allm_texts set body = '{' where session = 2")
      const store = place.connect()
      const { rows } = await store.pending()
      expect(rows).toHaveLength(251)
      expect(rows[0]).toMatchObject({ sessionId: 's', since: 5, kind: 'approval' })
      await store.save(toApprove('s'))
      expect((await store.pending({ limit: 1 })).rows[0]).toEqual(rows[0])
    })

    test('a process of version 0.2 that saves a session hides what it waited for until the next save', async () => {
      const store = place.connect()
      await store.save(toApprove('s'))
      place.open().exec('update allm_sessions set version = version + 1')
      expect((await store.pending()).rows).toEqual([])
      await store.save(toApprove('s'))
      expect((await store.pending()).rows).toHaveLength(1)
    })

    test('a deleted session leaves no row behind', async () => {
      const store = place.connect()
      await store.push('s', { type: 'resume' }, { key: 'k', slot: 'c' })
      const lease = await store.acquire('s', owner)
      await store.save(toApprove('s'), { lease, events: [delta('a')], first: true })
      await store.delete('s')
      const database = place.open()
      for (const table of ['sessions', 'texts', 'events', 'commands', 'snapshots', 'pending']) {
        expect(database.prepare(`select * from allm_${table}`).all(), table).toEqual([])
      }
    })

    test('an append, a renewal and a push do not touch the text of the session', async () => {
      const statements: string[] = []
      const store = place.connect((database) => ({
        exec: (sql) => database.exec(sql),
        prepare: (sql) => {
          const { all, run } = bound(database, sql)
          const logged =
            <Result>(work: (...params: never[]) => Result) =>
            (...params: never[]): Result => {
              statements.push(sql)
              return work(...params)
            }
          return { all: logged(all), run: logged(run) }
        },
      }))
      await store.save(Session.create({ id: 's' }))
      expect(statements.some((sql) => sql.includes('allm_texts'))).toBe(true)
      statements.length = 0
      const lease = await store.acquire('s', owner)
      if (lease === undefined) throw new Error('the lease is not free')
      await store.append('s', [delta('a'), delta('b')], { lease })
      await store.renew('s', lease, 60_000)
      await store.push('s', { type: 'resume' }, { key: 'k' })
      await store.release('s', lease)
      expect(statements.filter((sql) => sql.includes('allm_texts'))).toEqual([])
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

    test('lists, due sessions and what can be pruned are found by an index', async () => {
      const plans = new Map<string, string>()
      const store = place.connect((database) => ({
        exec: (sql) => database.exec(sql),
        prepare: (sql) => {
          const { all, run } = bound(database, sql)
          return {
            run,
            all: (...params) => {
              if (sql.startsWith('select')) {
                const rows = database.prepare(`explain query plan ${sql}`).all(...params)
                plans.set(sql, rows.map((row) => (row as { detail: string }).detail).join('\n'))
              }
              return all(...params)
            },
          }
        },
      }))
      await store.migrate()
      const planOf = async (work: () => Promise<unknown>): Promise<string> => {
        plans.clear()
        await work()
        return [...plans.values()].join('\n')
      }
      const found = {
        due: await planOf(() => store.due({ limit: 5 })),
        claim: await planOf(() => store.claim(owner)),
        prefix: await planOf(() => store.list({ prefix: 'u7/', limit: 20 })),
        status: await planOf(() => store.list({ status: 'halted', prefix: 'u7/' })),
        page: await planOf(() => store.list({ after: 'u5/105', limit: 20 })),
        prune: await planOf(() => store.prune({ keepMs: 0 })),
        look: await planOf(() => store.look('s')),
        events: await planOf(() => store.readEvents('s', { after: 5, limit: 10, commands: true })),
        inbox: await planOf(() => store.readInbox('s')),
        pending: await planOf(() => store.pending({ after: '[5,"s","t"]', limit: 10 })),
        'pending of a kind': await planOf(() => store.pending({ kind: 'question', limit: 10 })),
        'pending by prefix': await planOf(() => store.pending({ prefix: 'u7/', limit: 10 })),
      }
      expect(found.pending).toMatch(
        /SEARCH p USING INDEX allm_by_since \(\(since,id,ticket\)>\(\?,\?,\?\)\)/,
      )
      expect(found['pending of a kind']).toContain('SEARCH p USING INDEX allm_by_kind (kind=?')
      for (const plan of [found.pending, found['pending of a kind'], found['pending by prefix']]) {
        expect(plan).not.toMatch(/SCAN [st]\b|TEMP B-TREE/)
        expect(plan).toContain('SEARCH s USING INTEGER PRIMARY KEY')
      }
      expect(found.due).toContain('allm_by_due (due_at<?)')
      expect(found.claim).toContain('allm_by_due (due_at<?)')
      expect(found.prefix).toContain('(id>? AND id<?)')
      expect(found.status).toContain('allm_by_status (status=? AND id>? AND id<?)')
      expect(found.page).toContain('(id>?)')
      expect(found.prune).toContain('allm_by_prune (prune_at<?)')
      for (const [name, plan] of Object.entries(found)) {
        expect(plan, name).not.toMatch(/SCAN (?:s|e|c|allm_\w+)\b(?!.*USING INDEX)/)
      }
    })
  })
}

/** A prepared statement as functions. */
function bound(database: SqliteDatabase, sql: string) {
  const statement = database.prepare(sql)
  const all: typeof statement.all = (...params) => statement.all(...params)
  const run: typeof statement.run = (...params) => statement.run(...params)
  return { all, run }
}

/** Takes back what came to the tables after version 0.2. */
function toVersion02(database: SqliteDatabase): void {
  database.exec('drop index allm_by_due_from')
  database.exec('alter table allm_sessions drop column due_from')
  database.exec('drop index allm_by_slot')
  database.exec('alter table allm_commands drop column slot')
  database.exec('drop table allm_pending')
  database.exec('delete from allm_migrations where version > 1')
}
