import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { makeInspector } from '../../../src/apps/inspector/inspector.ts'
import { createEngine, Session, tool } from '../../../src/index.ts'
import { inspector } from '../../../src/inspector.ts'
import { createRuns } from '../../../src/runs.ts'
import { fileStore, memoryStore } from '../../../src/stores.ts'
import { fake, virtualClock } from '../../../src/testing.ts'
import {
  desk,
  detailOf,
  followedOf,
  listed,
  logOf,
  origin,
  pathOf,
  sessionAtOf,
} from './support.ts'

const answers = [
  [
    ['start', { model: 'small-1' }],
    ['tool_call', { id: 'call-1', name: 'add', arguments: { a: 1, b: 2 } }],
    ['usage', { inputTokens: 100, outputTokens: 10 }],
  ],
  [
    ['start', { model: 'small-1' }],
    'three',
    ['usage', { inputTokens: 200, outputTokens: 20, cachedInputTokens: 150 }],
  ],
  [['start', { model: 'small-1' }], 'you are welcome'],
] as const

const add = tool({
  name: 'add',
  description: 'Adds.',
  schema: { type: 'object' },
  handler: (args) => Number(args['a']) + Number(args['b']),
})

test('the page is served without a token and cannot be framed, and data is not', async () => {
  const { handle } = desk()
  const page = await handle(new Request(`${origin}/inspect/`))
  expect(page.status).toBe(200)
  expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8')
  expect(page.headers.get('content-security-policy')).toContain("script-src 'self'")
  expect(page.headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
  expect(page.headers.get('x-content-type-options')).toBe('nosniff')
  expect(page.headers.get('referrer-policy')).toBe('no-referrer')
  expect(page.headers.get('cache-control')).toBe('no-store')
  for (const name of ['page.js', 'page.css', 'index.html']) {
    expect((await handle(new Request(`${origin}/inspect/${name}`))).status).toBe(200)
  }
  const bare = await handle(new Request(`${origin}/inspect`))
  expect([bare.status, bare.headers.get('location')]).toEqual([308, './inspect/'])
  for (const path of ['api/info', 'api/sessions', 'api/sessions/x', 'api/sessions/x/follow']) {
    const refused = await handle(new Request(`${origin}/inspect/${path}`))
    expect([path, refused.status]).toEqual([path, 401])
  }
  expect((await handle(new Request(`${origin}/inspect/api/nothing`))).status).toBe(404)
  expect((await handle(new Request(`${origin}/inspect/../secret.txt`))).status).toBe(404)
})

test('a page that was not built is a typed refusal that says to build', async () => {
  const clock = virtualClock()
  const runs = createRuns({ engine: createEngine(), store: memoryStore({ clock }), clock })
  const handle = makeInspector(
    runs,
    { authorize: () => undefined },
    { pageFolder: new URL('nowhere/', import.meta.url) },
  )
  const response = await handle(new Request(`${origin}/`))
  expect(response.status).toBe(503)
  expect(await response.json()).toMatchObject({
    error: { reason: 'page_not_built', message: expect.stringContaining('npm run build') },
  })
})

test('authorize is required, and what it does not allow is refused', async () => {
  const clock = virtualClock()
  const runs = createRuns({ engine: createEngine(), store: memoryStore({ clock }), clock })
  // @ts-expect-error
  expect(() => inspector(runs, {})).toThrow('authorize is missing')
  // @ts-expect-error
  expect(() => inspector({}, { authorize: () => true })).toThrow('createRuns')
  // Every other value is in test/laws/authorize.test.ts.
  for (const [allowed, status] of [
    [undefined, 403],
    [false, 403],
    [true, 200],
  ] as const) {
    const handle = inspector(runs, { authorize: () => allowed })
    expect((await handle(new Request(`${origin}/api/info`))).status).toBe(status)
  }
})

test('a value of authorize that is a mistake is a warning where nobody is told', async () => {
  const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
  const clock = virtualClock()
  const runs = createRuns({ engine: createEngine(), store: memoryStore({ clock }), clock })
  const authorize = (): never => new Error('no') as never // What a program without types does.
  const handle = inspector(runs, { authorize })
  for (const _ of [1, 2]) {
    expect((await handle(new Request(`${origin}/api/info`))).status).toBe(403)
  }
  expect(warned.mock.calls.map(([text]) => String(text))).toEqual([
    expect.stringMatching(/^inspector without onError.*authorize returned an Error.*throw it/),
  ])
  warned.mockRestore()
})

test.each([
  [undefined, '/inspect/api/info', 200],
  [undefined, '/api/info', 200],
  [undefined, '/admin/inspect/api/info', 200],
  [undefined, '/a/b/c/api/info', 404],
  [undefined, '/inspect/api/sessions/mine/api/sessions/victim', 404],
  ['/a/b/c', '/a/b/c/api/info', 200],
  ['/inspect', '/inspect/api/info', 200],
  ['/inspect', '/inspect/api/sessions/victim', 200],
  ['/inspect', '/api/info', 404],
  ['/inspect', '/inspect/x/api/info', 404],
  ['/inspect', '/inspect/mine/api/sessions/victim', 404],
  ['/inspect', '/inspect//api/sessions/victim', 404],
  ['/api', '/api/', 200],
  ['/inspect', '/inspect', 308],
])('mounted at %s, %s is %i', async (mount, path, status) => {
  const clock = virtualClock()
  const runs = createRuns({ engine: createEngine(), store: memoryStore({ clock }), clock })
  await runs.send('victim', 'hi').catch(() => undefined)
  const pageFolder = new URL('stub/', import.meta.url)
  const handle = makeInspector(runs, { authorize: () => true, mount }, { pageFolder })
  expect((await handle(new Request(origin + path))).status).toBe(status)
})

test('a path cannot lead to another site', async () => {
  const { handle } = desk()
  const base = 'http://127.0.0.1:4000/x/'
  for (const last of ['https:evil%2Ecom', 'https:evil', 'javascript:alert(1)', '%5Cevil']) {
    const response = await handle(new Request(base + last))
    const location = response.headers.get('location') ?? ''
    expect(new URL(location, base + last).origin).toBe('http://127.0.0.1:4000')
  }
})

test('a page of another origin is refused, whatever it knows', async () => {
  const { ask } = desk()
  const foreign = await ask('api/info', { headers: { origin: 'https://evil.example' } })
  expect([foreign.status, await foreign.json()]).toMatchObject([
    403,
    { error: { reason: 'foreign_origin' } },
  ])
  expect((await ask('api/info', { headers: { origin: 'null' } })).status).toBe(403)
  expect((await ask('api/info', { headers: { 'sec-fetch-site': 'cross-site' } })).status).toBe(403)
  expect((await ask('api/info', { headers: { origin } })).status).toBe(200)
})

test('the list has the newest first, with what it cost', async () => {
  const own = desk({
    scripts: answers,
    tools: [add],
    prices: { 'small-1': { input: 10, output: 100, cachedInput: 1 } },
  })
  await own.runs.send('a', 'what is 1 + 2?')
  await own.runs.wait('a')
  await own.clock.advance(1000)
  await own.store.save(Session.create({ id: 'b', messages: 'never answered' }))
  const { items, next } = await listed(own)
  expect(next).toBeUndefined()
  expect(items).toMatchObject([
    { id: 'b', status: 'idle', running: false, title: 'never answered', turns: 0, models: [] },
    {
      id: 'a',
      status: 'completed',
      title: 'what is 1 + 2?',
      turns: 2,
      messages: 4,
      usage: { inputTokens: 300, outputTokens: 30, cachedInputTokens: 150 },
      models: ['small-1'],
    },
  ])
  // (100 + 50) * 10 + 150 * 1 + 30 * 100, for each million.
  expect(items[1]?.cost).toBeCloseTo(0.00465, 10)
  expect(items[0]).not.toHaveProperty('cost')
  // An answer of which nothing is known makes the sum unknown.
  await own.runs.send('a', 'thanks')
  await own.runs.wait('a')
  const [newest] = (await listed(own)).items
  expect(newest).toMatchObject({ id: 'a', turns: 3 })
  expect(newest).not.toHaveProperty('cost')
})

test('the list is paged, searched and filtered', async () => {
  const own = desk()
  for (let number = 0; number < 25; number++) {
    const id = `session-${String(number).padStart(2, '0')}`
    const words = number % 10 === 3 ? `the Needle ${number}` : `straw ${number}`
    await own.store.save(Session.create({ id, messages: words }))
    await own.clock.advance(number % 2 === 0 ? 1 : 0)
  }
  const ids: string[] = []
  let after = ''
  for (;;) {
    const page = await listed(own, `?limit=7${after}`)
    ids.push(...page.items.map(({ id }) => id))
    if (page.next === undefined) break
    after = `&after=${encodeURIComponent(page.next)}`
  }
  expect(ids).toHaveLength(25)
  expect(new Set(ids).size).toBe(25)
  expect(ids.slice(0, 4)).toEqual(['session-23', 'session-24', 'session-21', 'session-22'])
  const found = await listed(own, '?search=nEEdle')
  expect(found.items.map(({ title }) => title)).toEqual([
    'the Needle 23',
    'the Needle 13',
    'the Needle 3',
  ])
  expect((await listed(own, '?search=session-07')).items).toHaveLength(1)
  expect((await listed(own, '?status=completed')).items).toEqual([])
  expect((await listed(own, '?status=idle&limit=200')).items).toHaveLength(25)
  const odd = await own.ask('api/sessions?status=asleep')
  expect([odd.status, await odd.text()]).toEqual([400, expect.stringContaining('status must be')])
  for (const [query, words] of [
    ['limit=-5', 'limit must be a whole number, not \\"-5\\"'],
    ['after=zzz', 'after must be next of the page before, not \\"zzz\\"'],
  ] as const) {
    const wrong = await own.ask(`api/sessions?${query}`)
    expect([wrong.status, await wrong.text()]).toEqual([400, expect.stringContaining(words)])
  }
})

test('the sessions that run are found, whatever their status is', async () => {
  const clock = virtualClock()
  const engine = createEngine({ adapter: fake({ script: ['a', ['delay', 60_000]] }), clock })
  const own = desk({ clock, runsEngine: engine })
  await own.store.save(Session.create({ id: 'rests', messages: 'hello' }))
  await own.runs.send('runs', 'go')
  expect((await listed(own, '?status=running')).items.map(({ id }) => id)).toEqual(['runs'])
  await own.runs.stop('runs')
  await own.runs.wait('runs')
  expect((await listed(own, '?status=running')).items).toEqual([])
})

test('a session whose id is dots is opened like any other', async () => {
  const own = desk()
  for (const id of ['.', '..', '/.', '//..', '...', './.']) {
    await own.store.save(Session.create({ id, messages: id }))
    expect((await detailOf(own, id)).item).toMatchObject({ id, title: id })
    expect(await logOf(own, id)).toEqual({ entries: [], more: false })
  }
})

test('the session at any event is the fold of its base and the events', async () => {
  const own = desk({ scripts: answers, tools: [add] })
  await own.runs.send('a', 'what is 1 + 2?')
  await own.runs.wait('a')
  const first = (await detailOf(own, 'a')).lastEventId
  await own.runs.send('a', 'thanks')
  await own.runs.wait('a')
  const detail = await detailOf(own, 'a')
  expect(detail.base?.lastEventId).toBe(0)
  expect(detail.session.thread.messages.at(-1)).toMatchObject({ content: 'you are welcome' })
  const { entries, more } = await logOf(own, 'a')
  expect(more).toBe(false)
  const events = entries.flatMap((entry) => ('event' in entry ? [entry] : []))
  expect(events.at(-1)?.id).toBe(detail.lastEventId)
  const commands = entries.flatMap((entry) => ('command' in entry ? [entry.command.type] : []))
  expect(commands).toEqual(['send', 'send'])
  for (const { id } of events) {
    const { session, base } = await sessionAtOf(own, 'a', id)
    let reducer = Session.reduce(base.session)
    for (const entry of events) {
      if (entry.id > base.lastEventId && entry.id <= id) {
        reducer = Session.applyEvent(reducer, entry.event)
      }
    }
    expect(session).toEqual(Session.finalize(reducer).session)
  }
  // The end of the first run does not have the words of the second.
  expect((await sessionAtOf(own, 'a', first)).session).toMatchObject({ status: 'completed' })
  expect((await sessionAtOf(own, 'a', first + 1)).session.thread.messages[4]).toMatchObject({
    content: 'thanks',
  })
  const missing = await own.ask(pathOf('a', `session?at=${detail.lastEventId + 1}`))
  expect([missing.status, await missing.json()]).toMatchObject([
    410,
    { error: { reason: 'stale' } },
  ])
})

test('a log is read in pages', async () => {
  const own = desk({ scripts: answers, tools: [add] })
  await own.runs.send('a', 'what is 1 + 2?')
  await own.runs.wait('a')
  const whole = (await logOf(own, 'a')).entries
  const parts = []
  let query = '?limit=3'
  for (;;) {
    const { entries, more } = await logOf(own, 'a', query)
    parts.push(...entries)
    if (!more) break
    const after = parts.findLast((entry) => 'event' in entry)?.id ?? 0
    const command = parts.findLast((entry) => 'command' in entry)?.id ?? 0
    query = `?limit=3&after=${after}&afterCommand=${command}`
  }
  expect(parts).toEqual(whole)
})

test('a session is followed live and to its end, also when another process takes it over', async () => {
  const clock = virtualClock({ auto: true })
  const store = memoryStore({ clock })
  const own = desk({ store, clock, execute: false })
  // The first owner dies in the middle of an answer.
  const dead = await store.acquire('a', { owner: 'dead', ttlMs: 1000 })
  if (dead === undefined) throw new Error('nobody has it')
  await store.save(Session.create({ id: 'a', messages: 'hello' }), { lease: dead, first: true })
  await store.append(
    'a',
    [
      { type: 'message_started', requestId: 'r', provider: 'fake' },
      { type: 'text_delta', delta: 'hal' },
    ],
    { lease: dead },
  )
  const following = followedOf(own, 'a', '?after=1')
  const engine = createEngine({ adapter: fake({ script: ['hello to you'] }), clock })
  const other = createRuns({ engine, store, clock })
  await clock.advance(2000)
  await other.recover()
  const { entries, end } = await following
  expect(end).toBe('rest')
  expect(entries.map((entry) => ('event' in entry ? entry.event.type : 'command'))).toEqual([
    'text_delta',
    'message_started',
    'text_delta',
    'text_completed',
    'message_completed',
    'step_completed',
    'chat_completed',
  ])
  expect((await own.ask(pathOf('a', 'follow?after=999'))).status).toBe(410)
})

test('hostile ids and paths are refused, and harm nothing', async () => {
  const own = desk()
  const bad = [
    ['%00', 400],
    ['%FF', 400],
    ['x'.repeat(600), 400],
    ['__proto__', 404],
    ['..%2F..%2Fetc%2Fpasswd', 404],
    ['constructor', 404],
  ] as const
  for (const [id, status] of bad) {
    for (const action of ['', '/log', '/follow', '/session']) {
      const response = await own.ask(`api/sessions/${id}${action}`)
      expect([id, action, response.status]).toEqual([id, action, status])
    }
  }
  for (const query of ['?after=abc', '?after=1e9', '?after=-1', '?limit=99999999999999999999']) {
    expect((await own.ask(pathOf('a', `log${query}`))).status).not.toBe(200)
  }
  const posted = await own.post('api/info', {})
  expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET'])
})

test('a directory of sessions without logs is listed and shown', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'allm-inspector-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const store = fileStore(folder)
  await store.save(Session.create({ id: 'plain', messages: 'no log here' }))
  const own = desk({ store })
  expect((await listed(own)).items).toMatchObject([
    { id: 'plain', title: 'no log here', usage: {} },
  ])
  const detail = await detailOf(own, 'plain')
  expect(detail).not.toHaveProperty('base')
  expect(await logOf(own, 'plain')).toEqual({ entries: [], more: false })
  expect((await followedOf(own, 'plain')).end).toBe('rest')
})

test('the info says what is looked at and what a fork may run on', async () => {
  expect(await desk().get('api/info')).toEqual({
    name: 'sessions',
    readOnly: false,
    engines: ['fake', 'recorded'],
  })
  const engine = createEngine({ adapter: fake({ script: ['x'] }), model: 'small-1' })
  expect(await desk({ engine, readOnly: true, name: './sessions' }).get('api/info')).toEqual({
    name: './sessions',
    readOnly: true,
    engines: ['fake', 'recorded', 'given'],
    engine: { provider: 'fake', model: 'small-1' },
  })
})
