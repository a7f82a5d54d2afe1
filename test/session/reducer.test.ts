import { expect, test } from 'vitest'
import {
  createEngine,
  isSendable,
  Session,
  tool,
  user,
  validateSession,
  type StreamEvent,
} from '../../src/index.ts'
import { collectEvents, fake, virtualClock, type Script } from '../../src/testing.ts'

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

test('the session of the stream is legal, sendable and JSON at every event, and never loses the input', async () => {
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

test('the reducer gives the same session as the stream, event for event, and is pure', async () => {
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

test('a session that was left in the middle is idle, and says where it was', async () => {
  const stream = Session.streamStart(engine(), messages)
  for await (const event of stream) if (event.type === 'tool_execution_started') break
  expect(stream.session).toMatchObject({
    status: 'idle',
    run: { phase: 'tools', turns: 1, mode: 'auto', started: ['c1'] },
  })
})

test('a reply to a session that was left in the middle keeps what was said', async () => {
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
