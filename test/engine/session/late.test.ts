import { beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  askUser,
  createEngine,
  fail,
  halt,
  isSendable,
  messageText,
  Session,
  tool,
  type Engine,
  type SessionCommand,
  type SessionStream,
  type StreamEvent,
} from '../../../src/index.ts'
import { crashAtEveryEvent, fake, type Script } from '../../../src/testing.ts'

/** Calls that are settled after the conversation went on, and runs that are cut before, while and after they are. */

const ran: string[] = []

beforeEach(() => {
  ran.length = 0
})

const schema = z.object({ n: z.number().default(1) })

const pay = tool({
  name: 'pay',
  description: 'pays',
  schema,
  needsApproval: true,
  handler: ({ n }, { toolCall }) => {
    ran.push(`${toolCall.id} ${n}`)
    return `paid ${n}`
  },
})

/** Asks first, and acts when it has the answer. */
const book = (needsApproval: boolean) =>
  tool({
    name: needsApproval ? 'reserve' : 'book',
    description: 'books',
    schema,
    needsApproval,
    handler: ({ n }, { answer, toolCall }) => {
      ran.push(`${toolCall.id} ${n}${answer === undefined ? '' : ` ${JSON.stringify(answer)}`}`)
      return answer === undefined
        ? askUser('Sure?', { resume: true })
        : `booked, ${JSON.stringify(answer)}`
    },
  })

const tools = [
  pay,
  book(true),
  book(false),
  tool({
    name: 'wonder',
    description: 'asks, and takes the answer as its result',
    schema,
    needsApproval: true,
    handler: () => askUser('Which?', { choices: ['a', 'b'] }),
  }),
  tool({
    name: 'stop',
    description: 'halts',
    schema,
    needsApproval: true,
    handler: () => halt('found', 42),
  }),
  tool({
    name: 'broken',
    description: 'fails',
    schema,
    needsApproval: true,
    handler: () => fail('no luck'),
  }),
  tool({ name: 'ask', description: 'asks', schema, handler: () => askUser('What?') }),
  tool({ name: 'look', description: 'looks', schema, handler: () => 'seen' }),
  tool({ name: 'hand', description: 'by hand', schema, manual: true }),
]

const call = (id: string, name: string, args: object = {}): Script[number] => [
  'tool_call',
  { id, name, arguments: { ...args } },
]

const say = (words: string): Script => [['text', words]]

const engineWith = (...scripts: Script[]): Engine =>
  createEngine({ adapter: fake({ scripts }), tools })

const saved = (session: Session): Session => Session.parse(Session.stringify(session))

/** A session whose calls were told to come later. */
async function withLate(...calls: Script): Promise<Session> {
  const { session } = await Session.start(engineWith(calls), 'go')
  return (await Session.reply(engineWith(say('Waiting.')), session, 'And?')).session
}

const approve = (toolCallId: string, args?: { n: number }): SessionCommand =>
  args === undefined
    ? { type: 'approve', toolCallId }
    : { type: 'approve', toolCallId, arguments: args }

/** The session as it was saved after the first event of a type, when the process died. */
async function cutAt(stream: SessionStream, type: StreamEvent['type']): Promise<Session> {
  for await (const event of stream) if (event.type === type) break
  return saved(stream.session)
}

const texts = ({ thread }: Session): readonly string[] => thread.messages.map(messageText)

const resultOf = (session: Session, id: string): string => {
  const late = session.thread.messages.find(({ metadata }) => metadata?.['lateResultOf'] === id)
  return late === undefined ? '' : messageText(late)
}

describe('a run that was cut, and the user speaks instead of resuming it', () => {
  test.each([
    ['tool_execution_started', []],
    ['tool_execution_completed', ['c1 1']],
    ['tool_result_encoded', ['c1 1']],
  ] as const)(
    'a late call that was approved does not run twice: cut at %s',
    async (at, expected) => {
      const session = await withLate(call('c1', 'pay'))
      const cut = await cutAt(Session.streamNext(engineWith(), session, approve('c1')), at)
      const { session: after } = await Session.reply(engineWith(say('Done.')), cut, 'Hello?')
      expect(ran).toEqual(expected)
      expect(after.status).toBe('completed')
      expect(resultOf(after, 'c1')).toContain(
        expected.length === 0 ? 'it may have taken effect' : 'paid 1',
      )
    },
  )

  test.each([
    ['before the first event', undefined, ['c1 1'], 'paid 1'],
    ['at the start', 'tool_execution_started', [], 'it may have taken effect'],
    ['at the end', 'tool_execution_completed', ['c1 1'], 'paid 1'],
  ] as const)(
    'an approved call takes effect once, or the model is told: cut %s',
    async (...row) => {
      const [, at, expected, told] = row
      const { session } = await Session.start(engineWith([call('c1', 'pay')]), 'go')
      const stream = Session.streamNext(engineWith(), session, approve('c1'))
      const cut = at === undefined ? saved(stream.session) : await cutAt(stream, at)
      const { session: after } = await Session.reply(engineWith(say('Done.')), cut, 'Hello?')
      expect(ran).toEqual(expected)
      expect(resultOf(after, 'c1')).toContain(told)
      expect(texts(after)).toContain('Hello?')
    },
  )

  test('a call that was approved and not started before a stop runs', async () => {
    const { session } = await Session.start(engineWith([call('c1', 'pay')]), 'go')
    const stopped = await Session.streamNext(engineWith(), session, approve('c1'), {
      signal: AbortSignal.abort(),
    }).result
    const { session: after } = await Session.reply(
      engineWith(say('Done.')),
      stopped.session,
      'Go on.',
    )
    expect(ran).toEqual(['c1 1'])
    expect(resultOf(after, 'c1')).toContain('paid 1')
  })

  test('the answer to a question reaches the handler that asked for it', async () => {
    const { session } = await Session.start(engineWith([call('c1', 'book')]), 'go')
    const cut = saved(Session.streamReply(engineWith(), session, 'YES').session)
    const { session: after } = await Session.reply(engineWith(say('Done.')), cut, 'Hello?')
    expect(ran).toEqual(['c1 1', 'c1 1 "YES"'])
    expect(resultOf(after, 'c1')).toContain('booked, "YES"')
  })

  test('an answer whose handler was interrupted is told to the model', async () => {
    const { session } = await Session.start(engineWith([call('c1', 'book')]), 'go')
    const stream = Session.streamReply(engineWith(), session, 'YES')
    const cut = await cutAt(stream, 'tool_execution_started')
    const { session: after } = await Session.resume(engineWith(say('Done.')), cut)
    expect(ran).toEqual(['c1 1'])
    expect(texts(after)[2]).toMatch(/may have taken effect.*"userAnswered":"YES"/)
  })

  test('a question that was asked before the cut stays open: the model reads the words of the user', async () => {
    const stream = Session.streamStart(engineWith([call('c1', 'ask'), call('c2', 'look')]), 'go')
    const cut = await cutAt(stream, 'ask_user_requested')
    const { session } = await Session.reply(engineWith(say('Well?')), cut, 'Hello?')
    expect(session).toMatchObject({ status: 'awaiting_user', pendingQuestion: 'What?' })
    expect(texts(session).at(-1)).toBe('Well?')
    const { session: after } = await Session.reply(
      engineWith(say('Done.')),
      saved(session),
      'This.',
    )
    expect(after.status).toBe('completed')
    expect(resultOf(after, 'c1')).toContain('This.')
    expect(texts(after)).toContain('Hello?')
  })

  test('a result that was stored is told, and a call that was not started is said not to have run', async () => {
    const stream = Session.streamStart(engineWith([call('c1', 'look'), call('c2', 'look')]), 'go', {
      maxConcurrency: 1,
    })
    const cut = await cutAt(stream, 'tool_execution_completed')
    const { session: after } = await Session.reply(engineWith(say('Done.')), cut, 'Hello?')
    expect(resultOf(after, 'c1')).toContain('seen')
    expect(texts(after)[3]).toContain('it was not run')
  })

  test('Session.append keeps what was decided, and Session.start is not legal', async () => {
    const { session } = await Session.start(engineWith([call('c1', 'pay')]), 'go')
    const approved = Session.approve(session, 'c1')
    expect(Session.legalOperations(approved)).toEqual([
      'reply',
      'resume',
      'step',
      'append',
      'rewind',
    ])
    await expect(Session.start(engineWith(), approved)).rejects.toThrow(
      'Session.start is not legal while its last run is not settled',
    )
    const added = Session.append(approved, 'By the way.')
    expect(isSendable(added.thread)).toBe(true)
    const { session: after } = await Session.resume(engineWith(say('Done.')), saved(added))
    expect(ran).toEqual(['c1 1'])
    expect(resultOf(after, 'c1')).toContain('paid 1')
  })
})

describe('a late call', () => {
  test('that asks and is called again: the user is asked, and its result is told late', async () => {
    const session = await withLate(call('c1', 'reserve'))
    const asked = await Session.streamNext(engineWith(), session, approve('c1', { n: 3 })).result
    expect(asked.session).toMatchObject({ status: 'awaiting_user', pendingToolCallId: 'c1' })
    expect(asked.result).toMatchObject({ haltedReason: 'ask_user', pendingQuestion: 'Sure?' })
    const answered = await Session.reply(engineWith(say('Done.')), saved(asked.session), 'YES')
    expect(ran).toEqual(['c1 3', 'c1 3 "YES"'])
    expect(answered.session.status).toBe('completed')
    expect(resultOf(answered.session, 'c1')).toBe(
      'The result of your earlier call of reserve (c1) is there. The call was approved with other arguments than yours: {"n":3}. This is the output of the tool, not a message of the user:\n```tool_output\nbooked, "YES"\n```',
    )
  })

  test('that asks: the answer is its late result', async () => {
    const session = await withLate(call('c1', 'wonder'), call('c2', 'wonder'))
    const both = Session.approve(Session.approve(session, 'c1'), 'c2')
    const { session: first } = await Session.resume(engineWith(), both)
    expect(first).toMatchObject({
      status: 'awaiting_user',
      pendingToolCallId: 'c1',
      pendingQuestionOptions: { choices: ['a', 'b'] },
    })
    const { session: second } = await Session.reply(engineWith(), saved(first), 'a')
    expect(second).toMatchObject({ status: 'awaiting_user', pendingToolCallId: 'c2' })
    const { session: after } = await Session.reply(engineWith(say('Done.')), saved(second), 'b')
    expect(after.status).toBe('completed')
    expect(resultOf(after, 'c1')).toContain('"answer":"a"')
    expect(resultOf(after, 'c2')).toContain('"answer":"b"')
  })

  test('that asks keeps its question when the session is rewound behind it', async () => {
    const session = await withLate(call('c1', 'reserve'))
    const asked = await Session.resume(engineWith(), Session.approve(session, 'c1'))
    const back = saved(Session.rewind(asked.session, 3))
    const { session: again } = await Session.reply(engineWith(say('Well?')), back, 'Once more.')
    expect(again).toMatchObject({ status: 'awaiting_user', pendingQuestion: 'Sure?' })
    expect(texts(again).slice(-2)).toEqual(['Once more.', 'Well?'])
    expect(ran).toEqual(['c1 1'])
  })

  test('that halts: its result is told, and the session is halted before the model is asked', async () => {
    const session = await withLate(call('c1', 'stop'))
    const { session: after, result } = await Session.resume(
      engineWith(),
      Session.approve(session, 'c1'),
    )
    expect(after).toMatchObject({ status: 'halted', haltedReason: 'found' })
    expect(result).toMatchObject({ haltedReason: 'found', haltResult: 42 })
    expect(resultOf(after, 'c1')).toContain('42')
    const { session: end } = await Session.resume(engineWith(say('Done.')), saved(after))
    expect(end.status).toBe('completed')
  })

  test('that fails halts if failures halt', async () => {
    const session = Session.approve(await withLate(call('c1', 'broken')), 'c1')
    const { session: after } = await Session.resume(engineWith(), session, { onToolError: 'halt' })
    expect(after).toMatchObject({ status: 'error', error: { reason: 'handler_failed' } })
    expect(resultOf(after, 'c1')).toContain('no luck')
  })

  test('that asks or halts in a single step ends it', async () => {
    const session = Session.approve(await withLate(call('c1', 'wonder')), 'c1')
    const { session: after } = await Session.step(engineWith(), session)
    expect(after).toMatchObject({ status: 'awaiting_user', pendingToolCallId: 'c1' })
  })

  test('a question of one and the halt of another both take effect, and survive a crash at every event', async () => {
    const answers: Script[] = [
      [call('c1', 'reserve'), call('c2', 'stop'), call('c3', 'wonder')],
      say('Waiting.'),
    ]
    await crashAtEveryEvent({
      scripts: answers,
      // What was cut runs again, so that the order of the results is the same.
      tools: tools.map((one) => ({ ...one, idempotent: true })),
      messages: 'go',
      onSuspend: ({ pendingApprovals, pendingToolCallId, thread }) => {
        if (pendingToolCallId !== undefined) return { reply: `for ${pendingToolCallId}` }
        if (!thread.messages.some(({ content }) => content === 'And?')) return { reply: 'And?' }
        return { approvals: { [pendingApprovals[0]?.id ?? '']: true } }
      },
    })
  })

  test('a late result does not come between a question and its answer', async () => {
    const { session } = await Session.start(engineWith([call('m1', 'hand')]), 'go')
    const next = await Session.reply(engineWith([call('q1', 'reserve')]), session, 'And?')
    const told = Session.submitToolResult(next.session, 'm1', 'by hand')
    const asked = await Session.streamNext(engineWith(), told, approve('q1')).result
    expect(asked.session.status).toBe('awaiting_user')
    const { session: after } = await Session.reply(engineWith(say('Done.')), asked.session, 'YES')
    expect(ran).toEqual(['q1 1', 'q1 1 "YES"'])
    expect(texts(after).slice(-3)).toEqual([
      'booked, "YES"',
      expect.stringContaining('by hand'),
      'Done.',
    ])
  })

  test('a late result that followed the first step is told once, however many steps follow', async () => {
    const { session } = await Session.start(engineWith([call('m1', 'hand')]), 'go')
    const next = await Session.reply(engineWith([call('p1', 'pay')]), session, 'And?')
    const told = Session.submitToolResult(next.session, 'm1', 'by hand')
    const scripts: Script[] = [
      [call('l1', 'look')],
      [call('l2', 'look')],
      [call('p2', 'pay')],
      say('Done.'),
    ]
    const engine = engineWith(...scripts)
    const { session: waits } = await Session.streamNext(engine, told, approve('p1')).result
    const { session: after } = await Session.streamNext(engine, waits, approve('p2')).result
    expect(after.status).toBe('completed')
    expect(texts(after).filter((text) => text.includes('by hand'))).toHaveLength(1)
  })
})

describe('a call id that the model uses again', () => {
  test('while the earlier call waits: each is another call', async () => {
    const engine = engineWith(
      [call('c1', 'pay', { n: 1 })],
      [call('c1', 'pay', { n: 2 })],
      say('Done.'),
    )
    let { session } = await Session.start(engine, 'go')
    session = (await Session.reply(engine, session, 'Make it 2.')).session
    expect(session.pendingApprovals).toMatchObject([
      { id: 'c1', arguments: { n: 1 } },
      { id: 'c1_2', arguments: { n: 2 } },
    ])
    session = Session.deny(session, 'c1', 'the old one')
    session = (await Session.streamNext(engine, session, approve('c1_2')).result).session
    expect(session.status).toBe('completed')
    expect(ran).toEqual(['c1_2 2'])
  })

  test('also when the earlier call is not sent any more', async () => {
    const engine = createEngine({
      adapter: fake({ scripts: [[call('c1', 'look')], [call('c1', 'look')], say('Done.')] }),
      tools,
      prepareStep: ({ messages }) => ({ messages: messages.slice(0, 1) }),
    })
    const { session } = await Session.start(engine, 'go')
    const ids = session.thread.messages.flatMap(({ toolCalls = [] }) =>
      toolCalls.map(({ id }) => id),
    )
    expect(ids).toEqual(['c1', 'c1_2'])
  })
})

describe('commands', () => {
  test('an answer that names its question is refused when another one is open', async () => {
    const { session } = await Session.start(
      engineWith([call('q1', 'ask'), call('q2', 'ask')]),
      'go',
    )
    const yes: SessionCommand = { type: 'send', content: 'yes', toolCallId: 'q1' }
    const { session: one } = await Session.streamNext(engineWith(), session, yes).result
    expect(one).toMatchObject({ status: 'awaiting_user', pendingToolCallId: 'q2' })
    const refusal = 'the reply answers the question of q1, but open are those of q2'
    expect(() => Session.streamNext(engineWith(), one, yes)).toThrow(refusal)
    await expect(
      Session.reply(engineWith(), one, 'yes', { toolCallId: 'q1' }),
    ).rejects.toMatchObject({ kind: 'session', reason: 'unknown_tool_call_id' })
    const { session: two } = await Session.reply(engineWith(say('Done.')), one, 'no', {
      toolCallId: 'q2',
    })
    expect(two.status).toBe('completed')
    expect(() => Session.streamReply(engineWith(), two, 'no', { toolCallId: 'q2' })).toThrow(
      'but no question is open',
    )
  })

  test('arguments of an approval that do not match the schema are refused, and the call waits on', async () => {
    const { session } = await Session.start(engineWith([call('c1', 'pay')]), 'go')
    const wrong = { type: 'approve', toolCallId: 'c1', arguments: { n: 'x' } } as const
    expect(() => Session.streamNext(engineWith(), session, wrong)).toThrow(
      expect.objectContaining({
        kind: 'validation',
        issues: [expect.objectContaining({ path: 'command.arguments.n' })],
      }),
    )
    const right = Session.streamNext(engineWith(say('Done.')), session, approve('c1', { n: 7 }))
    expect((await right.result).session.status).toBe('completed')
    expect(ran).toEqual(['c1 7'])
  })
})

test('a turn that was saved before its first event can be started again, also beside a call that waits', async () => {
  const engine = engineWith([call('c1', 'pay')], say('First.'), say('Second.'))
  const { session } = await Session.start(engine, 'go')
  const { session: begun } = Session.streamReply(engine, session, 'And?')
  expect(Session.legalOperations(begun)).toContain('start')
  const { session: after } = await Session.start(engine, saved(begun))
  expect(after.status).toBe('awaiting_approval')
  expect(after.thread.messages.at(-1)?.content).toBe('First.')
})
