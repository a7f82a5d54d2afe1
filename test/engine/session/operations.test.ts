import { describe, expect, test } from 'vitest'
import {
  askUser,
  createEngine,
  fail,
  isSendable,
  Session,
  SessionError,
  tool,
  user,
  type ChatAdapter,
  type Engine,
  type ModelEvent,
  type SessionStatus,
  type Tool,
} from '../../../src/index.ts'
import { fake, virtualClock, type Script } from '../../../src/testing.ts'

const done: Script = [
  ['text', 'done'],
  ['finish', 'stop'],
]

const call = (id: string, name: string): Script[number] => [
  'tool_call',
  { id, name, arguments: {} },
]

const named = (
  name: string,
  handler: NonNullable<Tool['handler']>,
  extra: Partial<Tool> = {},
): Tool => ({
  ...tool({ name, description: name, schema: { type: 'object' }, handler }),
  ...extra,
})

const tools = [
  named('ask', (_args, { toolCall }) => askUser(`about ${toolCall.id}?`)),
  named('hand', () => 'never', { manual: true }),
  named('echo', (args) => args),
  named('broken', () => fail('no luck')),
  named('pay', (args) => ({ paid: args }), { needsApproval: true }),
]

const engineOf = (...scripts: Script[]): Engine =>
  createEngine({ adapter: fake({ scripts }), tools, clock: virtualClock() })

const messages = [user('go')]

test.each([undefined, null, 7])(
  'start refuses %o and says that it needs a text, messages, a thread or a session',
  async (input) => {
    // A caller without types may pass anything.
    const start = Session.start(engineOf(done), input as unknown as Session)
    await expect(start).rejects.toMatchObject({
      kind: 'validation',
      message: expect.stringContaining('must be a text, messages, a thread or a session'),
    })
  },
)

/** A session in each status, produced by real operations. */
const sessions: Record<SessionStatus, () => Promise<Session>> = {
  idle: async () => Session.create({ messages }),
  completed: async () => (await Session.start(engineOf(done), messages)).session,
  awaiting_user: async () => (await Session.start(engineOf([call('c1', 'ask')]), messages)).session,
  awaiting_tools: async () =>
    (await Session.start(engineOf([call('c1', 'hand')]), messages)).session,
  awaiting_approval: async () =>
    (await Session.start(engineOf([call('c1', 'pay')]), messages)).session,
  halted: async () =>
    (await Session.start(engineOf([call('c1', 'echo')]), messages, { maxTurns: 1 })).session,
  error: async () =>
    (
      await Session.start(
        engineOf([
          ['text', 'half'],
          ['error', 'timeout'],
        ]),
        messages,
      )
    ).session,
}

const operations = {
  start: (session: Session) => Session.start(engineOf(done), session),
  streamStart: async (session: Session) => Session.streamStart(engineOf(done), session),
  reply: (session: Session) => Session.reply(engineOf(done), session, 'hello'),
  streamReply: async (session: Session) => Session.streamReply(engineOf(done), session, 'hello'),
  resume: (session: Session) => Session.resume(engineOf(done), session),
  streamResume: async (session: Session) => Session.streamResume(engineOf(done), session),
  step: (session: Session) => Session.step(engineOf(done), session),
  streamStep: async (session: Session) => Session.streamStep(engineOf(done), session),
  append: async (session: Session) => Session.append(session, user('more')),
  rewind: async (session: Session) => Session.rewind(session, 0),
  approve: async (session: Session) => Session.approve(session, 'c1'),
  deny: async (session: Session) => Session.deny(session, 'c1', 'no'),
  submitToolResult: async (session: Session) => Session.submitToolResult(session, 'c1', 'x'),
}

const table: Record<SessionStatus, readonly (keyof typeof operations)[]> = {
  idle: [
    'start',
    'streamStart',
    'reply',
    'streamReply',
    'resume',
    'streamResume',
    'step',
    'streamStep',
    'append',
    'rewind',
  ],
  completed: [
    'start',
    'streamStart',
    'reply',
    'streamReply',
    'step',
    'streamStep',
    'append',
    'rewind',
  ],
  awaiting_user: ['reply', 'streamReply', 'rewind'],
  awaiting_approval: ['reply', 'streamReply', 'approve', 'deny', 'rewind'],
  awaiting_tools: ['reply', 'streamReply', 'submitToolResult', 'rewind'],
  halted: [
    'reply',
    'streamReply',
    'resume',
    'streamResume',
    'step',
    'streamStep',
    'append',
    'rewind',
  ],
  error: [
    'reply',
    'streamReply',
    'resume',
    'streamResume',
    'step',
    'streamStep',
    'append',
    'rewind',
  ],
}

describe('every operation in every status', () => {
  const rows = (Object.keys(table) as SessionStatus[]).flatMap((status) =>
    (Object.keys(operations) as (keyof typeof operations)[]).map((name) => [status, name] as const),
  )
  test.each(rows)('%s accepts or refuses %s as the table says', async (status, name) => {
    const session = await sessions[status]()
    expect(session.status).toBe(status)
    const twin = name.startsWith('stream') ? name.slice(6).toLowerCase() : name
    expect(Session.legalOperations(session).some((legal) => legal === twin)).toBe(
      table[status].includes(name),
    )
    const before = JSON.stringify(session)
    if (table[status].includes(name)) {
      await expect(operations[name](session)).resolves.toBeDefined()
    } else {
      const error: unknown = await operations[name](session).catch((reason: unknown) => reason)
      expect(error).toBeInstanceOf(SessionError)
      expect(error).toMatchObject({
        reason: status === 'error' ? 'session_in_error_state' : 'illegal_status',
        message: expect.stringMatching(/legal now: Session\./) as string,
      })
    }
    expect(JSON.stringify(session)).toBe(before)
  })
})

/** What the model reads of a question and its answer. */
const answer = (question: string, given: string): string =>
  JSON.stringify({ question, answer: given })

describe('a session', () => {
  test('starts, completes and continues with a reply', async () => {
    const adapter = fake({ scripts: [done, [['text', 'again']]] })
    const engine = createEngine({ adapter })
    const first = await Session.start(engine, messages)
    expect(first).toMatchObject({
      session: { status: 'completed', version: 3 },
      result: { haltedReason: 'completed' },
    })
    const second = await Session.reply(engine, first.session, 'and?')
    expect(second.session.thread.messages.map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'user',
      'assistant',
    ])
    expect(second.session.id).toBe(first.session.id)
  })

  test('is created with an id, a thread or messages, context and metadata; unknown keys are refused', () => {
    expect(Session.create({ id: 'x', messages, context: { a: 1 }, metadata: { b: 2 } })).toEqual({
      version: 3,
      id: 'x',
      status: 'idle',
      thread: { messages, metadata: {} },
      pendingToolCalls: [],
      pendingApprovals: [],
      context: { a: 1 },
      metadata: { b: 2 },
    })
    expect(() => Session.create({ messages, thread: { messages, metadata: {} } })).toThrow('thread')
    expect(() => Session.create({ meta: {} } as never)).toThrow('metadata')
  })

  test('its context is merged over the engine’s, and its id reaches the handlers', async () => {
    const seen: unknown[] = []
    const look = named('look', (_args, { context, sessionId }) => {
      seen.push(context, sessionId)
      return null
    })
    const adapter = fake({ scripts: [[call('c1', 'look')], done] })
    const engine = createEngine({ adapter, tools: [look], context: { tenant: 'a', x: 1 } })
    await Session.start(engine, Session.create({ id: 's', messages, context: { x: 2 } }))
    expect(seen).toEqual([{ tenant: 'a', x: 2 }, 's'])
  })

  test('its metadata belongs to the caller: no run writes to it', async () => {
    const engine = engineOf([call('c1', 'ask')], done)
    const { session } = await Session.start(
      engine,
      Session.create({ messages, metadata: { mine: 1 } }),
    )
    const after = await Session.reply(engine, session, 'yes')
    expect([session.metadata, after.session.metadata]).toEqual([{ mine: 1 }, { mine: 1 }])
  })

  test('a call that fails returns the session in status error with the whole thread, and can be retried', async () => {
    const engine = engineOf(
      [
        ['text', 'half'],
        ['error', 'provider_unavailable'],
      ],
      done,
    )
    const failed = await Session.start(engine, messages)
    expect(failed).toMatchObject({
      session: { status: 'error', error: { reason: 'provider_unavailable' } },
      result: { haltedReason: 'error', error: { reason: 'provider_unavailable' } },
    })
    expect(failed.session.thread.messages.at(-1)).toMatchObject({
      content: 'half',
      metadata: { partial: true },
    })
    const again = await Session.resume(engine, failed.session)
    expect(again.session).toMatchObject({ status: 'completed' })
    expect(again.session.error).toBeUndefined()
    expect(again.session.thread.messages.map(({ content }) => content)).toEqual(['go', 'done'])
  })

  test('a call that fails before its first event returns the session in status error, with the input', async () => {
    const engine = engineOf([['preflight_error', 'authentication_failed', { status: 401 }]], done)
    const { session } = await Session.start(engine, messages)
    expect(session).toMatchObject({
      status: 'error',
      error: { reason: 'authentication_failed' },
      thread: { messages },
    })
    expect((await Session.resume(engine, session)).session.status).toBe('completed')
  })

  test('a usage error rejects and changes nothing', async () => {
    await expect(Session.start(createEngine(), messages)).rejects.toMatchObject({
      reason: 'missing_adapter',
    })
    await expect(Session.start(engineOf(done), [])).rejects.toMatchObject({
      reason: 'invalid_request',
    })
  })

  test('a session that was halted by a tool error can be resumed: the model is called again', async () => {
    const engine = engineOf([call('c1', 'broken')], done)
    const { session } = await Session.start(engine, messages, { onToolError: 'halt' })
    expect(session).toMatchObject({
      status: 'error',
      error: { kind: 'tool', reason: 'handler_failed' },
    })
    expect((await Session.resume(engine, session)).session.status).toBe('completed')
  })

  test('a cancelled run keeps the user message and the partial answer, which is marked partial', async () => {
    const controller = new AbortController()
    const script: Script = [
      ['text', 'half an '],
      ['delay', 10],
      ['text', 'answer'],
    ]
    const { session, result } = await Session.start(engineOf(script, done), messages, {
      signal: controller.signal,
      onEvent: ({ type }) => {
        if (type === 'text_delta') controller.abort()
      },
    })
    expect(result.haltedReason).toBe('cancelled')
    expect(session).toMatchObject({ status: 'halted', haltedReason: 'cancelled' })
    expect(session.error).toBeUndefined()
    expect(session.thread.messages).toMatchObject([
      { role: 'user', content: 'go' },
      { role: 'assistant', content: 'half an ', metadata: { partial: true } },
    ])
    const next = await Session.reply(engineOf(done), session, 'go on')
    expect(next.session.thread.messages.map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'user',
      'assistant',
    ])
  })

  test('continues step by step', async () => {
    const engine = engineOf([call('c1', 'echo')], done)
    const first = await Session.step(engine, Session.create({ messages }))
    expect(first.session.status).toBe('idle')
    const second = await Session.step(engine, first.session)
    expect(second).toMatchObject({ session: { status: 'completed' }, result: { done: true } })
  })

  test('accepts appended messages, after which it can be resumed', async () => {
    const { session } = await Session.start(engineOf(done), messages)
    const more = Session.append(session, user('one'), user('two'))
    expect(more.status).toBe('idle')
    expect((await Session.resume(engineOf(done), more)).session.thread.messages).toHaveLength(5)
    expect(() => Session.append(session, { role: 'tool', content: 'x', toolCallId: 'c9' })).toThrow(
      'c9',
    )
  })
})

describe('questions', () => {
  test('questions are asked one after the other, none is lost, and the model is called once at the end', async () => {
    const adapter = fake({
      scripts: [[call('c1', 'ask'), call('c2', 'echo'), call('c3', 'ask')], done],
    })
    const engine = createEngine({ adapter, tools })
    const first = await Session.start(engine, messages)
    expect(first.session).toMatchObject({
      status: 'awaiting_user',
      pendingQuestion: 'about c1?',
      pendingToolCallId: 'c1',
    })
    const second = await Session.reply(engine, first.session, 'one')
    expect(second.session).toMatchObject({ status: 'awaiting_user', pendingQuestion: 'about c3?' })
    expect(adapter.calls).toHaveLength(1)
    const third = await Session.reply(engine, second.session, 'two')
    expect(third.session.status).toBe('completed')
    expect(adapter.calls[1]?.request.messages.slice(1)).toMatchObject([
      { role: 'assistant' },
      {
        role: 'tool',
        toolCallId: 'c1',
        content: answer('about c1?', 'one'),
        metadata: { answeredByUser: true },
      },
      { role: 'tool', toolCallId: 'c2', content: '{}' },
      {
        role: 'tool',
        toolCallId: 'c3',
        content: answer('about c3?', 'two'),
        metadata: { answeredByUser: true },
      },
    ])
    expect(isSendable(third.session.thread)).toBe(true)
  })
})

describe('calls for the caller', () => {
  test('are pending, can be answered in any order, and their results are in the order of the calls', async () => {
    const adapter = fake({
      scripts: [[call('c1', 'hand'), call('c2', 'echo'), call('c3', 'hand')], done],
    })
    const engine = createEngine({ adapter, tools })
    const { session } = await Session.start(engine, messages)
    expect(session.status).toBe('awaiting_tools')
    expect(Session.pendingToolCalls(session).map(({ id }) => id)).toEqual(['c1', 'c3'])
    const half = Session.submitToolResult(session, 'c3', { ok: true })
    expect(half).toMatchObject({ status: 'awaiting_tools', pendingToolCalls: [{ id: 'c1' }] })
    const all = Session.submitToolResults(half, [{ id: 'c1', content: 'yes' }])
    expect(all).toMatchObject({ status: 'idle', pendingToolCalls: [] })
    expect(
      all.thread.messages.slice(2).map(({ toolCallId, content }) => [toolCallId, content]),
    ).toEqual([
      ['c1', 'yes'],
      ['c2', '{}'],
      ['c3', '{"ok":true}'],
    ])
    expect((await Session.resume(engine, all)).session.status).toBe('completed')
  })

  test.each([
    ['an unknown id', [{ toolCallId: 'c9', content: 'x' }]],
    [
      'a duplicate result',
      [
        { toolCallId: 'c1', content: 'x' },
        { toolCallId: 'c1', content: 'y' },
      ],
    ],
    [
      'one result too many',
      [
        { toolCallId: 'c1', content: 'x' },
        { toolCallId: 'c2', content: 'y' },
      ],
    ],
  ])('%s is unknown_tool_call_id and changes nothing', async (_what, results) => {
    const { session } = await Session.start(engineOf([call('c1', 'hand')]), messages)
    const before = JSON.stringify(session)
    expect(() => Session.submitToolResults(session, results)).toThrow(SessionError)
    expect(() => Session.submitToolResults(session, results)).toThrow(
      'is not a call that can be settled',
    )
    expect(JSON.stringify(session)).toBe(before)
  })

  test('a run that was suspended in manual mode continues in manual mode', async () => {
    const engine = engineOf([call('c1', 'echo')], [call('c2', 'echo')], done)
    const first = await Session.start(engine, messages, { mode: 'manual' })
    const answered = Session.submitToolResult(first.session, 'c1', 'by hand')
    const second = await Session.resume(engine, answered)
    expect(second.session).toMatchObject({
      status: 'awaiting_tools',
      pendingToolCalls: [{ id: 'c2' }],
    })
    const third = await Session.resume(
      engine,
      Session.submitToolResult(second.session, 'c2', 'x'),
      { mode: 'auto' },
    )
    expect(third.session.status).toBe('completed')
  })

  test('wait behind questions, and both can be answered in any order', async () => {
    const start = async (): Promise<Session> =>
      (await Session.start(engineOf([call('c1', 'ask'), call('c2', 'hand')]), messages)).session
    const session = await start()
    expect(session).toMatchObject({
      status: 'awaiting_user',
      pendingQuestion: 'about c1?',
      pendingToolCalls: [{ id: 'c2' }],
    })
    const submitted = Session.submitToolResult(session, 'c2', 'ok')
    expect(submitted.status).toBe('awaiting_user')
    const first = await Session.reply(engineOf(done), submitted, 'fine')

    const replied = await Session.reply(engineOf(), await start(), 'fine')
    expect(replied).toMatchObject({
      session: { status: 'awaiting_tools' },
      result: { haltedReason: 'manual_tool_calls', manualToolCalls: [{ id: 'c2' }] },
    })
    const both = Session.submitToolResult(replied.session, 'c2', 'ok')
    const second = await Session.resume(engineOf(done), both)

    expect(first.session.status).toBe('completed')
    expect(first.session.thread.messages.slice(2)).toMatchObject([
      { content: answer('about c1?', 'fine'), metadata: { answeredByUser: true } },
      { content: 'ok', toolCallId: 'c2' },
      { content: 'done' },
    ])
    expect(second.session.thread).toEqual(first.session.thread)
  })
})

const ask = tool({
  name: 'ask',
  description: 'asks',
  schema: { type: 'object' },
  handler: (_args, { toolCall }) => askUser(`about ${toolCall.id}?`),
})

const engine = (): Engine =>
  createEngine({
    adapter: fake({
      script: [
        ['tool_call', { id: 'c1', name: 'ask', arguments: {} }],
        ['tool_call', { id: 'c2', name: 'ask', arguments: {} }],
        ['tool_call', { id: 'c3', name: 'ask', arguments: {} }],
      ],
    }),
    tools: [ask],
  })

test('start takes the id of the new session; a session keeps its own', async () => {
  const engine = createEngine({ adapter: fake({ scripts: [done, done, done] }) })
  expect((await Session.start(engine, [user('hi')], { id: 'ada' })).session.id).toBe('ada')
  expect(Session.streamStart(engine, 'hi', { id: 'bob' }).session.id).toBe('bob')
  const thread = { messages: [user('hi')], metadata: {} }
  expect(Session.streamStart(engine, thread, { id: 'eve' }).session.id).toBe('eve')
  const session = Session.create({ id: 'ada', messages: [user('hi')] })
  expect(Session.streamStart(engine, session, { id: 'ada' }).session.id).toBe('ada')
  expect(() => Session.streamStart(engine, session, { id: 'bob' })).toThrow(
    'id must be absent or "ada", the id of the session',
  )
  expect(() => Session.streamStart(engine, 'hi', { id: '' })).toThrow('id must be a non-empty')
  expect(() => Session.streamStart(engine, 'hi', { ids: 'x' } as never)).toThrow('unknown key ids')
})

test('a queued question is in the session before the first event of a reply', async () => {
  const { session } = await Session.start(engine(), [user('go')])
  const stream = Session.streamReply(engine(), session, 'one')
  const saved = Session.parse(Session.stringify(stream.session))
  expect(saved).toMatchObject({ status: 'awaiting_user', pendingQuestion: 'about c2?' })
  const last = await Session.reply(engine(), saved, 'two')
  expect(last.session).toMatchObject({ status: 'awaiting_user', pendingQuestion: 'about c3?' })
})

test('the reducer of such a reply keeps the queued questions', async () => {
  const { session } = await Session.start(engine(), [user('go')])
  const stream = Session.streamReply(engine(), session, 'one')
  let reducer = Session.reduce(stream.session)
  for await (const event of stream) reducer = Session.applyEvent(reducer, event)
  expect(Session.finalize(reducer).session).toEqual(stream.session)
  expect(stream.session.moreQuestions).toMatchObject([{ toolCallId: 'c3' }])
})

test('a session stream reads each delta at the gate, in the one fold, and for its reader in the middle of a batch', async () => {
  let reads = 0
  const delta: ModelEvent = {
    type: 'text_delta',
    get delta() {
      reads++
      return 'word '
    },
  }
  const adapter: ChatAdapter = {
    provider: 'counting',
    async *stream(_request, { requestId = 'r' } = {}) {
      yield [{ type: 'message_started', requestId, provider: 'counting' }]
      for (let batch = 0; batch < 5; batch++) yield [delta, delta]
      const message = { role: 'assistant', content: 'word '.repeat(10) } as const
      yield [{ type: 'message_completed', message, finishReason: 'stop' }]
    },
  }

  const stream = Session.streamStart(createEngine({ adapter }), [user('go')])
  let seen = 0
  for await (const event of stream) if (event.type === 'text_delta') seen++

  expect(stream.session.status).toBe('completed')
  expect({ seen, reads }).toEqual({ seen: 10, reads: 25 })
})
