import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { askUser, createEngine, Session, type Engine, type Tool } from '../../../src/index.ts'
import { fake, type Script } from '../../../src/testing.ts'
import { call, named } from '../chat/support.ts'

/** What somebody decided or said holds, also if the call is not run by the loop that goes on. */

const pay = named('pay', () => 'paid', { needsApproval: true })
const asks = named('asks', (_args, { answer }) =>
  answer === undefined ? askUser('Which?', { resume: true }) : 'heard',
)
const engineOf = (tools: readonly Tool[], ...scripts: Script[]): Engine =>
  createEngine({ tools, adapter: fake({ scripts }) })
const ok: Script = [['text', 'ok']]
const manual = { mode: 'manual' } as const
const results = ({ thread }: Session): unknown[] =>
  thread.messages.filter(({ role }) => role === 'tool').map(({ content }) => content)

describe('a decision in manual mode', () => {
  test('a denied call is told to the model, and does not wait', async () => {
    const engine = engineOf([pay], [call('c1', 'pay')], ok)
    const first = await Session.start(engine, 'go')
    const denied = Session.deny(first.session, 'c1', 'over the limit')
    const { session } = await Session.resume(engine, denied, manual)
    expect(session).toMatchObject({ status: 'completed', pendingToolCalls: [] })
    expect(results(session)).toEqual([expect.stringContaining('over the limit')])
  })

  test('an approved call waits for the caller, with the approved arguments', async () => {
    const engine = engineOf([pay], [call('c1', 'pay'), call('c2', 'pay')], ok)
    const first = await Session.start(engine, 'go')
    const approved = Session.approve(first.session, 'c1', { arguments: { euros: 1 } })
    const decided = Session.deny(approved, 'c2', 'no')
    const { session } = await Session.resume(engine, decided, manual)
    expect(session.status).toBe('awaiting_tools')
    expect(session.pendingToolCalls).toEqual([{ id: 'c1', name: 'pay', arguments: { euros: 1 } }])
    const { session: last } = await Session.resume(
      engine,
      Session.submitToolResult(session, 'c1', 'by hand'),
    )
    expect(last.status).toBe('completed')
    expect(results(last)).toEqual([
      expect.stringMatching(/\{"euros":1\}[^]*by hand/),
      expect.stringContaining('denied'),
    ])
  })

  test('a call that was approved late waits for the caller, too', async () => {
    const engine = engineOf([pay], [call('c1', 'pay')], ok, ok)
    const first = await Session.start(engine, 'go')
    const { session: later } = await Session.reply(engine, first.session, 'wait')
    const approved = Session.approve(later, 'c1', { arguments: { euros: 1 } })
    const { session } = await Session.resume(engine, approved, manual)
    expect(session.status).toBe('awaiting_tools')
    expect(session.pendingToolCalls).toMatchObject([{ id: 'c1', arguments: { euros: 1 } }])
  })

  test('a call that was approved late waits for the caller after a single step, too', async () => {
    const { handler: _handler, ...form } = { ...pay, manual: true }
    for (const [tool, options] of [
      [pay, manual],
      [form, {}],
    ] as const) {
      const engine = engineOf([tool], [call('c1', 'pay')], ok, ok)
      const first = await Session.start(engine, 'go')
      const { session: later } = await Session.reply(engine, first.session, 'wait')
      const approved = Session.append(Session.approve(later, 'c1'), 'and?')
      const { session } = await Session.step(engine, approved, options)
      expect(session.status).toBe('awaiting_tools')
      expect(session.pendingToolCalls).toMatchObject([{ id: 'c1' }])
    }
  })

  test('a result that is there is told, and its handler does not run again by hand', async () => {
    const echo = named('echo', () => 'there')
    const engine = engineOf([echo], [call('c1')], ok)
    const stream = Session.streamStart(engine, 'go')
    for await (const event of stream) if (event.type === 'tool_execution_completed') break
    const { session } = await Session.resume(engine, stream.session, manual)
    expect(session.status).toBe('completed')
    expect(results(session)).toEqual(['there'])
  })
})

describe('the words of the user reach the model', () => {
  const words = expect.stringContaining('"userAnswered":"MY WORDS"')
  const asked = async (): Promise<Session> =>
    (await Session.start(engineOf([asks], [call('c1', 'asks')]), 'go')).session

  test('when the run goes on in manual mode', async () => {
    const { session } = await Session.reply(engineOf([asks], ok), await asked(), 'MY WORDS', manual)
    expect(session.status).toBe('completed')
    expect(results(session)).toEqual([words])
  })

  test('when the engine has no such tool any more, or one that the caller runs', async () => {
    const { handler: _handler, ...rest } = asks
    for (const tools of [[], [{ ...rest, manual: true }]]) {
      const { session } = await Session.reply(engineOf(tools, ok), await asked(), 'MY WORDS')
      expect(session.status).toBe('completed')
      expect(results(session)).toEqual([words])
    }
  })

  test('when the second pass of structuredFinalize offers no tools', async () => {
    const responseFormat = z.object({ n: z.number() })
    const options = { responseFormat, structuredFinalize: true }
    const engine = engineOf([asks], ok, [call('c1', 'asks')], [['text', '{"n":1}']])
    const stream = Session.streamStart(engine, 'go', options)
    for await (const event of stream) if (event.type === 'step_completed') break
    const { session: waits } = await Session.step(engine, stream.session)
    expect(waits.status).toBe('awaiting_user')
    const { session, result } = await Session.reply(engine, waits, 'MY WORDS', options)
    expect([session.status, result.output]).toEqual(['completed', { n: 1 }])
    expect(results(session)).toEqual([words])
  })

  test('when the question was a late one', async () => {
    const engine = engineOf([{ ...asks, needsApproval: true }], [call('c1', 'asks')], ok)
    const first = await Session.start(engine, 'go')
    const { session: later } = await Session.reply(engine, first.session, 'wait')
    const { session } = await Session.resume(engine, Session.approve(later, 'c1'))
    expect(session).toMatchObject({ status: 'awaiting_user', pendingQuestion: 'Which?' })
    for (const [next, options] of [
      [engineOf([asks], ok), manual],
      [engineOf([], ok), {}],
    ] as const) {
      const { session: last } = await Session.reply(next, session, 'MY WORDS', options)
      expect(last.status).toBe('completed')
      expect(last.thread.messages.at(-2)).toMatchObject({ content: words })
    }
  })
})
