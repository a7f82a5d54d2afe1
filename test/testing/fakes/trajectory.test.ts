import { describe, expect, test } from 'vitest'
import {
  askUser,
  chat,
  createEngine,
  fail,
  generate,
  Session,
  step,
  tool,
  user,
  ValidationError,
  type ChatResult,
} from '../../../src/index.ts'
import {
  expectTrajectory,
  fake,
  trajectory,
  TrajectoryError,
  type Trajectory,
} from '../../../src/testing.ts'

const weather = tool({
  name: 'weather',
  description: 'The weather of a city.',
  schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  handler: ({ city }) => ({ city, celsius: 21 }),
})
const book = tool({
  name: 'book',
  description: 'Book a room.',
  schema: { type: 'object' },
  handler: ({ nights }) => (nights === 0 ? fail('no nights') : 'booked'),
})
const confirm = tool({
  name: 'confirm',
  description: 'Ask.',
  schema: { type: 'object' },
  handler: () => askUser('Sure?'),
})

const call = (id: string, name: string, args: object = {}): unknown[] => [
  'tool_call',
  { id, name, arguments: args },
]

function engine(...scripts: unknown[][]) {
  return createEngine({
    adapter: fake({ scripts: scripts as unknown[][][] }),
    tools: [weather, book, confirm],
  })
}

const trip = (): Promise<Awaited<ReturnType<typeof chat>>> =>
  chat(
    engine(
      ['Let me look.', call('c1', 'weather', { city: 'Ghent', units: 'c' })],
      [call('c2', 'book', { nights: 2, room: { floor: 1, view: 'canal' } })],
      ['Booked two nights.'],
    ),
    'A room in Ghent.',
  )

describe('trajectory', () => {
  test('the result of a chat is the list of its texts, its calls with their answers, and its end', async () => {
    expect(trajectory(await trip())).toEqual([
      { type: 'text', text: 'Let me look.' },
      {
        type: 'call',
        id: 'c1',
        name: 'weather',
        arguments: { city: 'Ghent', units: 'c' },
        answer: { city: 'Ghent', celsius: 21 },
      },
      {
        type: 'call',
        id: 'c2',
        name: 'book',
        arguments: { nights: 2, room: { floor: 1, view: 'canal' } },
        answer: 'booked',
      },
      { type: 'text', text: 'Booked two nights.' },
      { type: 'end', status: 'completed' },
    ])
  })

  test('a call that failed says so', async () => {
    const result = await chat(engine([call('c1', 'book', { nights: 0 })], ['Sorry.']), 'go')
    expect(trajectory(result)[0]).toMatchObject({ answer: { error: 'no nights' }, failed: true })
  })

  test('a chat has only what it added; a session has its whole conversation', async () => {
    const history = [user('hi'), { role: 'assistant' as const, content: 'Hello.' }, user('go')]
    const result = await chat(engine(['Second.']), history)
    expect(trajectory(result).map(({ type }) => type)).toEqual(['text', 'end'])
    const started = await Session.start(engine(['Second.']), Session.create({ messages: history }))
    const whole = ['text', 'text', 'end']
    expect(trajectory(started.session).map(({ type }) => type)).toEqual(whole)
    expect(trajectory(started)).toEqual(trajectory(started.session))
  })

  test('a session that waits ends as its status, with the call that has no answer yet', async () => {
    const { session } = await Session.start(
      engine([call('c1', 'confirm')]),
      Session.create({ messages: 'go' }),
    )
    expect(trajectory(session).at(-1)).toEqual({ type: 'end', status: 'awaiting_user' })
    expectTrajectory(session).toCall('confirm').toEndAs('awaiting_user')
  })

  test('a run that failed or was limited has the reason beside its status', async () => {
    const failed = await Session.start(
      engine([['error', 'provider_unavailable']]),
      Session.create({ messages: 'go' }),
    )
    expectTrajectory(failed).toEndAs('error').toEndAs('provider_unavailable')
    const limited = await chat(engine([call('c1', 'book')]), 'go', { maxTurns: 1 })
    expectTrajectory(limited).toCall('book').toEndAs('max_turns')
  })

  test('an answer that was cut is there as far as it came', async () => {
    const cut = engine(
      [call('c1', 'book')],
      [
        ['text_delta', 'It is'],
        ['stream_error', 'truncated', {}],
      ],
    )
    const partial = await chat(cut, 'go').catch((error: { partial: ChatResult }) => error.partial)
    expectTrajectory(partial).toCall('book').toSay('It is').toEndAs('truncated')
  })

  test('a step and a response have trajectories too', async () => {
    const one = await step(engine([call('c1', 'weather', { city: 'Ghent' })]), 'go')
    expectTrajectory(one).toCall('weather', { city: 'Ghent' }, { answer: { celsius: 21 } })
    expectTrajectory(await generate(engine(['Hi.']), 'go'))
      .toSay('Hi')
      .toEndAs('completed')
    const asked = await generate(engine([call('c1', 'book')]), 'go')
    expectTrajectory(asked).toCall('book').toEndAs('tool_calls')
  })

  test('a trajectory is plain JSON, and has itself as its trajectory', async () => {
    const list = trajectory(await trip())
    expect(JSON.parse(JSON.stringify(list))).toEqual(list)
    expect(trajectory(list)).toBe(list)
  })

  test.each([[undefined], [null], ['text'], [{}], [{ status: 'idle' }]])(
    '%j has none, and is refused',
    (value) => {
      expect(() => trajectory(value as unknown as Trajectory)).toThrow(ValidationError)
    },
  )
})

/** Calls `a`, `b`, `a` with `n` counting from 1, and the end. */
const aba: Trajectory = [
  { type: 'call', id: 'c1', name: 'a', arguments: { n: 1 }, answer: { ok: [1, 2] } },
  { type: 'call', id: 'c2', name: 'b', arguments: { n: 2 }, answer: '21' },
  { type: 'call', id: 'c3', name: 'a', arguments: { n: 3 }, answer: 'no', failed: true },
  { type: 'end', status: 'halted', reason: 'max_turns' },
]

describe('expectTrajectory', () => {
  test('the documented chain passes', async () => {
    expectTrajectory(await trip())
      .toCall('weather', { city: 'Ghent' })
      .then.toCall('book')
      .toSay('two nights')
      .toEndAs('completed')
  })

  test('expectations can be awaited without being called', async () => {
    expect(await Promise.resolve(expectTrajectory(aba).toCall('a'))).toBeDefined()
  })

  test('strict: these calls, in this order, and no others', () => {
    const strict = () => expectTrajectory(aba)
    strict().toCall('a').then.toCall('b').then.toCall('a').toEndAs('halted')
    expect(() => strict().toCall('b')).toThrow('did not call b as call 1')
    expect(() => strict().toCall('a').toCall('a')).toThrow('did not call a as call 2')
    expect(() => strict().toCall('a').toCall('b').toEndAs('halted')).toThrow('1 call more')
    expect(() => strict().toEndAs('halted')).toThrow('3 calls more')
    expect(() => strict().toCall('a').toCall('b').toCall('a').toCall('a')).toThrow('as call 4')
  })

  test('loose: these calls in this order, others anywhere', () => {
    const loose = () => expectTrajectory(aba, { order: 'loose' })
    loose().toCall('b').toEndAs('halted')
    loose().toCall('a').then.toCall('a').toEndAs('max_turns')
    expect(() => loose().toCall('b').then.toCall('b')).toThrow('did not call b')
    expect(() => loose().toCall('b').toCallNothingElse()).toThrow('2 calls more')
  })

  test('set: these calls and no others, in any order', () => {
    const set = () => expectTrajectory(aba, { order: 'set' })
    set().toCall('b').toCall('a').toCall('a').toEndAs('halted')
    expect(() => set().toCall('b').toCall('a').toEndAs('halted')).toThrow('1 call more')
    expect(() => set().toCall('b').toCall('b')).toThrow('did not call b')
  })

  test('set: a call that a later expectation needs is given up by an earlier one', () => {
    const set = expectTrajectory(aba, { order: 'set' })
    set.toCall('a').toCall('a', { n: 1 }).toCall('b').toEndAs('halted')
  })

  test('arguments are matched in part, at every depth', async () => {
    const result = await trip()
    const expected = () => expectTrajectory(result, { order: 'loose' })
    expected().toCall('book', { room: { view: 'canal' } })
    expected().toCall('book', { room: { view: /^can/ }, nights: (n) => Number(n) > 1 })
    expected().toCall('book', ({ nights }) => nights === 2)
    expect(() => expected().toCall('book', { room: { view: 'sea' } })).toThrow(
      'arguments.room.view: expected "sea", got "canal"',
    )
    expect(() => expected().toCall('book', { room: {} }, { exact: true })).toThrow(
      'arguments: has also nights',
    )
    expect(() => expected().toCall('book', { guests: 2 })).toThrow(
      'arguments.guests: expected 2, got nothing',
    )
    expect(() =>
      expected().toCall('book', function isLong() {
        return false
      }),
    ).toThrow('isLong')
  })

  test('lists are matched item by item, and answers like arguments', () => {
    const expected = () => expectTrajectory(aba, { order: 'loose' })
    expected().toCall('a', {}, { answer: { ok: [1, 2] } })
    expected().toCall('b', {}, { answer: 21 })
    expected().toCall('b', {}, { answer: /^2/ })
    expected().toCall('a', {}, { failed: true, answer: 'no' })
    expect(() => expected().toCall('a', {}, { answer: { ok: [1] } })).toThrow(
      'answer.ok: expected [1]',
    )
    expect(() => expected().toCall('b', {}, { failed: true })).toThrow('it did not fail')
  })

  test('notToCall looks at the whole run', () => {
    expectTrajectory(aba).notToCall('c').notToCall('a', { n: 2 }).toCall('a')
    expect(() => expectTrajectory(aba).notToCall('b')).toThrow('called b, which it must not')
    expect(() => expectTrajectory(aba).notToCall('a', { n: 3 })).toThrow('called a')
  })

  test('toSay looks at the last text', async () => {
    const result = await trip()
    expectTrajectory(result).toSay(/two/).toSay('Booked')
    expect(() => expectTrajectory(result).toSay('Let me')).toThrow('- says "Let me"')
    expect(() => expectTrajectory(aba).toSay('anything')).toThrow('last text')
  })

  test('a failure shows what was expected and what the run did', async () => {
    const result = await trip()
    const failure = (check: () => unknown): unknown => {
      try {
        check()
      } catch (error) {
        return error
      }
      return undefined
    }
    const error = failure(() =>
      expectTrajectory(result)
        .toCall('weather', { city: 'Ghent' })
        .then.toCall('book', { nights: 3 }),
    )
    expect(error).toBeInstanceOf(TrajectoryError)
    expect((error as TrajectoryError).trajectory).toEqual(trajectory(result))
    expect((error as Error).message).toBe(`the run did not call book as call 2

- expected
+ by the run

  says "Let me look."
  call weather {"city":"Ghent","units":"c"} → {"city":"Ghent","celsius":21}
- call book {"nights":3}
+ call book {"nights":2,"room":{"floor":1,"view":"canal"}} → "booked"
      arguments.nights: expected 3, got 2
  says "Booked two nights."
  ends as completed`)
    const ending = failure(() => expectTrajectory(aba, { order: 'loose' }).toEndAs('completed'))
    expect((ending as Error).message).toContain('- ends as completed\n+ ends as halted (max_turns)')
  })

  test('names and arguments can be typed', async () => {
    const typed = expectTrajectory<{ weather: { city: string }; book: { nights: number } }>(
      await trip(),
    )
    typed.toCall('weather', { city: 'Ghent' }).toCall('book', { nights: (n) => n > 1 })
    // @ts-expect-error there is no such tool
    expect(() => typed.toCall('wether')).toThrow(TrajectoryError)
    // @ts-expect-error the city is a text
    expect(() => typed.toCall('weather', { city: 1 })).toThrow(TrajectoryError)
  })

  test('unknown options and names that are no text are refused', () => {
    expect(() => expectTrajectory(aba, { order: 'any' as 'set' })).toThrow(ValidationError)
    expect(() => expectTrajectory(aba, { ordr: 'set' } as object)).toThrow('did you mean order?')
    expect(() => expectTrajectory(aba).toCall('a', {}, { answers: 1 } as object)).toThrow('answer')
    expect(() => expectTrajectory(aba).toCall('')).toThrow('name of a tool')
  })
})
