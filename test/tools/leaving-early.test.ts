import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { ToolHandler } from '../../src/contracts/tool.ts'
import { collectEvents } from '../../src/testing/collect-events.ts'
import { virtualClock } from '../../src/testing/virtual-clock.ts'
import { streamToolCalls } from '../../src/tools/run-tools.ts'
import type { StreamEvent } from '../../src/types/events.ts'
import { brief, call, simple } from './support.ts'

/** Waits for its signal, and keeps what it was stopped with. */
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

  for await (const event of streamToolCalls(calls, [simple('wait', patient(stops))])) {
    if ('id' in event && event.id === 'c1') break
  }

  expect(stops).toMatchObject([
    { kind: 'stream', reason: 'cancelled' },
    { kind: 'stream', reason: 'cancelled' },
  ])
})

test('leaving does not wait for a handler that ignores its signal, and stops its timer', async () => {
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

test('the signal ends the stream in one error, and keeps what had finished', async () => {
  const stops: unknown[] = []
  const controller = new AbortController()
  const tools = [simple('wait', patient(stops)), simple('quick', () => 'done')]
  const calls = [call('c0', 'quick'), call('c1', 'wait'), call('c2', 'wait')]
  const events: StreamEvent[] = []
  const reason = new Error('the user left')

  for await (const event of streamToolCalls(calls, tools, { signal: controller.signal })) {
    events.push(event)
    if (event.type === 'tool_execution_started' && event.id === 'c2') controller.abort(reason)
  }

  expect(brief(events)).toEqual([
    'tool_execution_started c0',
    'tool_execution_completed c0',
    'tool_result_encoded c0',
    'tool_execution_started c1',
    'tool_execution_started c2',
    'error',
  ])
  expect(events.at(-1)).toMatchObject({ error: { kind: 'stream', reason: 'cancelled' } })
  expect(stops).toEqual([reason, reason])
})

test('a signal that is aborted before the start throws, and nothing runs', async () => {
  let runs = 0
  const counted = simple('counted', () => ++runs)
  const stream = streamToolCalls([call('c0', 'counted')], [counted], {
    signal: AbortSignal.abort(),
  })

  await expect(collectEvents(stream)).rejects.toMatchObject({ reason: 'cancelled' })
  expect(runs).toBe(0)
})

test('a handler that aborts the run itself is the last to run', async () => {
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

test('a signal that outlives many batches keeps no listener', async () => {
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

test('wherever a reader stops, every handler that ever ran has been announced to him', async () => {
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
        expect(ran).toEqual(announced)
        await clock.runAll()
        expect(ran).toEqual(announced)
      },
    ),
    { numRuns: 60 },
  )
})
