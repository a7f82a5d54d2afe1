import { describe, expect, expectTypeOf, test, vi } from 'vitest'
import {
  chat,
  compactMessages,
  createEngine,
  generate,
  isSendable,
  messageText,
  Session,
  streamChat,
  system,
  thread,
  tool,
  user,
  validateThread,
  type ApprovalVerdict,
  type ApprovePolicy,
  type CallOptions,
  type Engine,
  type Message,
  type NextStep,
  type PrepareStep,
  type StepResult,
  type StreamEvent,
} from '../../../src/index.ts'
import { collectEvents, fake, type Fake, type Script } from '../../../src/testing.ts'
import { call, done, echo, named } from './support.ts'

const texts = (adapter: Fake): unknown[] =>
  adapter.calls.map(({ request }) => request.messages.map(({ role, content }) => [role, content]))

describe('instructions', () => {
  test('are the system text of every model call, and in no thread and no session', async () => {
    const adapter = fake({ scripts: [[call('c1')], done, done] })
    const engine = createEngine({ adapter, tools: [echo], instructions: 'Be brief.' })
    const { session, result } = await Session.start(engine, 'go')
    await Session.reply(engine, session, 'more', { instructions: 'Be long.' })
    const sent = adapter.calls.map(({ request }) => request.messages[0])
    expect(sent).toEqual([system('Be brief.'), system('Be brief.'), system('Be long.')])
    expect(adapter.calls[2]?.request.messages.filter(({ role }) => role === 'system')).toHaveLength(
      1,
    )
    expect(Session.stringify(session)).not.toContain('Be brief.')
    expect(result.thread.messages[0]).toEqual(user('go'))
  })

  test('may be a function of the context', async () => {
    const adapter = fake({ scripts: [done, done] })
    const engine = createEngine({
      adapter,
      context: { name: 'Ada' },
      instructions: ({ name }) => `You talk to ${JSON.stringify(name)}.`,
    })
    await generate(engine, 'go')
    await chat(engine, 'go', { context: { name: 'Bob' } })
    expect(texts(adapter)).toEqual([
      [
        ['system', 'You talk to "Ada".'],
        ['user', 'go'],
      ],
      [
        ['system', 'You talk to "Bob".'],
        ['user', 'go'],
      ],
    ])
  })

  test('that are not a text are refused by name', async () => {
    const engine = createEngine({ adapter: fake({ script: done }) })
    const wrong = (async () => 'late') as unknown as () => string
    await expect(chat(engine, 'go', { instructions: wrong })).rejects.toThrow(
      /instructions must be or return a text, not a Promise/,
    )
    expect(() => createEngine({ instructions: 7 as never })).toThrow(/instructions must be a text/)
  })
})

describe('prepareStep', () => {
  test('changes the next model call only', async () => {
    const other = named('other', () => 'from other')
    const adapter = fake({ scripts: [[call('c1', 'other')], [call('c2')], done] })
    const engine = createEngine({ adapter, tools: [echo], model: 'big', instructions: 'A' })
    const result = await chat(engine, 'go', {
      prepareStep: async ({ stepNumber }) =>
        stepNumber === 0
          ? {
              model: 'small',
              tools: [other],
              toolChoice: 'other',
              instructions: 'B',
              messages: [user('instead')],
              maxTokens: 7,
              reasoning: { effort: 'low' },
            }
          : undefined,
    })
    expect(adapter.calls[0]?.request).toMatchObject({
      model: 'small',
      tools: [{ name: 'other' }],
      toolChoice: 'other',
      messages: [system('B'), user('instead')],
      maxTokens: 7,
      reasoning: { effort: 'low' },
    })
    expect(adapter.calls[1]?.request).toMatchObject({
      model: 'big',
      tools: [{ name: 'echo' }],
      messages: [system('A'), user('go'), {}, {}],
    })
    expect(adapter.calls[1]?.request).not.toHaveProperty('maxTokens')
    expect(result.thread.messages[0]).toEqual(user('go'))
    expect(result.steps[0]?.toolResults).toMatchObject([{ content: 'from other' }])
  })

  test('is told where the run is', async () => {
    const seen: NextStep[] = []
    const adapter = fake({ scripts: [[call('c1')], done] })
    const engine = createEngine({ adapter, tools: [echo], context: { tenant: 't' } })
    await chat(engine, 'go', { prepareStep: (step) => void seen.push(step) })
    expect(
      seen.map(({ stepNumber, steps, messages }) => [stepNumber, steps.length, messages.length]),
    ).toEqual([
      [0, 0, 1],
      [1, 1, 3],
    ])
    expect(seen[0]?.context).toEqual({ tenant: 't' })
  })

  test('chooses tools by name', async () => {
    const adapter = fake({ script: done })
    const engine = createEngine({ adapter, tools: [echo, named('other', () => 1)] })
    await chat(engine, 'go', { prepareStep: () => ({ tools: ['other'] }) })
    expect(adapter.calls[0]?.request.tools).toMatchObject([{ name: 'other' }])
    expect(adapter.calls[0]?.request.tools).toHaveLength(1)
  })

  test('sees the results that are told late, so that messages of its own do not leave them out', async () => {
    const pay = named('pay', () => 'paid', { needsApproval: true })
    const adapter = fake({ scripts: [[call('c1', 'pay')], done, done] })
    const engine = createEngine({
      adapter,
      tools: [pay],
      prepareStep: ({ messages }) => ({ messages: messages.slice(-3) }),
    })
    const { session } = await Session.start(engine, 'go')
    const spoke = (await Session.reply(engine, session, 'hurry')).session
    await Session.resume(engine, Session.approve(spoke, 'c1'))
    const last = adapter.calls.at(-1)?.request.messages.at(-1)
    expect(last).toMatchObject({ role: 'user', metadata: { lateResultOf: 'c1' } })
  })

  test.each([
    [7, /prepareStep returned a value that is not legal: must be an object, not 7/],
    [{ modle: 'x' }, /prepareStep returned .*unknown key modle; did you mean model/],
    [{ model: 7 }, /prepareStep returned .*not legal: model must be a non-empty string, not 7/],
    [
      { tools: ['nope'] },
      /prepareStep returned .*: tools has "nope", and the run has no such tool/,
    ],
    [{ messages: ['hi'] }, /prepareStep returned .*not legal: messages\[0\] must be/],
  ])('that returns %j is refused with a sentence that names it', async (wrong, message) => {
    const engine = createEngine({ adapter: fake({ script: done }) })
    const options = { prepareStep: () => wrong as never }
    await expect(chat(engine, 'go', options)).rejects.toThrow(message)
  })

  test('is remembered by nothing: a run that is resumed asks again, also for the tools of a step that was cut', async () => {
    const special = named('special', () => 'from special', { idempotent: true })
    const options: CallOptions = {
      prepareStep: ({ stepNumber }) => (stepNumber === 0 ? { tools: [special] } : {}),
    }
    const scripts: Script[] = [[call('c1', 'special')], done]
    const stream = Session.streamStart(createEngine({ adapter: fake({ scripts }) }), 'go', options)
    for await (const event of stream) if (event.type === 'message_completed') break
    const saved = Session.parse(Session.stringify(stream.session))
    const adapter = fake({ script: done })
    const { result, session } = await Session.resume(createEngine({ adapter }), saved, options)
    expect(session.status).toBe('completed')
    expect(result.thread.messages[2]).toMatchObject({ role: 'tool', content: 'from special' })
  })
})

test('onStep is called with each step, and the loop waits for it', async () => {
  const seen: string[] = []
  const adapter = fake({ scripts: [[call('c1')], done] })
  const engine = createEngine({ adapter, tools: [echo] })
  const onStep = async (step: StepResult): Promise<void> => {
    seen.push(`start ${step.thread.messages.length} ${step.done} after ${adapter.calls.length}`)
    await new Promise((resolve) => setImmediate(resolve))
    seen.push('end')
  }
  await chat(engine, 'go', { onStep })
  expect(seen).toEqual(['start 3 false after 1', 'end', 'start 4 true after 2', 'end'])
})

describe('prepareStep and a run that goes on', () => {
  const seen: number[] = []
  const pay = named('pay', () => 'paid', { needsApproval: true })
  const options: CallOptions = {
    prepareStep: ({ stepNumber }) => {
      seen.push(stepNumber)
      return stepNumber === 0 ? undefined : { tools: ['echo'] }
    },
  }
  const engine = (): Engine =>
    createEngine({ adapter: fake({ scripts: [[call('c1', 'pay')], done] }), tools: [echo, pay] })

  test('is asked before each model call only, and does not undo an approval', async () => {
    seen.length = 0
    const own = engine()
    const { session } = await Session.start(own, 'go', options)
    const after = await Session.resume(own, Session.approve(session, 'c1'), options)
    expect(seen).toEqual([0, 1])
    expect(after.session.thread.messages[2]).toMatchObject({ toolCallId: 'c1', content: 'paid' })
  })

  test('nor does it in a chat that goes on with approvals', async () => {
    seen.length = 0
    const own = engine()
    const { thread: waiting } = await chat(own, 'go', options)
    const after = await chat(own, waiting, { ...options, approvals: { c1: true } })
    expect(seen).toEqual([0, 1])
    expect(after.thread.messages[2]).toMatchObject({ toolCallId: 'c1', content: 'paid' })
  })

  test('knows the tool of an approved call that only it has', async () => {
    const own = createEngine({ adapter: fake({ scripts: [[call('c1', 'pay')], done] }) })
    const only: CallOptions = { prepareStep: () => ({ tools: [pay] }) }
    const { session } = await Session.start(own, 'go', only)
    const after = await Session.resume(own, Session.approve(session, 'c1'), only)
    expect(after.session.thread.messages[2]).toMatchObject({ toolCallId: 'c1', content: 'paid' })
  })

  test('narrows a step that was cut as it did before the cut', async () => {
    const narrow: CallOptions = {
      prepareStep: ({ stepNumber }) => (stepNumber === 0 ? { tools: ['echo'] } : undefined),
    }
    const own = createEngine({
      adapter: fake({ scripts: [[call('c1', 'other')], done] }),
      tools: [echo, named('other', () => 'ran')],
    })
    const stream = Session.streamStart(own, 'go', narrow)
    for await (const event of stream) if (event.type === 'message_completed') break
    const { session } = await Session.resume(own, stream.session, narrow)
    expect(session.thread.messages[2]).toMatchObject({ content: /no tool other/ })
  })

  test('a session that was saved while it waited, by a release that did not count then, has step 0 behind it', async () => {
    seen.length = 0
    const own = engine()
    const { session } = await Session.start(own, 'go')
    const old = { ...session, run: { ...session.run, turns: 0 } } as Session
    await Session.resume(own, Session.approve(old, 'c1'), options)
    expect(seen).toEqual([1])
  })
})

test.each(['tool_execution_started', 'tool_execution_completed', 'tool_result_encoded'] as const)(
  'onEvent that throws at %s of a late result keeps it, and the tool runs once at most',
  async (type) => {
    const ran: string[] = []
    const pay = named('pay', () => ran.push('pay'), { needsApproval: true })
    const adapter = fake({ scripts: [[call('c1', 'pay')], done, done] })
    const engine = createEngine({ adapter, tools: [pay] })
    const { session } = await Session.start(engine, 'go')
    const spoke = (await Session.reply(engine, session, 'hurry')).session
    const onEvent = (event: StreamEvent): void => {
      if (event.type === type) throw new Error('the log is full')
    }
    const failed = await Session.resume(engine, Session.approve(spoke, 'c1'), { onEvent })
    expect(failed.session).toMatchObject({
      status: 'error',
      error: { message: 'onEvent threw: the log is full' },
    })
    // Once more, where the result is known already.
    const again = await Session.resume(engine, failed.session, { onEvent })
    const { session: after } =
      again.session.status === 'error' ? await Session.resume(engine, again.session) : again
    expect(after.status).toBe('completed')
    expect(adapter.calls).toHaveLength(3)
    expect(ran.length).toBeLessThan(2)
    const told = after.thread.messages.filter(({ metadata }) => metadata?.['lateResultOf'] === 'c1')
    expect(told).toHaveLength(1)
  },
)

test('prepareStep and summarize get a signal that is aborted when the run is stopped or left', async () => {
  const signals: AbortSignal[] = []
  const wait = (signal: AbortSignal): Promise<never> => {
    signals.push(signal)
    return new Promise(() => undefined)
  }
  const summarize = (_messages: readonly Message[], options: { signal: AbortSignal }) =>
    wait(options.signal)
  const hooks: PrepareStep[] = [
    ({ signal }) => wait(signal),
    compactMessages({ budget: 1, keepLast: 0, summarize }),
  ]
  for (const prepareStep of hooks) {
    const engine = createEngine({ adapter: fake({ script: done }), prepareStep })
    const control = new AbortController()
    const stopped = Session.start(engine, 'a long text', { signal: control.signal })
    setImmediate(() => control.abort())
    expect((await stopped).session.status).toBe('halted')
    const stream = Session.streamStart(engine, 'a long text')
    const reading = collectEvents(stream)
    setImmediate(() => void stream.return())
    await reading.catch(() => undefined)
  }
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, true, true, true])
})

test('a stop ends a run that waits for a key, for onToolError or for the validation of its answer', async () => {
  const never = (): Promise<never> => new Promise(() => undefined)
  const broken = named('echo', () => {
    throw new Error('no')
  })
  const tools = [broken]
  const schema = {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: never,
      jsonSchema: { input: () => ({ type: 'object' }), output: () => ({ type: 'object' }) },
    },
  } as const
  const adapter = (script: Script): Fake => fake({ script })
  const waiting: readonly [Engine, CallOptions][] = [
    [
      createEngine({
        adapter: { ...adapter(done), key: { required: true, own: false } },
        keys: never,
      }),
      {},
    ],
    [createEngine({ adapter: adapter([call('c1')]), tools, onToolError: never }), {}],
    [createEngine({ adapter: adapter([['text', '{}']]) }), { responseFormat: schema }],
  ]
  for (const [engine, options] of waiting) {
    const control = new AbortController()
    const stopped = Session.start(engine, 'go', { ...options, signal: control.signal })
    setTimeout(() => control.abort(), 0)
    expect((await stopped).session).toMatchObject({ status: 'halted', haltedReason: 'cancelled' })
    const stream = Session.streamStart(engine, 'go', options)
    const reading = collectEvents(stream)
    setTimeout(() => void stream.return(), 0)
    await reading.catch(() => undefined)
  }
})

describe.each([
  'message_started',
  'text_delta',
  'message_completed',
  'tool_execution_started',
  'tool_execution_completed',
  'tool_result_encoded',
  'step_completed',
  'chat_completed',
] as const)('onEvent that throws at %s', (type) => {
  const message = 'onEvent threw: the log is full'
  const throwing = (): CallOptions => {
    let thrown = false
    return {
      onEvent: (event) => {
        if (thrown || event.type !== type) return
        thrown = true
        throw new Error('the log is full')
      },
    }
  }
  const scripts: Script[] = [[['text', 'I look.'], call('c1', 'note')], done]
  const noting = (ran: string[]): Engine =>
    createEngine({
      adapter: fake({ scripts }),
      tools: [named('note', (_args, { toolCall }) => ran.push(toolCall.id))],
    })

  test('is named by a typed error, which keeps what the run had', async () => {
    const error: unknown = await chat(noting([]), 'go', throwing()).catch((thrown) => thrown)
    expect(error).toMatchObject({ kind: 'stream', reason: 'unknown', message })
    expect(error).toMatchObject({
      partial: { thread: { messages: { 1: { content: 'I look.' } } } },
    })
    const events = await collectEvents(streamChat(noting([]), 'go', throwing()))
    expect(events.at(-1)).toMatchObject({ type: 'error', error: { message } })
  })

  test('leaves a session that goes on, and no tool runs twice', async () => {
    const ran: string[] = []
    const engine = noting(ran)
    const stream = Session.streamStart(engine, 'go', throwing())
    await collectEvents(stream)
    const promised = await Session.start(noting([]), 'go', throwing())
    expect(promised.session.thread).toEqual(stream.session.thread)
    expect(promised.session.status).toBe(stream.session.status)
    const saved = Session.parse(Session.stringify(stream.session))
    expect(saved).toMatchObject({ status: 'error', error: { message } })
    const { session } = await Session.resume(engine, saved)
    expect(session.status).toBe('completed')
    expect(ran.length).toBeLessThan(2)
  })
})

describe.each(['prepareStep', 'onStep', 'haltWhen', 'instructions'] as const)(
  '%s that throws',
  (name) => {
    /** Throws when it is called for this time. */
    const throwing = (time: number): CallOptions => {
      let calls = 0
      const hook = (): string | boolean | undefined => {
        if (++calls === time) throw new Error('the database is down')
        return { prepareStep: undefined, onStep: undefined, haltWhen: false, instructions: 'hi' }[
          name
        ]
      }
      return { [name]: hook }
    }
    const message = `${name} threw: the database is down`

    test('is named by a typed error, which keeps what the run had', async () => {
      const engine = createEngine({
        adapter: fake({ scripts: [[call('c1')], [call('c2')], done] }),
        tools: [echo],
      })
      const events: StreamEvent[] = []
      const onEvent = (event: StreamEvent): void => void events.push(event)
      await expect(chat(engine, 'go', { ...throwing(2), onEvent })).rejects.toMatchObject({
        kind: 'stream',
        reason: 'unknown',
        message,
        cause: { message: 'the database is down' },
        partial: { thread: { messages: { 2: { toolCallId: 'c1' } } } },
      })
      expect(events.at(-1)).toMatchObject({ type: 'error', error: { message } })
    })

    test.each([1, 2])('leaves a session that goes on, the %ith time', async (time) => {
      const ran: string[] = []
      const tools = [named('note', (_args, { toolCall }) => ran.push(toolCall.id))]
      const scripts: Script[] = [[call('c1', 'note')], [call('c2', 'note')], done]
      const engine = createEngine({ adapter: fake({ scripts }), tools })
      const { session } = await Session.start(engine, 'go', throwing(time))
      expect(session).toMatchObject({ status: 'error', error: { message } })
      const saved = Session.parse(Session.stringify(session))
      const { session: after } = await Session.resume(engine, saved)
      expect(after.status).toBe('completed')
      expect(ran).toEqual(['c1', 'c2'])
      expect(after.thread.messages).toHaveLength(6)
    })
  },
)

test.each(['prepareStep', 'onStep', 'haltWhen'] as const)(
  'a run that waits for %s can be stopped and left',
  async (name) => {
    const never = { [name]: () => new Promise<never>(() => undefined) } as CallOptions
    const script: Script = [call('c1')]
    const engine = createEngine({ adapter: fake({ script }), tools: [echo] })
    const control = new AbortController()
    const stopped = Session.start(engine, 'go', { ...never, signal: control.signal })
    setImmediate(() => control.abort())
    expect((await stopped).session).toMatchObject({ status: 'halted', haltedReason: 'cancelled' })
    const stream = streamChat(
      createEngine({ adapter: fake({ script }), tools: [echo] }),
      'go',
      never,
    )
    const reading = collectEvents(stream)
    setImmediate(() => void stream.return())
    await expect(stream.result).rejects.toMatchObject({ reason: 'cancelled' })
    await reading.catch(() => undefined)
  },
)

test('onStep of a step that failed is called again when the run is resumed', async () => {
  const seen: number[] = []
  let fails = true
  const options: CallOptions = {
    onStep: ({ thread }) => {
      if (fails) throw new Error('not saved')
      seen.push(thread.messages.length)
    },
  }
  const adapter = fake({ script: done })
  const engine = createEngine({ adapter })
  const { session } = await Session.start(engine, 'go', options)
  fails = false
  const after = await Session.resume(engine, session, options)
  expect(after.session).toMatchObject({ status: 'completed' })
  expect(seen).toEqual([2])
  expect(adapter.calls).toHaveLength(1)
})

describe('compactMessages', () => {
  /** Turns with a tool call each, 400 characters a result: about 110 tokens a turn. */
  const long = (turns: number): readonly Message[] =>
    Array.from({ length: turns }, (_, n): readonly Message[] => [
      user(`question ${n}`),
      { role: 'assistant', content: '', toolCalls: [{ id: `c${n}`, name: 'echo', arguments: {} }] },
      { role: 'tool', content: 'x'.repeat(400), toolCallId: `c${n}` },
      { role: 'assistant', content: `answer ${n}` },
    ]).flat()

  const sent = async (
    messages: readonly Message[],
    options: Parameters<typeof compactMessages>[0],
  ): Promise<readonly Message[]> => {
    const adapter = fake({ script: done })
    await chat(createEngine({ adapter }), messages, { prepareStep: compactMessages(options) })
    return adapter.calls[0]?.request.messages ?? []
  }

  test('leaves a conversation within the budget as it is', async () => {
    const messages = [...long(2), user('now')]
    expect(await sent(messages, { budget: 10_000 })).toEqual(messages)
  })

  test('leaves out the oldest messages, says so, keeps system messages, and changes no thread', async () => {
    const messages = [system('S'), ...long(20), user('now')]
    const got = await sent(messages, { budget: 600, keepLast: 3 })
    expect(got[0]).toEqual(system('S'))
    expect(got[1]?.content).toMatch(/^\(\d+ earlier messages/)
    expect(got.at(-1)).toEqual(user('now'))
    expect(got.length).toBeLessThan(20)
  })

  test('never separates a call from its result, wherever the cut falls', async () => {
    for (let keepLast = 0; keepLast < 12; keepLast++) {
      for (const budget of [1, 150, 300, 500]) {
        const got = await sent([...long(6), user('now')], { budget, keepLast })
        expect(validateThread(thread(got))).toEqual([])
        expect(isSendable(thread(got))).toBe(true)
      }
    }
  })

  test('sums up what is left out, once, and goes on from its own summary', async () => {
    const asked: number[] = []
    const prepareStep = compactMessages({
      budget: 400,
      keepLast: 2,
      summarize: async (messages) => {
        asked.push(messages.length)
        return `summary ${asked.length} of ${messages.length}`
      },
    })
    const scripts: Script[] = [
      ...Array.from({ length: 12 }, (_, n): Script => [call(`t${n}`)]),
      done,
    ]
    const adapter = fake({ scripts })
    const big = named('echo', () => 'y'.repeat(200))
    const engine = createEngine({ adapter, tools: [big], prepareStep, maxTurns: 20 })
    await chat(engine, [...long(4), user('now')])
    expect(asked.length).toBeGreaterThan(1)
    expect(asked.length).toBeLessThan(7)
    const notes = adapter.calls.map(({ request }) => messageText(request.messages[0] ?? user('')))
    expect(notes[0]).toMatch(/^A summary of the earlier conversation:\nsummary 1/)
    expect(new Set(notes).size).toBe(asked.length)
  })

  test('refuses wrong options and a summary that is not a text', async () => {
    expect(() => compactMessages({ budget: 0 })).toThrow(/budget/)
    const summarize = (() => 7) as unknown as () => string
    await expect(sent([...long(9)], { budget: 100, keepLast: 1, summarize })).rejects.toThrow(
      /summarize must return a text, not 7/,
    )
    expect(() => compactMessages({} as never)).toThrow(/budget must be a positive integer/)
  })

  test('knows its summaries in sessions that were saved, whatever the order of their keys', async () => {
    let summaries = 0
    const prepareStep = compactMessages({
      budget: 400,
      keepLast: 4,
      summarize: () => `summary ${++summaries}`,
    })
    const adapter = fake({ script: () => ['ok'] })
    const engine = createEngine({ adapter, prepareStep })
    let session = Session.create({ messages: long(10) })
    for (let turn = 0; turn < 4; turn++) {
      const saved = Session.parse(Session.stringify(session))
      const messages = saved.thread.messages.map(
        (message) => Object.fromEntries(Object.entries(message).toReversed()) as never,
      )
      const reordered = { ...saved, thread: { ...saved.thread, messages } }
      session = (await Session.reply(engine, reordered, 'hi')).session
    }
    expect(summaries).toBe(1)
    const other = [...long(10).slice(0, -1), user('another end'), ...long(5), user('now')]
    await chat(engine, other)
    expect(adapter.calls.at(-1)?.request.messages[0]?.content).toMatch(/summary 2$/)
  })

  test('keeps what the user asked for last, also when the run since then is long', async () => {
    const adapter = fake({
      script: (_request, { call: n }) => (n < 12 ? [call(`c${n}`)] : ['ok']),
    })
    const big = named('echo', () => 'y'.repeat(400))
    const prepareStep = compactMessages({ budget: 600 })
    const engine = createEngine({ adapter, tools: [big], maxTurns: 20, prepareStep })
    await chat(engine, [...long(2), user('rename foo to bar')])
    const messages = adapter.calls.at(-1)?.request.messages ?? []
    expect(messages[0]?.content).toMatch(/^\(\d+ earlier messages/)
    expect(messages[1]).toEqual(user('rename foo to bar'))
    expect(messages.filter(({ role }) => role === 'user')).toHaveLength(2)
  })
})

test('hooks are typed', () => {
  const weather = tool({ name: 'w', description: 'd', schema: { type: 'object' } })
  const options: CallOptions = {
    prepareStep: ({ messages, stepNumber, steps }) => {
      expectTypeOf(messages).toEqualTypeOf<readonly Message[]>()
      expectTypeOf(stepNumber).toEqualTypeOf<number>()
      expectTypeOf(steps.at(-1)?.response.outputText).toEqualTypeOf<string | undefined>()
      return { tools: [weather, 'other'] }
    },
    // @ts-expect-error a step has no temperature to change
    onStep: (step) => step.temperature,
  }
  expect(options.onStep).toBeTypeOf('function')
})

test('a policy may be written inline, async or not, without `as const`; nonsense does not compile', () => {
  const options: readonly CallOptions[] = [
    { approve: async () => 'run', onToolError: async () => 'halt' },
    { approve: () => 'ask', onToolError: () => 'halt' },
    { approve: () => Promise.resolve('run') },
    { approve: async ({ name }) => ({ deny: `no ${name}` }) },
    {
      async approve({ name }, { tool: { idempotent } }) {
        expectTypeOf(name).toEqualTypeOf<string>()
        if (idempotent) return 'run'
        return name === 'look' ? { deny: 'no' } : 'ask'
      },
      onToolError: async (_call, { message }) => ({ continue: message }),
    },
    // @ts-expect-error not a verdict
    { approve: async () => 'yes' },
    // @ts-expect-error not a verdict
    { approve: () => 'yes' },
    // @ts-expect-error not a verdict
    { approve: async () => true },
    // @ts-expect-error a policy decides
    { approve: async () => undefined },
    // @ts-expect-error the reason is a text
    { approve: async () => ({ deny: 1 }) },
    // @ts-expect-error one of two is not a verdict
    { approve: async ({ name }) => (name === 'look' ? 'run' : 'no') },
    // @ts-expect-error not a decision
    { onToolError: async () => 'stop' },
  ]
  const engine = createEngine({ tools: [echo], approve: async () => 'run' })
  expect(options).toHaveLength(12)
  expect(() => void chat(engine, 'go', { approve: async () => 'run' }).catch(() => 0)).not.toThrow()
  expectTypeOf<Awaited<ReturnType<ApprovePolicy>>>().toExtend<ApprovalVerdict>()
})

test('an async onEvent that rejects leaves the run as it is, and is a warning of the process, once', async () => {
  const warned: unknown[] = []
  const unhandled: unknown[] = []
  const note = (reason: unknown): void => void unhandled.push(reason)
  const spy = vi.spyOn(process, 'emitWarning').mockImplementation((text) => void warned.push(text))
  process.on('unhandledRejection', note)
  try {
    const onEvent = (): unknown => Promise.reject(new Error('the database is down'))
    const engine = createEngine({ adapter: fake({ scripts: [done, done, done] }) })
    expect((await chat(engine, 'go', { onEvent })).outputText).toBe('done')
    expect((await generate(engine, 'go', { onEvent })).outputText).toBe('done')
    expect((await Session.start(engine, 'go', { onEvent })).session.status).toBe('completed')
    // Unhandled rejections are reported when the microtasks are done.
    await new Promise((resolve) => setImmediate(resolve))
    expect(unhandled).toEqual([])
    expect(warned).toEqual([
      'onEvent rejected; its promise is not awaited (later errors are not shown): the database is down',
    ])
  } finally {
    process.off('unhandledRejection', note)
    spy.mockRestore()
  }
})
