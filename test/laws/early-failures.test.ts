import { describe, expect, test } from 'vitest'
import {
  AdapterError,
  chat,
  createEngine,
  generate,
  isAllmError,
  runToolCalls,
  Session,
  step,
  streamChat,
  streamGenerate,
  streamStep,
  streamToolCalls,
  type CallOptions,
  type ChatAdapter,
  type Engine,
  type RunStream,
} from '../../src/index.ts'
import { openai } from '../../src/openai.ts'
import { collectEvents, fake, virtualClock, type Script } from '../../src/testing.ts'
import { call, done, echo } from '../engine/chat/support.ts'

/** Law 1, where a run fails before its first event: the stream and its promise twin tell the same, field for field. */

type Call = (engine: Engine, options: CallOptions) => Promise<unknown>
type Stream = (engine: Engine, options: CallOptions) => RunStream

const fresh = Session.create({ id: 's', messages: 'go' })
const halted = { ...Session.create({ id: 's', messages: 'go' }), status: 'halted' } as const

/** The session after a turn with a tool call whose result the model has not read. */
const midway = await (async () => {
  const engine = createEngine({ adapter: fake({ scripts: [[call('c1')], done] }), tools: [echo] })
  return (await Session.step(engine, fresh, { requestId: 'before' })).session
})()

const pairs: readonly (readonly [string, Call, Stream])[] = [
  ['generate', (engine, o) => generate(engine, 'go', o), (e, o) => streamGenerate(e, 'go', o)],
  ['step', (engine, o) => step(engine, 'go', o), (e, o) => streamStep(e, 'go', o)],
  ['chat', (engine, o) => chat(engine, 'go', o), (e, o) => streamChat(e, 'go', o)],
  [
    'Session.start',
    (engine, o) => Session.start(engine, fresh, o),
    (engine, o) => Session.streamStart(engine, fresh, o),
  ],
  [
    'Session.reply',
    (engine, o) => Session.reply(engine, halted, 'and now?', o),
    (engine, o) => Session.streamReply(engine, halted, 'and now?', o),
  ],
  [
    'Session.resume',
    (engine, o) => Session.resume(engine, midway, o),
    (engine, o) => Session.streamResume(engine, midway, o),
  ],
  [
    'Session.step',
    (engine, o) => Session.step(engine, midway, o),
    (engine, o) => Session.streamStep(engine, midway, o),
  ],
  [
    'Session.resume and streamNext',
    (engine, o) => Session.resume(engine, midway, o),
    (engine, o) => Session.streamNext(engine, midway, undefined, o),
  ],
]

interface Way {
  readonly adapter: () => ChatAdapter
  readonly options?: () => CallOptions
}

const scripted = (...scripts: Script[]): ChatAdapter => fake({ scripts })

const answering = (fetch: () => Promise<Response>): ChatAdapter =>
  openai({ baseUrl: 'https://wire.test/v1', fetch, api: 'chat', apiKey: 'k', model: 'm' })

const aborted = (): CallOptions => {
  const stop = new AbortController()
  stop.abort(new Error('no longer needed'))
  return { signal: stop.signal }
}

let stop = new AbortController()

/** An adapter whose stream fails as `next` says. */
const custom = (next: () => Promise<never>): ChatAdapter => ({
  ...fake({ script: done }),
  provider: 'custom',
  stream: () => ({ [Symbol.asyncIterator]: () => ({ next }) }),
})

const ways: Readonly<Record<string, Way>> = {
  'a missing key': {
    adapter: () => openai({ model: 'm', fetch: () => Promise.reject(new Error('sent')) }),
  },
  'no model': { adapter: () => openai({ apiKey: 'k' }) },
  'a status 401': { adapter: () => answering(async () => new Response('{}', { status: 401 })) },
  'a status 503, three times': {
    adapter: () => answering(async () => new Response('', { status: 503 })),
  },
  'a network error': { adapter: () => answering(() => Promise.reject(new TypeError('failed'))) },
  'an answer without any event': {
    adapter: () =>
      answering(async () => new Response('', { headers: { 'content-type': 'text/event-stream' } })),
    options: () => ({ retry: false }),
  },
  'a page instead of an answer': {
    adapter: () =>
      answering(
        async () => new Response('<p>no</p>', { headers: { 'content-type': 'text/html' } }),
      ),
  },
  'an abort before': { adapter: () => scripted(done), options: aborted },
  'an abort while the first event is awaited': {
    adapter: () => {
      stop = new AbortController()
      return answering(() => {
        stop.abort()
        return new Promise(() => undefined)
      })
    },
    options: () => ({ signal: stop.signal }),
  },
  'a timeout': {
    adapter: () => scripted([['delay', 5000], ...done]),
    options: () => ({ requestTimeoutMs: 1000, retry: false }),
  },
  'a request that is invalid': {
    adapter: () => scripted(done),
    options: () => ({ toolChoice: 'nowhere' }),
  },
  'an option that is invalid': {
    adapter: () => scripted(done),
    options: () => ({ maxTokens: -1 }),
  },
  'instructions that throw': {
    adapter: () => scripted(done),
    options: () => ({
      instructions: () => {
        throw new TypeError('bug')
      },
    }),
  },
  'headers that fail': {
    adapter: () =>
      openai({ model: 'm', apiKey: 'k', headers: () => Promise.reject(new Error('no token')) }),
  },
  'an error event that comes first': {
    adapter: () => scripted([['error', 'content_filter']]),
    options: () => ({ retry: false }),
  },
  'a scripted refusal': { adapter: () => scripted([['preflight_error', 'invalid_request', {}]]) },
  'no script': { adapter: () => scripted() },
  'an error of our own from an adapter': {
    adapter: () => custom(() => Promise.reject(new AdapterError('invalid_request', 'no'))),
  },
  'a bug of an adapter': { adapter: () => custom(() => Promise.reject(new TypeError('bug'))) },
  'an adapter that throws at once': {
    adapter: () => ({
      ...fake({ script: done }),
      stream: () => {
        throw new TypeError('bug')
      },
    }),
  },
}

const engineOf = (adapter: ChatAdapter): Engine =>
  createEngine({
    adapter,
    tools: [echo],
    clock: virtualClock(),
    retry: { jitterMs: 0 },
    keys: () => undefined,
  })

/** What a promise comes to, as data. A session that failed says when, by the clock of its engine. */
async function outcome(work: () => unknown): Promise<unknown> {
  try {
    return { value: await work() }
  } catch (error) {
    if (!isAllmError(error)) throw error
    const { partial, ...data } = error.toJSON()
    return { data, partial: partial ?? error.partial, causes: error.causes }
  }
}

describe.each(pairs)('%s', (_name, plain, stream) => {
  test.each(Object.entries(ways))('fails alike after %s', async (_way, { adapter, options }) => {
    const call = (): CallOptions => ({ requestId: 'r', ...options?.() })
    const expected = await outcome(() => plain(engineOf(adapter()), call()))
    expect(await outcome(() => stream(engineOf(adapter()), call()).result)).toEqual(expected)
    const left: RunStream[] = []
    const iterated = await outcome(async () => {
      const run = stream(engineOf(adapter()), call())
      left.push(run)
      await collectEvents(run)
      return run.result
    })
    const [run] = left
    // The result is settled in the same way after the events were read.
    if (run !== undefined) expect(await outcome(() => run.result)).toEqual(expected)
    else expect(iterated).toEqual(expected)
  })
})

test('every one of these ways fails, and says with which run and provider', async () => {
  for (const [name, { adapter, options }] of Object.entries(ways)) {
    const failure = await step(engineOf(adapter()), 'go', { requestId: 'r', ...options?.() }).then(
      () => name,
      (error: unknown) => error,
    )
    expect(failure, name).toSatisfy(isAllmError)
  }
  const failure = await streamStep(engineOf(scripted()), 'go', { requestId: 'r' }).result.catch(
    (error: unknown) => error,
  )
  expect(failure).toMatchObject({ partial: { response: { requestId: 'r', provider: 'fake' } } })
})

test('a batch with a tool that is unknown is refused alike', async () => {
  const calls = [{ id: 'c1', name: 'nowhere', arguments: {} }]
  const expected = await outcome(() => runToolCalls(calls, [echo], { requestId: 'r' }))
  const streamed = streamToolCalls(calls, [echo], { requestId: 'r' })
  expect(await outcome(() => streamed.result)).toEqual(expected)
})
