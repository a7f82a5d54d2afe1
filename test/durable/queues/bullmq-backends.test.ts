import type { Job } from 'bullmq'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createEngine, messageText, type Engine } from '../../../src/index.ts'
import { bullmqProcessor, bullmqQueue } from '../../../src/queues.ts'
import { createRuns, type Advanced, type Runs } from '../../../src/runs.ts'
import { fake } from '../../../src/testing.ts'
import { scriptedEngine } from '../runs/support.ts'
import { backends, type Fleet } from './backends.ts'

const leaseMs = 2000
const patience = { timeout: 60_000, interval: 20 }
const echo = scriptedEngine((text) => [['text', `about ${text}`]])

describe.each(backends)('BullMQ on $title', ({ missing, open }) => {
  let fleet: Fleet
  let ended: Runs[]
  beforeEach(async () => {
    if (!missing) fleet = await open(leaseMs)
    ended = []
  })
  afterEach(async () => {
    if (missing) return
    await Promise.all(ended.map((runs) => runs.close()))
    await fleet.close()
  })
  const newRuns = (engine: Engine): Runs => {
    const { store, queue } = fleet
    const runs = createRuns({
      engine,
      store,
      leaseMs,
      queue: bullmqQueue(queue),
      whenBusy: 'queue',
    })
    ended.push(runs)
    return runs
  }
  /** The same runs, with something that happens when a session was advanced and its job is still active. */
  const then = (runs: Runs, next: (advanced: Advanced, count: number) => Promise<unknown>) => {
    let count = 0
    return {
      advance: async (id: string) => {
        const advanced = await runs.advance(id)
        await next(advanced, ++count)
        return advanced
      },
    }
  }
  const counts = () => fleet.queue.getJobCounts('waiting', 'active', 'delayed', 'failed')
  const idle = { waiting: 0, active: 0, delayed: 0, failed: 0 }
  const settled = () => vi.waitFor(async () => expect(await counts()).toEqual(idle), patience)
  const wordsOf = async (runs: Runs, id: string) =>
    (await runs.get(id))?.session.thread.messages.map(messageText)

  test.skipIf(missing)('a worker runs what a web server was sent', async () => {
    const web = newRuns(echo)
    fleet.work(bullmqProcessor(newRuns(echo), { leaseMs }))
    const ids = ['ada', 'a:b/ü', '17']
    for (const id of ids) await web.send(id, 'one')
    for (const id of ids) {
      expect((await web.wait(id)).session.status).toBe('completed')
      expect(await wordsOf(web, id)).toEqual(['one', 'about one'])
    }
    await settled()
  })

  test.skipIf(missing)(
    'a ring that comes while its job is active is not lost, and a hundred of them make one job',
    async () => {
      const web = newRuns(echo)
      const bell = bullmqQueue(fleet.queue)
      const jobs: unknown[] = []
      // The session was released, and its job is not over yet.
      const runs = then(newRuns(echo), async (_advanced, count) => {
        if (count > 1) return
        await web.send('ada', 'two')
        for (let ring = 0; ring < 100; ring++) await bell.ring('ada')
      })
      const process = bullmqProcessor(runs, { leaseMs })
      fleet.work((job: Job, token) => {
        jobs.push(job.id)
        return process(job, token)
      })
      await web.send('ada', 'one')
      await vi.waitFor(
        async () =>
          expect(await wordsOf(web, 'ada')).toEqual(['one', 'about one', 'two', 'about two']),
        patience,
      )
      await settled()
      expect(jobs).toHaveLength(2)
    },
  )

  test.skipIf(missing)('rings for a session whose job waits are one job', async () => {
    const web = newRuns(echo)
    for (const text of ['one', 'two', 'three']) await web.send('ada', text)
    expect(await counts()).toEqual({ ...idle, waiting: 1 })
    fleet.work(bullmqProcessor(newRuns(echo), { leaseMs }))
    await web.wait('ada')
    expect(await wordsOf(web, 'ada')).toHaveLength(6)
    await settled()
  })

  test.skipIf(missing)(
    'a job is delayed while somebody else owns the session, and advanced as soon as it is rung again',
    async () => {
      const web = newRuns(echo)
      const lease = await fleet.store.acquire('ada', { owner: 'somebody', ttlMs: 60_000 })
      await web.send('ada', 'one')
      fleet.work(bullmqProcessor(newRuns(echo), { leaseMs: 600_000 }))
      const delayed = { ...idle, delayed: 1 }
      await vi.waitFor(async () => expect(await counts()).toEqual(delayed), patience)
      if (lease !== undefined) await fleet.store.release('ada', lease)
      await web.send('ada', 'two')
      await web.wait('ada')
      expect(await wordsOf(web, 'ada')).toEqual(['one', 'about one', 'two', 'about two'])
      await settled()
    },
  )

  test.skipIf(missing)('a job whose session was taken over is delayed, not completed', async () => {
    const web = newRuns(echo)
    const lost: Advanced = { outcome: 'lost', more: false }
    const runs = newRuns(echo)
    let count = 0
    const advance = (id: string) => (++count === 1 ? Promise.resolve(lost) : runs.advance(id))
    fleet.work(bullmqProcessor({ advance }, { leaseMs: 60 }))
    await web.send('ada', 'one')
    expect((await web.wait('ada')).session.status).toBe('completed')
    expect(count).toBe(2)
    await settled()
  })

  describe('a session that waits for 20 minutes', () => {
    const limited = createEngine({
      adapter: fake({ script: () => [['error', 'rate_limited', { retryAfterMs: 1_200_000 }]] }),
      retry: { jitterMs: 0 },
    })

    test.skipIf(missing)('is a delayed job, and holds no worker and no lease', async () => {
      const web = newRuns(limited)
      fleet.work(bullmqProcessor(newRuns(limited), { leaseMs }))
      await web.send('ada', 'one')
      const delayed = { ...idle, delayed: 1 }
      await vi.waitFor(async () => expect(await counts()).toEqual(delayed), patience)
      const [job] = await fleet.queue.getDelayed()
      expect(Math.round((job?.delay ?? 0) / 60_000)).toBe(20)
      expect((await fleet.store.look('ada'))?.owner).toBeUndefined()
      expect(await web.get('ada')).toMatchObject({ running: true, session: { status: 'idle' } })
      await web.stop('ada')
      expect((await web.wait('ada')).session.status).toBe('halted')
    })

    test.skipIf(missing)('hears a ring that comes just before its job is delayed', async () => {
      const web = newRuns(limited)
      // The first look has released the session; its job is still active.
      const runs = then(newRuns(limited), async (_advanced, count) => {
        if (count === 1) await web.stop('ada')
      })
      fleet.work(bullmqProcessor(runs, { leaseMs }))
      await web.send('ada', 'one')
      expect((await web.wait('ada')).session.status).toBe('halted')
      await settled()
    })

    test.skipIf(missing)('hears a ring that comes after the last look', async () => {
      const web = newRuns(limited)
      const runs = then(newRuns(limited), async (_advanced, count) => {
        if (count === 2) await web.stop('ada')
      })
      fleet.work(bullmqProcessor(runs, { leaseMs }))
      await web.send('ada', 'one')
      expect((await web.wait('ada')).session.status).toBe('halted')
      // What is left is the wake-up, which finds nothing to do.
      await vi.waitFor(
        async () => expect(await counts()).toEqual({ ...idle, delayed: 1 }),
        patience,
      )
    })
  })

  test.skipIf(missing)('a job whose attempt failed waits, and is not given up', async () => {
    const web = newRuns(echo)
    const runs = newRuns(echo)
    let failures = 3
    const advance = (id: string) =>
      failures-- > 0 ? Promise.reject(new Error('the store is gone')) : runs.advance(id)
    const worker = fleet.work(bullmqProcessor({ advance }, { leaseMs }))
    const reasons: string[] = []
    worker.on('failed', (_job, { message }) => reasons.push(message))
    await web.send('ada', 'one')
    for (let failed = 1; failed <= 3; failed++) {
      const delayed = { ...idle, delayed: 1 }
      await vi.waitFor(async () => {
        expect(reasons).toHaveLength(failed)
        expect(await counts()).toEqual(delayed)
      }, patience)
      await bullmqQueue(fleet.queue).ring('ada')
    }
    expect((await web.wait('ada')).session.status).toBe('completed')
    expect(reasons).toEqual(Array.from({ length: 3 }, () => 'the store is gone'))
    await settled()
  })

  test.skipIf(missing)('a worker that closes hands its run over at once', async () => {
    const slow = scriptedEngine((text) => [
      ['text', 'slowly '],
      ['delay', 600_000],
      ['text', `about ${text}`],
    ])
    const web = newRuns(echo)
    const first = newRuns(slow)
    const worker = fleet.work(bullmqProcessor(first, { leaseMs: 600_000 }))
    await web.send('ada', 'one')
    for await (const { event } of web.follow('ada')) if (event.type === 'text_delta') break
    await Promise.all([worker.close(), first.close()])
    expect((await fleet.store.look('ada'))?.owner).toBeUndefined()
    fleet.work(bullmqProcessor(newRuns(echo), { leaseMs }))
    await web.wait('ada')
    expect(await wordsOf(web, 'ada')).toEqual(['one', 'about one'])
    await settled()
  })

  test.skipIf(missing)('a job for a session that was deleted ends', async () => {
    const web = newRuns(echo)
    await web.send('ada', 'one')
    await web.delete('ada')
    fleet.work(bullmqProcessor(newRuns(echo), { leaseMs }))
    await settled()
    expect(await web.get('ada')).toBeUndefined()
  })
})
