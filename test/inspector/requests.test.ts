import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createEngine, extendEngine, Session } from '../../src/index.ts'
import type { RenderedRequests, SavedTest } from '../../src/inspector.ts'
import { parseCassette } from '../../src/middleware.ts'
import { openai } from '../../src/openai.ts'
import { fake, virtualClock } from '../../src/testing.ts'
import { scratch } from '../cli/support.ts'
import { agent } from './agents.ts'
import { desk, detailOf, logOf, pathOf, type Desk } from './support.ts'

async function played(options: Parameters<typeof desk>[0] = {}): Promise<Desk> {
  const clock = virtualClock({ auto: true })
  const own = desk({ clock, runsEngine: agent(clock), ...options })
  await own.runs.send('trip', 'add and look')
  await own.runs.wait('trip')
  await own.runs.approve('trip', 'call-3')
  await own.runs.wait('trip')
  return own
}

function requestsAt({ get }: Desk, at: number): Promise<RenderedRequests> {
  return get<RenderedRequests>(pathOf('trip', `request?at=${at}`))
}

test('the request of an event is shown as each provider would get it, with the settings of the engine', async () => {
  const own = await played()
  const { entries } = await logOf(own, 'trip')
  const starts = entries.flatMap((entry) =>
    'event' in entry && entry.event.type === 'message_started' ? [entry.id] : [],
  )
  expect(starts).toHaveLength(3)
  const { wires } = await requestsAt(own, starts[0] ?? 0)
  expect(wires.map(({ wire, method, problem }) => [wire, method, problem])).toEqual([
    ['openai', 'POST', undefined],
    ['openaiChat', 'POST', undefined],
    ['anthropic', 'POST', undefined],
    ['gemini', 'POST', undefined],
  ])
  const chat = wires[1]
  expect(chat?.url).toBe('https://api.openai.com/v1/chat/completions')
  expect(chat?.body).toMatchObject({
    model: 'small-1',
    messages: [{ content: 'Be brief.' }, { role: 'user', content: 'add and look' }],
    tools: [{ function: { name: 'add' } }, {}, {}, {}, {}],
  })
  // Every event of the second answer has the same request, with the results of the first.
  const second = await requestsAt(own, starts[1] ?? 0)
  expect(second.wires[1]?.body).toMatchObject({
    messages: [{}, {}, { role: 'assistant' }, { role: 'tool', content: '3' }, { role: 'tool' }],
  })
  expect(await requestsAt(own, (starts[1] ?? 0) + 1)).toEqual(second)
  // What follows the first answer belongs to the request that comes next.
  expect(await requestsAt(own, (starts[1] ?? 0) - 1)).toEqual(second)
})

test('no key is ever shown, whatever the environment and the engine have', async () => {
  const key = 'sk-a-real-key-of-somebody-1234567890'
  const before = process.env['OPENAI_API_KEY']
  const base = process.env['OPENAI_BASE_URL']
  process.env['OPENAI_API_KEY'] = key
  process.env['OPENAI_BASE_URL'] = `https://proxy.example/${key}/v1`
  try {
    const engine = createEngine({
      adapter: openai({ model: 'gpt-5-mini', apiKey: key, headers: { 'x-secret': key } }),
      headers: { 'x-other': key },
      keys: { openai: key },
    })
    const own = await played({ engine })
    const { lastEventId } = await detailOf(own, 'trip')
    const texts: string[] = []
    for (let at = 0; at <= lastEventId; at++) texts.push(JSON.stringify(await requestsAt(own, at)))
    for (const path of ['api/info', 'api/sessions', pathOf('trip'), pathOf('trip', 'log')]) {
      texts.push(await (await own.ask(path)).text())
    }
    for (const text of texts) expect(text).not.toContain(key)
    expect(texts[1]).toContain('"authorization":"•••"')
    expect(texts[1]).toContain('"x-api-key":"•••"')
    expect(texts[1]).toContain('"x-goog-api-key":"•••"')
  } finally {
    if (before === undefined) delete process.env['OPENAI_API_KEY']
    else process.env['OPENAI_API_KEY'] = before
    if (base === undefined) delete process.env['OPENAI_BASE_URL']
    else process.env['OPENAI_BASE_URL'] = base
  }
})

test('without an engine the request has what the log and the thread know', async () => {
  const first = await played()
  const own = desk({ store: first.store, runsEngine: createEngine(), execute: false })
  const { lastEventId } = await detailOf(own, 'trip')
  const { wires } = await requestsAt(own, lastEventId - 3)
  expect(wires[1]?.body).toMatchObject({
    model: 'small-1',
    tools: [{ function: { name: 'add' } }, { function: { name: 'look' } }, {}],
  })
})

test('a provider that refuses a request says why, and warnings are kept', async () => {
  const clock = virtualClock({ auto: true })
  const engine = extendEngine(agent(clock), { topK: 5, seed: 3 })
  const own = await played({ runsEngine: engine })
  const { wires } = await requestsAt(own, 1)
  expect(wires.find(({ wire }) => wire === 'openai')?.warnings).toMatchObject([
    { setting: expect.any(String), problem: expect.any(String) },
    {},
  ])
  const odd = desk({ runsEngine: createEngine({ adapter: fake({ script: ['x'] }) }) })
  await odd.store.save(Session.create({ id: 'trip', messages: 'no model is known' }), {
    first: true,
  })
  const { wires: refused } = await requestsAt(odd, 0)
  expect(refused.map(({ problem }) => problem)).toEqual([
    'openai needs a model',
    'openai needs a model',
    'anthropic needs a model',
    'gemini needs a model',
  ])
})

test('a session is saved as a recording and a test, beside the sessions if there is a folder', async () => {
  const own = await played()
  const shown = (await (await own.post(pathOf('trip', 'test'), {})).json()) as SavedTest
  expect(shown).toMatchObject({
    written: false,
    files: [{ path: 'trip.cassette.json' }, { path: 'trip.test.mjs' }],
  })
  const cassette = parseCassette(shown.files[0]?.text ?? '')
  expect(cassette.calls).toHaveLength(3)
  expect(cassette.calls[0]?.request).toMatchObject({
    model: 'small-1',
    tools: [{ name: 'add' }, {}, {}, {}, {}],
  })
  expect(shown.files[1]?.text).toContain('.toCall(')
  const file = scratch('x')
  const folder = join(file, '..')
  const written = await played({ testFolder: folder })
  await written.post(pathOf('trip', 'test'), {})
  const again = (await (await written.post(pathOf('trip', 'test'), {})).json()) as SavedTest
  expect(again.written).toBe(true)
  expect(readdirSync(folder).toSorted()).toEqual([
    'trip-2.cassette.json',
    'trip-2.test.mjs',
    'trip.cassette.json',
    'trip.test.mjs',
  ])
  expect(readFileSync(join(folder, 'trip.test.mjs'), 'utf8')).toContain('./trip.cassette.json')
  const empty = desk()
  await empty.store.save(Session.create({ id: 'plain', messages: 'hello' }))
  const none = await empty.post(pathOf('plain', 'test'), {})
  expect([none.status, await none.json()]).toMatchObject([
    409,
    { error: { reason: 'nothing_recorded' } },
  ])
})
