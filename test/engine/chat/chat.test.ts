import { describe, expect, test } from 'vitest'
import {
  askUser,
  chat,
  createEngine,
  fail,
  halt,
  isSendable,
  step,
  streamChat,
  streamStep,
  system,
  toolResult,
  user,
  type CallOptions,
} from '../../../src/index.ts'
import { collectEvents, fake, type Script } from '../../../src/testing.ts'
import { call, done, echo, messages, named, run } from './support.ts'

describe('the loop', () => {
  test('runs tools and calls the model again until it answers', async () => {
    const { adapter, result } = run([[call('c1')], [call('c2')], done])
    expect(await result).toMatchObject({
      haltedReason: 'completed',
      finalResponse: { outputText: 'done' },
      outputText: 'done',
      steps: [{ newMessages: [{}, {}] }, { newMessages: [{}, {}] }, { newMessages: [{}] }],
      usage: { inputTokens: 2, outputTokens: 1 },
    })
    expect((await result).thread.messages.map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'tool',
      'assistant',
      'tool',
      'assistant',
    ])
    expect(adapter.calls.map(({ request }) => request.messages.length)).toEqual([1, 3, 5])
    adapter.assertDone()
  })

  test('sums the usage of all steps', async () => {
    const counted: Script = [call('c1'), ['usage', { inputTokens: 10, outputTokens: 3 }]]
    expect((await run([counted, done]).result).usage).toEqual({ inputTokens: 12, outputTokens: 4 })
  })

  test('carries one request id through all of its calls', async () => {
    const { adapter, result } = run([[call('c1')], done], { requestId: 'mine' })
    expect((await result).steps.map(({ response }) => response.requestId)).toEqual(['mine', 'mine'])
    expect(adapter.calls.map(({ options }) => options.requestId)).toEqual(['mine', 'mine'])
  })

  test('stops after maxTurns model calls, with the last tools run', async () => {
    const { adapter, result } = run([[call('c1')], [call('c2')], done], { maxTurns: 2 })
    expect(await result).toMatchObject({ haltedReason: 'max_turns', steps: [{}, {}] })
    expect((await result).thread.messages.at(-1)).toMatchObject({ toolCallId: 'c2' })
    expect(isSendable((await result).thread)).toBe(true)
    expect(adapter.remaining).toBe(1)
  })

  test('makes at most eight calls by default', async () => {
    const { adapter, result } = run(Array.from({ length: 9 }, (_, index) => [call(`c${index}`)]))
    expect(await result).toMatchObject({ haltedReason: 'max_turns' })
    expect(adapter.calls).toHaveLength(8)
  })

  test('stops when haltWhen returns true; haltWhen is called only after steps that do not end the loop themselves', async () => {
    const seen: number[] = []
    const haltWhen: CallOptions['haltWhen'] = async ({ thread }) => {
      seen.push(thread.messages.length)
      return thread.messages.length > 4
    }
    const { result } = run([[call('c1')], [call('c2')], done], { haltWhen })
    expect(await result).toMatchObject({ haltedReason: 'halt_when' })
    expect(seen).toEqual([3, 5])
    await run([done], { haltWhen: () => true }).result.then((ended) =>
      expect(ended.haltedReason).toBe('completed'),
    )
  })

  test.each(['other', 'length', 'content_filter', 'stop'] as const)(
    'an answer that ends as %s ends the loop',
    async (reason) => {
      const { adapter, result } = run([
        [
          ['text', 'x'],
          ['finish', reason],
        ],
        done,
      ])
      expect(await result).toMatchObject({
        haltedReason: 'completed',
        finalResponse: { finishReason: reason },
      })
      expect(adapter.remaining).toBe(1)
    },
  )

  test('an answer with the finish reason error ends the loop with an error', async () => {
    const failed: Script = [['text', 'half'], call('c2'), ['finish', 'error']]
    const { result } = run([[call('c1')], failed])
    expect(await result).toMatchObject({
      haltedReason: 'error',
      error: { kind: 'adapter', reason: 'unknown', message: 'fake ended its answer with an error' },
      finalResponse: { outputText: 'half', finishReason: 'error' },
    })
    expect(isSendable((await result).thread)).toBe(true)
  })

  test('an answer that ends as tool_calls without any call ends the loop', async () => {
    const { adapter, result } = run([
      [
        ['text', 'x'],
        ['finish', 'tool_calls'],
      ],
      done,
    ])
    expect(await result).toMatchObject({ haltedReason: 'completed' })
    expect(adapter.remaining).toBe(1)
  })

  test('a tool that does not exist is answered as not found, and the others run', async () => {
    const { result } = run([[call('c1', 'nowhere'), call('c2')], done])
    const { toolResults } = (await result).steps[0] ?? {}
    expect(toolResults?.[0]?.content).toContain('nowhere')
    expect(toolResults?.[1]?.content).toBe('{"id":"c2"}')
  })

  test('tool messages are in the order of the calls, not in the order in which they finish', async () => {
    const slow = named('slow', async (args) => {
      for (let turn = 0; turn < 20; turn++) await Promise.resolve()
      return args
    })
    const { result } = run([[call('c1', 'slow'), call('c2')], done], {}, [echo, slow])
    expect((await result).steps[0]?.toolResults.map(({ toolCallId }) => toolCallId)).toEqual([
      'c1',
      'c2',
    ])
  })

  test('context, ids and the engine reach the handler', async () => {
    const seen: unknown[] = []
    const look = named('look', (_args, { context, requestId, toolCall, engine }) => {
      seen.push(context, requestId, toolCall.id, engine !== undefined)
      return null
    })
    const adapter = fake({ scripts: [[call('c1', 'look')], done] })
    const engine = createEngine({ adapter, tools: [look], context: { tenant: 'a', x: 1 } })
    await chat(engine, messages, { context: { x: 2 }, requestId: 'r' })
    expect(seen).toEqual([{ tenant: 'a', x: 2 }, 'r', 'c1', true])
  })

  test('an illegal thread is refused before anything is sent', async () => {
    const adapter = fake({ script: done })
    const orphan = [user('go'), toolResult('c1', 'x')]
    await expect(chat(createEngine({ adapter }), orphan)).rejects.toMatchObject({
      reason: 'invalid_request',
    })
    await expect(chat(createEngine({ adapter }), 7 as never)).rejects.toMatchObject({
      reason: 'invalid_thread',
    })
    expect(adapter.calls).toHaveLength(0)
  })
})

describe('an outcome of a tool ends the loop', () => {
  const ask = named('ask', (_args, { toolCall }) => askUser(`about ${toolCall.id}?`, { of: ['a'] }))
  const stop = named('stop', () => halt('found', { answer: 42 }))
  const broken = named('broken', () => fail('no luck'))

  test('a question', async () => {
    const { result } = run([[call('c1'), call('c2', 'ask')]], {}, [echo, ask])
    expect(await result).toMatchObject({
      haltedReason: 'ask_user',
      pendingQuestion: 'about c2?',
      pendingToolCallId: 'c2',
      steps: [
        {
          halt: {
            reason: 'ask_user',
            toolCallId: 'c2',
            question: 'about c2?',
            options: { of: ['a'] },
          },
        },
      ],
    })
    expect((await result).thread.messages.at(-1)).toEqual({
      role: 'tool',
      content: '<awaiting user response>',
      toolCallId: 'c2',
      metadata: { askUser: true },
    })
  })

  test('two questions in one turn: the question of the first call is asked, and both calls are answered', async () => {
    const { result } = run([[call('c1', 'ask'), call('c2', 'ask')]], {}, [ask])
    expect(await result).toMatchObject({
      pendingQuestion: 'about c1?',
      steps: [{ toolResults: [{}, {}] }],
    })
  })

  test('a halt with a custom reason', async () => {
    const { result } = run([[call('c1', 'stop'), call('c2')]], {}, [echo, stop])
    expect(await result).toMatchObject({
      haltedReason: 'found',
      haltResult: { answer: 42 },
      steps: [{ toolResults: [{ content: '{"answer":42}' }, { content: '{"id":"c2"}' }] }],
    })
  })

  test('an error under the policy halt; the caller gets the whole error', async () => {
    const { result } = run([[call('c1', 'broken'), call('c2')]], { onToolError: 'halt' }, [
      echo,
      broken,
    ])
    expect(await result).toMatchObject({
      haltedReason: 'tool_error',
      error: { kind: 'tool', reason: 'handler_failed', toolName: 'broken', toolCallId: 'c1' },
      steps: [{ toolResults: [{}, { content: '{"id":"c2"}' }] }],
    })
  })

  test('a halt with a reserved reason does not end the loop', async () => {
    const bad = named('bad', () => halt('completed', 1))
    const { result } = run([[call('c1', 'bad')], done], {}, [bad])
    expect(await result).toMatchObject({
      haltedReason: 'completed',
      finalResponse: { outputText: 'done' },
    })
  })
})

describe('one step', () => {
  test('makes one model call and runs its tools', async () => {
    const adapter = fake({ scripts: [[call('c1')], done] })
    const engine = createEngine({ adapter, tools: [echo] })
    const first = await step(engine, messages)
    expect(first).toMatchObject({
      done: false,
      toolResults: [{ toolCallId: 'c1' }],
      manualToolCalls: [],
    })
    const second = await step(engine, first.thread)
    expect(second).toMatchObject({ done: true, response: { outputText: 'done' } })
  })

  test('the order of its events', async () => {
    const engine = createEngine({
      adapter: fake({ script: [['text', 'hm'], call('c1')] }),
      tools: [echo],
    })
    const types = (await collectEvents(streamStep(engine, messages))).map(({ type }) => type)
    expect(types).toEqual([
      'message_started',
      'text_delta',
      'text_completed',
      'tool_call_started',
      'tool_call_completed',
      'message_completed',
      'tool_execution_started',
      'tool_execution_completed',
      'tool_result_encoded',
      'step_completed',
    ])
  })
})

test('the order of the events of a chat: each step with its step_completed, then one chat_completed', async () => {
  const engine = createEngine({
    adapter: fake({ scripts: [[call('c1'), call('c2')], done] }),
    tools: [echo],
  })
  const events = await collectEvents(streamChat(engine, messages))
  const types = events.map(({ type }) => type)
  expect(types.filter((type) => type === 'step_completed')).toHaveLength(2)
  expect(types.indexOf('chat_completed')).toBe(types.length - 1)
  const step1 = events.find((event) => event.type === 'step_completed')
  expect(step1).toMatchObject({
    newMessages: [{ role: 'assistant' }, { role: 'tool' }, { role: 'tool' }],
    mode: 'auto',
  })
})

test('tool_execution_started is emitted while the handler runs: here the handler waits until the consumer has read it', async () => {
  let read: () => void = () => undefined
  const consumerHasRead = new Promise<void>((resolve) => {
    read = resolve
  })
  const wait = named('wait', () => consumerHasRead.then(() => 'read'))
  const engine = createEngine({
    adapter: fake({ scripts: [[call('c1', 'wait')], done] }),
    tools: [wait],
  })
  const contents: unknown[] = []
  for await (const event of streamChat(engine, [system('s'), ...messages])) {
    if (event.type === 'tool_execution_started') read()
    if (event.type === 'tool_result_encoded') contents.push(event.content)
  }
  expect(contents).toEqual(['read'])
})
