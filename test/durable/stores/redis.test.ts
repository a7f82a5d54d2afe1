import { spawn, type ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'
import { Redis } from 'ioredis'
import { createClient, type RedisClientType } from 'redis'
import { afterEach, describe, expect, expectTypeOf, test } from 'vitest'
import { isAllmError, Session, type StreamEvent } from '../../../src/index.ts'
import {
  redisStore,
  type IoRedisClient,
  type NodeRedisClient,
  type RunStore,
} from '../../../src/stores.ts'
import { programOnSources } from '../../support/on-sources.ts'
import { toApprove } from '../../support/to-approve.ts'
import {
  canStartRedis,
  clients,
  findRedis,
  newPrefix,
  privateRedis,
  removeKeys,
  type OpenStore,
} from './redis.ts'

const found = await findRedis()
const url = 'url' in found ? found.url : ''
const why = 'missing' in found ? ` (skipped: ${found.missing})` : ''
const withRedis = test.skipIf(why !== '')
const canStart = canStartRedis()
const whyNot = canStart ? '' : ' (skipped: there is no redis-server)'
const withOwnRedis = test.skipIf(whyNot !== '')

const worker = await programOnSources(new URL('redis-worker.mjs', import.meta.url))

let closings: (() => unknown)[] = []

afterEach(async () => {
  for (const close of closings.toReversed()) await close()
  closings = []
})

function delta(text: string): StreamEvent {
  return { type: 'text_delta', delta: text }
}

function counter(count: number, id = 'counter'): Session {
  return Session.create({ id, metadata: { count } })
}

/** A store in the shared Redis that is removed after the test. */
async function opened(kind = 'ioredis', prefix = newPrefix()): Promise<OpenStore> {
  const open = clients[kind]
  if (open === undefined) throw new Error(`no client ${kind}`)
  const one = await open(url, prefix)
  closings.push(async () => {
    await removeKeys(one, prefix)
    await one.close()
  })
  return one
}

/** Asks again until the answer is yes. */
async function until(ask: () => Promise<boolean> | boolean): Promise<void> {
  while (!(await ask())) await new Promise((resolve) => setImmediate(resolve))
}

describe('the client', () => {
  test('is one of ioredis or of node-redis, by its shape', () => {
    expectTypeOf<Redis>().toExtend<IoRedisClient>()
    expectTypeOf<RedisClientType>().toExtend<NodeRedisClient>()
    expectTypeOf(createClient()).toExtend<NodeRedisClient>()
  })

  test.each([undefined, null, {}, { on: () => undefined }, 'redis://127.0.0.1'])(
    'is not %j',
    (client) => {
      expect(() => redisStore(client as never)).toThrow('must be a client of ioredis')
    },
  )

  test.each(['', 'a{b', 'a}b', 1])('has no prefix %j', (prefix) => {
    const client: NodeRedisClient = { sendCommand: async () => null, on: () => undefined }
    expect(() => redisStore(client, { prefix } as never)).toThrow('prefix must be')
    expect(() => redisStore(client, { prefx: 'a' } as never)).toThrow('prefx')
  })

  test('that cannot make a second connection gives no hints of others', async () => {
    const client: NodeRedisClient = { sendCommand: async () => [], on: () => undefined }
    const store = redisStore(client)
    expect(store.notifies).toBe(false)
    let hints = 0
    const end = store.watch('s', () => {
      hints++
    })
    await store.push('s', { type: 'resume' })
    expect(hints).toBe(1)
    end()
  })

  withRedis(`that sends a write again does not do it twice${why}`, async () => {
    const { store: plain, send } = await opened()
    const prefix = newPrefix()
    const client: IoRedisClient = {
      call: async (command, args) => {
        await send(command, ...args).catch(() => undefined)
        return send(command, ...args)
      },
      on: () => undefined,
    }
    const store = redisStore(client, { prefix })
    closings.push(() => removeKeys({ store: plain, send, close: async () => undefined }, prefix))

    expect(await store.push('s', { type: 'resume' })).toBe(true)
    expect(await store.push('t', { type: 'resume' }, { key: 'k' })).toBe(true)
    const lease = await store.acquire('s', { owner: 'a', ttlMs: 60_000 })
    if (lease === undefined) throw new Error('there is no lease')
    expect(await store.save(counter(1, 's'), { lease, events: [delta('a')], taken: 1 })).toBe(1)
    expect(await store.append('s', [delta('b')], { lease, after: 1 })).toBe(2)
    expect(await store.release('s', lease)).toBe(false)
    expect((await store.claim({ owner: 'b', ttlMs: 60_000 }))?.id).toBe('t')

    expect(await store.readEvents('s', { commands: true })).toHaveLength(3)
    expect(await store.readInbox('t')).toHaveLength(1)
  })

  withRedis(`of ioredis may have a prefix of its own${why}`, async () => {
    const { send } = await opened()
    const [own, prefix] = [`${newPrefix()}:`, newPrefix()]
    const client = new Redis(url, { keyPrefix: own })
    closings.push(async () => {
      await send('DEL', ...((await send('KEYS', `${own}*`)) as string[]))
      client.disconnect()
    })
    const store = redisStore(client, { prefix })
    await store.save(counter(1), { events: [delta('a')], first: true })
    expect((await store.load('counter'))?.version).toBe(1)
    expect(await send('EXISTS', `${own}{${prefix}}:s:counter`, `${own}{${prefix}}:ids`)).toBe(2)
  })
})

describe('a server that is not there', () => {
  test.each(['ioredis', 'node-redis'])('is told by %s without secrets', async (kind) => {
    const address = 'redis://user:hush-hush@127.0.0.1:1'
    const client =
      kind === 'ioredis'
        ? new Redis(address, { maxRetriesPerRequest: 0, retryStrategy: () => 1 })
        : createClient({ url: address, disableOfflineQueue: true })
    const store = redisStore(client)
    if (!(client instanceof Redis)) client.connect().catch(() => undefined)
    const end = store.watch('s', () => undefined)

    const failure: unknown = await store.save(counter(1)).catch((error: unknown) => error)

    end()
    if (client instanceof Redis) client.disconnect()
    else client.destroy()
    expect(failure).toMatchObject({ kind: 'session', reason: 'unavailable' })
    expect(failure).toHaveProperty('cause')
    expect(JSON.stringify(failure) + String(failure)).not.toContain('hush-hush')
  })
})

describe.each(Object.entries(clients))('with %s', (kind, open) => {
  withOwnRedis(
    `what was acknowledged survives a kill of Redis, and the store goes on${whyNot}`,
    { timeout: 120_000 },
    async () => {
      const redis = await privateRedis()
      closings.push(redis.end)
      const one = await open(redis.url, 'allm')
      closings.push(one.close)
      const { store } = one
      const lease = await store.acquire('counter', { owner: 'a', ttlMs: 600_000 })
      if (lease === undefined) throw new Error('there is no lease')
      let hints = 0
      const end = store.watch('counter', () => {
        hints++
      })
      closings.push(end)
      const outcomes = new Set<unknown>()
      let acknowledged = 0

      for (let round = 0; round < 3; round++) {
        const goal = acknowledged + 20
        const killed = until(() => acknowledged >= goal - 10).then(() => redis.kill())
        const state = { isKilled: false }
        const restarted = killed.then(async () => {
          state.isKilled = true
          await redis.start()
        })
        while (acknowledged < goal || !state.isKilled) {
          try {
            const last = (await store.load('counter'))?.session.metadata['count'] ?? 0
            const count = Number(last) + 1
            await store.save(counter(count), {
              lease,
              ifVersion: count - 1,
              events: [delta(String(count))],
            })
            acknowledged = count
          } catch (error) {
            if (!isAllmError(error)) throw error
            outcomes.add(error.reason)
            if (error.reason !== 'unavailable') break
            await new Promise((resolve) => setImmediate(resolve))
          }
        }
        await restarted
      }

      // A client may also wait until Redis is back.
      expect([...outcomes].filter((reason) => reason !== 'unavailable')).toEqual([])
      const stored = await store.load('counter')
      const count = Number(stored?.session.metadata['count'])
      expect(count).toBeGreaterThanOrEqual(acknowledged)
      const events = await store.readEvents('counter', {})
      expect(events).toMatchObject(
        Array.from({ length: count }, (_, index) => ({
          id: index + 1,
          event: delta(String(index + 1)),
        })),
      )

      await redis.kill()
      const failure: unknown = await store
        .save(counter(0), { lease })
        .catch((error: unknown) => error)
      expect(failure).toMatchObject({ kind: 'session', reason: 'unavailable' })
      expect(failure).toHaveProperty('cause')
      await redis.start()
      await until(() => store.look('counter').then(Boolean, () => false))

      // Another process is heard again.
      const other = await open(redis.url, 'allm')
      closings.push(other.close)
      const before = hints
      await until(async () => {
        await other.store.requestStop('counter')
        return hints > before
      })
    },
  )

  withRedis(`scripts that were flushed are sent again${why}`, async () => {
    const { store, send } = await opened(kind)
    await store.save(counter(1))
    await send('SCRIPT', 'FLUSH')
    expect(await store.save(counter(2))).toBe(2)
  })

  withRedis(`the connection for hints is open while something is watched${why}`, async () => {
    const prefix = newPrefix()
    const { store, send } = await opened(kind, prefix)
    const subscribed = async (): Promise<number> => {
      const reply = await send('PUBSUB', 'CHANNELS', `{${prefix}}:*`)
      return (reply as string[]).length
    }
    const ends = [
      store.watch('s', () => undefined),
      store.watch('s', () => undefined),
      store.watch('t', () => undefined),
    ]
    await until(async () => (await subscribed()) === 2)
    ends[0]?.()
    ends[2]?.()
    await until(async () => (await subscribed()) === 1)
    ends[1]?.()
    await until(async () => (await subscribed()) === 0)
    const again = store.watch('u', () => undefined)
    await until(async () => (await subscribed()) === 1)
    again()
  })

  withRedis(
    `several processes count together, also when some of them are killed${why}`,
    { timeout: 120_000 },
    async () => {
      const goal = 200
      const prefix = newPrefix()
      const { store } = await opened(kind, prefix)
      const children = new Set<ChildProcess>()
      const counts: number[] = []
      closings.push(() => {
        for (const child of children) child.kill('SIGKILL')
      })
      const ended: Promise<unknown>[] = []
      const start = (): ChildProcess => {
        const child = spawn(process.execPath, [worker, url, prefix, kind, String(goal)], {
          stdio: ['ignore', 'pipe', 'inherit'],
        })
        children.add(child)
        createInterface({ input: child.stdout }).on('line', (line) => counts.push(Number(line)))
        ended.push(new Promise((resolve) => child.once('close', resolve)))
        return child
      }
      const doomed = [start(), start()]
      start()
      for (const [index, child] of doomed.entries()) {
        await until(() => counts.length > 40 * (index + 1))
        child.kill('SIGKILL')
        start()
      }
      await Promise.all(ended)

      expect((await store.load('counter'))?.session.metadata).toEqual({ count: goal })
      const events = await store.readEvents('counter', {})
      expect(events).toMatchObject(
        Array.from({ length: goal }, (_, index) => ({ event: delta(String(index + 1)) })),
      )
      // A process that was killed may not have printed its last one.
      expect(new Set(counts).size).toBe(counts.length)
      expect(counts.length).toBeGreaterThanOrEqual(goal - doomed.length)
    },
  )
})

withRedis(`long lists and many old logs are read in pages${why}`, async () => {
  const { store } = await opened()
  const ids = Array.from({ length: 1100 }, (_, index) => `s${String(index).padStart(4, '0')}`)
  const fill = async (id: string): Promise<unknown> =>
    store.save(counter(Number(id.slice(1)) % 10, id), { events: [delta(id)], first: true })
  await Promise.all(ids.map(fill))
  expect((await store.list()).map(({ id }) => id)).toEqual(ids)
  expect(await store.list({ metadata: { count: 7 } })).toHaveLength(110)
  expect(await store.list({ metadata: { count: 7 }, limit: 60 })).toHaveLength(60)
  expect(await store.list({ status: 'completed' })).toEqual([])
  let pruned = 0
  await until(async () => (pruned += await store.prune({ keepMs: 0 })) >= ids.length)
  expect(pruned).toBe(ids.length)
  expect(await store.prune({ keepMs: 0 })).toBe(0)
})

withRedis(`a session that was deleted leaves no key behind${why}`, async () => {
  const prefix = newPrefix()
  const { store, send } = await opened('node-redis', prefix)
  await filled(store, 's')
  expect(await send('KEYS', `{${prefix}}:*`)).toHaveLength(14)
  await store.save(toApprove('t'))
  // The session, what it waits for, and the index of everything that waits and that of approvals.
  expect(await send('KEYS', `{${prefix}}:*`)).toHaveLength(14 + 4)
  for (const id of ['s', 't']) await store.delete(id)
  expect(await send('KEYS', `{${prefix}}:*`)).toEqual([`{${prefix}}:token`])
})

withRedis(`a key that version 0.2 stored, without a digest, fits every command${why}`, async () => {
  const prefix = newPrefix()
  const { store, send } = await opened('node-redis', prefix)
  await store.push('s', { type: 'resume' }, { key: 'k' })
  await send('DEL', `{${prefix}}:d:s`)
  expect(await store.knowsKey('s', 'k', { type: 'send', content: 'a' })).toBe(true)
  expect(await store.push('s', { type: 'send', content: 'a' }, { key: 'k' })).toBe(false)
})

withRedis(
  `a slot of a command that was applied is no slot of the inbox any more${why}`,
  async () => {
    const prefix = newPrefix()
    const { store, send } = await opened('node-redis', prefix)
    for (const slot of ['a', 'b', 'c']) await store.push('s', { type: 'resume' }, { slot })
    await store.save(counter(1, 's'), { taken: 2 })
    expect(await send('HVALS', `{${prefix}}:w:s`)).toEqual(['"c"'])
    expect(await send('HLEN', `{${prefix}}:h:s`)).toBe(3)
  },
)

withRedis(`pruning removes the digests of keys${why}`, async () => {
  const prefix = newPrefix()
  const { store, send } = await opened('node-redis', prefix)
  await store.push('s', { type: 'resume' }, { key: 'k' })
  while (await store.knowsKey('s', 'k')) await store.prune({ keepMs: 0 })
  expect(await send('EXISTS', `{${prefix}}:d:s`)).toBe(0)
})

/** A session that has some of everything. */
async function filled(store: RunStore, id: string): Promise<void> {
  await store.push(id, { type: 'resume' }, { key: 'k', slot: 'applied' })
  const lease = await store.acquire(id, { owner: 'a', ttlMs: 60_000 })
  await store.save(counter(1, id), { lease, events: [delta('a')], taken: 1, first: true })
  await store.push(id, { type: 'resume' }, { slot: 'waits' })
}

withOwnRedis(
  `a watch that ends in the moment in which its connection is back leaves no rejection behind${whyNot}`,
  { timeout: 120_000 },
  async () => {
    const redis = await privateRedis()
    closings.push(redis.end)
    const client = new Redis(redis.url, { retryStrategy: () => 10, maxRetriesPerRequest: null })
    closings.push(() => client.disconnect())
    let connections = 0
    let onReady = (): boolean => false
    const duplicate: IoRedisClient['duplicate'] = (options) => {
      const subscriber = client.duplicate(options)
      subscriber.on('ready', () => {
        connections++
        if (onReady()) subscriber.stream.destroy()
      })
      return subscriber
    }
    const store = redisStore({
      call: (command, args) => client.call(command, args),
      on: (event, listener) => client.on(event, listener),
      duplicate,
    })
    const listen = () => store.watch('s', () => undefined)
    let end = listen()
    await until(() => connections === 1)
    for (let round = 0; round < 3; round++) {
      const before = connections
      // The answer to what was sent on this connection never comes.
      onReady = () => {
        end()
        return true
      }
      await redis.kill()
      await redis.start()
      await until(() => connections > before)
      onReady = () => false
      end = listen()
      await until(() => connections > before + 1)
    }
    end()
  },
)
