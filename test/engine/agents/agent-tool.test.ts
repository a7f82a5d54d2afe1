import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  agentTool,
  chat,
  createEngine,
  extendEngine,
  isBoundary,
  messageText,
  onTelemetry,
  runToolCalls,
  Session,
  streamChat,
  tool,
  toView,
  toViewEvent,
  user,
  validateSession,
  type HandlerOptions,
  type ModelRequest,
  type TelemetryEvent,
  type Tool,
} from '../../../src/index.ts'
import { collectEvents, fake, virtualClock, type Script } from '../../../src/testing.ts'
import {
  agentCall,
  answersOf,
  askForAgents,
  call,
  contents,
  effectTools,
  flat,
  nested,
  planned,
  plannedEngine,
  settleOne,
  words,
  type Effects,
  type Plan,
  type PlannedCall,
} from './support.ts'

const inner = (...steps: Plan['steps']): Plan => ({ steps: [[agentCall('c1', { steps })]] })

const start = (plan: Plan, effects: Effects = []) =>
  Session.start(nested(effects).outer, words(plan), { id: 's' })

describe('the events of an agent', () => {
  test('are the progress of its call, and its result is its text', async () => {
    const plan = { steps: [[agentCall('c1', { steps: [[call('x', 'note')]], say: 'found' })]] }
    const stream = Session.streamStart(nested().outer, words(plan), { id: 's' })
    const events = await collectEvents(stream)
    const { session } = await stream.result
    expect(session.status).toBe('completed')
    expect(session.run).toBeUndefined()
    expect(contents(session).slice(1)).toEqual([
      'assistant: step 0',
      'tool: found',
      'assistant: done',
    ])
    const types = flat(events)
      .filter(([path]) => path === 'c1/')
      .map(([, { type }]) => type)
    expect(types.filter((type) => type === 'message_completed')).toHaveLength(2)
    expect(types).toEqual(expect.arrayContaining(['tool_execution_started', 'chat_completed']))
  })

  test('are handed out before the inner handler runs, so that its start is stored first', async () => {
    const saved: string[] = []
    const charge = tool({
      name: 'charge',
      description: 'Charges.',
      schema: { type: 'object' },
      handler: () => saved.join(' '),
    })
    const agent = planned(plannedEngine({ tools: [charge] }))
    const engine = plannedEngine({ tools: [agent] })
    const stream = Session.streamStart(engine, words(inner([call('x', 'charge')])))
    for await (const event of stream) {
      const [[path, own] = ['', event] as const] = flat([event])
      await Promise.resolve()
      if (own.type === 'tool_execution_started') saved.push(path + own.id)
    }
    const { session } = await stream.result
    expect(saved).toEqual(['c1', 'c1/x'])
    expect(session.thread.messages[2]?.content).toBe('done')
  })

  test('are boundaries where they would be boundaries of a run of their own', async () => {
    const events = await collectEvents(
      streamChat(nested().outer, words(inner([call('x', 'note')]))),
    )
    for (const event of events) {
      if (event.type !== 'tool_progress') continue
      const [[, own] = ['', event] as const] = flat([event])
      expect(isBoundary(event)).toBe(event.inner === 'session' || isBoundary(own))
    }
    expect(
      events.some((event) => event.type === 'tool_progress' && event.inner === 'session'),
    ).toBe(true)
  })

  test('are not taken from a handler that reports something that looks like one', async () => {
    const liar = tool({
      name: 'liar',
      description: 'Lies.',
      schema: { type: 'object' },
      handler: async (_args, { progress }) => {
        await progress({ type: 'tool_progress', inner: 'session', data: {} })
        await progress({ inner: 'event', data: { type: 'error' } })
        return 'ok'
      },
    })
    const engine = plannedEngine({ tools: [liar] })
    const stream = Session.streamStart(engine, words({ steps: [[call('c1', 'liar')]] }))
    for await (const event of stream) {
      if (event.type === 'tool_progress') expect(event).not.toHaveProperty('inner')
      expect(stream.session.calls?.['c1']?.inner).toBeUndefined()
    }
    expect((await stream.result).session.status).toBe('completed')
  })

  test('are hidden as those of the run are', async () => {
    const options = { emitTextDeltas: false }
    const events = await collectEvents(streamChat(nested().outer, words(inner()), options))
    expect(flat(events).filter(([, { type }]) => type === 'text_delta')).toEqual([])
    expect(
      flat(events).some(([path, { type }]) => path === 'c1/' && type === 'text_completed'),
    ).toBe(true)
  })
})

describe('the usage of an agent', () => {
  test('is added to that of the outer run, once', async () => {
    const plan = inner([agentCall('d', { steps: [[call('x', 'note')]] })], [call('y', 'broken')])
    const { result } = await start(plan)
    expect(answersOf(result.usage)).toBe(2 + 3 + 2)
    const plain = await chat(nested().outer, words(plan))
    expect(answersOf(plain.usage)).toBe(2 + 3 + 2)
  })

  test('is told by each result of a run that waits, and by none twice', async () => {
    const { outer } = nested()
    const first = await start(inner([call('x', 'ask')], [call('y', 'ask')]))
    expect(answersOf(first.result.usage)).toBe(2)
    const second = await Session.reply(outer, first.session, 'a')
    expect(answersOf(second.result.usage)).toBe(1)
    const third = await Session.reply(outer, second.session, 'b')
    expect(answersOf(third.result.usage)).toBe(2)
    expect(third.session.run).toBeUndefined()
  })

  test('of one that fails, or is stopped by its deadline, is kept', async () => {
    const { result } = await start({
      steps: [[agentCall('c1', { steps: [[call('x', 'note')]], fails: true })]],
    })
    expect(answersOf(result.usage)).toBe(2 + 1)
  })
})

describe('what an agent waits for', () => {
  test('rises as a question, and the answer comes back', async () => {
    const { outer } = nested()
    const first = await start(inner([call('x', 'ask', { q: 'Where?' })]))
    const pending = { pendingQuestion: 'Where?', pendingToolCallId: 'c1/x' }
    expect(first.session).toMatchObject({ status: 'awaiting_user', ...pending })
    expect(first.result).toMatchObject({ haltedReason: 'ask_user', ...pending })
    expect(first.session.calls?.['c1']?.inner).toMatchObject({
      status: 'awaiting_user',
      pendingToolCallId: 'x',
    })
    const saved = Session.parse(Session.stringify(first.session))
    await expect(Session.reply(outer, saved, 'no', { toolCallId: 'c1' })).rejects.toThrow('c1/x')
    const second = await Session.reply(outer, saved, 'There.', { toolCallId: 'c1/x' })
    expect(contents(second.session).slice(2)).toEqual(['tool: done', 'assistant: done'])
  })

  test('is told by events with the names of its tools', async () => {
    const plan = inner([agentCall('d', { steps: [[call('x', 'ask'), call('y', 'pay')]] })])
    const events = await collectEvents(streamChat(nested().outer, words(plan)))
    const own = events.filter(({ type }) => /requested/.test(type))
    expect(own).toMatchObject([
      { type: 'ask_user_requested', toolCallId: 'c1/d/x', toolName: 'ask' },
      { type: 'approval_requested', toolCallId: 'c1/d/y', toolName: 'pay', call: { id: 'c1/d/y' } },
    ])
  })

  test('is an approval, with other arguments or denied', async () => {
    const effects: Effects = []
    const { outer } = nested(effects)
    const pay = (id: string) => call(id, 'pay', { euros: 5 })
    const { session } = await start(inner([agentCall('d', { steps: [[pay('x'), pay('y')]] })]))
    expect(session.status).toBe('awaiting_approval')
    expect(session.pendingApprovals.map(({ id }) => id)).toEqual(['c1/d/x', 'c1/d/y'])
    expect(Session.legalOperations(session)).toContain('approve')
    expect(() => Session.approve(session, 'c1/d/z')).toThrow('c1/d/x, c1/d/y')
    const wrong = { type: 'approve', toolCallId: 'c1/d/x', arguments: { euros: 'all' } } as const
    expect(() => Session.streamNext(outer, session, wrong)).toThrow('command.arguments.euros')
    const one = Session.approve(session, 'c1/d/x', { arguments: { euros: 1 } })
    expect(() => Session.deny(one, 'c1/d/x')).toThrow('c1/d/x was approved already')
    expect(one.status).toBe('awaiting_approval')
    const both = Session.deny(one, 'c1/d/y', 'no')
    expect(both).toMatchObject({ status: 'idle', pendingApprovals: [] })
    const { session: last } = await Session.resume(outer, both)
    expect(last.status).toBe('completed')
    expect(effects).toEqual([expect.stringMatching(/^pay .* \{"euros":1\}$/)])
  })

  test.each<[string, PlannedCall]>([
    ['a question', call('x', 'ask')],
    ['an approval', call('x', 'pay', { euros: 5 })],
    ['a manual call', call('x', 'office')],
    ['an agent that asks', agentCall('d', { steps: [[call('x', 'ask')]] })],
  ])('may be %s of an agent that was approved itself', async (_title, waiting) => {
    const effects: Effects = []
    const approving = extendEngine(nested(effects).outer, { approve: askForAgents })
    const plan = { steps: [[agentCall('c1', { steps: [[waiting], [call('y', 'charge')]] })]] }
    let { session } = await Session.start(approving, words(plan))
    for (let turn = 0; turn < 4 && session.status !== 'completed'; turn++) {
      session = Session.parse(Session.stringify(session))
      const answer = settleOne(session)
      if ('reply' in answer) ({ session } = await Session.reply(approving, session, answer.reply))
      else {
        const settled =
          'approvals' in answer
            ? Session.approve(session, Object.keys(answer.approvals)[0] ?? '')
            : Session.submitToolResults(session, answer.toolResults)
        ;({ session } = await Session.resume(approving, settled))
      }
    }
    expect(session.status).toBe('completed')
    expect(effects.filter((effect) => effect.startsWith('charge'))).toHaveLength(1)
  })

  test('is the result of a manual tool', async () => {
    const { outer } = nested()
    const { session, result } = await start(inner([call('x', 'office')]))
    expect(session.status).toBe('awaiting_tools')
    expect(result).toMatchObject({
      haltedReason: 'manual_tool_calls',
      manualToolCalls: [{ id: 'c1/x' }],
    })
    const answered = Session.submitToolResult(session, 'c1/x', { seen: true })
    expect(answered).toMatchObject({ status: 'idle', pendingToolCalls: [] })
    expect((await Session.resume(outer, answered)).session.status).toBe('completed')
  })

  test('comes with what other calls wait for, in the order of the calls', async () => {
    const { outer } = nested()
    const ask = { steps: [[call('x', 'ask', { q: 'inner?' })]] }
    const plan = {
      steps: [
        [
          call('c0', 'ask', { q: 'first?' }),
          agentCall('c1', ask),
          call('c2', 'ask', { q: 'last?' }),
        ],
      ],
    }
    let { session } = await start(plan)
    const asked: unknown[] = []
    while (session.status === 'awaiting_user') {
      asked.push(session.pendingToolCallId)
      ;({ session } = await Session.reply(outer, session, 'yes'))
    }
    expect(asked).toEqual(['c0', 'c1/x', 'c2'])
    expect(session.status).toBe('completed')
    expect(contents(session).slice(2, 5)).toEqual([
      'tool: {"question":"first?","answer":"yes"}',
      'tool: done',
      'tool: {"question":"last?","answer":"yes"}',
    ])
  })

  test('may be settled after the user said something else: the result comes late', async () => {
    const effects: Effects = []
    const { outer } = nested(effects)
    const first = await start(inner([call('x', 'pay', { euros: 1 })]))
    const second = await Session.reply(outer, first.session, 'meanwhile')
    expect(second.session.status).toBe('awaiting_approval')
    expect(second.session.thread.messages[2]?.metadata).toEqual({ pending: true })
    const third = await Session.resume(outer, Session.approve(second.session, 'c1/x'))
    expect(third.session.status).toBe('completed')
    expect(contents(third.session).at(-2)).toContain(
      'The result of your earlier call of agent (c1)',
    )
    expect(third.session.run).toBeUndefined()
    expect(effects).toHaveLength(1)
    const used = [first, second, third].map(({ result }) => answersOf(result.usage))
    expect(used).toEqual([2, 1, 2])
  })

  test('late may be something else again', async () => {
    const { outer } = nested()
    const first = await start(inner([call('x', 'pay')], [call('y', 'ask')], [call('z', 'office')]))
    const second = await Session.reply(outer, first.session, 'meanwhile')
    const third = await Session.resume(outer, Session.approve(second.session, 'c1/x'))
    expect(third.session).toMatchObject({ status: 'awaiting_user', pendingToolCallId: 'c1/y' })
    const fourth = await Session.reply(outer, third.session, 'so')
    expect(fourth.session.status).toBe('awaiting_tools')
    expect(fourth.result.manualToolCalls.map(({ id }) => id)).toEqual(['c1/z'])
    const last = await Session.resume(
      outer,
      Session.submitToolResult(fourth.session, 'c1/z', 'seen'),
    )
    expect(last.session.status).toBe('completed')
    expect(contents(last.session).at(-2)).toContain('done')
  })

  test('is forgotten when the session is rewound before its call, and what it used is not', async () => {
    const { session } = await start(inner([call('x', 'pay')]))
    const back = Session.rewind(session, 1)
    expect(back).toMatchObject({ status: 'idle', pendingApprovals: [] })
    expect(back.calls).toBeUndefined()
  })

  test('is told by a plain run too, which cannot be gone on with', async () => {
    const result = await chat(nested().outer, words(inner([call('x', 'ask')])))
    expect(result).toMatchObject({ haltedReason: 'ask_user', pendingToolCallId: 'c1/x' })
    const { agent } = nested()
    const batch = await runToolCalls(
      [{ id: 'c1', name: 'agent', arguments: { steps: [[call('x', 'ask')]] } as never }],
      [agent],
    )
    expect(batch).toMatchObject({ messages: [], halt: { reason: 'ask_user', toolCallId: 'c1/x' } })
  })
})

describe('a stop', () => {
  /** A run that is stopped after the first step of an agent, which somebody may have had to approve. */
  const stopped = async (effects: Effects, isApproved = false) => {
    const control = new AbortController()
    const { signal } = control
    const plan = words(inner([call('w', 'charge')], [call('x', 'note')]))
    const options = isApproved ? { approve: askForAgents } : {}
    const outer = extendEngine(nested(effects).outer, options)
    const asked = isApproved ? await Session.start(outer, plan, { id: 's' }) : undefined
    const stream =
      asked === undefined
        ? Session.streamStart(outer, plan, { id: 's', signal })
        : Session.streamResume(outer, Session.approve(asked.session, 'c1'), { signal })
    for await (const event of stream) {
      const [[path, own] = ['', event] as const] = flat([event])
      const isLast = own.type === 'step_completed' && path === 'c1/'
      if (isLast) control.abort()
    }
    return { outer, ...(await stream.result) }
  }

  test('stops the agent, and the session keeps it as it was', async () => {
    const effects: Effects = []
    const { session, result, outer } = await stopped(effects)
    expect(session).toMatchObject({ status: 'halted', haltedReason: 'cancelled' })
    expect(session.calls?.['c1']?.inner).toMatchObject({
      status: 'idle',
      run: { phase: 'between' },
    })
    expect(answersOf(result.usage)).toBe(2)
    const saved = Session.parse(Session.stringify(session))
    const resumed = await Session.resume(outer, saved)
    expect(resumed.session.status).toBe('completed')
    expect(contents(resumed.session).slice(2)).toEqual(['tool: done', 'assistant: done'])
    expect(effects.map((effect) => effect.split(' ')[0])).toEqual(['charge', 'note'])
    expect(answersOf(resumed.result.usage)).toBe(3)
  })

  test.each([
    ['', false],
    [', also of one that was approved', true],
  ])(
    'and other words end the agent%s: its tools do not act before the model has read them',
    async (_title, isApproved) => {
      const effects: Effects = []
      const { session, outer } = await stopped(effects, isApproved)
      const saved = Session.parse(Session.stringify(session))
      const { session: last, result } = await Session.reply(outer, saved, 'never mind')
      expect(last.status).toBe('completed')
      expect(contents(last).slice(2)).toEqual([
        expect.stringContaining('it may have taken effect'),
        'user: never mind',
        'assistant: done',
      ])
      expect(effects.map((effect) => effect.split(' ')[0])).toEqual(['charge'])
      expect(last.run).toBeUndefined()
      // What the agent used was told when it was stopped.
      expect(answersOf(result.usage)).toBe(1)
    },
  )

  test('of an agent that comes late ends it too, and what waits inside of another one waits on', async () => {
    const effects: Effects = []
    const { outer } = nested(effects)
    const plan = {
      steps: [
        [
          agentCall('c1', { steps: [[call('x', 'pay')], [call('y', 'charge')]] }),
          agentCall('c2', { steps: [[call('x', 'pay')]] }),
        ],
      ],
    }
    const { session } = await Session.start(outer, words(plan), { id: 's' })
    const talked = await Session.reply(outer, session, 'one moment')
    const control = new AbortController()
    const approved = Session.approve(talked.session, 'c1/x')
    const stream = Session.streamReply(outer, approved, 'go on', { signal: control.signal })
    for await (const event of stream) {
      const [[path, own] = ['', event] as const] = flat([event])
      if (own.type === 'step_completed' && path === 'c1/') control.abort()
    }
    const { session: halted } = await stream.result
    expect(halted.calls?.['c1']?.inner?.status).toBe('idle')
    const { session: last } = await Session.reply(outer, halted, 'never mind')
    expect(effects.map((effect) => effect.split(' ')[0])).toEqual(['pay'])
    expect(last.status).toBe('awaiting_approval')
    expect(last.pendingApprovals.map(({ id }) => id)).toEqual(['c2/x'])
    expect(Object.keys(last.calls ?? {}).filter((id) => last.calls?.[id]?.inner)).toEqual(['c2'])
    expect(contents(last).slice(-3)).toEqual([
      expect.stringContaining('earlier call of agent (c1)'),
      'user: never mind',
      'assistant: done',
    ])
  })
})

describe('the end of an agent', () => {
  test('has no deadline, unless it is told', async () => {
    const clock = virtualClock()
    const slow = tool({
      name: 'slow',
      description: 'Slow.',
      schema: { type: 'object' },
      timeoutMs: 2_000_000,
      handler: async () => {
        await clock.sleep(1_000_000)
        return 'at last'
      },
    })
    const inside = plannedEngine({ clock, tools: [slow] })
    const plan = words(inner([call('x', 'slow')]))
    const free = plannedEngine({ clock, tools: [planned(inside)] })
    expect(contents((await Session.start(free, plan)).session)[2]).toBe('tool: done')
    const bound = plannedEngine({ clock, tools: [planned(inside, { timeoutMs: 1000 })] })
    const { session, result } = await Session.start(bound, plan)
    expect(contents(session)[2]).toContain('agent did not finish within 1000 ms')
    expect(session.run).toBeUndefined()
    expect(answersOf(result.usage)).toBe(3)
  })

  test('is an error of the tool if the inner run fails', async () => {
    const stream = streamChat(
      nested().outer,
      words({ steps: [[agentCall('c1', { steps: [], fails: true })]] }),
    )
    const events = await collectEvents(stream)
    const completed = events.find(({ type }) => type === 'tool_execution_completed')
    expect(completed).toMatchObject({
      result: {
        error: {
          kind: 'tool',
          reason: 'handler_failed',
          message: expect.stringContaining('the agent agent failed'),
          cause: expect.anything(),
        },
      },
    })
    expect((await stream.result).haltedReason).toBe('completed')
  })

  test('is an error of the tool also if it cannot begin', async () => {
    const agent = agentTool({ name: 'agent', description: 'No adapter.', engine: createEngine({}) })
    const engine = plannedEngine({ tools: [agent] })
    const { session } = await Session.start(
      engine,
      words({ steps: [[call('c1', 'agent', { prompt: 'hi' })]] }),
    )
    expect(session.status).toBe('completed')
    expect(contents(session)[2]).toContain('the agent agent failed')
  })

  test.each<[string, Plan, object]>([
    [
      'a handler',
      { steps: [[call('x', 'quit')]] },
      { halted: 'enough', text: 'step 0', result: 'that was it' },
    ],
    [
      'maxTurns',
      { steps: [[call('x', 'note')], [call('y', 'note')]] },
      { halted: 'max_turns', text: 'step 0' },
    ],
  ])('that %s brings about says so', async (_title, plan, expected) => {
    const inside = plannedEngine({ tools: effectTools([]) })
    const engine = plannedEngine({ tools: [planned(inside, { maxTurns: 1 })] })
    const { session } = await Session.start(engine, words({ steps: [[agentCall('c1', plan)]] }))
    expect(JSON.parse(messageText(session.thread.messages[2] ?? user('{}')))).toEqual(expected)
  })

  test('is the validated output, if its engine has a schema for it', async () => {
    const adapter = fake({ script: [['text', '{"found":"3"}']] })
    const format = z.object({ found: z.coerce.number() })
    const inside = createEngine({ adapter, responseFormat: format })
    const agent = agentTool({ name: 'agent', description: 'Finds.', engine: inside })
    const engine = plannedEngine({ tools: [agent] })
    const plan = words({ steps: [[call('c1', 'agent', { prompt: 'hi' })]] })
    const stream = streamChat(engine, plan)
    const events = await collectEvents(stream)
    const completed = events.find(({ type }) => type === 'tool_execution_completed')
    expect(completed).toMatchObject({ result: { ok: { found: 3 } } })
  })
})

describe('what an agent gets', () => {
  test('is its prompt, the JSON of its arguments, or what a function makes of them', async () => {
    const seen: string[] = []
    const inside = createEngine({
      adapter: fake({
        script: ({ messages }) => {
          seen.push(
            messages.map((message) => `${message.role}: ${messageText(message)}`).join(' | '),
          )
          return [['text', 'ok']]
        },
      }),
      instructions: 'Be slow.',
    })
    const input = z.object({ topic: z.string() })
    const tools: readonly Tool[] = [
      agentTool({ name: 'a', description: 'a', engine: inside }),
      agentTool({ name: 'b', description: 'b', engine: inside, input, instructions: 'Be quick.' }),
      agentTool({
        name: 'c',
        description: 'c',
        engine: inside,
        input,
        prompt: ({ topic }) => [user('Hello.'), user(topic)],
      }),
    ]
    await chat(
      plannedEngine({ tools }),
      words({
        steps: [
          [
            call('1', 'a', { prompt: 'hi' }),
            call('2', 'b', { topic: 'rain' }),
            call('3', 'c', { topic: 'rain' }),
          ],
        ],
      }),
    )
    expect(seen).toEqual([
      'system: Be slow. | user: hi',
      'system: Be quick. | user: {"topic":"rain"}',
      'system: Be slow. | user: Hello. | user: rain',
    ])
  })

  test('must not be empty', async () => {
    const empty = planned(plannedEngine(), { prompt: () => [] })
    const batch = await runToolCalls([{ id: 'c1', name: 'agent', arguments: {} }], [empty])
    expect(batch.messages.map(messageText)[0]).toContain('prompt must give a text')
  })

  test('is the context of the outer run with its own over it, and keys that stay the same', async () => {
    const seen: unknown[] = []
    const look = tool({
      name: 'look',
      description: 'Looks.',
      schema: { type: 'object' },
      handler: (_args, { context, idempotencyKey, sessionId }: HandlerOptions) => {
        seen.push({ ...context, idempotencyKey, sessionId })
        return 'seen'
      },
    })
    const inside = plannedEngine({ tools: [look], context: { b: 'inner' } })
    const engine = plannedEngine({ tools: [planned(inside)], context: { a: 'outer', b: 'outer' } })
    const options = { id: 's', context: { c: 'call' } }
    await Session.start(engine, words(inner([call('x', 'look')])), options)
    expect(seen).toEqual([
      {
        a: 'outer',
        b: 'inner',
        c: 'call',
        idempotencyKey: expect.stringMatching(/^s:1:c1~[0-9a-f]{16}:1:x$/),
        sessionId: expect.stringMatching(/^s:1:c1~[0-9a-f]{16}$/),
      },
    ])
  })

  test('is a span of its own inside the span of its call', async () => {
    const events: TelemetryEvent[] = []
    const stop = onTelemetry((event) => void events.push(event))
    try {
      await chat(nested().outer, words(inner([call('x', 'note')])), { metadata: { tenant: 'a' } })
    } finally {
      stop()
    }
    const starts = events.filter((event) => 'phase' in event && event.phase === 'start')
    const path = (id: string | undefined): string => {
      const found = starts.find(({ spanId }) => spanId === id)
      return found === undefined ? '' : `${path(found.parentSpanId)}/${found.name}`
    }
    expect(starts.map(({ spanId }) => path(spanId))).toContain('/chat/step/tool/chat/step/tool')
    expect(starts.every(({ metadata }) => metadata?.['tenant'] === 'a')).toBe(true)
  })

  test('is bounded in depth, and the model is told so', async () => {
    const self: { tool?: Tool } = {}
    const inside = plannedEngine({ prepareStep: () => ({ tools: self.tool ? [self.tool] : [] }) })
    self.tool = planned(inside, { maxDepth: 2 })
    const deep = (levels: number): Plan =>
      levels === 0 ? { steps: [] } : { steps: [[agentCall('c', deep(levels - 1))]] }
    const events = await collectEvents(streamChat(inside, words(deep(3))))
    const failures = flat(events).flatMap(([path, event]) =>
      event.type === 'tool_execution_completed' && 'error' in event.result
        ? [`${path} ${event.result.error.message}`]
        : [],
    )
    expect(failures).toEqual([
      expect.stringMatching(/^c\/c\/ the agent agent would be inside of 2 others.*maxDepth is 2/),
    ])
  })

  test.each([
    [{ maxDepth: 0 }, 'maxDepth must be a whole number from 1 to 16'],
    [{ maxTurns: 0 }, 'maxTurns'],
    [{ prompt: 'hi' }, 'prompt must be a function'],
    [{ maxSteps: 3 }, 'maxSteps'],
    [{ engine: {} }, 'createEngine'],
  ])('is refused where it is written: %o', (wrong, message) => {
    const engine = plannedEngine()
    const options = { name: 'a', description: 'a', engine, ...wrong }
    expect(() => agentTool(options as never)).toThrow(message)
  })
})

describe('what others see of an agent', () => {
  const secretive = () => {
    const look = tool({
      name: 'look',
      description: 'Looks.',
      schema: { type: 'object' },
      handler: () => 'SECRET result',
    })
    const inside = plannedEngine({ tools: [look], instructions: 'SECRET system' })
    const middle = plannedEngine({ tools: [planned(inside)] })
    return plannedEngine({ tools: [planned(middle)] })
  }
  const plan = inner([
    agentCall('d', { steps: [[call('x', 'look', { key: 'SECRET argument' })]], say: 'open' }),
  ])

  test('in a browser has no arguments, results, system text and sessions', async () => {
    const stream = Session.streamStart(secretive(), words(plan), { includeRawChunks: true })
    const shown: unknown[] = []
    for await (const event of stream) {
      shown.push(toViewEvent(event))
      if (stream.session.thread.messages.length > 1) {
        // The words of the user have the plan.
        const { messages: _words, ...view } = toView(stream.session)
        shown.push(view)
      }
    }
    expect(JSON.stringify(shown)).not.toContain('SECRET')
    expect(JSON.stringify(shown)).toContain('open')
    expect(shown).toContainEqual({
      type: 'tool_progress',
      id: 'c1',
      name: 'agent',
      inner: 'event',
      data: {
        type: 'tool_progress',
        id: 'd',
        name: 'agent',
        inner: 'event',
        data: { type: 'tool_execution_started', id: 'x', name: 'look' },
      },
    })
  })
})

describe('a saved session with agents', () => {
  test('is checked all the way down, to a depth', async () => {
    const { session } = await start(inner([call('x', 'ask')]))
    const within = (agent: unknown): unknown => ({
      ...session,
      calls: { ...session.calls, c1: { ...session.calls?.['c1'], inner: agent } },
    })
    expect(validateSession(session)).toEqual([])
    expect(validateSession(within({ id: 3 }))[0]).toMatchObject({
      path: expect.stringMatching(/^calls\.c1\.inner/),
    })
    const wrongStatus = { ...session.calls?.['c1']?.inner, status: 'awaiting_approval' }
    expect(validateSession(within(wrongStatus))).toEqual([
      { path: 'calls.c1.inner.pendingApprovals', problem: expect.stringContaining('required') },
    ])
    let deep: unknown = session.calls?.['c1']?.inner
    for (let level = 0; level < 3000; level++) deep = within(deep)
    expect(validateSession(deep)[0]?.problem).toContain('which is the limit')
  })

  test('whose lists name calls that its agents do not have has the lists of its calls', async () => {
    const { session } = await start(inner([call('x', 'pay')]))
    const [first] = session.pendingApprovals
    const forged = {
      ...session,
      pendingApprovals: [{ ...first, id: 'c1/none', name: 'pay', arguments: {} }],
    }
    const parsed = Session.parse(Session.stringify(forged))
    expect(parsed.pendingApprovals).toEqual(session.pendingApprovals)
    expect(() => Session.approve(parsed, 'c1/none')).toThrow('not a call that can be settled')
  })

  test('can be sealed', async () => {
    const { session } = await start(inner([call('x', 'ask')]))
    const sealed = await Session.seal(session, 'a secret of some length')
    expect(await Session.unseal(sealed, 'a secret of some length')).toEqual(session)
  })
})

test('an agent whose executor passes nothing on still runs, and cannot wait', async () => {
  const inside = plannedEngine({ tools: effectTools([]) })
  const engine = plannedEngine({
    tools: [planned(inside)],
    toolExecutor: (own, args, { signal, context, toolCall, idempotencyKey, progress }) =>
      own.handler?.(args, { signal, context, toolCall, idempotencyKey, progress }),
  })
  const { session } = await Session.start(engine, words(inner([call('x', 'note')])))
  expect(contents(session)[2]).toBe('tool: done')
  const asking = await Session.start(engine, words(inner([call('x', 'ask')])))
  expect(asking.session.status).toBe('completed')
  expect(contents(asking.session)[2]).toContain('no way back')
})

test('a model cannot name a call like one inside an agent: what is approved is what runs', async () => {
  const ran: string[] = []
  const guarded = (name: string) =>
    tool({
      name,
      description: name,
      schema: {},
      needsApproval: true,
      handler: () => {
        ran.push(name)
        return 'ok'
      },
    })
  const after = (first: Script): ((request: ModelRequest) => Script) => {
    return ({ messages }) => (messages.at(-1)?.role === 'tool' ? [['text', 'Done.']] : first)
  }
  const inner = createEngine({
    tools: [guarded('send_coupon')],
    adapter: fake({ script: after([['tool_call', { id: 'p', name: 'send_coupon' }]]) }),
  })
  const helper = agentTool({ name: 'helper', description: 'Helps.', engine: inner })
  const outer = createEngine({
    tools: [guarded('wire_money'), helper],
    adapter: fake({
      script: after([
        ['tool_call', { id: 's', name: 'helper', arguments: { prompt: 'go' } }],
        ['tool_call', { id: 's/p', name: 'wire_money' }],
      ]),
    }),
  })
  const { session } = await Session.start(outer, 'hi')
  const ids = session.pendingApprovals.map(({ id, name }) => `${id} ${name}`)
  expect(ids.toSorted()).toEqual(['s/p send_coupon', 's_p wire_money'])
  const decided = Session.deny(Session.approve(session, 's/p'), 's_p')
  const { session: rest } = await Session.resume(outer, decided)
  expect(ran).toEqual(['send_coupon'])
  expect(rest.status).toBe('completed')
})
