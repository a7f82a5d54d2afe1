import { describe, expect, expectTypeOf, test } from 'vitest'
import { errorFromJSON, errorToJSON } from '../../../src/core/errors/error-json.ts'
import {
  AdapterError,
  adapterErrorReasons,
  AllmError,
  EngineError,
  engineErrorReasons,
  ImageAdapterError,
  imageAdapterErrorReasons,
  isAllmError,
  SessionError,
  sessionErrorReasons,
  StreamError,
  streamErrorReasons,
  ToolError,
  toolErrorReasons,
  ValidationError,
  validationErrorReasons,
  type AnyAllmError,
} from '../../../src/core/errors/errors.ts'
import type { ErrorData, Issue } from '../../../src/core/types/error-data.ts'
import type { Usage } from '../../../src/core/types/response.ts'

const common = {
  cause: { name: 'Error', message: 'inner' },
  metadata: { code: 'x', nested: { list: [1, null] } },
  requestId: 'r1',
}
const call = { provider: 'openai', status: 429, retryAfterMs: 1500, retryable: true }
const issues = [{ path: 'messages[0].role', problem: 'must be legal' }]

const everyError: readonly (readonly [string, AllmError])[] = [
  ...adapterErrorReasons.map((reason) => new AdapterError(reason, 'm', { ...common, ...call })),
  ...imageAdapterErrorReasons.map(
    (reason) => new ImageAdapterError(reason, 'm', { ...common, ...call }),
  ),
  ...streamErrorReasons.map(
    (reason) => new StreamError(reason, 'm', { ...common, provider: 'p', eventIndex: 3 }),
  ),
  ...toolErrorReasons.map(
    (reason) => new ToolError(reason, 'm', { ...common, toolName: 't', toolCallId: 'c1' }),
  ),
  ...engineErrorReasons.map((reason) => new EngineError(reason, 'm', { ...common, provider: 'p' })),
  ...sessionErrorReasons.map((reason) => new SessionError(reason, 'm', common)),
  ...validationErrorReasons.map((reason) => new ValidationError(reason, issues, common)),
].map((error) => [`${error.name} ${error.reason}`, error] as const)

test.each(everyError)('%s survives JSON as an instance of its class', (_name, error) => {
  const written = JSON.stringify(error)
  const read = errorFromJSON(JSON.parse(written) as ErrorData)
  expect(JSON.stringify(read)).toBe(written)
  expect(read).toBeInstanceOf(error.constructor)
  expect(read).toMatchObject({
    name: error.name,
    kind: error.kind,
    reason: error.reason,
    message: error.message,
  })
})

test.each(everyError)('%s is an AllmError and an Error, and says so', (_name, error) => {
  expect(isAllmError(error)).toBe(true)
  expect(error).toBeInstanceOf(AllmError)
  expect(error).toBeInstanceOf(Error)
  expect(String(error)).toBe(`${error.name}: ${error.message}`)
})

test('an error with nothing but a reason writes no empty keys', () => {
  expect(new SessionError('unreadable', 'm').toJSON()).toStrictEqual({
    kind: 'session',
    reason: 'unreadable',
    message: 'm',
  })
  expect(new AdapterError('timeout', 'm').toJSON()).toStrictEqual({
    kind: 'adapter',
    reason: 'timeout',
    message: 'm',
    retryable: true,
  })
})

test('what may help by trying again follows from the reason, unless it is told', () => {
  const retryable = adapterErrorReasons.filter((reason) => new AdapterError(reason, 'm').retryable)
  expect(retryable).toEqual(['rate_limited', 'provider_unavailable', 'timeout', 'network_error'])
  expect(new AdapterError('rate_limited', 'm', { retryable: false }).retryable).toBe(false)
})

test('a partial result travels with its error', () => {
  const partial = { outputText: 'so far' } as never
  const error = new StreamError('cancelled', 'm', { partial })
  expect(errorFromJSON(error.toJSON()).partial).toEqual(partial)
})

test.each<[ErrorData['kind'], string]>([
  ['adapter', 'unknown'],
  ['image_adapter', 'unknown'],
  ['stream', 'unknown'],
  ['tool', 'handler_raised'],
  ['engine', 'invalid_engine'],
  ['session', 'unreadable'],
  ['validation', 'invalid_request'],
])('a reason of %s that is not known is read as %s', (kind, reason) => {
  expect(errorFromJSON({ kind, reason: 'from_the_future', message: 'm' }).reason).toBe(reason)
})

test('a kind that is not known is a StreamError that keeps the data', () => {
  const data = { kind: 'cosmic' as never, reason: 'x', message: 'm', requestId: 'r1', status: 7 }
  const error = errorFromJSON(data)
  expect(error).toBeInstanceOf(StreamError)
  expect(error).toMatchObject({ reason: 'unknown', message: 'm', requestId: 'r1', cause: data })
  expect(errorFromJSON(error.toJSON()).toJSON()).toEqual(error.toJSON())
})

test.each<[unknown, string]>([
  [null, 'an error without a message'],
  [undefined, 'an error without a message'],
  ['the gateway is down', 'the gateway is down'],
  [5, 'an error without a message'],
  [[], 'an error without a message'],
  [{}, 'an error without a message'],
  [{ error: { message: 'no' } }, 'an error without a message'],
])('%j is not an error, and becomes one that keeps it', (data, message) => {
  const error = errorFromJSON(data as never)
  expect(error).toMatchObject({ kind: 'stream', reason: 'unknown', message })
  expect(error.cause).toEqual(data)
})

test.each(['adapter', 'image_adapter', 'stream', 'tool', 'engine', 'session', 'validation'])(
  'members of the wrong kind in an error of kind %s do no harm',
  (kind) => {
    for (const wrong of [null, 5, 'text', [null], { a: [1] }]) {
      const members = [
        'reason',
        'message',
        'metadata',
        'cause',
        'causes',
        'issues',
        'partial',
        'status',
      ]
      const data = { kind, ...Object.fromEntries(members.map((name) => [name, wrong])) }
      const error = errorFromJSON(data as never)
      expect(error.kind).toBe(kind)
      expect(errorFromJSON(JSON.parse(JSON.stringify(error)) as ErrorData).kind).toBe(kind)
    }
  },
)

test('causes inside of causes are not followed', () => {
  const plain = { kind: 'stream', reason: 'unknown', message: 'm' } as const
  let data: ErrorData = plain
  for (let depth = 0; depth < 20_000; depth++) data = { ...plain, causes: [data] }
  expect(errorFromJSON(data).causes).toHaveLength(1)
})

describe('across copies of the package', () => {
  // With a query the module is loaded a second time, as it is when two versions are installed.
  const copyPath = '../../../src/core/errors/errors.ts?copy'

  test('isAllmError knows an error of the other copy, where instanceof does not', async () => {
    const copy = (await import(/* @vite-ignore */ copyPath)) as {
      readonly AdapterError: typeof AdapterError
    }
    const foreign = new copy.AdapterError('timeout', 'm')
    expect(foreign).not.toBeInstanceOf(AdapterError)
    expect(isAllmError(foreign)).toBe(true)
    expect(errorToJSON(foreign)).toMatchObject({ kind: 'adapter', reason: 'timeout' })
  })

  test.each([
    null,
    undefined,
    'text',
    5,
    {},
    new Error('x'),
    { kind: 'adapter', reason: 'timeout' },
  ])('%o is none of ours', (value) => {
    expect(isAllmError(value)).toBe(false)
  })
})

describe('whatever is thrown becomes data', () => {
  const loop: Record<string, unknown> = { name: 'loop' }
  loop['self'] = loop
  const circularError = new Error('round')
  circularError.cause = circularError
  const revoked = Proxy.revocable({}, {})
  revoked.revoke()

  test.each<[string, unknown, string]>([
    ['an Error', new TypeError('bad'), 'bad'],
    ['a text', 'plain', 'plain'],
    ['undefined', undefined, 'a value that is not an Error was thrown'],
    [
      'an object without a prototype',
      Object.create(null),
      'a value that is not an Error was thrown',
    ],
    ['a cycle', loop, 'a value that is not an Error was thrown'],
    ['an Error that is its own cause', circularError, 'round'],
    ['a bigint', 10n, 'a value that is not an Error was thrown'],
    ['a symbol', Symbol('s'), 'a value that is not an Error was thrown'],
  ])('%s', (_name, thrown, message) => {
    const data = errorToJSON(thrown)
    expect(data).toMatchObject({ kind: 'stream', reason: 'unknown', message })
    expect(JSON.parse(JSON.stringify(data))).toStrictEqual(data)
  })

  test.each<[string, unknown, unknown]>([
    ['a cycle', loop, { name: 'loop', self: '[cycle]' }],
    [
      'an Error with a code',
      Object.assign(new Error('x'), { code: 'ECONNRESET' }),
      { name: 'Error', message: 'x', code: 'ECONNRESET' },
    ],
    [
      'a chain of causes',
      new Error('a', { cause: new RangeError('b') }),
      { name: 'Error', message: 'a', cause: { name: 'RangeError', message: 'b' } },
    ],
    [
      'a getter that throws',
      {
        get bad(): never {
          throw new Error('no')
        },
      },
      '[unreadable]',
    ],
    ['a proxy that is gone', revoked.proxy, '[unreadable]'],
    [
      'what JSON has no word for',
      { m: new Map([['a', 1]]), d: new Date(0), n: Number.NaN, f: loop.constructor, u: undefined },
      { m: [['a', 1]], d: '1970-01-01T00:00:00.000Z', n: 'NaN', f: '[function Object]' },
    ],
    ['a date that is none', new Date('x'), 'Invalid Date'],
    ['null', null, null],
  ])('a cause never breaks JSON: %s', (_name, cause, expected) => {
    const data = new StreamError('unknown', 'm', { cause }).toJSON()
    expect(data.cause).toEqual(expected)
    expect(JSON.parse(JSON.stringify(data))).toStrictEqual(data)
  })

  test('a cause that goes too deep is cut', () => {
    let deep: unknown = 'bottom'
    for (let level = 0; level < 50; level++) deep = { deep }
    const text = JSON.stringify(new StreamError('unknown', 'm', { cause: deep }))
    expect(text).toContain('[too deep]')
    expect(text).not.toContain('bottom')
  })
})

test('-0 in a cause or in metadata is 0, which JSON can hold', () => {
  const error = new SessionError('stale', 'm', { cause: -0, metadata: { n: [-0] } })
  expect(JSON.parse(JSON.stringify(error.toJSON()))).toStrictEqual(error.toJSON())
})

test('the kind of an error tells the compiler its class', () => {
  const read = (error: unknown): void => {
    if (!isAllmError(error)) return
    if (error.kind === 'adapter') expectTypeOf(error).toEqualTypeOf<AdapterError>()
    if (error.kind === 'validation') expectTypeOf(error.issues).toEqualTypeOf<readonly Issue[]>()
    switch (error.kind) {
      case 'adapter':
      case 'image_adapter':
        expectTypeOf(error.retryable).toEqualTypeOf<boolean>()
        return
      case 'stream':
      case 'tool':
      case 'engine':
      case 'validation':
      case 'session':
        return
      default:
        expectTypeOf(error).toBeNever()
    }
  }
  read(new Error('not ours'))
  expectTypeOf(errorFromJSON).returns.toEqualTypeOf<AnyAllmError>()
  expectTypeOf<AnyAllmError>().toExtend<AllmError>()
})

test('the text and the usage of a partial result are read without a check of its kind', () => {
  expectTypeOf<NonNullable<AllmError['partial']>['usage']>().toEqualTypeOf<Usage | undefined>()
  expectTypeOf<NonNullable<AllmError['partial']>['outputText']>().toEqualTypeOf<
    string | undefined
  >()
})
