import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { cassetteRuns } from '../../../src/apps/inspector/cassette-sessions.ts'
import {
  createEngine,
  extendEngine,
  fileFromId,
  filePart,
  Session,
  tool,
  user,
  type Engine,
} from '../../../src/index.ts'
import type { RenderedRequests, SavedTest } from '../../../src/inspector.ts'
import { parseCassette, record } from '../../../src/middleware.ts'
import { openai } from '../../../src/openai.ts'
import { fake, virtualClock, type ScriptInput } from '../../../src/testing.ts'
import { scratch } from '../cli/support.ts'
import { agent } from './agents.ts'
import { desk, detailOf, forked, logOf, pathOf, type Desk } from './support.ts'

async function played(options: Parameters<typeof desk>[0] = {}): Promise<Desk> {
  const clock = virtualClock({ auto: true })
  const own = desk({ clock, runsEngine: agent(clock), ...options })
  await own.runs.send('trip', 'add and look')
  await own.runs.wait('trip')
  await own.runs.approve('trip', 'call-3')
  await own.runs.wait('trip')
  return own
}

function requestsAt({ get }: Desk, at: number, more = ''): Promise<RenderedRequests> {
  return get<RenderedRequests>(pathOf('trip', `request?at=${at}${more}`))
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

/** A session `trip` that was run with instructions, model `m` and one tool. */
async function ranBefore(
  script: ScriptInput = [['start', { model: 'm' }], 'hello'],
): Promise<Desk> {
  const look = tool({
    name: 'look',
    description: 'Looks.',
    schema: { type: 'object' },
    handler: () => 'nothing',
  })
  const own = desk({
    runsEngine: createEngine({
      adapter: fake({ script }),
      model: 'm',
      instructions: 'SECRET',
      tools: [look],
      retry: false,
    }),
  })
  await own.runs.send('trip', 'hi')
  await own.runs.wait('trip')
  return own
}

/** The same store, looked at by an inspector that runs nothing. */
function lookedAt({ store }: Desk, engine?: Engine): Desk {
  return desk({ store, runsEngine: createEngine(), execute: false, engine })
}

test('without an engine a request says that it has the messages alone', async () => {
  const own = lookedAt(await ranBefore())
  const { basis, wires } = await requestsAt(own, 1)
  expect(basis).toEqual({
    source: 'session',
    note: 'Rebuilt from the messages of the session alone: the instructions, tools and settings of the run are not saved with it. The model is the one that answered.',
    answered: { provider: 'fake', model: 'm' },
  })
  expect(wires[1]?.body).toMatchObject({ model: 'm', messages: [{ role: 'user', content: 'hi' }] })
  // Nothing was asked after the answer: it is the last request, or the one that would come next.
  const { lastEventId } = await detailOf(own, 'trip')
  const last = await requestsAt(own, lastEventId)
  expect(last).toEqual({
    basis: {
      ...basis,
      note: `${basis.note} No call follows this event: this is the last one.`,
      isLast: true,
    },
    wires,
  })
  const next = await requestsAt(own, lastEventId, '&next=1')
  expect(next.basis).toEqual({
    source: 'session',
    note: 'Rebuilt from the messages of the session alone: the instructions, tools and settings of the run are not saved with it. The model is the one that answered last. No call follows this event: this request would come next.',
    isNext: true,
  })
  expect(next.wires.map(({ problem }) => problem)).toEqual(Array.from({ length: 4 }))
  expect(next.wires[1]?.body).toMatchObject({
    model: 'm',
    messages: [{ content: 'hi' }, { role: 'assistant', content: 'hello' }],
  })
})

test('the last request is found also behind later saves', async () => {
  const own = lookedAt(await ranBefore())
  const { lastEventId } = await detailOf(own, 'trip')
  const session = (await own.runs.get('trip'))?.session
  if (session === undefined) throw new Error('it is gone')
  // As an application saves it.
  await own.store.save({ ...session, metadata: { saved: true } }, { first: true })
  const { basis, wires } = await requestsAt(own, lastEventId)
  expect(basis).toMatchObject({ answered: { model: 'm' }, isLast: true })
  expect(wires[1]?.body).toMatchObject({ messages: [{ content: 'hi' }] })
})

test('a model that nobody knows is no error: the request has a name in its place, and says so', async () => {
  const first = desk({ runsEngine: createEngine({ adapter: fake({ script: ['hello'] }) }) })
  await first.runs.send('trip', 'hi')
  await first.runs.wait('trip')
  const own = lookedAt(first)
  const { lastEventId } = await detailOf(own, 'trip')
  for (const [at, more] of [
    [1, ''],
    [lastEventId, ''],
    [lastEventId, '&next=1'],
  ] as const) {
    const { basis, wires } = await requestsAt(own, at, more)
    expect(wires.map(({ problem }) => problem)).toEqual(Array.from({ length: 4 }))
    expect(wires[1]?.body).toMatchObject({ model: 'unknown-model' })
    expect(basis.note).toContain('Nothing names its model')
  }
})

test('with an engine a request says that the engine is that of now, and names the model that answered if it is another one', async () => {
  const first = await ranBefore()
  const today = (model: string): Engine =>
    createEngine({ adapter: fake({ script: ['x'] }), model, instructions: 'Other words.' })
  const { basis, wires } = await requestsAt(lookedAt(first, today('gpt-5-mini')), 1)
  expect(basis).toEqual({
    source: 'engine',
    note: 'Rebuilt from the messages of the session and the engine that the inspector was given, as it is now. Its instructions, tools and settings may not be those of the run, which are not saved. The answer came from model m; this engine asks model gpt-5-mini.',
    answered: { provider: 'fake', model: 'm' },
    differs: true,
  })
  expect(wires[1]?.body).toMatchObject({ model: 'gpt-5-mini', messages: [{}, {}] })
  const { basis: same } = await requestsAt(lookedAt(first, today('m')), 1)
  expect(same.differs).toBeUndefined()
  expect(same.note).toMatch(/as it is now.*not saved\.$/)
  // The engine of the runs is that of now, too.
  const { basis: live } = await requestsAt(first, 1)
  expect(live.source).toBe('engine')
  expect(live.note).toContain('the engine of its runs, as it is now')
  // An engine that cannot make the request has a basis as well.
  const broken = extendEngine(today('m'), {
    instructions: () => {
      throw new Error('no words today')
    },
  })
  const refused = await requestsAt(lookedAt(first, broken), 1)
  expect(refused.basis.source).toBe('engine')
  expect(refused.wires[0]?.problem).toBeDefined()
})

test.each([
  ['gpt-5', 'gpt-5-2025-08-07', undefined],
  ['openai/gpt-5', 'gpt-5', undefined],
  ['claude-sonnet-4-5-latest', 'claude-sonnet-4-5-20250929', undefined],
  ['claude-sonnet-4', 'claude-sonnet-4-5-20250929', true],
  ['gpt-5', 'gpt-5-mini', true],
] as const)(
  'an engine that asks %s and an answer of %s: differs is %s',
  async (model, by, differs) => {
    const first = await ranBefore([['start', { model: by }], 'hello'])
    const engine = createEngine({ adapter: fake({ script: ['x'] }), model })
    expect((await requestsAt(lookedAt(first, engine), 1)).basis.differs).toBe(differs)
  },
)

test('an answer of another provider is named, and that of a call which failed is not made up', async () => {
  const engine = createEngine({ adapter: openai({ model: 'm', apiKey: 'k' }) })
  const { basis } = await requestsAt(lookedAt(await ranBefore(), engine), 1)
  expect(basis.note).toContain('came from model m of fake; this engine asks model m of openai.')
  const failed = await ranBefore([['preflight_error', 'invalid_request', { status: 400 }]])
  const { basis: of } = await requestsAt(lookedAt(failed), 1)
  expect(of).toEqual({
    source: 'session',
    note: expect.stringMatching(
      /not saved with it\. Nothing names its model: unknown-model stands for it\.$/,
    ),
  })
})

test('the requests of a cassette are those that were recorded, whatever engine was given', async () => {
  const clock = virtualClock({ auto: true })
  const recorder = record(
    fake({
      scripts: [
        [['preflight_error', 'rate_limited', { status: 429 }]],
        [
          ['start', { model: 'm' }],
          ['tool_call', { id: 'c', name: 'add', arguments: { a: 1, b: 2 } }],
        ],
        [['start', { model: 'm-large' }], 'three'],
        [['start', { model: 'm' }], 'bye'],
      ],
    }),
  )
  const first = desk({
    clock,
    runsEngine: extendEngine(agent(clock), {
      adapter: recorder,
      model: 'm',
      retry: { maxAttempts: 2 },
      temperature: 0.5,
      instructions: 'SECRET',
      // The second call is another one.
      prepareStep: ({ stepNumber }) =>
        stepNumber === 0 ? {} : { model: 'm-large', tools: ['add'], maxTokens: 77 },
    }),
  })
  for (const words of ['what is 1 + 2?', 'thanks']) {
    await first.runs.send('x', words)
    await first.runs.wait('x')
  }
  const { cassette } = recorder
  expect(cassette.calls).toHaveLength(4)
  const today = createEngine({
    adapter: fake({ script: ['x'] }),
    model: 'gpt-5-mini',
    instructions: 'Other words.',
  })
  for (const engine of [undefined, today]) {
    const own = desk({ played: await cassetteRuns(cassette, 'trip'), engine })
    const { entries } = await logOf(own, 'trip')
    const starts = entries.flatMap((entry) =>
      'event' in entry && entry.event.type === 'message_started' ? [entry.id] : [],
    )
    expect(starts).toHaveLength(3)
    const shown = await Promise.all(starts.map((at) => requestsAt(own, at)))
    expect(shown.map(({ basis }) => basis)).toEqual(
      [
        [2, 'm'],
        [3, 'm-large'],
        [4, 'm'],
      ].map(([number, model]) => ({
        source: 'recorded',
        note: `Call ${number} of the cassette, as it was recorded with fake: without keys and the bytes of files.`,
        answered: { provider: 'fake', model },
      })),
    )
    const system = { content: 'SECRET' }
    const bodies = shown.map(({ wires }) => wires[1]?.body)
    expect(bodies[0]).toMatchObject({
      model: 'm',
      temperature: 0.5,
      messages: [system, { content: 'what is 1 + 2?' }],
      tools: [{}, {}, {}, {}, {}],
    })
    expect(bodies[0]).not.toHaveProperty('max_tokens')
    expect(bodies[1]).toMatchObject({
      model: 'm-large',
      max_tokens: 77,
      messages: [system, {}, { role: 'assistant' }, { role: 'tool', content: '3' }],
      tools: [{ function: { name: 'add' } }],
    })
    expect(bodies[2]).toMatchObject({ model: 'm', tools: [{}, {}, {}, {}, {}] })
    // Nothing follows the last answer, and nothing is made up.
    const { lastEventId } = await detailOf(own, 'trip')
    const end = await requestsAt(own, lastEventId)
    expect(end.wires).toEqual(shown[2]?.wires)
    expect(end.basis.note).toMatch(/^Call 4 .* No call follows this event: this is the last one\.$/)
  }
})

test('the request of a fork is made from the engine that it runs on', async () => {
  const own = await ranBefore()
  const id = await forked(own, 'trip', {
    event: 0,
    changes: { instructions: 'Changed.' },
    engine: { type: 'recorded' },
  })
  const { basis, wires } = await own.get<RenderedRequests>(pathOf(id, 'request?at=1'))
  expect(basis).toMatchObject({ source: 'fork', answered: { model: 'm' } })
  expect(wires[1]?.body).toMatchObject({ messages: [{ content: 'Changed.' }, { content: 'hi' }] })
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
  const messages = [user([filePart(fileFromId('file-1', 'openai'))])]
  await odd.store.save(Session.create({ id: 'trip', messages }), { first: true })
  const { wires: refused } = await requestsAt(odd, 0)
  expect(refused.map(({ problem }) => problem)).toEqual([
    undefined,
    undefined,
    expect.stringContaining('anthropic'),
    expect.stringContaining('gemini'),
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
  // They quote the conversation, so they are for their owner only.
  for (const name of readdirSync(folder)) {
    expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600)
  }
  const empty = desk()
  await empty.store.save(Session.create({ id: 'plain', messages: 'hello' }))
  const none = await empty.post(pathOf('plain', 'test'), {})
  expect([none.status, await none.json()]).toMatchObject([
    409,
    { error: { reason: 'nothing_recorded' } },
  ])
})
