import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Pool } from 'pg'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { Session } from '../../../src/index.ts'
import { postgresStore } from '../../../src/stores.ts'

const owner = { owner: 'me', ttlMs: 600_000 }
const bin = programs()
const user = unprivileged()
const reason =
  bin === undefined
    ? ' (skipped: no initdb and postgres in /usr/lib/postgresql)'
    : user === undefined
      ? ' (skipped: Postgres does not run as root, and there is no setpriv or no other user)'
      : ''

describe.skipIf(reason !== '')(`a Postgres that goes away and comes back${reason}`, () => {
  let folder: string
  let port: number
  let server: ChildProcess
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'allm-postgres-'))
    if (user?.ids !== undefined) chownSync(folder, ...user.ids)
    const [program, ...args] = asUser(join(bin ?? '', 'initdb'))
    const options = ['--auth=trust', '--username=test', '--no-sync', '--encoding=UTF8']
    execFileSync(program, [...args, ...options, '-D', join(folder, 'data')], { cwd: folder })
    port = await freePort()
    server = await start(folder, port)
  })
  afterAll(async () => {
    await kill(server)
    rmSync(folder, { recursive: true, force: true })
  })

  test('operations fail typed in between, and later ones go on where the last one succeeded', async () => {
    const connectionString = `postgres://test:s3cret@127.0.0.1:${port}/postgres`
    const pool = new Pool({ connectionString, max: 4 })
    pool.on('error', () => undefined)
    const others = new Pool({ connectionString, max: 4 })
    others.on('error', () => undefined)
    const store = postgresStore(pool)
    await store.migrate()
    await store.save(Session.create({ id: 's' }))
    const lease = await store.acquire('s', owner)
    if (lease === undefined) throw new Error('the lease is not free')
    await store.append('s', [{ type: 'text_delta', delta: 'before' }], { lease })
    const listener = vi.fn()
    const stop = store.watch('s', listener)
    await vi.waitUntil(() => listener.mock.calls.length > 0, { timeout: 30_000 })

    // An append that waits for a lock, so that it is in the middle when the database dies.
    const blocker = await others.connect()
    blocker.on('error', () => undefined)
    await blocker.query('begin')
    await blocker.query(`select 1 from allm_sessions where id = 's' for update`)
    const appended = outcomeOf(
      store.append('s', [{ type: 'text_delta', delta: 'lost' }], { lease }),
    )
    const isBlocked = async (): Promise<boolean> => {
      const waiting = `select 1 from pg_stat_activity where wait_event_type = 'Lock'`
      return (await others.query(waiting)).rows.length > 0
    }
    while (!(await isBlocked())) continue
    await kill(server)
    blocker.release(true)

    const failures = [
      await appended,
      await outcomeOf(store.load('s')),
      await outcomeOf(store.claim(owner)),
    ]
    for (const failure of failures) {
      expect(failure).toMatchObject({ name: 'SessionError', reason: 'unavailable' })
      expect(JSON.stringify(failure) + String(failure)).not.toContain('s3cret')
    }

    server = await start(folder, port)
    const heard = listener.mock.calls.length
    expect(await store.append('s', [{ type: 'text_delta', delta: 'after' }], { lease })).toBe(2)
    expect(await store.save(Session.create({ id: 's' }), { lease, ifVersion: 1 })).toBe(2)
    const log = await store.readEvents('s', {})
    expect(log.map((entry) => 'event' in entry && entry.event)).toEqual([
      { type: 'text_delta', delta: 'before' },
      { type: 'text_delta', delta: 'after' },
    ])
    // Two for the append and the save of this process; more only from a connection that listens again.
    await vi.waitUntil(() => listener.mock.calls.length > heard + 2, { timeout: 60_000 })
    stop()
    await Promise.all([pool.end(), others.end()])
  })
})

async function outcomeOf(work: Promise<unknown>): Promise<unknown> {
  return work.catch((error: unknown) => error)
}

/** Starts a server, and waits until it takes connections. The remains of a killed one may be in its way for a moment. */
async function start(folder: string, port: number): Promise<ChildProcess> {
  const [program, ...args] = asUser(join(bin ?? '', 'postgres'))
  const settings = [
    `port=${port}`,
    'listen_addresses=127.0.0.1',
    `unix_socket_directories=${folder}`,
  ]
  const options = ['-D', join(folder, 'data'), ...settings.flatMap((setting) => ['-c', setting])]
  const connectionString = `postgres://test@127.0.0.1:${port}/postgres`
  for (let attempt = 0; attempt < 50; attempt++) {
    const server = spawn(program, [...args, ...options], { cwd: folder, stdio: 'ignore' })
    while (server.exitCode === null) {
      const pool = new Pool({ connectionString, max: 1, connectionTimeoutMillis: 5000 })
      const isUp = await pool.query('select 1').then(
        () => true,
        () => false,
      )
      await pool.end()
      if (isUp) return server
    }
  }
  throw new Error('Postgres does not start')
}

async function kill(server: ChildProcess): Promise<void> {
  const ended = new Promise((resolve) => server.once('exit', resolve))
  server.kill('SIGKILL')
  await ended
}

/** The folder of the newest Postgres programs. */
function programs(): string | undefined {
  const root = '/usr/lib/postgresql'
  const versions = existsSync(root) ? readdirSync(root).toSorted() : []
  const folders = versions.map((version) => join(root, version, 'bin')).toReversed()
  return folders.find((folder) =>
    ['initdb', 'postgres'].every((name) => existsSync(join(folder, name))),
  )
}

/** The user to run Postgres as: this one, unless it is root. */
function unprivileged(): { readonly ids?: [number, number] } | undefined {
  if (process.getuid?.() !== 0) return {}
  if (!existsSync('/usr/bin/setpriv')) return undefined
  const idOf = (flag: string, name: string): number | undefined => {
    try {
      return Number(execFileSync('id', [flag, name], { encoding: 'utf8', stdio: 'pipe' }))
    } catch {
      return undefined
    }
  }
  for (const name of ['postgres', 'nobody']) {
    const [uid, gid] = [idOf('-u', name), idOf('-g', name)]
    if (uid !== undefined && gid !== undefined) return { ids: [uid, gid] }
  }
  return undefined
}

/** A command line that runs a program as that user. The process keeps its id. */
function asUser(program: string): [string, ...string[]] {
  if (user?.ids === undefined) return [program]
  const [uid, gid] = user.ids
  return ['/usr/bin/setpriv', `--reuid=${uid}`, `--regid=${gid}`, '--clear-groups', program]
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}
