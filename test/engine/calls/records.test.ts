import { describe, expect, test } from 'vitest'
import {
  agentTool,
  askUser,
  createEngine,
  fail,
  Session,
  tool,
  type CallRecord,
  type Engine,
  type Tool,
} from '../../../src/index.ts'
import { fake, type ScriptInput } from '../../../src/testing.ts'

const schema = { type: 'object' }

const named = (name: string, more: Partial<Tool>): Tool => ({
  ...tool({ name, description: name, schema, handler: () => name }),
  ...more,
})

const tools: readonly Tool[] = [
  named('look', { handler: () => 'seen' }),
  named('broken', { handler: () => fail('no luck') }),
  named('pay', { needsApproval: true }),
  named('hand', { manual: true }),
  named('ask', { handler: () => askUser('Which?', { choices: ['a', 'b'] }) }),
  named('talk', {
    handler: (_args, { answer }) => {
      if (answer === undefined) return askUser('First?', { resume: true })
      return answer === 'one'
        ? askUser('Second?', { resume: true })
        : `done: ${JSON.stringify(answer)}`
    },
  }),
]

const call = (id: string, name: string, args: object = {}) =>
  ['tool_call', { id, name, arguments: args }] as const

const engineOf = (...scripts: ScriptInput[]): Engine =>
  createEngine({ adapter: fake({ scripts }), tools })

/** What a record says, without the call. */
const brief = ({ state, told, approval, question, ticket }: CallRecord): object =>
  JSON.parse(JSON.stringify({ state, told, approval, question, waits: ticket !== undefined }))

const calls = (session: Session): readonly object[] => Session.calls(session).map(brief)

describe('the records of calls', () => {
  test('are those of the thread, in order, with what became of each', async () => {
    const answer = ['look', 'broken', 'nothing', 'pay', 'hand', 'ask'].map((name, at) =>
      call(`c${at}`, name),
    )
    const { session } = await Session.start(engineOf(answer), 'go')
    expect(calls(session)).toEqual([
      { state: 'done', told: 'result', waits: false },
      { state: 'failed', told: 'result', waits: false },
      { state: 'failed', told: 'result', waits: false },
      { state: 'awaiting_approval', told: 'no', waits: true },
      { state: 'awaiting_result', told: 'no', waits: true },
      {
        state: 'asking',
        told: 'no',
        question: { text: 'Which?', options: { choices: ['a', 'b'] } },
        waits: true,
      },
    ])
    expect(Session.calls(session)[3]).toMatchObject({ id: 'c3', name: 'pay', arguments: {} })
  })

  test('say that the model was told to wait, while the user says something else', async () => {
    const answer = [call('c0', 'pay'), call('c1', 'hand'), call('c2', 'ask')]
    const engine = engineOf(answer, ['In a moment.'])
    const { session } = await Session.start(engine, 'go')
    const after = await Session.reply(engine, session, 'hurry', { answers: null })
    expect(calls(after.session)).toMatchObject([
      { state: 'awaiting_approval', told: 'placeholder', waits: true },
      { state: 'awaiting_result', told: 'placeholder', waits: true },
      { state: 'asking', told: 'placeholder', waits: true, question: { text: 'Which?' } },
    ])
    expect(after.session).toMatchObject({ status: 'awaiting_user', pendingQuestion: 'Which?' })
    expect(after.session.thread.messages.at(-1)?.content).toBe('In a moment.')
  })

  test('keep who approved what, with which arguments, and why something was denied', async () => {
    const answer = [call('c0', 'pay', { euros: 5 }), call('c1', 'pay'), call('c2', 'pay')]
    const engine = engineOf(answer, ['Done.'])
    const { session } = await Session.start(engine, 'go')
    let next = Session.approve(session, 'c0', { arguments: { euros: 4 }, by: 'ada' })
    next = Session.deny(next, 'c1', 'too much', { by: 'bob' })
    next = Session.approve(next, 'c2')
    expect(Session.calls(next).map(({ state }) => state)).toEqual([
      'approved',
      'denied',
      'approved',
    ])
    const { session: after } = await Session.resume(engine, Session.parse(Session.stringify(next)))
    expect(after.status).toBe('completed')
    expect(Session.calls(after)).toMatchObject([
      {
        state: 'done',
        told: 'result',
        approval: { decision: 'approved', by: 'ada', arguments: { euros: 4 } },
      },
      {
        state: 'denied',
        told: 'result',
        approval: { decision: 'denied', by: 'bob', reason: 'too much' },
      },
      { state: 'done', told: 'result', approval: { decision: 'approved' } },
    ])
  })

  test('of an agent inside follow its call, and those about which somebody was asked stay when the agent is gone', async () => {
    const inner = engineOf([call('x', 'pay'), call('y', 'look')], ['Paid.'])
    const desk = agentTool({ name: 'desk', description: 'desk', engine: inner })
    const engine = createEngine({
      adapter: fake({ scripts: [[call('c0', 'desk', { prompt: 'pay' })], ['Done.']] }),
      tools: [desk],
    })
    const { session } = await Session.start(engine, 'go')
    expect(Session.calls(session).map(({ id, state }) => [id, state])).toEqual([
      ['c0', 'running'],
      ['c0/x', 'awaiting_approval'],
      ['c0/y', 'done'],
    ])
    expect(Session.calls(session)[0]?.inner?.status).toBe('awaiting_approval')
    const [waiting] = Session.pending(session)
    expect(waiting).toMatchObject({ kind: 'approval', call: { id: 'c0/x', name: 'pay' } })
    const decided = Session.approve(session, 'c0/x', { ticket: waiting?.ticket, by: 'ada' })
    expect(Session.calls(decided)[1]).toMatchObject({
      state: 'approved',
      approval: { decision: 'approved', by: 'ada' },
    })
    expect(() => Session.deny(decided, 'c0/x', '', { ticket: waiting?.ticket })).toThrow(
      expect.objectContaining({ reason: 'already_decided' }),
    )
    const { session: after } = await Session.resume(engine, decided)
    expect(Session.calls(after).map(({ id, state }) => [id, state])).toEqual([
      ['c0', 'done'],
      ['c0/x', 'done'],
    ])
  })

  test('of a session of an older version that nobody has read are refused, and not empty', async () => {
    const { session } = await Session.start(engineOf([call('c0', 'pay')], ['Paid.']), 'go')
    const old = { ...session, version: 2 }
    for (const look of [Session.calls, Session.pending, Session.legalOperations]) {
      expect(() => look(old)).toThrow(expect.objectContaining({ reason: 'unreadable' }))
    }
  })

  test('of a session that 0.2 saved are read from its lists', () => {
    const { session } = JSON.parse(
      JSON.stringify({
        session: {
          version: 2,
          id: 's',
          status: 'awaiting_approval',
          thread: {
            messages: [
              { role: 'user', content: 'go' },
              {
                role: 'assistant',
                content: '',
                toolCalls: [{ id: 'c0', name: 'pay', arguments: {} }],
              },
            ],
            metadata: {},
          },
          pendingToolCalls: [],
          pendingApprovals: [{ id: 'c0', name: 'pay', arguments: {} }],
          context: {},
          metadata: {},
          run: {
            mode: 'auto',
            turns: 1,
            phase: 'waiting',
            answer: {
              requestId: 'r',
              provider: 'fake',
              finishReason: 'tool_calls',
              usage: {},
              metadata: {},
            },
            started: [],
            halts: [],
          },
        },
      }),
    ) as { session: Session }
    const read = Session.parse(JSON.stringify(session))
    expect(calls(read)).toEqual([{ state: 'awaiting_approval', told: 'no', waits: true }])
    expect(Session.pending(read)).toMatchObject([{ kind: 'approval', call: { id: 'c0' } }])
  })
})

describe('a question', () => {
  test('stays: the model reads it with the answer, and the record has both', async () => {
    const adapter = fake({ scripts: [[call('c0', 'ask')], ['Fine.'], ['Yes.']] })
    const engine = createEngine({ adapter, tools })
    const { session } = await Session.start(engine, 'go')
    const [asked] = Session.pending(session)
    const after = await Session.reply(engine, session, 'a', { answers: asked?.ticket, by: 'ada' })
    expect(after.session.thread.messages[2]).toMatchObject({
      role: 'tool',
      content: '{"question":"Which?","answer":"a"}',
    })
    expect(calls(after.session)).toEqual([
      {
        state: 'done',
        told: 'result',
        question: { text: 'Which?', options: { choices: ['a', 'b'] }, answer: 'a', by: 'ada' },
        waits: false,
      },
    ])
    const later = await Session.reply(engine, after.session, 'and then?')
    expect(calls(later.session)).toMatchObject([{ question: { text: 'Which?', answer: 'a' } }])
  })

  test('that comes again for the same call has another ticket, and an answer to the first is refused', async () => {
    const engine = engineOf([call('c0', 'talk')], ['Done.'])
    const { session } = await Session.start(engine, 'go')
    const [first] = Session.pending(session)
    const next = await Session.reply(engine, session, 'one', { answers: first?.ticket })
    const [second] = Session.pending(next.session)
    expect(second).toMatchObject({ question: { text: 'Second?' } })
    expect(second?.ticket).not.toBe(first?.ticket)
    await expect(
      Session.reply(engine, next.session, 'one', { answers: first?.ticket }),
    ).rejects.toMatchObject({ reason: 'already_answered' })
    const { session: last } = await Session.reply(engine, next.session, 'two', {
      answers: second?.ticket,
    })
    expect(last.thread.messages[2]?.content).toBe('done: "two"')
    expect(Session.calls(last)[0]?.question).toMatchObject({ text: 'Second?', answer: 'two' })
  })

  test('the same question asked twice by one call is two questions', async () => {
    const again = named('again', {
      handler: (_args, { answer }) =>
        answer === 'no' ? 'over' : askUser('Go on?', { resume: true }),
    })
    const adapter = fake({ scripts: [[call('c0', 'again')], ['Done.']] })
    const engine = createEngine({ adapter, tools: [again] })
    const { session } = await Session.start(engine, 'go')
    const [first] = Session.pending(session)
    const next = await Session.reply(engine, session, 'yes', { answers: first?.ticket })
    expect(Session.pending(next.session)[0]?.ticket).not.toBe(first?.ticket)
    await expect(
      Session.reply(engine, next.session, 'yes', { answers: first?.ticket }),
    ).rejects.toMatchObject({ reason: 'already_answered' })
  })

  test('stays open when a message says something else, and is answered later', async () => {
    const adapter = fake({
      scripts: [[call('c0', 'ask'), call('c1', 'talk')], ['Still there.'], ['Thanks.']],
    })
    const engine = createEngine({ adapter, tools })
    const { session } = await Session.start(engine, 'go')
    const tickets = Session.pending(session).map(({ ticket }) => ticket)
    const { session: after } = await Session.reply(engine, session, 'wait', { answers: null })
    expect(after.status).toBe('awaiting_user')
    expect(Session.pending(after).map(({ ticket }) => ticket)).toEqual(tickets)
    const saved = Session.parse(Session.stringify(after))
    // The second one first: a ticket names its question.
    const one = await Session.reply(engine, saved, 'one', { answers: tickets[1] })
    expect(one.session).toMatchObject({ status: 'awaiting_user', pendingToolCallId: 'c0' })
    const two = await Session.reply(engine, one.session, 'b', { answers: tickets[0] })
    expect(Session.pending(two.session)).toMatchObject([{ question: { text: 'Second?' } }])
    const three = await Session.reply(engine, two.session, 'two')
    expect(three.session.status).toBe('completed')
    const told = JSON.stringify(three.session.thread.messages)
    expect(told).toContain('done: \\"two\\"')
    expect(told).toContain('\\"answer\\":\\"b\\"')
    expect(Session.calls(three.session).map(({ state, told: read }) => [state, read])).toEqual([
      ['done', 'result'],
      ['done', 'result'],
    ])
  })

  test('of an agent inside stays open too', async () => {
    const inner = engineOf([call('x', 'ask')], ['It is b.'])
    const engine = createEngine({
      adapter: fake({ scripts: [[call('c0', 'desk', { prompt: 'go' })], ['Later.'], ['Done.']] }),
      tools: [agentTool({ name: 'desk', description: 'desk', engine: inner })],
    })
    const { session } = await Session.start(engine, 'go')
    const [asked] = Session.pending(session)
    const { session: after } = await Session.reply(engine, session, 'hm', { answers: null })
    expect(after).toMatchObject({ status: 'awaiting_user', pendingToolCallId: 'c0/x' })
    expect(Session.pending(after)).toEqual([asked])
    const last = await Session.reply(engine, after, 'b', { answers: asked?.ticket })
    expect(last.session.status).toBe('completed')
    expect(JSON.stringify(last.session.thread.messages)).toContain('It is b.')
  })
})

describe('a ticket', () => {
  test('that is not open is refused, and the session stays as it is', async () => {
    const engine = engineOf([call('c0', 'pay'), call('c1', 'hand'), call('c2', 'ask')])
    const { session } = await Session.start(engine, 'go')
    const [question, approval, result] = Session.pending(session)
    const stale = expect.objectContaining({ kind: 'session', reason: 'stale_ticket' }) as Error
    expect(() => Session.approve(session, 'c0', { ticket: question?.ticket })).toThrow(stale)
    expect(() => Session.deny(session, 'c0', '', { ticket: 'nonsense' })).toThrow(stale)
    expect(() => Session.submitToolResult(session, 'c1', 1, { ticket: approval?.ticket })).toThrow(
      stale,
    )
    await expect(
      Session.reply(engine, session, 'a', { answers: result?.ticket }),
    ).rejects.toMatchObject({ reason: 'stale_ticket' })
    const given = Session.submitToolResult(session, 'c1', 1, { ticket: result?.ticket, by: 'ada' })
    expect(() => Session.submitToolResult(given, 'c1', 1, { ticket: result?.ticket })).toThrow(
      expect.objectContaining({ reason: 'already_answered' }),
    )
  })

  test('does not fit a call that comes again under the same id, with other arguments or for another tool', async () => {
    const spend = named('spend', { needsApproval: true })
    const tickets: (string | undefined)[] = []
    for (const [name, euros] of [
      ['pay', 5],
      ['pay', 50],
      ['spend', 5],
    ] as const) {
      const engine = createEngine({
        adapter: fake({ scripts: [[call('c0', name, { euros })]] }),
        tools: [...tools, spend],
      })
      const { session } = await Session.start(engine, 'go')
      tickets.push(Session.pending(session)[0]?.ticket)
    }
    expect(new Set(tickets).size).toBe(3)
  })

  test('of a decision does not come back after a rewind', async () => {
    const engine = engineOf([call('c0', 'pay', { euros: 5 })], [call('c0', 'pay', { euros: 5 })])
    const { session } = await Session.start(engine, 'go')
    const [before] = Session.pending(session)
    const decided = Session.deny(session, 'c0', 'no', { ticket: before?.ticket })
    const { session: again } = await Session.resume(engine, Session.rewind(await over(decided), 1))
    const [after] = Session.pending(again)
    expect(after).toMatchObject({ kind: 'approval', call: { id: 'c0' } })
    expect(after?.ticket).not.toBe(before?.ticket)
    expect(() => Session.approve(again, 'c0', { ticket: before?.ticket })).toThrow(
      expect.objectContaining({ reason: 'already_decided' }),
    )
  })

  test('is a short text that says nothing about the call, and is the same in every process', async () => {
    const start = Session.create({ id: 's', messages: 'go' })
    const { session } = await Session.start(engineOf([call('c0', 'pay', { euros: 5 })]), start)
    const [{ ticket } = { ticket: '' }] = Session.pending(session)
    expect(ticket).toMatch(/^[\w-]{16}$/)
    const saved = Session.parse(Session.stringify(session))
    expect(Session.pending(saved)).toEqual(Session.pending(session))
    expect(ticket).toBe('MeuexRZe7YVhNXX7')
  })
})

/** The session after its decision was told. */
async function over(session: Session): Promise<Session> {
  return (await Session.resume(engineOf(['Well.']), session)).session
}

test('an author is a short text, and unknown options are refused by name', async () => {
  const { session } = await Session.start(engineOf([call('c0', 'pay')]), 'go')
  expect(() => Session.approve(session, 'c0', { by: '' })).toThrow('by')
  expect(() => Session.approve(session, 'c0', { by: 'x'.repeat(257) })).toThrow('256')
  expect(() => Session.deny(session, 'c0', '', { who: 'ada' } as never)).toThrow('who')
})
