import { describe, expect, test } from 'vitest'
import {
  chat,
  createEngine,
  Session,
  type CallOptions,
  type Engine,
  type StepResult,
  type Tool,
} from '../../../src/index.ts'
import { collectEvents, fake, type Fake, type Script } from '../../../src/testing.ts'
import { call, echo, named } from '../chat/support.ts'

/** Runs that go on: after an approval, a submitted result, an answer, a cut. What they count, and what they may do. */

const pay = named('pay', () => 'paid', { needsApproval: true })
const form = (extra: Partial<Tool> = {}): Tool => {
  const { handler: _handler, ...rest } = named('form', () => 0, extra)
  return { ...rest, manual: true }
}
const paid = (inputTokens: number, ...entries: Script): Script => [
  ...entries,
  ['usage', { inputTokens }],
]
const ok: Script[number] = ['text', 'ok']
const saved = (session: Session): Session => Session.parse(Session.stringify(session))

describe('the usage of results adds up to what was paid', () => {
  test('over an approval, also for onStep', async () => {
    const steps: (number | undefined)[] = []
    const onStep = ({ response }: StepResult): void => void steps.push(response.usage.inputTokens)
    const scripts = [paid(10, call('c1', 'pay')), paid(20, ok)]
    const engine = createEngine({ adapter: fake({ scripts }), tools: [pay], onStep })
    const first = await Session.start(engine, 'go')
    const second = await Session.resume(engine, Session.approve(saved(first.session), 'c1'))
    expect([first.result.usage, second.result.usage]).toEqual([
      { inputTokens: 10 },
      { inputTokens: 20 },
    ])
    expect(steps).toEqual([10, undefined, 20])
  })

  test('over a cut after any event', async () => {
    const scripts = [paid(10, call('c1')), paid(20, call('c2')), paid(30, ok)]
    const engine = (): Engine => createEngine({ adapter: fake({ scripts }), tools: [echo] })
    const all = await collectEvents(Session.streamStart(engine(), 'go'))
    const answers = [10, 20, 30]
    for (let cut = 1; cut < all.length; cut++) {
      const own = engine()
      const stream = Session.streamStart(own, 'go')
      let seen = 0
      for await (const event of stream) {
        expect(event.type).toBe(all[seen]?.type)
        if (++seen === cut) break
      }
      const before = all.slice(0, cut).filter(({ type }) => type === 'message_completed').length
      const left = answers.slice(before)
      const adapter = fake({ scripts: scripts.slice(before) })
      const next = createEngine({ adapter, tools: [echo] })
      const session = saved(stream.session)
      if (session.status !== 'idle') continue
      const { result } = await Session.resume(next, session)
      expect(adapter.calls).toHaveLength(left.length)
      expect(result.usage.inputTokens).toBe(60)
    }
  })

  test('over a failure and a stop, whose results have told their part', async () => {
    const control = new AbortController()
    const stops = named('stops', () => control.abort())
    const scripts = [paid(10, call('c1')), paid(20, call('c2', 'stops')), paid(30, ok)]
    const engine = createEngine({ adapter: fake({ scripts }), tools: [echo, stops] })
    const first = await Session.start(engine, 'go', { signal: control.signal })
    const failing: CallOptions = {
      onStep: () => {
        throw new Error('not saved')
      },
    }
    const second = await Session.resume(engine, saved(first.session), failing)
    const third = await Session.resume(engine, saved(second.session))
    expect([first, second, third].map(({ session }) => session.status)).toEqual([
      'halted',
      'error',
      'completed',
    ])
    expect([first, second, third].map(({ result }) => result.usage.inputTokens ?? 0)).toEqual([
      30, 0, 30,
    ])
  })
})

describe('maxTurns counts the model calls since the message of the user', () => {
  /** Calls the tool in every answer. */
  const insatiable = (name: string): Fake =>
    fake({ script: (_request, { call: n }) => [call(`c${n}`, name)] })

  const goOn: Readonly<Record<string, (session: Session) => Session>> = {
    pay: (session) => Session.approve(session, session.pendingApprovals[0]?.id ?? ''),
    form: (session) =>
      Session.submitToolResult(session, session.pendingToolCalls[0]?.id ?? '', 'filled'),
  }

  test.each(['pay', 'form'])('over waits for %s', async (name) => {
    const adapter = insatiable(name)
    const engine = createEngine({ adapter, tools: [pay, form()], maxTurns: 2 })
    let { session } = await Session.start(engine, 'go')
    for (let waits = 0; waits < 9 && session.status.startsWith('awaiting'); waits++) {
      session = (await Session.resume(engine, saved(goOn[name]?.(session) ?? session))).session
    }
    expect(session).toMatchObject({ status: 'halted', haltedReason: 'max_turns' })
    expect(adapter.calls).toHaveLength(2)
    expect(session.thread.messages.at(-1)?.role).toBe('tool')
    // Whoever resumes it, or speaks, begins anew.
    const resumed = await Session.resume(engine, saved(session))
    expect(resumed.session.status).toMatch(/^awaiting/)
    expect(adapter.calls).toHaveLength(3)
    const spoken = await Session.reply(engine, saved(session), 'go on')
    expect(spoken.session.status).toMatch(/^awaiting/)
  })

  test('over answered questions', async () => {
    const ask = named('ask', async () => {
      const { askUser } = await import('../../../src/index.ts')
      return askUser('really?')
    })
    const adapter = insatiable('ask')
    const engine = createEngine({ adapter, tools: [ask], maxTurns: 2 })
    let { session } = await Session.start(engine, 'go')
    for (let waits = 0; waits < 9 && session.status === 'awaiting_user'; waits++) {
      session = (await Session.reply(engine, saved(session), 'yes')).session
    }
    expect(session).toMatchObject({ status: 'halted', haltedReason: 'max_turns' })
    expect(adapter.calls).toHaveLength(2)
  })

  test('in a chat that goes on with approvals', async () => {
    const adapter = insatiable('pay')
    const engine = createEngine({ adapter, tools: [pay], maxTurns: 2 })
    let result = await chat(engine, 'go')
    for (let waits = 0; waits < 9 && result.haltedReason === 'approval'; waits++) {
      const approvals = Object.fromEntries(result.pendingApprovals.map(({ id }) => [id, true]))
      result = await chat(engine, result.thread, { approvals } as CallOptions)
    }
    expect(result.haltedReason).toBe('max_turns')
    expect(adapter.calls).toHaveLength(2)
  })

  test('the stream says so, and is folded like every other', async () => {
    const engine = createEngine({ adapter: insatiable('form'), tools: [form()], maxTurns: 1 })
    const { session } = await Session.start(engine, 'go')
    const ready = goOn['form']?.(session) ?? session
    const stream = Session.streamResume(engine, ready)
    let reducer = Session.reduce(stream.session)
    const events = []
    for await (const event of stream) {
      events.push(event.type)
      reducer = Session.applyEvent(reducer, event)
    }
    expect(events).toEqual(['chat_completed'])
    expect(stream.session).toMatchObject({ status: 'halted', haltedReason: 'max_turns' })
    expect(Session.finalize(reducer).session).toEqual(stream.session)
  })
})

describe('approvals of manual tools', () => {
  const engineWith = (options: CallOptions, extra: Partial<Tool> = {}): Engine => {
    const scripts: Script[] = [[call('c1', 'form')], [ok]]
    return createEngine({ adapter: fake({ scripts }), tools: [form(extra)], ...options })
  }

  test('a policy that denies answers the call', async () => {
    const { session } = await Session.start(engineWith({ approve: () => ({ deny: 'no' }) }), 'go')
    expect(session.status).toBe('completed')
    expect(session.thread.messages[2]).toMatchObject({ metadata: { denied: true } })
  })

  test('a policy that lets it run leaves it to the caller', async () => {
    const { session } = await Session.start(engineWith({ approve: () => 'run' }), 'go')
    expect(session).toMatchObject({ status: 'awaiting_tools', pendingToolCalls: [{ id: 'c1' }] })
  })

  test.each([
    ['a policy', { approve: () => 'ask' }, {}],
    ['needsApproval', {}, { needsApproval: true }],
  ] as const)('%s asks first, then the call waits for its result', async (_what, policy, extra) => {
    const engine = engineWith(policy, extra)
    const { session } = await Session.start(engine, 'go')
    expect(session).toMatchObject({
      status: 'awaiting_approval',
      pendingToolCalls: [],
      pendingApprovals: [{ id: 'c1' }],
    })
    const changed = Session.approve(saved(session), 'c1', { arguments: { id: 'c2' } })
    const asked = (await Session.resume(engine, saved(changed))).session
    expect(asked).toMatchObject({
      status: 'awaiting_tools',
      pendingApprovals: [],
      pendingToolCalls: [{ id: 'c1', arguments: { id: 'c2' } }],
    })
    const answered = Session.submitToolResult(saved(asked), 'c1', 'filled')
    const { session: after } = await Session.resume(engine, saved(answered))
    expect(after.status).toBe('completed')
    expect(after.thread.messages[2]).toMatchObject({
      role: 'tool',
      content: expect.stringContaining('filled'),
      metadata: { approvedArguments: { id: 'c2' } },
    })
  })

  test('a call that is approved after the user spoke waits for its result, and the model is not asked', async () => {
    const scripts: Script[] = [[call('c1', 'form')], [ok], [ok]]
    const adapter = fake({ scripts })
    const engine = createEngine({ adapter, tools: [form({ needsApproval: true })] })
    const { session } = await Session.start(engine, 'go')
    const spoken = (await Session.reply(engine, saved(session), 'And?')).session
    const stream = Session.streamNext(engine, saved(spoken), { type: 'approve', toolCallId: 'c1' })
    const waiting = (await stream.result).session
    expect(waiting).toMatchObject({
      status: 'awaiting_tools',
      pendingApprovals: [],
      pendingToolCalls: [{ id: 'c1' }],
    })
    expect(adapter.calls).toHaveLength(2)
    const answered = Session.submitToolResult(saved(waiting), 'c1', 'filled')
    const after = (await Session.resume(engine, saved(answered))).session
    expect(after.status).toBe('completed')
    expect(after.thread.messages.at(-2)).toMatchObject({
      content: expect.stringContaining('filled'),
      metadata: { lateResultOf: 'c1' },
    })
  })

  test('a call that was approved before the user spoke waits too', async () => {
    const scripts: Script[] = [[call('c1', 'form')], [ok]]
    const engine = createEngine({
      adapter: fake({ scripts }),
      tools: [form({ needsApproval: true })],
    })
    const { session } = await Session.start(engine, 'go')
    const { session: spoken } = await Session.reply(engine, Session.approve(session, 'c1'), 'And?')
    expect(spoken).toMatchObject({ status: 'awaiting_tools', pendingToolCalls: [{ id: 'c1' }] })
  })

  test('a call that is denied by somebody is answered', async () => {
    const engine = engineWith({}, { needsApproval: true })
    const { session } = await Session.start(engine, 'go')
    const after = await Session.resume(engine, Session.deny(session, 'c1', 'no'))
    expect(after.session.status).toBe('completed')
  })

  test('in a chat', async () => {
    const engine = engineWith({}, { needsApproval: true })
    const { thread, pendingApprovals } = await chat(engine, 'go')
    expect(pendingApprovals).toMatchObject([{ id: 'c1' }])
    const after = await chat(engine, thread, { approvals: { c1: true } })
    expect(after).toMatchObject({ haltedReason: 'manual_tool_calls', manualToolCalls: [{}] })
  })
})

describe('mistakes are told in a sentence that says what to write', () => {
  const engine = createEngine({ adapter: fake({ script: ['ok'] }), tools: [pay] })

  test('the engine is the first argument', async () => {
    const wrong = Session.start('hi' as never, engine as never)
    await expect(wrong).rejects.toThrow('the first argument must be an engine')
  })

  test('a decision names its call', async () => {
    const scripts = [[call('c1', 'pay')]]
    const own = createEngine({ adapter: fake({ scripts }), tools: [pay] })
    const { session } = await Session.start(own, 'go')
    const none = undefined as never
    expect(() => Session.approve(session, none)).toThrow(/toolCallId must be a non-empty string/)
    expect(() => Session.deny(session, none)).toThrow(/toolCallId must be a non-empty string/)
  })

  test.each([
    ['abortSignal', 'signal'],
    ['stopWhen', 'maxTurns'],
    ['maxSteps', 'maxTurns'],
    ['system', 'instructions'],
  ])('an option of another library, %s', async (key, name) => {
    const options = { [key]: 1 } as CallOptions
    const message = `unknown key ${key}; did you mean ${name}?`
    await expect(chat(engine, 'go', options)).rejects.toThrow(message)
  })
})
