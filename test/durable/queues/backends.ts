import { createPostgresBackend, Queue, runMigrations, Worker, type Processor } from 'bullmq'
import { Redis } from 'ioredis'
import { bullmqOptions } from '../../../src/queues.ts'
import { redisStore, type RunStore } from '../../../src/stores.ts'
import { createPlace, pgPool, reasonToSkip, serverUrl } from '../stores/postgres.ts'
import { findRedis, newPrefix } from '../stores/redis.ts'

/** A place of its own for a store and a queue of BullMQ, on one server. */
export interface Fleet {
  readonly queue: Queue
  readonly store: RunStore
  /** Starts a worker. It is closed with the fleet. */
  readonly work: (processor: Processor, concurrency?: number) => Worker
  readonly close: () => Promise<void>
}

/** A server that BullMQ runs on. */
export interface Backend {
  /** Its name, and why it cannot be used. */
  readonly title: string
  readonly missing: boolean
  readonly open: (leaseMs: number) => Promise<Fleet>
}

const redis = await findRedis()

/** Every server that BullMQ runs on. */
export const backends: readonly Backend[] = [
  {
    title: 'missing' in redis ? `Redis (skipped: ${redis.missing})` : 'Redis',
    missing: 'missing' in redis,
    open: async (leaseMs) => openRedis('url' in redis ? redis.url : '', leaseMs),
  },
  {
    title: `Postgres${reasonToSkip ?? ''}`,
    missing: reasonToSkip !== undefined,
    open: openPostgres,
  },
]

async function openRedis(url: string, leaseMs: number): Promise<Fleet> {
  const prefix = newPrefix()
  const { hostname: host, port } = new URL(url)
  const connection = { host, port: Number(port), maxRetriesPerRequest: null }
  const client = new Redis(url)
  const queue = new Queue('runs', { connection, prefix })
  const workers: Worker[] = []
  return {
    queue,
    store: redisStore(client, { prefix }),
    work: (processor, concurrency = 1) => {
      const options = { ...bullmqOptions({ leaseMs }), connection, prefix, concurrency }
      return started(new Worker('runs', processor, options), workers)
    },
    close: async () => {
      await Promise.all(workers.map((worker) => worker.close()))
      await queue.close()
      for (const key of await client.keys(`*${prefix}*`)) await client.del(key)
      client.disconnect()
    },
  }
}

async function openPostgres(leaseMs: number): Promise<Fleet> {
  const place = await createPlace('pg')
  const { schema } = place
  const pool = pgPool()
  const client = await pool.connect()
  await runMigrations(client, schema)
  client.release()
  const connection = { connectionString: serverUrl, schema, max: 4 }
  const queue = new Queue('runs', { connection }, createPostgresBackend)
  const workers: Worker[] = []
  return {
    // Only the type of its connection is another one.
    queue: queue as unknown as Queue,
    store: place.connect(),
    work: (processor, concurrency = 1) => {
      const options = { ...bullmqOptions({ leaseMs }), connection, concurrency }
      const worker = new Worker('runs', processor, options, createPostgresBackend)
      return started(worker as unknown as Worker, workers)
    },
    close: async () => {
      await Promise.all(workers.map((worker) => worker.close()))
      await queue.close()
      await pool.end()
      await place.remove()
    },
  }
}

function started(worker: Worker, workers: Worker[]): Worker {
  workers.push(worker)
  worker.on('error', () => undefined)
  return worker
}
