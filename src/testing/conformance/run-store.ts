import { systemClock } from '../../core/base/clock.ts'
import { isAllmError } from '../../core/errors/errors.ts'
import { allDifferent, sameJson } from '../../core/schema/json-schema.ts'
import { pendingKinds } from '../../core/types/call.ts'
import type { ErrorData } from '../../core/types/error-data.ts'
import type { StreamEvent } from '../../core/types/events.ts'
import type { JsonObject } from '../../core/types/json.ts'
import type { ToolCall } from '../../core/types/message.ts'
import type {
  RunProgress,
  SavedCall,
  SavedCalls,
  Session,
  SessionCommand,
} from '../../core/types/session.ts'
import type {
  AcquiredLease,
  InboxEntry,
  LogEntry,
  PendingOptions,
  PendingRow,
  RunStore,
} from '../../durable/stores/run-store.ts'
import { isBefore, type Lease } from '../../durable/stores/session-store.ts'
import { pendingCalls, waitingStatus, withLists } from '../../engine/calls/pending.ts'
import { nextTurn } from '../fakes/virtual-clock.ts'
import type { ConformanceCase, Declares, RunStoreCapability } from './cases.ts'
import { ConformanceFailure, defaultPatienceMs, demand, type ContractName } from './demands.ts'
import { demandRefused, longText, oddIds, provided, sessionOf } from './session-store.ts'

/**
 * The cases for every run store: leases, the inbox, the log, what is due, signals and pruning. A run store passes
 * `sessionStoreCases` too.
 *
 * The cases never pass a time of their own. What has to expire gets a short time, and the store is asked until it says that the time
 * has passed, so a slow store or a busy machine makes no difference.
 */
export const runStoreCases: readonly RunStoreCase[] = [
  // ---- Leases

  caseOf('a lease is given, also before the session exists', async ({ store }) => {
    const lease = await taken(store, 's')
    const { token, expiresAt, wakeInMs } = lease
    demand(Number.isSafeInteger(token) && token > 0 && Number.isFinite(expiresAt), {
      expected: 'a lease with a token (a safe integer above 0) and expiresAt',
      received: lease,
      contract: 'runLease',
    })
    demand(wakeInMs === undefined, {
      expected: 'a lease without wakeInMs: the session did not wait',
      received: lease,
      contract: 'runSleep',
    })
  }),
  caseOf('a live lease keeps others out', async ({ store, handle }) => {
    await taken(store, 's', { owner: 'a' })
    const others = [
      await store.acquire('s', { owner: 'b', ttlMs: long }),
      await store.acquire('s', { owner: 'a', ttlMs: long }),
      await (await handle(1)).acquire('s', { owner: 'c', ttlMs: long }),
    ]
    demand(
      others.every((lease) => lease === undefined),
      {
        expected: 'undefined for everybody else, whatever their name',
        received: others,
        contract: 'runLease',
      },
    )
    await taken(store, 'another')
  }),
  caseOf('a lease that expired can be taken, with a larger token', async (stage) => {
    const { store, handle } = stage
    const first = await taken(store, 's', { ttlMs: short })
    const second = await takenOver(stage, await handle(1), 's')
    demandRising([first, second])
  }),
  caseOf('tokens rise with each lease of a session', async ({ store, handle }) => {
    const leases: Lease[] = []
    for (let round = 0; round < 5; round++) {
      const own = await handle(round)
      const lease = await taken(own, 's')
      leases.push(lease)
      await store.save(sessionOf('s', `round ${round}`), { lease })
      await own.release('s', lease)
    }
    demandRising(leases)
  }),
  caseOf('tokens rise also after the session was deleted', async ({ store }) => {
    const first = await taken(store, 's')
    await store.save(sessionOf('s'), { lease: first })
    await store.delete('s')
    const second = await taken(store, 's')
    demandRising([first, second])
    await demandRefused(store.save(sessionOf('s', 'old'), { lease: first }), 'lease_lost')
  }),
  caseOf('of several that ask at the same time one gets the lease', async ({ handles }) => {
    const stores = await handles(8)
    for (let round = 0; round < 5; round++) {
      const leases = await Promise.all(
        stores.map((own, index) => own.acquire(`s${round}`, { owner: `o${index}`, ttlMs: long })),
      )
      demand(leases.filter((lease) => lease !== undefined).length === 1, {
        expected: 'one lease, and undefined for the others',
        received: leases,
        contract: 'runLease',
        hint: 'looking at the lease and taking it must be one atomic step',
      })
    }
  }),
  caseOf('a lease that is renewed lasts', async (stage) => {
    const { store, handle, elapse } = stage
    const lease = await taken(store, 's', { ttlMs: short })
    const renewed = await store.renew('s', lease, long)
    demand(renewed, { expected: 'true', received: renewed, contract: 'runLease' })
    const dueAt = (await store.look('s'))?.dueAt ?? 0
    demand(dueAt > lease.expiresAt, {
      expected: `a lease that ends after ${lease.expiresAt}, when it ended before`,
      received: dueAt,
      contract: 'runLease',
    })
    await elapse(short)
    const other = await (await handle(1)).acquire('s', { owner: 'b', ttlMs: long })
    demand(other === undefined, {
      expected: 'undefined: the lease was renewed',
      received: other,
      contract: 'runLease',
    })
  }),
  caseOf('a lease that expired and that nobody took can still be used', async (stage) => {
    const { store } = stage
    const lease = await taken(store, 's', { ttlMs: short })
    await died(stage, 's')
    const version = await store.save(sessionOf('s'), { lease, events: [delta('a')] })
    const number = await store.append('s', [delta('b')], { lease })
    const renewed = await store.renew('s', lease, long)
    const owner = (await store.look('s'))?.owner
    demand(sameJson([version, number, renewed, owner], [1, 2, true, 'owner']), {
      expected: 'a save, an append and a renewal that succeed, and the owner to own it again',
      received: { version, number, renewed, owner },
      contract: 'runLease',
    })
  }),
  caseOf('an owner that lost its lease saves nothing', async (stage) => {
    const { store } = stage
    const lease = await lost(stage, 's')
    const work = (): Promise<unknown> =>
      store.save(sessionOf('s', 'too late'), {
        lease,
        events: [delta('late')],
        taken: 1,
        first: true,
      })
    await demandUnchanged(store, 's', () => demandRefused(work(), 'lease_lost'))
  }),
  caseOf('an owner that lost its lease appends nothing', async (stage) => {
    const { store } = stage
    const lease = await lost(stage, 's')
    await demandUnchanged(store, 's', () =>
      demandRefused(store.append('s', [delta('late')], { lease }), 'lease_lost'),
    )
  }),
  caseOf('an owner that lost its lease renews nothing', async (stage) => {
    const { store } = stage
    const lease = await lost(stage, 's')
    await demandUnchanged(store, 's', async () =>
      demandFalse(await store.renew('s', lease, 10 * long), 'renew'),
    )
  }),
  caseOf('an owner that lost its lease releases nothing', async (stage) => {
    const { store } = stage
    const lease = await lost(stage, 's')
    await demandUnchanged(store, 's', async () =>
      demandFalse(await store.release('s', lease, { wakeInMs: 0 }), 'release'),
    )
  }),
  caseOf('the lease of a session that was deleted is lost', async ({ store }) => {
    const lease = await taken(store, 's')
    await store.save(sessionOf('s'), { lease })
    await store.delete('s')
    await demandRefused(store.save(sessionOf('s', 'again'), { lease }), 'lease_lost')
    await demandRefused(store.append('s', [delta('late')], { lease }), 'lease_lost')
    demandFalse(await store.renew('s', lease, long), 'renew')
    demandFalse(await store.release('s', lease, { wakeInMs: 0 }), 'release')
    const left = [await store.load('s'), await store.look('s'), await store.due({ limit: 10 })]
    demand(sameJson(plain(left), [null, null, []]), {
      expected: 'no session, no state and nothing that is due',
      received: left,
      contract: 'runLease',
    })
  }),
  caseOf(
    'a lease that was given back is neither renewed nor given back again',
    async ({ store }) => {
      const lease = await taken(store, 's')
      await store.save(sessionOf('s'), { lease })
      await store.release('s', lease)
      await demandUnchanged(store, 's', async () => {
        demandFalse(await store.renew('s', lease, long), 'renew')
        demandFalse(await store.release('s', lease, { wakeInMs: 0 }), 'release')
      })
    },
  ),
  caseOf('a lease of an unknown session leaves nothing behind', async ({ store }) => {
    const lease = await taken(store, 's')
    await store.release('s', lease)
    const left = [await store.look('s'), await store.list()]
    demand(sameJson(plain(left), [null, []]), {
      expected: 'no state and no row of a session that was never saved and has no command',
      received: left,
      contract: 'runLease',
    })
  }),
  caseOf('a save without a lease is refused while somebody owns the session', async ({ store }) => {
    await store.save(sessionOf('s', 'first'))
    const lease = await taken(store, 's')
    await demandUnchanged(store, 's', () =>
      demandRefused(store.save(sessionOf('s', 'by the way')), 'busy'),
    )
    await store.release('s', lease)
    await store.save(sessionOf('s', 'second'))
  }),
  caseOf('what acquire and claim need is checked', async ({ store }) => {
    for (const options of [{ owner: '', ttlMs: 1 }, { owner: 'a', ttlMs: 0 }, {}]) {
      // Callers without types pass anything.
      const wrong = options as { owner: string; ttlMs: number }
      await demandInvalid(store.acquire('s', wrong))
      await demandInvalid(store.claim(wrong))
    }
  }),

  // ---- What a save does

  caseOf('a save stores the session, its events and what it took', async ({ store }) => {
    await store.push('s', send('one'))
    await store.push('s', send('two'))
    await store.push('s', send('three'))
    const lease = await taken(store, 's')
    const events = [delta('a'), delta('b')]
    const version = await store.save(sessionOf('s', 'saved'), {
      lease,
      events,
      taken: 2,
      ifVersion: 0,
    })
    const stored = await store.load('s')
    demand(
      version === 1 &&
        stored?.version === 1 &&
        stored.lastEventId === 2 &&
        sameJson(stored.session, sessionOf('s', 'saved')),
      {
        expected: 'the session at version 1, with the events up to number 2 folded in',
        received: stored,
        contract: 'runSave',
      },
    )
    demandTexts(await store.readInbox('s'), ['three'])
    demandLog(await store.readEvents('s', { commands: true }), [
      'command 1 one',
      'command 2 two',
      'event 1 a',
      'event 2 b',
    ])
  }),
  caseOf('a stale save changes nothing', async ({ store }) => {
    await store.push('s', send('one'))
    const lease = await taken(store, 's')
    await store.save(sessionOf('s', 'first'), { lease, events: [delta('a')] })
    await demandUnchanged(store, 's', () =>
      demandRefused(
        store.save(sessionOf('s', 'second'), {
          lease,
          ifVersion: 0,
          events: [delta('b')],
          taken: 1,
          first: true,
        }),
        'stale',
      ),
    )
  }),
  caseOf('a save at rest needs no lease, and logs its events', async ({ store }) => {
    await store.save(sessionOf('s', 'first'), { events: [delta('a')], first: true })
    await store.save(sessionOf('s', 'second'), { ifVersion: 1, events: [delta('b')] })
    demandLog(await store.readEvents('s', {}), ['event 1 a', 'event 2 b'])
    const state = await store.look('s')
    demand(state?.version === 2 && !state.running, {
      expected: 'version 2, and a session that does not run',
      received: state,
      contract: 'runSave',
    })
  }),
  caseOf('events that are appended are not folded until the next save', async ({ store }) => {
    const lease = await taken(store, 's')
    await store.save(sessionOf('s'), { lease, events: [delta('a')] })
    const number = await store.append('s', [delta('b'), delta('c')], { lease })
    const [before, state] = [await store.load('s'), await store.look('s')]
    await store.save(sessionOf('s'), { lease })
    const after = await store.load('s')
    const numbers = [number, before?.lastEventId, state?.lastEventId, after?.lastEventId]
    demand(sameJson(numbers, [3, 1, 3, 3]) && before?.version === 1, {
      expected: 'append to return 3, load to say 1, look 3, and load 3 after the save',
      received: numbers,
      contract: 'runSave',
    })
  }),
  caseOf('a reader sees all of a save or nothing of it', async (stage) => {
    const { store } = stage
    const lease = await taken(store, 's')
    const reader = await stage.handle(1)
    const last = 25
    const write = async (): Promise<void> => {
      for (let n = 1; n <= last; n++) {
        await store.save(counterOf('s', n), { lease, events: [delta(String(n))] })
      }
    }
    const read = async (): Promise<void> => {
      const again = stage.patience({ expected: `version ${last}`, contract: 'runSave' })
      for (let version = 0; version < last; await again()) {
        const stored = await reader.load('s')
        if (stored === undefined) continue
        version = stored.version
        const seen = [version, stored.lastEventId, countOf(stored.session)]
        demand(allEqual(seen), {
          expected: 'the version, the last event and the session of the same save',
          received: seen,
          contract: 'runSave',
        })
      }
    }
    await Promise.all([write(), read()])
  }),
  caseOf(
    'a save that is interrupted leaves all of it or nothing',
    async ({ store, ...started }) => {
      await store.push('s', send('one'))
      const lease = await taken(store, 's')
      await store.save(sessionOf('s', 'old'), { lease, events: [delta('a')] })
      await provided(started.interruptNextSave, 'interruptNextSave')()
      const outcome = await store
        .save(sessionOf('s', 'new'), { lease, events: [delta('b')], taken: 1 })
        .then(
          () => 'saved',
          () => 'failed',
        )
      const stored = await store.load('s')
      const log = shown(await store.readEvents('s', { commands: true }))
      const inbox = texts(await store.readInbox('s'))
      const seen = plain({ session: stored?.session, version: stored?.version, log, inbox })
      const before = {
        session: sessionOf('s', 'old'),
        version: 1,
        log: ['event 1 a'],
        inbox: ['one'],
      }
      const entries = ['event 1 a', 'command 1 one', 'event 2 b']
      const after = { session: sessionOf('s', 'new'), version: 2, log: entries, inbox: [] }
      demand(sameJson(seen, after) || (outcome === 'failed' && sameJson(seen, before)), {
        expected: 'the state before the save or the state after it, whole',
        received: { outcome, seen },
        contract: 'runSave',
      })
    },
    'interruption',
  ),

  // ---- The log

  caseOf('events are numbered 1, 2, 3 over appends, saves and owners', async (stage) => {
    const { store, handle } = stage
    const first = await taken(store, 's', { ttlMs: short })
    const numbers = [
      await store.append('s', [delta('1'), delta('2')], { lease: first }),
      await store.save(sessionOf('s'), { lease: first, events: [delta('3')] }),
      await store.append('s', [], { lease: first }),
    ]
    const other = await handle(1)
    const second = await takenOver(stage, other, 's')
    numbers.push(await other.append('s', [delta('4')], { lease: second }))
    await other.save(sessionOf('s'), { lease: second, events: [delta('5'), delta('6')] })
    numbers.push(await other.append('s', [delta('7')], { lease: second }))
    demand(sameJson(numbers, [2, 1, 3, 4, 7]), {
      expected: 'append to return 2, 3, 4 and 7, and the save version 1',
      received: numbers,
      contract: 'runLog',
    })
    const entries = await store.readEvents('s', {})
    demandLog(
      entries,
      Array.from({ length: 7 }, (_, index) => `event ${index + 1} ${index + 1}`),
    )
  }),
  caseOf('appends at the same time have a number each, and stay together', async ({ handles }) => {
    const stores = await handles(8)
    const [store] = stores
    const lease = await taken(store, 's')
    const numbers = await Promise.all(
      stores.map((own, index) =>
        own.append('s', [delta(`${index} a`), delta(`${index} b`), delta(`${index} c`)], { lease }),
      ),
    )
    const entries = shown(await store.readEvents('s', {}))
    const wanted = numbers
      .map((last, index) => ({ last, index }))
      .toSorted((left, right) => left.last - right.last)
      .flatMap(({ last, index }) =>
        ['a', 'b', 'c'].map((name, at) => `event ${last - 2 + at} ${index} ${name}`),
      )
    demand(sameJson(entries, wanted) && allDifferent(numbers) && entries.length === 24, {
      expected: '24 events with the numbers that append returned, those of each append in a row',
      received: { numbers, entries },
      contract: 'runLog',
    })
  }),
  caseOf('an append after a number that is not the last is refused', async ({ store }) => {
    const lease = await taken(store, 's')
    await store.append('s', [delta('a'), delta('b')], { lease, after: 0 })
    for (const after of [0, 1, 3]) {
      await demandUnchanged(store, 's', () =>
        demandRefused(store.append('s', [delta('x')], { lease, after }), 'stale'),
      )
    }
    const number = await store.append('s', [delta('c')], { lease, after: 2 })
    demand(number === 3, { expected: 'event 3', received: number, contract: 'runLog' })
  }),
  caseOf('of several appends after the same number one is taken', async ({ handles }) => {
    const stores = await handles(6)
    const [store] = stores
    const lease = await taken(store, 's')
    const outcomes = await Promise.all(
      stores.map((own, index) =>
        own.append('s', [delta(String(index))], { lease, after: 0 }).catch((thrown: unknown) => {
          if (isAllmError(thrown) && thrown.reason === 'stale') return 'stale'
          throw thrown
        }),
      ),
    )
    const count = (await store.readEvents('s', {})).length
    const wins = outcomes.filter((outcome) => outcome === 1).length
    demand(wins === 1 && count === 1 && outcomes.every((one) => one === 1 || one === 'stale'), {
      expected: 'one append that is taken, and five that are stale',
      received: outcomes,
      contract: 'runLog',
    })
  }),
  caseOf('the log has the time of each entry', async ({ store }) => {
    await store.push('s', send('one'))
    const [waiting] = await store.readInbox('s')
    const lease = await taken(store, 's')
    await store.save(sessionOf('s'), { lease, events: [delta('a')], taken: 1 })
    await store.append('s', [delta('b')], { lease })
    const times = (await store.readEvents('s', { commands: true })).map(({ at }) => at)
    const all = [waiting?.at ?? Number.NaN, ...times]
    const inOrder = all.every((at, index) => at >= (all[index - 1] ?? 0))
    demand(all.length === 4 && all.every((at) => Number.isFinite(at)) && inOrder, {
      expected: 'a finite `at` for each entry, none before the one of the entry before',
      received: all,
      contract: 'runLog',
    })
  }),
  caseOf('reading goes on after a number, up to a limit', async ({ store }) => {
    const lease = await taken(store, 's')
    await store.append('s', ['1', '2', '3', '4', '5'].map(delta), { lease })
    const read = async (options: { after?: number; limit?: number }): Promise<string> =>
      (await store.readEvents('s', options)).map(({ id }) => id).join()
    const seen = [
      await read({}),
      await read({ after: 0, limit: 2 }),
      await read({ after: 2, limit: 2 }),
      await read({ after: 4, limit: 2 }),
      await read({ after: 5 }),
      await read({ after: 99 }),
    ]
    demand(sameJson(seen, ['1,2,3,4,5', '1,2', '3,4', '5', '', '']), {
      expected: 'the numbers 1,2,3,4,5; 1,2; 3,4; 5; none; none',
      received: seen,
      contract: 'runLog',
    })
    const unknown = await store.readEvents('nobody', { commands: true })
    demand(sameJson(unknown, []), {
      expected: 'no entries of an unknown session',
      received: unknown,
      contract: 'runLog',
    })
  }),
  caseOf('a reader never skips or repeats an event while others write', async (stage) => {
    const { store, handle } = stage
    const lease = await taken(store, 's')
    const reader = await handle(1)
    const count = 60
    const write = async (): Promise<void> => {
      for (let n = 1; n <= count; n += 3) {
        const [a, b, c] = [n, n + 1, n + 2].map((number) => delta(String(number)))
        if (a && b && c) {
          await Promise.all([
            store.append('s', [a, b], { lease }),
            store.save(sessionOf('s'), { lease, events: [c] }),
          ])
        }
      }
    }
    const ids: number[] = []
    const read = async (): Promise<void> => {
      const ask = stage.patience({ expected: `${count} events`, contract: 'runLog' })
      while (ids.length < count) {
        const page = await reader.readEvents('s', { after: ids.at(-1) ?? 0, limit: 4 })
        ids.push(...page.map(({ id }) => id))
        demand(
          ids.every((id, index) => id === index + 1),
          { expected: 'the numbers 1, 2, 3 …', received: ids, contract: 'runLog' },
        )
        await ask()
      }
    }
    await Promise.all([write(), read()])
  }),
  caseOf('commands stand in the log where they were applied', async ({ store }) => {
    await loggedCommands(store, 's')
    demandLog(await store.readEvents('s', { commands: true }), loggedEntries)
    demandLog(await store.readEvents('s', { commands: true, afterCommand: 2, after: 3 }), [
      'command 3 three',
      'event 4 d',
      'command 4 four',
    ])
    demandLog(await store.readEvents('s', { commands: true, after: 3 }), loggedEntries.slice(4))
    demandLog(await store.readEvents('s', { commands: true, after: 4 }), ['command 4 four'])
    const events = ['event 1 a', 'event 2 b', 'event 3 c', 'event 4 d']
    demandLog(await store.readEvents('s', {}), events)
    const state = await store.look('s')
    demand(state?.lastCommandId === 4 && state.lastEventId === 4, {
      expected: 'lastCommandId 4 and lastEventId 4',
      received: state,
      contract: 'runLook',
    })
  }),
  caseOf('pages with commands neither skip nor repeat an entry', async ({ store }) => {
    await loggedCommands(store, 's')
    for (const limit of [1, 2, 3, 5, 20]) {
      const all: LogEntry[] = []
      for (let page = 0; page < 20; page++) {
        const after = all.findLast((entry) => 'event' in entry)?.id
        const afterCommand = all.findLast((entry) => 'command' in entry)?.id
        const entries = await store.readEvents('s', { after, afterCommand, limit, commands: true })
        demand(entries.length <= limit, {
          expected: `at most ${limit} entries`,
          received: entries,
          contract: 'runLog',
        })
        all.push(...entries)
      }
      demandLog(all, loggedEntries)
    }
  }),
  caseOf('a command that was refused is logged with the reason', async ({ store }) => {
    await store.push('s', send('one'))
    await store.push('s', send('two'))
    const lease = await taken(store, 's')
    const refused: ErrorData = { kind: 'session', reason: 'wrong_status', message: 'it is over' }
    await store.save(sessionOf('s'), { lease, taken: 1, refused })
    await store.save(sessionOf('s'), { lease, taken: 1 })
    const entries = await store.readEvents('s', { commands: true })
    const reasons = entries.map((entry) => ('command' in entry ? (entry.refused ?? null) : entry))
    demand(sameJson(reasons, [refused, null]), {
      expected: `the first command with refused ${JSON.stringify(refused)}, the second without`,
      received: entries,
      contract: 'runLog',
    })
  }),
  caseOf('the first session of each run is kept with the log', async ({ store }) => {
    const lease = await taken(store, 's')
    await store.save(sessionOf('s', 'run 1'), { lease, first: true })
    await store.save(sessionOf('s', 'later'), { lease, events: ['1', '2', '3'].map(delta) })
    await store.save(sessionOf('s', 'run 2'), { lease, events: [delta('4')], first: true })
    await store.append('s', [delta('5')], { lease })
    const seen = []
    for (const at of [0, 3, 4, 5, 99]) {
      const found = await store.readSnapshot('s', at)
      seen.push([at, found?.lastEventId, found && textOf(found.session)])
    }
    const wanted = [
      [0, 0, 'run 1'],
      [3, 0, 'run 1'],
      [4, 4, 'run 2'],
      [5, 4, 'run 2'],
      [99, 4, 'run 2'],
    ]
    demand(sameJson(plain(seen), wanted), {
      expected: `snapshots as in ${JSON.stringify(wanted)}`,
      received: seen,
      contract: 'runSnapshot',
    })
  }),
  caseOf('a session whose runs are not marked has no snapshot', async ({ store }) => {
    const lease = await taken(store, 's')
    await store.save(sessionOf('s'), { lease, events: [delta('1')] })
    await store.save(sessionOf('t'), { events: [delta('1')], first: true })
    const found = [
      await store.readSnapshot('s', 9),
      await store.readSnapshot('t', 0),
      await store.readSnapshot('nobody', 0),
    ]
    demand(
      found.every((snapshot) => snapshot === undefined),
      {
        expected:
          'undefined without `first`, before the first snapshot, and for an unknown session',
        received: found,
        contract: 'runSnapshot',
      },
    )
  }),

  // ---- The inbox

  caseOf('commands wait in the order in which they came', async ({ store, handle }) => {
    const other = await handle(1)
    const commands: readonly SessionCommand[] = [
      send('one'),
      { type: 'approve', toolCallId: 'c', arguments: { amount: 1 } },
      { type: 'submitToolResult', toolCallId: 'c', content: [1, null, { a: 'b' }], isError: false },
      { type: 'resume' },
      { type: 'deny', toolCallId: 'd', reason: 'no' },
    ]
    for (const [index, command] of commands.entries()) {
      const pushed = await (index % 2 === 0 ? store : other).push('s', command)
      demand(pushed === true, { expected: 'true', received: pushed, contract: 'runInbox' })
    }
    const entries = await store.readInbox('s')
    const inOrder = sameJson(
      entries.map(({ command }) => command),
      commands,
    )
    demand(inOrder && entries.every(({ at }) => Number.isFinite(at)), {
      expected: `${JSON.stringify(commands)}, each with its time`,
      received: entries,
      contract: 'runInbox',
    })
    demandTexts(await store.readInbox('nobody'), [])
  }),
  caseOf('the commands that came first are taken first', async ({ store }) => {
    for (const text of ['one', 'two', 'three']) await store.push('s', send(text))
    const lease = await taken(store, 's')
    await store.save(sessionOf('s'), { lease, taken: 2 })
    await store.push('s', send('four'))
    demandTexts(await store.readInbox('s'), ['three', 'four'])
    await store.save(sessionOf('s'), { lease })
    demandTexts(await store.readInbox('s'), ['three', 'four'])
    const state = await store.look('s')
    demand(state?.queued === 2 && state.lastCommandId === 2, {
      expected: 'two commands queued, and two taken',
      received: state,
      contract: 'runInbox',
    })
  }),
  caseOf('a command that comes during a save is not lost', async ({ store, handle }) => {
    const other = await handle(1)
    const lease = await taken(store, 's')
    await store.push('s', send('0'))
    for (let round = 1; round <= 20; round++) {
      const push = (): Promise<unknown> => other.push('s', send(String(round)))
      const save = (): Promise<unknown> => store.save(sessionOf('s'), { lease, taken: 1 })
      await Promise.all(round % 2 === 0 ? [push(), save()] : [save(), push()])
    }
    const log = shown(await store.readEvents('s', { commands: true }))
    const wanted = Array.from({ length: 20 }, (_, index) => `command ${index + 1} ${index}`)
    demand(sameJson(log, wanted), {
      expected: 'each command in the log once, in order',
      received: log,
      contract: 'runInbox',
    })
    demandTexts(await store.readInbox('s'), ['20'])
  }),
  caseOf('a command with a key that came before is ignored', async ({ store }) => {
    const first = await store.push('s', send('one'), { key: 'k' })
    await demandUnchanged(store, 's', async () => {
      demandFalse(await store.push('s', send('one'), { key: 'k' }), 'push', 'runKey')
    })
    const others = [
      await store.push('s', send('three'), { key: 'other' }),
      await store.push('t', send('one'), { key: 'k' }),
      await store.push('s', send('four')),
    ]
    const lease = await taken(store, 's')
    await store.save(sessionOf('s'), { lease, taken: 3 })
    demandFalse(await store.push('s', send('one'), { key: 'k' }), 'push', 'runKey')
    demand(first === true && others.every((pushed) => pushed === true), {
      expected: 'true for a new key, for the key of another session, and without a key',
      received: [first, ...others],
      contract: 'runKey',
    })
    demandTexts(await store.readInbox('s'), [])
  }),
  caseOf('of several commands with one key at the same time one is taken', async ({ handles }) => {
    const stores = await handles(8)
    for (let round = 0; round < 5; round++) {
      const pushed = await Promise.all(
        stores.map((own) => own.push(`s${round}`, send('one'), { key: 'k' })),
      )
      const queued = (await stores[0].readInbox(`s${round}`)).length
      demand(pushed.filter(Boolean).length === 1 && queued === 1, {
        expected: 'one push that returns true, and one command',
        received: { pushed, queued },
        contract: 'runKey',
        hint: 'looking for the key and adding the command must be one atomic step',
      })
    }
  }),
  caseOf('a key that came before with another command is refused', async ({ store, handle }) => {
    await store.push('s', send('one'), { key: 'words' })
    await store.push('s', approve({ a: 1, b: { c: 2, d: 3 } }), { key: 'call' })
    const reused: readonly (readonly [string, SessionCommand])[] = [
      ['words', send('two')],
      ['words', { type: 'send', content: 'one', toolCallId: 'c' }],
      ['words', { type: 'resume' }],
      ['call', approve({ a: 1, b: { c: 2, d: 4 } })],
      ['call', { type: 'approve', toolCallId: 'c' }],
      ['call', { type: 'deny', toolCallId: 'c' }],
    ]
    const other = await handle(1)
    const refuseAll = (): Promise<void> =>
      demandUnchanged(store, 's', async () => {
        for (const [key, command] of reused) {
          await demandRefused(other.push('s', command, { key, ifIdle: true }), 'key_reused')
          await demandRefused(other.knowsKey('s', key, command), 'key_reused')
        }
      })
    await refuseAll()
    const lease = await taken(store, 's')
    await store.save(sessionOf('s'), { lease, taken: 2 })
    await refuseAll()
    // What a service adds, and the order of members, make no other command.
    const added = { context: { now: 1 }, metadata: { by: 'ada' }, at: 5 }
    const same: readonly (readonly [string, SessionCommand])[] = [
      ['words', { type: 'send', content: 'one', ...added }],
      ['call', approve({ b: { d: 3, c: 2 }, a: 1 })],
    ]
    for (const [key, command] of same) {
      demandFalse(await store.push('s', command, { key }), 'push', 'runKey')
      const known = await store.knowsKey('s', key, command)
      demand(known, { expected: 'true', received: known, contract: 'runKey' })
    }
  }),
  caseOf(
    'of several commands at the same time that have one key one is taken, and the others are refused',
    async ({ handles }) => {
      const stores = await handles(8)
      for (let round = 0; round < 5; round++) {
        const id = `s${round}`
        const pushed = await Promise.all(
          stores.map((own, index) =>
            own.push(id, send(String(index)), { key: 'k' }).catch((error: unknown) => {
              if (isAllmError(error)) return error.reason
              throw error
            }),
          ),
        )
        const queued = (await stores[0].readInbox(id)).length
        const refused = pushed.filter((outcome) => outcome === 'key_reused').length
        demand(refused === pushed.length - 1 && pushed.includes(true) && queued === 1, {
          expected: 'one push that returns true, one command, and key_reused for the others',
          received: { pushed, queued },
          contract: 'runKey',
        })
      }
    },
  ),
  caseOf('a key that came before is told to a busy session too', async ({ store }) => {
    await store.push('s', send('one'), { key: 'k', ifIdle: true })
    const again = store.push('s', send('one'), { key: 'k', ifIdle: true })
    demandFalse(await again, 'push', 'runKey')
  }),
  caseOf('a command that is refused as busy does not use its key', async ({ store }) => {
    const lease = await taken(store, 's')
    await demandRefused(store.push('s', send('one'), { key: 'k', ifIdle: true }), 'busy')
    await store.release('s', lease)
    const pushed = await store.push('s', send('one'), { key: 'k', ifIdle: true })
    demand(pushed === true, { expected: 'true', received: pushed, contract: 'runKey' })
  }),
  caseOf('a store tells whether it knows a key', async ({ store, handle }) => {
    await store.push('s', send('one'), { key: 'k' })
    const lease = await taken(store, 's')
    await store.save(sessionOf('s'), { lease, taken: 1 })
    await demandRefused(store.push('s', send('two'), { key: 'refused', ifIdle: true }), 'busy')
    const other = await handle(1)
    const known = [
      await other.knowsKey('s', 'k'),
      await other.knowsKey('s', 'K'),
      await other.knowsKey('s', 'refused'),
      await other.knowsKey('t', 'k'),
    ]
    demand(sameJson(known, [true, false, false, false]), {
      expected: 'true for the key of a command, also after it was taken; else false',
      received: known,
      contract: 'runKey',
    })
  }),
  caseOf('keys are told apart, whatever their characters', async ({ store }) => {
    const keys = [
      'a',
      'A',
      'ä',
      '🦜',
      'a\u0000b',
      'a\u0000c',
      '\ud800',
      '\udfff',
      "a'; --",
      '"',
      '\\',
      '__proto__',
      'x'.repeat(300),
      'x'.repeat(301),
    ]
    for (const key of keys) await store.push('s', send(key), { key })
    const again = []
    for (const key of keys) again.push(await store.push('s', send(key), { key }))
    const queued = (await store.readInbox('s')).length
    demand(queued === keys.length && !again.includes(true), {
      expected: `${keys.length} commands, and false for each that came again`,
      received: { queued, again },
      contract: 'runKey',
    })
  }),
  caseOf('a command with ifIdle is refused while the session runs', async (stage) => {
    const { store } = stage
    const refused = (id: string): Promise<void> =>
      demandUnchanged(store, id, () =>
        demandRefused(store.push(id, send('late'), { ifIdle: true }), 'busy'),
      )
    await store.push('queued', send('one'))
    await refused('queued')
    await taken(store, 'owned')
    await refused('owned')
    const sleeping = await taken(store, 'sleeping')
    await store.release('sleeping', sleeping, { wakeInMs: long })
    await refused('sleeping')
    await taken(store, 'dead', { ttlMs: short })
    await died(stage, 'dead')
    await refused('dead')
    await store.save(sessionOf('idle'))
    const pushed = await store.push('idle', send('one'), { ifIdle: true })
    demand(pushed === true, { expected: 'true at rest', received: pushed, contract: 'runIfIdle' })
  }),
  caseOf('of several commands with ifIdle at the same time one is taken', async ({ handles }) => {
    const stores = await handles(8)
    for (let round = 0; round < 5; round++) {
      const outcomes = await Promise.all(
        stores.map((own, index) =>
          own.push(`s${round}`, send(String(index)), { ifIdle: true }).then(
            (pushed) => (pushed ? 'taken' : 'ignored'),
            (thrown: unknown) => (isAllmError(thrown) ? thrown.reason : thrown),
          ),
        ),
      )
      const queued = (await stores[0].readInbox(`s${round}`)).length
      const wins = outcomes.filter((outcome) => outcome === 'taken').length
      const refusals = outcomes.filter((outcome) => outcome === 'busy').length
      demand(wins === 1 && refusals === 7 && queued === 1, {
        expected: 'one command that is taken, and seven that are busy',
        received: { outcomes, queued },
        contract: 'runIfIdle',
        hint: 'looking whether the session runs and adding the command must be one atomic step',
      })
    }
  }),
  caseOf('a command to an unknown id makes its session', async ({ store }) => {
    await store.push('s', send('one'))
    const [stored, rows] = [await store.load('s'), await store.list()]
    const seen = rows.map(({ id, status, version, running }) => ({ id, status, version, running }))
    const wanted = [{ id: 's', status: 'idle', version: 0, running: true }]
    demand(stored === undefined && sameJson(seen, wanted), {
      expected: `nothing to load, and the row ${JSON.stringify(wanted)}`,
      received: { stored, rows },
      contract: 'runInbox',
    })
    const version = await store.save(sessionOf('s'), { ifVersion: 0 })
    demand(version === 1, { expected: 'version 1', received: version, contract: 'runInbox' })
  }),

  // ---- Slots

  caseOf(
    'of the commands with one slot the first is stored, and the others are told of it',
    async ({ store, handle }) => {
      const other = await handle(1)
      await demandPushed(store.push('s', approve({ a: 1 }), { slot: 'call' }))
      const [first] = await store.readInbox('s')
      await demandUnchanged(store, 's', async () => {
        for (const command of [deny('no'), send('no'), approve({ a: 1 })]) {
          await demandSlotTaken(other.push('s', command, { slot: 'call', key: 'late' }), first)
        }
      })
      const known = await store.knowsKey('s', 'late')
      demand(!known, {
        expected: 'a command that is not stored not to use its key',
        received: known,
        contract: 'runSlot',
      })
    },
  ),
  caseOf('the slots of a session have nothing to do with each other', async ({ store }) => {
    for (const slot of ['a', 'b', undefined]) {
      await demandPushed(store.push('s', send(`to ${slot}`), { slot }))
    }
    const [a, b] = await store.readInbox('s')
    await demandSlotTaken(store.push('s', send('late'), { slot: 'a' }), a)
    await demandSlotTaken(store.push('s', send('late'), { slot: 'b' }), b)
    demandTexts(await store.readInbox('s'), ['to a', 'to b', 'to undefined'])
  }),
  caseOf('the same slot in two sessions is two slots', async ({ store }) => {
    for (const id of ['s', 't']) {
      await demandPushed(store.push(id, send(`to ${id}`), { slot: 'call' }))
    }
    for (const id of ['s', 't']) {
      const [own] = await store.readInbox(id)
      await demandSlotTaken(store.push(id, send('late'), { slot: 'call' }), own)
    }
  }),
  caseOf(
    'of several commands with one slot at the same time one is stored, and the others are told of it',
    async ({ handles }) => {
      const stores = await handles(8)
      const given = stores.map((_, index) =>
        index % 2 === 0 ? approve({ index }) : deny(String(index)),
      )
      for (let round = 0; round < 5; round++) {
        const id = `s${round}`
        const outcomes = await Promise.all(
          given.map((command, index) =>
            (stores[index] ?? stores[0]).push(id, command, { slot: 'call' }),
          ),
        )
        const inbox = await stores[0].readInbox(id)
        const [won] = inbox
        const isRight = outcomes.map((outcome, index) =>
          outcome === true
            ? sameJson(won?.command, given[index])
            : sameJson(plain(outcome), plain({ taken: false, ...won })),
        )
        const wins = outcomes.filter((outcome) => outcome === true).length
        demand(wins === 1 && inbox.length === 1 && !isRight.includes(false), {
          expected: 'one push that returns true, one command, and that command for the others',
          received: { outcomes, inbox },
          contract: 'runSlot',
          hint: 'looking at the slot and adding the command must be one atomic step',
        })
      }
    },
  ),
  caseOf('a command that is repeated with its key is not told of its slot', async ({ store }) => {
    const options = { key: 'k', slot: 'call' }
    await demandPushed(store.push('s', approve({ a: 1 }), options))
    const [first] = await store.readInbox('s')
    const repeat = async (): Promise<void> => {
      demandFalse(await store.push('s', approve({ a: 1 }), options), 'push', 'runSlot')
      await demandRefused(store.push('s', deny('no'), options), 'key_reused')
      const other = { ...options, key: 'other' }
      await demandSlotTaken(store.push('s', approve({ a: 1 }), other), first)
    }
    await demandUnchanged(store, 's', repeat)
    await store.save(sessionOf('s'), { taken: 1 })
    await demandUnchanged(store, 's', repeat)
  }),
  caseOf('a session that runs is busy, whoever has the slot', async ({ store }) => {
    await demandPushed(store.push('s', approve({ a: 1 }), { slot: 'call', ifIdle: true }))
    const [first] = await store.readInbox('s')
    await demandUnchanged(store, 's', async () => {
      for (const key of [undefined, 'late']) {
        const again = store.push('s', deny('no'), { slot: 'call', ifIdle: true, key })
        await demandRefused(again, 'busy')
      }
      await demandSlotTaken(store.push('s', deny('no'), { slot: 'call' }), first)
    })
  }),
  caseOf('a command that is refused when it is given does not use its slot', async ({ store }) => {
    const lease = await taken(store, 's')
    await store.push('s', send('one'), { key: 'k' })
    const options = { slot: 'call', ifIdle: true }
    await demandRefused(store.push('s', deny('no'), options), 'busy')
    await demandRefused(store.push('s', deny('no'), { ...options, key: 'k' }), 'key_reused')
    await store.save(sessionOf('s'), { lease, taken: 1 })
    await store.release('s', lease)
    await demandPushed(store.push('s', approve({ a: 1 }), options))
  }),
  caseOf('a slot is kept when its command is applied', async ({ store, handle }) => {
    const other = await handle(1)
    const result = { type: 'submitToolResult', toolCallId: 'd', content: longText } as const
    await demandPushed(store.push('s', approve({ a: 1 }), { slot: 'c' }))
    await demandPushed(store.push('s', result, { slot: 'd' }))
    const [approved, submitted] = await store.readInbox('s')
    const lease = await taken(store, 's')
    await store.save(sessionOf('s'), { lease, taken: 2, events: [delta('a')], first: true })
    await store.append('s', [delta('b')], { lease })
    await store.save(sessionOf('s', 'more'), { lease, events: [delta('c')] })
    await store.release('s', lease)
    const next = await taken(other, 's')
    await other.save(sessionOf('s', 'again'), { lease: next, events: [delta('d')] })
    for (const own of [store, other]) {
      await demandSlotTaken(own.push('s', deny('no'), { slot: 'c' }), approved)
      await demandSlotTaken(own.push('s', deny('no'), { slot: 'd' }), submitted)
    }
    demandTexts(await store.readInbox('s'), [])
  }),
  caseOf('a slot is free again when its command is refused', async ({ store }) => {
    const refused: ErrorData = { kind: 'session', reason: 'wrong_status', message: 'it is over' }
    for (const slot of ['a', 'b', 'c']) await store.push('s', send(slot), { slot })
    const [, b] = await store.readInbox('s')
    const lease = await taken(store, 's')
    await store.save(sessionOf('s'), { lease, taken: 1, refused })
    await demandSlotTaken(store.push('s', send('late'), { slot: 'b' }), b)
    await demandPushed(store.push('s', deny('no'), { slot: 'a' }))
    const a = (await store.readInbox('s')).at(-1)
    await demandSlotTaken(store.push('s', approve({ a: 1 }), { slot: 'a' }), a)
    await store.save(sessionOf('s'), { lease, taken: 1 })
    await store.save(sessionOf('s'), { lease, taken: 2, refused })
    await demandSlotTaken(store.push('s', send('late'), { slot: 'b' }), b)
    for (const slot of ['a', 'c']) await demandPushed(store.push('s', send('new'), { slot }))
    demandTexts(await store.readInbox('s'), ['new', 'new'])
  }),
  caseOf('a refusal that is not stored frees no slot', async (stage) => {
    const { store } = stage
    const refused: ErrorData = { kind: 'session', reason: 'wrong_status', message: 'it is over' }
    const old = await lost(stage, 's')
    await store.push('s', approve({ a: 1 }), { slot: 'call' })
    const first = (await store.readInbox('s')).at(-1)
    const refuseBoth = { taken: 2, refused }
    await demandRefused(store.save(sessionOf('s'), { ...refuseBoth, lease: old }), 'lease_lost')
    await demandRefused(store.save(sessionOf('s'), refuseBoth), 'busy')
    await store.push('t', approve({ a: 1 }), { slot: 'call' })
    const [other] = await store.readInbox('t')
    const stale = store.save(sessionOf('t'), { taken: 1, refused, ifVersion: 7 })
    await demandRefused(stale, 'stale')
    await demandSlotTaken(store.push('s', deny('no'), { slot: 'call' }), first)
    await demandSlotTaken(store.push('t', deny('no'), { slot: 'call' }), other)
  }),
  caseOf('a slot is kept when its command is pruned from the log', async (stage) => {
    const { store } = stage
    await store.push('s', approve({ a: 1 }), { slot: 'call', key: 'k' })
    const [first] = await store.readInbox('s')
    const lease = await taken(store, 's')
    await store.save(sessionOf('s'), { lease, taken: 1, events: [delta('1')], first: true })
    await store.release('s', lease)
    const log = (): Promise<readonly LogEntry[]> => store.readEvents('s', { commands: true })
    await pruned(stage, async () => (await log()).length === 0)
    const again = await store.prune({ keepMs: 0 })
    demand(again === 0, {
      expected: '0 when there is nothing more to remove',
      received: again,
      contract: 'runPrune',
    })
    await demandSlotTaken(store.push('s', approve({ a: 1 }), { slot: 'call', key: 'k' }), first)
    await store.push('s', send('two'))
    await store.save(sessionOf('s'), { taken: 1 })
    demandLog(await log(), ['command 2 two'])
  }),
  caseOf('the slots of a session are deleted with it', async ({ store }) => {
    for (const slot of ['waits', 'applied']) await store.push('s', send(slot), { slot })
    await store.save(sessionOf('s'), { taken: 1 })
    await store.delete('s')
    for (const slot of ['waits', 'applied']) {
      await demandPushed(store.push('s', send(`new ${slot}`), { slot }))
    }
    demandTexts(await store.readInbox('s'), ['new waits', 'new applied'])
  }),
  caseOf('slots are told apart, whatever their characters', async ({ store }) => {
    const slots = [
      'a',
      'A',
      'ä',
      ' ',
      '1',
      'a b',
      'a\u0000b',
      'a\u0000c',
      '\ud800',
      '\udfff',
      "a'; --",
      '"',
      '\\',
      '__proto__',
      '\udfff'.repeat(200),
      '🦜'.repeat(100),
      'x'.repeat(199),
      'x'.repeat(200),
    ]
    for (const slot of slots) await demandPushed(store.push('s', send(slot), { slot }))
    const inbox = await store.readInbox('s')
    for (const [index, slot] of slots.entries()) {
      await demandSlotTaken(store.push('s', send('late'), { slot }), inbox[index])
    }
    await store.save(sessionOf('s'), { taken: slots.length })
    for (const [index, slot] of slots.entries()) {
      await demandSlotTaken(store.push('s', send('late'), { slot }), inbox[index])
    }
  }),
  caseOf('a slot that is not a string of 1 to 200 characters is refused', async ({ store }) => {
    for (const slot of ['', 'x'.repeat(201), 5, null, ['call']]) {
      // Callers without types pass anything.
      await demandInvalid(store.push('s', send('one'), { slot: slot as string }))
    }
    const rows = await store.list()
    demand(rows.length === 0, { expected: 'no session', received: rows, contract: 'runSlot' })
  }),

  // ---- What waits for somebody

  caseOf('what a session waits for is in the index, whatever its text', async (stage) => {
    const { store, handle } = stage
    const metadata = { tenant: 'acme', note: longText }
    const session = waitingOf('s', {
      asks: ['q1', 'q2'],
      approvals: ['a1', 'a2'],
      results: ['r1', 'r2'],
      metadata,
    })
    await store.save(session, { events: [delta('a')] })
    const updatedAt = (await store.load('s'))?.updatedAt
    for (const own of [store, await handle(1)]) {
      const rows = await demandPending(own, [session])
      demand(rows.length === 6 && rows.every(({ since }) => since === updatedAt), {
        expected: `six rows since the save, at ${updatedAt}`,
        received: rows,
        contract: 'runPending',
      })
    }
  }),
  caseOf('what waits is in the index, whatever the status of its session', async ({ store }) => {
    const rest = { approvals: ['a'] }
    const error: ErrorData = { kind: 'adapter', reason: 'timeout', message: 'no answer' }
    const sessions = [
      waitingOf('approval', rest),
      waitingOf('question', { ...rest, asks: ['q'] }),
      { ...waitingOf('stopped', rest), status: 'halted', haltedReason: 'aborted' },
      { ...waitingOf('failed', rest), status: 'error', error },
      { ...waitingOf('runs', rest), status: 'idle' },
    ] as const
    for (const session of [...sessions, sessionOf('no')]) await store.save(session)
    await demandPending(store, sessions)
    const approvals = (await store.pending({ kind: 'approval' })).rows
    demand(approvals.length === sessions.length, {
      expected: 'the approval of every session',
      received: approvals,
      contract: 'runPending',
    })
  }),
  caseOf(
    'what agents inside calls wait for is in the index of their session',
    async ({ store }) => {
      const inside = waitingOf('inside', { approvals: ['a'], asks: ['q'] })
      const session = waitingOf('s', { results: ['r'], inside: { outer: inside } })
      await store.save(session)
      const rows = await demandPending(store, [session])
      const ids = rows.map(({ sessionId, call }) => `${sessionId} ${call.id}`).toSorted()
      demand(sameJson(ids, ['s outer/a', 's outer/q', 's r']), {
        expected: 'three calls of the session s: outer/a, outer/q and r',
        received: rows,
        contract: 'runPending',
      })
    },
  ),
  caseOf('what waits longest comes first, then the ids and tickets decide', async (stage) => {
    const { store } = stage
    const rounds = [['c', '\ufffd', '\u{1f99c}', 'a'], ['b'], ['B', 'aa']]
    const sessions: Session[] = []
    for (const ids of rounds) {
      for (const id of ids) {
        const session = waitingOf(id, { approvals: ['a1', 'a2', 'a3'], results: ['r'] })
        sessions.push(session)
        await store.save(session)
      }
      await ticked(stage)
    }
    const rows = await demandPending(store, sessions)
    const timesOf = (ids: readonly string[]): readonly number[] =>
      rows.filter(({ sessionId }) => ids.includes(sessionId)).map(({ since }) => since)
    const [first = [], second = [], third = []] = rounds.map(timesOf)
    const isRising =
      Math.max(...first) < Math.min(...second) && Math.max(...second) < Math.min(...third)
    demand(isRising, {
      expected: 'rows of later saves to wait since a later time',
      received: rows,
      contract: 'runPending',
    })
  }),
  caseOf('a call keeps the time since when it waits, as long as it waits', async (stage) => {
    const { store } = stage
    await store.save(waitingOf('s', { approvals: ['a1'] }))
    const [before] = (await store.pending()).rows
    await ticked(stage)
    const lease = await taken(store, 's')
    await store.push('s', send('one'))
    const grown = waitingOf('s', { approvals: ['a1', 'a2'], metadata: { tenant: 'new' } })
    await store.save(grown, { lease, taken: 1, events: [delta('a')] })
    await store.append('s', [delta('b')], { lease })
    await store.release('s', lease)
    const rows = await demandPending(store, [grown])
    const [one, two] = rows
    demand(one?.since === before?.since && (two?.since ?? 0) > (one?.since ?? 0), {
      expected: `a1 since ${before?.since}, and a2 since the later save`,
      received: rows,
      contract: 'runPending',
    })
    await store.save(waitingOf('s', { approvals: ['a2'] }))
    await ticked(stage)
    await store.save(grown)
    const [, again] = await demandPending(store, [grown])
    demand(again?.call.id === 'a1' && again.since > (two?.since ?? 0), {
      expected: 'a call that was settled and waits once more to wait since then',
      received: again,
      contract: 'runPending',
    })
  }),
  caseOf(
    'a save replaces what its session waits for, and leaves other sessions alone',
    async (stage) => {
      const { store } = stage
      const other = waitingOf('t', { approvals: ['a'], asks: ['q'] })
      await store.save(other)
      for (const session of [
        waitingOf('s', { approvals: ['a'], results: ['r'] }),
        waitingOf('s', { approvals: ['a'], asks: ['q'] }),
        waitingOf('s', { approvals: ['a'], arguments: { other: 1 } }),
        sessionOf('s', 'over'),
        waitingOf('s', { results: ['r'] }),
      ]) {
        await store.save(session)
        await demandPending(store, [session, other])
      }
    },
  ),
  caseOf('a save that is refused leaves what waits as it is', async (stage) => {
    const { store } = stage
    const session = waitingOf('s', { approvals: ['a'] })
    const late = waitingOf('s', { results: ['r'] })
    const old = await lost(stage, 's')
    await store.delete('s')
    const lease = await taken(store, 's')
    await store.save(session, { lease })
    await demandUnchanged(store, 's', async () => {
      await demandRefused(store.save(late, { lease: old }), 'lease_lost')
      await demandRefused(store.save(late), 'busy')
      await demandRefused(store.save(late, { lease, ifVersion: 7 }), 'stale')
    })
    await demandPending(store, [session])
  }),
  caseOf('the kinds of what waits are told apart', async ({ store }) => {
    const sessions = ['s', 't'].map((id) =>
      waitingOf(id, { asks: ['q1', 'q2'], approvals: ['a1', 'a2'], results: ['r1', 'r2'] }),
    )
    for (const session of sessions) await store.save(session)
    for (const kind of pendingKinds) await demandPending(store, sessions, { kind })
  }),
  caseOf('what waits is found by the beginning of the id of its session', async ({ store }) => {
    const ids = ['a', 'ab', 'a%', 'a%b', 'a_', 'A', 'b', 'ä', '\u{1f99c}1', '\u{1f99c}']
    const sessions = ids.map((id) => waitingOf(id, { approvals: ['a'] }))
    for (const session of sessions) await store.save(session)
    for (const prefix of ['', 'a', 'a%', 'a_', 'A', '\u{1f99c}', 'none', '\0']) {
      await demandPending(store, sessions, { prefix })
    }
  }),
  caseOf('what waits is found by the metadata of its session', async ({ store }) => {
    const acme = { tenant: 'acme', team: { lead: 'ada', size: 3 } }
    await store.save(waitingOf('moved', { approvals: ['a'], metadata: acme }))
    const sessions = [
      waitingOf('one', { approvals: ['a'], metadata: acme }),
      waitingOf('two', { approvals: ['a'], metadata: { tenant: 'acme' } }),
      waitingOf('moved', { approvals: ['a'], metadata: { tenant: 'other' } }),
      waitingOf('none', { approvals: ['a'], metadata: {} }),
    ]
    for (const session of sessions) await store.save(session)
    for (const metadata of [
      {},
      { tenant: 'acme' },
      { tenant: 'other' },
      { team: { size: 3, lead: 'ada' } },
      { tenant: 'acme', team: { lead: 'ada' } },
      { toString: 1 },
    ]) {
      await demandPending(store, sessions, { metadata })
    }
  }),
  caseOf(
    'pending({expiresBy}) gives the calls that have expired, and no other',
    async ({ store, handle }) => {
      const at = 1_800_000_000_000
      const short = { arguments: { to: 'Ada' } }
      const acme = { ...short, metadata: { tenant: 'acme' } }
      const twoOf = (id: string, expires: Readonly<Record<string, number>>): Session =>
        waitingOf(id, { ...acme, approvals: ['a1', 'a2'], expires })
      const inner = waitingOf('inner', { ...short, approvals: ['a', 'b'], expires: { a: at + 5 } })
      let sessions: readonly Session[] = [
        twoOf('never', {}),
        waitingOf('mixed', {
          ...acme,
          asks: ['q'],
          approvals: ['a1', 'a2'],
          results: ['r'],
          expires: { q: at, a1: at + 20, r: at },
        }),
        twoOf('soon', { a1: at - 1 }),
        twoOf('late', { a1: at + 1000 }),
        waitingOf('inside', { ...short, results: ['r'], inside: { outer: inner } }),
        waitingOf('zero', { ...short, approvals: ['a'], expires: { a: 0 } }),
        waitingOf('odd', {
          ...short,
          approvals: ['a', 'b', 'c'],
          expires: { a: -0.5, b: 0.3, c: 1e300 },
        }),
        sessionOf('no'),
      ]
      for (const session of sessions) await store.save(session)
      const demandExpired = async (times: readonly number[]): Promise<void> => {
        for (const expiresBy of times) await demandPending(store, sessions, { expiresBy })
      }
      await demandExpired([
        -1e300,
        -0.5,
        0,
        0.2,
        0.3,
        at - 1.5,
        at - 1,
        at - 0.5,
        at,
        at + 5,
        1e300,
      ])
      await demandPending(await handle(1), sessions, { expiresBy: at })
      await demandPending(store, sessions)

      // Together with what else `pending` is asked for, and in pages.
      const filters = [
        {},
        { kind: 'approval' },
        { kind: 'question', prefix: 'm' },
        { kind: 'result', prefix: 'm', metadata: acme.metadata },
      ] as const
      for (const filter of filters) {
        const options = { ...filter, expiresBy: at + 20 }
        const all = await demandPending(store, sessions, options)
        const pages = await pendingPages(store, { ...options, limit: 2 })
        demand(sameJson(pages.flat(), all), {
          expected: `pages of 2 with the rows of one page: ${JSON.stringify(all)}`,
          received: pages,
          contract: 'runPending',
        })
      }

      // A call that expires earlier, later, not any more, or was settled.
      for (const session of [
        twoOf('late', { a1: at, a2: at + 1000 }),
        twoOf('mixed', { a1: at + 30 }),
        twoOf('never', { a2: at }),
        twoOf('soon', {}),
        sessionOf('odd', 'over'),
      ]) {
        await store.save(session)
        sessions = [...sessions.filter(({ id }) => id !== session.id), session]
        await demandExpired([at, at + 20])
      }

      // Neither a save that is refused nor the log changes anything. A delete does, and the next session with that id is another one.
      await demandRefused(store.save(sessionOf('late'), { ifVersion: 7 }), 'stale')
      const lease = await taken(store, 'late')
      await store.append('late', [delta('a')], { lease })
      await store.release('late', lease)
      await demandExpired([at])
      for (const id of ['late', 'inside']) await store.delete(id)
      sessions = sessions.filter(({ id }) => id !== 'late' && id !== 'inside')
      await demandExpired([at, 1e300])
      const again = twoOf('late', {})
      await store.save(again)
      sessions = [...sessions, again]
      await demandExpired([at, 1e300])
    },
  ),
  caseOf('pages of what waits have every call once', async (stage) => {
    const { store } = stage
    const sessions: Session[] = []
    for (const id of ['d', 'b', '\u{1f99c}', 'a']) {
      const metadata = { even: sessions.length % 2 === 0 }
      const session = waitingOf(id, { approvals: ['a1', 'a2'], results: ['r'], metadata })
      sessions.push(session)
      await store.save(session)
      if (id === 'b') await ticked(stage)
    }
    const filters = [
      {},
      { kind: 'approval' },
      { metadata: { even: true } },
      { kind: 'result', metadata: { even: false } },
    ] as const
    for (const filter of filters) {
      const all = await demandPending(store, sessions, filter)
      for (const limit of [2, 3, all.length]) {
        const pages = await pendingPages(store, { ...filter, limit })
        demand(sameJson(pages.flat(), all), {
          expected: `pages of ${limit} with the rows of one page: ${JSON.stringify(all)}`,
          received: pages,
          contract: 'runPending',
        })
        demand(
          pages.slice(0, -1).every((page) => page.length === limit),
          {
            expected: `${limit} rows on every page but the last one`,
            received: pages,
            contract: 'runPending',
          },
        )
      }
    }
  }),
  caseOf('what comes and goes between two pages hides nothing that waits', async (stage) => {
    const { store } = stage
    for (const id of ['a', 'b', 'c', 'd'])
      await store.save(waitingOf(id, { approvals: ['a1', 'a2'] }))
    const seen = new Set<string>()
    let after: string | undefined
    for (let page = 0; page < 20; page++) {
      const { rows, next } = await store.pending(
        after === undefined ? { limit: 2 } : { limit: 2, after },
      )
      for (const { sessionId, call } of rows) seen.add(`${sessionId} ${call.id}`)
      if (next === undefined) break
      after = next
      // The last row that was seen goes, others come before it and behind it in the order of the ids.
      if (page === 0) await store.delete('a')
      if (page === 1) await store.save(waitingOf('b', { approvals: ['a1', 'a2', 'a3'] }))
      if (page === 1) await store.save(waitingOf('0', { approvals: ['a1'] }))
      if (page === 2) await store.save(sessionOf('c', 'over'))
    }
    const missing = ['b a1', 'b a2', 'd a1', 'd a2'].filter((one) => !seen.has(one))
    demand(missing.length === 0 && after !== undefined, {
      expected: 'every call that waited from the first page to the last one',
      received: { missing, seen: [...seen] },
      contract: 'runPending',
    })
  }),
  caseOf(
    'a session that is deleted waits for nothing, and waits anew when it is saved again',
    async (stage) => {
      const { store } = stage
      const sessions = ['s', 't'].map((id) => waitingOf(id, { asks: ['q'], approvals: ['a'] }))
      for (const session of sessions) await store.save(session)
      const [before] = (await store.pending({ prefix: 's' })).rows
      await store.delete('s')
      await demandPending(store, sessions.slice(1))
      await ticked(stage)
      await store.save(waitingOf('s', { asks: ['q'], approvals: ['a'] }))
      await demandPending(store, sessions)
      const [again] = (await store.pending({ prefix: 's' })).rows
      demand(again !== undefined && again.since > (before?.since ?? 0), {
        expected: `rows of the new session, later than ${before?.since}`,
        received: again,
        contract: 'runPending',
      })
    },
  ),
  caseOf('illegal options of pending are refused', async ({ store }) => {
    await store.save(waitingOf('s', { approvals: ['a'] }))
    for (const options of [
      { kind: 'other' },
      { prefix: 1 },
      { metadata: 'acme' },
      { expiresBy: '5' },
      { expiresBy: Number.NaN },
      { expiresBy: Number.POSITIVE_INFINITY },
      { limit: 0 },
      { after: 's' },
      { after: '' },
      { status: 'idle' },
    ]) {
      // Callers without types pass anything.
      await demandInvalid(store.pending(options as PendingOptions))
    }
  }),

  // ---- What is due

  caseOf('a command makes its session due, unless somebody owns it', async ({ store }) => {
    await store.save(sessionOf('rests'))
    await taken(store, 'owned')
    await store.push('owned', send('one'))
    await store.push('s', send('one'))
    await demandDue(store, ['s'])
    await store.push('rests', send('one'))
    const due = await store.due({ limit: 10 })
    demand(sameJson(due.toSorted(), ['rests', 's']), {
      expected: 'rests and s',
      received: due,
      contract: 'runDue',
    })
  }),
  caseOf('a session without commands rests when its lease is given back', async ({ store }) => {
    await store.push('s', send('one'))
    const lease = await taken(store, 's')
    await store.save(sessionOf('s'), { lease, taken: 1 })
    demandFalse(await store.release('s', lease), 'release', 'runDue')
    const state = await store.look('s')
    demand(state !== undefined && !state.running && state.dueAt === undefined, {
      expected: 'a session that does not run and has no dueAt',
      received: state,
      contract: 'runDue',
    })
    await demandDue(store, [])
  }),
  caseOf(
    'commands that wait make a session due when its lease is given back',
    async ({ store }) => {
      for (const wakeInMs of [undefined, long]) {
        const id = `s${wakeInMs}`
        const lease = await taken(store, id)
        await store.push(id, send('one'))
        const isDue = await store.release(id, lease, { wakeInMs })
        demand(isDue, { expected: 'true', received: isDue, contract: 'runDue' })
      }
      const due = await store.due({ limit: 10 })
      demand(due.length === 2, {
        expected: 'both sessions, also the one with a wake-up',
        received: due,
        contract: 'runDue',
      })
    },
  ),
  caseOf(
    'a command that comes while a lease is given back does not sleep',
    async ({ store, handle }) => {
      const other = await handle(1)
      for (let round = 0; round < 40; round++) {
        const id = `s${round}`
        const lease = await taken(store, id)
        const give = (): Promise<unknown> =>
          store.release(id, lease, round % 4 === 0 ? { wakeInMs: long } : {})
        const push = (): Promise<unknown> => other.push(id, send('now'))
        await Promise.all(round % 2 === 0 ? [give(), push()] : [push(), give()])
        const due = await store.due({ limit: 100 })
        demand(due.includes(id), {
          expected: `${id} to be due: it has a command, and nobody owns it`,
          received: { due, state: await store.look(id) },
          contract: 'runDue',
          hint: 'release must look at the inbox in the write that gives the lease back',
        })
      }
    },
  ),
  caseOf('a session that sleeps is due when its time has come', async (stage) => {
    const { store } = stage
    const soon = await taken(store, 'soon')
    demandFalse(await store.release('soon', soon, { wakeInMs: short }), 'release', 'runSleep')
    const later = await taken(store, 'later')
    await store.save(sessionOf('later'), { lease: later })
    demandFalse(await store.release('later', later, { wakeInMs: long }), 'release', 'runSleep')
    await stage.eventually(short, async () => (await store.due({ limit: 10 })).includes('soon'), {
      expected: 'the session to be due when its time has come',
      contract: 'runSleep',
    })
    await demandDue(store, ['soon'])
    const state = await store.look('later')
    demand(state?.running === true && state.owner === undefined && Number(state.dueAt) > 0, {
      expected: 'a session that runs without an owner, with dueAt',
      received: state,
      contract: 'runSleep',
    })
  }),
  caseOf('a session that is to be woken at once is due', async ({ store }) => {
    const lease = await taken(store, 's')
    await store.save(sessionOf('s'), { lease })
    const isDue = await store.release('s', lease, { wakeInMs: 0 })
    demand(isDue, { expected: 'true', received: isDue, contract: 'runSleep' })
    await demandDue(store, ['s'])
  }),
  caseOf('a command wakes a session that sleeps', async ({ store }) => {
    const lease = await taken(store, 's')
    await store.release('s', lease, { wakeInMs: long })
    await demandDue(store, [])
    await store.push('s', send('one'))
    await demandDue(store, ['s'])
  }),
  caseOf('an owner that comes early learns how long the session sleeps', async ({ store }) => {
    for (const id of ['s', 't']) {
      await store.release(id, await taken(store, id), { wakeInMs: long })
    }
    await store.push('t', send('one'))
    const [early, called] = [await taken(store, 's'), await taken(store, 't')]
    const left = early.wakeInMs ?? 0
    demand(left > 0 && left <= long && called.wakeInMs === undefined, {
      expected: `wakeInMs up to ${long} for the session that sleeps, and none for the one with a command`,
      received: { early, called },
      contract: 'runSleep',
    })
  }),
  caseOf('a session whose owner died is due and can be claimed', async (stage) => {
    const { store, handle } = stage
    const lease = await taken(store, 's', { ttlMs: short })
    await store.save(sessionOf('s'), { lease })
    await died(stage, 's')
    await demandDue(store, ['s'])
    const claimed = await (await handle(1)).claim({ owner: 'b', ttlMs: long })
    const state = await store.look('s')
    demand(claimed?.id === 's' && state?.owner === 'b', {
      expected: 'the session of the dead owner, now owned by b',
      received: { claimed, state },
      contract: 'runClaim',
    })
    demandRising([lease, claimed.lease])
    demand(claimed.lease.wakeInMs === undefined, {
      expected: 'no wakeInMs',
      received: claimed,
      contract: 'runSleep',
    })
    await demandDue(store, [])
  }),
  caseOf('what is due the longest comes first, up to the limit', async (stage) => {
    const { store } = stage
    await dueInTurn(stage)
    const due = await store.due({ limit: 10 })
    const times: number[] = []
    for (const id of due) times.push((await store.look(id))?.dueAt ?? Number.NaN)
    const inOrder = times.every((at, index) => at >= (times[index - 1] ?? at))
    demand(due.length === 5 && inOrder, {
      expected: 'five sessions in the order of their dueAt',
      received: { due, times },
      contract: 'runDue',
    })
    const some = await store.due({ limit: 3 })
    demand(sameJson(some, due.slice(0, 3)), {
      expected: `the first three: ${due.slice(0, 3).join()}`,
      received: some,
      contract: 'runDue',
    })
  }),
  caseOf('claim takes what is due the longest', async (stage) => {
    const { store } = stage
    await dueInTurn(stage)
    const times = new Map<string, number>()
    for (const id of await store.due({ limit: 10 })) {
      times.set(id, (await store.look(id))?.dueAt ?? Number.NaN)
    }
    const claimed = []
    for (let round = 0; round < 6; round++) {
      claimed.push((await store.claim({ owner: 'o', ttlMs: long }))?.id)
    }
    const order = claimed.slice(0, 5).map((id) => times.get(id ?? '') ?? Number.NaN)
    const inOrder = order.every((at, index) => at >= (order[index - 1] ?? at))
    demand(inOrder && allDifferent(claimed) && claimed[5] === undefined, {
      expected: 'the five sessions in the order of their dueAt, and then undefined',
      received: { claimed, order },
      contract: 'runClaim',
    })
  }),
  caseOf('claim gives nothing while nothing is due', async ({ store }) => {
    await store.save(sessionOf('rests'))
    await taken(store, 'owned')
    await store.push('owned', send('one'))
    await store.release('sleeps', await taken(store, 'sleeps'), { wakeInMs: long })
    const claimed = await store.claim({ owner: 'o', ttlMs: long })
    demand(claimed === undefined, {
      expected: 'undefined',
      received: claimed,
      contract: 'runClaim',
    })
  }),
  caseOf('claims at the same time give each session once', async (stage) => {
    const { store, handles } = stage
    const ids = Array.from({ length: 24 }, (_, index) => `s${index}`)
    for (const id of ids) await store.push(id, send('one'))
    const claimed: string[] = []
    const claimAll = async (own: RunStore): Promise<void> => {
      // A claim may come away empty while another one is taking what it saw.
      const ask = stage.patience({ expected: '24 sessions', contract: 'runClaim' })
      while (claimed.length < ids.length) {
        await ask()
        const found = await own.claim({ owner: 'o', ttlMs: long })
        if (found === undefined && (await own.due({ limit: 1 })).length === 0) return
        if (found !== undefined) claimed.push(found.id)
      }
    }
    await Promise.all((await handles(6)).map(claimAll))
    demand(sameJson(claimed.toSorted(), ids.toSorted()), {
      expected: '24 sessions, each once',
      received: claimed,
      contract: 'runClaim',
      hint: 'finding a session and taking its lease must be one atomic step',
    })
  }),

  // ---- Stops

  caseOf('a stop is asked only of a session that runs', async ({ store }) => {
    await store.save(sessionOf('rests'))
    await store.requestStop('rests')
    await store.requestStop('nobody')
    const seen = [
      await store.stopRequested('rests'),
      await store.stopRequested('nobody'),
      (await store.look('nobody')) === undefined,
      (await store.look('rests'))?.running,
    ]
    demand(sameJson(plain(seen), [false, false, true, false]), {
      expected: 'no stop, no new session, and a session that rests on',
      received: seen,
      contract: 'runStop',
    })
  }),
  caseOf(
    'a stop reaches the owner, and is over when the lease is given back',
    async ({ store, handle }) => {
      const lease = await taken(store, 's')
      await store.save(sessionOf('s'), { lease })
      const before = await store.stopRequested('s')
      await (await handle(1)).requestStop('s')
      const during = await store.stopRequested('s')
      const renewed = await store.renew('s', lease, long)
      await store.save(sessionOf('s'), { lease })
      const still = await store.stopRequested('s')
      await store.release('s', lease)
      const after = await store.stopRequested('s')
      demand(renewed && sameJson([before, during, still, after], [false, true, true, false]), {
        expected:
          'false before; true after the request, a renewal and a save; false after the release',
        received: { before, during, still, after },
        contract: 'runStop',
      })
    },
  ),
  caseOf('a stop outlives an owner that dies', async (stage) => {
    const { store, handle } = stage
    await taken(store, 's', { ttlMs: short })
    await store.requestStop('s')
    await takenOver(stage, await handle(1), 's')
    const asked = await store.stopRequested('s')
    demand(asked, { expected: 'true', received: asked, contract: 'runStop' })
  }),
  caseOf('a stop wakes a session that sleeps', async ({ store }) => {
    await store.release('s', await taken(store, 's'), { wakeInMs: long })
    await store.requestStop('s')
    await demandDue(store, ['s'])
    const asked = await store.stopRequested('s')
    demand(asked, { expected: 'true', received: asked, contract: 'runStop' })
  }),
  caseOf('a stop that comes just before a release until later is kept', async ({ store }) => {
    const lease = await taken(store, 's')
    await store.save(sessionOf('s'), { lease })
    await store.requestStop('s')
    const isDue = await store.release('s', lease, { wakeInMs: long })
    await demandDue(store, ['s'])
    const asked = await store.stopRequested('s')
    demand(isDue && asked, {
      expected: 'a release that says the session is due, and a stop that is still asked for',
      received: { isDue, asked },
      contract: 'runStop',
    })
  }),
  caseOf('a stop does not take a session from its owner', async ({ store }) => {
    const lease = await taken(store, 's')
    await store.requestStop('s')
    await demandDue(store, [])
    const other = await store.acquire('s', { owner: 'b', ttlMs: long })
    const version = await store.save(sessionOf('s'), { lease })
    demand(other === undefined && version === 1, {
      expected: 'undefined for another owner, and a save that succeeds',
      received: { other, version },
      contract: 'runStop',
    })
  }),

  // ---- What a store knows

  caseOf('look tells the state of a session at each moment', async ({ store }) => {
    const seen: unknown[] = []
    const look = async (): Promise<void> => {
      const state = await store.look('s')
      const { dueAt, ...rest } = state ?? {}
      seen.push(plain({ ...rest, timed: dueAt !== undefined }))
    }
    await look()
    await store.push('s', send('one'))
    await look()
    const lease = await taken(store, 's', { owner: 'ann' })
    await look()
    await store.save(
      { ...sessionOf('s'), status: 'completed' },
      { lease, taken: 1, events: [delta('a'), delta('b')] },
    )
    await store.append('s', [delta('c')], { lease })
    await look()
    await store.release('s', lease)
    await look()
    const pushed = { version: 0, status: 'idle', running: true, lastEventId: 0, lastCommandId: 0 }
    const saved = {
      version: 1,
      status: 'completed',
      running: true,
      lastEventId: 3,
      lastCommandId: 1,
      queued: 0,
    }
    const wanted = [
      { timed: false },
      { ...pushed, queued: 1, timed: true },
      { ...pushed, queued: 1, owner: 'ann', timed: true },
      { ...saved, owner: 'ann', timed: true },
      { ...saved, running: false, timed: false },
    ]
    demand(sameJson(seen, wanted), {
      expected: `the states ${JSON.stringify(wanted)}`,
      received: seen,
      contract: 'runLook',
    })
  }),
  caseOf('look tells when a lease ends', async ({ store }) => {
    const { expiresAt } = await taken(store, 's')
    const dueAt = (await store.look('s'))?.dueAt ?? 0
    // A store may round them in different ways.
    demand(Math.abs(dueAt - expiresAt) <= 2, {
      expected: `dueAt ${expiresAt}, the end of the lease`,
      received: dueAt,
      contract: 'runLook',
    })
  }),
  caseOf('a list tells which sessions run', async ({ store }) => {
    await store.save(sessionOf('rests'))
    await taken(store, 'owned')
    await store.push('queued', send('one'))
    await store.save(sessionOf('sleeps'))
    await store.release('sleeps', await taken(store, 'sleeps'), { wakeInMs: long })
    const rows = (await store.list()).map(({ id, running }) => [id, running])
    const wanted = [
      ['owned', true],
      ['queued', true],
      ['rests', false],
      ['sleeps', true],
    ]
    demand(sameJson(plain(rows), wanted), {
      expected: `running as in ${JSON.stringify(wanted)}`,
      received: rows,
      contract: 'runLook',
    })
  }),

  // ---- Removal

  caseOf('deleting a session removes all that belongs to it', async ({ store }) => {
    const fill = async (): Promise<unknown> => {
      await store.push('s', send('one'), { key: 'k' })
      const lease = await taken(store, 's')
      await store.save(sessionOf('s'), { lease, taken: 1, events: [delta('a')], first: true })
      await store.push('s', send('two'))
      await store.requestStop('s')
      return wholeState(store, 's')
    }
    const [first] = [timeless(await fill())]
    await store.delete('s')
    const left = await wholeState(store, 's')
    demand(sameJson(left, emptyState) && (await store.due({ limit: 1 })).length === 0, {
      expected: 'nothing: no session, no state, no command, no event, no snapshot, no stop',
      received: left,
      contract: 'runDelete',
    })
    const second = timeless(await fill())
    demand(sameJson(first, second), {
      expected: 'a session that starts anew, also its numbers and keys',
      received: second,
      contract: 'runDelete',
    })
  }),
  caseOf('pruning keeps what is not old', async ({ store }) => {
    await store.push('s', send('one'), { key: 'k' })
    const lease = await taken(store, 's')
    await store.save(sessionOf('s'), { lease, taken: 1, first: true })
    await store.save(sessionOf('s'), { lease, events: [delta('a')] })
    await store.release('s', lease)
    await demandUnchanged(store, 's', async () => {
      const count = await store.prune({ keepMs: 10 * long })
      demand(count === 0, {
        expected: '0 sessions that had something to remove',
        received: count,
        contract: 'runPrune',
      })
      demandFalse(await store.push('s', send('one'), { key: 'k' }), 'push', 'runPrune')
    })
  }),
  caseOf('pruning forgets old keys, and counts their sessions', async (stage) => {
    const { store } = stage
    await store.push('s', send('one'), { key: 'k' })
    await store.push('t', send('one'), { key: 'k' })
    let count = 0
    const prune = async (): Promise<boolean> => (count += await store.prune({ keepMs: 0 })) >= 2
    await stage.eventually(short, prune, {
      expected: 'both sessions to have an old key removed',
      contract: 'runPrune',
    })
    const more = await store.prune({ keepMs: 0 })
    demand(count === 2 && more === 0, {
      expected: 'a count of 2, and then 0',
      received: { count, more },
      contract: 'runPrune',
    })
    const known = await store.knowsKey('s', 'k')
    const pushed = await store.push('s', send('two'), { key: 'k' })
    demand(pushed && !known, {
      expected: 'a key that is not known any more',
      received: { known, pushed },
      contract: 'runPrune',
    })
    demandTexts(await store.readInbox('s'), ['one', 'two'])
  }),
  caseOf('pruning looks at no more sessions than it is told', async (stage) => {
    const { store } = stage
    for (const id of ['s', 't', 'u']) await store.push(id, send('one'), { key: 'k' })
    await stage.elapse(short)
    const counts: number[] = []
    const prune = async (): Promise<boolean> => {
      counts.push(await store.prune({ keepMs: 0, limit: 2 }))
      return counts.some((count) => count > 0)
    }
    await stage.eventually(0, prune, { expected: 'something to be removed', contract: 'runPrune' })
    demand(Math.max(...counts) <= 2, {
      expected: 'at most 2 sessions',
      received: counts,
      contract: 'runPrune',
    })
  }),
  caseOf('repeated limited prunes reach every session', async (stage) => {
    const { store } = stage
    // Old events that have to stay: there is nothing to remove here, however often one looks.
    for (const id of ['a', 'b', 'y', 'z']) {
      const lease = await taken(store, id)
      await store.save(sessionOf(id), { lease, first: true })
      await store.append(id, [delta('1')], { lease })
    }
    const ids = ['m', 'n', 'o']
    for (const id of ids) {
      await store.save(sessionOf(id), { events: [delta('1')], first: true })
    }
    const prune = async (): Promise<boolean> => {
      await store.prune({ keepMs: 0, limit: 1 })
      const logs = await Promise.all(ids.map((id) => store.readEvents(id, {})))
      return logs.every((log) => log.length === 0)
    }
    await stage.eventually(short, prune, {
      expected: 'the old logs of all sessions to be removed, one session at a time',
      contract: 'runPrune',
    })
    demandLog(await store.readEvents('a', {}), ['event 1 1'])
  }),
  caseOf(
    'pruning removes the log of a session that rests, and its numbers go on',
    async (stage) => {
      const { store } = stage
      await store.push('s', send('one'))
      const lease = await taken(store, 's')
      await store.save(sessionOf('s', 'first'), { lease, taken: 1, first: true })
      await store.save(sessionOf('s', 'last'), { lease, events: [delta('1'), delta('2')] })
      await store.release('s', lease)
      await pruned(
        stage,
        async () => (await store.readEvents('s', { commands: true })).length === 0,
      )
      const [stored, snapshot] = [await store.load('s'), await store.readSnapshot('s', 9)]
      demand(stored?.version === 2 && stored.lastEventId === 2 && snapshot === undefined, {
        expected: 'the session as it was, at version 2 and event 2, and no snapshot',
        received: { stored, snapshot },
        contract: 'runPrune',
      })
      await store.push('s', send('two'))
      const next = await taken(store, 's')
      await store.save(sessionOf('s'), { lease: next, taken: 1, events: [delta('3')] })
      demandLog(await store.readEvents('s', { commands: true }), ['command 2 two', 'event 3 3'])
      demandLog(await store.readEvents('s', { commands: true, after: 3, afterCommand: 2 }), [])
    },
  ),
  caseOf('pruning keeps the events of a run that are not folded yet', async (stage) => {
    const { store } = stage
    const lease = await taken(store, 's')
    await store.save(sessionOf('s'), { lease, first: true })
    await store.save(sessionOf('s'), { lease, events: [delta('1')] })
    await store.append('s', [delta('2')], { lease })
    // Another session, made later, tells that the time has passed.
    await store.save(sessionOf('later'), { events: [delta('1')], first: true })
    await pruned(stage, async () => (await store.readEvents('later', {})).length === 0)
    demandLog(await store.readEvents('s', {}), ['event 1 1', 'event 2 2'])
    const snapshot = await store.readSnapshot('s', 2)
    demand(snapshot?.lastEventId === 0, {
      expected: 'the first snapshot of the run',
      received: snapshot,
      contract: 'runPrune',
    })
  }),
  caseOf('pruning removes whole runs, so the log goes on from a snapshot', async (stage) => {
    const { store } = stage
    const lease = await taken(store, 's')
    await store.save(sessionOf('s', 'run 1'), { lease, first: true })
    await store.save(sessionOf('s'), { lease, events: [delta('1'), delta('2')] })
    await store.save(sessionOf('s', 'run 2'), { lease, events: [delta('3')], first: true })
    await store.append('s', [delta('4'), delta('5')], { lease })
    await pruned(stage, async () => (await store.readEvents('s', {})).length < 5)
    demandLog(await store.readEvents('s', {}), ['event 4 4', 'event 5 5'])
    const snapshots = [await store.readSnapshot('s', 2), await store.readSnapshot('s', 5)]
    const seen = snapshots.map((snapshot) => snapshot && textOf(snapshot.session))
    demand(sameJson(plain(seen), [null, 'run 2']), {
      expected: 'no snapshot of the first run, and that of the second',
      received: snapshots,
      contract: 'runPrune',
    })
  }),

  caseOf('pruning removes a run when all of its events are old', async (stage) => {
    const { store } = stage
    const lease = await taken(store, 's')
    await store.save(sessionOf('s', 'run 1'), { lease, first: true })
    await store.save(sessionOf('s'), { lease, events: [delta('1')] })
    const [event] = await store.readEvents('s', {})
    await stage.elapse(short)
    await store.save(sessionOf('s', 'run 2'), { lease, first: true })
    await store.append('s', [delta('2')], { lease })
    const ask = async (): Promise<boolean> => {
      // The beginning of a lease tells the time of the store.
      const own = await taken(store, 'clock', { ttlMs: long })
      await store.release('clock', own)
      const keepMs = Math.max(0, own.expiresAt - long - Number(event?.at) - 1)
      await store.prune({ keepMs })
      return (await store.readEvents('s', {})).length < 2
    }
    await stage.eventually(0, ask, {
      expected: 'the first run to be removed',
      contract: 'runPrune',
    })
    demandLog(await store.readEvents('s', {}), ['event 2 2'])
    const snapshot = await store.readSnapshot('s', 2)
    demand(snapshot !== undefined && textOf(snapshot.session) === 'run 2', {
      expected: 'the first snapshot of the second run',
      received: snapshot,
      contract: 'runPrune',
    })
  }),

  // ---- Hints

  caseOf('hints come for changes until they are ended', async (stage) => {
    const { store } = stage
    let hints = 0
    const end = store.watch('s', () => {
      hints++
    })
    const hinted = async (what: string, act: () => Promise<unknown>): Promise<void> => {
      const before = hints
      await act()
      await stage.eventually(0, async () => hints > before, {
        expected: `a hint after ${what}`,
        contract: 'runWatch',
      })
    }
    await hinted('a push', () => store.push('s', send('one')))
    const lease = await taken(store, 's')
    await hinted('a save', () => store.save(sessionOf('s'), { lease, events: [delta('a')] }))
    await hinted('an append', () => store.append('s', [delta('b')], { lease }))
    await hinted('a stop request', () => store.requestStop('s'))
    await hinted('a release', () => store.release('s', lease))
    end()
    end()
    const [atEnd, others] = [hints, { count: 0 }]
    const endOther = store.watch('s', () => {
      others.count++
    })
    await store.push('s', send('two'))
    await stage.eventually(0, async () => others.count > 0, {
      expected: 'a hint for the second listener',
      contract: 'runWatch',
    })
    endOther()
    demand(hints === atEnd, {
      expected: 'no hint after the end',
      received: hints - atEnd,
      contract: 'runWatch',
    })
  }),
  caseOf(
    'who waits for stop requests hears of them',
    async (stage) => {
      const { store, handle } = stage
      const lease = await taken(store, 's')
      for (const asking of store.notifies ? [store, await handle(1)] : [store]) {
        let hints = 0
        const onHint = (): void => {
          hints++
        }
        const end = store.watch('s', onHint, { stopsOnly: true })
        try {
          await store.append('s', [delta('a')], { lease })
          const before = hints
          // The first hint may be missed while the store begins to listen.
          const ask = async (): Promise<boolean> => {
            if (hints === before) await asking.requestStop('s')
            return hints > before
          }
          const expected = 'a hint after a stop request'
          await stage.eventually(0, ask, { expected, contract: 'runWatch' })
        } finally {
          end()
        }
      }
    },
    'shared',
  ),
  caseOf(
    'a store that notifies hears of the changes of others',
    async (stage) => {
      const { store, handle } = stage
      const other = await handle(1)
      demand(typeof store.notifies === 'boolean', {
        expected: 'notifies to be true or false',
        received: store.notifies,
        contract: 'runWatch',
      })
      if (!store.notifies) return
      let hints = 0
      const end = store.watch('s', () => {
        hints++
      })
      try {
        // The first hint may be missed while the store begins to listen.
        await stage.eventually(
          0,
          async () => {
            if (hints === 0) await other.push('s', send('one'))
            return hints > 0
          },
          { expected: 'a hint after a push of another handle', contract: 'runWatch' },
        )
      } finally {
        end()
      }
    },
    'shared',
  ),

  // ---- Ids and text

  caseOf('ids of all kinds keep their logs, inboxes and leases apart', async ({ store }) => {
    const ids = [...oddIds, 'ä'.repeat(512), '🦜'.repeat(256)]
    const leases = new Map<string, Lease>()
    for (const id of ids) {
      await store.push(id, send(`to ${id}`), { key: 'k' })
      const lease = await taken(store, id)
      leases.set(id, lease)
      await store.save(sessionOf(id, `of ${id}`), { lease, events: [delta(id)], first: true })
    }
    for (const id of ids) {
      const [stored, snapshot] = [await store.load(id), await store.readSnapshot(id, 1)]
      const log = shown(await store.readEvents(id, {}))
      const inbox = texts(await store.readInbox(id))
      const seen = [stored?.session, snapshot?.session, log, inbox]
      const own = sessionOf(id, `of ${id}`)
      demand(sameJson(plain(seen), [own, own, [`event 1 ${id}`], [`to ${id}`]]), {
        expected: `the session, the snapshot, the event and the command of ${id}`,
        received: seen,
        contract: 'storeIds',
      })
    }
    for (const [id, lease] of leases) await store.release(id, lease)
    const due = await store.due({ limit: 1000 })
    demand(sameJson(due.toSorted(), ids.toSorted()), {
      expected: 'all of them to be due',
      received: due,
      contract: 'storeIds',
    })
  }),
  caseOf('an id that no store can hold is refused', async ({ store }) => {
    const wrong = ['', 'a\u0000b', 'a\ud800', '\udc00a', 'x'.repeat(513)]
    for (const id of wrong) {
      await demandInvalid(store.acquire(id, { owner: 'o', ttlMs: long }))
      await demandInvalid(store.push(id, send('one')))
      await demandInvalid(store.look(id))
      await demandInvalid(store.readEvents(id, {}))
      await demandInvalid(store.readInbox(id))
      await demandInvalid(store.requestStop(id))
    }
  }),
  caseOf('text of all kinds survives in commands, events and snapshots', async ({ store }) => {
    await store.push('s', send(longText))
    const lease = await taken(store, 's')
    const events: readonly StreamEvent[] = [
      delta(longText),
      { type: 'raw_chunk', chunk: { [longText.slice(0, 50)]: [longText, null, 1.5] } },
    ]
    const refused: ErrorData = { kind: 'session', reason: 'wrong_status', message: longText }
    const inbox = await store.readInbox('s')
    await store.save(sessionOf('s', longText), { lease, taken: 1, refused, events, first: true })
    await store.append('s', events, { lease })
    const entries = await store.readEvents('s', { commands: true })
    const snapshot = await store.readSnapshot('s', 9)
    const seen = {
      inbox: inbox.map(({ command }) => command),
      log: entries.map((entry) =>
        'event' in entry ? entry.event : { command: entry.command, refused: entry.refused },
      ),
      snapshot: snapshot?.session,
    }
    const wanted = {
      inbox: [send(longText)],
      log: [{ command: send(longText), refused }, ...events, ...events],
      snapshot: sessionOf('s', longText),
    }
    demand(sameJson(plain(seen), plain(wanted)), {
      expected: 'every text as it was given: quotes, emoji, NUL, halves of surrogate pairs, 64 KB',
      received: seen,
      contract: 'storeText',
    })
  }),

  // ---- Several owners, several clocks

  caseOf('owners that compete with short leases lose no update', async (stage) => {
    const { store, handles, elapse } = stage
    const goal = 50
    let saves = 0
    const compete = async (own: RunStore, index: number): Promise<void> => {
      const ask = stage.patience({ expected: `${goal} saves`, contract: 'runLease' })
      for (let round = 0; saves < goal; round++) {
        await ask()
        const lease = await own.acquire('s', { owner: `o${index}`, ttlMs: short })
        if (lease === undefined) {
          await elapse(short / 3)
          continue
        }
        try {
          const stored = await own.load('s')
          await nextTurn()
          const count = stored === undefined ? 0 : countOf(stored.session)
          if (count >= goal) return
          await own.save(counterOf('s', count + 1), { lease, events: [delta(String(count + 1))] })
          saves++
        } catch (error) {
          if (!isAllmError(error) || error.reason !== 'lease_lost') throw error
        }
        // Every third time the owner dies.
        if ((round + index) % 3 !== 0) await own.release('s', lease)
      }
    }
    await Promise.all((await handles(8)).map(compete))
    const stored = await store.load('s')
    const events = shown(await store.readEvents('s', {}))
    const count = stored && countOf(stored.session)
    const wanted = Array.from({ length: goal }, (_, index) => `event ${index + 1} ${index + 1}`)
    demand(count === goal && saves === goal && sameJson(events, wanted), {
      expected: `a counter of ${goal}, after ${goal} saves and events`,
      received: { count, saves, events: events.length },
      contract: 'runLease',
    })
  }),
  caseOf(
    'another handle continues what one began',
    async ({ store, handle }) => {
      const lease = await taken(store, 's')
      await store.push('s', send('one'), { key: 'k' })
      await store.save(sessionOf('s', 'mine'), { lease, events: [delta('a')], first: true })
      const other = await handle(1)
      const seen = [await wholeState(other, 's'), await wholeState(store, 's')]
      demand(sameJson(seen[0], seen[1]), {
        expected: `the same state as the first handle: ${JSON.stringify(seen[1])}`,
        received: seen[0],
        contract: 'runShared',
      })
      const outcomes = [
        await other.acquire('s', { owner: 'b', ttlMs: long }),
        await other.push('s', send('one'), { key: 'k' }),
        await other.append('s', [delta('b')], { lease }),
        await other.release('s', lease),
        (await store.claim({ owner: 'c', ttlMs: long }))?.id,
      ]
      demand(sameJson(plain(outcomes), [null, false, 2, true, 's']), {
        expected: 'no second lease, no second key, event 2, a release, and a claim of s',
        received: outcomes,
        contract: 'runShared',
      })
    },
    'shared',
  ),
  caseOf(
    'the clock of the process does not matter',
    async ({ store, handle }) => {
      const [ahead, behind] = [await handle(1), await handle(2)]
      const hour = 3_600_000
      await taken(store, 's')
      await store.release('t', await taken(store, 't'), { wakeInMs: long })
      const early = await withProcessClock(hour, async () => [
        await ahead.acquire('s', { owner: 'ahead', ttlMs: long }),
        await ahead.claim({ owner: 'ahead', ttlMs: long }),
        await ahead.due({ limit: 10 }),
        (await ahead.look('s'))?.owner,
      ])
      demand(sameJson(plain(early), [null, null, [], 'owner']), {
        expected: 'a process whose clock is an hour ahead to find nothing that expired or is due',
        received: early,
        contract: 'runTime',
      })
      await withProcessClock(-hour, async () => {
        await taken(behind, 'u')
        await behind.push('v', send('one'))
        await behind.release('w', await taken(behind, 'w'), { wakeInMs: long })
      })
      const late = [
        await store.acquire('u', { owner: 'right', ttlMs: long }),
        await store.due({ limit: 10 }),
      ]
      demand(sameJson(plain(late), [null, ['v']]), {
        expected: 'the lease and the sleep of a process whose clock is an hour behind to last',
        received: late,
        contract: 'runTime',
      })
      const times: number[] = []
      for (const id of ['s', 'u', 'w']) times.push((await store.look(id))?.dueAt ?? 0)
      demand(Math.max(...times) - Math.min(...times) < hour / 2, {
        expected: 'times of one clock',
        received: times,
        contract: 'runTime',
      })
    },
    'own_clock',
  ),
]

/** Starts an empty run store. */
export interface RunStoreHarness extends Declares<RunStoreCapability> {
  start(): StartedRunStore | Promise<StartedRunStore>
  /** How long a case waits in real time for what must happen (30 s). */
  readonly patienceMs?: number | undefined
}

/** A run store, and the means to reach it by another way, to move its clock, and to interrupt it. */
export interface StartedRunStore {
  readonly store: RunStore
  /** Opens another handle on the same storage, with a connection of its own, as another process has it. */
  readonly connect?: (() => RunStore | Promise<RunStore>) | undefined
  /** Moves the clock of the store, if it is a virtual one. Without it the cases wait in real time, some 30 ms at a time. */
  readonly advance?: ((ms: number) => unknown) | undefined
  /** Makes the next save fail in the middle of its write. */
  readonly interruptNextSave?: (() => unknown) | undefined
  /** Closes everything that is still open. Called once, after the case. */
  readonly close?: (() => unknown) | undefined
}

/** A case for run stores. */
export type RunStoreCase = ConformanceCase<RunStoreHarness, RunStoreCapability>

/** A time that lasts longer than a case, in milliseconds. */
const long = 60_000

/** A time that passes during a case. */
const short = 30

/** What a case works with. */
interface Stage extends StartedRunStore {
  /** A handle by its number: 0 is the store itself. Without `connect` all of them are. */
  readonly handle: (index: number) => Promise<RunStore>
  readonly handles: (count: number) => Promise<readonly [RunStore, ...RunStore[]]>
  /** Lets time pass if the clock is virtual; else only the event loop turns. */
  readonly elapse: (ms: number) => Promise<void>
  /** Counts the questions of a loop: fails it when it asks for too long. */
  readonly patience: (wait: Patience) => () => Promise<void>
  /** Lets time pass and asks again until the answer is yes. */
  readonly eventually: (ms: number, ask: () => Promise<boolean>, wait: Patience) => Promise<void>
}

/** What a case waits for. */
interface Patience {
  readonly expected: string
  readonly contract: ContractName
}

function caseOf(
  name: string,
  act: (stage: Stage) => Promise<void>,
  capability?: RunStoreCapability,
): RunStoreCase {
  const run = async (harness: RunStoreHarness): Promise<void> => {
    const started = await harness.start()
    try {
      await act(stageOf(started, harness))
    } finally {
      await started.close?.()
    }
  }
  return capability === undefined ? { name, run } : { name, capability, run }
}

/** The least number of questions before a case gives up: the process may have been suspended. */
const leastQuestions = 100

function stageOf(started: StartedRunStore, harness: RunStoreHarness): Stage {
  const { patienceMs = defaultPatienceMs, capabilities = [] } = harness
  if (capabilities.includes('shared')) provided(started.connect, 'connect')
  const opened: (RunStore | Promise<RunStore>)[] = [started.store]
  const handle = async (index: number): Promise<RunStore> => {
    if (started.connect === undefined) return started.store
    return (opened[index % 3] ??= started.connect())
  }
  const elapse = async (ms: number): Promise<void> => {
    await started.advance?.(ms)
    await nextTurn()
  }
  const patience: Stage['patience'] = (wait) => {
    const deadline = systemClock.now() + patienceMs
    let questions = 0
    return async () => {
      if (questions++ >= leastQuestions && systemClock.now() > deadline) {
        throw new ConformanceFailure({ ...wait, received: `nothing within ${patienceMs} ms` })
      }
      await nextTurn()
    }
  }
  return {
    ...started,
    handle,
    handles: async (count) => {
      const others = Array.from({ length: count - 1 }, (_, index) => handle(index + 1))
      return [started.store, ...(await Promise.all(others))]
    },
    elapse,
    patience,
    eventually: async (ms, ask, wait) => {
      await started.advance?.(ms)
      const again = patience(wait)
      while (!(await ask())) {
        await again()
        // A virtual clock moves on, so that something that is due in less than a millisecond comes.
        await started.advance?.(1)
      }
    },
  }
}

/** Takes a lease that must be free. */
async function taken(
  store: RunStore,
  id: string,
  options: { readonly owner?: string; readonly ttlMs?: number } = {},
): Promise<AcquiredLease> {
  const lease = await store.acquire(id, { owner: 'owner', ttlMs: long, ...options })
  demand(lease !== undefined, {
    expected: `the lease of ${id}, which nobody owns`,
    received: lease,
    contract: 'runLease',
  })
  return lease
}

/** Takes a lease as soon as the one that is there has expired. */
async function takenOver(stage: Stage, store: RunStore, id: string): Promise<AcquiredLease> {
  let lease: AcquiredLease | undefined
  const ask = async (): Promise<boolean> => {
    lease = await store.acquire(id, { owner: 'other', ttlMs: long })
    return lease !== undefined
  }
  await stage.eventually(short, ask, {
    expected: 'the lease, after the one before has expired',
    contract: 'runLease',
  })
  demand(lease !== undefined, { expected: 'a lease', received: lease, contract: 'runLease' })
  return lease
}

/** Waits until the lease of a session has expired. */
async function died({ eventually, store }: Stage, id: string): Promise<void> {
  const ask = async (): Promise<boolean> => {
    const state = await store.look(id)
    return state?.running === true && state.owner === undefined
  }
  await eventually(short, ask, {
    expected: `look to tell that the lease of ${id} expired: running, without an owner`,
    contract: 'runLook',
  })
}

/** A lease that somebody else took over, of a session with a history, a command, a stop request and a new owner. */
async function lost(stage: Stage, id: string): Promise<Lease> {
  const { store, handle } = stage
  const lease = await taken(store, id, { ttlMs: short })
  await store.push(id, send('one'))
  await store.save(sessionOf(id, 'mine'), { lease, events: [delta('a')], first: true })
  const other = await handle(1)
  const next = await takenOver(stage, other, id)
  await other.save(sessionOf(id, 'theirs'), { lease: next, events: [delta('b')] })
  await other.append(id, [delta('c')], { lease: next })
  await other.requestStop(id)
  return lease
}

/** Five sessions that became due at different times, for different reasons. */
async function dueInTurn(stage: Stage): Promise<void> {
  const { store } = stage
  for (const [id, wakeInMs] of [
    ['b', short],
    ['d', 1],
    ['a', short / 2],
  ] as const) {
    await store.release(id, await taken(store, id), { wakeInMs })
  }
  await taken(store, 'e', { ttlMs: short / 3 })
  await stage.elapse(2)
  await store.push('c', send('one'))
  await stage.eventually(short, async () => (await store.due({ limit: 10 })).length === 5, {
    expected: 'five sessions to be due',
    contract: 'runDue',
  })
}

/** Prunes everything that is in the past, again and again, until something is gone. */
async function pruned(stage: Stage, isGone: () => Promise<boolean>): Promise<void> {
  const ask = async (): Promise<boolean> => {
    await stage.store.prune({ keepMs: 0 })
    return isGone()
  }
  await stage.eventually(short, ask, {
    expected: 'what is old to be removed',
    contract: 'runPrune',
  })
}

/** A log in which commands were applied before, between and after events. */
async function loggedCommands(store: RunStore, id: string): Promise<void> {
  for (const text of ['one', 'two', 'three', 'four']) await store.push(id, send(text))
  const lease = await taken(store, id)
  await store.save(sessionOf(id), { lease, taken: 1, events: [delta('a'), delta('b')] })
  await store.append(id, [delta('c')], { lease })
  await store.save(sessionOf(id), { lease, taken: 2 })
  await store.append(id, [delta('d')], { lease })
  await store.save(sessionOf(id), { lease, taken: 1 })
}

const loggedEntries = [
  'command 1 one',
  'event 1 a',
  'event 2 b',
  'event 3 c',
  'command 2 two',
  'command 3 three',
  'event 4 d',
  'command 4 four',
]

/** Everything that a store tells about a session, as plain data. */
async function wholeState(store: RunStore, id: string): Promise<unknown> {
  return plain({
    stored: await store.load(id),
    state: await store.look(id),
    rows: (await store.list({ prefix: id })).filter((row) => row.id === id),
    inbox: await store.readInbox(id),
    log: await store.readEvents(id, { commands: true }),
    snapshot: await store.readSnapshot(id, Number.MAX_SAFE_INTEGER),
    stop: await store.stopRequested(id),
    pending: (await store.pending({ prefix: id })).rows.filter((row) => row.sessionId === id),
  })
}

const emptyState = { rows: [], inbox: [], log: [], stop: false, pending: [] }

/** The same without times, which differ between two sessions that are otherwise the same. */
function timeless(state: unknown): unknown {
  const times = new Set(['at', 'updatedAt', 'dueAt'])
  return JSON.parse(JSON.stringify(state, (name, value: unknown) => (times.has(name) ? 0 : value)))
}

/** Demands that nothing changes while something is refused. */
async function demandUnchanged(
  store: RunStore,
  id: string,
  act: () => Promise<void>,
): Promise<void> {
  const before = await wholeState(store, id)
  await act()
  const after = await wholeState(store, id)
  demand(sameJson(after, before), {
    expected: `nothing to be changed: ${JSON.stringify(before)}`,
    received: after,
    contract: 'runFence',
  })
}

/** What a session of a case waits for: the ids of calls. */
interface Waits {
  readonly asks?: readonly string[]
  readonly approvals?: readonly string[]
  readonly results?: readonly string[]
  /** The sessions of agents inside calls, by the call. */
  readonly inside?: Readonly<Record<string, Session>>
  /** The arguments of all calls. */
  readonly arguments?: JsonObject
  /** When calls expire, by their ids. */
  readonly expires?: Readonly<Record<string, number>>
  readonly metadata?: JsonObject
}

/** A session that waits for somebody. */
function waitingOf(id: string, waits: Waits): Session {
  const { asks = [], approvals = [], results = [], inside = {}, metadata = {} } = waits
  const { expires = {} } = waits
  const callOf = (callId: string): ToolCall => ({
    id: callId,
    name: `tool_${callId}`,
    arguments: waits.arguments ?? { text: longText, of: callId },
  })
  const toolCalls = [...asks, ...approvals, ...results, ...Object.keys(inside)].map(callOf)
  const run: RunProgress = {
    mode: 'auto',
    turns: 1,
    phase: 'waiting',
    answer: {
      requestId: 'r',
      provider: 'test',
      finishReason: 'tool_calls',
      usage: {},
      metadata: {},
    },
  }
  const saved = (callIds: readonly string[], call: (callId: string) => SavedCall): SavedCalls =>
    Object.fromEntries(
      callIds.map((callId) => {
        const expiresAt = expires[callId]
        const expiry = expiresAt === undefined ? {} : { expiresAt }
        return [callId, { told: 'no', ...call(callId), ...expiry }]
      }),
    )
  const waiting = withLists({
    ...sessionOf(id),
    thread: {
      messages: [
        { role: 'user', content: 'Hello' },
        { role: 'assistant', content: '', toolCalls },
      ],
      metadata: {},
    },
    metadata,
    run,
    calls: {
      ...saved(asks, (callId) => ({
        state: 'asking',
        question: { text: `${callId}? ${longText}`, options: {} },
      })),
      ...saved(approvals, (callId) => ({
        state: 'awaiting_approval',
        reason: `because ${callId}`,
      })),
      ...saved(results, () => ({ state: 'awaiting_result' })),
      ...Object.fromEntries(
        Object.entries(inside).map(([callId, inner]) => [
          callId,
          { state: 'running', told: 'no', inner, rests: true } as const,
        ]),
      ),
    },
  })
  return { ...waiting, status: waitingStatus(waiting) ?? 'idle' }
}

/** A row without the time, which only the store knows. */
type TimelessRow = Omit<PendingRow, 'since'>

/** The rows of sessions, by the order of ids and tickets. */
function rowsOf(sessions: readonly Session[], options: PendingOptions): readonly TimelessRow[] {
  const { kind, prefix = '', metadata: wanted = {}, expiresBy } = options
  return sessions.flatMap((session) => {
    const { id: sessionId, metadata } = session
    const isWanted = Object.entries(wanted).every(
      ([name, value]) => Object.hasOwn(metadata, name) && sameJson(metadata[name], value),
    )
    if (!isWanted || !sessionId.startsWith(prefix)) return []
    const calls = pendingCalls(session).filter(
      (call) =>
        (kind === undefined || call.kind === kind) &&
        (expiresBy === undefined || (call.expiresAt ?? Infinity) <= expiresBy),
    )
    return calls.map((call) => Object.assign({}, call, { sessionId, metadata }))
  })
}

/** Rows as plain data, in an order that does not depend on the time. */
function unordered(rows: readonly TimelessRow[]): unknown {
  return Object.fromEntries(rows.map((row) => [`${row.sessionId} ${row.ticket}`, plain(row)]))
}

/** Demands that what these sessions wait for is there, in order and with nothing else, and returns it. */
async function demandPending(
  store: RunStore,
  sessions: readonly Session[],
  options: PendingOptions = {},
): Promise<readonly PendingRow[]> {
  const wanted = rowsOf(sessions, options)
  const { rows, next } = await store.pending(options)
  const received = rows.map(({ since: _since, ...row }) => row)
  const isWhole = rows.length === wanted.length && sameJson(unordered(received), unordered(wanted))
  demand(isWhole && next === undefined, {
    expected: `a page with ${JSON.stringify(wanted)}, each with since, and no next`,
    received: { rows, next },
    contract: 'runPending',
  })
  const isOrdered = rows.every((row, index) => {
    const before = rows[index - 1]
    return Number.isSafeInteger(row.since) && (before === undefined || isPlacedBefore(before, row))
  })
  demand(isOrdered, {
    expected: 'the oldest `since` first, then the order of session ids and tickets by code points',
    received: rows,
    contract: 'runPending',
  })
  return rows
}

function isPlacedBefore(left: PendingRow, right: PendingRow): boolean {
  if (left.since !== right.since) return left.since < right.since
  if (left.sessionId !== right.sessionId) return isBefore(left.sessionId, right.sessionId)
  return left.ticket < right.ticket
}

/** All pages of what waits. */
async function pendingPages(
  store: RunStore,
  options: PendingOptions,
): Promise<readonly (readonly PendingRow[])[]> {
  const pages: (readonly PendingRow[])[] = []
  let after: string | undefined
  for (;;) {
    const { rows, next } = await store.pending(
      after === undefined ? options : { ...options, after },
    )
    pages.push(rows)
    demand(pages.length <= 100, {
      expected: 'an end of the pages',
      received: { rows, next },
      contract: 'runPending',
    })
    if (next === undefined) return pages
    after = next
  }
}

/** Waits until the clock of the store shows another millisecond. */
async function ticked({ store, eventually }: Stage): Promise<void> {
  const now = async (): Promise<number> => {
    await store.save(sessionOf('clock'))
    return (await store.load('clock'))?.updatedAt ?? 0
  }
  const before = await now()
  await eventually(2, async () => (await now()) > before + 1, {
    expected: 'the clock of the store to go on',
    contract: 'runTime',
  })
  await store.delete('clock')
}

function demandRising(leases: readonly Lease[]): void {
  const tokens = leases.map(({ token }) => token)
  const rising = tokens.every((token, index) => index === 0 || token > (tokens[index - 1] ?? token))
  demand(rising && tokens.every((token) => Number.isSafeInteger(token)), {
    expected: 'tokens that rise, all safe integers',
    received: tokens,
    contract: 'runLease',
  })
}

function demandFalse(received: unknown, name: string, contract: ContractName = 'runFence'): void {
  demand(received === false, { expected: `${name} to return false`, received, contract })
}

async function demandPushed(push: ReturnType<RunStore['push']>): Promise<void> {
  const received = await push
  demand(received === true, { expected: 'push to return true', received, contract: 'runSlot' })
}

/** Demands that a command was not stored, and that its caller is told which one has the slot. */
async function demandSlotTaken(
  push: ReturnType<RunStore['push']>,
  holder: InboxEntry | undefined,
): Promise<void> {
  const received = await push
  const wanted = plain({ taken: false, ...holder })
  demand(holder !== undefined && sameJson(plain(received), wanted), {
    expected: `push to return the command that has the slot: ${JSON.stringify(wanted)}`,
    received,
    contract: 'runSlot',
  })
}

async function demandDue(store: RunStore, ids: readonly string[]): Promise<void> {
  const due = await store.due({ limit: 10 })
  demand(sameJson(due, ids), {
    expected: ids.length === 0 ? 'nothing to be due' : `${ids.join()} to be due`,
    received: due,
    contract: 'runDue',
  })
}

/** Demands that a call with something illegal rejects before it does anything. */
async function demandInvalid(work: Promise<unknown>): Promise<void> {
  const outcome: unknown = await work.catch((thrown: unknown) => thrown)
  demand(isAllmError(outcome) && outcome.kind === 'validation', {
    expected: 'a rejection with a ValidationError',
    received: outcome,
    contract: 'storeIds',
  })
}

function demandTexts(
  inbox: Awaited<ReturnType<RunStore['readInbox']>>,
  wanted: readonly string[],
): void {
  demand(sameJson(texts(inbox), wanted), {
    expected: wanted.length === 0 ? 'an empty inbox' : `the commands ${wanted.join()}`,
    received: inbox,
    contract: 'runInbox',
  })
}

function demandLog(entries: readonly LogEntry[], wanted: readonly string[]): void {
  const received = shown(entries)
  demand(sameJson(received, wanted), {
    expected: `the entries ${wanted.length === 0 ? '(none)' : wanted.join(', ')}`,
    received,
    contract: 'runLog',
  })
}

/** The entries of a log as short texts: `event 1 a`, `command 1 one`. */
function shown(entries: readonly LogEntry[]): readonly string[] {
  return entries.map((entry) =>
    'event' in entry
      ? `event ${entry.id} ${entry.event.type === 'text_delta' ? entry.event.delta : ''}`
      : `command ${entry.id} ${commandText(entry.command)}`,
  )
}

function texts(inbox: readonly { readonly command: SessionCommand }[]): readonly string[] {
  return inbox.map(({ command }) => commandText(command))
}

function commandText(command: SessionCommand): string {
  return command.type === 'send' && typeof command.content === 'string' ? command.content : ''
}

function approve(args: JsonObject): SessionCommand {
  return { type: 'approve', toolCallId: 'c', arguments: args }
}

function deny(reason: string): SessionCommand {
  return { type: 'deny', toolCallId: 'c', reason }
}

function send(content: string): SessionCommand {
  return { type: 'send', content }
}

function delta(text: string): StreamEvent {
  return { type: 'text_delta', delta: text }
}

/** A session with a number in its metadata. */
function counterOf(id: string, count: number): Session {
  return { ...sessionOf(id), metadata: { count } }
}

function countOf({ metadata }: Session): number {
  return Number(metadata['count'])
}

function textOf({ thread }: Session): unknown {
  return thread.messages[0]?.content
}

function allEqual(values: readonly unknown[]): boolean {
  return values.every((value) => value === values[0])
}

/** A value as JSON has it: without what is undefined. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value))
}

/** Does something while the clock of this process is wrong. */
async function withProcessClock<T>(aheadMs: number, act: () => Promise<T>): Promise<T> {
  const now = Date.now
  Date.now = () => now() + aheadMs
  try {
    return await act()
  } finally {
    Date.now = now
  }
}
