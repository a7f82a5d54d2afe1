import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import {
  askUser,
  content,
  createEngine,
  fail,
  halt,
  imageFromBase64,
  imagePart,
  isAllmError,
  isSendable,
  Session,
  textPart,
  tool,
  user,
  type Engine,
  type SessionStream,
  type Tool,
} from '../../src/index.ts'
import { fake, type Script } from '../../src/testing.ts'
import { corrupted, placesIn } from './corruptions.ts'
import {
  hostileAnswer,
  hostileFormats,
  problemWith,
  type HostileAnswer,
} from './hostile-answers.ts'
import { root } from './root.ts'

/** Something that is tried with random input. Everything is a function of the seed. */
export interface FuzzTarget {
  readonly name: string
  /** How many inputs are tried with one seed. */
  readonly cases: number
  /** Tries some inputs. Returns what is wrong with the smallest input that fails, or `undefined`. */
  run(seed: number): Promise<string | undefined>
}

/** The targets of the fuzzer: saved sessions, answers on every wire, scripts, and what tools do. */
export const fuzzTargets: readonly FuzzTarget[] = [
  property('sessions', 1_000, () => damagedSession, problemOfText),
  property('scripts', 500, () => anyScript, problemOfScript),
  property('tool outcomes', 500, () => toolPlan, problemOfTools),
  ...hostileFormats.map((format) => ({
    name: `answers of ${format}`,
    cases: 250,
    async run(seed: number) {
      for (let offset = 0; offset < 250; offset++) {
        const answer = hostileAnswer(format, seed * 1_000 + offset)
        if ((await problemWith(answer)) !== undefined) return describeAnswer(await shrunk(answer))
      }
      return undefined
    },
  })),
]

/** A target whose inputs fast-check makes and shrinks. */
function property<T>(
  name: string,
  cases: number,
  inputs: () => fc.Arbitrary<T>,
  problemOf: (input: T) => Promise<string | undefined>,
): FuzzTarget {
  return {
    name,
    cases,
    async run(seed) {
      const check = fc.asyncProperty(inputs(), async (input) => {
        const problem = await problemOf(input)
        if (problem !== undefined) throw new Error(problem)
      })
      const { failed, counterexample, errorInstance } = await fc.check(check, {
        seed,
        numRuns: cases,
        endOnFailure: false,
      })
      if (!failed) return undefined
      return `${String(errorInstance)}\n  input: ${fc.stringify(counterexample?.[0])}`
    },
  }
}

// Answers

/** A smaller answer that still fails: events, lines and parts of lines are left out as long as it does. */
async function shrunk(answer: HostileAnswer): Promise<HostileAnswer> {
  let text = new TextDecoder().decode(answer.body)
  for (const between of ['\n\n', '\n', ',', '']) {
    for (let size = 64; size >= 1; size = Math.floor(size / 4)) {
      let pieces = text.split(between)
      for (let at = 0; at < pieces.length && pieces.length < 3_000;) {
        const fewer = pieces.toSpliced(at, size)
        const smaller = { ...answer, body: new TextEncoder().encode(fewer.join(between)) }
        if ((await problemWith(smaller)) === undefined) at += size
        else pieces = fewer
      }
      text = pieces.join(between)
    }
  }
  const body = new TextEncoder().encode(text)
  // A text that is not UTF-8 does not survive decoding.
  return (await problemWith({ ...answer, body })) === undefined ? answer : { ...answer, body }
}

async function describeAnswer(answer: HostileAnswer): Promise<string> {
  const body = JSON.stringify(new TextDecoder().decode(answer.body))
  const { seed, changes, contentType } = answer
  const problem = await problemWith(answer)
  return `${problem}\n  seed ${seed}, ${contentType}, changed: ${changes.join(', ')}\n  input: ${body.slice(0, 4_000)}`
}

// What must hold for every run

/** The first thing that is wrong with a run, after any event or at its end. */
async function problemOfRun(stream: SessionStream): Promise<string | undefined> {
  let count = 0
  try {
    for await (const event of stream) {
      const text = JSON.stringify(event)
      if (!isDeepStrictEqual(JSON.parse(text), event)) {
        return `event ${count} is not plain JSON: ${text.slice(0, 300)}`
      }
      const problem = problemOfSession(stream.session)
      if (problem !== undefined) return `after event ${count} (${event.type}): ${problem}`
      count++
    }
  } catch (error) {
    if (!isAllmError(error)) return `threw ${describeThrown(error)} after ${count} events`
  }
  return problemOfSession(stream.session)
}

function problemOfSession(session: Session): string | undefined {
  let saved: Session
  try {
    saved = Session.parse(Session.stringify(session))
  } catch (error) {
    return `the session cannot be saved: ${describeThrown(error).slice(0, 500)}`
  }
  if (!isDeepStrictEqual(saved, session)) return 'the session is changed by saving'
  if (Reflect.get({}, 'polluted') !== undefined) return 'the prototype of all objects was changed'
  return undefined
}

function describeThrown(error: unknown): string {
  try {
    return error instanceof Error ? (error.stack ?? error.message) : String(error)
  } catch {
    return 'a value that cannot be shown'
  }
}

// Saved sessions

const lookUp = tool({
  name: 'look_up',
  description: 'Look up.',
  schema: { type: 'object' },
  idempotent: true,
  handler: () => ({ found: 1 }),
})
const manual = tool({ name: 'manual', description: 'Manual.', schema: {}, manual: true })
const asking = tool({
  name: 'asking',
  description: 'Asks.',
  schema: {},
  handler: () => askUser('Which one?', { options: ['a', 'b'] }),
})
const askingAgain = tool({
  name: 'asking_again',
  description: 'Asks, and goes on with the answer.',
  schema: {},
  handler: (_args, { answer }) => answer ?? askUser('Which one?', { resume: true }),
})
const approved = tool({
  name: 'approved',
  description: 'Needs approval.',
  schema: {},
  needsApproval: true,
  handler: () => 'done',
})
const sessionTools = [lookUp, manual, asking, askingAgain, approved]

function engineOf(script: Script, tools: readonly Tool[] = sessionTools): Engine {
  return createEngine({
    adapter: fake({ scripts: Array.from({ length: 6 }, () => script) }),
    tools,
  })
}

const call = (id: string, name: string) =>
  ['tool_call', { id, name, arguments: { a: [1] } }] as const

/** Good sessions of every kind: the session after each event of some runs, and those of older versions. */
async function goodSessions(): Promise<readonly unknown[]> {
  const runs: readonly (readonly Script[])[] = [
    [[['text', 'Hello.']]],
    [[['reasoning', 'Well.', { opaque: { a: 1 } }], call('c1', 'look_up')], [['text', 'Done.']]],
    [[call('c1', 'manual'), call('c2', 'look_up')]],
    [[call('c1', 'asking'), call('c2', 'asking')]],
    [[call('c1', 'asking_again'), call('c2', 'approved'), call('c3', 'manual')]],
    [[call('c1', 'approved'), call('c2', 'look_up'), call('c3', 'nobody')]],
    [
      [
        ['text_delta', 'Half'],
        ['stream_error', 'truncated', {}],
      ],
    ],
    [[['error_event', 'provider_unavailable', { message: 'no' }]]],
  ]
  const fixtures = join(root, 'test/fixtures/sessions')
  const found: unknown[] = readdirSync(fixtures)
    .filter((name) => name.endsWith('.json'))
    .map((name) => JSON.parse(readFileSync(join(fixtures, name), 'utf8')) as unknown)
  for (const scripts of runs) {
    const engine = createEngine({ adapter: fake({ scripts }), tools: sessionTools, retry: false })
    const stream = Session.streamStart(engine, [user('go')])
    try {
      for await (const _ of stream) found.push(JSON.parse(Session.stringify(stream.session)))
    } catch {
      // The session says what failed.
    }
    found.push(JSON.parse(Session.stringify(stream.session)))
  }
  return found
}

const sessionPool = await goodSessions()

/** Values that a field does not expect. */
const oddJson: readonly unknown[] = [
  null,
  '',
  'x',
  '__proto__',
  '\uD800',
  -1,
  0,
  1e21,
  0.5,
  true,
  [],
  {},
  [[[]]],
  [null],
  { type: 'text' },
  { type: 'image', image: { type: 'file', path: '/etc/passwd' } },
  JSON.parse('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}'),
  JSON.parse('['.repeat(600) + ']'.repeat(600)),
  'idle',
  'awaiting_tools',
  'awaiting_user',
  'awaiting_approval',
  'completed',
  'halted',
  'error',
  'assistant',
  'tool',
  'c1',
]

/** The text of a session of which some places were changed, exchanged or cut off. */
const damagedSession: fc.Arbitrary<string> = fc
  .record({
    session: fc.nat(sessionPool.length - 1),
    changes: fc.array(
      fc.record({
        place: fc.nat(10_000),
        kind: fc.constantFrom('odd', 'copy', 'drop', 'repeat', 'key'),
        with: fc.nat(10_000),
      }),
      { maxLength: 4 },
    ),
    cut: fc.option(fc.nat(10_000), { freq: 12, nil: undefined }),
  })
  .map(({ session, changes, cut }) => {
    let value: unknown = structuredClone(sessionPool[session])
    for (const change of changes) value = changed(value, change)
    const text = JSON.stringify(value)
    return cut === undefined ? text : text.slice(0, cut % (text.length + 1))
  })

function changed(
  value: unknown,
  change: { readonly place: number; readonly kind: string; readonly with: number },
): unknown {
  const places = placesIn(value)
  const place = places[change.place % Math.max(places.length, 1)]
  if (place === undefined) return value
  const other = places[change.with % places.length] ?? place
  const at = (path: readonly (string | number)[]): unknown =>
    path.reduce<unknown>((inner, key) => Reflect.get(inner as object, key), value)
  switch (change.kind) {
    case 'copy':
      return corrupted(value, place, structuredClone(at(other)))
    case 'drop': {
      const parent = at(place.slice(0, -1))
      const key = place.at(-1)
      const left = Array.isArray(parent)
        ? parent.filter((_, index) => index !== key)
        : Object.fromEntries(Object.entries(parent as object).filter(([name]) => name !== key))
      return corrupted(value, place.slice(0, -1), left)
    }
    case 'repeat': {
      const list = at(place)
      return Array.isArray(list) ? corrupted(value, place, [...list, ...list]) : value
    }
    case 'key':
      return corrupted(value, [...place.slice(0, -1), 'unknown'], at(place))
    default:
      return corrupted(value, place, oddJson[change.with % oddJson.length])
  }
}

/** A damaged session is refused with a typed error, or every operation on it ends in one or in a session that can be saved. */
async function problemOfText(text: string): Promise<string | undefined> {
  let session: Session
  try {
    session = Session.parse(text)
  } catch (error) {
    if (!isAllmError(error) || error.kind !== 'session')
      return `parse threw ${describeThrown(error)}`
    return error.message.length > 40_000 ? 'the message is too long' : undefined
  }
  const before = problemOfSession(session)
  if (before !== undefined) return before
  const engine = engineOf([['text', 'on']])
  const operations: Readonly<Record<string, () => Promise<Session> | Session>> = {
    resume: async () => (await Session.resume(engine, session)).session,
    reply: async () => (await Session.reply(engine, session, 'hello')).session,
    step: async () => (await Session.step(engine, session)).session,
    start: async () => (await Session.start(engine, session)).session,
    append: () => Session.append(session, user('more')),
    submitToolResult: () =>
      Session.submitToolResult(session, session.pendingToolCalls[0]?.id ?? 'c1', { a: 1 }),
    approve: async () => {
      const callId = session.pendingApprovals[0]?.id ?? 'c1'
      return (await Session.resume(engine, Session.approve(session, callId))).session
    },
    deny: async () => {
      const callId = session.pendingApprovals[0]?.id ?? 'c1'
      return (await Session.resume(engine, Session.deny(session, callId, 'no'))).session
    },
  }
  for (const [name, operation] of Object.entries(operations)) {
    try {
      const problem = problemOfSession(await operation())
      if (problem !== undefined) return `after ${name}: ${problem}`
    } catch (error) {
      if (!isAllmError(error)) return `${name} threw ${describeThrown(error)}`
    }
  }
  return undefined
}

// Scripts

const oddText = fc.oneof(
  fc.string({ maxLength: 6 }),
  fc.constantFrom('', '__proto__', '\uD800', '\0'),
)
const oddValue: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(...oddJson, Number.NaN, Number.POSITIVE_INFINITY, undefined),
  fc.json().map((text) => JSON.parse(text) as unknown),
)
const callFields = fc.record(
  {
    id: fc.oneof(fc.constantFrom('c1', 'c2', ''), oddValue),
    name: fc.oneof(fc.constantFrom('look_up', 'manual', 'asking', 'nobody'), oddValue),
    arguments: fc.oneof(fc.constant({}), oddValue),
    rawArguments: fc.oneof(fc.constantFrom('{', '{}', '{"a":1e999}'), oddValue),
    argumentsDelta: fc.oneof(fc.constantFrom('{', '}', '{"a":'), oddValue),
  },
  { requiredKeys: ['id', 'name'] },
)
const entry: fc.Arbitrary<readonly unknown[]> = fc.oneof(
  fc.tuple(fc.constant('text'), fc.oneof(oddText, oddValue)),
  fc.tuple(fc.constant('text_delta'), oddText),
  fc.tuple(fc.constant('reasoning'), oddText, fc.oneof(fc.record({ opaque: oddValue }), oddValue)),
  fc.tuple(fc.constantFrom('tool_call', 'tool_call_delta'), callFields),
  fc.tuple(
    fc.constant('usage'),
    fc.oneof(
      fc.dictionary(fc.constantFrom('inputTokens', 'outputTokens', 'extra'), oddValue),
      oddValue,
    ),
  ),
  fc.tuple(fc.constant('raw_chunk'), oddValue),
  fc.tuple(
    fc.constant('finish'),
    fc.oneof(fc.constantFrom('stop', 'length', 'tool_calls'), oddValue),
  ),
  fc.tuple(fc.constant('error'), oddValue),
  fc.tuple(
    fc.constantFrom('error', 'preflight_error', 'error_event', 'stream_error'),
    fc.oneof(fc.constantFrom('timeout', 'truncated', 'rate_limited'), oddValue),
    fc.oneof(fc.record({ message: oddValue, retryAfterMs: oddValue }), oddValue),
  ),
  fc.tuple(
    fc.constant('ok'),
    fc.oneof(fc.record({ outputText: oddText, usage: oddValue }), oddValue),
  ),
  fc.array(oddValue, { maxLength: 3 }),
)
const anyScript: fc.Arbitrary<readonly unknown[]> = fc.array(entry, { maxLength: 5 })

/** A script is refused when the fake is made, or played like any answer. */
async function problemOfScript(script: readonly unknown[]): Promise<string | undefined> {
  let engine: Engine
  try {
    const adapter = fake({ scripts: [script as Script, [['text', 'end']]] })
    engine = createEngine({ adapter, tools: sessionTools, retry: false })
  } catch (error) {
    return isAllmError(error) ? undefined : `fake threw ${describeThrown(error)}`
  }
  return problemOfRun(Session.streamStart(engine, [user('go')], { maxTurns: 3 }))
}

// Tools

const pixel =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

/** Values that handlers give back or throw, by name, so that a failing input can be read. */
const outcomes: Readonly<Record<string, () => unknown>> = {
  undefined: () => undefined,
  null: () => null,
  true: () => true,
  'an empty text': () => '',
  'a huge text': () => 'x'.repeat(50_000),
  'a lone surrogate': () => '\uD800',
  'a NUL': () => '\0',
  NaN: () => Number.NaN,
  Infinity: () => Number.POSITIVE_INFINITY,
  '-0': () => -0,
  'a bigint': () => 10n,
  'a symbol': () => Symbol('s'),
  'a function': () => () => 1,
  'a class': () => Map,
  'a Map': () => new Map([[1, 2]]),
  'a Set': () => new Set([1]),
  'a WeakMap': () => new WeakMap(),
  'a Date': () => new Date(0),
  'an invalid Date': () => new Date(Number.NaN),
  'a RegExp': () => /x/,
  'an Error': () => new Error('inside'),
  'an Error with a cause': () => new Error('outer', { cause: new Error('inner') }),
  'an AggregateError': () => new AggregateError([new Error('one')], 'many'),
  bytes: () => new Uint8Array([1, 2, 3]),
  'an ArrayBuffer': () => new ArrayBuffer(8),
  'a URL': () => new URL('https://example.org'),
  'an AbortSignal': () => new AbortController().signal,
  'an object without a prototype': () => Object.assign(Object.create(null), { a: 1 }),
  'a cycle': () => {
    const value: Record<string, unknown> = {}
    value['self'] = value
    return value
  },
  'a cycle of lists': () => {
    const value: unknown[] = []
    value.push([value])
    return value
  },
  'the same object twice': () => {
    const shared = { a: 1 }
    return [shared, shared]
  },
  'a sparse list': () => Array.from({ length: 3 }).fill(1, 0, 1),
  'a deep value': () => JSON.parse('['.repeat(5_000) + ']'.repeat(5_000)) as unknown,
  'a value of 600 levels': () => JSON.parse('{"a":'.repeat(600) + '1' + '}'.repeat(600)) as unknown,
  'undefined members': () => ({ a: undefined, b: [undefined] }),
  'a __proto__ key': () => JSON.parse('{"__proto__":{"polluted":1}}') as unknown,
  'a throwing getter': () =>
    Object.defineProperty({}, 'a', {
      enumerable: true,
      get() {
        throw new Error('getter')
      },
    }),
  'a throwing toJSON': () => ({
    toJSON() {
      throw new Error('toJSON')
    },
  }),
  'a toJSON that gives undefined': () => ({ toJSON: () => undefined }),
  'a toJSON that gives itself': () => {
    const value: Record<string, unknown> = {}
    value['toJSON'] = () => value
    return value
  },
  'a throwing toString': () => ({
    toString() {
      throw new Error('toString')
    },
  }),
  'an error with a throwing message': () =>
    Object.defineProperty(new Error('x'), 'message', {
      get() {
        throw new Error('message')
      },
    }),
  'an error whose message is not a text': () =>
    Object.assign(new Error('x'), { message: { a: 1 } }),
  'an error that is its own cause': () => {
    const error = new Error('x')
    error.cause = error
    return error
  },
  'a proxy that throws': () =>
    new Proxy(
      {},
      {
        get() {
          throw new Error('get')
        },
        has() {
          throw new Error('has')
        },
        ownKeys() {
          throw new Error('ownKeys')
        },
        getPrototypeOf() {
          throw new Error('getPrototypeOf')
        },
      },
    ),
  'a revoked proxy': () => {
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    return proxy
  },
  'a frozen object': () => Object.freeze({ a: Object.freeze([1]) }),
  'a generator': () =>
    (function* () {
      yield 1
    })(),
  'an async iterable': () => ({
    async *[Symbol.asyncIterator]() {
      yield 1
    },
  }),
  'a thenable that resolves': () => ({
    then: (resolve: (value: unknown) => void) => resolve({ a: 1 }),
  }),
  'a thenable that rejects': () => ({
    then: (_resolve: unknown, reject: (error: unknown) => void) => reject(new Error('thenable')),
  }),
  'a thenable that throws': () => ({
    then() {
      throw new Error('then')
    },
  }),
  'a thenable that answers twice': () => ({
    then(resolve: (value: unknown) => void, reject: (error: unknown) => void) {
      resolve(1)
      reject(new Error('twice'))
    },
  }),
  'a throwing then getter': () => ({
    get then(): unknown {
      throw new Error('then getter')
    },
  }),
  'a promise that never settles': () => new Promise(() => undefined),
  'a promise that rejects': () => {
    const promise = Promise.reject(new Error('late'))
    // Only what the library makes of it counts: somebody has looked at this one.
    promise.catch(() => undefined)
    return promise
  },
  'fail()': () => fail('not today'),
  'fail with an odd reason': () => fail({ a: 1n } as never),
  'halt()': () => halt('enough', { a: 1 }),
  'halt with an odd result': () => halt('enough', new Map() as never),
  'askUser()': () => askUser('Which?'),
  'askUser with odd options': () => askUser('Which?', { options: 1n } as never),
  'content()': () => content([textPart('a'), imagePart(imageFromBase64(pixel, 'image/png'))]),
  'content without parts': () => content([]),
  'content with an odd part': () => content([{ type: 'image', image: 1 }] as never),
  'content with a path': () =>
    content([{ type: 'image', image: { type: 'file', path: '/etc/passwd' } }] as never),
  'content with a cycle': () => {
    const part: Record<string, unknown> = { type: 'text', text: 'a' }
    part['providerOptions'] = { self: part }
    return content([part] as never)
  },
  'something like an outcome': () => ({ type: 'halt', reason: 1 }),
}

const ways = ['return', 'resolve', 'throw', 'reject', 'inside'] as const

const outcome = fc.record({
  what: fc.constantFrom(...Object.keys(outcomes)),
  way: fc.constantFrom(...ways),
})

const toolPlan = fc.record({
  outcomes: fc.array(outcome, { minLength: 1, maxLength: 4 }),
  onToolError: fc.constantFrom('continue' as const, 'halt' as const),
  maxConcurrency: fc.integer({ min: 1, max: 4 }),
  encoder: fc.constantFrom('default', 'json', 'throws', 'odd'),
  idempotent: fc.boolean(),
})

type ToolPlan = typeof toolPlan extends fc.Arbitrary<infer T> ? T : never

/** Whatever handlers do, each event and session is data, the thread can be sent, and no rejection is left unhandled. */
async function problemOfTools(plan: ToolPlan): Promise<string | undefined> {
  const unhandled: unknown[] = []
  const listener = (reason: unknown): void => void unhandled.push(reason)
  process.on('unhandledRejection', listener)
  try {
    const tools = plan.outcomes.map(({ what, way }, index) =>
      tool({
        name: `t${index}`,
        description: 'Hostile.',
        schema: {},
        idempotent: plan.idempotent,
        timeoutMs: 2,
        handler: () => acted(outcomes[what]?.(), way) as never,
      }),
    )
    const calls = tools.map(({ name }, index) => call(`c${index}`, name))
    const engine = createEngine({
      adapter: fake({ scripts: [calls, [['text', 'end']]] }),
      tools,
      retry: false,
      ...encoderOf(plan.encoder),
    })
    const { onToolError, maxConcurrency } = plan
    const stream = Session.streamStart(engine, [user('go')], { onToolError, maxConcurrency })
    const problem = await problemOfRun(stream)
    if (problem !== undefined) return problem
    const { session } = stream
    if (session.status !== 'awaiting_user' && !isSendable(session.thread)) {
      return `the thread of the session in status ${session.status} cannot be sent`
    }
    await new Promise((resolve) => setImmediate(resolve))
    return unhandled.length === 0 ? undefined : `unhandled: ${describeThrown(unhandled[0])}`
  } finally {
    process.off('unhandledRejection', listener)
  }
}

function acted(value: unknown, way: (typeof ways)[number]): unknown {
  switch (way) {
    case 'return':
      return value
    case 'resolve':
      return new Promise((resolve) => setImmediate(() => resolve(value)))
    case 'throw':
      throw value
    case 'reject':
      return new Promise((resolve) => setImmediate(resolve)).then(() => {
        throw value
      })
    case 'inside':
      return { list: [value], member: { value } }
    default:
      throw new TypeError(`unknown way ${String(way satisfies never)}`)
  }
}

function encoderOf(kind: string): { readonly toolResultEncoder?: (value: unknown) => string } {
  switch (kind) {
    case 'json':
      return { toolResultEncoder: (value) => JSON.stringify(value) ?? 'nothing' }
    case 'throws':
      return {
        toolResultEncoder: () => {
          throw new Error('encoder')
        },
      }
    case 'odd':
      return { toolResultEncoder: () => 5 as never }
    default:
      return {}
  }
}
