import { describe, expect, test } from 'vitest'
import {
  askUser,
  chat,
  createEngine,
  fail,
  Session,
  type CallOptions,
  type SessionStream,
  type StreamEvent,
} from '../../../src/index.ts'
import { fake, type Script } from '../../../src/testing.ts'
import { call, echo, named } from '../chat/support.ts'

/** The end of a run, for its stream and for the reducer alike. An `onEvent` that throws there ends nothing, and nothing is lost. */

const ask = named('ask', () => askUser('Which?'))
const form = { ...named('form', () => 0), manual: true }
const pay = named('pay', () => 'paid', { needsApproval: true })
const ok: Script = [['text', 'ok']]

const refuses = (type: StreamEvent['type'], at = 1): CallOptions => {
  let seen = 0
  return {
    onEvent: (event) => {
      if (event.type === type && ++seen === at) throw new Error('HOOK')
    },
  }
}

/** Reads a stream to its end. Its session and the reducer's must be the same after every event. */
async function read(stream: SessionStream): Promise<{ session: Session; types: string[] }> {
  let reduced = Session.reduce(stream.session)
  const types: string[] = []
  for await (const event of stream) {
    types.push(event.type)
    reduced = Session.applyEvent(reduced, structuredClone(event))
    expect(Session.finalize(reduced).session).toEqual(stream.session)
  }
  return { session: Session.parse(Session.stringify(stream.session)), types }
}

describe.each(['step_completed', 'chat_completed'] as const)('onEvent throws at %s', (type) => {
  test.each([
    { name: 'an answer', script: ok, status: 'completed' },
    { name: 'an empty answer', script: [['usage', { inputTokens: 1 }]], status: 'completed' },
    { name: 'a question', script: [call('c1', 'ask')], status: 'awaiting_user' },
    { name: 'an approval', script: [call('c1', 'pay')], status: 'awaiting_approval' },
    { name: 'a manual call', script: [call('c1', 'form')], status: 'awaiting_tools' },
  ] satisfies { name: string; script: Script; status: string }[])(
    'at $name: the session is in error, and resumed it ends as without the error',
    async ({ script, status }) => {
      const engine = () =>
        createEngine({ tools: [ask, form, pay], adapter: fake({ scripts: [script] }) })
      const { session: expected } = await Session.start(engine(), 'go', { id: 's' })
      expect(expected.status).toBe(status)
      const own = engine()
      const failed = await read(Session.streamStart(own, 'go', { id: 's', ...refuses(type) }))
      expect(failed.types.at(-1)).toBe('error')
      expect(failed.session.status).toBe('error')
      const seen: string[] = []
      const { session } = await read(
        Session.streamResume(own, failed.session, {
          onEvent: (event) => void seen.push(event.type),
        }),
      )
      expect(seen).toEqual(expect.arrayContaining(['step_completed', 'chat_completed']))
      expect(session).toMatchObject({
        status,
        thread: expected.thread,
        pendingToolCalls: expected.pendingToolCalls,
        pendingApprovals: expected.pendingApprovals,
      })
      expect(session.pendingQuestion).toBe(expected.pendingQuestion)
    },
  )
})

test('onEvent throws at the end of a step in the middle: the tool does not run again', async () => {
  let runs = 0
  const counts = named('counts', () => ++runs)
  const adapter = fake({ scripts: [[call('c1', 'counts')], ok] })
  const engine = createEngine({ tools: [counts], adapter })
  const { session, result } = await Session.start(engine, 'go', refuses('step_completed'))
  expect([session.status, result.haltedReason]).toEqual(['error', 'error'])
  const { session: last } = await Session.resume(engine, session)
  expect([last.status, runs, adapter.calls.length]).toEqual(['completed', 1, 2])
})

test('onEvent throws at the only event of a late question: the question is kept', async () => {
  const engine = createEngine({
    tools: [ask],
    adapter: fake({ scripts: [[call('c1', 'ask')], ok] }),
  })
  const stream = Session.streamStart(engine, 'go')
  for await (const event of stream) if (event.type === 'tool_execution_completed') break
  const more = Session.append(stream.session, 'by the way')
  const { session } = await read(Session.streamResume(engine, more, refuses('chat_completed')))
  expect(session.status).toBe('error')
  const { session: asked } = await read(Session.streamResume(engine, session))
  expect(asked).toMatchObject({ status: 'awaiting_user', pendingQuestion: 'Which?' })
  const { session: last } = await Session.reply(engine, asked, 'this one')
  expect(last.status).toBe('completed')
  expect(JSON.stringify(last.thread)).toContain('this one')
})

test('onEvent throws at the end of a chat: it rejects, and the partial result has the answer', async () => {
  const engine = createEngine({ tools: [echo], adapter: fake({ scripts: [ok] }) })
  await expect(chat(engine, 'go', refuses('chat_completed'))).rejects.toMatchObject({
    message: expect.stringContaining('HOOK'),
    partial: { haltedReason: 'error', outputText: 'ok', thread: { messages: { length: 2 } } },
  })
})

test('a late failure that halts, before a stop, ends the resumed run in its error', async () => {
  const fails = named('fails', () => fail('nope'))
  const engine = createEngine({
    tools: [fails],
    onToolError: 'halt',
    adapter: fake({ scripts: [[call('c1', 'fails')], ok] }),
  })
  const cut = Session.streamStart(engine, 'go')
  for await (const event of cut) if (event.type === 'tool_execution_completed') break
  const stop = new AbortController()
  const options = { signal: stop.signal, onEvent: () => stop.abort() }
  const { session } = await read(Session.streamReply(engine, cut.session, 'more', options))
  expect([session.status, session.haltedReason]).toEqual(['halted', 'cancelled'])
  const { session: last } = await read(Session.streamResume(engine, session))
  expect(last).toMatchObject({ status: 'error', error: { reason: 'handler_failed' } })
})

test('a step with an empty answer after a late result is done, and so is the session', async () => {
  const adapter = fake({ scripts: [[call('c1', 'pay')], ok, [['usage', { inputTokens: 5 }]]] })
  const engine = createEngine({ tools: [pay], adapter })
  const first = await Session.start(engine, 'go')
  const { session: later } = await Session.reply(engine, first.session, 'wait')
  const { session, result } = await Session.step(engine, Session.deny(later, 'c1', 'no'))
  expect([result.done, session.status]).toEqual([true, 'completed'])
})
