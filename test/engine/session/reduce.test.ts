import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  createEngine,
  isSendable,
  Session,
  tool,
  user,
  validateSession,
  type Engine,
  type StreamEvent,
  type Tool,
} from '../../../src/index.ts'
import { collectEvents, fake, virtualClock, type Script } from '../../../src/testing.ts'

const messages = [user('go')]

const scripts: readonly Script[] = [
  [
    ['reasoning', 'hm', { opaque: 's' }],
    ['text', 'look'],
    ['tool_call', { id: 'c1', name: 'echo', arguments: { n: 1 } }],
    ['tool_call', { id: 'c2', name: 'later', arguments: {} }],
  ],
  [
    ['text', 'done'],
    ['finish', 'stop'],
  ],
]

const named = (name: string, handler: () => unknown) =>
  tool({ name, description: name, schema: { type: 'object' }, handler })

const tools = [named('echo', () => 1), named('later', async () => 2)]

const engine = () => createEngine({ adapter: fake({ scripts }), tools, clock: virtualClock() })

test('the session of the stream is valid, sendable and JSON at every event, and never loses the input', async () => {
  const stream = Session.streamStart(engine(), messages)
  const check = (session: Session): void => {
    expect(validateSession(session)).toEqual([])
    expect(isSendable(session.thread)).toBe(true)
    expect(JSON.parse(JSON.stringify(session))).toEqual(session)
    expect(session.thread.messages[0]).toEqual(messages[0])
  }
  check(stream.session)
  for await (const event of stream) {
    expect(event.type).toBeDefined()
    check(stream.session)
  }
  expect(stream.session.status).toBe('completed')
})

test('the reducer returns the same session as the stream after every event, and is pure', async () => {
  const stream = Session.streamStart(engine(), messages)
  let reducer = Session.reduce(stream.session)
  const first = reducer
  const firstSession = JSON.stringify(Session.finalize(first))
  for await (const event of stream) {
    reducer = Session.applyEvent(reducer, JSON.parse(JSON.stringify(event)) as StreamEvent)
    expect(Session.finalize(reducer).session).toEqual(stream.session)
  }
  expect(Session.finalize(reducer)).toEqual(Session.finalize(reducer))
  expect(Session.finalize(reducer).result.haltedReason).toBe('completed')
  expect(JSON.stringify(Session.finalize(first))).toBe(firstSession)
})

test('the session call equals the fold of its stream', async () => {
  const given = Session.create({ id: 's', messages })
  const plain = await Session.start(engine(), given, { requestId: 'r' })
  const stream = Session.streamStart(engine(), given, { requestId: 'r' })
  await collectEvents(stream)
  expect(stream.session).toEqual(plain.session)
})

test('hidden deltas still reach the session', async () => {
  const stream = Session.streamStart(engine(), messages, { emitTextDeltas: false })
  for await (const event of stream) {
    if (event.type !== 'message_completed') continue
    expect(JSON.stringify(stream.session.thread)).toContain('look')
    break
  }
})

test('a stream that fails before its first event throws, and its session is in status error', async () => {
  const failing = createEngine({
    adapter: fake({ script: [['preflight_error', 'invalid_request', {}]] }),
  })
  const stream = Session.streamStart(failing, messages)
  await expect(stream[Symbol.asyncIterator]().next()).rejects.toMatchObject({
    reason: 'invalid_request',
  })
  expect(stream.session).toMatchObject({
    status: 'error',
    error: { reason: 'invalid_request' },
    thread: { messages },
  })
})

test('a session that was left in the middle is idle and records the phase of its run', async () => {
  const stream = Session.streamStart(engine(), messages)
  for await (const event of stream) if (event.type === 'tool_execution_started') break
  expect(stream.session).toMatchObject({
    status: 'idle',
    run: { phase: 'tools', turns: 1, mode: 'auto' },
    calls: { c1: { state: 'running', told: 'no' } },
  })
})

test('a reply to a session that was left in the middle keeps the messages so far', async () => {
  const stream = Session.streamStart(engine(), messages)
  for await (const event of stream) if (event.type === 'text_delta') break
  const script: Script = [['text', 'fine']]
  const { session } = await Session.reply(
    createEngine({ adapter: fake({ script }) }),
    stream.session,
    'stop that',
  )
  expect(session.thread.messages).toMatchObject([
    { content: 'go' },
    { metadata: { partial: true } },
    { content: 'stop that' },
    { content: 'fine' },
  ])
  expect(session.run).toBeUndefined()
})

const echo = tool({
  name: 'echo',
  description: 'echoes',
  schema: { type: 'object' },
  handler: () => 'heard',
})

const call: Script[number] = ['tool_call', { id: 'c1', name: 'echo', arguments: {} }]

const engineOf = (...scripts: Script[]): Engine =>
  createEngine({ adapter: fake({ scripts }), tools: [echo] })

test('an empty answer is not requested again, wherever the run was cut', async () => {
  const uncut = (await Session.start(engineOf([call], []), messages)).session
  const stream = Session.streamStart(engineOf([call], []), messages)
  for await (const { type } of stream) {
    if (type !== 'message_completed' || stream.session.thread.messages.length === 1) continue
    const saved = Session.parse(Session.stringify(stream.session))
    // An engine without scripts: another model call would fail.
    const answers = saved.run?.silent === true ? [] : [[]]
    const { session } = await Session.resume(engineOf(...answers), saved)
    expect(session.status).toBe('completed')
    expect(session.thread).toEqual(uncut.thread)
  }
})

test('an answer that ended in an error is dropped and requested again on resume, and kept on reply', async () => {
  const failed: Script = [
    ['text', 'half'],
    ['finish', 'error'],
  ]
  const { session, result } = await Session.start(engineOf([call], failed), messages)
  expect(session).toMatchObject({ status: 'error', error: { kind: 'adapter', reason: 'unknown' } })
  expect(result).toMatchObject({ haltedReason: 'error', error: session.error })
  const saved = Session.parse(Session.stringify(session))
  const words = (of: Session): unknown[] => of.thread.messages.map(({ content }) => content)
  const resumed = await Session.resume(engineOf([['text', 'whole']]), saved)
  expect(words(resumed.session)).toEqual(['go', '', 'heard', 'whole'])
  const replied = await Session.reply(engineOf([['text', 'whole']]), saved, 'again')
  expect(words(replied.session)).toEqual(['go', '', 'heard', 'half', 'again', 'whole'])
})

test('an empty answer that ended in an error leaves nothing to drop', async () => {
  const { session } = await Session.start(engineOf([call], [['finish', 'error']]), messages)
  expect(session.status).toBe('error')
  const resumed = await Session.resume(engineOf([['text', 'whole']]), session)
  expect(resumed.session.thread.messages.map(({ role }) => role)).toEqual([
    'user',
    'assistant',
    'tool',
    'assistant',
  ])
})

test('an answer that does not match its schema is dropped and requested again on resume', async () => {
  const options = { responseFormat: z.object({ n: z.number() }) }
  const { session } = await Session.start(engineOf([['text', 'no JSON']]), messages, options)
  expect(session).toMatchObject({ status: 'error', error: { reason: 'invalid_output' } })
  expect(session.thread.messages.at(-1)?.content).toBe('no JSON')
  const saved = Session.parse(Session.stringify(session))
  const { result } = await Session.resume(engineOf([['text', '{"n":1}']]), saved, options)
  expect(result.output).toEqual({ n: 1 })
  expect(result.thread.messages.map(({ content }) => content)).toEqual(['go', '{"n":1}'])
})

describe('a cancelled run ends after resume with the same thread as a run that was not cancelled', () => {
  const scripts: Script[] = [[['text', 'look'], call], [['text', 'whole']]]
  const repeatable: Tool = { ...echo, idempotent: true }
  const engineAfter = (answers: number): Engine =>
    createEngine({ adapter: fake({ scripts: scripts.slice(answers) }), tools: [repeatable] })

  test.each([1, 2, 3, 4, 5, 6, 7, 8, 9])('cancelled at event %i', async (at) => {
    const uncut = (await Session.start(engineAfter(0), messages)).session
    const control = new AbortController()
    const stream = Session.streamStart(engineAfter(0), messages, { signal: control.signal })
    let events = 0
    let answers = 0
    for await (const { type } of stream) {
      if (type === 'message_completed') answers++
      if (++events === at) control.abort()
    }
    const saved = Session.parse(Session.stringify(stream.session))
    expect(saved).toMatchObject({ status: 'halted', haltedReason: 'cancelled' })
    const { session } = await Session.resume(engineAfter(answers), saved)
    expect(session.status).toBe('completed')
    expect(session.thread).toEqual(uncut.thread)
  })
})

describe('an answer of 2,000 calls', () => {
  test('costs a session no more new objects for its last call than for its first', () => {
    const { steps, calls } = manyCalls(2000)
    let reducer = Session.reduce(Session.create({ id: 's', messages: [user('go')] }))
    let known = objectsIn(Session.finalize(reducer).session)
    const made = new Map<string, number>()
    for (const [at, { events, watched }] of steps.entries()) {
      for (const event of events) {
        reducer = Session.applyEvent(reducer, event)
        if (!watched) continue
        const { session } = Session.finalize(reducer)
        const now = objectsIn(session)
        const count = [...now].filter((object) => !known.has(object)).length
        made.set(`${event.type} ${at}`, count)
        known = now
      }
      // What was not watched is not new for the next one that is.
      if (steps[at + 1]?.watched === true) known = objectsIn(Session.finalize(reducer).session)
    }
    for (const type of ['tool_call_started', 'tool_call_delta', 'tool_call_completed'] as const) {
      expect(made.get(`${type} ${calls}`), type).toBe(made.get(`${type} 2`))
    }
    for (const type of [
      'tool_execution_started',
      'tool_execution_completed',
      'tool_result_encoded',
    ] as const) {
      expect(made.get(`${type} ${2 * calls + 1}`), type).toBe(made.get(`${type} ${calls + 3}`))
    }
  })
})

/** The events of an answer with many calls, whose second and last call and second and last result are watched. */
function manyCalls(calls: number) {
  const toolCalls = Array.from({ length: calls }, (_, index) => ({
    id: `c${index}`,
    name: 'add',
    arguments: {},
    rawArguments: '{"x":1}',
  }))
  const message = { role: 'assistant', content: '', toolCalls } as const
  const steps: { readonly events: readonly StreamEvent[]; readonly watched: boolean }[] = [
    { events: [{ type: 'message_started', requestId: 'r', provider: 'p' }], watched: false },
    ...toolCalls.map((call, index) => ({
      events: [
        { type: 'tool_call_started', id: call.id, name: call.name },
        { type: 'tool_call_delta', id: call.id, argumentsDelta: '{"x":' },
        { type: 'tool_call_delta', id: call.id, argumentsDelta: '1}' },
        { type: 'tool_call_completed', call },
      ] as const,
      watched: index === 1 || index === calls - 1,
    })),
    {
      events: [{ type: 'message_completed', message, finishReason: 'tool_calls' }],
      watched: false,
    },
    ...toolCalls.map(({ id, name }, index) => ({
      events: [
        { type: 'tool_execution_started', id, name, arguments: {} },
        { type: 'tool_execution_completed', id, name, result: { ok: 2 }, durationMs: 1 },
        { type: 'tool_result_encoded', id, content: '2' },
      ] as const,
      watched: index === 1 || index === calls - 1,
    })),
  ]
  return { steps, calls }
}

/** Every object and list in a value. */
function objectsIn(value: unknown, found: Set<object> = new Set()): Set<object> {
  if (typeof value !== 'object' || value === null || found.has(value)) return found
  found.add(value)
  for (const member of Object.values(value)) objectsIn(member, found)
  return found
}
