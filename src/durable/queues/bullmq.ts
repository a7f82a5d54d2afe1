import { systemClock } from '../../core/base/clock.ts'
import {
  anyFunction,
  assertValid,
  between,
  must,
  optionsOf,
  type Check,
} from '../../core/schema/checks.ts'
import { isObject } from '../../core/types/guards.ts'
import type { Runs, RunQueue } from '../runs/contract.ts'
import { assertSessionId } from '../stores/session-store.ts'

/**
 * A queue of BullMQ as the doorbell of `createRuns({ queue })`. BullMQ 6.7 or later, on Redis or on its Postgres backend.
 *
 * Rings for one session collapse. One that comes while its job is active is kept, and becomes a job when that one ends; one that comes while its
 * job is delayed makes it due at once. So no ring is lost, and a hundred cost as much as two. Only a session that waits for another attempt of its
 * model call gets a second job when it is rung for; the first stays delayed until its time, finds nothing to do, and ends. A job that fails
 * is tried again for ever, because what it stands for is in the store. With `delayMs` a ring is a job of its own.
 */
export function bullmqQueue(queue: BullmqQueue, options: BullmqQueueOptions = {}): RunQueue {
  assertValid('invalid_options', bullmq(queue))
  assertValid('invalid_options', queueOptions(options))
  const { jobOptions } = options
  return {
    async ring(id, { delayMs } = {}) {
      assertSessionId(id)
      const once = { deduplication: { id, keepLastIfActive: true, reschedule: true } }
      const when = delayMs === undefined || delayMs <= 0 ? once : { delay: delayMs }
      await queue.add(jobName, { id }, { ...jobOptions?.(id), ...unfailing, ...when })
    },
  }
}

/**
 * The function of a BullMQ `Worker`: advances the session of a job.
 *
 * The job is completed when the session rests. While somebody else owns the session (`busy`), or after it was taken over (`lost`), the job is delayed
 * by half of `leaseMs`: its owner may die. A session that waits for another attempt of its model call (`wakeInMs`) is a delayed job and holds no
 * worker. A run that was saved for another owner (`drained`) is due again at once. An error of the store fails the attempt, and the job is tried again.
 */
export function bullmqProcessor(
  runs: Pick<Runs, 'advance'> & Partial<Pick<Runs, 'leaseMs'>>,
  options: BullmqLeaseOptions = {},
): BullmqProcessor {
  assertValid('invalid_options', advanceable(runs))
  assertValid('invalid_options', leaseOptions(options))
  const { leaseMs = runs.leaseMs ?? defaultLeaseMs } = options
  return async (job, token, signal) => {
    const { id } = job.data
    let mayWait = false
    for (;;) {
      const { outcome, wakeInMs, more } = await runs.advance(id, { signal })
      if (outcome === 'drained') return delay(job, token, 0)
      if (outcome === 'busy' || outcome === 'lost') return delay(job, token, leaseMs / 2)
      if (more) continue
      if (wakeInMs === undefined) return
      if (mayWait) return delay(job, token, wakeInMs)
      // A ring that is kept for the end of this job would wait as long as the job. From now on a ring makes a job of its own, and what
      // was rung for before is seen by one more look.
      await job.removeDeduplicationKey?.()
      mayWait = true
    }
  }
}

/**
 * Options of a BullMQ `Worker` that fit the `leaseMs` of the runs (10 000): another worker gets the job of a dead one within two lease
 * times, however often that happens. With BullMQ's own options a job is found after up to a minute, and one whose worker died twice is given up.
 */
export function bullmqOptions(options: BullmqLeaseOptions = {}): BullmqWorkerOptions {
  assertValid('invalid_options', leaseOptions(options))
  const { leaseMs = defaultLeaseMs } = options
  return {
    lockDuration: leaseMs,
    stalledInterval: Math.ceil(leaseMs / 3),
    maxStalledCount: forEver,
    removeOnComplete: { count: 1000 },
    removeOnFail: { count: 1000 },
  }
}

/** What `bullmqQueue` needs of a `Queue` of BullMQ. */
export interface BullmqQueue {
  add(name: string, data: BullmqRing, options: BullmqJobOptions): Promise<unknown>
}

/** The data of a job: the session that it is about. */
export interface BullmqRing {
  readonly id: string
}

/** The options of a job that a ring makes. */
export interface BullmqJobOptions {
  readonly attempts: number
  readonly backoff: { readonly type: 'fixed'; readonly delay: number; readonly jitter: number }
  readonly stackTraceLimit: number
  readonly delay?: number
  readonly deduplication?: {
    readonly id: string
    readonly keepLastIfActive: boolean
    readonly reschedule: boolean
  }
}

/** The options of `bullmqQueue`. */
export interface BullmqQueueOptions {
  /** More options of BullMQ for the jobs of a session, such as `{ priority: 5 }`. */
  readonly jobOptions?: ((id: string) => Readonly<Record<string, unknown>>) | undefined
}

/** What `bullmqProcessor` needs of a `Job` of BullMQ. */
export interface BullmqJob {
  readonly data: BullmqRing
  moveToDelayed(timestamp: number, token?: string): Promise<void>
  removeDeduplicationKey?(): Promise<boolean>
}

/** A processor of a BullMQ `Worker`. Aborting the signal (`worker.cancelJob`) hands the run over. */
export type BullmqProcessor = (
  job: BullmqJob,
  token?: string,
  signal?: AbortSignal,
) => Promise<void>

/** The options of `bullmqProcessor` and `bullmqOptions`. */
export interface BullmqLeaseOptions {
  /** The same as that of `createRuns`: `runs.leaseMs`. Unless given, `bullmqProcessor` takes that of its runs, and `bullmqOptions` 10 000. */
  readonly leaseMs?: number | undefined
}

/** The options of a BullMQ `Worker` that `bullmqOptions` gives. */
export interface BullmqWorkerOptions {
  readonly lockDuration: number
  readonly stalledInterval: number
  readonly maxStalledCount: number
  readonly removeOnComplete: { readonly count: number }
  readonly removeOnFail: { readonly count: number }
}

/** The name of all jobs. */
const jobName = 'advance'

const defaultLeaseMs = 10_000

/** The largest count that both backends of BullMQ take. */
const forEver = 2_147_483_647

/** A job that BullMQ gives up would be a session that nobody goes on with. */
const unfailing = {
  attempts: forEver,
  backoff: { type: 'fixed', delay: 5000, jitter: 0.5 },
  stackTraceLimit: 3,
} as const

/** Delays an active job, and ends its processing. */
async function delay(job: BullmqJob, token: string | undefined, ms: number): Promise<never> {
  await job.moveToDelayed(systemClock.now() + ms, token)
  // BullMQ knows its DelayedError by this name too: the job is neither completed nor failed.
  const moved = new Error(`the job of session ${job.data.id} was delayed by ${ms} ms`)
  moved.name = 'DelayedError'
  throw moved
}

const bullmq: Check = must(
  'a Queue of BullMQ',
  (value) => isObject(value) && typeof value['add'] === 'function',
)

const advanceable: Check = must(
  'the runs of createRuns, which have advance(id)',
  (value) => isObject(value) && typeof value['advance'] === 'function',
)

const queueOptions = optionsOf({ jobOptions: anyFunction } satisfies Record<
  keyof BullmqQueueOptions,
  Check
>)

const leaseOptions = optionsOf({ leaseMs: between(30, 3_600_000) } satisfies Record<
  keyof BullmqLeaseOptions,
  Check
>)
