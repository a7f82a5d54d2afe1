import { demand } from './conformance-failure.ts'
import { sessionOf, waitingSession } from './store/sample-sessions.ts'
import type { StoreCase } from './store/store-harness.ts'
import { demandRefused, demandStored, keeping, offered } from './store/store-scene.ts'
import { isAllmError } from '../errors/errors.ts'
import { allDifferent, sameJson } from '../schema/json-schema.ts'

/** Ids that something might take amiss: a file system, a query, a person. */
const oddIds = [
  'a',
  'A',
  'a/b',
  '../a',
  'a b',
  'a%2Fb',
  "a'; --",
  'ä',
  '🦜',
  '.',
  '..',
  'con',
  'a\\b',
  '*',
]

/** What every session store has to do. */
export const sessionStoreCases: readonly StoreCase[] = [
  {
    name: 'a session that was never saved is not there',
    run: (harness) =>
      keeping(harness, async ({ store }) => {
        const stored = await store.load('nobody')
        demand(stored === undefined, {
          expected: 'undefined',
          received: stored,
          contract: 'storeLoad',
        })
      }),
  },
  {
    name: 'a session comes back deep-equal',
    run: (harness) =>
      keeping(harness, async ({ store }) => {
        await store.save(waitingSession('s'))
        await demandStored(store, waitingSession('s'), 1)
      }),
  },
  {
    name: 'the last save is what is there',
    run: (harness) =>
      keeping(harness, async ({ store }) => {
        await store.save(sessionOf('s', 'a long first text that the second one is shorter than'))
        await store.save(sessionOf('s', 'second'))
        await demandStored(store, sessionOf('s', 'second'), 2)
      }),
  },
  {
    name: 'versions count the saves of each session',
    run: (harness) =>
      keeping(harness, async ({ store }) => {
        const versions = [
          await store.save(sessionOf('s')),
          await store.save(sessionOf('t')),
          await store.save(sessionOf('s')),
        ]
        demand(sameJson(versions, [1, 1, 2]), {
          expected: '1 for a first save and 2 for a second, each session by itself',
          received: versions,
          contract: 'storeVersion',
        })
      }),
  },
  {
    name: 'a save from the version that is there is taken',
    run: (harness) =>
      keeping(harness, async ({ store }) => {
        const first = await store.save(sessionOf('s', 'first'), { ifVersion: 0 })
        const second = await store.save(sessionOf('s', 'second'), { ifVersion: first })
        await demandStored(store, sessionOf('s', 'second'), second)
      }),
  },
  {
    name: 'a save from an older version is refused and changes nothing',
    run: (harness) =>
      keeping(harness, async ({ store }) => {
        await store.save(sessionOf('s', 'first'))
        await store.save(sessionOf('s', 'second'))
        await demandRefused(store.save(sessionOf('s', 'third'), { ifVersion: 1 }), 'stale')
        await demandStored(store, sessionOf('s', 'second'), 2)
      }),
  },
  {
    name: 'a first save over a session that is there is refused',
    run: (harness) =>
      keeping(harness, async ({ store }) => {
        await store.save(sessionOf('s', 'first'))
        await demandRefused(store.save(sessionOf('s', 'another'), { ifVersion: 0 }), 'stale')
      }),
  },
  {
    name: 'of several saves from the same version one is taken',
    run: (harness) =>
      keeping(harness, async ({ store }) => {
        const version = await store.save(sessionOf('s'))
        const saves = ['a', 'b', 'c', 'd'].map((text) =>
          store.save(sessionOf('s', text), { ifVersion: version }).then(
            () => 'taken',
            (thrown: unknown) => (isAllmError(thrown) ? thrown.reason : thrown),
          ),
        )
        const outcomes = await Promise.all(saves)
        const taken = outcomes.filter((outcome) => outcome === 'taken').length
        const stale = outcomes.filter((outcome) => outcome === 'stale').length
        demand(taken === 1 && stale === 3, {
          expected: 'one save that is taken, and three that are stale',
          received: outcomes,
          contract: 'storeVersion',
          hint: 'looking at the version and writing the session has to be one step that nothing comes between',
        })
      }),
  },
  {
    name: 'saves at the same time all count',
    run: (harness) =>
      keeping(harness, async ({ store }) => {
        const saves = ['a', 'b', 'c', 'd'].map((text) => store.save(sessionOf('s', text)))
        const versions = await Promise.all(saves)
        demand(allDifferent(versions) && Math.max(...versions) === 4, {
          expected: 'the versions 1 to 4, in any order',
          received: versions,
          contract: 'storeVersion',
        })
      }),
  },
  {
    name: 'sessions are kept apart, whatever their ids',
    run: (harness) =>
      keeping(harness, async ({ store }) => {
        for (const id of oddIds) await store.save(sessionOf(id, `the text of ${id}`))
        for (const id of oddIds) await demandStored(store, sessionOf(id, `the text of ${id}`), 1)
      }),
  },
  {
    name: 'what was saved can not be changed from outside',
    run: (harness) =>
      keeping(harness, async ({ store }) => {
        const session = structuredClone(sessionOf('s'))
        await store.save(session)
        Object.assign(session.metadata, { changed: 'after the save' })
        const loaded = await store.load('s')
        Object.assign(loaded?.session.metadata ?? {}, { changed: 'after the load' })
        await demandStored(store, sessionOf('s'), 1)
      }),
  },
  {
    name: 'another store on the same place finds the session',
    capability: 'durable',
    run: (harness) =>
      keeping(harness, async (started) => {
        await started.store.save(waitingSession('s'))
        const store = await offered(started.reopen, 'reopen')()
        await demandStored(store, waitingSession('s'), 1)
      }),
  },
  {
    name: 'another store on the same place refuses a stale save',
    capability: 'durable',
    run: (harness) =>
      keeping(harness, async (started) => {
        await started.store.save(sessionOf('s', 'first'))
        const store = await offered(started.reopen, 'reopen')()
        await store.save(sessionOf('s', 'second'), { ifVersion: 1 })
        await demandRefused(started.store.save(sessionOf('s', 'third'), { ifVersion: 1 }), 'stale')
      }),
  },
  {
    name: 'a session that can not be read is unreadable, not absent',
    capability: 'damage',
    run: (harness) =>
      keeping(harness, async ({ store, ...started }) => {
        await store.save(sessionOf('s'))
        await offered(started.damage, 'damage')('s')
        await demandRefused(store.load('s'), 'unreadable')
      }),
  },
  {
    name: 'a save that is interrupted leaves the old session or the new one',
    capability: 'interruption',
    run: (harness) =>
      keeping(harness, async ({ store, ...started }) => {
        await store.save(sessionOf('s', 'old'))
        await offered(started.interruptNextSave, 'interruptNextSave')()
        const taken = await store.save(sessionOf('s', 'new')).then(
          () => true,
          () => false,
        )
        const loaded = await store.load('s').catch((thrown: unknown) => thrown)
        const wanted = taken ? ['new'] : ['old', 'new']
        const whole = wanted.some((text) =>
          sameJson(loaded, { session: sessionOf('s', text), version: text === 'old' ? 1 : 2 }),
        )
        demand(whole, {
          expected: `the session with ${wanted.join(' or ')}, whole`,
          received: loaded,
          contract: 'storeAtomic',
        })
      }),
  },
]
