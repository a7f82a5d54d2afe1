import { describe, expect, test } from 'vitest'
import {
  createEngine,
  generate,
  isAllmError,
  Session,
  user,
  validateMessage,
  validateRequest,
  validateSession,
  validateThread,
  ValidationError,
  type AllmError,
} from '../../../src/index.ts'
import { fake } from '../../../src/testing.ts'

const base = JSON.parse(
  Session.stringify(Session.create({ id: 's', messages: [user('hi')] })),
) as Record<string, unknown>

const times = <T>(count: number, make: (index: number) => T): readonly T[] =>
  Array.from({ length: count }, (_, index) => make(index))

function threadOf(messages: readonly unknown[]): Record<string, unknown> {
  return { ...base, thread: { messages, metadata: {} } }
}

/** A text of nested lists or objects. */
function nested(depth: number, open: string, close: string, core = '1'): string {
  return open.repeat(depth) + core + close.repeat(depth)
}

/** The text of the base session with one more member of its metadata. */
function withMetadata(text: string): string {
  return JSON.stringify({ ...base, metadata: { deep: 0 } }).replace('"deep":0', `"deep":${text}`)
}

function failureOf(text: string): AllmError {
  try {
    Session.parse(text)
  } catch (error) {
    if (isAllmError(error)) return error
    throw error
  }
  throw new Error('it was parsed')
}

describe.each([8_000, 100_000])('a session with %i', (count) => {
  const calls = times(count, (index) => ({ id: `c${index}`, name: 'a', arguments: {} }))
  const bad: Readonly<Record<string, unknown>> = {
    'bad messages': threadOf(times(count, () => ({ role: 'u', content: 5 }))),
    'messages that are not objects': threadOf(times(count, () => 1)),
    'bad parts': threadOf([{ role: 'user', content: times(count, () => ({ type: 'x' })) }]),
    'unknown keys': {
      ...base,
      ...Object.fromEntries(times(count, (index) => [`key${index}`, 1])),
    },
    'unknown keys of a message': threadOf([
      { ...Object.fromEntries(times(count, (index) => [`key${index}`, 1])), role: 'user' },
    ]),
    'calls with one id': threadOf([
      { role: 'assistant', content: '', toolCalls: times(count, () => calls[0]) },
    ]),
    'unanswered calls': threadOf([
      { role: 'assistant', content: '', toolCalls: calls },
      { role: 'user', content: 'hi' },
    ]),
    'answers without a call': threadOf(
      times(count, (index) => ({ role: 'tool', content: '', toolCallId: `c${index}` })),
    ),
    'bad pending calls': { ...base, pendingToolCalls: times(count, () => ({})) },
    'bad issues of its error': {
      ...base,
      status: 'error',
      error: { kind: 'stream', reason: 'x', message: '', issues: times(count, () => 1) },
    },
    'a long key': { ...base, ['k'.repeat(count)]: 1 },
    'a long id': threadOf([{ role: 'tool', content: '', toolCallId: 'i'.repeat(count) }]),
    'a long version': { ...base, version: 'v'.repeat(count) },
  }

  test.each(Object.keys(bad))(
    '%s is unreadable, with at most 50 problems in a short message',
    (name) => {
      const error = failureOf(JSON.stringify(bad[name]))
      expect(error).toMatchObject({ kind: 'session', reason: 'unreadable' })
      expect(error.metadata['issues']).toSatisfy(
        (issues: readonly unknown[]) => issues.length > 0 && issues.length <= 50,
      )
      expect(error.message.length).toBeLessThan(20_000)
    },
  )

  test('good messages is read', () => {
    const session = threadOf(times(count, (index) => ({ role: 'user', content: `${index}` })))
    expect(Session.parse(JSON.stringify(session)).thread.messages).toHaveLength(count)
  })

  test.each([
    ['lists', '[', ']'],
    ['objects', '{"a":', '}'],
    ['objects with long keys', `{"${'k'.repeat(100)}":`, '}'],
  ])('levels of nested %s is unreadable', (_name, open, close) => {
    const error = failureOf(withMetadata(nested(count, open, close)))
    expect(error).toMatchObject({ kind: 'session', reason: 'unreadable' })
    expect(error.message).toContain('nested deeper than 500 levels')
    expect(error.message.length).toBeLessThan(2_000)
  })

  test('levels in any other field is a SessionError as well', () => {
    const deep = nested(count, '[', ']')
    for (const key of [...Object.keys(base), 'error', 'run', 'other']) {
      const text = JSON.stringify({ ...base, [key]: 'HERE' }).replace('"HERE"', deep)
      expect(failureOf(text), key).toMatchObject({ kind: 'session', reason: 'unreadable' })
    }
    expect(failureOf(deep)).toMatchObject({ kind: 'session', reason: 'unreadable' })
    const image = { type: 'image', image: { type: 'file', path: 'HERE' } }
    const old = { ...threadOf([{ role: 'user', content: [image] }]), version: 1 }
    const text = JSON.stringify(old).replace(',"pendingApprovals":[]', '')
    expect(Session.parse(text.replace('"HERE"', deep)).thread.messages).toHaveLength(1)
  })
})

test('a value nested 500 levels deep is saved and read, one of 501 is not', () => {
  const at = (depth: number): unknown => JSON.parse(withMetadata(nested(depth, '[', ']')))
  // The metadata is one level.
  const session = Session.parse(JSON.stringify(at(499)))
  expect(Session.parse(Session.stringify(session))).toEqual(session)
  expect(() => Session.stringify(at(500) as Session)).toThrow('nested deeper than 500 levels')
})

describe('the work of a check', () => {
  /** Counts how often something of a value is looked at. */
  function counted(value: unknown): { readonly value: unknown; readonly count: () => number } {
    let count = 0
    const wrap = (inner: unknown): unknown =>
      typeof inner === 'object' && inner !== null
        ? new Proxy(inner, {
            get: (target, key, receiver) => {
              count++
              return wrap(Reflect.get(target, key, receiver))
            },
            ownKeys: (target) => {
              count++
              return Reflect.ownKeys(target)
            },
          })
        : inner
    return { value: wrap(value), count: () => count }
  }

  function work(check: (value: unknown) => unknown, value: unknown): number {
    const { value: watched, count } = counted(value)
    check(watched)
    return count()
  }

  const good = (count: number) => ({
    messages: times(count, (index) => ({
      role: 'user',
      content: [{ type: 'text', text: `${index}` }],
      metadata: { a: { b: [index] } },
    })),
    metadata: {},
  })
  const bad = (count: number) => ({
    messages: times(count, () => ({ role: 'u', content: 5 })),
    metadata: {},
  })

  test('grows with the size of a good thread, and not faster', () => {
    const one = work(validateThread, good(1_000))
    expect(work(validateThread, good(10_000)) / one).toBeCloseTo(10, 1)
  })

  test('does not grow with the number of problems', () => {
    // The conversation of roles and answers is looked at to its end.
    const perMessage = (count: number) => work(validateThread, bad(count)) / count
    expect(perMessage(100_000)).toBeLessThan(perMessage(8_000))
    expect(perMessage(100_000)).toBeLessThan(6)
  })

  test('is one look at each level of a deep value', () => {
    const deep = (depth: number): unknown => JSON.parse(nested(depth, '{"a":', '}'))
    const look = (depth: number): number =>
      work(validateMessage, { role: 'user', content: '', metadata: deep(depth) })
    expect(look(400) - look(200)).toBeLessThan(200 * 5)
    expect(look(5_000)).toBe(look(1_000))
  })
})

test('every check gives at most 50 problems', () => {
  const messages = times(1_000, () => ({ role: 'u', content: 5 }))
  const tools = times(1_000, () => ({ name: 'x', description: '', schema: {}, extra: 1 }))
  expect(validateThread({ messages, metadata: {} })).toHaveLength(50)
  expect(validateSession(threadOf(messages))).toHaveLength(50)
  expect(validateRequest({ messages, tools, providerOptions: {}, metadata: {} })).toHaveLength(50)
  expect(
    validateMessage({ role: 'user', content: times(1_000, () => ({ type: 'text' })) }),
  ).toHaveLength(50)
})

test('options with many unknown keys are refused briefly', async () => {
  const options = Object.fromEntries(times(1_000, (index) => [`key${index}`, 1]))
  const engine = createEngine({ adapter: fake({ script: [['text', 'hi']] }) })
  const error: unknown = await generate(engine, [user('hi')], options as never).catch(
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(ValidationError)
  expect((error as ValidationError).issues).toHaveLength(50)
  expect((error as ValidationError).message).toContain('and perhaps more')
})
