import { expect, test } from 'vitest'
import type { OnToolError } from '../../src/contracts/options.ts'
import { ToolError } from '../../src/errors/errors.ts'
import { fail } from '../../src/make/tools.ts'
import { runToolCalls, type ToolCallsResult } from '../../src/tools/run-tools.ts'
import type { ToolCall } from '../../src/types/message.ts'
import { call, simple } from './support.ts'

const broken = simple('broken', () => fail('sold out'))
const echo = simple('echo', (args) => args)

function run(onToolError: unknown, calls = [call('c0', 'broken')]): Promise<ToolCallsResult> {
  return runToolCalls(calls, [broken, echo], { onToolError: onToolError as OnToolError })
}

test('continue: the model is told, and nothing halts', async () => {
  const { messages, halt } = await run('continue')

  expect(messages[0]?.content).toBe('{"error":"sold out"}')
  expect(halt).toBeUndefined()
})

test('halt: the model is told, and the batch halts as tool_error', async () => {
  const { messages, halt } = await run('halt')

  expect(messages[0]?.content).toBe('{"error":"sold out"}')
  expect(halt).toMatchObject({ reason: 'tool_error', toolCallId: 'c0' })
})

test('a function is told the call and the whole error, once for each error', async () => {
  const told: [ToolCall, ToolError][] = []
  const calls = [call('c0', 'broken', { seat: 1 }), call('c1', 'echo'), call('c2', 'broken')]

  await run((failed: ToolCall, error: ToolError) => {
    told.push([failed, error])
    return 'halt'
  }, calls)

  expect(told.map(([failed]) => failed)).toEqual([calls[0], calls[2]])
  expect(told[0]?.[1]).toBeInstanceOf(ToolError)
  expect(told[0]?.[1]).toMatchObject({ reason: 'handler_failed', message: 'sold out' })
})

test.each([
  ['a value', { seats: 0 }, '{"seats":0}'],
  ['a string', 'try again', 'try again'],
  ['undefined', undefined, 'null'],
])(
  'a function that gives {continue: %s} puts it in the place of the error',
  async (_what, value, content) => {
    const { messages, halt } = await run(() => ({ continue: value }))

    expect(messages[0]?.content).toBe(content)
    expect(halt).toBeUndefined()
  },
)

test('a replacement is written by the encoder', async () => {
  const { messages } = await runToolCalls([call('c0', 'broken')], [broken], {
    onToolError: () => ({ continue: 'x' }),
    toolResultEncoder: (value) => `<${String(value)}>`,
  })

  expect(messages[0]?.content).toBe('<x>')
})

test('a function that gives halt halts with the error itself', async () => {
  const { halt } = await run(() => 'halt')

  expect(halt).toMatchObject({
    reason: 'tool_error',
    toolCallId: 'c0',
    error: { reason: 'handler_failed', message: 'sold out' },
  })
})

test('a function that throws halts as invalid_return, with what it threw as the cause', async () => {
  let calls = 0
  const { messages, halt } = await run(() => {
    calls++
    throw new Error('a broken policy')
  })

  expect(calls).toBe(1)
  expect(messages[0]?.content).toBe('{"error":"sold out"}')
  expect(halt).toMatchObject({
    reason: 'tool_error',
    error: {
      reason: 'invalid_return',
      cause: { name: 'Error', message: 'a broken policy' },
      metadata: { toolError: { reason: 'handler_failed', message: 'sold out' } },
    },
  })
})

test.each([
  ['the word continue', 'continue'],
  ['nothing', undefined],
  ['null', null],
  ['a number', 7],
  ['an object without continue', { replace: 1 }],
  ['a promise', Promise.resolve('halt')],
  ['a promise that rejects', 'rejecting'],
])('a function that gives %s halts as invalid_return', async (_what, answer) => {
  let calls = 0
  const { halt } = await run(() => {
    calls++
    return answer === 'rejecting' ? Promise.reject(new Error('x')) : answer
  })

  expect(calls).toBe(1)
  expect(halt).toMatchObject({ reason: 'tool_error', error: { reason: 'invalid_return' } })
})

test('a replacement that can not be encoded halts as encoding_failed, and the function is not asked again', async () => {
  let calls = 0
  const { messages, halt } = await run(() => {
    calls++
    return { continue: { bad: new Map() } }
  })

  expect(calls).toBe(1)
  expect(messages[0]?.content).toBe('{"error":"sold out"}')
  expect(halt).toMatchObject({ reason: 'tool_error', error: { reason: 'encoding_failed' } })
})

test('a function of three arguments is refused before anything runs', async () => {
  const wrong = (_call: unknown, _error: unknown, _third: unknown): string => 'halt'

  await expect(run(wrong)).rejects.toMatchObject({
    kind: 'validation',
    issues: [{ path: 'onToolError' }],
  })
})

test.each([
  ['none', () => 'halt'],
  ['one', (_call: unknown) => 'halt'],
])('a function of %s is fine', async (_count, policy) => {
  expect((await run(policy)).halt?.reason).toBe('tool_error')
})
