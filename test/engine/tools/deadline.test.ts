import { afterEach, describe, expect, test } from 'vitest'
import { onTelemetry } from '../../../src/core/base/on-telemetry.ts'
import type { TelemetryEvent } from '../../../src/core/base/telemetry.ts'
import { runToolCalls, streamToolCalls } from '../../../src/engine/tools/run-tool-calls.ts'
import { messageText, tool, user, type HandlerOptions, type Tool } from '../../../src/index.ts'
import { virtualClock, type VirtualClock } from '../../../src/testing/fakes/virtual-clock.ts'
import { call, deferred, sentence, simple } from './support.ts'

const reported: TelemetryEvent[] = []
let stopListening = (): void => undefined

function listen(): void {
  stopListening = onTelemetry((event) => reported.push(event), { content: true })
}

afterEach(() => {
  stopListening()
  reported.length = 0
})

/** What the model reads about a call that timed out. */
const timedOut = (what: string): string =>
  `${what}; it may still take effect, so do not repeat the call without checking`

test('at the deadline a call is answered even if its handler ignores its signal', async () => {
  const clock = virtualClock()
  const deaf = simple('deaf', () => new Promise(() => undefined))

  const { messages, halt } = await runToolCalls([call('c0', 'deaf')], [deaf], {
    clock,
    toolTimeoutMs: 250,
    onToolError: 'halt',
  })

  expect(clock.now()).toBe(250)
  expect(sentence(messages[0]?.content)).toBe(timedOut('tool deaf did not finish within 250 ms'))
  expect(halt?.error).toMatchObject({ kind: 'tool', reason: 'timeout', toolCallId: 'c0' })
})

test('a tool that is idempotent may be repeated after a timeout', async () => {
  const clock = virtualClock()
  const deaf = { ...simple('deaf', () => new Promise(() => undefined)), idempotent: true }
  const { messages } = await runToolCalls([call('c0', 'deaf')], [deaf], { clock, toolTimeoutMs: 5 })
  expect(sentence(messages[0]?.content)).toBe('tool deaf did not finish within 5 ms')
})

test('at the deadline only the signal of that handler is aborted', async () => {
  const clock = virtualClock()
  const signals: AbortSignal[] = []
  const nap = simple('nap', async ({ ms }, { signal }) => {
    signals.push(signal)
    await clock.sleep(Number(ms))
    return 'rested'
  })
  const calls = [call('c0', 'nap', { ms: 500 }), call('c1', 'nap', { ms: 50 })]

  const { messages } = await runToolCalls(calls, [nap], { clock, toolTimeoutMs: 100 })

  expect(signals.map(({ aborted }) => aborted)).toEqual([true, false])
  expect(signals[0]?.reason).toMatchObject({ kind: 'tool', reason: 'timeout' })
  expect(messages[1]?.content).toBe('rested')
})

test('a handler that reads its signal only after the deadline gets an aborted signal', async () => {
  const clock = virtualClock()
  const looked = deferred<boolean>()
  const late = simple('late', async (_args, options) => {
    await clock.sleep(200)
    looked.resolve(options.signal.aborted)
  })

  await runToolCalls([call('c0', 'late')], [late], { clock, toolTimeoutMs: 100 })

  expect(await looked.promise).toBe(true)
})

test('timeoutMs of a tool takes precedence over toolTimeoutMs', async () => {
  const clock = virtualClock()
  const deaf = simple('deaf', () => new Promise(() => undefined), { timeoutMs: 70 })
  const deafer = simple('deafer', () => new Promise(() => undefined))

  const { messages } = await runToolCalls(
    [call('c0', 'deafer'), call('c1', 'deaf')],
    [deaf, deafer],
    {
      clock,
      toolTimeoutMs: 90,
    },
  )

  expect(messages.map(({ content }) => sentence(content))).toEqual([
    timedOut('tool deafer did not finish within 90 ms'),
    timedOut('tool deaf did not finish within 70 ms'),
  ])
  expect(clock.now()).toBe(90)
})

test.each([
  ['resolved', (): string => 'a late result'],
  [
    'rejected',
    (): string => {
      throw new Error('a late failure')
    },
  ],
] as const)(
  'a late answer is discarded and reported as tool.unsettled: %s',
  async (outcome, end) => {
    listen()
    const clock = virtualClock()
    const late = simple('late', async () => {
      await clock.sleep(175)
      return end()
    })

    const { messages } = await runToolCalls([call('c0', 'late')], [late], {
      clock,
      toolTimeoutMs: 100,
      requestId: 'r1',
      sessionId: 's1',
    })
    const answered = [...messages]
    await clock.runAll()

    expect(messages).toEqual(answered)
    const [start] = reported
    expect(reported.filter(({ name }) => name === 'tool.unsettled')).toEqual([
      {
        spanId: start?.spanId,
        name: 'tool.unsettled',
        at: 175,
        lateByMs: 75,
        outcome,
        requestId: 'r1',
        sessionId: 's1',
        toolName: 'late',
        toolCallId: 'c0',
        toolDescription: 'Does late.',
        ...(outcome === 'resolved' ? { content: 'a late result' } : {}),
      },
    ])
  },
)

test('a handler that was cancelled with its run is not reported as unsettled', async () => {
  listen()
  const clock = virtualClock()
  const controller = new AbortController()
  const deaf = simple('deaf', () => clock.sleep(500))
  const result = runToolCalls([call('c0', 'deaf')], [deaf], {
    clock,
    toolTimeoutMs: 100,
    signal: controller.signal,
  })
  await clock.advance(10)
  controller.abort()

  await expect(result).rejects.toMatchObject({ reason: 'cancelled' })
  await clock.runAll()
  expect(reported).toMatchObject([
    { name: 'tool', phase: 'start' },
    { name: 'tool', phase: 'stop', haltedReason: 'cancelled' },
  ])
})

test('no timer is started for a handler that returns at once', async () => {
  const clock = virtualClock()
  let timers = 0
  const counting = {
    ...clock,
    timer: (ms: number, onTime: () => void) => {
      timers++
      return clock.timer(ms, onTime)
    },
  }

  await runToolCalls([call('c0', 'quick'), call('c1', 'quick')], [simple('quick', () => 1)], {
    clock: counting,
  })

  expect(timers).toBe(0)
})

test('many calls share one timer, which is cleared when they are done', async () => {
  const clock = virtualClock({ auto: false })
  const gate = deferred<void>()
  const slow = simple('slow', () => gate.promise)
  const calls = Array.from({ length: 6 }, (_, index) => call(`c${index}`, 'slow'))

  const result = runToolCalls(calls, [slow], { clock, maxConcurrency: 6 })
  await clock.advance(10)
  expect(clock.pending).toBe(1)
  gate.resolve()
  await result

  expect(clock.pending).toBe(0)
})

test('deadlines also work with a clock that has only sleep', async () => {
  const clock = virtualClock()
  const deaf = simple('deaf', () => new Promise(() => undefined))

  const { messages } = await runToolCalls([call('c0', 'deaf')], [deaf], {
    clock: { now: () => clock.now(), sleep: (ms, signal) => clock.sleep(ms, signal) },
    toolTimeoutMs: 60,
  })

  expect(sentence(messages[0]?.content)).toBe(timedOut('tool deaf did not finish within 60 ms'))
})

test('every call has a span, with its ids and its duration', async () => {
  listen()
  const clock = virtualClock()
  const nap = simple('nap', async () => {
    await clock.sleep(5)
    return { ok: 1 }
  })
  const broken = simple('broken', () => {
    throw new Error('x')
  })

  await runToolCalls([call('c0', 'nap'), call('c1', 'broken')], [nap, broken], {
    clock,
    requestId: 'r1',
  })

  const facts = { name: 'tool', requestId: 'r1' }
  expect(reported).toMatchObject([
    { ...facts, phase: 'start', toolName: 'nap', toolCallId: 'c0' },
    { ...facts, phase: 'start', toolName: 'broken', toolCallId: 'c1' },
    { ...facts, phase: 'error', durationMs: 0, error: { reason: 'handler_raised' } },
    { ...facts, phase: 'stop', durationMs: 5, toolCallId: 'c0', content: { ok: 1 } },
  ])
  expect(reported[0]).not.toHaveProperty('sessionId')
})

test('a listener that throws for a late result causes no unhandled rejection', async () => {
  const unhandled: unknown[] = []
  const note = (error: unknown): number => unhandled.push(error)
  process.on('unhandledRejection', note)
  const clock = virtualClock()
  stopListening = onTelemetry((event) => {
    if (event.name === 'tool.unsettled') throw new Error('a broken listener')
  })
  const late = simple('late', () => clock.sleep(200))

  await runToolCalls([call('c0', 'late')], [late], { clock, toolTimeoutMs: 100 })
  await clock.sleep(200)
  await new Promise((resolve) => setImmediate(resolve))

  process.off('unhandledRejection', note)
  expect(unhandled).toEqual([])
})

test.each([
  ['at once', (): string => 'LATE'],
  ['by a promise', async (): Promise<string> => Promise.resolve('LATE')],
])(
  'a value of a handler that blocked the process past its deadline does not count: %s',
  async (_how, end) => {
    listen()
    let now = 0
    const clock = { now: () => now, sleep: () => new Promise<void>(() => undefined) }
    const busy = simple('busy', () => {
      now += 60
      return end()
    })

    const { messages } = await runToolCalls([call('c0', 'busy')], [busy], {
      clock,
      toolTimeoutMs: 10,
    })

    expect(sentence(messages[0]?.content)).toBe(timedOut('tool busy did not finish within 10 ms'))
    expect(reported.find(({ name }) => name === 'tool.unsettled')).toMatchObject({
      lateByMs: 50,
      outcome: 'resolved',
      content: 'LATE',
    })
  },
)

test('a value that comes exactly at the deadline counts', async () => {
  const clock = virtualClock()
  const nap = simple('nap', async () => {
    await clock.sleep(100)
    return 'in time'
  })

  const { messages } = await runToolCalls([call('c0', 'nap')], [nap], { clock, toolTimeoutMs: 100 })

  expect(messages[0]?.content).toBe('in time')
})

test('the deadline runs from the start of the handler, however long the consumer holds its start event', async () => {
  const clock = virtualClock({ auto: false })
  const nap = simple('nap', async () => {
    await clock.sleep(50)
    return 'rested'
  })
  const results: unknown[] = []
  const read = async (): Promise<void> => {
    for await (const event of streamToolCalls([call('c0', 'nap')], [nap], {
      clock,
      toolTimeoutMs: 100,
    })) {
      if (event.type === 'tool_execution_started') await clock.sleep(5000)
      if (event.type === 'tool_execution_completed') results.push(event.result, event.durationMs)
    }
  }
  const reading = read()
  await clock.advance(6000)
  await reading

  expect(results).toEqual([{ ok: 'rested' }, 50])
})

describe('the deadline of a handler that waits for its consumer', () => {
  const reporting = (work: (progress: HandlerOptions['progress']) => Promise<unknown>): Tool =>
    tool({
      name: 'report',
      description: 'reports',
      schema: { type: 'object' },
      timeoutMs: 100,
      handler: (_args, { progress }) => work(progress),
    })
  const read = async (clock: VirtualClock, own: Tool): Promise<string> => {
    const stream = streamToolCalls([{ id: 'c1', name: 'report', arguments: {} }], [own], { clock })
    for await (const event of stream) if (event.type === 'tool_progress') await clock.advance(150)
    return messageText((await stream.result).messages[0] ?? user(''))
  }

  test('rests as long as the consumer has the event', async () => {
    const clock = virtualClock({ auto: false })
    const own = reporting(async (progress) => {
      await Promise.all([progress(1), progress(2)])
      await progress(3)
      return 'fine'
    })
    expect(await read(clock, own)).toBe('fine')
    expect(clock.now()).toBe(450)
    expect(clock.pending).toBe(0)
  })

  test('goes on with what was left of it', async () => {
    const clock = virtualClock({ auto: false })
    const own = reporting(async (progress) => {
      await progress(1)
      await Promise.all([clock.advance(101), clock.sleep(1000)])
      return 'late'
    })
    expect(await read(clock, own)).toMatch(/did not finish within 100 ms/)
    expect(clock.now()).toBeGreaterThanOrEqual(250)
  })
})
