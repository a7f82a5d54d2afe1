import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { createClient } from 'redis'
import type { RunStoreHarness, StoreHarness } from '../../../src/conformance.ts'
import { redisStore, type RunStore } from '../../../src/stores.ts'

/** A store with a connection of its own. */
export interface OpenStore {
  readonly store: RunStore
  readonly send: (...args: string[]) => Promise<unknown>
  readonly close: () => Promise<void>
}

/** Opens a store at an address of Redis. */
export type OpenClient = (url: string, prefix: string) => Promise<OpenStore>

/** Each client, as its users make it. */
export const clients: Readonly<Record<string, OpenClient>> = {
  ioredis: async (url, prefix) => {
    const client = new Redis(url, { maxRetriesPerRequest: 1 })
    return {
      store: redisStore(client, { prefix }),
      send: (command = '', ...args) => client.call(command, ...args),
      close: async () => client.disconnect(),
    }
  },
  'node-redis': async (url, prefix) => {
    const client = createClient({ url, disableOfflineQueue: true })
    const store = redisStore(client, { prefix })
    await client.connect()
    return {
      store,
      send: (...args) => client.sendCommand(args),
      close: async () => client.destroy(),
    }
  },
}

/** Where Redis is, or why there is none. */
export async function findRedis(): Promise<{ url: string } | { missing: string }> {
  const url = process.env['ALLM_TEST_REDIS'] ?? 'redis://127.0.0.1:6379'
  const client = new Redis(url, { lazyConnect: true, retryStrategy: () => null })
  client.on('error', () => undefined)
  try {
    await client.connect()
    const info = await client.info('server')
    const [major = 0, minor = 0] =
      /redis_version:(\d+)\.(\d+)/.exec(info)?.slice(1).map(Number) ?? []
    return major > 6 || (major === 6 && minor >= 2)
      ? { url }
      : { missing: `Redis ${major}.${minor} is older than 6.2` }
  } catch {
    return { missing: 'there is no Redis at ALLM_TEST_REDIS or 127.0.0.1:6379' }
  } finally {
    client.disconnect()
  }
}

let prefixes = 0

/** A prefix that nobody else uses. */
export function newPrefix(): string {
  return `allm-test-${process.pid}-${Date.now().toString(36)}-${++prefixes}`
}

/** Removes all keys of a prefix. */
export async function removeKeys({ send }: OpenStore, prefix: string): Promise<void> {
  let cursor = '0'
  do {
    // The reply of SCAN is the next cursor and a list of keys.
    const [next, keys] = (await send(
      'SCAN',
      cursor,
      'MATCH',
      `{${prefix}}:*`,
      'COUNT',
      '1000',
    )) as [string, string[]]
    if (keys.length > 0) await send('DEL', ...keys)
    cursor = next
  } while (cursor !== '0')
}

async function begin(url: string, open: OpenClient) {
  const prefix = newPrefix()
  const opened: OpenStore[] = []
  const connect = async (): Promise<RunStore> => {
    const one = await open(url, prefix)
    opened.push(one)
    return one.store
  }
  const store = await connect()
  const send = async (...args: string[]): Promise<unknown> => opened[0]?.send(...args)
  const close = async (): Promise<void> => {
    const [first] = opened
    if (first !== undefined) await removeKeys(first, prefix)
    for (const one of opened) await one.close()
  }
  return { prefix, store, connect, send, close }
}

/** The harness for `sessionStoreCases`. */
export function redisSessions(url: string, open: OpenClient): StoreHarness {
  return {
    capabilities: ['durable', 'damage'],
    start: async () => {
      const { prefix, store, connect, send, close } = await begin(url, open)
      return {
        store,
        reopen: connect,
        damage: (id, text) => send('HSET', `{${prefix}}:s:${id}`, 'body', text),
        close,
      }
    },
  }
}

/** The harness for `runStoreCases`. */
export function redisRuns(url: string, open: OpenClient): RunStoreHarness {
  return {
    capabilities: ['shared', 'own_clock'],
    start: async () => {
      const { store, connect, close } = await begin(url, open)
      return { store, connect, close }
    },
  }
}

/** Whether this machine can start a Redis of its own. */
export function canStartRedis(): boolean {
  try {
    execFileSync('redis-server', ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** A Redis of its own, that can be killed and started again. It syncs every write. */
export async function privateRedis() {
  const folder = mkdtempSync(join(tmpdir(), 'allm-redis-'))
  const port = await freePort()
  const url = `redis://127.0.0.1:${port}`
  let server: ChildProcess | undefined
  const start = async (): Promise<void> => {
    const options = { port, dir: folder, save: '', appendonly: 'yes', appendfsync: 'always' }
    const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)])
    server = spawn('redis-server', [...args, '--bind', '127.0.0.1'], { stdio: 'ignore' })
    const client = new Redis(url, { retryStrategy: () => 20, maxRetriesPerRequest: null })
    client.on('error', () => undefined)
    // A server that loads its file refuses, and is asked again.
    for (;;) {
      const reply = await client.ping().catch(() => 'LOADING')
      if (reply === 'PONG') break
    }
    client.disconnect()
  }
  const kill = async (): Promise<void> => {
    const killed = server
    server = undefined
    if (killed === undefined) return
    const exited = new Promise((resolve) => killed.once('exit', resolve))
    killed.kill('SIGKILL')
    await exited
  }
  const end = async (): Promise<void> => {
    await kill()
    rmSync(folder, { recursive: true, force: true })
  }
  await start()
  return { url, start, kill, end }
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  const address = server.address()
  await new Promise((resolve) => {
    server.close(resolve)
  })
  return typeof address === 'object' && address !== null ? address.port : 0
}
