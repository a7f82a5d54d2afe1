import { describe, expect, test } from 'vitest'
import { sweep, type SweepOptions } from '../../../src/queues.ts'
import { createRuns, type Runs } from '../../../src/runs.ts'
import { memoryStore } from '../../../src/stores.ts'
import { virtualClock } from '../../../src/testing.ts'
import { scriptedEngine } from '../runs/support.ts'

const engine = scriptedEngine((text) => [['text', `about ${text}`]])

/** Runs on a clock that the test moves, with a queue that loses every ring. */
function bench() {
  const clock = virtualClock({ auto: false })
  const store = memoryStore({ clock })
  const queue = { ring: async () => undefined }
  const runs = createRuns({ engine, store, clock, queue, leaseMs: 1000 })
  return { clock, store, runs }
}

/** An engine that keeps what is enqueued, and a sweep that fills it. */
function sweeping(runs: Pick<Runs, 'due'>, options: Omit<SweepOptions, 'enqueue'>) {
  const enqueued: string[] = []
  const swept = sweep(runs, { ...options, enqueue: async (id) => enqueued.push(id) })
  return { enqueued, swept }
}

/** A promise that the test resolves. */
function gate(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = (): void => undefined
  const promise = new Promise<void>((open) => {
    resolve = open
  })
  return { promise, resolve }
}

describe('a sweep', () => {
  test('enqueues sessions whose ring was lost, at once and then by the clock', async () => {
    const { clock, runs } = bench()
    await runs.send('ada', 'hi')
    const { enqueued, swept } = sweeping(runs, { everyMs: 100, clock })
    await clock.advance(0)
    expect(enqueued).toEqual(['ada'])
    await runs.send('bob', 'hi')
    await clock.advance(99)
    expect(enqueued).toEqual(['ada'])
    await clock.advance(1)
    expect(enqueued).toEqual(['ada', 'ada', 'bob'])
    for (const id of ['ada', 'bob']) await runs.advance(id)
    await clock.advance(1000)
    expect(enqueued).toHaveLength(3)
    await swept.close()
  })

  test('enqueues runs whose process died, and wake-ups whose time has come', async () => {
    const { clock, store, runs } = bench()
    await runs.send('dead', 'hi')
    await store.acquire('dead', { owner: 'somebody', ttlMs: 1000 })
    await runs.send('later', 'hi')
    const lease = await store.acquire('later', { owner: 'me', ttlMs: 1000 })
    const [command] = await store.readInbox('later')
    const stored = (await runs.get('later'))?.session
    if (lease === undefined || command === undefined || stored === undefined) throw new Error('no')
    await store.save(stored, { lease, taken: 1 })
    await store.release('later', lease, { wakeInMs: 3000 })
    const { enqueued, swept } = sweeping(runs, { everyMs: 500, clock })
    await clock.advance(900)
    expect(enqueued).toEqual([])
    await clock.advance(200)
    expect(enqueued).toEqual(['dead'])
    await runs.advance('dead')
    await clock.advance(2000)
    expect(enqueued).toEqual(['dead', 'later'])
    await swept.close()
  })

  test('reports what fails and goes on', async () => {
    const clock = virtualClock({ auto: false })
    const reported: unknown[] = []
    let looks = 0
    const runs = {
      due: async () => {
        if (++looks === 2) throw new Error('the store is gone')
        return ['ada', 'bob']
      },
    }
    const enqueued: string[] = []
    const swept = sweep(runs, {
      everyMs: 10,
      clock,
      enqueue: async (id) => {
        if (id === 'ada') throw new Error('the queue is full')
        enqueued.push(id)
      },
      onError: (error, id) => reported.push([String(error), id]),
    })
    await clock.advance(25)
    expect(enqueued).toEqual(['bob', 'bob'])
    expect(reported).toEqual([
      ['Error: the queue is full', 'ada'],
      ['Error: the store is gone', undefined],
      ['Error: the queue is full', 'ada'],
    ])
    await swept.close()
  })

  test('reports to the runs unless it has its own listener', async () => {
    const clock = virtualClock({ auto: false })
    const told: unknown[] = []
    const store = { ...memoryStore({ clock }), due: () => Promise.reject(new Error('gone')) }
    const onError = (error: unknown, id?: string): void => void told.push(['runs', error, id])
    const runs = createRuns({ engine, store, clock, onError })
    const swept = sweep(runs, { clock, enqueue: () => undefined })
    await swept.close()
    const own = (error: unknown): void => void told.push(['own', error])
    await sweep(runs, { clock, enqueue: () => undefined, onError: own }).close()
    expect(told).toEqual([
      ['runs', new Error('gone'), undefined],
      ['own', new Error('gone')],
    ])
  })

  test('prunes the logs of the runs, as often as is needed to keep up, beside its looks', async () => {
    const { clock, store, runs: own } = bench()
    const sessions = Array.from({ length: 2600 }, (_, index) => `s${index}`)
    for (const id of sessions) await store.push(id, { type: 'send', content: 'hi' }, { key: 'k' })
    const counts: number[] = []
    let looks = 0
    const runs = {
      due: async () => {
        looks++
        return []
      },
      prune: async () => {
        const count = await own.prune()
        counts.push(count)
        return count
      },
    }
    const swept = sweep(runs, { clock, everyMs: 3_600_000, enqueue: () => undefined })
    await clock.advance(600_000)
    expect(counts).toEqual([0])
    await clock.advance(23 * 3_600_000)
    expect(counts.every((count) => count === 0)).toBe(true)
    counts.length = 0
    await clock.advance(3_600_000 + 60_000)
    expect(counts.filter((count) => count > 0)).toEqual([1000, 1000, 600])
    expect(counts.slice(-4)).toEqual([1000, 1000, 600, 0])
    expect(looks).toBe(25)
    await swept.close()
    expect(clock.pending).toBe(0)
  })

  test('never looks twice at the same time', async () => {
    const clock = virtualClock({ auto: false })
    const { promise, resolve } = gate()
    let looks = 0
    const runs = {
      due: async () => {
        looks++
        return ['ada']
      },
    }
    const swept = sweep(runs, { everyMs: 10, clock, enqueue: () => promise })
    await clock.advance(1000)
    expect(looks).toBe(1)
    resolve()
    await clock.advance(10)
    expect(looks).toBe(2)
    await swept.close()
  })

  test('ends when it is disposed, also in the middle of a look', async () => {
    const clock = virtualClock({ auto: false })
    const enqueued: string[] = []
    const runs = { due: async () => ['ada', 'bob'] }
    const { promise, resolve } = gate()
    const swept = sweep(runs, {
      everyMs: 10,
      clock,
      enqueue: (id): Promise<void> => {
        enqueued.push(id)
        return promise
      },
    })
    await clock.advance(0)
    const closed = swept[Symbol.asyncDispose]()
    resolve()
    await closed
    await clock.advance(1000)
    expect(enqueued).toEqual(['ada'])
  })

  test('asks for as many as it is told', async () => {
    const { clock, runs } = bench()
    for (const id of ['one', 'two', 'three']) {
      await runs.send(id, 'hi')
      await clock.advance(1)
    }
    expect(await runs.due({ limit: 2 })).toEqual(['one', 'two'])
    const { enqueued, swept } = sweeping(runs, { clock, limit: 2 })
    await clock.advance(0)
    expect(enqueued).toEqual(['one', 'two'])
    await swept.close()
  })

  const enqueue = (): void => undefined
  test.each([
    ['enqueue', {}],
    ['everyMs', { enqueue, everyMs: 0 }],
    ['every', { enqueue, every: 100 }],
  ])('refuses a mistake in its options by name: %s', (name, options) => {
    expect(() => sweep({ due: async () => [] }, options as never)).toThrow(name)
  })
})
