import { describe, expect, test } from 'vitest'
import { eventGate } from '../../../src/core/answer/gate.ts'
import type { ModelEvent } from '../../../src/core/types/events.ts'
import {
  createEngine,
  generate,
  Session,
  tool,
  user,
  type ChatAdapter,
} from '../../../src/index.ts'
import { createRuns } from '../../../src/runs.ts'
import { memoryStore } from '../../../src/stores.ts'
import { fake } from '../../../src/testing.ts'

const facts = { provider: 'own', requestId: 'r', newId: counted() }

function counted(): (kind: string) => string {
  let count = 0
  return (kind) => `${kind}-${++count}`
}

/** What a gate makes of events that a stranger's adapter, written without types, yields. */
function settle(...events: readonly unknown[]) {
  const gate = eventGate({ ...facts, newId: counted() })
  const settled = gate.settle(events as readonly ModelEvent[])
  return { settled, problem: gate.problem }
}

const started = { type: 'message_started', requestId: 'r', provider: 'own' }

const image = { type: 'url', url: 'https://example.com/cat.png' }

function completed(message: object, more: object = {}): object {
  return {
    type: 'message_completed',
    message: { role: 'assistant', content: '', ...message },
    finishReason: 'stop',
    ...more,
  }
}

test('a batch that needs no change is the same list', () => {
  const batch = [
    started,
    { type: 'text_delta', delta: 'a', index: 0 },
    { type: 'text_completed', text: 'a', index: 0 },
    completed({ content: 'a' }, { usage: { inputTokens: 1 }, metadata: { a: [1, { b: null }] } }),
  ] as readonly ModelEvent[]
  expect(eventGate(facts).settle(batch)).toBe(batch)
})

describe('is settled:', () => {
  test.each<[string, object, object]>([
    [
      'an index',
      { type: 'text_delta', delta: 'a', index: Number.POSITIVE_INFINITY },
      { type: 'text_delta', delta: 'a' },
    ],
    [
      'opaque data',
      { type: 'reasoning_completed', text: 'a', opaque: { a: Number.NaN, b: [Number.NaN, -0] } },
      { type: 'reasoning_completed', text: 'a', opaque: { b: [null, 0] } },
    ],
    [
      'usage',
      { ...started, usage: { inputTokens: 1e300, outputTokens: 2, extra: { a: Infinity, b: 1 } } },
      { ...started, usage: { outputTokens: 2, extra: { b: 1 } } },
    ],
    [
      'warnings',
      { ...started, warnings: [{ setting: 7 }, { setting: 'seed', problem: 'is not sent' }, null] },
      { ...started, warnings: [{ setting: 'seed', problem: 'is not sent' }] },
    ],
    ['warnings that are no list', { ...started, warnings: 'many' }, started],
    [
      'what no image event has',
      { type: 'image_completed', image, index: Number.NaN },
      { type: 'image_completed', image },
    ],
    [
      'ids of the run',
      { type: 'message_started', model: 7 },
      { type: 'message_started', requestId: 'r', provider: 'own' },
    ],
    [
      'metadata with a member that is undefined, and a finish reason of its own',
      completed({ content: 'a' }, { metadata: { at: undefined, n: 1 }, finishReason: 'tired' }),
      completed(
        { content: 'a' },
        { metadata: { n: 1 }, finishReason: 'other', rawFinishReason: 'tired' },
      ),
    ],
    [
      'an error',
      {
        type: 'error',
        error: {
          kind: 'adapter',
          reason: 'nope',
          message: 'x',
          status: 1.5,
          retryAfterMs: Infinity,
        },
      },
      {
        type: 'error',
        error: { kind: 'adapter', reason: 'unknown', message: 'x', retryable: false },
      },
    ],
  ])('%s', (_what, given, expected) => {
    expect(settle(given)).toEqual({ settled: [expected], problem: undefined })
  })

  test('the ids and the starts of calls, in all their events and in the message', () => {
    const call = (x: number) => ({ id: 'c', name: 'add', arguments: { x } })
    const { settled } = settle(
      { type: 'tool_call_completed', call: call(1) },
      { type: 'tool_call_started', id: 'c', name: 'add' },
      { type: 'tool_call_delta', id: 'c', argumentsDelta: '{"x":2}' },
      { type: 'tool_call_completed', call: call(2) },
      { type: 'tool_call_completed', call: { id: '', name: '', arguments: [1] } },
      completed({ toolCalls: [call(1), call(2), { id: '', name: '', arguments: [1] }] }),
    )
    const third = { id: 'call-1', name: 'unnamed', arguments: {}, rawArguments: '[1]' }
    expect(settled).toEqual([
      { type: 'tool_call_started', id: 'c', name: 'add' },
      { type: 'tool_call_completed', call: call(1) },
      { type: 'tool_call_started', id: 'c_2', name: 'add' },
      { type: 'tool_call_delta', id: 'c_2', argumentsDelta: '{"x":2}' },
      { type: 'tool_call_completed', call: { ...call(2), id: 'c_2' } },
      { type: 'tool_call_started', id: 'call-1', name: 'unnamed' },
      { type: 'tool_call_completed', call: third },
      completed({ toolCalls: [call(1), { ...call(2), id: 'c_2' }, third] }),
    ])
  })

  test('an id that a call before the answer has', () => {
    const call = (id: string) => ({ id, name: 'add', arguments: {} })
    const history = [
      { role: 'assistant' as const, content: '', toolCalls: [call('c'), call('d_2')] },
      { role: 'assistant' as const, content: '', toolCalls: [call('d')] },
    ]
    const gate = eventGate({ ...facts, history })
    const toolCalls = ['c', 'd', 'c', 'e'].map(call)
    const events = gate.settle([completed({ toolCalls })] as readonly ModelEvent[])
    expect(events).toEqual([completed({ toolCalls: ['c_2', 'd_3', 'c_3', 'e'].map(call) })])
  })

  test('a call with members that no call has', () => {
    const call = { id: 'c', name: 'look', arguments: {} }
    const odd = { ...call, run: () => 1 }
    const { settled } = settle(
      { type: 'tool_call_started', id: 'c', name: 'look' },
      { type: 'tool_call_completed', call: odd },
      completed({ toolCalls: [odd] }),
    )
    expect(settled.slice(1)).toEqual([
      { type: 'tool_call_completed', call },
      completed({ toolCalls: [call] }),
    ])
  })

  test('a newId that repeats itself', () => {
    const gate = eventGate({ ...facts, newId: () => 'same' })
    const call = { id: 'same', name: 'add', arguments: {} }
    const events = gate.settle([1, 2, 3].map(() => ({ type: 'tool_call_completed', call })))
    const ids = events.flatMap((event) =>
      event.type === 'tool_call_completed' ? [event.call.id] : [],
    )
    expect(new Set(ids).size).toBe(3)
  })

  test('arguments with a number that is not finite: their text tells it', () => {
    const call = { id: 'c', name: 'pay', arguments: { a: [1, Infinity, -Infinity], b: 'Infinity' } }
    expect(settle({ type: 'tool_call_completed', call }).settled[1]).toEqual({
      type: 'tool_call_completed',
      call: {
        id: 'c',
        name: 'pay',
        arguments: {},
        rawArguments: '{"a":[1,1e999,-1e999],"b":"Infinity"}',
      },
    })
  })
})

describe('ends the answer:', () => {
  let deep: unknown = 1
  for (let level = 0; level < 501; level++) deep = [deep]
  const cycle: { self?: unknown; more?: unknown } = {}
  cycle.self = cycle
  cycle.more = cycle

  test.each<[string, object, string]>([
    ['a value of 501 levels', { type: 'raw_chunk', chunk: deep }, 'too_large'],
    ['a cycle', { type: 'reasoning_completed', text: '', opaque: cycle }, 'too_large'],
    ['a delta that is not text', { type: 'text_delta', delta: 7 }, 'malformed_event'],
    ['an event of the loop', { type: 'step_completed' }, 'malformed_event'],
    ['a message of a user', completed({ role: 'user', content: 'a' }), 'malformed_event'],
    ['a part of no type', completed({ content: [{ type: 'nope' }] }), 'malformed_event'],
    ['no message', { type: 'message_completed' }, 'malformed_event'],
  ])('%s', (_what, event, reason) => {
    const { settled, problem } = settle(started, { type: 'text_delta', delta: 'so far' }, event)
    expect(settled).toEqual([started, { type: 'text_delta', delta: 'so far' }])
    expect(problem).toMatchObject({ reason, provider: 'own', requestId: 'r' })
  })
})

test.each<[string, object]>([
  [
    'an image',
    { type: 'image_completed', image: { type: 'base64', base64: png(), mimeType: 'image/png' } },
  ],
  [
    'an item',
    { type: 'reasoning_completed', text: '', item: { type: 'audio', data: 'a'.repeat(60) } },
  ],
])('%s counts as bytes of the answer', (_what, event) => {
  const gate = eventGate({ ...facts, maxResponseBytes: 100 })
  const events = [started, event, event] as readonly ModelEvent[]
  expect(gate.settle(events)).toHaveLength(2)
  expect(gate.problem).toMatchObject({ reason: 'too_large' })
})

function png(): string {
  return 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
}

test.each([[undefined], [null], [7], ['text'], [[]]])(
  '%o among events ends an answer as malformed_event',
  async (odd) => {
    for (const batches of [[[odd]], [[started], [{ type: 'text_delta', delta: 'a' }, odd]]]) {
      const adapter = {
        provider: 'own',
        stream: async function* () {
          yield* batches
        },
      } as unknown as ChatAdapter
      const failed = generate(createEngine({ adapter, retry: false }), [user('go')])
      await expect(failed).rejects.toMatchObject({ kind: 'stream', reason: 'malformed_event' })
    }
  },
)

test("a session on a stranger's adapter can be saved after every event, whatever it yields", async () => {
  const call = { id: 'c', name: 'pay', arguments: { amount: Infinity } }
  const adapter = {
    provider: 'own',
    stream: async function* () {
      yield [{ type: 'message_started' }, { type: 'tool_call_delta', id: 'c', argumentsDelta: '{' }]
      yield [
        { type: 'tool_call_completed', call },
        { type: 'tool_call_completed', call },
      ]
      yield [{ type: 'image_completed', image: { type: 'base64', base64: '!', mimeType: 'x' } }]
      yield [completed({ toolCalls: [call, call] }, { usage: { inputTokens: Infinity } })]
    },
  } as unknown as ChatAdapter
  const paid: unknown[] = []
  const pay = tool({
    name: 'pay',
    description: 'Pays.',
    schema: { type: 'object', properties: {} },
    handler: (args) => void paid.push(args),
  })
  const engine = createEngine({ adapter, tools: [pay], maxTurns: 1 })
  const stream = Session.streamStart(engine, [user('go')])
  const types: string[] = []
  for await (const { type } of stream) {
    types.push(type)
    expect(Session.parse(Session.stringify(stream.session))).toEqual(stream.session)
  }
  expect(types.length).toBeGreaterThan(8)
  expect(paid).toEqual([])
})

describe('events that have passed a gate before', () => {
  const history = [
    { role: 'assistant', content: '', toolCalls: [{ id: 'c1', name: 'add', arguments: {} }] },
  ] as const
  const passing = (...events: readonly unknown[]): readonly unknown[] =>
    eventGate({ ...facts, history, isPassed: true }).settle(events as readonly ModelEvent[])

  test('are not judged again', () => {
    const batch = [started, { type: 'text_delta', delta: 'a', index: -0 }, completed({})]
    expect(passing(...batch).every((event, at) => event === batch[at])).toBe(true)
  })

  test('get ids that no call before them has, in the message too', () => {
    const call = { id: 'c1', name: 'add', arguments: {} }
    expect(
      passing(
        started,
        { type: 'tool_call_started', id: 'c1', name: 'add' },
        { type: 'tool_call_completed', call },
        completed({ toolCalls: [call] }),
      ),
    ).toMatchObject([
      {},
      { id: 'c1_2' },
      { call: { id: 'c1_2' } },
      { message: { toolCalls: [{ id: 'c1_2' }] } },
    ])
  })

  test('of which a failure is judged all the same', () => {
    const error = {
      kind: 'stream',
      reason: 'truncated',
      message: 'cut',
      metadata: { at: Infinity },
    }
    expect(passing({ type: 'error', error })).toMatchObject([{ error: { metadata: {} } }])
  })
})

describe('an id that cannot stand in an address, in a log or before a member', () => {
  const renamed: readonly (readonly [given: string, id: string])[] = [
    ['.', '_'],
    ['..', '__'],
    ['%2e', '_'],
    ['%2E%2e', '__'],
    ['.%2E', '__'],
    ['a/b', 'a_b'],
    ['a\r\nb', 'a__b'],
    ['a\u0000\u007f\u0085b', 'a___b'],
    ['a\u2028b', 'a_b'],
    ['a\uD800b', 'a_b'],
    ['__proto__', '_proto_'],
    ['constructor', 'constructor'],
    ['...', '...'],
    ['a..b', 'a..b'],
    ['é😀 %2e.x', 'é😀 %2e.x'],
  ]

  test.each(renamed)('%j is %j, in all events and in the message', (given, id) => {
    const call = { id: given, name: 'add', arguments: {} }
    const { settled, problem } = settle(
      started,
      { type: 'tool_call_started', id: given, name: 'add' },
      { type: 'tool_call_delta', id: given, argumentsDelta: '{}' },
      { type: 'tool_call_completed', call },
      completed({ toolCalls: [call] }, { finishReason: 'tool_calls' }),
    )
    expect(problem).toBeUndefined()
    expect(settled).toMatchObject([
      {},
      { id },
      { id },
      { call: { id } },
      { message: { toolCalls: [{ id }] } },
    ])
    const url = new URL(`https://a.test/s/approvals/${encodeURIComponent(id)}`)
    expect(decodeURIComponent(url.pathname)).toBe(`/s/approvals/${id}`)
  })

  test('gets another one than the calls beside it', () => {
    const ids = ['..', '__', '%2e.', '../']
    const { settled } = settle(
      started,
      ...ids.map((id) => ({ type: 'tool_call_started', id, name: 'add' })),
      completed({ toolCalls: ids.map((id) => ({ id, name: 'add', arguments: {} })) }),
    )
    const last = settled.at(-1)
    const made = last?.type === 'message_completed' ? last.message.toolCalls : []
    const names = ['__', '___2', '___3', '.._']
    expect(made?.map(({ id }) => id)).toEqual(names)
    expect(settled.slice(1, 5)).toMatchObject(names.map((id) => ({ id })))
  })

  test('can be approved over HTTP, and its result goes back to the model under the new id', async () => {
    const adapter = fake({
      scripts: [
        [['tool_call', { id: '..', name: 'pay', arguments: { n: 1 } }]],
        [['text', 'paid']],
      ],
    })
    const paid: unknown[] = []
    const pay = tool({
      name: 'pay',
      description: 'Pays.',
      schema: { type: 'object' },
      needsApproval: true,
      handler: (args) => void paid.push(args),
    })
    const runs = createRuns({
      engine: createEngine({ adapter, tools: [pay] }),
      store: memoryStore(),
    })
    await runs.send('s', 'go')
    const { session } = await runs.wait('s')
    const [pending] = session.pendingApprovals
    const handle = runs.handler({ authorize: () => ({}) })
    const response = await handle(
      new Request(`https://a.test/s/approvals/${encodeURIComponent(pending?.id ?? '')}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ approve: true, ticket: Session.pending(session)[0]?.ticket }),
      }),
    )
    expect(response.status).toBe(202)
    const after = await runs.wait('s')
    expect(after.session.status).toBe('completed')
    expect(paid).toEqual([{ n: 1 }])
    expect(adapter.calls[1]?.request.messages.slice(1)).toMatchObject([
      { toolCalls: [{ id: '__' }] },
      { toolCallId: '__' },
    ])
    await runs.close()
  })
})

describe('a member named __proto__', () => {
  const own = (text: string): unknown => JSON.parse(text)

  test('is dropped, at any depth, from what is not arguments', () => {
    const { settled } = settle(
      started,
      { type: 'raw_chunk', chunk: own('{"a":[{"__proto__":{"x":1},"b":1}],"__proto__":1}') },
      completed({}, { metadata: own('{"__proto__":{"x":1},"a":1}') }),
    )
    expect(JSON.stringify(settled)).not.toContain('__proto__')
    expect(settled).toMatchObject([{}, { chunk: { a: [{ b: 1 }] } }, { metadata: { a: 1 } }])
  })

  test('leaves nothing to run in arguments, and their text is kept', () => {
    const call = { id: 'c', name: 'add', arguments: own('{"a":{"__proto__":{"admin":true}}}') }
    const { settled } = settle(started, { type: 'tool_call_completed', call })
    expect(settled.at(-1)).toMatchObject({
      call: { arguments: {}, rawArguments: '{"a":{"__proto__":{"admin":true}}}' },
    })
  })
})
