import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createEngine, Session } from '../../../src/index.ts'
import { createRuns } from '../../../src/runs.ts'
import { fileStore, memoryStore, type RunStore } from '../../../src/stores.ts'
import { fake } from '../../../src/testing.ts'
import { createPlace as postgresPlace, reasonToSkip } from '../../durable/stores/postgres.ts'
import { clients, findRedis, newPrefix, removeKeys } from '../../durable/stores/redis.ts'
import { createPlace as sqlitePlace, drivers } from '../../durable/stores/sqlite.ts'
import { desk, detailOf, followedOf, forked, listed, logOf, sessionAtOf } from './support.ts'

/** A store that a test may fill, and the end of it. */
interface Opened {
  readonly store: RunStore
  readonly close: () => Promise<void> | void
}

const redis = await findRedis()
const sqlite = drivers.find(({ missing }) => !missing)

const stores: readonly (readonly [string, boolean, () => Opened | Promise<Opened>])[] = [
  ['memory', true, () => ({ store: memoryStore(), close: () => undefined })],
  [
    'files',
    true,
    () => {
      const folder = mkdtempSync(join(tmpdir(), 'allm-inspector-'))
      return { store: fileStore(folder), close: () => rmSync(folder, { recursive: true }) }
    },
  ],
  [
    `SQLite${sqlite === undefined ? ' (skipped: no driver)' : ''}`,
    sqlite !== undefined,
    () => {
      if (sqlite === undefined) throw new Error('there is no driver')
      const place = sqlitePlace(sqlite.open)
      return { store: place.connect(), close: () => place.remove() }
    },
  ],
  [
    `Postgres${reasonToSkip ?? ''}`,
    reasonToSkip === undefined,
    async () => {
      const place = await postgresPlace('pg')
      return { store: place.connect(), close: () => place.remove() }
    },
  ],
  [
    `Redis${'missing' in redis ? ` (skipped: ${redis.missing})` : ''}`,
    'url' in redis,
    async () => {
      const prefix = newPrefix()
      const open = await clients['ioredis']?.('url' in redis ? redis.url : '', prefix)
      if (open === undefined) throw new Error('there is no client')
      const close = async (): Promise<void> => {
        await removeKeys(open, prefix)
        await open.close()
      }
      return { store: open.store, close }
    },
  ],
]

for (const [name, isThere, open] of stores) {
  test.skipIf(!isThere)(
    `sessions in ${name} are listed, shown at any event, followed and forked, and nothing becomes due`,
    async () => {
      const { store, close } = await open()
      try {
        const scripts = [['one'], ['two']]
        const runs = createRuns({ engine: createEngine({ adapter: fake({ scripts }) }), store })
        for (const words of ['first', 'second']) {
          await runs.send('trip', words)
          await runs.wait('trip')
        }
        await store.save(Session.create({ id: 'plain', messages: 'without a log' }))
        const own = desk({ store, runsEngine: createEngine(), execute: false, systemTime: true })
        expect((await listed(own)).items.map(({ id }) => id).toSorted()).toEqual(['plain', 'trip'])
        expect((await listed(own, '?search=second')).items).toMatchObject([
          { id: 'trip', turns: 2, title: 'first', running: false },
        ])
        const { lastEventId, session, base } = await detailOf(own, 'trip')
        expect(base?.lastEventId).toBe(0)
        const { entries } = await followedOf(own, 'trip')
        expect(entries).toEqual((await logOf(own, 'trip')).entries)
        expect((await sessionAtOf(own, 'trip', lastEventId)).session).toEqual(session)
        const recorded = { changes: {}, engine: { type: 'recorded' } } as const
        const id = await forked(own, 'trip', { event: 2, ...recorded })
        const fork = await detailOf(own, id)
        expect(fork.session.thread.messages.map(({ content }) => content)).toEqual([
          'first',
          'one',
          'second',
          'two',
        ])
        await own.handle.close()
        // It is in the store, with its log, and nobody has anything to do.
        const later = desk({ store, runsEngine: createEngine(), execute: false, systemTime: true })
        const saved = await detailOf(later, id)
        expect(saved.session.thread).toEqual(fork.session.thread)
        expect(saved.lastEventId).toBe(fork.lastEventId)
        const { session: before } = await sessionAtOf(later, id, saved.lastEventId - 1)
        expect(before.thread.messages.at(-1)).toMatchObject({ content: 'two' })
        expect(await store.due({ limit: 10 })).toEqual([])
        await runs.close()
      } finally {
        await close()
      }
    },
  )
}
