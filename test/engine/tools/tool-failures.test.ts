import { expect, test } from 'vitest'
import type { CallOptions } from '../../../src/core/contracts/options.ts'
import { fail } from '../../../src/core/messages/outcomes.ts'
import type { ChatResult } from '../../../src/core/types/results.ts'
import { chat } from '../../../src/engine/chat/chat.ts'
import { createEngine } from '../../../src/engine/model-call/engine.ts'
import { runToolCalls } from '../../../src/engine/tools/run-tool-calls.ts'
import { tool } from '../../../src/engine/tools/tool.ts'
import { fake, virtualClock, type Script } from '../../../src/testing.ts'
import { call, sentence, simple } from './support.ts'

const echo = simple('echo', (args) => args)

test('a call of a tool that does not exist rejects the whole batch, and nothing runs', async () => {
  let runs = 0
  const counted = simple('counted', () => ++runs)
  const refused = runToolCalls([call('c0', 'counted'), call('c1', 'nowhere')], [counted])

  await expect(refused).rejects.toMatchObject({
    kind: 'engine',
    reason: 'unknown_tool',
    metadata: { toolName: 'nowhere' },
  })
  expect(runs).toBe(0)
})

test('an encoder that throws is encoding_failed, and the policy applies', async () => {
  const options = {
    toolResultEncoder: () => {
      throw new Error('no ink')
    },
  }
  const continued = await runToolCalls([call('c0', 'echo')], [echo], options)
  const halted = await runToolCalls([call('c0', 'echo')], [echo], {
    ...options,
    onToolError: 'halt',
  })

  expect(sentence(continued.messages[0]?.content)).toBe(
    'the result of the tool could not be encoded: no ink',
  )
  expect(halted.halt).toMatchObject({
    reason: 'tool_error',
    toolCallId: 'c0',
    error: { reason: 'encoding_failed', cause: { message: 'no ink' } },
  })
})

test('a value that is not JSON is encoding_failed, and the error names its path', async () => {
  const odd = simple('odd', () => ({ rows: [{ tags: new Set([1]) }] }))

  const { halt: halted } = await runToolCalls([call('c0', 'odd')], [odd], { onToolError: 'halt' })

  expect(halted?.error).toMatchObject({
    reason: 'encoding_failed',
    toolName: 'odd',
    toolCallId: 'c0',
    message: 'the result of odd cannot be encoded: rows[0].tags is a Set',
  })
})

test('a handler that throws is handler_raised, and the model gets one line of the message', async () => {
  const broken = simple('broken', () => {
    throw new TypeError('no such row\n    at db.ts:12')
  })

  const { messages, halt: halted } = await runToolCalls([call('c0', 'broken')], [broken], {
    onToolError: 'halt',
  })

  expect(messages[0]?.content).toBe('{"error":"the tool failed: no such row"}')
  expect(halted?.error).toMatchObject({ kind: 'tool', reason: 'handler_raised' })
})

test('a rejected promise is handler_raised, whatever its reason', async () => {
  // oxlint-disable-next-line prefer-promise-reject-errors
  const broken = simple('broken', () => Promise.reject({ code: 7 }))

  const { halt: halted } = await runToolCalls([call('c0', 'broken')], [broken], {
    onToolError: 'halt',
  })

  expect(halted?.error).toMatchObject({ reason: 'handler_raised', cause: { code: 7 } })
})

test('an executor that throws is handler_raised', async () => {
  const { messages } = await runToolCalls([call('c0', 'echo')], [echo], {
    toolExecutor: () => {
      throw new Error('no sandbox')
    },
  })

  expect(sentence(messages[0]?.content)).toBe('the tool failed: no sandbox')
})

test('a tool without a handler is not_found', async () => {
  const bare = tool({ name: 'bare', description: '', schema: {} })

  const { halt } = await runToolCalls([call('c0', 'bare')], [bare], { onToolError: 'halt' })

  expect(halt?.error).toMatchObject({ reason: 'not_found', message: 'tool bare has no handler' })
})

test('the caller gets the whole error that caused a halt', async () => {
  const broken = simple('broken', () => fail({ code: 'sold_out', seats: 0 }))

  const { halt: halted } = await runToolCalls([call('c0', 'broken')], [broken], {
    onToolError: 'halt',
  })

  expect(halted).toEqual({
    reason: 'tool_error',
    toolCallId: 'c0',
    error: {
      kind: 'tool',
      reason: 'handler_failed',
      message: '{"code":"sold_out","seats":0}',
      metadata: { reason: { code: 'sold_out', seats: 0 } },
      toolName: 'broken',
      toolCallId: 'c0',
    },
  })
})

test('the message of every failed call is marked as an error, and that of a replaced error is not', async () => {
  const tools = [
    simple('thrown', () => {
      throw new Error('no')
    }),
    simple('failed', () => fail('no')),
    simple('odd', () => new Set([1])),
    { ...simple('late', () => new Promise(() => undefined)), timeoutMs: 5 },
    { ...echo, schema: { type: 'object', required: ['n'] } },
  ]
  const calls = [
    call('c0', 'thrown'),
    call('c1', 'failed'),
    call('c2', 'odd'),
    call('c3', 'late'),
    call('c4', 'echo'),
    call('c5', 'nowhere'),
  ]
  const scripts: Script[] = [calls.map((made) => ['tool_call', made]), [['text', 'done']]]
  const run = (options: CallOptions = {}): Promise<ChatResult> =>
    chat(createEngine({ adapter: fake({ scripts }), tools, clock: virtualClock() }), 'go', options)
  const marks = ({ steps: [step] }: ChatResult): unknown[] | undefined =>
    step?.toolResults.map(({ metadata }) => metadata?.['isError'])

  expect(marks(await run())).toEqual(calls.map(() => true))
  expect(marks(await run({ onToolError: 'halt' }))).toEqual(calls.map(() => true))
  const replaced = await run({ onToolError: () => ({ continue: 'never mind' }) })
  expect(marks(replaced)).toEqual(calls.map(() => undefined))
})
