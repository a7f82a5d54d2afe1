import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { partialMessages } from '../../src/core/answer/fold-answer.ts'
import type { ModelEvent } from '../../src/core/types/events.ts'
import {
  applyEvent,
  assistant,
  chat,
  collect,
  collectChat,
  compactMessages,
  createCollector,
  createEngine,
  extendEngine,
  generate,
  isSendable,
  Session,
  step,
  streamChat,
  streamGenerate,
  tool,
  toResponse,
  user,
  validateMessage,
  validateSession,
  validateThread,
  type ChatAdapter,
  type Engine,
  type Message,
} from '../../src/index.ts'
import {
  collectEvents,
  crashAtEveryEvent,
  fake,
  virtualClock,
  type Script,
} from '../../src/testing.ts'

/** An answer tells who gave it and why it ended, on every path and after every cut. */

const noted = ['length', 'content_filter', 'error', 'other'] as const

/** What may be there of an answer. */
const contents: readonly (readonly [name: string, script: Script, content: Message['content']])[] =
  [
    ['with a text', [['text', 'half']], 'half'],
    ['without anything', [], ''],
    [
      'with thoughts only',
      [['reasoning', 'hm']],
      [{ type: 'reasoning', text: 'hm', provider: 'fake' }],
    ],
  ]

const nameless = (script: Script): Engine =>
  createEngine({ adapter: fake({ script: () => script }), retry: false })

const engineOf = (script: Script): Engine => extendEngine(nameless(script), { name: 'Desk' })

describe.each(noted)('an answer that ended with %s', (finishReason) => {
  test.each(contents)(
    '%s says so, and who gave it, on every path',
    async (_name, script, content) => {
      const engine = engineOf([...script, ['finish', finishReason]])
      const message: Message = { role: 'assistant', content, finishReason, agent: 'Desk' }
      expect((await generate(engine, 'hi')).message).toEqual(message)
      const events = await collectEvents(streamGenerate(engine, 'hi'))
      expect((await collect(events)).message).toEqual(message)
      const one = await step(engine, 'hi')
      expect(one.thread.messages).toEqual([user('hi'), message])
      expect(one.response.message).toEqual(message)
      const all = await chat(engine, 'hi')
      expect(all.thread.messages).toEqual([user('hi'), message])
      const told = await collectEvents(streamChat(engine, 'hi'))
      expect((await collectChat(told, { messages: [user('hi')], metadata: {} })).thread).toEqual(
        all.thread,
      )
      const { session } = await Session.start(engine, 'hi')
      expect(session.thread).toEqual(all.thread)
      expect(validateMessage(message)).toEqual([])
      expect(isSendable(session.thread)).toBe(true)
      expect(validateSession(session)).toEqual([])
      expect(Session.parse(Session.stringify(session))).toEqual(session)
    },
  )

  test('and whose engine has no name says nothing about it', async () => {
    const { message } = await generate(nameless([['finish', finishReason]]), 'hi')
    expect(message).toEqual({ role: 'assistant', content: '', finishReason })
  })
})

test.each(['stop', 'tool_calls'] as const)(
  'an answer that ended with %s says no reason, and is not in the thread if it said nothing',
  async (reason) => {
    const { message } = await generate(
      engineOf([
        ['text', 'ok'],
        ['finish', reason],
      ]),
      'hi',
    )
    expect(message).toEqual({ role: 'assistant', content: 'ok', agent: 'Desk' })
    const { session } = await Session.start(engineOf([['finish', reason]]), 'hi')
    expect(session).toMatchObject({ status: 'completed', thread: { messages: [user('hi')] } })
  },
)

test('a partial answer knows who gave it and has no reason, however the run ended', async () => {
  const failed = engineOf([
    ['text', 'half'],
    ['error', 'provider_unavailable'],
  ])
  const partial = { role: 'assistant', content: 'half', agent: 'Desk', metadata: { partial: true } }
  const { session } = await Session.start(failed, 'hi')
  expect(session.status).toBe('error')
  expect(session.thread.messages.at(-1)).toEqual(partial)

  const left = Session.streamStart(
    engineOf([
      ['text', 'half'],
      ['text', 'more'],
    ]),
    'hi',
  )
  for await (const { type } of left) if (type === 'text_delta') break
  expect(left.session.thread.messages.at(-1)).toEqual(partial)
  expect(Session.parse(Session.stringify(left.session))).toEqual(left.session)
})

test('a partial answer without content is not in the thread', async () => {
  const engine = engineOf([['error_event', 'provider_unavailable', {}]])
  const { session } = await Session.start(engine, 'hi')
  expect(session).toMatchObject({ status: 'error', thread: { messages: [user('hi')] } })
})

test('an answer that the provider paused has no reason: the next one continues it', async () => {
  const adapter = fake({
    scripts: [
      [['ok', { outputText: 'One ', finishReason: 'other', metadata: { paused: true } }]],
      ['and two.', ['finish', 'length']],
    ] as Script[],
  })
  const { thread, outputText } = await chat(createEngine({ name: 'Desk', adapter }), 'hi')
  expect(outputText).toBe('One and two.')
  expect(thread.messages.slice(1)).toEqual([
    { role: 'assistant', content: 'One ', agent: 'Desk', metadata: { paused: true } },
    { role: 'assistant', content: 'and two.', agent: 'Desk', finishReason: 'length' },
  ])
})

test('the text of a turn whose last answer was filtered is that of the paused ones before it', async () => {
  const adapter = fake({
    scripts: [
      [['ok', { outputText: 'One ', finishReason: 'other', metadata: { paused: true } }]],
      [['finish', 'content_filter']],
    ] as Script[],
  })
  const { outputText, thread } = await chat(createEngine({ adapter }), 'hi')
  expect([outputText, thread.messages.length]).toEqual(['One ', 3])
})

test('each answer of a repair says how it ended itself', async () => {
  const scripts: Script[] = [[['text', 'no JSON']], [['text', '{"n":1}']]]
  const engine = createEngine({ name: 'Desk', adapter: fake({ scripts }) })
  const options = { responseFormat: z.object({ n: z.number() }), repair: 1 }
  const { thread, output } = await chat(engine, 'hi', options)
  expect(output).toEqual({ n: 1 })
  const answers = thread.messages.filter(({ role }) => role === 'assistant')
  expect(answers).toEqual([
    { role: 'assistant', content: 'no JSON', agent: 'Desk' },
    { role: 'assistant', content: '{"n":1}', agent: 'Desk' },
  ])
})

test('what an adapter says about its answer does not count', async () => {
  const message: Message = { role: 'assistant', content: 'Hi', finishReason: 'length', agent: 'Me' }
  const batch: readonly ModelEvent[] = [
    { type: 'message_started', requestId: 'r', provider: 'own', agent: 'Me' },
    { type: 'text_delta', delta: 'Hi' },
    { type: 'message_completed', message, finishReason: 'stop' },
  ]
  const adapter: ChatAdapter = {
    provider: 'own',
    async *stream() {
      yield batch
    },
  }
  const plain = { role: 'assistant', content: 'Hi' }
  expect((await generate(createEngine({ adapter }), 'hi')).message).toEqual(plain)
  const events = await collectEvents(streamGenerate(createEngine({ adapter, name: 'A' }), 'hi'))
  expect(events).toMatchObject([{ agent: 'A' }, {}, { message: plain }])
  // A fold of what no engine has checked.
  const state = batch.reduce(applyEvent, createCollector())
  expect(toResponse(state).message).toEqual({ ...plain, agent: 'Me' })
})

test('a run that is cut at any event, saved and resumed comes to the same thread', async () => {
  const echo = tool({
    name: 'echo',
    description: 'echo',
    schema: { type: 'object' },
    handler: () => 'heard',
    idempotent: true,
  })
  for (const last of [[['finish', 'content_filter']], ['half', ['finish', 'length']]]) {
    const scripts = [[['tool_call', { id: 'c1', name: 'echo' }]], last] as Script[]
    const { cuts } = await crashAtEveryEvent({
      engine: (completed) =>
        createEngine({
          name: 'Desk',
          adapter: fake({ scripts: scripts.slice(completed) }),
          tools: [echo],
          clock: virtualClock(),
        }),
      messages: 'go',
    })
    expect(cuts).toBeGreaterThan(5)
  }
})

test('a session of 0.2 in the middle of a filtered answer goes on, and has the answer then', async () => {
  const saved = {
    version: 2,
    id: 's',
    status: 'idle',
    thread: { messages: [user('hi')], metadata: {} },
    pendingToolCalls: [],
    pendingApprovals: [],
    context: {},
    metadata: {},
    run: {
      mode: 'auto',
      turns: 1,
      phase: 'tools',
      answer: {
        requestId: 'r',
        provider: 'fake',
        finishReason: 'content_filter',
        usage: {},
        metadata: {},
      },
      silent: true,
      started: [],
      halts: [],
    },
  }
  const engine = createEngine({ name: 'Desk', adapter: fake({ scripts: [] }) })
  const { session } = await Session.resume(engine, Session.parse(JSON.stringify(saved)))
  expect(session).toMatchObject({ status: 'completed' })
  expect(session.thread.messages.at(-1)).toEqual({
    role: 'assistant',
    content: '',
    finishReason: 'content_filter',
  })
})

describe('after an answer that was filtered to nothing', () => {
  const filtered: Message = { role: 'assistant', content: '', finishReason: 'content_filter' }

  /** A conversation with one. */
  const start = async (...more: readonly Script[]) => {
    const adapter = fake({ scripts: [[['finish', 'content_filter']], ...more] })
    const engine = createEngine({ adapter })
    const { session } = await Session.start(engine, 'hi')
    return { adapter, engine, session }
  }

  test('the session is completed, and the next words are answered', async () => {
    const { engine, session } = await start([['text', 'yes']])
    expect(session.status).toBe('completed')
    const { session: next } = await Session.reply(engine, session, 'again')
    expect(next.thread.messages).toEqual([user('hi'), filtered, user('again'), assistant('yes')])
  })

  test('its words can be edited and sent again', async () => {
    const { engine, session } = await start([['text', 'yes']])
    const { session: next } = await Session.reply(engine, Session.rewind(session, 0), 'other')
    expect(next.thread.messages).toEqual([user('other'), assistant('yes')])
  })

  test('the model can be asked again', async () => {
    const { engine, session } = await start([['text', 'yes']])
    const { session: next } = await Session.resume(engine, Session.rewind(session, 1))
    expect(next.thread.messages).toEqual([user('hi'), assistant('yes')])
  })

  test('one that ended with an error is asked for again by resume, and kept by reply', async () => {
    const scripts: Script[] = [[['finish', 'error']], [['text', 'yes']]]
    const engine = (): Engine => createEngine({ adapter: fake({ scripts }) })
    const first = engine()
    const { session } = await Session.start(first, 'hi')
    expect(session.status).toBe('error')
    const failed = { role: 'assistant', content: '', finishReason: 'error' }
    expect(session.thread.messages).toEqual([user('hi'), failed])
    const { session: resumed } = await Session.resume(first, session)
    expect(resumed.thread.messages).toEqual([user('hi'), assistant('yes')])
    const second = engine()
    await generate(second, 'to the second script')
    const { session: replied } = await Session.reply(second, session, 'go on')
    expect(replied.thread.messages).toEqual([user('hi'), failed, user('go on'), assistant('yes')])
  })

  test('a long conversation is compacted around it', async () => {
    const requests: (readonly Message[])[] = []
    const adapter = fake({
      script: () => [['text', 'yes']],
      record: ({ messages }) => void requests.push(messages),
    })
    const engine = createEngine({ adapter })
    const long = 'word '.repeat(200)
    const history = [user(long), filtered, user(long), assistant(long), user('now')]
    const prepareStep = compactMessages({ budget: 100, keepLast: 1 })
    await chat(engine, history, { prepareStep })
    expect(requests[0]).toMatchObject([{ metadata: { compacted: 4 } }, { content: 'now' }])
  })
})

describe('the checks', () => {
  test.each([
    ['a reason that is not one', { finishReason: 'bored' }, 'finishReason'],
    ['a reason of an answer that ended by itself', { finishReason: 'stop' }, 'finishReason'],
    ['a name that is empty', { agent: '' }, 'agent'],
    ['a name that is too long', { agent: 'x'.repeat(101) }, 'agent'],
    ['a name that is no text', { agent: 7 }, 'agent'],
    ['an unknown key', { speaker: 'Desk' }, 'speaker'],
  ])('refuse %s', (_name, members, path) => {
    const issues = validateMessage({ role: 'assistant', content: 'x', ...members })
    expect(issues.map((issue) => (issue.path === '' ? issue.problem : issue.path))).toEqual([
      expect.stringContaining(path),
    ])
  })

  test.each(['user', 'system', 'tool'] as const)('refuse both on a message of the %s', (role) => {
    const call = role === 'tool' ? { toolCallId: 'c' } : {}
    const message = { role, content: 'x', finishReason: 'length', agent: 'Desk', ...call }
    expect(validateMessage(message).map(({ path }) => path)).toEqual(['finishReason', 'agent'])
  })

  test('a thread of answers without content is valid, and cannot be sent', () => {
    const messages: Message[] = [{ role: 'assistant', content: '', finishReason: 'other' }]
    expect(validateThread({ messages, metadata: {} })).toEqual([])
    expect(isSendable({ messages, metadata: {} })).toBe(false)
    expect(isSendable({ messages: [user('hi'), ...messages], metadata: {} })).toBe(true)
  })

  test.each([
    ['an empty text', ''],
    ['101 characters', 'x'.repeat(101)],
    ['a number', 7],
  ])('refuse %s as the name of an engine', (_name, given) => {
    const name = given as string
    expect(() => createEngine({ name })).toThrow('name must be a text of 1 to 100 characters')
    expect(() => extendEngine(createEngine({}), { name })).toThrow('name must be a text')
  })
})

test('the name of an engine is kept, replaced and removed by extendEngine, and shown', async () => {
  const engine = createEngine({ name: 'Desk', adapter: fake({ script: () => ['hi'] }) })
  const named = async (of: Engine): Promise<string | undefined> =>
    (await generate(of, 'hi')).message.agent
  expect(engine.name).toBe('Desk')
  expect(JSON.parse(JSON.stringify(engine))).toMatchObject({ name: 'Desk' })
  expect(await named(extendEngine(engine, { temperature: 0 }))).toBe('Desk')
  expect(await named(extendEngine(engine, { name: 'Expert' }))).toBe('Expert')
  expect(await named(extendEngine(engine, { name: undefined }))).toBeUndefined()
})

test('the fold of every beginning of an answer knows who speaks from its first event on', async () => {
  const events = await collectEvents(
    streamGenerate(
      engineOf([
        ['text', 'a'],
        ['text', 'b'],
      ]),
      'hi',
    ),
  )
  let state = createCollector()
  for (const event of events) {
    state = applyEvent(state, event)
    expect(toResponse(state).message.agent).toBe('Desk')
    for (const message of partialMessages(state)) expect(message.agent).toBe('Desk')
  }
})
