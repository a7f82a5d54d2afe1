import { DelayedError } from 'bullmq'
import { describe, expect, test } from 'vitest'
import {
  bullmqOptions,
  bullmqProcessor,
  bullmqQueue,
  type BullmqJob,
  type BullmqJobOptions,
} from '../../../src/queues.ts'
import type { Advanced } from '../../../src/runs.ts'

/** Runs that answer in order, and a job that notes what is done with it. */
function bench(answers: readonly (Advanced | Error)[]) {
  const done: string[] = []
  const left = [...answers]
  const runs = {
    advance: async (id: string): Promise<Advanced> => {
      done.push(`advance ${id}`)
      const answer = left.shift()
      if (answer instanceof Error || answer === undefined) throw answer ?? new Error('too often')
      return answer
    },
  }
  const job: BullmqJob = {
    data: { id: 'ada' },
    moveToDelayed: async (timestamp, token) => {
      done.push(`delay ${Math.round((timestamp - Date.now()) / 1000)} s with ${token}`)
    },
    removeDeduplicationKey: async () => {
      done.push('free the key')
      return true
    },
  }
  return { done, runs, job }
}

describe('the processor', () => {
  const rows: readonly (readonly [string, readonly Advanced[], readonly string[]])[] = [
    ['busy', [{ outcome: 'busy', more: false }], ['advance ada', 'delay 50 s with t']],
    ['lost', [{ outcome: 'lost', more: false }], ['advance ada', 'delay 50 s with t']],
    [
      'drained',
      [{ outcome: 'drained', wakeInMs: 0, more: false }],
      ['advance ada', 'delay 0 s with t'],
    ],
    [
      'a wait',
      [
        { outcome: 'idle', wakeInMs: 1_200_000, more: false },
        { outcome: 'idle', wakeInMs: 1_199_000, more: false },
      ],
      ['advance ada', 'free the key', 'advance ada', 'delay 1199 s with t'],
    ],
  ]
  test.each(rows)('delays a job whose session is %s', async (_what, answers, expected) => {
    const { done, runs, job } = bench(answers)
    const ended = bullmqProcessor(runs, { leaseMs: 100_000 })(job, 't')
    await expect(ended).rejects.toMatchObject({ name: new DelayedError().name })
    expect(done).toEqual(expected)
  })

  test('completes a job whose session rests, and runs it again at once while there is more', async () => {
    const { done, runs, job } = bench([
      { outcome: 'halted', more: true },
      { outcome: 'completed', more: true },
      { outcome: 'completed', more: false },
    ])
    await bullmqProcessor(runs)(job, 't')
    expect(done).toEqual(['advance ada', 'advance ada', 'advance ada'])
  })

  test('completes a job whose session went on during the last look before a wait', async () => {
    const { done, runs, job } = bench([
      { outcome: 'idle', wakeInMs: 60_000, more: false },
      { outcome: 'halted', more: false },
    ])
    await bullmqProcessor(runs)(job, 't')
    expect(done).toEqual(['advance ada', 'free the key', 'advance ada'])
  })

  test('fails the attempt when the session cannot be advanced', async () => {
    const gone = new Error('the store is gone')
    const { runs, job } = bench([gone])
    await expect(bullmqProcessor(runs)(job, 't')).rejects.toBe(gone)
  })

  test('takes the lease of its runs', async () => {
    const { done, runs, job } = bench([{ outcome: 'busy', more: false }])
    const ended = bullmqProcessor({ ...runs, leaseMs: 60_000 })(job, 't')
    await expect(ended).rejects.toMatchObject({ name: 'DelayedError' })
    expect(done).toEqual(['advance ada', 'delay 30 s with t'])
  })

  test('takes the signal of BullMQ', () => {
    expect(bullmqProcessor(bench([]).runs)).toHaveLength(3)
  })
})

test('a ring has options with which no session is given up and rings collapse', async () => {
  const added: unknown[] = []
  const queue = {
    add: async (name: string, data: unknown, options: BullmqJobOptions) =>
      added.push([name, data, options]),
  }
  const bell = bullmqQueue(queue, { jobOptions: (id) => ({ priority: id.length, attempts: 1 }) })
  await bell.ring('ada')
  await bell.ring('ada', { delayMs: 60_000 })
  const always = {
    attempts: 2_147_483_647,
    backoff: { type: 'fixed', delay: 5000, jitter: 0.5 },
    stackTraceLimit: 3,
    priority: 3,
  }
  const deduplication = { id: 'ada', keepLastIfActive: true, reschedule: true }
  expect(added).toEqual([
    ['advance', { id: 'ada' }, { ...always, deduplication }],
    ['advance', { id: 'ada' }, { ...always, delay: 60_000 }],
  ])
  await expect(bell.ring('')).rejects.toMatchObject({ kind: 'validation' })
})

test('the options of a worker follow from the lease', () => {
  expect(bullmqOptions({ leaseMs: 2000 })).toEqual({
    lockDuration: 2000,
    stalledInterval: 667,
    maxStalledCount: 2_147_483_647,
    removeOnComplete: { count: 1000 },
    removeOnFail: { count: 1000 },
  })
  expect(bullmqOptions()).toMatchObject({ lockDuration: 10_000, stalledInterval: 3334 })
})

test.each([
  ['leaseMs', () => bullmqOptions({ leaseMs: 0 })],
  ['leaseMS', () => bullmqOptions({ leaseMS: 1000 } as never)],
  ['lease', () => bullmqProcessor(bench([]).runs, { lease: 1000 } as never)],
  ['the runs of createRuns, which have advance(id)', () => bullmqProcessor({} as never)],
  ['jobOptions', () => bullmqQueue({ add: async () => 1 }, { jobOptions: {} as never })],
  ['a Queue of BullMQ', () => bullmqQueue({} as never)],
])('a mistake in the options is refused by name: %s', (name, make) => {
  expect(make).toThrow(name)
})
