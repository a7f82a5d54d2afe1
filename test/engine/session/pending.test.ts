import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  askUser,
  chat,
  collectChat,
  createEngine,
  fail,
  halt,
  isSendable,
  runToolCalls,
  Session,
  streamChat,
  streamToolCalls,
  tool,
  user,
  type ApprovePolicy,
  type CallOptions,
  type Engine,
  type Part,
  type SessionCommand,
  type StreamEvent,
  type Tool,
} from '../../../src/index.ts'
import {
  collectEvents,
  crashAtEveryEvent,
  fake,
  type Fake,
  type Script,
} from '../../../src/testing.ts'

const messages = [user('go')]

const done: Script = [
  ['text', 'done'],
  ['finish', 'stop'],
]

const call = (id: string, name: string, args: object = {}): Script[number] => [
  'tool_call',
  { id, name, arguments: { ...args } },
]

const ran: string[] = []

/** Tools of every kind. Each run of a handler is written down. */
const tools: readonly Tool[] = [
  tool({
    name: 'pay',
    description: 'pays',
    schema: z.object({ amount: z.number() }),
    needsApproval: true,
    handler: ({ amount }, { toolCall }) => {
      ran.push(toolCall.id)
      return { paid: amount }
    },
  }),
  tool({
    name: 'maybe',
    description: 'needs approval for much',
    schema: z.object({ amount: z.number() }),
    needsApproval: ({ amount }, { context }) => amount > Number(context['limit'] ?? 10),
    handler: ({ amount }) => amount,
  }),
  tool({
    name: 'look',
    description: 'looks',
    schema: {},
    handler: (_args, { toolCall }) => {
      ran.push(toolCall.id)
      return 'seen'
    },
  }),
  tool({ name: 'hand', description: 'by hand', schema: z.object({ n: z.number() }), manual: true }),
  tool({
    name: 'ask',
    description: 'asks',
    schema: {},
    handler: (_args, { toolCall }) => askUser(`about ${toolCall.id}?`, { choices: ['yes', 'no'] }),
  }),
  tool({
    name: 'book',
    description: 'asks first, acts then',
    schema: {},
    handler: (_args, { answer, toolCall, idempotencyKey }) => {
      ran.push([toolCall.id, JSON.stringify(answer), idempotencyKey].join(' '))
      return answer === undefined ? askUser('Sure?', { resume: true }) : { booked: answer }
    },
  }),
  tool({ name: 'broken', description: 'fails', schema: {}, handler: () => fail('no luck') }),
  tool({ name: 'stop', description: 'halts', schema: {}, handler: () => halt('found', 42) }),
] as readonly Tool[]

function engineWith(...scripts: Script[]): { readonly engine: Engine; readonly adapter: Fake } {
  const adapter = fake({ scripts })
  return { adapter, engine: createEngine({ adapter, tools }) }
}

/** What the model reads at the end of the thread, as role, call and content. */
function sent(adapter: Fake, from: number): readonly unknown[] {
  const request = adapter.calls.at(-1)?.request
  return (request?.messages ?? [])
    .slice(from)
    .map(({ role, content, toolCallId }) => [role, toolCallId, content])
}

const deniedText = (reason: string): string =>
  JSON.stringify({ error: `the call was denied and was not run: ${reason}` })

/** What the model reads of a call that was approved with other arguments. */
const changed = (args: object, result: string): string =>
  `The call was approved with other arguments than yours: ${JSON.stringify(args)}. Its result:\n${result}`

const saved = (session: Session): Session => Session.parse(Session.stringify(session))

describe('approval', () => {
  test('a call that needs approval is not run: the session awaits it, and the others have run', async () => {
    ran.length = 0
    const { engine } = engineWith([call('c1', 'pay', { amount: 5 }), call('c2', 'look')])
    const { session, result } = await Session.start(engine, messages)
    expect(ran).toEqual(['c2'])
    expect(session).toMatchObject({ status: 'awaiting_approval', pendingToolCalls: [] })
    expect(Session.pendingApprovals(session)).toMatchObject([
      { id: 'c1', name: 'pay', arguments: { amount: 5 } },
    ])
    expect(result).toMatchObject({ haltedReason: 'approval', pendingApprovals: [{ id: 'c1' }] })
  })

  test('an approved call runs on resume, and its result stands in the order of the calls', async () => {
    const { engine, adapter } = engineWith(
      [call('c1', 'pay', { amount: 5 }), call('c2', 'look')],
      done,
    )
    const { session } = await Session.start(engine, messages)
    const approved = Session.approve(saved(session), 'c1')
    expect(approved).toMatchObject({ status: 'idle', pendingApprovals: [] })
    ran.length = 0
    const after = await Session.resume(engine, saved(approved))
    expect(ran).toEqual(['c1'])
    expect(after.session.status).toBe('completed')
    expect(sent(adapter, 2)).toEqual([
      ['tool', 'c1', '{"paid":5}'],
      ['tool', 'c2', 'seen'],
    ])
  })

  test('approval may change the arguments, which are checked again', async () => {
    const { engine, adapter } = engineWith(
      [call('c1', 'pay', { amount: 500 }), call('c2', 'pay', { amount: 1 })],
      done,
    )
    const { session } = await Session.start(engine, messages)
    const one = Session.approve(session, 'c1', { arguments: { amount: 50 } })
    expect(one.status).toBe('awaiting_approval')
    const wrong = Session.approve(one, 'c2', { arguments: { amount: 'a lot' } })
    const { session: failed } = await Session.resume(engine, wrong)
    expect(failed).toMatchObject({
      status: 'error',
      error: { reason: 'invalid_arguments', toolCallId: 'c2' },
    })
    const both = Session.approve(failed, 'c2', { arguments: { amount: 7 } })
    const events = await collectEvents(Session.streamResume(engine, both))
    expect(events.filter(({ type }) => type === 'tool_execution_started')).toMatchObject([
      { id: 'c1', arguments: { amount: 50 } },
      { id: 'c2', arguments: { amount: 7 } },
    ])
    const [first, second] = sent(adapter, 2)
    expect(first).toEqual(['tool', 'c1', changed({ amount: 50 }, '{"paid":50}')])
    expect(second).toEqual(['tool', 'c2', changed({ amount: 7 }, '{"paid":7}')])
  })

  test('changed arguments are in the thread, in time and late; the same arguments leave no trace', async () => {
    const { engine } = engineWith(
      [
        call('c1', 'pay', { amount: 500 }),
        call('c2', 'pay', { amount: 2 }),
        call('c3', 'pay', { amount: 3 }),
      ],
      [['text', 'waiting']],
      done,
    )
    const { session } = await Session.start(engine, messages)
    const args = { arguments: { amount: 50 } }
    const same = Session.approve(session, 'c2', { arguments: { amount: 2 } })
    const both = Session.deny(Session.approve(same, 'c1', args), 'c3')
    const inTime = (await Session.resume(engine, saved(both))).session.thread.messages
    expect(inTime[2]).toMatchObject({ metadata: { approvedArguments: { amount: 50 } } })
    expect(inTime[3]).toEqual({ role: 'tool', toolCallId: 'c2', content: '{"paid":2}' })
    const late = (await Session.reply(engine, saved(Session.approve(session, 'c1', args)), 'and?'))
      .session.thread.messages
    const told = late.find(({ metadata }) => metadata?.['lateResultOf'] === 'c1')
    expect(told?.metadata).toEqual({ lateResultOf: 'c1', approvedArguments: { amount: 50 } })
    expect(told?.content).toContain('approved with other arguments than yours: {"amount":50}')
    expect(told?.content).toContain('{"paid":50}')
  })

  test('a handler that asks and is called again has the arguments that were approved', async () => {
    const seen: unknown[] = []
    const transfer = tool({
      name: 'transfer',
      description: 'transfers',
      schema: z.object({ amount: z.number() }),
      needsApproval: true,
      handler: ({ amount }, { answer }) => {
        seen.push(amount)
        return answer === undefined ? askUser('Sure?', { resume: true }) : { amount }
      },
    })
    const adapter = fake({ scripts: [[call('c1', 'transfer', { amount: 1000 })], done] })
    const engine = createEngine({ adapter, tools: [transfer] })
    const { session } = await Session.start(engine, messages)
    const approved = Session.approve(session, 'c1', { arguments: { amount: 10 } })
    const asked = (await Session.resume(engine, saved(approved))).session
    expect(asked.status).toBe('awaiting_user')
    const after = (await Session.reply(engine, saved(asked), 'yes')).session
    expect(seen).toEqual([10, 10])
    expect(after.thread.messages[2]).toMatchObject({
      content: changed({ amount: 10 }, '{"amount":10}'),
      metadata: { approvedArguments: { amount: 10 } },
    })
  })

  test('changed arguments survive a crash at every event', async () => {
    const stopping = tool({
      name: 'stopping',
      description: 'halts',
      schema: {},
      needsApproval: true,
      idempotent: true,
      handler: () => halt('found', 1),
    })
    const report = await crashAtEveryEvent({
      scripts: [
        [
          call('c1', 'pay', { amount: 1 }),
          call('c2', 'pay', { amount: 2 }),
          call('c3', 'stopping'),
        ],
      ],
      messages,
      tools: [...tools, stopping],
      onSuspend: ({ pendingApprovals }) => ({
        approvals: Object.fromEntries(
          pendingApprovals.map(({ id }) => [id, { arguments: { amount: 9 } }]),
        ),
      }),
    })
    expect(report.toolRuns).toEqual({ pay: 2, stopping: 1 })
    await crashAtEveryEvent({
      scripts: [[call('c1', 'pay', { amount: 1 })], [['text', 'waiting']], done],
      messages,
      tools,
      onSuspend: ({ thread, pendingApprovals }) =>
        thread.messages.some(({ content }) => content === 'and?')
          ? {
              approvals: Object.fromEntries(
                pendingApprovals.map(({ id }) => [id, { arguments: { amount: 9 } }]),
              ),
            }
          : { reply: 'and?' },
    })
  })

  test('arguments that are changed to nothing are nothing, whatever the model wrote', async () => {
    const { engine } = engineWith([call('c1', 'pay', { amount: 5 })], done)
    const { session } = await Session.start(engine, messages)
    ran.length = 0
    const nothing = Session.approve(session, 'c1', { arguments: {} })
    const { session: failed } = await Session.resume(engine, nothing)
    expect(ran).toEqual([])
    expect(failed.error).toMatchObject({ reason: 'invalid_arguments', toolCallId: 'c1' })
  })

  test('a call that was decided already is told from one that does not wait', async () => {
    const { engine } = engineWith([
      call('c1', 'pay', { amount: 5 }),
      call('c2', 'pay', { amount: 6 }),
    ])
    const { session } = await Session.start(engine, messages)
    const one = Session.approve(session, 'c1')
    const both = Session.deny(one, 'c2', 'no')
    for (const decided of [one, both]) {
      expect(() => Session.approve(decided, 'c1')).toThrow('c1 was approved already')
    }
    expect(() => Session.approve(both, 'c2')).toThrow('c2 was denied already')
    expect(() => Session.approve(both, 'c9')).toThrow('not legal while the session is idle')
    expect(() => Session.deny(one, 'c9')).toThrow('c9 is not a call')
  })

  test('a denied call is not run, and the model is told why', async () => {
    const { engine, adapter } = engineWith([call('c1', 'pay', { amount: 5 })], done)
    const { session } = await Session.start(engine, messages)
    ran.length = 0
    const stream = Session.streamResume(engine, Session.deny(session, 'c1', 'too much'))
    const events = await collectEvents(stream)
    expect(events[0]).toEqual({
      type: 'tool_result_encoded',
      id: 'c1',
      content: deniedText('too much'),
      metadata: { denied: true },
    })
    expect(events.some(({ type }) => type === 'tool_execution_started')).toBe(false)
    expect(ran).toEqual([])
    expect(sent(adapter, 2)).toEqual([['tool', 'c1', deniedText('too much')]])
  })

  test('needsApproval may be a function of the arguments and the context', async () => {
    const { engine } = engineWith([
      call('c1', 'maybe', { amount: 5 }),
      call('c2', 'maybe', { amount: 50 }),
    ])
    const { session } = await Session.start(engine, messages)
    expect(session.pendingApprovals.map(({ id }) => id)).toEqual(['c2'])
    const other = engineWith([call('c1', 'maybe', { amount: 50 })], done)
    const free = await Session.start(other.engine, messages, { context: { limit: 100 } })
    expect(free.session.status).toBe('completed')
  })

  test.each<[string, ApprovePolicy, string]>([
    ['run', () => 'run', 'completed'],
    ['run, later', async () => 'run', 'completed'],
    ['ask', () => 'ask', 'awaiting_approval'],
    ['nonsense', () => 'sure' as never, 'awaiting_approval'],
    ['nothing', () => undefined as never, 'awaiting_approval'],
    ['true', () => true as never, 'awaiting_approval'],
    [
      'a throw',
      () => {
        throw new Error('policy down')
      },
      'awaiting_approval',
    ],
    ['a rejection', () => Promise.reject(new Error('policy down')), 'awaiting_approval'],
  ])('a policy that gives %s', async (what, approve, status) => {
    ran.length = 0
    const { engine } = engineWith([call('c1', 'look')], done)
    const events: StreamEvent[] = []
    const { session } = await Session.start(engine, messages, {
      approve,
      onEvent: (event) => events.push(event),
    })
    expect(session.status).toBe(status)
    expect(ran).toEqual(status === 'completed' ? ['c1'] : [])
    const asked = events.find(({ type }) => type === 'approval_requested')
    expect(asked !== undefined && 'reason' in asked).toBe(
      !['run', 'run, later', 'ask'].includes(what),
    )
  })

  test('a policy that denies tells the model at once, and decides instead of needsApproval', async () => {
    const { engine, adapter } = engineWith(
      [call('c1', 'pay', { amount: 5 }), call('c2', 'look')],
      done,
    )
    const { session } = await Session.start(engine, messages, {
      approve: ({ name }, { tool: { description }, context }) =>
        name === 'pay' ? { deny: `${description} ${JSON.stringify(context['who'])}` } : 'run',
      context: { who: 'nobody' },
    })
    expect(session.status).toBe('completed')
    expect(sent(adapter, 2)).toEqual([
      ['tool', 'c1', deniedText('pays "nobody"')],
      ['tool', 'c2', 'seen'],
    ])
  })

  test('nobody is asked about wrong arguments and unknown tools: the model is told', async () => {
    const { engine, adapter } = engineWith(
      [call('c1', 'pay', { amount: 'x' }), call('c2', 'nowhere')],
      done,
    )
    const { session } = await Session.start(engine, messages)
    expect(session.status).toBe('completed')
    expect(JSON.stringify(sent(adapter, 2))).toContain('invalid arguments')
  })

  test('a policy that never answers does not hold a run that is stopped or left', async () => {
    const never: CallOptions = { approve: () => new Promise(() => undefined) }
    const controller = new AbortController()
    const { engine } = engineWith([call('c1', 'look')], [call('c1', 'look')])
    const running = Session.start(engine, messages, { ...never, signal: controller.signal })
    await new Promise((resolve) => setImmediate(resolve))
    controller.abort()
    expect((await running).session).toMatchObject({ status: 'halted', haltedReason: 'cancelled' })

    const stream = Session.streamStart(engine, messages, never)
    const events = stream[Symbol.asyncIterator]()
    for (let read = await events.next(); read.value?.type !== 'message_completed';) {
      read = await events.next()
    }
    const waiting = events.next()
    await stream.return()
    await waiting
  })

  test('a decision does not apply to a later call with the same id', async () => {
    const twice = [call('c1', 'pay', { amount: 5 })]
    const { engine } = engineWith(twice, twice)
    const { session } = await Session.start(engine, messages)
    const after = await Session.resume(engine, Session.approve(session, 'c1'))
    expect(after.session).toMatchObject({ status: 'awaiting_approval' })
  })

  test('an unknown call is refused, and so is a decision that was taken already', async () => {
    const { engine } = engineWith([
      call('c1', 'pay', { amount: 5 }),
      call('c2', 'pay', { amount: 1 }),
    ])
    const { session } = await Session.start(engine, messages)
    const one = Session.approve(session, 'c1')
    expect(() => Session.approve(one, 'c1')).toThrow(
      expect.objectContaining({ reason: 'already_decided' }),
    )
    expect(() => Session.deny(one, 'c9')).toThrow(
      expect.objectContaining({ reason: 'unknown_tool_call_id' }),
    )
    expect(() => Session.approve(session, 'c1', { args: {} } as never)).toThrow('args')
  })
})

describe('approval of a thread', () => {
  const script = [
    call('c1', 'pay', { amount: 5 }),
    call('c2', 'look'),
    call('c3', 'pay', { amount: 7 }),
  ]

  test('chat halts, and goes on with the decisions', async () => {
    const { engine, adapter } = engineWith(script, done)
    const first = await chat(engine, messages)
    expect(first).toMatchObject({
      haltedReason: 'approval',
      pendingApprovals: [{ id: 'c1' }, { id: 'c3' }],
    })
    const second = await chat(engine, first.thread, {
      approvals: { c1: true, c3: { deny: 'enough' } },
    })
    expect(second.haltedReason).toBe('completed')
    expect(sent(adapter, 2)).toEqual([
      ['tool', 'c1', '{"paid":5}'],
      ['tool', 'c2', 'seen'],
      ['tool', 'c3', deniedText('enough')],
    ])
    expect(second.thread.messages.map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'tool',
      'tool',
      'tool',
      'assistant',
    ])
  })

  test('the events of the second chat fold to the same result from the thread that it started from', async () => {
    const { engine } = engineWith(script, done)
    const first = await chat(engine, messages)
    const options = { approvals: { c1: { arguments: { amount: 1 } }, c3: { deny: 'no' } } }
    const stream = streamChat(engine, first.thread, options)
    const events = await collectEvents(stream)
    async function* replay(): AsyncGenerator<StreamEvent> {
      yield* events
    }
    expect(await collectChat(replay(), first.thread)).toEqual(await stream.result)
  })

  test('calls without a decision wait on', async () => {
    const { engine } = engineWith(script)
    const first = await chat(engine, messages)
    const second = await chat(engine, first.thread, { approvals: { c1: true } })
    expect(second).toMatchObject({ haltedReason: 'approval', pendingApprovals: [{ id: 'c3' }] })
  })

  test('a decision about a call that does not wait is refused by its name', async () => {
    const { engine } = engineWith(done)
    await expect(chat(engine, messages, { approvals: { c9: true } })).rejects.toThrow(
      'approvals.c9',
    )
  })

  test('the tool runner asks too', async () => {
    const calls = [
      { id: 'c1', name: 'pay', arguments: { amount: 5 } },
      { id: 'c2', name: 'look', arguments: {} },
    ]
    const halted = await runToolCalls(calls, tools)
    expect(halted).toMatchObject({
      messages: [{ toolCallId: 'c2' }],
      halt: { reason: 'approval', toolCallId: 'c1' },
    })
    const denied = await runToolCalls(calls, tools, { approve: () => ({ deny: 'no' }) })
    expect(denied.messages.map(({ content }) => content)).toEqual([
      deniedText('no'),
      deniedText('no'),
    ])
    const free = streamToolCalls(calls, tools, { approve: async () => 'run' })
    expect((await free.result).messages).toHaveLength(2)
    const asked = streamToolCalls(calls, tools)
    expect((await collectEvents(asked)).map(({ type }) => type)).toEqual([
      'approval_requested',
      'tool_execution_started',
      'tool_execution_completed',
      'tool_result_encoded',
    ])
    expect((await asked.result).halt).toMatchObject({ reason: 'approval' })
  })
})

describe('questions', () => {
  test('the answer is the result of the call, no message is invented, and the choices are in the session', async () => {
    const { engine, adapter } = engineWith([call('c1', 'ask')], done)
    const { session, result } = await Session.start(engine, messages)
    expect(saved(session)).toMatchObject({
      status: 'awaiting_user',
      pendingQuestion: 'about c1?',
      pendingToolCallId: 'c1',
      pendingQuestionOptions: { choices: ['yes', 'no'] },
    })
    expect(result.pendingQuestionOptions).toEqual({ choices: ['yes', 'no'] })
    expect(isSendable(session.thread)).toBe(true)
    await Session.reply(engine, session, 'yes')
    expect(sent(adapter, 1)).toMatchObject([
      ['assistant', undefined, ''],
      ['tool', 'c1', '{"question":"about c1?","answer":"yes"}'],
    ])
  })

  test('a handler that asked to be called again gets the answer, and its value is the result', async () => {
    ran.length = 0
    const { engine, adapter } = engineWith([call('c1', 'book'), call('c2', 'look')], done)
    const { session } = await Session.start(engine, Session.create({ id: 's', messages }))
    const after = await Session.reply(engine, saved(session), 'yes')
    expect(after.session.status).toBe('completed')
    expect(ran).toEqual(['c1  s:1:c1', 'c2', 'c1 "yes" s:1:c1'])
    expect(sent(adapter, 2)).toEqual([
      ['tool', 'c1', '{"booked":"yes"}'],
      ['tool', 'c2', 'seen'],
    ])
  })

  test('parts of a reply that are not words follow as a message of the user', async () => {
    const { engine, adapter } = engineWith([call('c1', 'ask'), call('c2', 'look')], done)
    const { session } = await Session.start(engine, messages)
    const image = { type: 'url', url: 'https://example.com/cat.png' } as const
    await Session.reply(engine, session, [
      { type: 'text', text: 'this one' },
      { type: 'image', image },
    ])
    expect(sent(adapter, 2)).toEqual([
      ['tool', 'c1', '{"question":"about c1?","answer":"this one"}'],
      ['tool', 'c2', 'seen'],
      ['user', undefined, [{ type: 'image', image }]],
    ])
  })
})

test('a call that was answered as interrupted does not run again when the step goes on and is stopped once more', async () => {
  const stop = new AbortController()
  const signal = stop.signal
  const runs: string[] = []
  const slow = tool({
    name: 'slow',
    description: 'has an effect, and never ends',
    schema: {},
    handler: (_args, { toolCall }) => {
      runs.push(toolCall.id)
      setImmediate(() => stop.abort())
      return new Promise(() => undefined)
    },
  })
  const scripts = [[call('c1', 'slow'), call('c2', 'book')], done]
  const engine = createEngine({ adapter: fake({ scripts }), tools: [...tools, slow] })
  const { session: stopped } = await Session.start(engine, messages, { signal })
  const { session: waits } = await Session.resume(engine, saved(stopped))
  expect(waits).toMatchObject({ status: 'awaiting_user', pendingToolCallId: 'c2' })
  const { session: again } = await Session.reply(engine, saved(waits), 'yes', { signal })
  expect(again.haltedReason).toBe('cancelled')
  const { session: last } = await Session.resume(engine, saved(again))
  expect(last.status).toBe('completed')
  expect(runs).toEqual(['c1'])
  expect(last.thread.messages[2]).toMatchObject({
    toolCallId: 'c1',
    metadata: { interrupted: true },
  })
})

describe('several questions', () => {
  const reply = (text: string): Part[] => [
    { type: 'text', text },
    { type: 'image', image: { type: 'url', url: `https://example.com/${text}.png` } },
  ]

  test.each([
    ['ask', '{"question":"about c2?","answer":"two"}'],
    ['book', expect.stringContaining('booked')],
  ])('an image in the answer to the first does not lose the answer to %s', async (name, result) => {
    const { engine, adapter } = engineWith([call('c1', 'ask'), call('c2', name)], done)
    const { session } = await Session.start(engine, messages)
    const first = saved((await Session.reply(engine, session, reply('one'))).session)
    expect(first).toMatchObject({ status: 'awaiting_user', pendingToolCallId: 'c2' })
    const { session: last } = await Session.reply(engine, first, reply('two'))
    expect(last.status).toBe('completed')
    expect(sent(adapter, 2).slice(0, 3)).toEqual([
      ['tool', 'c1', '{"question":"about c1?","answer":"one"}'],
      ['tool', 'c2', result],
      ['user', undefined, [{ type: 'image', image: expect.anything() as unknown }]],
    ])
  })

  test('the images of all answers follow in the order of the answers', async () => {
    const { engine, adapter } = engineWith([call('c1', 'ask'), call('c2', 'ask')], done)
    const { session } = await Session.start(engine, messages)
    const first = (await Session.reply(engine, session, reply('one'))).session
    await Session.reply(engine, first, reply('two'))
    expect(JSON.stringify(sent(adapter, 4))).toMatch(/one\.png.*two\.png/)
  })

  test('a late result that comes while a question is open follows its answer', async () => {
    const { engine, adapter } = engineWith(
      [call('c1', 'hand', { n: 1 })],
      [call('c2', 'ask')],
      done,
    )
    const { session } = await Session.start(engine, messages)
    const asked = (await Session.reply(engine, session, 'meanwhile')).session
    const told = saved(Session.submitToolResult(asked, 'c1', 'GRANTED'))
    expect(told.status).toBe('awaiting_user')
    await Session.reply(engine, told, 'yes')
    expect(sent(adapter, 5)).toEqual([
      ['tool', 'c2', '{"question":"about c2?","answer":"yes"}'],
      ['user', undefined, expect.stringContaining('GRANTED')],
    ])
  })
})

describe('manual calls and late results', () => {
  test('wrong arguments of a manual tool go back to the model', async () => {
    const { engine, adapter } = engineWith(
      [call('c1', 'hand', { n: 'seven' })],
      [call('c2', 'hand', { n: 7 })],
    )
    const { session } = await Session.start(engine, messages)
    expect(session).toMatchObject({ status: 'awaiting_tools', pendingToolCalls: [{ id: 'c2' }] })
    expect(JSON.stringify(sent(adapter, 2))).toContain('invalid arguments')
  })

  test('a failed result is told as an error', async () => {
    const { engine, adapter } = engineWith([call('c1', 'hand', { n: 1 })], done)
    const { session } = await Session.start(engine, messages)
    const failed = Session.submitToolResult(session, 'c1', 'out of stock', { isError: true })
    await Session.resume(engine, failed)
    expect(sent(adapter, 2)).toEqual([['tool', 'c1', '{"error":"out of stock"}']])
  })

  test('a failed result that comes late is marked too', async () => {
    const { engine } = engineWith([call('c1', 'hand', { n: 1 })], done)
    const { session } = await Session.start(engine, messages)
    const spoke = (await Session.reply(engine, session, 'and?')).session
    const late = Session.submitToolResult(spoke, 'c1', 'out of stock', { isError: true })
    expect(late.thread.messages.at(-1)).toMatchObject({
      role: 'user',
      content: expect.stringContaining('{"error":"out of stock"}') as string,
      metadata: { lateResultOf: 'c1', isError: true },
    })
  })

  test('the user may speak while a call is pending, and the late result reaches the model', async () => {
    const { engine, adapter } = engineWith(
      [call('c1', 'hand', { n: 1 }), call('c2', 'look')],
      [['text', 'still waiting']],
      [['text', 'there it is']],
    )
    const { session } = await Session.start(engine, messages)
    const spoke = await Session.reply(engine, saved(session), 'how long?')
    expect(spoke).toMatchObject({
      session: { status: 'awaiting_tools', pendingToolCalls: [{ id: 'c1' }] },
      result: { haltedReason: 'completed', outputText: 'still waiting' },
    })
    expect(sent(adapter, 2)).toEqual([
      ['tool', 'c1', expect.stringContaining('no result yet')],
      ['tool', 'c2', 'seen'],
      ['user', undefined, 'how long?'],
    ])
    const told = Session.submitToolResult(saved(spoke.session), 'c1', 'it is ```done```')
    expect(told.status).toBe('idle')
    const after = await Session.resume(engine, saved(told))
    expect(after.session.status).toBe('completed')
    const late = adapter.calls.at(-1)?.request.messages.at(-1)
    expect(late).toMatchObject({ role: 'user', metadata: { lateResultOf: 'c1' } })
    expect(late?.content).toContain('````tool_output\nit is ```done```\n````')
  })

  test('a late result waits until the calls of the last answer are answered', async () => {
    const { engine, adapter } = engineWith(
      [call('c1', 'hand', { n: 1 })],
      [call('c2', 'hand', { n: 2 }), call('c3', 'pay', { amount: 3 })],
      done,
    )
    const { session } = await Session.start(engine, messages)
    const spoke = (await Session.reply(engine, session, 'and another')).session
    expect(spoke).toMatchObject({
      status: 'awaiting_approval',
      pendingToolCalls: [{ id: 'c1' }, { id: 'c2' }],
    })
    const late = Session.submitToolResult(spoke, 'c1', 'one')
    const all = Session.approve(Session.submitToolResult(late, 'c2', 'two'), 'c3')
    expect(all.status).toBe('idle')
    const after = await Session.resume(engine, saved(all))
    expect(after.session.status).toBe('completed')
    expect(sent(adapter, 5)).toEqual([
      ['tool', 'c2', 'two'],
      ['tool', 'c3', '{"paid":3}'],
      ['user', undefined, expect.stringContaining('one')],
    ])
    expect(isSendable(after.session.thread)).toBe(true)
  })

  test('a call that is approved after the user went on is run, and its result is told late', async () => {
    const { engine, adapter } = engineWith(
      [call('c1', 'pay', { amount: 5 }), call('c2', 'pay', { amount: 6 })],
      [['text', 'waiting for approval']],
      done,
    )
    const { session } = await Session.start(engine, messages)
    ran.length = 0
    const spoke = (await Session.reply(engine, Session.approve(session, 'c1'), 'hurry')).session
    expect(ran).toEqual(['c1'])
    expect(spoke).toMatchObject({ status: 'awaiting_approval', pendingApprovals: [{ id: 'c2' }] })
    expect(sent(adapter, 4)).toEqual([
      ['user', undefined, 'hurry'],
      ['user', undefined, expect.stringContaining('{"paid":5}')],
    ])
    const after = await Session.resume(engine, saved(Session.approve(saved(spoke), 'c2')))
    expect(ran).toEqual(['c1', 'c2'])
    expect(after.session.status).toBe('completed')
    expect(sent(adapter, -1)).toEqual([['user', undefined, expect.stringContaining('{"paid":6}')]])
    const denied = await Session.resume(engineWith(done).engine, Session.deny(spoke, 'c2', 'no'))
    expect(denied.session.thread.messages.at(-2)).toMatchObject({
      role: 'user',
      content: expect.stringContaining('the call was denied') as string,
      metadata: { lateResultOf: 'c2' },
    })
  })
})

test('calls that are settled after the user went on survive a crash at every event', async () => {
  const report = await crashAtEveryEvent({
    scripts: [
      [call('c1', 'pay', { amount: 1 }), call('c2', 'hand', { n: 2 }), call('c3', 'look')],
      [['text', 'waiting']],
      done,
    ],
    messages,
    tools,
    onSuspend: ({ thread, pendingApprovals, pendingToolCalls }) => {
      if (!thread.messages.some(({ content }) => content === 'and?')) return { reply: 'and?' }
      const [first] = pendingToolCalls
      if (first !== undefined) return { toolResults: [{ id: first.id, content: 'late' }] }
      return { approvals: Object.fromEntries(pendingApprovals.map(({ id }) => [id, true])) }
    },
  })
  expect(report.toolRuns).toEqual({ pay: 1, look: 1 })
})

describe('stopping is not failing', () => {
  test.each<[string, Script, CallOptions, string]>([
    ['max_turns', [call('c1', 'look')], { maxTurns: 1 }, 'max_turns'],
    ['haltWhen', [call('c1', 'look')], { haltWhen: () => true }, 'halt_when'],
    ['a handler', [call('c1', 'stop')], {}, 'found'],
  ])('%s leaves the session halted, and resume goes on', async (_what, script, options, reason) => {
    const { engine } = engineWith(script, done)
    const { session } = await Session.start(engine, messages, options)
    expect(saved(session)).toMatchObject({ status: 'halted', haltedReason: reason })
    const after = await Session.resume(engine, session)
    expect(after.session.status).toBe('completed')
    expect(after.session.haltedReason).toBeUndefined()
  })

  test('a halt takes effect when the other calls of its answer are settled', async () => {
    const { engine } = engineWith([call('c1', 'stop'), call('c2', 'pay', { amount: 1 })])
    const { session } = await Session.start(engine, messages)
    expect(session.status).toBe('awaiting_approval')
    const after = await Session.resume(engine, saved(Session.approve(session, 'c2')))
    expect(after).toMatchObject({
      session: { status: 'halted', haltedReason: 'found' },
      result: { haltResult: 42 },
    })
  })

  test('rewind removes a message and all after it, but never parts a call from its result', async () => {
    const { engine } = engineWith([call('c1', 'look')], done, [['text', 'other']])
    const { session } = await Session.start(engine, messages)
    expect(() => Session.rewind(session, 2)).toThrow('use 1')
    expect(() => Session.rewind(session, 9)).toThrow('0 to 4')
    const back = Session.rewind(session, 3)
    expect(back).toMatchObject({ status: 'idle', thread: { messages: { length: 3 } } })
    const again = await Session.resume(engine, back)
    expect(again.result.outputText).toBe('other')
  })
})

describe('rewind and late results', () => {
  const waiting: Script = [['text', 'waiting']]

  test('a result that was told late is kept as long as the thread says that it comes', async () => {
    const { engine, adapter } = engineWith([call('c1', 'hand', { n: 1 })], waiting, done, done)
    const { session } = await Session.start(engine, messages)
    const asked = (await Session.reply(engine, session, 'q')).session
    const told = Session.submitToolResult(asked, 'c1', 'GRANTED')
    const finished = (await Session.resume(engine, told)).session
    for (const late of [told, finished]) {
      const back = saved(Session.rewind(saved(late), 3))
      expect(back).toMatchObject({ status: 'idle', pendingToolCalls: [] })
      expect(back.thread.messages).toHaveLength(4)
      expect(back.thread.messages[3]).toMatchObject({ metadata: { lateResultOf: 'c1' } })
      // Once more changes nothing, and without the placeholder the result says nothing.
      expect(Session.rewind(back, 3)).toEqual(back)
      expect(Session.rewind(back, 1).thread.messages).toHaveLength(1)
    }
    await Session.reply(engine, Session.rewind(finished, 3), 'other q')
    expect(sent(adapter, 3)).toEqual([
      ['user', undefined, expect.stringContaining('GRANTED')],
      ['user', undefined, 'other q'],
    ])
  })

  test('a result that waits for the calls of the last answer is kept', async () => {
    const { engine } = engineWith([call('c1', 'hand', { n: 1 })], [call('c2', 'hand', { n: 2 })])
    const { session } = await Session.start(engine, messages)
    const asked = (await Session.reply(engine, session, 'q')).session
    const back = Session.rewind(saved(Session.submitToolResult(asked, 'c1', 'GRANTED')), 3)
    expect(back.thread.messages[3]?.content).toContain('GRANTED')
    expect(back.pendingToolCalls).toEqual([])
    expect(Session.rewind(asked, 3).pendingToolCalls).toMatchObject([{ id: 'c1' }])
  })

  test('an index at the end removes nothing, not even what waits to follow the thread', async () => {
    const { engine } = engineWith([call('c1', 'ask'), call('c2', 'ask')])
    const { session } = await Session.start(engine, messages)
    const image = { type: 'url', url: 'https://example.com/cat.png' } as const
    const { session: asked } = await Session.reply(engine, session, [{ type: 'image', image }])
    const back = saved(Session.rewind(saved(asked), asked.thread.messages.length))
    expect(back).toEqual(asked)
    expect(back.run?.late).toEqual([{ role: 'user', content: [{ type: 'image', image }] }])
    expect(Session.rewind(asked, 1).thread.messages).toHaveLength(1)
  })

  test('a call that was approved and has not run still runs', async () => {
    const { engine } = engineWith([call('c1', 'pay', { amount: 7 })], waiting, done)
    const { session } = await Session.start(engine, messages)
    const asked = (await Session.reply(engine, session, 'q')).session
    ran.length = 0
    const back = saved(Session.rewind(Session.approve(asked, 'c1'), 3))
    const after = await Session.resume(engine, back)
    expect(ran).toEqual(['c1'])
    expect(after.session.thread.messages[3]?.content).toContain('{"paid":7}')
  })

  test('a later call that the model gave the same id is another call, and its result does not come back', async () => {
    const { engine } = engineWith(
      [call('c1', 'hand', { n: 1 })],
      waiting,
      [call('c1', 'hand', { n: 2 })],
      waiting,
    )
    const { session } = await Session.start(engine, messages)
    const asked = (await Session.reply(engine, session, 'q')).session
    const told = Session.submitToolResult(asked, 'c1', 'FIRST')
    const again = (await Session.reply(engine, told, 'again')).session
    const more = (await Session.reply(engine, again, 'more')).session
    const second = Session.submitToolResult(more, 'c1_2', 'SECOND')
    expect(JSON.stringify(Session.rewind(second, 3))).toContain('FIRST')
    expect(JSON.stringify(Session.rewind(second, 3))).not.toContain('SECOND')
    expect(Session.rewind(more, 3).pendingToolCalls).toEqual([])
  })

  test('a thread without messages cannot be resumed', async () => {
    const { engine } = engineWith(done, done)
    const { session } = await Session.start(engine, messages)
    const back = Session.rewind(session, 0)
    expect(Session.legalOperations(back)).toEqual(['start', 'reply', 'append', 'rewind'])
    await expect(Session.resume(engine, back)).rejects.toThrow('its thread has no message')
    const after = await Session.reply(engine, back, 'other')
    expect(after.session.status).toBe('completed')
  })
})

describe('everything at once', () => {
  const scripts: Script[] = [
    [
      call('c1', 'pay', { amount: 1 }),
      call('c2', 'hand', { n: 2 }),
      call('c3', 'ask'),
      call('c4', 'broken'),
      call('c5', 'pay', { amount: 5 }),
      call('c6', 'book'),
      call('c7', 'look'),
      call('c8', 'maybe', { amount: 1 }),
    ],
    done,
  ]

  test('is settled in the order of the calls, and survives a crash at every event', async () => {
    const report = await crashAtEveryEvent({
      scripts,
      messages,
      tools,
      onSuspend: ({ status, pendingApprovals, pendingToolCalls, pendingToolCallId }) => {
        if (status === 'awaiting_user') return { reply: `answer to ${pendingToolCallId ?? ''}` }
        if (status === 'awaiting_approval') {
          const [first] = pendingApprovals
          return { approvals: { [first?.id ?? '']: first?.id === 'c1' ? true : { deny: 'no' } } }
        }
        return { toolResults: pendingToolCalls.map(({ id }) => ({ id, content: 'by hand' })) }
      },
    })
    expect(report.toolRuns).toEqual({ pay: 1, ask: 1, broken: 1, book: 2, look: 1, maybe: 1 })
    expect(report.cuts).toBeGreaterThan(60)
  })

  test('the lists are all filled, and the status is the first that applies', async () => {
    const { engine, adapter } = engineWith(...scripts)
    let { session } = await Session.start(engine, messages)
    expect(session).toMatchObject({
      status: 'awaiting_user',
      pendingToolCallId: 'c3',
      moreQuestions: [{ toolCallId: 'c6' }],
      pendingApprovals: [{ id: 'c1' }, { id: 'c5' }],
      pendingToolCalls: [{ id: 'c2' }],
    })
    expect(Session.legalOperations(session)).toEqual([
      'reply',
      'rewind',
      'approve',
      'deny',
      'submitToolResult',
    ])
    session = Session.submitToolResult(session, 'c2', 'two')
    session = Session.deny(session, 'c5', 'never')
    session = (await Session.reply(engine, session, 'three')).session
    expect(session).toMatchObject({ status: 'awaiting_user', pendingToolCallId: 'c6' })
    session = (await Session.reply(engine, session, 'six')).session
    expect(session).toMatchObject({ status: 'awaiting_approval', pendingApprovals: [{ id: 'c1' }] })
    session = (await Session.resume(engine, saved(Session.approve(session, 'c1')))).session
    expect(session.status).toBe('completed')
    expect(sent(adapter, 2)).toEqual([
      ['tool', 'c1', '{"paid":1}'],
      ['tool', 'c2', 'two'],
      ['tool', 'c3', '{"question":"about c3?","answer":"three"}'],
      ['tool', 'c4', '{"error":"no luck"}'],
      ['tool', 'c5', deniedText('never')],
      ['tool', 'c6', '{"booked":"six"}'],
      ['tool', 'c7', 'seen'],
      ['tool', 'c8', '1'],
    ])
  })
})

describe('commands', () => {
  test('each is applied, and the run goes on when nothing is pending any more', async () => {
    const { engine, adapter } = engineWith(
      [
        call('c1', 'pay', { amount: 1 }),
        call('c2', 'pay', { amount: 2 }),
        call('c3', 'hand', { n: 3 }),
      ],
      done,
      [['text', 'welcome']],
    )
    const first = Session.streamNext(engine, Session.create(), { type: 'send', content: 'go' })
    const { session: asked } = await first.result
    expect(asked.status).toBe('awaiting_approval')
    const commands: readonly SessionCommand[] = [
      { type: 'approve', toolCallId: 'c1', arguments: { amount: 9 } },
      { type: 'submitToolResult', toolCallId: 'c3', content: 'three', isError: true },
      { type: 'deny', toolCallId: 'c2', reason: 'no' },
      { type: 'send', content: 'thanks' },
    ]
    let session = asked
    const statuses: string[] = []
    for (const command of commands) {
      const stream = Session.streamNext(engine, saved(session), command)
      session = (await stream.result).session
      statuses.push(session.status)
    }
    expect(statuses).toEqual(['awaiting_approval', 'awaiting_approval', 'completed', 'completed'])
    expect(adapter.calls[1]?.request.messages.slice(2).map(({ content }) => content)).toEqual([
      changed({ amount: 9 }, '{"paid":9}'),
      deniedText('no'),
      '{"error":"three"}',
    ])
    expect(() => Session.streamNext(engine, session, { type: 'resume' })).toThrow('legal now')
    expect(() => Session.streamNext(engine, session)).toThrow('legal now')
  })

  test('without a command, a run that was cut goes on', async () => {
    const { engine } = engineWith([call('c1', 'look')], done)
    const stream = Session.streamStart(engine, messages)
    for await (const event of stream) if (event.type === 'step_completed') break
    expect(stream.session.status).toBe('idle')
    const { session } = await Session.streamNext(engine, saved(stream.session)).result
    expect(session.status).toBe('completed')
  })
})

describe('progress', () => {
  test('a handler that waits for its progress goes on when the consumer has asked for more', async () => {
    const order: string[] = []
    const load = tool({
      name: 'load',
      description: 'loads',
      schema: {},
      handler: async (_args, { progress }) => {
        await progress({ percent: 50 })
        order.push('handler goes on')
        progress('nearly').catch(() => undefined)
        expect(() => progress(() => undefined)).toThrow('function')
        return 'loaded'
      },
    })
    const stream = streamToolCalls([{ id: 'c1', name: 'load', arguments: {} }], [load])
    for await (const event of stream) {
      order.push(
        event.type === 'tool_progress' ? `progress ${JSON.stringify(event.data)}` : event.type,
      )
      if (event.type === 'tool_progress') await new Promise((resolve) => setImmediate(resolve))
    }
    expect(order).toEqual([
      'tool_execution_started',
      'progress {"percent":50}',
      'handler goes on',
      'progress "nearly"',
      'tool_execution_completed',
      'tool_result_encoded',
    ])
    const { messages: results } = await runToolCalls(
      [{ id: 'c1', name: 'load', arguments: {} }],
      [load],
    )
    expect(results[0]?.content).toBe('loaded')
  })

  test('progress after the deadline or the end is ignored', async () => {
    let late: Promise<void> | undefined
    const quick = tool({
      name: 'quick',
      description: 'reports too late',
      schema: {},
      handler: (_args, { progress }) => {
        setImmediate(() => {
          late = progress('too late')
        })
        return 'done'
      },
    })
    const stream = streamToolCalls([{ id: 'c1', name: 'quick', arguments: {} }], [quick])
    const events = await collectEvents(stream)
    await new Promise((resolve) => setImmediate(resolve))
    await late
    expect(events.some(({ type }) => type === 'tool_progress')).toBe(false)
  })
})

test('a question of a helper comes out through its promise', async () => {
  const confirm = async (): Promise<unknown> => askUser('Sure?')
  const deep = tool({
    name: 'deep',
    description: 'asks in a helper',
    schema: {},
    handler: async () => {
      const outcome = await confirm()
      return outcome
    },
  })
  const { halt: asked } = await runToolCalls([{ id: 'c1', name: 'deep', arguments: {} }], [deep])
  expect(asked).toMatchObject({ reason: 'ask_user', question: 'Sure?' })
})

describe('a mistake of the caller', () => {
  test('in a command is named, with what is legal', async () => {
    const { engine } = engineWith(done)
    const session = Session.create({ messages: 'hi' })
    const run = (command: object) => () =>
      Session.streamNext(engine, session, command as SessionCommand)
    expect(run({ type: 'aprove', toolCallId: 'c1' })).toThrow(
      'command.type must be one of send, approve, deny, submitToolResult, resume, not "aprove"',
    )
    expect(run({ type: 'toString' })).toThrow('command.type must be one of')
    expect(run({ type: 'send', text: 'hi' })).toThrow('unknown key text')
    expect(() => Session.streamNext(engine, session, null as unknown as SessionCommand)).toThrow(
      'command must be a command',
    )
  })

  test('to pass what a run gave instead of its session is one sentence', async () => {
    const { engine } = engineWith(done)
    const given = (await Session.start(engine, messages)) as unknown as Session
    const sentence =
      /^invalid session: must be a session, not what a run of one gave: pass its `session`[^;]*$/
    expect(() => Session.stringify(given)).toThrow(sentence)
    expect(() => Session.approve(given, 'c1')).toThrow(sentence)
    await expect(Session.reply(engine, given, 'hi')).rejects.toThrow(sentence)
    await expect(Session.start(engine, given)).rejects.toThrow(sentence)
  })

  test('in a message is at the index that the caller gave it', async () => {
    const adapter = fake({ scripts: [done] })
    const wrong = ['hi'] as unknown as readonly []
    for (const instructions of [undefined, 'Be brief.']) {
      const engine = createEngine({ adapter, instructions })
      await expect(chat(engine, wrong)).rejects.toThrow('messages[0]')
    }
  })
})

test('a rehearsal takes what a fake and a session take', async () => {
  const report = await crashAtEveryEvent({ scripts: [['Hello.']], messages: 'hi' })
  expect(report.toolRuns).toEqual({})
})
