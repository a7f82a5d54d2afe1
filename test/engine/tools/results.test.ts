import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { OnToolError } from '../../../src/core/contracts/options.ts'
import { ToolError, toolErrorReasons } from '../../../src/core/errors/errors.ts'
import { fail } from '../../../src/core/messages/outcomes.ts'
import type { ToolCall } from '../../../src/core/types/message.ts'
import { messageOf } from '../../../src/engine/tools/failed-calls.ts'
import { plainJson } from '../../../src/engine/tools/json.ts'
import { encodeJson, encodeResult, errorContent } from '../../../src/engine/tools/results.ts'
import { runToolCalls, type ToolCallsResult } from '../../../src/engine/tools/run-tool-calls.ts'
import { call, simple } from './support.ts'

class Point {
  readonly x = 1
  readonly #hidden = 2
  get sum(): number {
    return this.x + this.#hidden
  }
}

class Secret {
  readonly #hidden = 2
  get value(): number {
    return this.#hidden
  }
}

describe('the default encoder', () => {
  test.each([
    ['a string unchanged', 'plain "text"', 'plain "text"'],
    ['an empty string', '', ''],
    ['undefined', undefined, 'null'],
    ['null', null, 'null'],
    ['a number', 1.5, '1.5'],
    ['negative zero', -0, '0'],
    ['a boolean', false, 'false'],
    ['an object', { a: [1, 'b', null] }, '{"a":[1,"b",null]}'],
    ['a member that is undefined', { a: undefined, b: 1 }, '{"b":1}'],
    ['an item that is undefined', [undefined, 1], '[null,1]'],
    ['a date', new Date(0), '"1970-01-01T00:00:00.000Z"'],
    ['a date inside', { at: new Date(0) }, '{"at":"1970-01-01T00:00:00.000Z"}'],
    ['an object with toJSON', { toJSON: () => ({ a: 1 }) }, '{"a":1}'],
    ['a URL', new URL('https://example.test/a'), '"https://example.test/a"'],
    ['an object of a class', new Point(), '{"x":1}'],
    ['an object without a prototype', Object.assign(Object.create(null), { a: 1 }), '{"a":1}'],
    ['no member named __proto__', JSON.parse('{"b":[{"__proto__":{"a":1}}]}'), '{"b":[{}]}'],
    ['one object in two places', ((o) => ({ a: o, b: o }))({ n: 1 }), '{"a":{"n":1},"b":{"n":1}}'],
  ])('writes %s', (_what, value, text) => {
    expect(encodeJson(value)).toBe(text)
  })

  const cycle: Record<string, unknown> = { name: 'a' }
  cycle['self'] = [cycle]
  let deep: unknown = 1
  for (let level = 0; level < 1000; level++) deep = [deep]

  test.each([
    ['a Map', { rows: [new Map()] }, 'rows[0] is a Map'],
    ['a Set', new Set([1]), 'the value is a Set'],
    ['a function', { a: { run: () => 1 } }, 'a.run is a function'],
    ['a symbol', [Symbol('s')], '[0] is a symbol'],
    ['a bigint', { n: 1n }, 'n is a bigint'],
    ['NaN', { n: Number.NaN }, 'n is NaN'],
    ['infinity', [1, Number.POSITIVE_INFINITY], '[1] is Infinity'],
    ['a cycle', cycle, 'self[0] refers to itself'],
    ['a promise', { later: Promise.resolve(1) }, 'later is a Promise'],
    ['an error', { e: new TypeError('x') }, 'e is an Error; throw it, or return fail(reason)'],
    ['bytes', { bytes: new Uint8Array(2) }, 'bytes holds bytes; write them as base64'],
    ['a regular expression', [/x/], '[0] is a RegExp'],
    ['a boxed string', [new Object('abc')], '[0] is a String'],
    [
      'an object with private fields only',
      { s: new Secret() },
      's is a Secret without fields of its own',
    ],
    ['a key that is not an identifier', { 'a b': new Map() }, '["a b"] is a Map'],
  ])('refuses %s and names its path', (_what, value, problem) => {
    expect(() => encodeJson(value)).toThrow(new TypeError(problem))
  })

  test('refuses a list with a hole so large that the runtime could not hold its copy', () => {
    const rows: string[] = []
    rows[1_700_000_000] = 'a list with ids as its indexes'
    expect(() => encodeJson({ rows })).toThrow('rows is a list of')
  })

  test('refuses values that are nested too deeply instead of overflowing the stack', () => {
    expect(() => encodeJson(deep)).toThrow(/is nested too deeply$/)
  })

  test('rethrows errors of a getter or toJSON', () => {
    const broken = {
      get a(): number {
        throw new Error('no a')
      },
    }

    expect(() => encodeJson(broken)).toThrow('no a')
  })

  test('writes negative zero as zero, as JSON does', () => {
    expect(plainJson([-0, { zero: -0, at: new Date(0) }])).toEqual([
      0,
      { zero: 0, at: '1970-01-01T00:00:00.000Z' },
    ])
    expect(plainJson(-0)).toBe(0)
  })

  test('copies JSON values exactly, and shares nothing with them', () => {
    fc.assert(
      fc.property(fc.jsonValue().filter(isLegal), (value) => {
        const copy = plainJson(value)
        expect(JSON.stringify(copy)).toBe(JSON.stringify(value))
        if (typeof value === 'object' && value !== null) expect(copy).not.toBe(value)
      }),
    )
  })
})

/** A member named `__proto__` is dropped. */
function isLegal(value: unknown): boolean {
  return !JSON.stringify(value).includes('__proto__')
}

describe('a custom encoder', () => {
  const given = (content: unknown): unknown =>
    content === 'rejecting' ? Promise.reject(new Error('nobody waits for this')) : content

  test('may return any string, and events have the value or a description of it', () => {
    expect(encodeResult({ a: 1 }, () => 'A')).toEqual({ content: 'A', json: { a: 1 } })
    expect(encodeResult(new Map([['a', 1]]), () => 'A')).toEqual({
      content: 'A',
      json: [['a', 1]],
    })
  })

  test.each([
    ['undefined', undefined, 'undefined'],
    ['null', null, 'null'],
    ['an object', {}, 'an object'],
    ['a promise', 'rejecting', 'a Promise'],
  ])('must return a string, not %s', (_what, content, word) => {
    expect(() => encodeResult(1, () => given(content) as string)).toThrow(
      `toolResultEncoder must return a string, not ${word}`,
    )
  })
})

const raised = (cause: unknown): ToolError => new ToolError('handler_raised', 'internal', { cause })

const read = (error: ToolError): string => JSON.parse(errorContent(error)).error

test.each(toolErrorReasons)(
  'the model gets one sentence for %s, without a class name',
  (reason) => {
    const content = errorContent(
      new ToolError(reason, 'what happened', { cause: new Error('why') }),
    )

    expect(Object.keys(JSON.parse(content))).toEqual(['error'])
    expect(content).not.toMatch(/Error|stack|cause/)
  },
)

test.each([
  ['an error', new TypeError('no row'), 'the tool failed: no row'],
  ['an error of several lines', new Error('\n first\nsecond'), 'the tool failed: first'],
  ['an error without a message', new Error(''), 'the tool failed'],
  ['a string', 'no row', 'the tool failed: no row'],
  ['something with a message', { message: 'no row' }, 'the tool failed: no row'],
  ['anything else', { code: 1 }, 'the tool failed'],
  ['nothing', undefined, 'the tool failed'],
])('the model gets the first line when a handler throws %s', (_what, cause, text) => {
  expect(read(raised(cause))).toBe(text)
})

test('keys are redacted', () => {
  const text = read(raised(new Error('401 for sk-ant-REDACTED')))

  expect(text).toBe('the tool failed: 401 for [redacted]')
})

test('a long message is cut at 300 characters, never inside a character', () => {
  const text = read(raised(new Error('😀'.repeat(400))))

  expect(text.length).toBeLessThanOrEqual(300)
  expect(text).toMatch(/😀…$/u)
})

test('the message of fail() reaches the model without a prefix, in one line', () => {
  expect(read(new ToolError('handler_failed', 'sold out\n\ttry \u0007Monday'))).toBe(
    'sold out try Monday',
  )
})

test('refused arguments of a compact tool add its help text', () => {
  const compact = simple('weather', () => 1, { compact: true })
  const refused = new ToolError('invalid_arguments', 'invalid arguments: city: is missing')

  expect(JSON.parse(errorContent(refused, compact))).toEqual({
    error: 'invalid arguments: city: is missing',
    help: '## weather\nDoes weather.\nArguments (JSON Schema): {}',
  })
  expect(JSON.parse(errorContent(raised('x'), compact))).toEqual({ error: 'the tool failed: x' })
})

test('the message of a thrown value is used only if it is a string', () => {
  expect(messageOf({ message: 5 })).toBe('')
  expect(messageOf(null)).toBe('')
})

const broken = simple('broken', () => fail('sold out'))

const echo = simple('echo', (args) => args)

function run(onToolError: unknown, calls = [call('c0', 'broken')]): Promise<ToolCallsResult> {
  return runToolCalls(calls, [broken, echo], { onToolError: onToolError as OnToolError })
}

test('continue: the model gets the error, and nothing halts', async () => {
  const { messages, halt } = await run('continue')

  expect(messages[0]?.content).toBe('{"error":"sold out"}')
  expect(halt).toBeUndefined()
})

test('halt: the model gets the error, and the batch halts as tool_error', async () => {
  const { messages, halt } = await run('halt')

  expect(messages[0]?.content).toBe('{"error":"sold out"}')
  expect(halt).toMatchObject({ reason: 'tool_error', toolCallId: 'c0' })
})

test('a function gets the call and the whole error, once for each error', async () => {
  const received: [ToolCall, ToolError][] = []
  const calls = [call('c0', 'broken', { seat: 1 }), call('c1', 'echo'), call('c2', 'broken')]

  await run((failed: ToolCall, error: ToolError) => {
    received.push([failed, error])
    return 'halt'
  }, calls)

  expect(received.map(([failed]) => failed)).toEqual([calls[0], calls[2]])
  expect(received[0]?.[1]).toBeInstanceOf(ToolError)
  expect(received[0]?.[1]).toMatchObject({ reason: 'handler_failed', message: 'sold out' })
})

test.each([
  ['a value', { seats: 0 }, '{"seats":0}'],
  ['a string', 'try again', 'try again'],
  ['undefined', undefined, 'null'],
])(
  'a function that returns {continue: %s} replaces the error with it',
  async (_what, value, content) => {
    const { messages, halt } = await run(() => ({ continue: value }))

    expect(messages[0]?.content).toBe(content)
    expect(halt).toBeUndefined()
  },
)

test('a replacement is encoded by the encoder', async () => {
  const { messages } = await runToolCalls([call('c0', 'broken')], [broken], {
    onToolError: () => ({ continue: 'x' }),
    toolResultEncoder: (value) => `<${String(value)}>`,
  })

  expect(messages[0]?.content).toBe('<x>')
})

test('a function that returns halt halts with the error itself', async () => {
  const { halt } = await run(() => 'halt')

  expect(halt).toMatchObject({
    reason: 'tool_error',
    toolCallId: 'c0',
    error: { reason: 'handler_failed', message: 'sold out' },
  })
})

test('a function may be async, and the other calls do not wait for it', async () => {
  const replaced = await run(async () => ({ continue: 'later' }))
  const halted = await run(async () => 'halt')

  expect(replaced.messages[0]?.content).toBe('later')
  expect(halted.halt).toMatchObject({ error: { reason: 'handler_failed' } })
})

test('a function that throws halts as invalid_return, with the thrown error as the cause', async () => {
  let calls = 0
  const { messages, halt } = await run(() => {
    calls++
    throw new Error('a broken policy')
  })

  expect(calls).toBe(1)
  expect(messages[0]?.content).toBe('{"error":"sold out"}')
  expect(halt).toMatchObject({
    reason: 'tool_error',
    error: {
      reason: 'invalid_return',
      cause: { name: 'Error', message: 'a broken policy' },
      metadata: { toolError: { reason: 'handler_failed', message: 'sold out' } },
    },
  })
})

test.each([
  ['nothing', undefined],
  ['null', null],
  ['a number', 7],
  ['an object without continue', { replace: 1 }],
  ['a promise of nonsense', Promise.resolve('stop')],
  ['a promise that rejects', 'rejecting'],
])('a function that returns %s halts as invalid_return', async (_what, answer) => {
  let calls = 0
  const { halt } = await run(() => {
    calls++
    return answer === 'rejecting' ? Promise.reject(new Error('x')) : answer
  })

  expect(calls).toBe(1)
  expect(halt).toMatchObject({ reason: 'tool_error', error: { reason: 'invalid_return' } })
})

test.each(['continue', Promise.resolve('continue')])(
  'a function that returns continue leaves the error to the model',
  async (answer) => {
    const { messages, halt } = await run(() => answer)
    expect(halt).toBeUndefined()
    expect(messages[0]).toMatchObject({ metadata: { isError: true } })
  },
)

test('a replacement that cannot be encoded halts as encoding_failed, and the function is not called again', async () => {
  let calls = 0
  const { messages, halt } = await run(() => {
    calls++
    return { continue: { bad: new Map() } }
  })

  expect(calls).toBe(1)
  expect(messages[0]?.content).toBe('{"error":"sold out"}')
  expect(halt).toMatchObject({ reason: 'tool_error', error: { reason: 'encoding_failed' } })
})

test('a function with three parameters is refused before anything runs', async () => {
  const wrong = (_call: unknown, _error: unknown, _third: unknown): string => 'halt'

  await expect(run(wrong)).rejects.toMatchObject({
    kind: 'validation',
    issues: [{ path: 'onToolError' }],
  })
})

test.each([
  ['no parameters', () => 'halt'],
  ['one parameter', (_call: unknown) => 'halt'],
])('a function with %s is accepted', async (_count, policy) => {
  expect((await run(policy)).halt?.reason).toBe('tool_error')
})
