import { beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  agentTool,
  content,
  createEngine,
  fail,
  halt,
  isSendable,
  messageText,
  onTelemetry,
  Session,
  textPart,
  tool,
  type CallOptions,
  type Engine,
  type EngineOptions,
  type Message,
  type ReconcileAnswer,
  type ReconcileOptions,
  type StreamEvent,
  type TelemetryEvent,
  type Tool,
  type ToolCall,
} from '../../../src/index.ts'
import { fake, virtualClock, type Script, type VirtualClock } from '../../../src/testing.ts'

/** What becomes of a call that was started and left no result, if its tool can find out. */

const ran: string[] = []
const asked: { readonly call: ToolCall; readonly options: ReconcileOptions }[] = []
let clock: VirtualClock

beforeEach(() => {
  ran.length = 0
  asked.length = 0
  clock = virtualClock({ start: 1000 })
})

type Answers = (
  call: ToolCall,
  options: ReconcileOptions,
) => ReconcileAnswer | Promise<ReconcileAnswer>

/** A tool that notes its runs and what it is asked. `answer` is what it knows of a call. */
const payTool = (answer: Answers | undefined, more: Partial<Tool> = {}): Tool => ({
  ...tool({
    name: 'pay',
    description: 'pays',
    schema: { type: 'object' },
    handler: (_args, { idempotencyKey }) => {
      ran.push(idempotencyKey)
      return 'paid now'
    },
    reconcile:
      answer &&
      ((call, options) => {
        asked.push({ call, options })
        return answer(call, options)
      }),
  }),
  ...more,
})

const call = (id: string, name: string, args: Record<string, unknown> = {}): Script[number] => [
  'tool_call',
  { id, name, arguments: JSON.parse(JSON.stringify(args)) },
]
const done: Script = [['text', 'done']]

const engineWith = (
  tools: readonly Tool[],
  scripts: readonly Script[],
  more: Omit<EngineOptions, 'adapter' | 'tools'> = {},
): Engine => createEngine({ adapter: fake({ scripts }), tools, clock, ...more })

const saved = (session: Session): Session => Session.parse(Session.stringify(session))

/** A session whose call of `pay` was started at 1000, as it was saved when the process died. */
async function cutSession(args: Record<string, unknown> = {}): Promise<Session> {
  const stream = Session.streamStart(
    engineWith([payTool(undefined)], [[call('c1', 'pay', args)]]),
    Session.create({ id: 's', messages: 'go' }),
  )
  for await (const event of stream) if (event.type === 'tool_execution_started') break
  return saved(stream.session)
}

/** The end of a run that goes on from such a session, and its events. */
async function resumed(
  answer: Answers | undefined,
  {
    from,
    more,
    engine,
    options,
  }: {
    from?: Session
    more?: Partial<Tool>
    engine?: Omit<EngineOptions, 'adapter' | 'tools'>
    options?: CallOptions
  } = {},
): Promise<{ readonly session: Session; readonly events: readonly StreamEvent[] }> {
  const stream = Session.streamResume(
    engineWith([payTool(answer, more)], [done], engine),
    from ?? (await cutSession()),
    options,
  )
  const events: StreamEvent[] = []
  for await (const event of stream) {
    events.push(event)
    saved(stream.session)
  }
  return { session: stream.session, events }
}

const resultOf = ({ thread }: Session): Message | undefined =>
  thread.messages.find(({ role }) => role === 'tool')
const told = (session: Session): string => {
  const message = resultOf(session)
  return message === undefined ? '' : messageText(message)
}
const callEvents = (events: readonly StreamEvent[]): readonly string[] =>
  events.map(({ type }) => type).filter((type) => type.startsWith('tool_'))

describe('a call that is done', () => {
  test('has its result, and its handler does not run', async () => {
    const { session, events } = await resumed(() => ({ done: { receipt: 7 } }))
    expect(told(session)).toBe('{"receipt":7}')
    expect(resultOf(session)?.metadata).toBeUndefined()
    expect(callEvents(events)).toEqual(['tool_result_encoded'])
    expect([ran, session.status]).toEqual([[], 'completed'])
  })

  test.each<[string, unknown, object]>([
    ['nothing', undefined, { content: 'null' }],
    ['parts', content([textPart('hi')]), { content: [{ type: 'text', text: 'hi' }] }],
    ['a failure', fail('declined'), { metadata: { isError: true } }],
    ['what JSON cannot have', 1n, { metadata: { isError: true } }],
  ])('is told like what a handler returns: %s', async (_what, value, expected) => {
    const { session } = await resumed(() => ({ done: value }))
    expect(resultOf(session)).toMatchObject(expected)
    expect(ran).toEqual([])
  })

  test('halts the run if the handler would have', async () => {
    const { session } = await resumed(() => ({ done: halt('enough', 42) }))
    expect(session).toMatchObject({ status: 'halted', haltedReason: 'enough' })
  })

  test('is encoded by the encoder of the engine', async () => {
    const { session } = await resumed(() => ({ done: 7 }), {
      engine: { toolResultEncoder: (value) => `<${String(value)}>` },
    })
    expect(told(session)).toBe('<7>')
  })

  test('is not run again although its tool is idempotent', async () => {
    await resumed(() => Promise.resolve({ done: 7 }), { more: { idempotent: true } })
    expect([asked.length, ran]).toEqual([1, []])
  })
})

describe('what reconcile gets', () => {
  test('the call as it was run, with the key of its handler and a context of its own', async () => {
    const db = { name: 'db' }
    const { session } = await resumed(() => 'not_done', {
      from: await cutSession({ euros: 5 }),
      engine: { context: { db } },
    })
    expect(asked[0]?.call).toMatchObject({ id: 'c1', name: 'pay', arguments: { euros: 5 } })
    expect(asked[0]?.options.context['db']).toBe(db)
    expect(asked[0]?.options.context).not.toBe(asked[1]?.options.context)
    expect(ran).toEqual([asked[0]?.options.idempotencyKey])
    expect(asked[0]?.options.idempotencyKey).toMatch(/^s:1:c1~/)
    expect(told(session)).toBe('paid now')
  })

  test('a copy, so that writing to it changes nothing', async () => {
    const { session } = await resumed((own, { context }) => {
      Object.assign(own, { id: 'other' })
      Object.assign(own.arguments, { euros: 9 })
      Object.assign(context, { db: 'gone' })
      return { done: 1 }
    })
    const [made] = session.thread.messages.flatMap(({ toolCalls = [] }) => toolCalls)
    expect(made).toMatchObject({ id: 'c1', arguments: {} })
    expect(isSendable(session.thread)).toBe(true)
  })

  test('the arguments that were approved, and they are told with the result', async () => {
    const gated = (answer: Answers | undefined): Tool => payTool(answer, { needsApproval: true })
    const first = await Session.start(
      engineWith([gated(undefined)], [[call('c1', 'pay', { euros: 5 })]]),
      'go',
    )
    const approved = Session.approve(first.session, 'c1', { arguments: { euros: 3 } })
    const stream = Session.streamResume(engineWith([gated(undefined)], []), approved)
    for await (const event of stream) if (event.type === 'tool_execution_started') break
    const { session } = await Session.resume(
      engineWith([gated(() => ({ done: 'paid' }))], [done]),
      saved(stream.session),
    )
    expect(asked[0]?.call.arguments).toEqual({ euros: 3 })
    expect(resultOf(session)?.metadata).toEqual({ approvedArguments: { euros: 3 } })
    expect(told(session)).toContain('paid')
  })
})

describe('a call that is not done', () => {
  test('is started again, with the start before the handler', async () => {
    const from = await cutSession()
    await clock.advance(30_000)
    const stream = Session.streamResume(engineWith([payTool(() => 'not_done')], [done]), from)
    for await (const event of stream) {
      if (event.type === 'tool_execution_started') {
        expect(ran).toEqual([])
        expect(saved(stream.session).calls).toEqual({
          c1: { state: 'running', told: 'no', startedAt: 31_000, timeoutMs: 30_000 },
        })
      }
    }
    expect(asked).toHaveLength(1)
    expect(ran).toHaveLength(1)
    expect(told(stream.session)).toBe('paid now')
  })

  test('is asked about once more when the deadline of its start has passed, because it could still act before', async () => {
    const from = await cutSession()
    await clock.advance(10_000)
    const times: number[] = []
    const { session } = await resumed(
      () => {
        times.push(clock.now())
        return 'not_done'
      },
      { from },
    )
    expect(times).toEqual([11_000, 31_000])
    expect([ran.length, told(session)]).toEqual([1, 'paid now'])
  })

  test.each<[string, ReconcileAnswer, string]>([
    ['done', { done: 'paid then' }, 'paid then'],
    ['unknown', 'unknown', 'may have taken effect'],
  ])('and what it says then holds: %s', async (_what, last, expected) => {
    const { session } = await resumed(() => (asked.length === 1 ? 'not_done' : last))
    expect([asked.length, ran]).toEqual([2, []])
    expect(told(session)).toContain(expected)
  })

  test('has the deadline that it had when it was started, whatever the tool says today', async () => {
    const times: number[] = []
    await resumed(
      () => {
        times.push(clock.now())
        return 'not_done'
      },
      { more: { timeoutMs: 1 }, options: { toolTimeoutMs: 5 } },
    )
    expect(times).toEqual([1000, 31_000])
  })

  test('is waited for no longer than it could take, though its clock was ahead', async () => {
    const from = await cutSession()
    clock = virtualClock({ start: 0 })
    await resumed(() => 'not_done', { from })
    expect([clock.now(), ran.length]).toEqual([30_000, 1])
  })

  test('is waited for as long as it could take today, if it was started by 0.2', async () => {
    const { calls = {}, run, ...rest } = await cutSession()
    const of02 = { ...run, started: Object.keys(calls), halts: [] }
    const from = Session.parse(JSON.stringify({ ...rest, version: 2, run: of02 }))
    await clock.advance(60_000)
    await resumed(() => 'not_done', { from, more: { timeoutMs: 50 } })
    expect([clock.now(), asked.length, ran.length]).toEqual([61_050, 2, 1])
  })

  test('is lost when it is left without a result once more, and asked about again', async () => {
    const from = await cutSession()
    const stream = Session.streamResume(engineWith([payTool(() => 'not_done')], []), from)
    for await (const event of stream) if (event.type === 'tool_execution_started') break
    const { session } = await resumed(() => ({ done: 'paid then' }), {
      from: saved(stream.session),
    })
    expect([told(session), ran]).toEqual(['paid then', []])
  })
})

describe('a call of which nothing is known', () => {
  const events: TelemetryEvent[] = []
  const seen = (): readonly object[] =>
    events.flatMap((event): readonly object[] => {
      if (event.name === 'tool.interrupted') return [{ name: event.name }]
      if (event.name !== 'tool.reconciled') return []
      const { outcome, error, toolName, toolCallId } = event
      expect([toolName, toolCallId]).toEqual(['pay', 'c1'])
      return [{ outcome, error: error?.message }]
    })

  beforeEach(() => {
    events.length = 0
    return onTelemetry((event) => void events.push(event))
  })

  // What a program in JavaScript may return.
  const nonsense =
    (value: unknown): Answers =>
    () =>
      value as ReconcileAnswer

  test.each<[string, Answers, number, string | undefined]>([
    ['says so', () => 'unknown', 1, undefined],
    [
      'throws each time',
      () => {
        throw new Error('no route')
      },
      3,
      'reconcile of pay failed: no route',
    ],
    ['rejects each time', () => Promise.reject(new Error('')), 3, 'reconcile of pay failed'],
    [
      'never answers',
      () => new Promise<never>(() => undefined),
      1,
      'reconcile of pay did not answer within 30000 ms',
    ],
    [
      'returns nothing',
      nonsense(undefined),
      1,
      `reconcile of pay must return { done: value }, 'not_done' or 'unknown', not undefined`,
    ],
    [
      'returns a word of its own',
      nonsense('done'),
      1,
      `reconcile of pay must return { done: value }, 'not_done' or 'unknown', not "done"`,
    ],
  ])('is interrupted, and reported: its tool %s', async (_what, answer, times, error) => {
    const { session } = await resumed(answer)
    expect(asked).toHaveLength(times)
    expect(ran).toEqual([])
    expect(resultOf(session)?.metadata).toMatchObject({ interrupted: true, reported: true })
    expect(seen()).toEqual([{ outcome: 'unknown', error }, { name: 'tool.interrupted' }])
  })

  test.each<[string, Answers, object[]]>([
    ['done', () => ({ done: 1 }), [{ outcome: 'done', error: undefined }]],
    ['not_done', () => 'not_done', [{ outcome: 'not_done', error: undefined }]],
  ])('otherwise telemetry says what became of it: %s', async (_what, answer, expected) => {
    await resumed(answer)
    expect(seen()).toEqual(expected)
  })

  test('is asked about as often as the retry policy says, with its waits', async () => {
    const failing: Answers = () => {
      if (asked.length < 3) throw new Error('no route')
      return { done: 'paid then' }
    }
    const { session } = await resumed(failing, { engine: { retry: { jitterMs: 0 } } })
    expect([told(session), clock.now()]).toEqual(['paid then', 2500])
    asked.length = 0
    const once = await resumed(failing, { options: { retry: false } })
    expect([asked.length, told(once.session)]).toEqual([
      1,
      expect.stringContaining('may have taken effect'),
    ])
  })

  test('has the signal of the question aborted when it takes too long', async () => {
    let stopped: unknown
    await resumed(
      (_call, { signal }) => {
        signal.addEventListener('abort', () => {
          stopped = clock.now()
        })
        return new Promise<never>(() => undefined)
      },
      { options: { toolTimeoutMs: 70 } },
    )
    expect(stopped).toBe(1070)
  })

  test('runs again if its tool was idempotent when it was started', async () => {
    const stream = Session.streamStart(
      engineWith([payTool(undefined, { idempotent: true })], [[call('c1', 'pay')]]),
      'go',
    )
    for await (const event of stream) if (event.type === 'tool_execution_started') break
    const { session } = await resumed(() => 'unknown', { from: saved(stream.session) })
    expect([asked.length, ran.length, told(session)]).toEqual([1, 1, 'paid now'])
  })

  test('is interrupted without a question if there is no such tool', async () => {
    const { session } = await Session.resume(engineWith([], [done]), await cutSession())
    expect(told(session)).toContain('may have taken effect')
    expect(seen()).toEqual([{ name: 'tool.interrupted' }])
  })
})

describe('a stop', () => {
  test.each<[string, Answers]>([
    ['while it is asked', () => new Promise<never>(() => undefined)],
    ['while the deadline of the call is waited for', () => 'not_done'],
    ['between two attempts', () => Promise.reject(new Error('no route'))],
  ])('%s leaves the call as it was, and it is asked about again', async (_what, answer) => {
    const from = await cutSession()
    clock = virtualClock({ auto: false, start: 1000 })
    const control = new AbortController()
    const signals: AbortSignal[] = []
    const stream = Session.streamResume(
      engineWith(
        [
          payTool((own, options) => {
            signals.push(options.signal)
            return answer(own, options)
          }),
        ],
        [done],
      ),
      from,
      { signal: control.signal },
    )
    const result = stream.result
    await clock.advance(1)
    control.abort()
    const { session } = await result
    expect(session).toMatchObject({ status: 'halted', haltedReason: 'cancelled' })
    expect(clock.pending).toBe(0)
    expect(_what !== 'while it is asked' || signals.every(({ aborted }) => aborted)).toBe(true)
    const again = await resumed(() => ({ done: 'paid then' }), { from: saved(session) })
    expect([told(again.session), ran]).toEqual(['paid then', []])
  })

  test('nothing is waited for after another call of the answer has failed the run', async () => {
    const gone = { ...payTool(undefined, { needsApproval: true }), name: 'gone' }
    const scripts = [[call('c1', 'pay'), call('c2', 'gone')]]
    const started = Session.streamStart(engineWith([payTool(undefined), gone], scripts), 'go')
    for await (const event of started) if (event.type === 'tool_execution_started') break
    const cut = saved(started.session)
    // As if somebody had approved the other call meanwhile.
    const approved = { state: 'approved', told: 'no', approval: { decision: 'approved' } }
    const calls = { ...cut.calls, c2: approved }
    const from = Session.parse(JSON.stringify({ ...cut, calls }))
    clock = virtualClock({ auto: false, start: 1000 })
    const engine = engineWith([payTool(() => new Promise<never>(() => undefined))], [done])
    await expect(Session.resume(engine, from)).rejects.toThrow('no tool gone')
    await clock.advance(0)
    expect(clock.pending).toBe(0)
  })
})

describe('a call that is elsewhere', () => {
  test('late: its result follows in a message of its own', async () => {
    const gated = (answer: Answers | undefined): Tool => payTool(answer, { needsApproval: true })
    const first = await Session.start(engineWith([gated(undefined)], [[call('c1', 'pay')]]), 'go')
    const second = await Session.reply(engineWith([], [done]), first.session, 'and?')
    const stream = Session.streamResume(
      engineWith([gated(undefined)], []),
      Session.approve(second.session, 'c1'),
    )
    for await (const event of stream) if (event.type === 'tool_execution_started') break
    const cut = saved(stream.session)
    const late = async (answer: Answers): Promise<string> => {
      const { session } = await Session.resume(engineWith([gated(answer)], [done]), cut)
      const message = session.thread.messages.find(({ metadata }) => metadata?.['lateResultOf'])
      return message === undefined ? '' : messageText(message)
    }
    expect(await late(() => ({ done: 'paid then' }))).toContain('paid then')
    expect(ran).toEqual([])
    expect(await late(() => 'unknown')).toContain('may have taken effect')
    expect(ran).toEqual([])
    expect(await late(() => 'not_done')).toContain('paid now')
    expect(ran).toEqual([asked[0]?.options.idempotencyKey])
  })

  test.each<[string, Answers, string, number]>([
    ['done', () => ({ done: 'paid then' }), 'paid then', 0],
    ['not_done', () => 'not_done', 'paid now', 1],
    ['unknown', () => 'unknown', 'may have taken effect', 0],
  ])('inside of an agent: %s', async (_what, answer, expected, times) => {
    const outer = (own: Answers | undefined, inner: Script[], scripts: Script[]): Engine =>
      engineWith(
        [
          agentTool({
            name: 'agent',
            description: 'works',
            engine: engineWith([payTool(own)], inner),
          }),
        ],
        scripts,
      )
    const stream = Session.streamStart(
      outer(undefined, [[call('i1', 'pay')]], [[call('c1', 'agent', { prompt: 'go' })]]),
      'go',
    )
    for await (const event of stream) {
      const inner = event.type === 'tool_progress' ? event.data : null
      if (JSON.stringify(inner).includes('tool_execution_started')) break
    }
    const end = Session.streamResume(outer(answer, [done], [done]), saved(stream.session))
    const results: string[] = []
    for await (const event of end) {
      const inner = event.type === 'tool_progress' ? (event.data as unknown as StreamEvent) : event
      if (inner.type === 'tool_result_encoded') results.push(JSON.stringify(inner.content))
    }
    expect(results[0]).toContain(expected)
    expect(end.session.status).toBe('completed')
    expect(ran).toHaveLength(times)
    expect(new Set([...ran, ...asked.map(({ options }) => options.idempotencyKey)]).size).toBe(1)
  })

  test('in a run that goes on in manual mode: one that is not done is left to the caller', async () => {
    const from = await cutSession()
    const done = await resumed(() => ({ done: 'paid then' }), { from, options: { mode: 'manual' } })
    expect(told(done.session)).toBe('paid then')
    const open = await resumed(() => 'not_done', { from, options: { mode: 'manual' } })
    expect(open.session).toMatchObject({
      status: 'awaiting_tools',
      pendingToolCalls: [{ id: 'c1' }],
    })
    expect(ran).toEqual([])
  })

  test('in a run whose user speaks instead of resuming it: the model is told at once that it was interrupted', async () => {
    const engine = engineWith([payTool(() => ({ done: 1 }))], [done])
    const { session } = await Session.reply(engine, await cutSession(), 'hello?')
    expect(told(session)).toContain('may have taken effect')
    expect(asked).toEqual([])
  })
})

test('calls of one answer are asked about side by side, and those that were not started just run', async () => {
  const stream = Session.streamStart(
    engineWith([payTool(undefined)], [[call('c1', 'pay'), call('c2', 'pay'), call('c3', 'pay')]], {
      maxConcurrency: 2,
    }),
    'go',
  )
  for await (const event of stream) {
    if (event.type === 'tool_execution_started' && event.id === 'c2') break
  }
  const { session } = await resumed(
    async ({ id }) => {
      await clock.sleep(10)
      return { done: id }
    },
    { from: saved(stream.session) },
  )
  expect(clock.now()).toBe(1010)
  expect(
    session.thread.messages.flatMap((message) =>
      message.role === 'tool' ? messageText(message) : [],
    ),
  ).toEqual(['c1', 'c2', 'paid now'])
})

test('a reconcile that is no function is refused where the tool is made, and agents have none', () => {
  const spec = { name: 'x', description: 'x', schema: {} }
  // What a program in JavaScript may pass.
  expect(() => tool({ ...spec, reconcile: 'yes' as unknown as () => 'unknown' })).toThrow(
    'reconcile must be a function, not "yes"',
  )
  const options = {
    name: 'x',
    description: 'x',
    engine: engineWith([], []),
    reconcile: () => 'unknown',
  }
  expect(() => agentTool(options)).toThrow('unknown key reconcile')
})

test('the arguments of the call are typed by the schema, and the context by what the handler needs', () => {
  const typed = tool({
    name: 'book',
    description: 'books',
    schema: z.object({
      seat: z.string(),
      at: z.iso.datetime().transform((text) => new Date(text)),
    }),
    handler: (_args, _options: { readonly context: { readonly ledger: Map<string, string> } }) =>
      'booked',
    reconcile: ({ name, arguments: args }, { context, idempotencyKey }) => {
      const known: 'book' = name
      // As the model wrote it, and not as the schema gives it to the handler.
      const seat: string = args.seat
      const at: string = args.at
      const found: string | undefined = context.ledger.get(idempotencyKey)
      return found === undefined ? 'not_done' : { done: [known, seat, at, found] }
    },
  })
  expect(typeof typed.reconcile).toBe('function')
  tool({
    name: 'book',
    description: 'books',
    schema: {},
    // @ts-expect-error it is one of the words, or { done: value }
    reconcile: () => 'maybe',
  })
})
