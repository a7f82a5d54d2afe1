import { runInNewContext } from 'node:vm'
import { describe, expect, test } from 'vitest'
import { createEngine, Session, tool, ValidationError } from '../../src/index.ts'
import { inspector } from '../../src/inspector.ts'
import { createRuns, type Runs } from '../../src/runs.ts'
import { memoryStore } from '../../src/stores.ts'
import { fake } from '../../src/testing.ts'
import { sendAgUi, sendUiMessages } from '../../src/ui.ts'

/** What a mistaken or a refusing `authorize` gives. The server calls it, so that a promise is made for each. */
type Answer = () => unknown

/** A class with the name of the global one, as a package or another realm brings it. */
const OtherResponse = {
  Response: class Response {
    readonly status = 401
  },
}.Response

/** Refusals that need no report. */
const refusals: Readonly<Record<string, Answer>> = {
  undefined: () => undefined,
  'a promise of undefined': async () => undefined,
  false: () => false,
  'a promise of false': async () => false,
  null: () => null,
}

/** Mistakes of the developer: closed, and reported. */
const mistakes: Readonly<Record<string, Answer>> = {
  'an Error that is returned': () => new Error('no'),
  'a promise of an Error': async () => new Error('no'),
  '0': () => 0,
  '1': () => 1,
  NaN: () => Number.NaN,
  'a bigint': () => 1n,
  'a symbol': () => Symbol('yes'),
  'an empty string': () => '',
  'a string': () => 'yes',
  'the string true': () => 'true',
  'new Boolean(true)': () => Object(true),
  'a Response of another copy': () => new OtherResponse(),
  'a promise of a Response of another copy': async () => new OtherResponse(),
  '{ status: 401 }': () => ({ status: 401 }),
  '{ ok: true }': () => ({ ok: true }),
  'an unknown member beside none': () => ({ admin: undefined }),
  'a member that is a symbol': () => ({ [Symbol('admin')]: true }),
  'a member that is not enumerable': () => Object.defineProperty({}, 'status', { value: 401 }),
  'an own member __proto__': () => JSON.parse('{"__proto__":{"status":401}}'),
  'a class instance': () =>
    new (class User {
      readonly name = 'ada'
    })(),
  'an object that inherits': () => Object.create({ status: 401 }),
  'an object of a nameless kind': () =>
    Object.create(Object.create(Object.create(Object.create(null)))),
  'an object of another realm': () => runInNewContext('({})'),
  'a list': () => [],
  'a list with true': () => [true],
  'a list of another realm': () => runInNewContext('[]'),
  'a function': () => () => true,
  'a class': () => OtherResponse,
  'a Map': () => new Map(),
  'a Set': () => new Set([true]),
  'a Date': () => new Date(0),
  'a RegExp': () => /yes/,
  'a Headers': () => new Headers(),
  'a Request': () => new Request('http://localhost/'),
  'a URL': () => new URL('http://localhost/'),
  'a Uint8Array': () => new Uint8Array(1),
  'an object with a getter': () => ({
    get status() {
      return 401
    },
  }),
  'a known member that is a getter': () => ({
    get metadata() {
      return {}
    },
  }),
  'a known member that is a setter': () => ({ set metadata(_value: object) {} }),
  'a Proxy that throws': () =>
    new Proxy(
      {},
      {
        ownKeys() {
          throw new Error('no')
        },
      },
    ),
  'a Proxy whose prototype throws': () =>
    new Proxy(
      {},
      {
        getPrototypeOf() {
          throw new Error('no')
        },
      },
    ),
}

/** What allows. */
const permissions: Readonly<Record<string, Answer>> = {
  true: () => true,
  'a promise of true': async () => true,
  'an empty object': () => ({}),
  'a promise of an object': async () => ({}),
  'an object without a prototype': () => Object.create(null),
}

const secret = 'the secret answer'

interface Door {
  readonly open: number
  readonly ask: (
    runs: Runs,
    authorize: Answer,
    onError: (error: unknown) => void,
  ) => Promise<Response>
}

const post = (url: string, body: object): Request =>
  new Request(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })

/** What the types refuse and a program without types does. */
const untyped = (authorize: Answer): (() => true) => authorize as () => true

const handled =
  (url: string, body?: object) =>
  (runs: Runs, authorize: Answer, onError: (error: unknown) => void): Promise<Response> => {
    const handle = runs.handler({ authorize: untyped(authorize), onError })
    return handle(body === undefined ? new Request(url) : post(url, body))
  }

const inspected =
  (path: string, body?: object) =>
  (runs: Runs, authorize: Answer, onError: (error: unknown) => void): Promise<Response> => {
    const handle = inspector(runs, { authorize: untyped(authorize), onError })
    const url = `http://localhost/inspect/api/${path}`
    return handle(body === undefined ? new Request(url) : post(url, body))
  }

const words = { id: 'u2', role: 'user', parts: [{ type: 'text', text: 'forged words' }] }
const decision = (id: string) => ({
  id: 'a1',
  role: 'assistant',
  parts: [
    {
      type: 'tool-pay',
      toolCallId: 'c1',
      state: 'approval-responded',
      approval: { id, approved: true },
    },
  ],
})
const ids = { threadId: 'victim', runId: 'r' }
const resumed = (interruptId: string) => [
  { interruptId, status: 'resolved', payload: { approved: true } },
]

/** The ticket of the approval that the victim waits for. */
async function ticketOf(runs: Runs): Promise<string> {
  const info = await runs.get('victim')
  return (info && Session.pending(info.session)[0]?.ticket) ?? ''
}

/** Every server of ours, reading and writing. */
const doors: Readonly<Record<string, Door>> = {
  'runs.handler, view': { open: 200, ask: handled('http://localhost/victim') },
  'runs.handler, events': { open: 200, ask: handled('http://localhost/victim/events') },
  'runs.handler, messages': {
    open: 202,
    ask: handled('http://localhost/victim/messages', { text: 'forged words' }),
  },
  'runs.handler, approvals': {
    open: 202,
    ask: async (runs, ...rest) => {
      const approval = { approve: true, ticket: await ticketOf(runs) }
      return handled('http://localhost/victim/approvals/c1', approval)(runs, ...rest)
    },
  },
  'runs.handler, stop': { open: 202, ask: handled('http://localhost/victim/stop', {}) },
  'inspector, info': { open: 200, ask: inspected('info') },
  'inspector, list': { open: 200, ask: inspected('sessions') },
  'inspector, session': { open: 200, ask: inspected('sessions/victim') },
  'inspector, log': { open: 200, ask: inspected('sessions/victim/log') },
  'inspector, command': {
    open: 200,
    ask: inspected('sessions/victim/command', { type: 'send', content: 'forged words' }),
  },
  'inspector, fork': {
    open: 200,
    ask: inspected('sessions/victim/fork', {
      event: 1,
      changes: {},
      engine: { type: 'fake', script: [['text', 'x']] },
    }),
  },
  'sendUiMessages, words': {
    open: 200,
    ask: (runs, authorize, onError) =>
      sendUiMessages(runs, 'victim', [words], { authorize: untyped(authorize), onError }),
  },
  'sendUiMessages, approval': {
    open: 200,
    ask: async (runs, authorize, onError) => {
      const messages = [decision(await ticketOf(runs))]
      return sendUiMessages(runs, 'victim', messages, { authorize: untyped(authorize), onError })
    },
  },
  'sendUiMessages, approval without a ticket': {
    open: 409,
    ask: (runs, authorize, onError) =>
      sendUiMessages(runs, 'victim', [decision('c1')], { authorize: untyped(authorize), onError }),
  },
  'sendAgUi, words': {
    open: 200,
    ask: (runs, authorize, onError) => {
      const messages = [{ id: 'u2', role: 'user', content: 'forged words' }]
      const options = { authorize: untyped(authorize), onError }
      return sendAgUi(runs, 'victim', { ...ids, messages }, options)
    },
  },
  'sendAgUi, approval': {
    open: 200,
    ask: async (runs, authorize, onError) => {
      const options = { authorize: untyped(authorize), onError }
      const resume = resumed(await ticketOf(runs))
      return sendAgUi(runs, 'victim', { ...ids, messages: [], resume }, options)
    },
  },
  'sendAgUi, approval that is not asked': {
    open: 409,
    ask: (runs, authorize, onError) => {
      const options = { authorize: untyped(authorize), onError }
      const resume = resumed('invented')
      return sendAgUi(runs, 'victim', { ...ids, messages: [], resume }, options)
    },
  },
}

/** Runs whose session `victim` has said a secret and waits for an approval. */
async function victim(): Promise<{ readonly runs: Runs; readonly before: string }> {
  const pay = tool({
    name: 'pay',
    description: '',
    schema: { type: 'object' },
    needsApproval: true,
    handler: () => 'paid',
  })
  const adapter = fake({
    script: ({ messages }) =>
      messages.length > 1
        ? [['text', 'Done.']]
        : [
            ['text', secret],
            ['tool_call', { id: 'c1', name: 'pay', arguments: {} }],
          ],
  })
  const engine = createEngine({ adapter, tools: [pay], model: 'm' })
  const runs = createRuns({ engine, store: memoryStore() })
  await runs.send('victim', 'hi')
  await runs.wait('victim')
  return { runs, before: await stateOf(runs) }
}

async function stateOf(runs: Runs): Promise<string> {
  return JSON.stringify([await runs.get('victim'), await runs.list()])
}

/** Asks a door with each of some answers, and gives what came of it. Nothing may change, and nothing may be told. */
async function closed(
  { ask }: Door,
  answers: Readonly<Record<string, Answer>>,
): Promise<readonly { kind: string; status: number; errors: readonly unknown[] }[]> {
  const { runs, before } = await victim()
  const outcomes = []
  for (const [kind, answer] of Object.entries(answers)) {
    const errors: unknown[] = []
    const response = await ask(runs, answer, (error) => void errors.push(error))
    const isTold = (await response.text()).includes(secret)
    const isChanged = (await stateOf(runs)) !== before
    expect({ kind, isTold, isChanged }).toEqual({ kind, isTold: false, isChanged: false })
    outcomes.push({ kind, status: response.status, errors })
  }
  return outcomes
}

describe.each(Object.entries(doors))('%s', (_name, door) => {
  test.each(Object.keys(permissions))('is opened by %s', async (kind) => {
    const { runs } = await victim()
    const errors: unknown[] = []
    const answer = permissions[kind] ?? String
    const response = await door.ask(runs, answer, (error) => void errors.push(error))
    expect(response.status).toBe(door.open)
    await response.body?.cancel()
    expect(errors).toEqual([])
  })

  test('is closed by a forgotten return, false and null', async () => {
    for (const outcome of await closed(door, refusals)) {
      expect(outcome).toEqual({ kind: outcome.kind, status: 403, errors: [] })
    }
  })

  test('is closed by every other value, which is reported', async () => {
    for (const outcome of await closed(door, mistakes)) {
      const errors = [expect.any(ValidationError)]
      expect(outcome).toEqual({ kind: outcome.kind, status: 403, errors })
      expect(String(outcome.errors[0])).toMatch(/authorize .*return/)
    }
  })

  test('is closed by a Response, which is sent as it is', async () => {
    const [outcome] = await closed(door, { mine: () => new Response('mine', { status: 418 }) })
    expect(outcome).toEqual({ kind: 'mine', status: 418, errors: [] })
  })

  test('is closed by an authorize that throws', async () => {
    const { runs, before } = await victim()
    const errors: unknown[] = []
    const boom = (): never => {
      throw new Error('SECRET')
    }
    // What is called by a route of the application rejects, and leaves the answer to it.
    const answer = await door
      .ask(runs, boom, (error) => void errors.push(error))
      .catch((error: unknown) => error)
    if (answer instanceof Response) {
      expect(answer.status).toBe(500)
      expect(await answer.text()).not.toContain('SECRET')
      expect(errors).toHaveLength(1)
    } else expect(answer).toEqual(new Error('SECRET'))
    expect(await stateOf(runs)).toBe(before)
  })
})

test.each([
  ['a Response of another copy', mistakes['a Response of another copy'], /global Response/],
  ['an Error', mistakes['an Error that is returned'], /an Error.*throw it/],
  [
    '{ status: 401 }',
    mistakes['{ status: 401 }'],
    /unknown key "status", known keys are context, met/,
  ],
  ['a string', mistakes['a string'], /not "yes"/],
  ['a Map', mistakes['a Map'], /not a Map/],
])('the report about %s names it and the fix', async (_name, answer, words) => {
  const { runs } = await victim()
  const errors: unknown[] = []
  await handled('http://localhost/victim')(
    runs,
    answer ?? String,
    (error) => void errors.push(error),
  )
  expect(String(errors[0])).toMatch(words)
})
