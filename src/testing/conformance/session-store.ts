import { isAllmError } from '../../core/errors/errors.ts'
import { allDifferent, sameJson } from '../../core/schema/json-schema.ts'
import { sessionVersion, type Session } from '../../core/types/session.ts'
import type { SessionRow, SessionStore, StoredSession } from '../../durable/stores/session-store.ts'
import type { ConformanceCase, Declares, StoreCapability } from './cases.ts'
import { ConformanceFailure, demand } from './demands.ts'

/** Ids that are problematic in file systems or queries. */
export const oddIds: readonly string[] = [
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

/** 64 KB of text that is problematic in databases: quotes, emoji, NUL, halves of surrogate pairs, line separators. */
export const longText: string = '"double" \'single\' \\ 🦜 ünï \u0000 \ud800 \udfff \u2028\n'
  .repeat(1600)
  .slice(0, 65_536)

/** A text that is not a session. */
const half = '{"half'

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
    name: 'long ids are kept apart',
    run: (harness) =>
      withStore(harness, async ({ store }) => {
        const ids = ['ä', 'Z', 'z'].flatMap((char) => [char.repeat(300), `${char.repeat(300)}.`])
        for (const id of ids) await store.save(sessionOf(id, `the text of ${id}`))
        for (const id of ids) await demandStored(store, sessionOf(id, `the text of ${id}`), 1)
        demandIds(await store.list({ prefix: 'ä' }), ids.slice(0, 2))
      }),
  },
  {
    name: 'ids have up to 512 characters',
    run: (harness) =>
      withStore(harness, async ({ store }) => {
        const ids = ['z'.repeat(512), 'ä'.repeat(512), '🦜'.repeat(256)]
        for (const id of ids) await store.save(sessionOf(id))
        for (const id of ids) await demandStored(store, sessionOf(id), 1)
        demandIds(await store.list(), ids)
      }),
  },
  {
    name: 'an id that no store can hold is refused',
    run: (harness) =>
      withStore(harness, async ({ store }) => {
        for (const id of ['', 'a\u0000b', 'a\ud800', '\udc00a', 'x'.repeat(513)]) {
          await demandIdRefused(store.load(id))
          await demandIdRefused(store.save(sessionOf(id)))
          await demandIdRefused(store.delete(id))
        }
        demandIds(await store.list(), [])
      }),
  },
  {
    name: 'text of all kinds survives, in the conversation and in metadata',
    run: (harness) =>
      withStore(harness, async ({ store }) => {
        const name = longText.slice(0, 100)
        const metadata = { note: longText, [name]: [name, null, 1.5, { [name]: true }] }
        const session = { ...sessionOf('s', longText), metadata, context: metadata }
        await store.save(session)
        const stored = await store.load('s')
        demand(sameJson(stored?.session, session), {
          expected: 'every text as it was saved',
          received: stored,
          contract: 'storeText',
        })
      }),
  },
  {
    name: 'a session without a log has no events folded in',
    run: (harness) =>
      withStore(harness, async ({ store }) => {
        await store.save(sessionOf('s'))
        await store.save(sessionOf('s'))
        const stored = await store.load('s')
        demand(stored?.lastEventId === 0, {
          expected: 'lastEventId 0',
          received: stored?.lastEventId,
          contract: 'storeLoad',
        })
      }),
  },
  {
    name: 'the time of a save is told',
    run: (harness) =>
      withStore(harness, async ({ store }) => {
        await store.save(sessionOf('s'))
        const first = await store.load('s')
        await store.save(sessionOf('s'))
        const second = await store.load('s')
        const times = [first?.updatedAt, second?.updatedAt]
        const [before, after] = times
        demand(
          Number.isFinite(before) && Number.isFinite(after) && Number(before) <= Number(after),
          {
            expected: 'updatedAt of both saves, the second not before the first',
            received: times,
            contract: 'storeTime',
          },
        )
      }),
  },
  {
    name: 'a session that was deleted is not there, and starts again',
    run: (harness) =>
      withStore(harness, async ({ store }) => {
        await store.save(sessionOf('s', 'old'))
        await store.save(sessionOf('s', 'older'))
        await store.save(sessionOf('t'))
        await store.delete('s')
        const left = [await store.load('s'), await store.load('t')]
        demand(left[0] === undefined && left[1] !== undefined, {
          expected: 'the deleted session to be gone, and the other one to be there',
          received: left,
          contract: 'storeDelete',
        })
        await store.save(sessionOf('s', 'new'), { ifVersion: 0 })
        await demandStored(store, sessionOf('s', 'new'), 1)
      }),
  },
  {
    name: 'deleting a session that does not exist succeeds',
    run: (harness) =>
      withStore(harness, async ({ store }) => {
        const thrown: unknown = await store.delete('nobody').then(() => undefined, asThrown)
        demand(thrown === undefined, {
          expected: 'delete to resolve',
          received: thrown,
          contract: 'storeDelete',
        })
      }),
  },
  {
    name: 'a list has a row for each session, in the order of their ids',
    run: (harness) =>
      withStore(harness, async ({ store }) => {
        demandIds(await store.list(), [])
        for (const id of ['b', 'c', 'a']) await store.save(sessionOf(id))
        await store.save(waitingSession('c'))
        const rows = await store.list()
        const shown = rows.map(({ id, status, version }) => ({ id, status, version }))
        const wanted = [
          { id: 'a', status: 'idle', version: 1 },
          { id: 'b', status: 'idle', version: 1 },
          { id: 'c', status: 'awaiting_tools', version: 2 },
        ]
        const timed = rows.every(({ updatedAt }) => Number.isFinite(updatedAt))
        demand(sameJson(shown, wanted) && timed, {
          expected: `the rows ${JSON.stringify(wanted)}, each with updatedAt`,
          received: rows,
          contract: 'storeList',
        })
      }),
  },
  {
    name: 'a list is limited to a status',
    run: (harness) =>
      withStore(harness, async ({ store }) => {
        await store.save(sessionOf('a'))
        await store.save(waitingSession('b'))
        await store.save(waitingSession('c'))
        await store.save(sessionOf('c'))
        demandIds(await store.list({ status: 'awaiting_tools' }), ['b'])
        demandIds(await store.list({ status: 'idle', limit: 1 }), ['a'])
        demandIds(await store.list({ status: 'error' }), [])
      }),
  },
  {
    name: 'a list is ordered by code points',
    run: (harness) =>
      withStore(harness, async ({ store }) => {
        // By UTF-16 the parrot comes before the private character, and by language ä comes before z.
        const ids = ['A', 'Z', 'a', 'a!', 'aa', 'z', 'ä', '\ue000', '\uffee', '🦜', '🦜a']
        for (const id of ids.toReversed()) await store.save(sessionOf(id))
        demandIds(await store.list(), ids)
        demandIds(await store.list({ after: 'ä' }), ids.slice(7))
        demandIds(await store.list({ after: '\uffee', limit: 1 }), ['🦜'])
        demandIds(await store.list({ prefix: '🦜' }), ['🦜', '🦜a'])
        demandIds(await store.list({ prefix: 'a', after: 'a!' }), ['aa'])
      }),
  },
  {
    name: 'a list shows metadata, and is limited to some of it',
    run: (harness) =>
      withStore(harness, async ({ store }) => {
        const odd = longText.slice(0, 100)
        const own = { user: 'ann', tags: ['a', { b: null }], [odd]: odd }
        await store.save({ ...sessionOf('a'), metadata: own })
        await store.save({ ...sessionOf('b'), metadata: { user: 'bob', count: 1 } })
        await store.save({ ...waitingSession('c'), metadata: { user: 'ann', count: '1' } })
        const rows = await store.list()
        demand(sameJson(rows[0]?.metadata, own), {
          expected: `the metadata ${JSON.stringify(own)}`,
          received: rows[0],
          contract: 'storeList',
        })
        demandIds(await store.list({ metadata: { user: 'ann' } }), ['a', 'c'])
        demandIds(await store.list({ metadata: { user: 'ann' }, limit: 1, after: 'a' }), ['c'])
        demandIds(await store.list({ metadata: { user: 'ann' }, status: 'idle' }), ['a'])
        demandIds(await store.list({ metadata: { count: 1 } }), ['b'])
        demandIds(await store.list({ metadata: { tags: ['a', { b: null }], user: 'ann' } }), ['a'])
        demandIds(await store.list({ metadata: { [odd]: odd } }), ['a'])
        demandIds(await store.list({ metadata: { toString: null } }), [])
      }),
  },
  {
    name: 'a list is limited to the beginning of ids, taken literally',
    run: (harness) =>
      withStore(harness, async ({ store }) => {
        for (const id of ['ab-1', 'a_-1', 'a%-1', 'a*-1', 'A_-1', 'b']) {
          await store.save(sessionOf(id))
        }
        for (const prefix of ['a_', 'a%', 'a*']) {
          demandIds(await store.list({ prefix }), [`${prefix}-1`])
        }
      }),
  },
  {
    name: 'pages of a list neither skip nor repeat a session, also when others come and go',
    run: (harness) =>
      withStore(harness, async ({ store }) => {
        for (const id of ['a', 'b', 'c', 'd', 'e']) await store.save(sessionOf(id))
        demandIds(await store.list({ limit: 2 }), ['a', 'b'])
        await store.delete('b')
        await store.save(sessionOf('aa'))
        demandIds(await store.list({ limit: 2, after: 'b' }), ['c', 'd'])
        demandIds(await store.list({ limit: 2, after: 'd' }), ['e'])
        demandIds(await store.list({ limit: 2, after: 'e' }), [])
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
    name: 'of several stores that make a session at the same time, one succeeds',
    capability: 'durable',
    run: (harness) =>
      withStore(harness, async (started) => {
        const reopen = provided(started.reopen, 'reopen')
        const stores = [started.store, await reopen(), await reopen(), await reopen()]
        for (let round = 0; round < 5; round++) {
          const saves = stores.map((store, index) =>
            store.save(sessionOf(`s${round}`, `by ${index}`), { ifVersion: 0 }).then(
              () => `by ${index}`,
              (thrown: unknown) => (isAllmError(thrown) ? thrown.reason : thrown),
            ),
          )
          const outcomes = await Promise.all(saves)
          const winners = outcomes.filter((outcome) => outcome !== 'stale')
          demand(winners.length === 1, {
            expected: 'one save that is taken, and three that are stale',
            received: outcomes,
            contract: 'storeVersion',
          })
          await demandStored(started.store, sessionOf(`s${round}`, String(winners[0])), 1)
        }
      }),
  },
  {
    name: 'a session that cannot be read is unreadable, not absent',
    capability: 'damage',
    run: (harness) =>
      withStore(harness, async ({ store, ...started }) => {
        await store.save(sessionOf('s'))
        await provided(started.damage, 'damage')('s', half)
        await demandRefused(store.load('s'), 'unreadable')
      }),
  },
  {
    name: 'another session in the place of a session is unreadable',
    capability: 'damage',
    run: (harness) =>
      withStore(harness, async ({ store, ...started }) => {
        await store.save(sessionOf('s'))
        await provided(started.damage, 'damage')('s', JSON.stringify(sessionOf('t')))
        await demandRefused(store.load('s'), 'unreadable')
      }),
  },
  {
    name: 'a session that cannot be read is replaced by a save, and can be deleted',
    capability: 'damage',
    run: (harness) =>
      withStore(harness, async ({ store, ...started }) => {
        const damage = provided(started.damage, 'damage')
        await store.save(sessionOf('s'))
        await damage('s', half)
        const version = await store.save(sessionOf('s', 'mended'))
        await demandStored(store, sessionOf('s', 'mended'), version)
        await damage('s', half)
        await store.delete('s')
        const stored = await store.load('s')
        demand(stored === undefined, {
          expected: 'undefined',
          received: stored,
          contract: 'storeDelete',
        })
      }),
  },
  {
    name: 'a failure of the storage is typed, and the next save succeeds',
    capability: 'interruption',
    run: (harness) =>
      withStore(harness, async ({ store, ...started }) => {
        await store.save(sessionOf('s', 'old'))
        await provided(started.interruptNextSave, 'interruptNextSave')()
        const thrown: unknown = await store
          .save(sessionOf('s', 'new'), { ifVersion: 1 })
          .then(() => undefined, asThrown)
        const isTyped = isAllmError(thrown) && thrown.reason === 'unavailable'
        demand(thrown === undefined || (isTyped && thrown.cause !== undefined), {
          expected: 'a SessionError unavailable with its cause',
          received: thrown,
          contract: 'storeUnavailable',
        })
        const version = await store.save(sessionOf('s', 'next'))
        await demandStored(store, sessionOf('s', 'next'), version)
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
        const { session, version } = (loaded ?? {}) as Partial<StoredSession>
        const whole = wanted.some(
          (text) => sameJson(session, sessionOf('s', text)) && version === (text === 'old' ? 1 : 2),
        )
        demand(whole, {
          expected: `the session with ${wanted.join(' or ')}, whole`,
          received: loaded,
          contract: 'storeAtomic',
        })
      }),
  },
]

/** Starts an empty store. */
export interface StoreHarness extends Declares<StoreCapability> {
  start(): StartedStore | Promise<StartedStore>
}

/** A store, and the means to reopen, damage and interrupt it. */
export interface StartedStore {
  readonly store: SessionStore
  /** Opens another store at the same location, as another process would. */
  readonly reopen?: (() => SessionStore | Promise<SessionStore>) | undefined
  /**
   * Makes the session with this id unreadable: what is stored in its place is `text`, half a JSON or another session. A harness that cannot
   * store it damages the session in another way.
   */
  readonly damage?: ((id: string, text: string) => unknown) | undefined
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
async function demandStored(store: SessionStore, session: Session, version: number): Promise<void> {
  const stored = await store.load(session.id)
  demand(sameJson(stored?.session, session) && stored?.version === version, {
    expected: `${JSON.stringify(session)} at version ${version}`,
    received: stored,
    contract: 'storeLoad',
  })
}

/** Demands the rows of these sessions, in this order. */
function demandIds(rows: readonly SessionRow[], ids: readonly string[]): void {
  const shown = rows.map(({ id }) => id)
  demand(sameJson(shown, ids), {
    expected: `the rows of ${ids.length === 0 ? 'no session' : ids.join(', ')}`,
    received: shown,
    contract: 'storeList',
  })
}

function asThrown(thrown: unknown): unknown {
  return thrown ?? new Error(`rejected with ${String(thrown)}`)
}

/** Demands that something rejects with a `SessionError` of a reason. */
export async function demandRefused(
  work: Promise<unknown>,
  reason: keyof typeof promiseOf,
): Promise<void> {
  const outcome = await work.then(
    (value) => ({ value }),
    (thrown: unknown) => ({ thrown }),
  )
  const thrown = 'thrown' in outcome ? outcome.thrown : undefined
  demand(isAllmError(thrown) && thrown.kind === 'session' && thrown.reason === reason, {
    expected: `a rejection with SessionError ${reason}`,
    received: 'thrown' in outcome ? thrown : outcome.value,
    contract: promiseOf[reason],
  })
}

/** The promise behind each reason of a refusal. */
const promiseOf = {
  stale: 'storeVersion',
  unreadable: 'storeLoad',
  busy: 'runFence',
  lease_lost: 'runFence',
  key_reused: 'runKey',
} as const

/** Demands that something rejects with a `ValidationError` for its id. */
async function demandIdRefused(work: Promise<unknown>): Promise<void> {
  const outcome: unknown = await work.catch(asThrown)
  demand(isAllmError(outcome) && outcome.kind === 'validation', {
    expected: 'a rejection with a ValidationError',
    received: outcome,
    contract: 'storeIds',
  })
}

/** A function that a harness must provide for a capability. */
export function provided<T>(hook: T | undefined, name: string): T {
  if (hook !== undefined) return hook
  const expected = `the harness to return ${name} from start, as it declares`
  throw new ConformanceFailure({ expected, received: undefined, contract: 'harness' })
}

/** A session with a short conversation. */
export function sessionOf(id: string, text = 'Hello'): Session {
  return {
    version: sessionVersion,
    id,
    status: 'idle',
    thread: { messages: [{ role: 'user', content: text }], metadata: { topic: 'parrots' } },
    pendingToolCalls: [],
    pendingApprovals: [],
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
    calls: { call_1: { state: 'awaiting_result', told: 'no' } },
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
    },
  }
}
