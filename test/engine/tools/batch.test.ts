import fc from 'fast-check'
import { expect, test } from 'vitest'
import { systemClock } from '../../../src/core/base/clock.ts'
import { randomId } from '../../../src/core/base/ids.ts'
import type { ToolHandler } from '../../../src/core/contracts/tool.ts'
import type { StreamEvent } from '../../../src/core/types/events.ts'
import { toolBatches } from '../../../src/engine/tools/batch.ts'
import { toolTable } from '../../../src/engine/tools/compact-tools.ts'
import {
  foldToolEvents,
  runToolCalls,
  streamToolCalls,
} from '../../../src/engine/tools/run-tool-calls.ts'
import type { ToolRun } from '../../../src/engine/tools/tool-run.ts'
import { collectEvents } from '../../../src/testing/fakes/collect-events.ts'
import { virtualClock } from '../../../src/testing/fakes/virtual-clock.ts'
import { brief, call, deferred, sentence, simple } from './support.ts'

const echo = simple('echo', (args) => args)

function settled(more: Partial<ToolRun> = {}): ToolRun {
  return {
    tools: toolTable([echo]),
    context: () => ({}),
    onToolError: 'continue',
    timeoutMs: 1000,
    clock: systemClock,
    newId: randomId,
    trace: { parent: undefined },
    ...more,
  }
}

async function drain(source: ReturnType<typeof toolBatches>): Promise<readonly StreamEvent[]> {
  const events: StreamEvent[] = []
  for (let step = await source.next(); step.done !== true; step = await source.next()) {
    events.push(...step.value)
  }
  return events
}

test('a call of a tool that does not exist is answered according to the policy, and the others run', async () => {
  const calls = [call('c0', 'eco'), call('c1', 'echo', { x: 1 }), call('c2', 'weather')]

  const { messages, halt } = foldToolEvents(calls, await drain(toolBatches(calls, settled())))
  const halting = settled({ onToolError: 'halt' })
  const halted = foldToolEvents(calls, await drain(toolBatches(calls, halting)))

  expect(sentence(messages[0]?.content)).toBe('there is no tool eco; did you mean echo?')
  expect(messages[1]?.content).toBe('{"x":1}')
  expect(sentence(messages[2]?.content)).toBe('there is no tool weather')
  expect(halt).toBeUndefined()
  expect(halted.halt).toMatchObject({
    reason: 'tool_error',
    toolCallId: 'c0',
    error: { reason: 'not_found', toolName: 'eco' },
  })
})

test('concurrent next() calls are queued', async () => {
  const gate = deferred<string>()
  const slow = simple('slow', () => gate.promise)
  const run = settled({ tools: toolTable([slow]), maxConcurrency: 1 })
  const source = toolBatches([call('c0', 'slow'), call('c1', 'slow')], run)

  const steps = [source.next(), source.next(), source.next(), source.next(), source.next()]
  gate.resolve('x')

  const sizes = (await Promise.all(steps)).map((step) => step.value?.length)
  expect(sizes).toEqual([1, 3, 2, undefined, undefined])
})

test('a batch that has ended stays ended', async () => {
  const source = toolBatches([call('c0', 'echo')], settled())
  await drain(source)

  expect(await source.next()).toEqual({ done: true, value: undefined })
  expect(await source.return()).toEqual({ done: true, value: undefined })
  expect(source.wasCut()).toBe(false)
})

test('wasCut() is true for a batch that was left before every call was answered', async () => {
  const source = toolBatches([call('c0', 'echo'), call('c1', 'echo')], settled())
  await source.next()
  await source.return()

  expect(await source.next()).toEqual({ done: true, value: undefined })
  expect(source.wasCut()).toBe(true)
})

test('a copy of the handler options includes the signal', async () => {
  const passed: unknown[] = []
  const inner = (options: { signal: AbortSignal }): number => passed.push(options.signal)
  const outer = simple('outer', (_args, options) => {
    inner({ ...options })
    return passed.push(options.signal)
  })

  await drain(toolBatches([call('c0', 'outer')], settled({ tools: toolTable([outer]) })))

  expect(passed[0]).toBeInstanceOf(AbortSignal)
  expect(passed[0]).toBe(passed[1])
})

test('each handler has a signal of its own', async () => {
  const signals = new Set<AbortSignal>()
  const look = simple('look', (_args, { signal }) => signals.add(signal).size)

  await drain(
    toolBatches([call('c0', 'look'), call('c1', 'look')], settled({ tools: toolTable([look]) })),
  )

  expect(signals.size).toBe(2)
})

test('by default 8 handlers run at once', async () => {
  const clock = virtualClock()
  const nap = simple('nap', () => clock.sleep(10))
  const calls = Array.from({ length: 24 }, (_, index) => call(`c${index}`, 'nap'))

  await runToolCalls(calls, [nap], { clock })

  expect(clock.now()).toBe(30)
})

/** Waits for its signal and records the abort reason. */
function patient(stops: unknown[]): ToolHandler {
  return (_args, { signal }) =>
    new Promise((resolve) => {
      signal.addEventListener('abort', () => {
        stops.push(signal.reason)
        resolve('too late')
      })
    })
}

test('leaving the stream aborts the signals of the handlers that still run', async () => {
  const stops: unknown[] = []
  const calls = [call('c0', 'wait'), call('c1', 'wait'), call('c2', 'wait')]

  const tools = [simple('wait', patient(stops)), simple('quick', () => 'done')]
  for await (const event of streamToolCalls([...calls, call('c3', 'quick')], tools)) {
    if (event.type === 'tool_result_encoded') break
  }

  const left = { kind: 'stream', reason: 'cancelled' }
  expect(stops).toMatchObject([left, left, left])
})

test('return() does not wait for a handler that ignores its signal, and clears its timer', async () => {
  const clock = virtualClock({ auto: false })
  const deaf = simple('deaf', () => new Promise(() => undefined))
  const stream = streamToolCalls([call('c0', 'deaf')], [deaf], { clock })
  const events = stream[Symbol.asyncIterator]()
  await events.next()
  const waiting = events.next()
  expect(clock.pending).toBe(1)

  await stream.return()

  expect(await waiting).toEqual({ done: true, value: undefined })
  expect(clock.pending).toBe(0)
})

test('the signal ends the stream with one error, and finished results are kept', async () => {
  const stops: unknown[] = []
  const controller = new AbortController()
  const tools = [simple('wait', patient(stops)), simple('quick', () => 'done')]
  const calls = [call('c0', 'quick'), call('c1', 'wait'), call('c2', 'wait')]
  const events: StreamEvent[] = []
  const reason = new Error('the user left')

  for await (const event of streamToolCalls(calls, tools, { signal: controller.signal })) {
    events.push(event)
    if (event.type === 'tool_result_encoded') controller.abort(reason)
  }

  expect(brief(events)).toEqual([
    'tool_execution_started c0',
    'tool_execution_started c1',
    'tool_execution_started c2',
    'tool_execution_completed c0',
    'tool_result_encoded c0',
    'error',
  ])
  expect(events.at(-1)).toMatchObject({ error: { kind: 'stream', reason: 'cancelled' } })
  expect(stops).toEqual([reason, reason])
})

test('a signal that is already aborted throws, and nothing runs', async () => {
  let runs = 0
  const counted = simple('counted', () => ++runs)
  const stream = streamToolCalls([call('c0', 'counted')], [counted], {
    signal: AbortSignal.abort(),
  })

  await expect(collectEvents(stream)).rejects.toMatchObject({ reason: 'cancelled' })
  expect(runs).toBe(0)
})

test('no handler starts after one that aborts the run', async () => {
  const controller = new AbortController()
  const ran: string[] = []
  const pull = simple('pull', (_args, { toolCall }) => {
    ran.push(toolCall.id)
    if (toolCall.id === 'c1') controller.abort()
  })
  const calls = ['c0', 'c1', 'c2'].map((id) => call(id, 'pull'))

  const events = await collectEvents(streamToolCalls(calls, [pull], { signal: controller.signal }))

  expect(ran).toEqual(['c0', 'c1'])
  expect(brief(events).slice(-2)).toEqual(['tool_result_encoded c1', 'error'])
})

test('listeners on a signal that outlives many batches are removed', async () => {
  const controller = new AbortController()
  let listeners = 0
  const { signal } = controller
  const add = signal.addEventListener.bind(signal)
  const remove = signal.removeEventListener.bind(signal)
  signal.addEventListener = (...args: Parameters<typeof add>) => {
    listeners++
    add(...args)
  }
  signal.removeEventListener = (...args: Parameters<typeof remove>) => {
    listeners--
    remove(...args)
  }
  const slow = simple('slow', async () => 1)

  for (let round = 0; round < 3; round++) {
    await collectEvents(
      streamToolCalls([call('c0', 'slow'), call('c1', 'slow')], [slow], { signal }),
    )
  }

  expect(listeners).toBe(0)
})

test('wherever the consumer stops, it has read a start event for every handler that ran', async () => {
  const kinds = fc.constantFrom('sync', 'async', 'stuck')
  await fc.assert(
    fc.asyncProperty(
      fc.array(kinds, { minLength: 1, maxLength: 6 }),
      fc.integer({ min: 1, max: 4 }),
      fc.integer({ min: 1, max: 18 }),
      async (names, maxConcurrency, cut) => {
        const clock = virtualClock()
        const ran: string[] = []
        const run = (answer: () => unknown): ToolHandler => {
          return (_args, { toolCall }) => {
            ran.push(toolCall.id)
            return answer()
          }
        }
        const tools = [
          simple(
            'sync',
            run(() => 1),
          ),
          simple(
            'async',
            run(() => clock.sleep(5)),
          ),
          simple(
            'stuck',
            run(() => new Promise(() => undefined)),
          ),
        ]
        const calls = names.map((name, index) => call(`c${index}`, name))
        const announced: string[] = []
        let seen = 0
        for await (const event of streamToolCalls(calls, tools, { clock, maxConcurrency })) {
          if (event.type === 'tool_execution_started') announced.push(event.id)
          if (++seen === cut) break
        }
        expect(announced).toEqual(expect.arrayContaining(ran))
        await clock.runAll()
        expect(announced).toEqual(expect.arrayContaining(ran))
      },
    ),
    { numRuns: 60 },
  )
})
