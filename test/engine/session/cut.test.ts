import { describe, expect, test } from 'vitest'
import {
  askUser,
  createEngine,
  Session,
  SessionError,
  type Engine,
  type StreamEvent,
  type Tool,
} from '../../../src/index.ts'
import { fake, type Script } from '../../../src/testing.ts'
import { call, named } from '../chat/support.ts'

/** A run that was cut in the middle: what may follow, and what is kept. */

const engineOf = (tools: readonly Tool[], ...scripts: Script[]): Engine =>
  createEngine({ adapter: fake({ scripts }), tools })
const saved = (session: Session): Session => Session.parse(Session.stringify(session))
const pay = named('pay', () => 'PAID-1')
const ask = named('ask', () => askUser('Which seat?'))
const { handler: _handler, ...form } = named('hand', () => 0)
const hand: Tool = { ...form, manual: true }
const ok: Script = [['text', 'ok']]

/** The session of a run that was cut after the first event of a type. */
async function cutAt(engine: Engine, type: StreamEvent['type']): Promise<Session> {
  const stream = Session.streamStart(engine, 'go')
  for await (const event of stream) if (event.type === type) break
  return saved(stream.session)
}

describe('start is refused where it would lose something', () => {
  test.each([
    ['pay', 'tool_call_started'],
    ['pay', 'message_completed'],
    ['pay', 'tool_execution_started'],
    ['pay', 'tool_execution_completed'],
    ['pay', 'tool_result_encoded'],
    ['ask', 'ask_user_requested'],
  ] as const)('%s, cut at %s', async (name, type) => {
    const engine = engineOf([pay, ask], [call('c1', name)], ok)
    const session = await cutAt(engine, type)
    expect(Session.legalOperations(session)).toEqual([
      'reply',
      'resume',
      'step',
      'append',
      'rewind',
    ])
    const error = await Session.start(engine, session).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(SessionError)
    expect((error as SessionError).message).toContain('legal now: Session.reply, Session.resume')
  })

  test('a fresh session, one between two steps and a completed one can be started', async () => {
    const engine = engineOf([pay], [call('c1', 'pay')], ok, ok)
    const fresh = saved(Session.streamStart(engine, 'go').session)
    expect(Session.legalOperations(fresh)).toContain('start')
    const between = await cutAt(engine, 'step_completed')
    const { session } = await Session.start(engine, between)
    expect(session.status).toBe('completed')
    expect((await Session.start(engine, session)).session.status).toBe('completed')
  })
})

describe('the words of the user after a cut', () => {
  test.each(['tool_call_started', 'message_completed'] as const)(
    'a call that was cut at %s was not run, and the model is told so',
    async (type) => {
      const engine = engineOf([pay], [['text', 'x'], call('c1', 'pay')], ok)
      const { session } = await Session.reply(engine, await cutAt(engine, type), 'hm')
      expect(session.thread.messages[2]?.content).toContain('it was not run')
    },
  )

  test.each(['reply', 'append', 'resume'] as const)(
    'a call that was started is reported as interrupted by %s',
    async (how) => {
      const engine = engineOf([pay], [call('c1', 'pay')], ok)
      const cut = await cutAt(engine, 'tool_execution_started')
      const { session } =
        how === 'reply'
          ? await Session.reply(engine, cut, 'hm')
          : await Session.resume(engine, how === 'append' ? Session.append(cut, 'hm') : cut)
      const told = session.thread.messages.find(({ role }) => role === 'tool')
      expect(told?.content).toContain('may have taken effect')
      expect(told?.metadata).toEqual({ interrupted: true, reason: 'interrupted', reported: true })
    },
  )

  test('an empty reply is told of resume only where that is legal', async () => {
    const engine = engineOf([pay], [call('c1', 'pay')], ok)
    const cut = await cutAt(engine, 'step_completed')
    await expect(Session.reply(engine, cut, '')).rejects.toThrow('Session.resume')
    const { session } = await Session.resume(engine, cut)
    await expect(Session.reply(engine, session, '')).rejects.not.toThrow('Session.resume')
    await expect(Session.reply(engine, session, '')).rejects.toThrow('is empty')
  })
})

describe('a rewind that removes nothing keeps what is pending', () => {
  const end = (session: Session): Session => Session.rewind(session, session.thread.messages.length)

  test('an open question', async () => {
    const engine = engineOf([ask], [call('c1', 'ask')], ok)
    const { session } = await Session.start(engine, 'go')
    expect(end(session)).toEqual(session)
    const cut = await cutAt(engineOf([ask], [call('c1', 'ask')]), 'ask_user_requested')
    const { session: asked } = await Session.resume(engine, end(cut))
    expect(asked).toMatchObject({ status: 'awaiting_user', pendingQuestion: 'Which seat?' })
  })

  test('calls that wait, and stored results', async () => {
    const { session } = await Session.start(engineOf([hand], [call('c1', 'hand')]), 'go')
    expect(end(session)).toEqual(session)
    const engine = engineOf([pay], [call('c1', 'pay')], ok)
    const cut = end(await cutAt(engine, 'tool_execution_completed'))
    const { session: after } = await Session.resume(engine, cut)
    expect(after.thread.messages[2]?.content).toContain('PAID-1')
  })

  test('a completed session can then be asked again', async () => {
    const engine = engineOf([], ok, ok)
    const { session } = await Session.start(engine, 'go')
    expect(end(session).status).toBe('idle')
    expect(end(session).thread).toEqual(session.thread)
  })
})

describe('a manual call that was approved late', () => {
  test('leaves the session waiting for the other approval first', async () => {
    const engine = engineOf(
      [
        { ...hand, needsApproval: true },
        { ...pay, needsApproval: true },
      ],
      [call('c1', 'hand'), call('c2', 'pay')],
      ok,
    )
    const first = await Session.start(engine, 'go')
    const { session } = await Session.reply(engine, first.session, 'hm')
    const stream = Session.streamNext(engine, session, { type: 'approve', toolCallId: 'c1' })
    const after = (await stream.result).session
    expect(after).toMatchObject({
      status: 'awaiting_approval',
      pendingApprovals: [{ id: 'c2' }],
      pendingToolCalls: [{ id: 'c1' }],
    })
    expect(stream.session).toEqual(after)
  })
})

describe('what was paid is told once', () => {
  const plain = named('plain', () => 'R')
  const gated = named('gated', () => 'R', { needsApproval: true })
  const paid = (inputTokens: number, ...entries: Script): Script => [
    ...entries,
    ['usage', { inputTokens }],
  ]
  const scripts = (name: string): Script[] => [paid(5, call('c1', name)), paid(1, ['text', 'ok'])]
  const told = (...results: { readonly usage: { readonly inputTokens?: number } }[]): number =>
    results.reduce((sum, { usage }) => sum + (usage.inputTokens ?? 0), 0)

  test.each(['reply', 'append', 'rewind', 'start'] as const)('after a cut, by %s', async (how) => {
    const engine = engineOf([plain], ...scripts('plain'))
    const type = how === 'start' ? 'step_completed' : 'tool_result_encoded'
    const cut = await cutAt(engine, type)
    const { result } =
      how === 'reply'
        ? await Session.reply(engine, cut, 'hm')
        : how === 'start'
          ? await Session.start(engine, cut)
          : await Session.resume(
              engine,
              how === 'append' ? Session.append(cut, 'hm') : Session.rewind(cut, 1),
            )
    expect(told(result)).toBe(6)
  })

  test('after a crash between the last step and the result', async () => {
    const engine = engineOf([gated], ...scripts('gated'))
    const cut = await cutAt(engine, 'step_completed')
    expect(cut.status).toBe('awaiting_approval')
    const { result } = await Session.resume(engine, Session.approve(cut, 'c1'))
    expect(told(result)).toBe(6)
    const once = engineOf([], paid(5, ['text', 'ok']), paid(1, ['text', 'ok']))
    const completed = await cutAt(once, 'step_completed')
    expect(completed.status).toBe('completed')
    const next = await Session.reply(once, completed, 'hm')
    expect(told(next.result)).toBe(6)
    expect(next.session.run).toBeUndefined()
  })

  test('after a crash at an error, and after a result that told of the error', async () => {
    const failing = (): Engine =>
      engineOf(
        [plain],
        paid(5, call('c1', 'plain')),
        [['error', 'timeout']],
        paid(1, ['text', 'ok']),
      )
    const engine = failing()
    const stream = Session.streamStart(engine, 'go')
    let crashed = stream.session
    for await (const event of stream) if (event.type === 'error') crashed = saved(stream.session)
    expect(crashed.status).toBe('error')
    expect(told((await Session.resume(engine, crashed)).result)).toBe(6)
    const other = failing()
    const first = await Session.start(other, 'go')
    const second = await Session.resume(other, first.session)
    expect([told(first.result), told(second.result)]).toEqual([5, 1])
  })

  test('by a result that was read after a break, and the session of that result', async () => {
    const engine = engineOf([plain], ...scripts('plain'))
    const stream = Session.streamStart(engine, 'go')
    for await (const event of stream) if (event.type === 'tool_result_encoded') break
    const first = await stream.result
    expect(stream.session).toEqual(first.session)
    const second = await Session.resume(engine, first.session)
    expect([told(first.result), told(second.result)]).toEqual([5, 1])
  })

  test('by a step, which tells its own answer only', async () => {
    const engine = engineOf([plain], ...scripts('plain'), paid(3, ['text', 'ok']))
    const cut = await cutAt(engine, 'step_completed')
    const step = await Session.step(engine, cut)
    expect(step.result.response.usage).toEqual({ inputTokens: 1 })
    const { result } = await Session.reply(engine, saved(step.session), 'hm')
    expect(told(result)).toBe(5 + 3)
    const other = engineOf([plain], ...scripts('plain'))
    const first = await Session.step(other, Session.create({ messages: 'go' }))
    const second = await Session.resume(other, first.session)
    expect([told(first.result.response), told(second.result)]).toEqual([5, 1])
  })
})

describe('maxTurns counts over late results', () => {
  const gated = named('gated', () => 'R', { needsApproval: true })
  const limited = { maxTurns: 1 }

  test('of a call that was approved late: it runs, and the model is asked when the run is resumed', async () => {
    const adapter = fake({ scripts: [[call('c1', 'gated')], ok, ok] })
    const engine = createEngine({ adapter, tools: [gated] })
    const first = await Session.start(engine, 'go', limited)
    const second = await Session.reply(engine, saved(first.session), 'hm', limited)
    const decided = saved(Session.approve(second.session, 'c1'))
    const third = await Session.resume(engine, decided, limited)
    expect(adapter.calls).toHaveLength(2)
    expect(third.session).toMatchObject({ status: 'halted', haltedReason: 'max_turns' })
    expect(third.session.thread.messages.at(-1)?.metadata).toEqual({ lateResultOf: 'c1' })
    const last = await Session.resume(engine, saved(third.session), limited)
    expect(adapter.calls).toHaveLength(3)
    expect(last.session.status).toBe('completed')
  })

  test('of a result that was submitted late', async () => {
    const adapter = fake({ scripts: [[call('c1', 'hand')], ok, ok] })
    const engine = createEngine({ adapter, tools: [hand] })
    const first = await Session.start(engine, 'go', limited)
    const second = await Session.reply(engine, first.session, 'hm', limited)
    const handed = saved(Session.submitToolResult(second.session, 'c1', 'R'))
    const third = await Session.resume(engine, handed, limited)
    expect(adapter.calls).toHaveLength(2)
    expect(third.session).toMatchObject({ status: 'halted', haltedReason: 'max_turns' })
    const last = await Session.resume(engine, third.session, limited)
    expect(last.session.status).toBe('completed')
  })

  test('words of the user count anew', async () => {
    const engine = engineOf([hand], [call('c1', 'hand')], ok, ok)
    const first = await Session.start(engine, 'go', limited)
    const second = await Session.reply(engine, first.session, 'hm', limited)
    const handed = Session.submitToolResult(second.session, 'c1', 'R')
    const { session } = await Session.reply(engine, handed, 'and now?', limited)
    expect(session.status).toBe('completed')
  })
})

describe('the usage of a run that only says what it waits for', () => {
  const gated = named('gated', () => 'R', { needsApproval: true })
  const usage: Script[number] = ['usage', { inputTokens: 5 }]

  test('is told by it, and not again', async () => {
    const engine = engineOf([gated], [call('c1', 'gated'), call('c2', 'gated'), usage], ok)
    const cut = await cutAt(engine, 'step_completed')
    const stream = Session.streamNext(engine, cut, { type: 'approve', toolCallId: 'c1' })
    const { session, result } = await stream.result
    expect(result.usage).toEqual({ inputTokens: 5 })
    const last = await Session.resume(engine, Session.approve(session, 'c2'))
    expect(last.result.usage).toEqual({})
  })

  test('is told alike by a stream and by a fold of its events', async () => {
    const asks = named('asks', () => askUser('Which seat?', { resume: true }))
    const engine = engineOf([asks], [call('c1', 'asks'), usage])
    const session = Session.append(await cutAt(engine, 'tool_execution_completed'), 'hm')
    const stream = Session.streamResume(engine, session)
    let reducer = Session.reduce(stream.session)
    for await (const event of stream) reducer = Session.applyEvent(reducer, event)
    expect(Session.finalize(reducer).session).toEqual(stream.session)
    const { result, session: after } = Session.finalize(reducer)
    expect([result.usage, after.run?.usage]).toEqual([{ inputTokens: 5 }, undefined])
  })
})
