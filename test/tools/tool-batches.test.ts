import { expect, test } from 'vitest'
import { systemClock } from '../../src/core/clock.ts'
import { toolBatches } from '../../src/tools/batch.ts'
import type { ToolRun } from '../../src/tools/execute.ts'
import { toolTable } from '../../src/tools/compact-tools.ts'
import { foldToolEvents } from '../../src/tools/run-tools.ts'
import type { StreamEvent } from '../../src/types/events.ts'
import { call, deferred, sentence, simple } from './support.ts'

const echo = simple('echo', (args) => args)

function settled(more: Partial<ToolRun> = {}): ToolRun {
  return {
    tools: toolTable([echo]),
    context: {},
    onToolError: 'continue',
    timeoutMs: 1000,
    clock: systemClock,
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

test('a call of a tool that does not exist is answered, by the policy, and the others run', async () => {
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

test('whoever asks again before the answer is there waits for his turn', async () => {
  const gate = deferred<string>()
  const slow = simple('slow', () => gate.promise)
  const run = settled({ tools: toolTable([slow]), maxConcurrency: 1 })
  const source = toolBatches([call('c0', 'slow'), call('c1', 'slow')], run)

  const steps = [source.next(), source.next(), source.next(), source.next(), source.next()]
  gate.resolve('x')

  const sizes = (await Promise.all(steps)).map((step) => step.value?.length)
  expect(sizes).toEqual([1, 2, 1, 2, undefined])
})

test('a batch that has ended stays ended', async () => {
  const source = toolBatches([call('c0', 'echo')], settled())
  await drain(source)

  expect(await source.next()).toEqual({ done: true, value: undefined })
  expect(await source.return()).toEqual({ done: true, value: undefined })
  expect(source.wasCut()).toBe(false)
})

test('a batch that is left was cut, unless every call had its answer', async () => {
  const source = toolBatches([call('c0', 'echo'), call('c1', 'echo')], settled())
  await source.next()
  await source.return()

  expect(await source.next()).toEqual({ done: true, value: undefined })
  expect(source.wasCut()).toBe(true)
})

test('a handler that passes its options on passes its signal on', async () => {
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
