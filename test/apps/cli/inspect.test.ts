import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test, vi } from 'vitest'
import { createEngine, Session } from '../../../src/index.ts'
import type {
  InspectorInfo,
  RenderedRequests,
  SessionDetail,
  SessionPage,
} from '../../../src/inspector.ts'
import { record, stringifyCassette } from '../../../src/middleware.ts'
import { createRuns } from '../../../src/runs.ts'
import { fileStore, memoryStore, sqliteStore } from '../../../src/stores.ts'
import { fake, virtualClock } from '../../../src/testing.ts'
import { reasonToSkip, serverUrl } from '../../durable/stores/postgres.ts'
import { drivers } from '../../durable/stores/sqlite.ts'
import { agent } from '../inspector/agents.ts'
import { allm, hastyClock, scratch, start, type Playing } from './support.ts'

/** An inspector that runs in this process, and how to ask it. */
interface Inspecting extends Playing {
  readonly url: string
  readonly token: string
  readonly get: <T>(path: string) => Promise<T>
  readonly end: () => Promise<number>
}

async function inspecting(...args: readonly string[]): Promise<Inspecting> {
  const playing = start(['inspect', ...args])
  await vi.waitUntil(playing.hearsCtrlC, { interval: 5, timeout: 60_000 })
  const [, url = '', token = ''] =
    /(http:\/\/127\.0\.0\.1:\d+)\/#token=(\S+)/.exec(playing.stdout()) ?? []
  return {
    ...playing,
    url,
    token,
    get: async <T>(path: string) => {
      const response = await fetch(`${url}/${path}`, {
        headers: { authorization: `Bearer ${token}` },
      })
      return (await response.json()) as T
    },
    end: async () => {
      playing.pressCtrlC()
      return (await playing.ended).code
    },
  }
}

/** An answer to a request with headers that `fetch` would not send. */
interface Raw {
  readonly status: number
  readonly text: string
  readonly headers: IncomingHttpHeaders
}

function raw(url: string, headers: Record<string, string>, body?: unknown): Promise<Raw> {
  return new Promise((resolve, reject) => {
    const method = body === undefined ? 'GET' : 'POST'
    const json = body === undefined ? {} : { 'content-type': 'application/json' }
    const request = httpRequest(url, { method, headers: { ...json, ...headers } }, (response) => {
      let text = ''
      response.on('data', (chunk) => (text += String(chunk)))
      response.on('end', () => {
        resolve({ status: response.statusCode ?? 0, text, headers: response.headers })
      })
    })
    request.once('error', reject)
    request.end(body === undefined ? undefined : JSON.stringify(body))
  })
}

/** The status and the body. */
async function rawGet(
  url: string,
  headers: Record<string, string>,
): Promise<readonly [number, string]> {
  const { status, text } = await raw(url, headers)
  return [status, text]
}

async function folderWithSessions(): Promise<string> {
  const folder = scratch('sessions')
  mkdirSync(folder)
  const store = fileStore(folder)
  await store.save(Session.create({ id: 'one', messages: 'hello there' }))
  return folder
}

test('a directory is served to whoever has the address, until Ctrl-C', async () => {
  const folder = await folderWithSessions()
  const own = await inspecting(folder)
  expect(own.token.length).toBeGreaterThan(40)
  expect(await own.get<InspectorInfo>('api/info')).toEqual({
    name: folder,
    readOnly: false,
    engines: ['fake', 'recorded'],
  })
  const { items } = await own.get<SessionPage>('api/sessions')
  expect(items).toMatchObject([{ id: 'one', title: 'hello there' }])
  expect((await fetch(`${own.url}/api/sessions`)).status).toBe(401)
  const wrong = { authorization: `Bearer ${own.token.slice(0, -1)}x` }
  expect((await fetch(`${own.url}/api/sessions`, { headers: wrong })).status).toBe(401)
  // Nothing hangs on a page that follows a session.
  const right = { authorization: `Bearer ${own.token}` }
  await fetch(`${own.url}/api/sessions/one/follow`, { headers: right })
  expect(await own.end()).toBe(0)
  await expect(fetch(`${own.url}/api/info`)).rejects.toThrow('fetch failed')
})

test('a name of another site that leads here is refused, and so is a page of another origin', async () => {
  const own = await inspecting(await folderWithSessions())
  const authorization = `Bearer ${own.token}`
  const rebound = await rawGet(`${own.url}/api/info`, { authorization, host: 'evil.example' })
  expect(rebound).toEqual([403, expect.stringContaining('foreign_host')])
  const page = await rawGet(`${own.url}/`, { host: 'evil.example' })
  expect(page[0]).toBe(403)
  const foreign = await rawGet(`${own.url}/api/info`, {
    authorization,
    origin: 'http://evil.example',
  })
  expect(foreign).toEqual([403, expect.stringContaining('foreign_origin')])
  const port = new URL(own.url).port
  const local = await rawGet(`${own.url}/api/info`, { authorization, host: `localhost:${port}` })
  expect(local[0]).toBe(200)
  await own.end()
})

test('the cookie of the page is good for reading in another tab, and for nothing else', async () => {
  const own = await inspecting(await folderWithSessions())
  const { port } = new URL(own.url)
  const authorization = `Bearer ${own.token}`
  const info = `${own.url}/api/info`
  // Whoever has the token gets it, once. The page itself, which anybody may load, sets none.
  expect((await raw(`${own.url}/`, {})).headers['set-cookie']).toBeUndefined()
  expect((await raw(info, {})).headers['set-cookie']).toBeUndefined()
  const [given = ''] = (await raw(info, { authorization })).headers['set-cookie'] ?? []
  const [, id = ''] =
    new RegExp(`^allm_${port}=([\\w-]{43}); Path=/api/; HttpOnly; SameSite=Strict$`).exec(given) ??
    []
  expect(id).not.toBe('')
  expect(given).not.toContain(own.token)
  const cookie = `theme=dark; allm_${port}=${id}`
  const again = await raw(info, { authorization, cookie })
  expect([again.status, again.headers['set-cookie']]).toEqual([200, undefined])
  expect(again.headers['allm-access']).toBeUndefined()

  const from = (site: string): Record<string, string> => ({ cookie, 'sec-fetch-site': site })
  for (const path of ['info', 'sessions', 'sessions/one', 'sessions/one/log']) {
    const read = await raw(`${own.url}/api/${path}`, from('same-origin'))
    expect([path, read.status, read.headers['allm-access']]).toEqual([path, 200, 'read'])
  }
  expect((await raw(info, from('none'))).status).toBe(200)
  // Cookies know no ports: a page of another server of this machine sends it, too.
  expect((await raw(info, from('same-site'))).status).toBe(401)
  expect((await raw(info, from('cross-site'))).status).toBe(403)
  expect((await raw(info, { cookie })).status).toBe(401)
  expect((await raw(info, { ...from('same-origin'), host: 'evil.example' })).status).toBe(403)
  for (const wrong of [
    `allm_${port}=${own.token}`,
    `allm_${port}=${id}x`,
    `allm_${port}=`,
    `allm_1=${id}`,
    `xallm_${port}=${id}`,
    id,
  ]) {
    const refused = await raw(info, { ...from('same-origin'), cookie: wrong })
    expect([wrong, refused.status]).toEqual([wrong, 401])
  }
  // A cookie of the same name that somebody else has set does not hide it.
  const tossed = { ...from('same-origin'), cookie: `allm_${port}=x; ${cookie}` }
  expect((await raw(info, tossed)).status).toBe(200)

  for (const [action, body] of [
    ['command', { type: 'reply', text: 'hi' }],
    ['stop', {}],
    ['fork', {}],
    ['test', {}],
  ] as const) {
    const url = `${own.url}/api/sessions/one/${action}`
    const refused = await raw(url, from('same-origin'), body)
    expect([action, refused.status]).toEqual([action, 401])
    expect(refused.text).toContain('only read')
  }
  await own.end()
})

test('a fork and a test of a directory are written beside its sessions', async () => {
  const folder = scratch('sessions')
  const clock = virtualClock({ auto: true })
  const store = fileStore(folder, { clock })
  const runs = createRuns({ engine: agent(clock), store, clock })
  await runs.send('trip', 'add and look')
  await runs.wait('trip')
  await runs.close()
  const own = await inspecting(folder)
  const post = async (action: string, body: unknown): Promise<unknown> => {
    const response = await fetch(`${own.url}/api/sessions/trip/${action}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${own.token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    return response.json()
  }
  expect(await post('test', {})).toMatchObject({ written: true })
  expect(readdirSync(folder)).toContain('trip.test.mjs')
  const fork = { messages: 1, changes: {}, engine: { type: 'fake', script: ['hm'] } }
  expect(await post('fork', fork)).toEqual({ id: 'trip-fork-1' })
  await own.end()
  const ids = (await fileStore(folder).list()).map(({ id }) => id)
  expect(ids).toEqual(['trip', 'trip-fork-1'])
  expect((await fileStore(folder).load('trip-fork-1'))?.session.status).toBe('completed')
})

test('a session file and a cassette are shown as sessions, a cassette with its events', async () => {
  const file = scratch('saved.json')
  writeFileSync(file, Session.stringify(Session.create({ id: 'saved', messages: 'from a file' })))
  const saved = await inspecting(file, '--read-only')
  expect((await saved.get<SessionPage>('api/sessions')).items).toMatchObject([{ id: 'saved' }])
  expect(await saved.get<InspectorInfo>('api/info')).toMatchObject({ readOnly: true })
  await saved.end()
  // Nobody runs a copy of a file, so that a command would wait for ever.
  const alone = await inspecting(file)
  expect(await alone.get<InspectorInfo>('api/info')).toMatchObject({ unattended: true })
  const given = await fetch(`${alone.url}/api/sessions/saved/command`, {
    method: 'POST',
    headers: { authorization: `Bearer ${alone.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ type: 'resume' }),
  })
  expect([given.status, await given.json()]).toMatchObject([
    409,
    { error: { reason: 'no_engine' } },
  ])
  await alone.end()
  const clock = virtualClock({ auto: true })
  const recorder = record(
    fake({
      scripts: [
        [['tool_call', { id: 'c', name: 'add', arguments: { a: 1, b: 2 } }]],
        ['three'],
        [['tool_call', { id: 'd', name: 'office', arguments: {} }]],
      ],
    }),
  )
  const { tools } = await import('../inspector/agents.ts')
  const engine = createEngine({ adapter: recorder, clock, tools, instructions: 'Be brief.' })
  const runs = createRuns({ engine, store: memoryStore({ clock }), clock })
  for (const words of ['what is 1 + 2?', 'ask the office']) {
    await runs.send('x', words)
    await runs.wait('x')
  }
  const cassette = scratch('talk.cassette.json')
  writeFileSync(cassette, stringifyCassette(recorder.cassette))
  const own = await inspecting(cassette)
  const { items } = await own.get<SessionPage>('api/sessions')
  expect(items).toMatchObject([{ id: 'talk', title: 'what is 1 + 2?', status: 'awaiting_tools' }])
  const detail = await own.get<SessionDetail>('api/sessions/talk')
  expect(detail.session.thread.messages.map(({ role }) => role)).toEqual([
    'system',
    'user',
    'assistant',
    'tool',
    'assistant',
    'user',
    'assistant',
  ])
  expect(detail.lastEventId).toBeGreaterThan(5)
  const { basis } = await own.get<RenderedRequests>('api/sessions/talk/request?at=1')
  expect(basis.source).toBe('recorded')
  await own.end()
})

test('an engine of a module is what forks may run on, and prices are read', async () => {
  const folder = await folderWithSessions()
  const module = scratch('engine.mjs')
  const library = pathToFileURL(join(import.meta.dirname, '../../../src/index.ts')).href
  writeFileSync(
    module,
    `import { createEngine } from ${JSON.stringify(library)}\nexport const mine = createEngine({ model: 'small-1' })\n`,
  )
  const prices = scratch('prices.json')
  writeFileSync(prices, JSON.stringify({ 'small-1': { input: 1, output: 2 } }))
  const own = await inspecting(folder, '--engine', `${module}#mine`, '--prices', prices)
  expect(await own.get<InspectorInfo>('api/info')).toMatchObject({
    engines: ['fake', 'recorded', 'given'],
    engine: { model: 'small-1' },
  })
  await own.end()
  const none = await allm(['inspect', folder, '--engine', module])
  expect([none.code, none.stderr]).toEqual([
    2,
    expect.stringContaining('exports no engine made by createEngine (--engine)'),
  ])
})

test('what cannot be read is one line and exit code 2', async () => {
  const broken = scratch('broken.json')
  writeFileSync(broken, '{"half')
  const odd = scratch('odd.json')
  writeFileSync(odd, '{"version": 1, "calls": [{}]}')
  const wrong: readonly (readonly [readonly string[], string])[] = [
    [[scratch('nowhere')], 'there is no '],
    [[broken], 'is not JSON'],
    [[odd], 'calls[0]'],
    [['--store', 'mysql://somebody:secret@host/db'], 'must be postgres://'],
    [['--store', `sqlite:${scratch('none.db')}`], 'there is no database'],
    [['x', '--store', 'redis://127.0.0.1:1'], 'give one of them'],
    [['--store', 'redis://somebody:secret@127.0.0.1:1'], 'cannot read sessions from redis://127'],
    [['--prices', odd, odd], 'version must be an object'],
    [['--port', 'x'], '--port must be'],
    [['--engine', scratch('none.mjs'), odd], 'none.mjs (--engine): file not found'],
  ]
  for (const [args, words] of wrong) {
    const { code, stderr, stdout } = await allm(['inspect', ...args])
    expect([code, stdout, stderr]).toEqual([2, '', expect.stringContaining(words)])
    expect(stderr).not.toContain('secret')
    expect(stderr.trim().split('\n')).toHaveLength(1)
  }
})

const sqlite = drivers.find(({ missing }) => !missing)

test.skipIf(sqlite === undefined)('a SQLite database is shown', async () => {
  if (sqlite === undefined) throw new Error('there is no driver')
  const file = scratch('store.db')
  const database = sqlite.open(file)
  await sqliteStore(database).save(Session.create({ id: 'in-sqlite', messages: 'hello' }))
  database.close()
  const own = await inspecting('--store', `sqlite:${file}`)
  expect((await own.get<SessionPage>('api/sessions')).items).toMatchObject([{ id: 'in-sqlite' }])
  const noDatabase = scratch('words.db')
  writeFileSync(noDatabase, 'these are words, and not a database'.repeat(100))
  const odd = await allm(['inspect', `sqlite:${noDatabase}`])
  expect([odd.code, odd.stderr]).toEqual([
    2,
    expect.stringContaining(`cannot read sessions from sqlite:${noDatabase}: `),
  ])
  // Another database stays as it is.
  const other = await allm(['inspect', `sqlite:${file}`, '--prefix', 'none_'])
  expect([other.code, other.stderr]).toEqual([2, expect.stringContaining('no table none_sessions')])
  expect(await own.end()).toBe(0)
})

test.skipIf(reasonToSkip !== undefined)(
  `a Postgres without tables says so, and not its password${reasonToSkip ?? ''}`,
  async () => {
    const url = new URL(serverUrl)
    url.password = 'pass-word-of-somebody'
    const args = ['inspect', '--store', url.href, '--schema', 'nobody_has_this_schema']
    const { code, stderr } = await allm(args, { clock: hastyClock })
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining('cannot read sessions from postgres://'),
    ])
    expect(stderr).not.toContain('pass-word-of-somebody')
  },
)
