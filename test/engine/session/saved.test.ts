import { readdirSync, readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  createEngine,
  isSendable,
  Session,
  SessionError,
  tool,
  validateSession,
  type JsonObject,
} from '../../../src/index.ts'
import { fake } from '../../../src/testing.ts'

const folder = new URL('../../fixtures/sessions/', import.meta.url)

const saved = readdirSync(folder).map(
  (name) => [name, readFileSync(new URL(name, folder), 'utf8')] as const,
)

describe('every session ever saved stays readable', () => {
  test.each(saved)('%s', (_name, text) => {
    const session = Session.parse(text)
    expect(validateSession(session)).toEqual([])
    expect(Session.parse(Session.stringify(session))).toEqual(session)
  })

  test('an image of version 1 that named a local file is a text that says so', () => {
    const [, text = ''] = saved.find(([name]) => name === 'v1-image-file.json') ?? []
    expect(Session.parse(text).thread.messages[0]?.content).toEqual([
      { type: 'text', text: 'What is this?' },
      { type: 'text', text: '[image of the file passwd, which was not read]' },
    ])
  })

  test('a question of version 1 that was put into the thread is dropped, and its placeholder takes the reply', async () => {
    const [, text = ''] = saved.find(([name]) => name === 'v1-awaiting-user.json') ?? []
    const session = Session.parse(text)
    expect(session.thread.messages.at(-1)?.role).toBe('tool')
    const engine = createEngine({ adapter: fake({ script: [['text', 'ok']] }) })
    const first = await Session.reply(engine, session, 'Norway')
    expect(first.session).toMatchObject({ status: 'awaiting_user', pendingToolCallId: 'c3' })
    const { session: last } = await Session.reply(engine, first.session, 'Minnesota')
    expect(last.status).toBe('completed')
    expect(last.thread.messages.slice(3).map(({ role, content }) => [role, content])).toEqual([
      ['tool', expect.stringContaining('"answer":"Norway"')],
      ['tool', '{"celsius":4}'],
      ['tool', expect.stringContaining('"answer":"Minnesota"')],
      ['assistant', 'ok'],
    ])
  })

  test('the user may speak while a call of version 1 is pending', async () => {
    const [, text = ''] = saved.find(([name]) => name === 'v1-awaiting-tools.json') ?? []
    const engine = createEngine({ adapter: fake({ script: [['text', 'ok']] }) })
    const { session } = await Session.reply(engine, Session.parse(text), 'well?')
    expect(isSendable(session.thread)).toBe(true)
    expect(session.status).toBe('awaiting_tools')
  })

  test('there is one for each status and for each point where a run can be cut', () => {
    const sessions = saved.map(([, text]) => Session.parse(text))
    expect(new Set(sessions.map(({ status }) => status)).size).toBe(7)
    expect(new Set(sessions.map(({ run }) => run?.phase)).size).toBe(5)
  })
})

describe('the error for an invalid session names the problem and its path', () => {
  test.each([
    ['', 'is not JSON'],
    ['{"version":1', 'is not JSON'],
    ['[]', 'is not an object'],
    ['null', 'is not an object'],
    ['{}', 'version'],
    ['{"version":99}', 'newer allm-ts'],
    ['{"version":1,"id":"x"}', 'status'],
    [
      `{"version":1,"id":"x","status":"asleep","thread":{"messages":[],"metadata":{}},"pendingToolCalls":[],"context":{},"metadata":{}}`,
      'status',
    ],
  ])('%s', (text, problem) => {
    expect(() => Session.parse(text)).toThrow(SessionError)
    expect(() => Session.parse(text)).toThrow(problem)
  })

  test('a session that is not text is none that was saved', () => {
    const parse = () => Session.parse({} as never)
    expect(parse).toThrow(SessionError)
    expect(parse).toThrow('it must be the text that Session.stringify makes, not an object')
  })

  test('a session that could not be parsed again is not stringified', () => {
    const session = Session.create({ id: 'x' })
    expect(() => Session.stringify({ ...session, context: { at: new Date() } as never })).toThrow(
      'context.at',
    )
  })
})

test('ten thousand random corruptions of saved sessions are parsed or refused, never with a TypeError', () => {
  const texts = saved.map(([, text]) => text)
  let read = 0
  let refused = 0
  const junk = fc.constantFrom('null', '[]', '{}', '"x"', '-1', 'true', '1e400', '', '}', '"')
  fc.assert(
    fc.property(
      fc.constantFrom(...texts),
      fc.nat(),
      fc.nat({ max: 12 }),
      junk,
      fc.boolean(),
      (text, at, length, put, structural) => {
        const corrupted = structural ? replaceValue(text, at, put) : spliced(text, at, length, put)
        try {
          const session = Session.parse(corrupted)
          read++
          expect(validateSession(session)).toEqual([])
        } catch (error) {
          refused++
          if (!(error instanceof SessionError) || error.reason !== 'unreadable') throw error
        }
      },
    ),
    { numRuns: 10_000 },
  )
  expect(read).toBeGreaterThan(100)
  expect(refused).toBeGreaterThan(1000)
})

function spliced(text: string, at: number, length: number, put: string): string {
  const from = at % text.length
  return text.slice(0, from) + put + text.slice(from + length)
}

/** Replaces the nth value of the JSON by another, so that the text stays JSON where it can. */
function replaceValue(text: string, nth: number, put: string): string {
  let count = 0
  const total = [...text.matchAll(/:/g)].length
  const target = nth % total
  const marked = JSON.stringify(JSON.parse(text), (_key, value: unknown) =>
    count++ === target ? '\u0001put\u0001' : value,
  )
  return marked.replace('"\\u0001put\\u0001"', put)
}

describe('members named __proto__', () => {
  const text = Session.stringify(
    Session.create({ id: 's', messages: 'hi', context: { user: { name: 'Ada' } } }),
  )

  test.each(['__proto__', '\\u005f_proto__', '__pr\\u006Fto__', '\\u005F\\u005Fproto__'])(
    'are dropped from a saved session at any depth (%s)',
    (name) => {
      const spoiled = text
        .replace('"name"', `"${name}":{"admin":true},"name"`)
        .replace('"metadata":{', `"metadata":{"${name}":[1]`)
      expect(spoiled).not.toBe(text)
      expect(Session.parse(spoiled)).toStrictEqual(Session.parse(text))
    },
  )

  test('are refused in a session that was not parsed here', () => {
    const given = { ...Session.parse(text), context: JSON.parse('{"a":{"__proto__":{"b":1}}}') }
    expect(validateSession(given)).toEqual([
      {
        path: 'context.a.__proto__',
        problem: 'must be absent: no value may have a member of this name',
      },
    ])
  })

  test('do not reach a handler, from arguments or from the context', async () => {
    const seen: object[] = []
    const look = tool({
      name: 'look',
      description: 'Looks.',
      schema: { type: 'object' },
      handler: (args, { context }) => {
        seen.push(Object.assign({}, args), Object.assign({}, context['user']))
        return JSON.parse('{"__proto__":{"b":1},"a":1}') as JsonObject
      },
    })
    const adapter = fake({
      scripts: [[['tool_call', { id: 'c', name: 'look', arguments: { a: 1 } }]], [['text', 'ok']]],
    })
    const session = Session.parse(text.replace('"name"', '"__proto__":{"admin":true},"name"'))
    const { session: after } = await Session.reply(
      createEngine({ adapter, tools: [look] }),
      { ...session, status: 'completed' },
      'go',
    )
    expect(seen.map((value) => Reflect.get(value, 'admin'))).toEqual([undefined, undefined])
    expect(after.thread.messages.find(({ role }) => role === 'tool')?.content).toBe('{"a":1}')
    expect(Session.parse(Session.stringify(after))).toEqual(after)
  })

  test('are not what a call is kept under, whatever a model calls it', async () => {
    const pay = tool({
      name: 'pay',
      description: 'Pays.',
      schema: { type: 'object' },
      needsApproval: true,
      handler: () => 'paid',
    })
    const adapter = fake({
      scripts: [[['tool_call', { id: '__proto__', name: 'pay', arguments: {} }]], ['done']],
    })
    const engine = createEngine({ adapter, tools: [pay] })
    const { session } = await Session.start(engine, 'go')
    const waiting = Session.parse(Session.stringify(session))
    expect(waiting).toEqual(session)
    const approved = Session.approve(waiting, waiting.pendingApprovals[0]?.id ?? '')
    const { session: after } = await Session.resume(engine, approved)
    expect(after.thread.messages.find(({ role }) => role === 'tool')?.content).toBe('paid')
  })
})

test('a session that names other calls than those that wait is refused if it could not be saved again', () => {
  const call = { id: 'c', name: 'helper', arguments: {} }
  const asked = { id: 'i', name: 'pay', arguments: {} }
  const waiting = (id: string, toolCall: typeof call, more: Partial<Session>): Session => ({
    ...Session.create({ id }),
    status: 'awaiting_approval',
    thread: { messages: [{ role: 'assistant', content: '', toolCalls: [toolCall] }], metadata: {} },
    pendingApprovals: [toolCall],
    ...more,
  })
  const inner = waiting('inner', asked, { calls: { i: { state: 'awaiting_approval' } } })
  const outer = waiting('outer', call, { calls: { c: { state: 'running', inner, rests: true } } })
  const parse = (): unknown => Session.parse(Session.stringify(outer))
  expect(parse).toThrow(SessionError)
  expect(parse).toThrow('tool call c is not answered')
})
