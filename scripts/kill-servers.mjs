// A Redis and a Postgres of its own, which can be killed and started again: the kill matrix restarts them in the middle.
import { execFileSync, spawn } from 'node:child_process'
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** Starts a server, or says why it cannot. The result has `url`, `kill`, `start` and `end`. */
export async function privateServer(kind) {
  return kind === 'redis' ? privateRedis() : privatePostgres()
}

/** It syncs every write: what was acknowledged is there after a kill. */
async function privateRedis() {
  try {
    execFileSync('redis-server', ['--version'], { stdio: 'ignore' })
  } catch {
    return { missing: 'there is no redis-server to start' }
  }
  const { default: Redis } = await import('ioredis')
  const folder = mkdtempSync(join(tmpdir(), 'allm-redis-'))
  const port = await freePort()
  const url = `redis://127.0.0.1:${port}`
  const options = { port, dir: folder, save: '', appendonly: 'yes', appendfsync: 'always' }
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)])
  return server(folder, url, async () => {
    const child = spawn('redis-server', [...args, '--bind', '127.0.0.1'], { stdio: 'ignore' })
    const client = new Redis(url, { retryStrategy: () => 20, maxRetriesPerRequest: null })
    client.on('error', () => undefined)
    while ((await client.ping().catch(() => 'it loads its file')) !== 'PONG') await sleep(20)
    client.disconnect()
    return child
  })
}

async function privatePostgres() {
  const bin = programs()
  const user = unprivileged()
  if (bin === undefined || user === undefined) {
    return { missing: 'there is no initdb in /usr/lib/postgresql, or no user to run it as' }
  }
  const asUser = (program) =>
    user.ids === undefined
      ? [program]
      : [
          '/usr/bin/setpriv',
          `--reuid=${user.ids[0]}`,
          `--regid=${user.ids[1]}`,
          '--clear-groups',
          program,
        ]
  const { default: pg } = await import('pg')
  const folder = mkdtempSync(join(tmpdir(), 'allm-postgres-'))
  if (user.ids !== undefined) chownSync(folder, ...user.ids)
  const [initdb, ...initArgs] = asUser(join(bin, 'initdb'))
  const initOptions = ['--auth=trust', '--username=test', '--no-sync', '--encoding=UTF8']
  execFileSync(initdb, [...initArgs, ...initOptions, '-D', join(folder, 'data')], { cwd: folder })
  const port = await freePort()
  const url = `postgres://test@127.0.0.1:${port}/postgres`
  const settings = {
    port,
    listen_addresses: '127.0.0.1',
    unix_socket_directories: folder,
    max_connections: 200,
  }
  const [program, ...args] = asUser(join(bin, 'postgres'))
  args.push('-D', join(folder, 'data'))
  for (const [name, value] of Object.entries(settings)) args.push('-c', `${name}=${value}`)
  return server(folder, url, async () => {
    // The remains of a killed server may be in its way for a moment.
    for (let attempt = 0; attempt < 50; attempt++) {
      const child = spawn(program, args, { cwd: folder, stdio: 'ignore' })
      while (child.exitCode === null) {
        const pool = new pg.Pool({ connectionString: url, max: 1, connectionTimeoutMillis: 5000 })
        pool.on('error', () => undefined)
        const isUp = await pool.query('select 1').then(
          () => true,
          () => false,
        )
        await pool.end()
        if (isUp) return child
        await sleep(50)
      }
    }
    throw new Error('Postgres does not start')
  })
}

async function server(folder, url, begin) {
  let child
  const killNow = () => child?.kill('SIGKILL')
  process.once('exit', killNow)
  const start = async () => {
    child = await begin()
  }
  const kill = async () => {
    const killed = child
    child = undefined
    if (killed === undefined || killed.exitCode !== null) return
    const exited = new Promise((resolve) => killed.once('exit', resolve))
    killed.kill('SIGKILL')
    await exited
  }
  const end = async () => {
    await kill()
    process.off('exit', killNow)
    rmSync(folder, { recursive: true, force: true })
  }
  await start()
  return { url, start, kill, end }
}

/** The folder of the newest Postgres programs. */
function programs() {
  const root = '/usr/lib/postgresql'
  const versions = existsSync(root) ? readdirSync(root).toSorted() : []
  const folders = versions.map((version) => join(root, version, 'bin')).toReversed()
  return folders.find((folder) => existsSync(join(folder, 'initdb')))
}

/** The user to run Postgres as: this one, unless it is root. */
function unprivileged() {
  if (process.getuid?.() !== 0) return {}
  if (!existsSync('/usr/bin/setpriv')) return undefined
  const idOf = (flag, name) => Number(execFileSync('id', [flag, name], { stdio: 'pipe' }))
  for (const name of ['postgres', 'nobody']) {
    try {
      return { ids: [idOf('-u', name), idOf('-g', name)] }
    } catch {
      continue
    }
  }
  return undefined
}

async function freePort() {
  const probe = createServer()
  await new Promise((resolve) => probe.listen(0, '127.0.0.1', resolve))
  const { port } = probe.address()
  await new Promise((resolve) => probe.close(resolve))
  return port
}
