import { describe, expect, test } from 'vitest'
import { ToolError } from '../../../src/core/errors/errors.ts'
import { askUser, fail, halt } from '../../../src/core/messages/outcomes.ts'
import { createEngine } from '../../../src/engine/model-call/engine.ts'
import { runToolCalls, streamToolCalls } from '../../../src/engine/tools/run-tool-calls.ts'
import { collectEvents } from '../../../src/testing/fakes/collect-events.ts'
import { virtualClock } from '../../../src/testing/fakes/virtual-clock.ts'
import { brief, call, deferred, simple, textOf } from './support.ts'

const echo = simple('echo', (args) => args)

describe('results', () => {
  test('a result becomes the tool message of its call', async () => {
    expect(await runToolCalls([call('c0', 'echo', { x: 1 })], [echo])).toEqual({
      messages: [{ role: 'tool', content: '{"x":1}', toolCallId: 'c0' }],
    })
  })

  test('messages are in the order of the calls, not in the order in which they finish', async () => {
    const clock = virtualClock()
    const nap = simple('nap', async ({ ms }) => {
      await clock.sleep(Number(ms))
      return ms
    })
    const calls = [30, 10, 20].map((ms, index) => call(`c${index}`, 'nap', { ms }))

    const { messages } = await runToolCalls(calls, [nap], { clock })

    expect(messages.map(({ toolCallId, content }) => [toolCallId, content])).toEqual([
      ['c0', '30'],
      ['c1', '10'],
      ['c2', '20'],
    ])
  })

  test('without calls there are no messages', async () => {
    expect(await runToolCalls([], [echo])).toEqual({ messages: [] })
  })

  test('calls that share an id are all answered', async () => {
    const calls = [call('same', 'echo', { n: 1 }), call('same', 'echo', { n: 2 })]

    const { messages } = await runToolCalls(calls, [echo])

    expect(messages.map(({ content }) => content)).toEqual(['{"n":1}', '{"n":2}'])
  })
})

describe('options', () => {
  const seen = simple('seen', (_args, { context, requestId, sessionId, toolCall }) => ({
    context,
    requestId: requestId ?? null,
    sessionId: sessionId ?? null,
    id: toolCall.id,
  }))
  const handlerSees = async (options: Parameters<typeof runToolCalls>[2]): Promise<unknown> => {
    const { messages } = await runToolCalls([call('c0', 'seen')], [seen], options)
    return JSON.parse(textOf(messages[0]))
  }

  test('engine: supplies the options that are not given, and reaches the handler', async () => {
    const engine = createEngine({
      context: { tenant: 'a', plan: 'x' },
      toolResultEncoder: () => 'by the engine',
      onToolError: 'halt',
    })
    const mine = simple('mine', (_args, options) => (options.engine === engine ? 1 : fail('no')))
    const calls = [call('c0', 'mine'), call('c1', 'broken')]
    const broken = simple('broken', () => fail('x'))

    const { messages, halt: halted } = await runToolCalls(calls, [mine, broken], { engine })

    expect(messages[0]?.content).toBe('by the engine')
    expect(halted?.reason).toBe('tool_error')
    expect(
      await handlerSees({ engine, context: { plan: 'y' }, toolResultEncoder: JSON.stringify }),
    ).toMatchObject({ context: { tenant: 'a', plan: 'y' } })
  })

  test('toolExecutor: replaces the handler; so does that of the engine', async () => {
    const engine = createEngine({ toolExecutor: () => 'the engine’s' })
    const calls = [call('c0', 'echo', { x: 1 })]

    const byEngine = await runToolCalls(calls, [echo], { engine })
    const byOption = await runToolCalls(calls, [echo], {
      engine,
      toolExecutor: ({ name }, args) => `${name} ${JSON.stringify(args)}`,
    })

    expect(byEngine.messages[0]?.content).toBe('the engine’s')
    expect(byOption.messages[0]?.content).toBe('echo {"x":1}')
  })

  test('toolResultEncoder: encodes the content for the model', async () => {
    const { messages } = await runToolCalls([call('c0', 'echo', { x: 1 })], [echo], {
      toolResultEncoder: (value) => `<${JSON.stringify(value)}>`,
    })

    expect(messages[0]?.content).toBe('<{"x":1}>')
  })

  test('context: is empty by default', async () => {
    expect(await handlerSees({})).toEqual({
      context: {},
      requestId: null,
      sessionId: null,
      id: 'c0',
    })
  })

  test('sessionId and requestId: reach the handler', async () => {
    expect(await handlerSees({ sessionId: 's1', requestId: 'r1' })).toMatchObject({
      sessionId: 's1',
      requestId: 'r1',
    })
  })

  test('maxConcurrency: limits how many handlers run at once', async () => {
    const clock = virtualClock()
    let running = 0
    let most = 0
    const busy = simple('busy', async () => {
      most = Math.max(most, ++running)
      await clock.sleep(10)
      running--
    })
    const calls = Array.from({ length: 7 }, (_, index) => call(`c${index}`, 'busy'))

    await runToolCalls(calls, [busy], { clock, maxConcurrency: 3 })

    expect(most).toBe(3)
    expect(clock.now()).toBe(30)
  })

  test('toolTimeoutMs: is 30 seconds by default', async () => {
    const clock = virtualClock()
    const stuck = simple('stuck', () => new Promise(() => undefined))

    await runToolCalls([call('c0', 'stuck')], [stuck], { clock })

    expect(clock.now()).toBe(30_000)
  })

  test('onToolError: is continue by default', async () => {
    const broken = simple('broken', () => fail('no seats left'))

    expect(await runToolCalls([call('c0', 'broken')], [broken])).toEqual({
      messages: [
        {
          role: 'tool',
          content: '{"error":"no seats left"}',
          toolCallId: 'c0',
          metadata: { isError: true },
        },
      ],
    })
  })

  test.each([
    [{ maxConcurency: 2 }, 'unknown key maxConcurency; did you mean maxConcurrency?'],
    [{ tool_timeout: 2 }, 'unknown key tool_timeout; did you mean toolTimeoutMs?'],
    [{ maxConcurrency: 0 }, 'maxConcurrency must be a positive integer'],
    [{ toolTimeoutMs: -1 }, 'toolTimeoutMs must be a positive number'],
    [{ onToolError: 'ignore' }, 'onToolError must be "continue", "halt" or a function'],
    [{ engine: {} }, 'engine must be an engine'],
    [{ clock: {} }, 'clock must be a clock'],
  ])('%j is refused before anything runs', async (options, problem) => {
    let runs = 0
    const counted = simple('counted', () => ++runs)
    const refused = runToolCalls([call('c0', 'counted')], [counted], options as object)

    await expect(refused).rejects.toMatchObject({
      kind: 'validation',
      reason: 'invalid_options',
      message: expect.stringContaining(problem),
    })
    expect(runs).toBe(0)
  })
})

test('a cancelled batch rejects; an abort reason that is an AllmError is thrown unchanged', async () => {
  const stuck = simple('stuck', () => new Promise(() => undefined))
  const run = (reason: unknown): Promise<unknown> => {
    const controller = new AbortController()
    const result = runToolCalls([call('c0', 'stuck')], [stuck], { signal: controller.signal })
    controller.abort(reason)
    return result
  }
  const own = new ToolError('timeout', 'too late')

  await expect(run(undefined)).rejects.toMatchObject({ kind: 'stream', reason: 'cancelled' })
  await expect(run(own)).rejects.toBe(own)
})

test('a call emits its start, its outcome, and the content for the model', async () => {
  const clock = virtualClock()
  const nap = simple('nap', async () => {
    await clock.sleep(5)
    return { slept: true }
  })

  expect(await collectEvents(streamToolCalls([call('c0', 'nap')], [nap], { clock }))).toEqual([
    {
      type: 'tool_execution_started',
      id: 'c0',
      name: 'nap',
      arguments: {},
      at: 0,
      timeoutMs: 30_000,
    },
    {
      type: 'tool_execution_completed',
      id: 'c0',
      name: 'nap',
      result: { ok: { slept: true } },
      durationMs: 5,
      at: 5,
    },
    { type: 'tool_result_encoded', id: 'c0', content: '{"slept":true}' },
  ])
})

test.each([
  ['a question', () => askUser('which?'), 'ask_user_requested'],
  ['a halt', () => halt('enough', 1), 'tool_halt'],
  ['a failure', () => fail('no'), 'tool_result_encoded'],
  ['a value', () => 1, 'tool_result_encoded'],
])('%s ends a call with exactly one event', async (_what, handler, type) => {
  const events = await collectEvents(streamToolCalls([call('c0', 'x')], [simple('x', handler)]))

  expect(events.map((event) => event.type)).toEqual([
    'tool_execution_started',
    'tool_execution_completed',
    type,
  ])
})

test('the event of a halt has its reason, its result and the content for the model', async () => {
  const stop = simple('stop', () => halt('enough', { n: 1 }))

  expect((await collectEvents(streamToolCalls([call('c0', 'stop')], [stop]))).at(-1)).toEqual({
    type: 'tool_halt',
    toolCallId: 'c0',
    reason: 'enough',
    result: { n: 1 },
    content: '{"n":1}',
  })
})

test('the event that answers a call has the halt that its error caused', async () => {
  const broken = simple('broken', () => fail('no'))
  const stream = streamToolCalls([call('c0', 'broken')], [broken], { onToolError: 'halt' })

  expect((await collectEvents(stream)).at(-1)).toMatchObject({
    type: 'tool_result_encoded',
    content: '{"error":"no"}',
    halt: { reason: 'tool_error', toolCallId: 'c0', error: { reason: 'handler_failed' } },
  })
})

test('events come in the order in which the calls finish', async () => {
  const clock = virtualClock()
  const nap = simple('nap', ({ ms }) => clock.sleep(Number(ms)))
  const calls = [call('slow', 'nap', { ms: 20 }), call('quick', 'nap', { ms: 10 })]

  expect(brief(await collectEvents(streamToolCalls(calls, [nap], { clock })))).toEqual([
    'tool_execution_started slow',
    'tool_execution_started quick',
    'tool_execution_completed quick',
    'tool_result_encoded quick',
    'tool_execution_completed slow',
    'tool_result_encoded slow',
  ])
})

test('a call that waits for a free slot has not started', async () => {
  const gate = deferred<string>()
  const started: string[] = []
  const slow = simple('slow', (_args, { toolCall }) => {
    started.push(toolCall.id)
    return gate.promise
  })
  const stream = streamToolCalls([call('c0', 'slow'), call('c1', 'slow')], [slow], {
    maxConcurrency: 1,
  })
  const events = stream[Symbol.asyncIterator]()

  expect((await events.next()).value).toMatchObject({ type: 'tool_execution_started', id: 'c0' })
  expect(started).toEqual([])
  const second = events.next()
  expect(started).toEqual(['c0'])
  gate.resolve('go')
  expect((await second).value).toMatchObject({ type: 'tool_execution_completed', id: 'c0' })
  await events.next()
  expect(started).toEqual(['c0'])
  expect((await events.next()).value).toMatchObject({ type: 'tool_execution_started', id: 'c1' })
  expect(started).toEqual(['c0'])
  const last = events.next()
  expect(started).toEqual(['c0', 'c1'])
  await events.return?.()
  await last
})

test('all starts that fit are handed out before any handler runs, and then the handlers start side by side', async () => {
  const ran: string[] = []
  const quick = simple('quick', (_args, { toolCall }) => ran.push(toolCall.id))
  const calls = ['c0', 'c1', 'c2'].map((id) => call(id, 'quick'))
  const ranBefore: string[] = []

  const stream = streamToolCalls(calls, [quick], { maxConcurrency: 2 })
  for await (const event of stream) ranBefore.push(`${brief([event])[0]}: ${ran.join(' ')}`)

  expect(ranBefore).toEqual([
    'tool_execution_started c0: ',
    'tool_execution_started c1: ',
    'tool_execution_completed c0: c0 c1',
    'tool_result_encoded c0: c0 c1',
    'tool_execution_completed c1: c0 c1',
    'tool_result_encoded c1: c0 c1',
    'tool_execution_started c2: c0 c1',
    'tool_execution_completed c2: c0 c1 c2',
    'tool_result_encoded c2: c0 c1 c2',
  ])
})

test('a batch ends with the starts, and the next one starts their handlers', async () => {
  const gates = [deferred<string>(), deferred<string>()]
  const slow = simple('slow', ({ at }) => gates[Number(at)]?.promise ?? 'at once')
  const calls = [0, 1, 2].map((at) => call(`c${at}`, 'slow', { at }))
  const batches: (readonly string[])[] = []

  for await (const batch of streamToolCalls(calls, [slow], { maxConcurrency: 2 }).batches()) {
    batches.push(brief(batch))
    gates[batches.length - 1]?.resolve('done')
  }

  expect(batches).toEqual([
    ['tool_execution_started c0', 'tool_execution_started c1'],
    ['tool_execution_completed c0', 'tool_result_encoded c0', 'tool_execution_started c2'],
    ['tool_execution_completed c2', 'tool_result_encoded c2'],
    ['tool_execution_completed c1', 'tool_result_encoded c1'],
  ])
})

test('a stream that is left at its starts runs nothing', async () => {
  let runs = 0
  const counted = simple('counted', () => ++runs)
  const stream = streamToolCalls([call('c0', 'counted')], [counted])

  for await (const event of stream) {
    expect(event.type).toBe('tool_execution_started')
    break
  }

  expect(runs).toBe(0)
})

test('nothing runs before the stream is read', async () => {
  let runs = 0
  const counted = simple('counted', () => ++runs)
  const stream = streamToolCalls([call('c0', 'counted')], [counted])
  await Promise.resolve()
  expect(runs).toBe(0)

  await collectEvents(stream)
  expect(runs).toBe(1)
})

test('a call of an unknown tool emits one error event, and nothing runs', async () => {
  let runs = 0
  const counted = simple('counted', () => ++runs)
  const calls = [call('c0', 'counted'), call('c1', 'nowhere')]

  const events = await collectEvents(streamToolCalls(calls, [counted]))

  expect(events).toMatchObject([
    {
      type: 'error',
      error: { kind: 'engine', reason: 'unknown_tool', metadata: { toolName: 'nowhere' } },
    },
  ])
  expect(runs).toBe(0)
})

test('without calls there are no events', async () => {
  expect(await collectEvents(streamToolCalls([], [echo]))).toEqual([])
})

test('invalid options and tools throw at once', () => {
  const bad = (_call: unknown, _error: unknown, _third: unknown): string => 'halt'

  expect(() => streamToolCalls([], [], { onToolError: bad as never })).toThrow(/onToolError/)
  expect(() => streamToolCalls([], [], { nope: 1 } as object)).toThrow(/unknown key nope/)
  expect(() => streamToolCalls([], [echo, echo])).toThrow(/tools\[1\]\.name is used twice/)
  expect(() => streamToolCalls([], [{ name: 'a b' } as never])).toThrow(/tools\[0\]/)
})

test('a stream has one consumer', async () => {
  const stream = streamToolCalls([call('c0', 'echo')], [echo])
  await collectEvents(stream)

  await expect(collectEvents(stream)).rejects.toMatchObject({ reason: 'already_read' })
})

test('events are plain data, whatever a handler returns', async () => {
  const odd = simple('odd', () => ({
    at: new Date(0),
    none: undefined,
    zero: -0,
    list: [undefined],
  }))
  const raw = simple('raw', () => new Map([['a', 1]]))
  const broken = simple('broken', () => {
    throw Object.assign(new Error('x'), { code: 'E', cause: new Map() })
  })
  const calls = [call('c0', 'odd'), call('c1', 'raw'), call('c2', 'broken')]

  const events = await collectEvents(streamToolCalls(calls, [odd, raw, broken]))

  expect(JSON.parse(JSON.stringify(events))).toEqual(events)
  expect(events[3]).toMatchObject({ result: { ok: { at: '1970-01-01T00:00:00.000Z', zero: 0 } } })
})

test('a later change to a handler’s result does not change the event', async () => {
  const shared = { n: 1 }
  const events = await collectEvents(
    streamToolCalls([call('c0', 'x')], [simple('x', () => shared)]),
  )
  shared.n = 2

  expect(events[1]).toMatchObject({ result: { ok: { n: 1 } } })
})

test('calls that settle in the same turn are emitted in one batch', async () => {
  const gate = deferred<void>()
  const slow = simple('slow', () => gate.promise)
  const calls = Array.from({ length: 8 }, (_, index) => call(`c${index}`, 'slow'))
  const sizes: number[] = []

  for await (const batch of streamToolCalls(calls, [slow], { maxConcurrency: 8 }).batches()) {
    sizes.push(batch.length)
    gate.resolve()
  }

  expect(sizes).toEqual([8, 16])
})
