import { describe, expect, test } from 'vitest'
import { applyCommand } from '../../../src/engine/session/commands.ts'
import { expiryOf } from '../../../src/engine/session/expiry.ts'
import {
  agentTool,
  askUser,
  createEngine,
  noAnswer,
  Session,
  tool,
  type Engine,
  type Tool,
} from '../../../src/index.ts'
import { crashAtEveryEvent, fake, virtualClock, type Script } from '../../../src/testing.ts'

/** What nobody settles in time is settled by `expiry`: a call is denied, and a question has no answer. */

const schema = { type: 'object' } as const

const minute = 60_000

function world(...scripts: Script[]) {
  const clock = virtualClock({ start: 1000 })
  const ran: string[] = []
  const pay = tool({
    name: 'pay',
    description: 'pays',
    schema,
    needsApproval: { expiresInMs: minute },
    handler: () => void ran.push('pay'),
  })
  const ask = tool({
    name: 'ask',
    description: 'asks',
    schema,
    handler: () => askUser('Which?', { choices: ['a', 'b'], expiresInMs: minute }),
  })
  const book = tool({
    name: 'book',
    description: 'books',
    schema,
    handler: (_args, { answer }) => {
      if (answer === undefined) return askUser('Sure?', { resume: true, expiresInMs: minute })
      ran.push(`book ${JSON.stringify(answer)}`)
      return answer === noAnswer ? 'nothing was booked' : 'booked'
    },
  })
  const tools: readonly Tool[] = [pay, ask, book]
  const engine = createEngine({ adapter: fake({ scripts }), tools, clock })
  return { clock, ran, engine, tools }
}

const call = (id: string, name: string): Script[number] => [
  'tool_call',
  { id, name, arguments: {} },
]

const say = (words: string): Script => [['text', words]]

const saved = (session: Session): Session => Session.parse(Session.stringify(session))

const told = (session: Session): string => JSON.stringify(session.thread)

/** A session that waits, saved and read again. */
async function waiting(engine: Engine): Promise<Session> {
  return saved((await Session.start(engine, 'go')).session)
}

test('what waits with a limit says since when, and until when', async () => {
  const { engine, clock } = world([call('c1', 'pay'), call('c2', 'ask')])
  const session = await waiting(engine)
  expect(
    Session.pending(session).map(({ kind, since, expiresAt }) => [kind, since, expiresAt]),
  ).toEqual([
    ['question', 1000, 1000 + minute],
    ['approval', 1000, 1000 + minute],
  ])
  expect(clock.now()).toBe(1000)
})

test('events that ask say when that expires', async () => {
  const { engine } = world([call('c1', 'pay'), call('c2', 'ask')])
  const limits: unknown[] = []
  for await (const event of Session.streamStart(engine, 'go')) {
    if ('expiresAt' in event) limits.push([event.type, event.expiresAt])
  }
  expect(limits).toEqual([
    ['approval_requested', 1000 + minute],
    ['ask_user_requested', 1000 + minute],
  ])
})

describe('an approval that nobody gave in time', () => {
  test('is denied by expiry when the session goes on', async () => {
    const { engine, clock, ran } = world([call('c1', 'pay')], say('Too late.'))
    const session = await waiting(engine)
    await clock.advance(minute)
    const { session: after } = await Session.resume(engine, session)
    expect(after.status).toBe('completed')
    expect(ran).toEqual([])
    expect(told(after)).toContain('nobody decided in time')
    const [record] = Session.calls(after)
    expect(record).toMatchObject({
      state: 'denied',
      approval: { decision: 'denied', by: 'expiry', at: 1000 + minute },
    })
  })

  test('waits on before that: nothing goes on without it', async () => {
    const { engine, clock } = world([call('c1', 'pay')])
    const session = await waiting(engine)
    await clock.advance(minute - 1)
    await expect(Session.resume(engine, session)).rejects.toThrow('not legal')
    expect(Session.expire(session, clock.now())).toBe(session)
  })

  test('cannot be given after somebody has let it expire', async () => {
    const { engine, clock } = world([call('c1', 'pay')])
    const session = await waiting(engine)
    const [{ ticket } = { ticket: '' }] = Session.pending(session)
    await clock.advance(minute)
    const expired = Session.expire(session, clock.now())
    expect(() => Session.approve(expired, 'c1', { ticket })).toThrow(
      expect.objectContaining({ reason: 'already_decided' }),
    )
  })

  test('can be given late while nobody has noticed', async () => {
    const { engine, clock, ran } = world([call('c1', 'pay')], say('Paid.'))
    const session = await waiting(engine)
    await clock.advance(2 * minute)
    const { session: after } = await Session.resume(engine, Session.approve(session, 'c1'))
    expect([after.status, ran]).toEqual(['completed', ['pay']])
  })

  test('is denied late when the user says something else', async () => {
    const { engine, clock, ran } = world([call('c1', 'pay')], say('Well.'), say('So be it.'))
    const session = await waiting(engine)
    const { session: talked } = await Session.reply(engine, session, 'And?')
    expect(talked.status).toBe('awaiting_approval')
    await clock.advance(minute)
    const { session: after } = await Session.reply(engine, saved(talked), 'Hm.')
    expect([after.status, ran]).toEqual(['completed', []])
    expect(told(after)).toContain('nobody decided in time')
  })
})

test('the time of an approval does not begin again when a run that was cut asks about it anew', async () => {
  const { engine, clock } = world([call('c1', 'pay'), call('c2', 'ask')], say('Well.'))
  const cuts: Session[] = []
  const stream = Session.streamStart(engine, 'go')
  for await (const event of stream) {
    if (event.type === 'approval_requested') cuts.push(saved(stream.session))
  }
  const [cut] = cuts
  if (cut === undefined) throw new Error('nothing was asked for')
  await clock.advance(minute / 2)
  const { session } = await Session.resume(engine, cut)
  const limits = Session.pending(session).map(({ call: { name }, since, expiresAt }) => {
    return [name, since, expiresAt]
  })
  expect(limits).toContainEqual(['pay', 1000, 1000 + minute])
})

describe('a question that nobody answered in time', () => {
  test('has no answer, and the model reads that', async () => {
    const { engine, clock } = world([call('c1', 'ask')], say('Then not.'))
    const session = await waiting(engine)
    await clock.advance(minute)
    const { session: after } = await Session.resume(engine, session)
    expect(after.status).toBe('completed')
    expect(after.thread.messages[2]?.content).toBe(
      JSON.stringify({ question: 'Which?', answer: noAnswer }),
    )
    expect(Session.calls(after)[0]?.question).toMatchObject({ answer: noAnswer, by: 'expiry' })
  })

  test('calls the handler again, if it asked for that', async () => {
    const { engine, clock, ran } = world([call('c1', 'book')], say('Then not.'))
    const session = await waiting(engine)
    await clock.advance(minute)
    const { session: after } = await Session.resume(engine, session)
    expect(ran).toEqual([`book "${noAnswer}"`])
    expect(after.thread.messages[2]?.content).toBe('nothing was booked')
  })

  test('is not answered by words that come later: they are a message', async () => {
    const { engine, clock } = world([call('c1', 'ask')], say('Then not.'))
    const session = await waiting(engine)
    const [{ ticket } = { ticket: '' }] = Session.pending(session)
    await clock.advance(minute)
    await expect(Session.reply(engine, session, 'a', { answers: ticket })).rejects.toMatchObject({
      reason: 'already_answered',
    })
    const { session: after } = await Session.reply(engine, session, 'a')
    expect(after.thread.messages.map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'tool',
      'user',
      'assistant',
    ])
  })
})

test('what waits inside of an agent expires, too', async () => {
  const { clock, ran, tools } = world()
  const inside = createEngine({
    adapter: fake({ scripts: [[call('x', 'pay')], say('Too late.')] }),
    tools,
    clock,
  })
  const agent = agentTool({
    name: 'agent',
    description: 'an agent',
    engine: inside,
    input: schema,
    prompt: () => 'go',
  })
  const engine = createEngine({
    adapter: fake({ scripts: [[call('c1', 'agent')], say('Done.')] }),
    tools: [agent],
    clock,
  })
  const session = await waiting(engine)
  expect(Session.pending(session)).toMatchObject([
    { call: { id: 'c1/x' }, expiresAt: 1000 + minute },
  ])
  await clock.advance(minute)
  const { session: after } = await Session.resume(engine, session)
  expect([after.status, ran]).toEqual(['completed', []])
})

test('what expires together is settled as by one command after the other', async () => {
  const names = ['pay', 'ask', 'book', 'pay']
  const { engine } = world(names.map((name, at) => call(`c${at}`, name)))
  const session = await waiting(engine)
  const now = 1000 + minute
  const commands = Session.pending(session).map((pending) => expiryOf(pending, now))
  expect(commands).toHaveLength(names.length)
  expect(Session.expire(session, now)).toEqual(commands.reduce(applyCommand, session))
})

test('a call that waits for its result has no limit, whatever was saved of it', async () => {
  const hand = tool({ name: 'hand', description: 'by hand', schema, manual: true })
  const engine = createEngine({
    adapter: fake({ scripts: [[call('c1', 'hand')]] }),
    tools: [hand],
  })
  const session = await waiting(engine)
  const [[id, kept] = []] = Object.entries(session.calls ?? {})
  const limited = saved({ ...session, calls: { [id ?? '']: { ...kept, expiresAt: 0 } } })
  expect(Session.pending(limited)).toEqual(Session.pending(session))
  expect(Session.expire(limited, 1000)).toBe(limited)
})

test('a session whose agents are too deep is refused, and not looked through for limits', () => {
  const { engine } = world()
  const outermost = Session.create({ id: 's', messages: 'go' })
  let session = outermost
  for (let depth = 0; depth < 20_000; depth++) {
    session = { ...outermost, calls: { c1: { state: 'running', inner: session } } }
  }
  const refused = expect.objectContaining({ kind: 'validation', reason: 'invalid_session' })
  expect(() => Session.expire(session, 0)).toThrow(refused)
  expect(() => Session.streamReply(engine, session, 'well?')).toThrow(refused)
})

test.each([0, -1, '1 min', Number.NaN, null])('a limit of %j is refused', (expiresInMs) => {
  const given = { name: 'pay', description: 'pays', schema, handler: () => 1 }
  expect(() => tool({ ...given, needsApproval: { expiresInMs: expiresInMs as number } })).toThrow(
    'expiresInMs',
  )
  expect(() => askUser('Sure?', { expiresInMs })).toThrow('expiresInMs')
})

test('a function decides which calls wait for a limited time', async () => {
  const clock = virtualClock({ start: 1000 })
  const pay = tool({
    name: 'pay',
    description: 'pays',
    schema: { type: 'object', properties: { euros: { type: 'number' } } },
    needsApproval: { when: ({ euros }) => Number(euros) > 10, expiresInMs: minute },
    handler: () => 'paid',
  })
  const script: Script = [1, 100].map((euros) => [
    'tool_call',
    { id: `c${euros}`, name: 'pay', arguments: { euros } },
  ])
  const engine = createEngine({ adapter: fake({ script }), tools: [pay], clock })
  const { session } = await Session.start(engine, 'go')
  expect(Session.pending(session).map(({ call: { id } }) => id)).toEqual(['c100'])
})

test('a rehearsal lets what waits expire, after every cut', async () => {
  const { tools } = world()
  const report = await crashAtEveryEvent({
    scripts: [[call('c1', 'pay'), call('c2', 'book')], say('Then not.')],
    tools,
    messages: 'go',
    onSuspend: () => ({ expires: true }),
  })
  expect(report.status).toBe('completed')
  expect(report.toolRuns).toEqual({ book: 2 })
})
