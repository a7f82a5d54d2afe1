import { isAllmError } from '../errors/errors.ts'
import { allDifferent, sameJson } from '../schema/json-schema.ts'
import { sessionVersion, type Session } from '../types/session.ts'
import type { ConformanceCase, Declares, StoreCapability } from './cases.ts'
import { ConformanceFailure, demand } from './demands.ts'

/** Ids that are problematic in file systems or queries. */
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

/** The cases for every session store. */
export const sessionStoreCases: readonly StoreCase[] = [
  {
    name: 'a session that was never saved is not there',
    run: (harness) =>
      withStore(harness, async ({ store }) => {
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
      withStore(harness, async ({ store }) => {
        await store.save(waitingSession('s'))
        await demandStored(store, waitingSession('s'), 1)
      }),
  },
  {
    name: 'the last save is what is there',
    run: (harness) =>
      withStore(harness, async ({ store }) => {
        await store.save(sessionOf('s', 'a long first text that the second one is shorter than'))
        await store.save(sessionOf('s', 'second'))
        await demandStored(store, sessionOf('s', 'second'), 2)
      }),
  },
  {
    name: 'versions count the saves of each session',
    run: (harness) =>
      withStore(harness, async ({ store }) => {
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
      withStore(harness, async ({ store }) => {
        const first = await store.save(sessionOf('s', 'first'), { ifVersion: 0 })
        const second = await store.save(sessionOf('s', 'second'), { ifVersion: first })
        await demandStored(store, sessionOf('s', 'second'), second)
      }),
  },
  {
    name: 'a save from an older version is refused and changes nothing',
    run: (harness) =>
      withStore(harness, async ({ store }) => {
        await store.save(sessionOf('s', 'first'))
        await store.save(sessionOf('s', 'second'))
        await demandRefused(store.save(sessionOf('s', 'third'), { ifVersion: 1 }), 'stale')
        await demandStored(store, sessionOf('s', 'second'), 2)
      }),
  },
  {
    name: 'a first save over a session that is there is refused',
    run: (harness) =>
      withStore(harness, async ({ store }) => {
        await store.save(sessionOf('s', 'first'))
        await demandRefused(store.save(sessionOf('s', 'another'), { ifVersion: 0 }), 'stale')
      }),
  },
  {
    name: 'of several saves from the same version one is taken',
    run: (harness) =>
      withStore(harness, async ({ store }) => {
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
          hint: 'reading the version and writing the session must be one atomic step',
        })
      }),
  },
  {
    name: 'saves at the same time all count',
    run: (harness) =>
      withStore(harness, async ({ store }) => {
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
      withStore(harness, async ({ store }) => {
        for (const id of oddIds) await store.save(sessionOf(id, `the text of ${id}`))
        for (const id of oddIds) await demandStored(store, sessionOf(id, `the text of ${id}`), 1)
      }),
  },
  {
    name: 'what was saved cannot be changed from outside',
    run: (harness) =>
      withStore(harness, async ({ store }) => {
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
      withStore(harness, async (started) => {
        await started.store.save(waitingSession('s'))
        const store = await provided(started.reopen, 'reopen')()
        await demandStored(store, waitingSession('s'), 1)
      }),
  },
  {
    name: 'another store on the same place refuses a stale save',
    capability: 'durable',
    run: (harness) =>
      withStore(harness, async (started) => {
        await started.store.save(sessionOf('s', 'first'))
        const store = await provided(started.reopen, 'reopen')()
        await store.save(sessionOf('s', 'second'), { ifVersion: 1 })
        await demandRefused(started.store.save(sessionOf('s', 'third'), { ifVersion: 1 }), 'stale')
      }),
  },
  {
    name: 'a session that cannot be read is unreadable, not absent',
    capability: 'damage',
    run: (harness) =>
      withStore(harness, async ({ store, ...started }) => {
        await store.save(sessionOf('s'))
        await provided(started.damage, 'damage')('s')
        await demandRefused(store.load('s'), 'unreadable')
      }),
  },
  {
    name: 'a save that is interrupted leaves the old session or the new one',
    capability: 'interruption',
    run: (harness) =>
      withStore(harness, async ({ store, ...started }) => {
        await store.save(sessionOf('s', 'old'))
        await provided(started.interruptNextSave, 'interruptNextSave')()
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

/** The interface of `SessionStore`. */
interface TestedStore {
  load(id: string): Promise<{ readonly session: Session; readonly version: number } | undefined>
  save(session: Session, options?: { readonly ifVersion?: number | undefined }): Promise<number>
}

/** Starts an empty store. */
export interface StoreHarness extends Declares<StoreCapability> {
  start(): StartedStore | Promise<StartedStore>
}

/** A store, and the means to reopen, damage and interrupt it. */
export interface StartedStore {
  readonly store: TestedStore
  /** Opens another store at the same location, as another process would. */
  readonly reopen?: (() => TestedStore | Promise<TestedStore>) | undefined
  /** Makes the session with this id unreadable. */
  readonly damage?: ((id: string) => unknown) | undefined
  /** Makes the next save fail in the middle of its write. */
  readonly interruptNextSave?: (() => unknown) | undefined
  /** Closes everything that is still open. Called once, after the case. */
  readonly close?: (() => unknown) | undefined
}

/** A case for session stores. */
export type StoreCase = ConformanceCase<StoreHarness, StoreCapability>

/** Starts an empty store, runs `act`, and closes the store in any case. */
async function withStore(
  harness: StoreHarness,
  act: (started: StartedStore) => Promise<void>,
): Promise<void> {
  const started = await harness.start()
  try {
    await act(started)
  } finally {
    await started.close?.()
  }
}

/** Demands that a store returns a session, deep-equal, at a version. */
async function demandStored(store: TestedStore, session: Session, version: number): Promise<void> {
  const stored = await store.load(session.id)
  demand(sameJson(stored?.session, session) && stored?.version === version, {
    expected: `${JSON.stringify(session)} at version ${version}`,
    received: stored,
    contract: 'storeLoad',
  })
}

/** Demands that something rejects with a `SessionError` of a reason. */
async function demandRefused(
  work: Promise<unknown>,
  reason: 'stale' | 'unreadable',
): Promise<void> {
  const outcome = await work.then(
    (value) => ({ value }),
    (thrown: unknown) => ({ thrown }),
  )
  const thrown = 'thrown' in outcome ? outcome.thrown : undefined
  demand(isAllmError(thrown) && thrown.kind === 'session' && thrown.reason === reason, {
    expected: `a rejection with SessionError ${reason}`,
    received: 'thrown' in outcome ? thrown : outcome.value,
    contract: reason === 'stale' ? 'storeVersion' : 'storeLoad',
  })
}

/** A function that a harness must provide for a capability. */
function provided<T>(hook: T | undefined, name: string): T {
  if (hook !== undefined) return hook
  const expected = `the harness to return ${name} from start, as it declares`
  throw new ConformanceFailure({ expected, received: undefined, contract: 'harness' })
}

/** A session with a short conversation. */
function sessionOf(id: string, text = 'Hello'): Session {
  return {
    version: sessionVersion,
    id,
    status: 'idle',
    thread: { messages: [{ role: 'user', content: text }], metadata: { topic: 'parrots' } },
    pendingToolCalls: [],
    context: { tenant: 'acme' },
    metadata: { opened: 1 },
  }
}

/** A session that waits for tools in the middle of a run, with every field of its progress. */
function waitingSession(id: string): Session {
  const call = {
    id: 'call_1',
    name: 'weather',
    arguments: { city: 'Zürich' },
    rawArguments: '{"city":"Zürich"}',
  }
  return {
    ...sessionOf(id, 'ünï¢ödé 🦜 \u2028 "quoted"'),
    status: 'awaiting_tools',
    thread: {
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'How is the weather?' }] },
        {
          role: 'assistant',
          content: [
            {
              type: 'reasoning',
              text: 'Let me look.',
              opaque: { signature: 'c2ln' },
              provider: 'fake',
            },
          ],
          toolCalls: [call],
        },
      ],
      metadata: {},
    },
    pendingToolCalls: [call],
    run: {
      mode: 'manual',
      turns: 1,
      phase: 'tools',
      answer: {
        requestId: 'run-1',
        provider: 'fake',
        finishReason: 'tool_calls',
        usage: { inputTokens: 3 },
        metadata: {},
      },
      started: [],
      halts: [],
    },
  }
}
