import { expect, test } from 'vitest'
import { askUser, fail, halt } from '../../src/make/tools.ts'
import { collectEvents } from '../../src/testing/collect-events.ts'
import { virtualClock } from '../../src/testing/virtual-clock.ts'
import { streamToolCalls } from '../../src/tools/run-tools.ts'
import { brief, call, deferred, simple } from './support.ts'

const echo = simple('echo', (args) => args)

test('a call says that it started, how it came out, and what the model reads', async () => {
  const clock = virtualClock()
  const nap = simple('nap', async () => {
    await clock.sleep(5)
    return { slept: true }
  })

  expect(await collectEvents(streamToolCalls([call('c0', 'nap')], [nap], { clock }))).toEqual([
    { type: 'tool_execution_started', id: 'c0', name: 'nap', arguments: {} },
    {
      type: 'tool_execution_completed',
      id: 'c0',
      name: 'nap',
      result: { ok: { slept: true } },
      durationMs: 5,
    },
    { type: 'tool_result_encoded', id: 'c0', content: '{"slept":true}' },
  ])
})

test.each([
  ['a question', () => askUser('which?'), 'ask_user_requested'],
  ['a halt', () => halt('enough', 1), 'tool_halt'],
  ['a failure', () => fail('no'), 'tool_result_encoded'],
  ['a value', () => 1, 'tool_result_encoded'],
])('%s ends a call by exactly one event', async (_what, handler, type) => {
  const events = await collectEvents(streamToolCalls([call('c0', 'x')], [simple('x', handler)]))

  expect(events.map((event) => event.type)).toEqual([
    'tool_execution_started',
    'tool_execution_completed',
    type,
  ])
})

test('a halt carries its reason, its result and what the model reads', async () => {
  const stop = simple('stop', () => halt('enough', { n: 1 }))

  expect((await collectEvents(streamToolCalls([call('c0', 'stop')], [stop]))).at(-1)).toEqual({
    type: 'tool_halt',
    toolCallId: 'c0',
    reason: 'enough',
    result: { n: 1 },
    content: '{"n":1}',
  })
})

test('an error that halts says so in the event that answers the call', async () => {
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
  const second = events.next()
  expect(started).toEqual(['c0'])
  gate.resolve('go')
  expect((await second).value).toMatchObject({ type: 'tool_execution_completed', id: 'c0' })
  await events.next()
  expect(started).toEqual(['c0'])
  expect((await events.next()).value).toMatchObject({ type: 'tool_execution_started', id: 'c1' })
  expect(started).toEqual(['c0', 'c1'])
  await events.return?.()
})

test('a handler runs when its start is seen', async () => {
  let running = false
  const slow = simple('slow', () => {
    running = true
    return new Promise(() => undefined)
  })

  for await (const event of streamToolCalls([call('c0', 'slow')], [slow])) {
    expect(event.type).toBe('tool_execution_started')
    expect(running).toBe(true)
    break
  }
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

test('a call of an unknown tool gives one error event, and nothing runs', async () => {
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

test('no calls give no events', async () => {
  expect(await collectEvents(streamToolCalls([], [echo]))).toEqual([])
})

test('illegal options and tools throw at once', () => {
  const bad = (_call: unknown, _error: unknown, _third: unknown): string => 'halt'

  expect(() => streamToolCalls([], [], { onToolError: bad as never })).toThrow(/onToolError/)
  expect(() => streamToolCalls([], [], { nope: 1 } as object)).toThrow(/unknown key nope/)
  expect(() => streamToolCalls([], [echo, echo])).toThrow(/tools\[1\]\.name is used twice/)
  expect(() => streamToolCalls([], [{ name: 'a b' } as never])).toThrow(/tools\[0\]/)
})

test('a stream has one consumer', async () => {
  const stream = streamToolCalls([call('c0', 'echo')], [echo])
  await collectEvents(stream)

  await expect(collectEvents(stream)).rejects.toThrow(/one|consumer/)
})

test('events are plain data, whatever a handler gives', async () => {
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
  expect(events[1]).toMatchObject({ result: { ok: { at: '1970-01-01T00:00:00.000Z', zero: 0 } } })
})

test('what a handler changes later does not change the event', async () => {
  const shared = { n: 1 }
  const events = await collectEvents(
    streamToolCalls([call('c0', 'x')], [simple('x', () => shared)]),
  )
  shared.n = 2

  expect(events[1]).toMatchObject({ result: { ok: { n: 1 } } })
})

test('everything that settles in one turn comes in one batch', async () => {
  const gate = deferred<void>()
  const slow = simple('slow', () => gate.promise)
  const calls = Array.from({ length: 8 }, (_, index) => call(`c${index}`, 'slow'))
  const sizes: number[] = []

  for await (const batch of streamToolCalls(calls, [slow], { maxConcurrency: 8 }).batches()) {
    sizes.push(batch.length)
    if (sizes.length === 8) gate.resolve()
  }

  expect(sizes).toEqual([1, 1, 1, 1, 1, 1, 1, 1, 16])
})
