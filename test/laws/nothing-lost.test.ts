import { describe, expect, test } from 'vitest'
import {
  addUsage,
  askUser,
  chat,
  collectChat,
  createCollector,
  applyEvent,
  createEngine,
  isAllmError,
  isSendable,
  streamChat,
  toChatResult,
  tool,
  user,
  type ChatResult,
  type StreamEvent,
  type Thread,
  type Tool,
} from '../../src/index.ts'
import { collectEvents, fake, virtualClock, type Script } from '../../src/testing.ts'

const thread: Thread = { messages: [user('go')], metadata: {} }
const call = (id: string, name: string): Script[number] => [
  'tool_call',
  { id, name, arguments: { id } },
]
const usage = { inputTokens: 10, outputTokens: 5 }
const scripts: readonly Script[] = [
  [
    ['reasoning', 'hm', { opaque: 'sig' }],
    ['text', 'first '],
    ['text', 'look'],
    ['tool_call_delta', { id: 'c1', name: 'now', argumentsDelta: '{"id"' }],
    ['tool_call_delta', { id: 'c1', argumentsDelta: ':"c1"}' }],
    call('c2', 'later'),
    call('c3', 'broken'),
    ['usage', usage],
  ],
  [['text', 'again'], call('c4', 'now'), call('c5', 'later'), ['usage', usage]],
  [
    ['text', 'the end'],
    ['usage', usage],
    ['finish', 'stop'],
  ],
]

const named = (name: string, handler: NonNullable<Tool['handler']>): Tool =>
  tool({ name, description: name, schema: { type: 'object' }, handler })
const tools = [
  named('now', (args) => args),
  named('later', async (args) => args),
  named('broken', () => {
    throw new Error('boom')
  }),
]
const engine = () => createEngine({ adapter: fake({ scripts }), tools, clock: virtualClock() })

/** Checks that the result contains everything that the events so far have reported. */
function expectNothingMissing(events: readonly StreamEvent[], result: ChatResult): void {
  const saved = JSON.stringify(result.thread)
  let used = {}
  let pending = {}
  for (const event of events) {
    if (event.type === 'text_delta') expect(saved).toContain(event.delta)
    if (event.type === 'reasoning_delta') expect(saved).toContain(event.delta)
    if (event.type === 'tool_call_started') expect(saved).toContain(event.id)
    if (event.type === 'tool_call_completed') expect(saved).toContain(JSON.stringify(event.call.id))
    if (event.type === 'tool_result_encoded') {
      const answer = result.thread.messages.find(({ toolCallId }) => toolCallId === event.id)
      expect(answer?.content).toBe(event.content)
    }
    if (event.type === 'message_completed') pending = event.usage ?? {}
    if (event.type === 'step_completed') {
      used = addUsage(used, event.response.usage)
      pending = {}
    }
  }
  expect(result.usage).toEqual(addUsage(used, pending))
}

const total = (await collectEvents(streamChat(engine(), thread))).length

describe('a multi-turn run with parallel tools', () => {
  test.each(Array.from({ length: total }, (_, index) => index + 1))(
    'left after event %i: the thread can be sent and nothing is missing',
    async (cut) => {
      const events: StreamEvent[] = []
      let state = createCollector(thread)
      for await (const event of streamChat(engine(), thread)) {
        events.push(event)
        state = applyEvent(state, event)
        if (events.length === cut) break
      }
      const result = toChatResult(state)
      expect(isSendable(result.thread)).toBe(true)
      expect(result.haltedReason).toBe(cut === total ? 'completed' : 'cancelled')
      expectNothingMissing(events, result)
      const next = fake({ script: [['text', 'welcome back']] })
      const messages = [...result.thread.messages, user('and now?')]
      await expect(chat(createEngine({ adapter: next }), messages)).resolves.toMatchObject({
        haltedReason: 'completed',
      })
    },
  )

  test.each(Array.from({ length: total - 1 }, (_, index) => index + 1))(
    'aborted after event %i: chat rejects with the partial result, and its thread can be sent',
    async (cut) => {
      const controller = new AbortController()
      let seen = 0
      const onEvent = (event: StreamEvent): void => {
        if (++seen === cut && event.type !== 'chat_completed') controller.abort()
      }
      const error: unknown = await chat(engine(), thread, {
        signal: controller.signal,
        onEvent,
      }).then(
        () => undefined,
        (reason: unknown) => reason,
      )
      // The last answer arrives in one batch, so an abort at that point is too late to stop anything.
      if (error === undefined) {
        expect(cut).toBeGreaterThan(total - 7)
        return
      }
      expect(error).toMatchObject({ kind: 'stream', reason: 'cancelled' })
      const partial = isAllmError(error) ? (error.partial as ChatResult) : undefined
      expect(partial?.haltedReason).toBe('cancelled')
      expect(isSendable(partial?.thread)).toBe(true)
    },
  )

  test('a failure in the third call keeps the first two steps and the partial answer of the third', async () => {
    const failing = fake({
      scripts: [
        ...scripts.slice(0, 2),
        [
          ['text', 'half of '],
          ['error', 'rate_limited'],
        ],
      ],
    })
    const broken = createEngine({ adapter: failing, tools })
    await expect(chat(broken, thread)).rejects.toMatchObject({
      reason: 'rate_limited',
      partial: {
        haltedReason: 'error',
        steps: [{}, {}],
        finalResponse: { outputText: 'half of ' },
      },
    })
  })

  test('a failure before the first event of a later call is the last event of the stream', async () => {
    const failing = fake({
      scripts: [...scripts.slice(0, 1), [['preflight_error', 'invalid_request', {}]]],
    })
    const events = await collectEvents(
      streamChat(createEngine({ adapter: failing, tools }), thread),
    )
    expect(events.at(-1)).toMatchObject({ type: 'error', error: { reason: 'invalid_request' } })
    const result = await collectChat(events, thread)
    expect(result).toMatchObject({ haltedReason: 'error', error: { reason: 'invalid_request' } })
    expect(result.steps).toHaveLength(1)
    expect(isSendable(result.thread)).toBe(true)
  })

  test('a failure before the first event of the run rejects, and the partial result has the input', async () => {
    const failing = fake({
      script: [['preflight_error', 'authentication_failed', { status: 401 }]],
    })
    await expect(chat(createEngine({ adapter: failing }), thread)).rejects.toMatchObject({
      reason: 'authentication_failed',
      partial: { haltedReason: 'error', thread },
    })
  })
})

test('calls cut off by the length limit are not run and are answered by marked results', async () => {
  let ran = 0
  const count = named('now', () => ++ran)
  const script: Script = [
    ['text', 'so'],
    call('c1', 'now'),
    call('c2', 'now'),
    ['finish', 'length'],
  ]
  const result = await chat(createEngine({ adapter: fake({ script }), tools: [count] }), thread)
  expect(ran).toBe(0)
  expect(result).toMatchObject({
    haltedReason: 'completed',
    finalResponse: { finishReason: 'length' },
  })
  expect(result.thread.messages.slice(2)).toMatchObject([
    { toolCallId: 'c1', metadata: { interrupted: true, reason: 'length' } },
    { toolCallId: 'c2', metadata: { interrupted: true, reason: 'length' } },
  ])
  expect(isSendable(result.thread)).toBe(true)
})

test('a question keeps the thread sendable, and the answer follows it', async () => {
  const ask = named('now', () => askUser('which one?'))
  const script: Script = [call('c1', 'now')]
  const result = await chat(createEngine({ adapter: fake({ script }), tools: [ask] }), thread)
  expect(result).toMatchObject({
    haltedReason: 'ask_user',
    pendingQuestion: 'which one?',
    pendingToolCallId: 'c1',
  })
  expect(isSendable(result.thread)).toBe(true)
})

test('the thread of a run that is left after its last step can be sent, even if that step returned calls to the caller', async () => {
  const hand: Tool = { ...named('hand', () => 'never'), manual: true }
  const adapter = fake({ script: [call('c1', 'now'), call('c2', 'hand')] })
  let state = createCollector(thread)
  for await (const event of streamChat(
    createEngine({ adapter, tools: [...tools, hand] }),
    thread,
  )) {
    state = applyEvent(state, event)
    if (event.type === 'step_completed') break
  }
  const result = toChatResult(state)
  expect(result.haltedReason).toBe('cancelled')
  expect(isSendable(result.thread)).toBe(true)
  expect(result.thread.messages.at(-1)).toMatchObject({
    toolCallId: 'c2',
    metadata: { interrupted: true },
  })
})
