import { expect, test } from 'vitest'
import { askUser, fail, halt } from '../../../src/core/messages/outcomes.ts'
import { runToolCalls } from '../../../src/engine/tools/run-tool-calls.ts'
import { call, deferred, sentence, simple } from './support.ts'

const echo = simple('echo', (args) => args)

const ask = simple('ask', ({ n }) => askUser(`question ${JSON.stringify(n)}?`, { n: n ?? 0 }))
const stop = simple('stop', ({ word }) =>
  halt(typeof word === 'string' ? word : '', { done: true }),
)

test('a question halts with its text and options, and its call is answered by a placeholder', async () => {
  expect(await runToolCalls([call('c0', 'ask', { n: 1 })], [ask])).toEqual({
    messages: [
      {
        role: 'tool',
        content: '<awaiting user response>',
        toolCallId: 'c0',
        metadata: { askUser: true },
      },
    ],
    halt: { reason: 'ask_user', toolCallId: 'c0', question: 'question 1?', options: { n: 1 } },
  })
})

test('two questions in one batch are both kept', async () => {
  const calls = [call('c0', 'ask', { n: 1 }), call('c1', 'echo'), call('c2', 'ask', { n: 2 })]

  const { messages, halt: halted } = await runToolCalls(calls, [ask, echo])

  expect(messages.map(({ toolCallId }) => toolCallId)).toEqual(['c0', 'c1', 'c2'])
  expect(messages.map(({ metadata }) => metadata?.['askUser'] ?? false)).toEqual([
    true,
    false,
    true,
  ])
  expect(halted?.toolCallId).toBe('c0')
})

test('a halt of a handler has its own reason and result', async () => {
  expect(await runToolCalls([call('c0', 'stop', { word: 'shipped' })], [stop])).toEqual({
    messages: [{ role: 'tool', content: '{"done":true}', toolCallId: 'c0' }],
    halt: { reason: 'shipped', toolCallId: 'c0', result: { done: true } },
  })
})

test('the first halt in the order of the calls wins, even if a later call halts earlier', async () => {
  const gate = deferred<void>()
  const slow = simple('slow', async () => {
    await gate.promise
    return halt('slow_one', null)
  })
  const quick = simple('quick', async () => {
    gate.resolve()
    return halt('quick_one', null)
  })

  const { halt: halted } = await runToolCalls(
    [call('c0', 'slow'), call('c1', 'quick')],
    [slow, quick],
  )

  expect(halted?.reason).toBe('slow_one')
})

test('the other calls finish after a halt, a question and an error that halts', async () => {
  const finished: string[] = []
  const slow = simple('slow', async (_args, { toolCall, signal }) => {
    await Promise.resolve()
    finished.push(toolCall.id)
    return signal.aborted
  })
  const broken = simple('broken', () => fail('x'))
  const calls = [
    call('c0', 'stop', { word: 'w' }),
    call('c1', 'slow'),
    call('c2', 'broken'),
    call('c3', 'slow'),
    call('c4', 'ask'),
    call('c5', 'slow'),
  ]

  const { messages } = await runToolCalls(calls, [stop, slow, broken, ask], {
    onToolError: 'halt',
    maxConcurrency: 1,
  })

  expect(finished).toEqual(['c1', 'c3', 'c5'])
  expect(messages.map(({ content }) => content).filter((text) => text === 'false')).toHaveLength(3)
})

test.each([
  'completed',
  'max_turns',
  'halt_when',
  'ask_user',
  'manual_tool_calls',
  'tool_error',
  'error',
  'cancelled',
])('the halt reason %s is reserved for the loop', async (word) => {
  const { messages, halt: halted } = await runToolCalls([call('c0', 'stop', { word })], [stop], {
    onToolError: 'halt',
  })

  expect(halted).toMatchObject({
    reason: 'tool_error',
    error: { reason: 'invalid_return', metadata: { reservedHaltReason: word } },
  })
  expect(sentence(messages[0]?.content)).toBe(
    `tool stop returned an invalid outcome: the halt reason ${word} is reserved for the loop; use a word of your own`,
  )
})
