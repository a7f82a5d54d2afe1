import type { AdapterOptions } from '../../core/contracts/adapter.ts'
import { isAllmError } from '../../core/errors/errors.ts'
import { sameJson } from '../../core/schema/json-schema.ts'
import type { ModelEvent } from '../../core/types/events.ts'
import type { JsonObject } from '../../core/types/json.ts'
import { createEngine } from '../../engine/model-call/engine.ts'
import { generate } from '../../engine/model-call/generate.ts'
import type { Script, ScriptEntry } from '../fakes/script.ts'
import { demandCancelled, echoedKey, plainKey } from './adapter-demands.ts'
import { unhandledDuring } from './cases.ts'
import { ConformanceFailure, demand, show, turns, until, within, type Wait } from './demands.ts'
import {
  declares,
  drain,
  foldEvents,
  hello,
  joinedDeltas,
  late,
  openStream,
  play,
  read,
  readEvents,
  readWhileTimePasses,
  refused,
  requestOf,
  runId,
  showEvents,
  slow,
  weatherCall,
  weatherRequest,
  whileTimePasses,
  type ChatCase,
  type ChatFixture,
  type ChatHarness,
  type OpenStream,
} from './harness.ts'
import { demandKeysHidden, demandNoKey } from './invariants.ts'
import { differenceOf } from './sent.ts'

/** When a stream starts, and how it is stopped. */
export const stoppingCases: readonly ChatCase[] = [
  {
    name: 'nothing is sent before the first next()',
    capability: 'requests',
    run: (harness) =>
      play(harness, hello, async (fixture) => {
        fixture.adapter.stream(requestOf(fixture))[Symbol.asyncIterator]()
        await turns(20)
        const sent = fixture.requests().length
        demand(sent === 0, {
          expected: 'no request from stream() and [Symbol.asyncIterator]() alone',
          received: `${sent} requests`,
          contract: 'lazy',
          hint: 'an async generator function runs nothing before the first next(); a plain function that calls fetch does',
        })
      }),
  },
  {
    name: 'a stream that is left closes its connection',
    capability: 'connections',
    run: (harness) =>
      play(harness, slow, async (fixture) => {
        const stream = openStream(fixture)
        await stream.next()
        demandOpen(fixture)
        await stream.leave()
        await closes(fixture, 'a consumer left the loop')
      }),
  },
  {
    name: 'a stream that is read to its end leaves no connection open',
    capability: 'connections',
    run: (harness) =>
      play(harness, hello, async (fixture) => {
        await readEvents(fixture)
        await closes(fixture, 'the stream had ended')
      }),
  },
  {
    name: 'an abort closes the connection',
    capability: 'connections',
    run: (harness) =>
      play(harness, slow, async (fixture) => {
        const controller = new AbortController()
        const stream = openStream(fixture, { options: { signal: controller.signal } })
        await stream.next()
        demandOpen(fixture)
        const pending = drain(stream)
        controller.abort()
        // Another case checks how the stream ends.
        await within(
          pending.catch(() => []),
          waitFor(fixture, 'the stream to end after an abort'),
        )
        await closes(fixture, 'the signal was aborted')
      }),
  },
  {
    name: 'an abort in the middle ends the stream with the error cancelled',
    run: (harness) =>
      play(harness, slow, async (fixture) => {
        const controller = new AbortController()
        const stream = openStream(fixture, { options: { signal: controller.signal } })
        const first = (await stream.next()) ?? []
        const pending = ending(stream)
        controller.abort()
        const { events, failure } = await within(
          pending,
          waitFor(fixture, 'the stream to end after an abort'),
        )
        const last = events.at(-1)
        demand(last?.type === 'error' && last.error.reason === 'cancelled', {
          expected: 'an error event with reason cancelled as the last event',
          received: failure?.thrown ?? showEvents([...first, ...events]),
          contract: 'cancelled',
        })
      }),
  },
  {
    name: 'an abort before the first event rejects with cancelled',
    run: (harness) =>
      play(harness, late, async (fixture) => {
        const controller = new AbortController()
        const stream = openStream(fixture, { options: { signal: controller.signal } })
        const pending = ending(stream)
        await turns(20)
        controller.abort()
        const wait = waitFor(fixture, 'a rejection after an abort')
        const { events, failure } = await within(pending, wait)
        demandCancelled(failure ?? showEvents(events))
      }),
  },
  {
    name: 'a stream that is left while it is read closes its connection',
    capability: 'left_reads',
    run: (harness) =>
      play(harness, slow, async (fixture) => {
        const stream = openStream(fixture)
        await stream.next()
        const reading = stream.step().catch(() => undefined)
        await turns(20)
        await stream.leave()
        await within(reading, waitFor(fixture, 'a read that was under way to end'))
        if (harness.capabilities?.includes('connections') === true)
          await closes(fixture, 'a consumer left while it was reading')
      }),
  },
  {
    name: 'a stream that is left before it is read sends nothing',
    capability: 'requests',
    run: (harness) =>
      play(harness, hello, async (fixture) => {
        const stream = openStream(fixture)
        await stream.leave()
        const batch = await stream.next()
        const sent = fixture.requests().length
        demand(sent === 0 && batch === undefined, {
          problem: `a stream that was left ${sent === 0 ? 'went on' : 'sent a request'}`,
          expected: 'nothing to be sent, and the stream to be over',
          received: batch ?? `${sent} requests`,
          contract: 'lazy',
        })
      }),
  },
  {
    name: 'an abort after the end changes nothing',
    run: (harness) =>
      play(harness, hello, async (fixture) => {
        const controller = new AbortController()
        const options = { signal: controller.signal }
        const events = await readEvents(fixture, { options })
        controller.abort()
        await turns(20)
        demand(events.at(-1)?.type === 'message_completed', {
          expected: 'message_completed',
          received: showEvents(events),
          contract: 'cancelled',
        })
      }),
  },
  {
    name: 'text arrives while the answer goes on',
    run: (harness) =>
      play(harness, paused, async (fixture) => {
        const stream = openStream(fixture)
        const early: ModelEvent[] = []
        let isReading = true
        const reading = (async () => {
          while (joinedDeltas(early, 'text_delta') === '') {
            const batch = await stream.next()
            if (batch === undefined) return
            if (isReading) early.push(...batch)
            else return
          }
        })()
        await Promise.race([reading, turns(2000)])
        isReading = false
        const text = joinedDeltas(early, 'text_delta')
        const rest = reading.then(() => drain(stream))
        const more = await whileTimePasses(fixture, rest, 5000)
        demand(text !== '', {
          problem: 'text arrived only after the answer had ended',
          expected: 'the first text while the provider pauses',
          received: `${showEvents(early)} before the pause was over`,
          contract: 'live',
          hint: 'yield the events of each read before the next read',
        })
        demand(text === 'first' && joinedDeltas(more, 'text_delta') === 'second', {
          problem: 'text arrived later than the provider sent it',
          expected: '"first" before the pause and "second" after it',
          received: { before: showEvents(early), after: showEvents(more) },
          contract: 'live',
        })
      }),
  },
  {
    name: 'an answer is over when the provider says so, though the connection stays open',
    capability: 'stays_open',
    async run(harness) {
      const failing = harness.capabilities?.includes('stream_failures') === true
      for (const script of [openEnd, ...(failing ? [openFailure] : [])]) {
        await play(harness, script, async (fixture) => {
          const { events, failure } = await within(ending(openStream(fixture)), {
            ...waitFor(fixture, 'the stream to end with the answer'),
            problem: 'the stream waited for the connection to close',
            contract: 'endMarker',
          })
          const last = events.at(-1)?.type
          demand(last === 'message_completed' || last === 'error', {
            expected: 'message_completed, or error, as the last event',
            received: failure?.thrown ?? showEvents(events),
            contract: 'endMarker',
          })
          if (harness.capabilities?.includes('connections') === true)
            await closes(fixture, 'the answer was over')
        })
      }
    },
  },
  {
    name: 'headers and then silence end with a timeout or an abort',
    capability: 'early_headers',
    async run(harness) {
      if (harness.capabilities?.includes('timeouts') === true) {
        await play(harness, silent, async (fixture) => {
          const options = { requestTimeoutMs: 2000 }
          const { events, failure } = await readWhileTimePasses(fixture, options)
          const thrown = failure?.thrown
          demand(isAllmError(thrown) && thrown.reason === 'timeout' && events.length === 0, {
            expected: 'a rejection with AdapterError timeout after 2000 ms',
            received: thrown ?? showEvents(events),
            contract: 'timeouts',
            hint: 'the headers of an answer are no content: the limit goes on',
          })
        })
      }
      await play(harness, silent, async (fixture) => {
        const controller = new AbortController()
        const pending = ending(openStream(fixture, { options: { signal: controller.signal } }))
        await turns(200)
        controller.abort()
        const wait = waitFor(fixture, 'a rejection after an abort')
        const { events, failure } = await within(pending, wait)
        demandCancelled(failure ?? showEvents(events))
        if (harness.capabilities?.includes('connections') === true)
          await closes(fixture, 'the signal was aborted')
      })
    },
  },
  {
    name: 'a redirect is not followed',
    capability: 'redirects',
    run: (harness) =>
      play(harness, redirected, async (fixture) => {
        const { events, failure } = await read(fixture, { options: { apiKey: plainKey } })
        const thrown = failure?.thrown
        demand(isAllmError(thrown) && thrown.kind === 'adapter', {
          problem: 'a redirect was taken for an answer',
          expected: 'a rejection with an AdapterError',
          received: thrown ?? showEvents(events),
          contract: 'redirects',
        })
        if (harness.capabilities?.includes('requests') !== true) return
        const sent = fixture.requests().length
        demand(sent === 1, {
          problem: `the redirect was followed: ${sent} requests were sent for one call`,
          expected: 'one request',
          received: fixture.requests(),
          contract: 'redirects',
          hint: "pass redirect: 'manual' to fetch",
        })
      }),
  },
  {
    name: 'a signal that is aborted already rejects with cancelled',
    run: (harness) =>
      play(harness, hello, async (fixture) => {
        const { events, failure } = await read(fixture, {
          options: { signal: AbortSignal.abort() },
        })
        demandCancelled(failure ?? showEvents(events))
      }),
  },
]

/** Reads the rest of a stream, and tells how it ended. A finding of the kit stays one. */
async function ending(
  stream: OpenStream,
): Promise<{ events: readonly ModelEvent[]; failure?: { readonly thrown: unknown } }> {
  try {
    return { events: await drain(stream) }
  } catch (thrown) {
    if (thrown instanceof ConformanceFailure) throw thrown
    return { events: [], failure: { thrown } }
  }
}

function waitFor({ patienceMs }: ChatFixture, expected: string): Wait {
  return { ms: patienceMs, expected, contract: 'cancelled' }
}

function demandOpen(fixture: ChatFixture): void {
  const open = fixture.openConnections()
  demand(open > 0, {
    expected: 'an open connection while the answer is incomplete',
    received: `openConnections() returns ${open}`,
    contract: 'harness',
    hint: 'the script pauses in its middle; the connection must stay open meanwhile',
  })
}

/** The contract says 500 ms. The case allows more, because a busy machine may be late. */
async function closes(fixture: ChatFixture, when: string): Promise<void> {
  const expected = `no open connection after ${when}`
  await until(
    () => fixture.openConnections(),
    (open) => open === 0,
    { ms: fixture.patienceMs, expected, contract: 'resourceSafe' },
  )
}

const paused: Script = [
  ['text', 'first'],
  ['delay', 1000],
  ['text', 'second'],
  ['finish', 'stop'],
]

/** An answer with all that may be left of it: a text, a call if the model calls tools, and usage. */
function busyWith(harness: ChatHarness): Script {
  return [
    ['text', 'One moment.'],
    ...(declares(harness, 'tools') ? weatherCall.slice(0, 1) : []),
    ['usage', { inputTokens: 77, outputTokens: 7 }],
  ]
}

const openEnd: Script = [
  ['text', 'Hello'],
  ['finish', 'stop', { open: true }],
]

const openFailure: Script = [
  ['text_delta', 'so far'],
  ['error_event', 'provider_unavailable', { open: true }],
]

/** The headers of an answer, and nothing else for a minute. */
const silent: Script = [['headers'], ...late]

const redirected: Script = [
  ['preflight_error', 'unknown', { status: 307, location: '/conformance-elsewhere' }],
]

const echoed: Script = [
  [
    'preflight_error',
    'authentication_failed',
    { status: 401, message: `Incorrect API key provided: ${echoedKey}.` },
  ],
]

/**
 * What must not leak: API keys, unhandled rejections, lines on the console, timers and listeners.
 *
 * What holds for every stream is checked wherever one is read. The cases that only read are there to be named.
 */
export const hygieneCases: readonly ChatCase[] = [
  readsAll('nothing is written to the console'),
  readsAll('a call that is over leaves no timer and no listener behind'),
  {
    name: 'an error event is plain data and names its provider and its run',
    run: (harness) =>
      play(harness, breaking, async (fixture) => {
        const events = await readEvents(fixture)
        demand(events.at(-1)?.type === 'error', {
          expected: 'an error as the last event',
          received: showEvents(events),
          contract: 'midStream',
        })
      }),
  },
  {
    name: 'the key is in no event and in no error',
    async run(harness) {
      const options = { apiKey: plainKey }
      for (const script of [hello, refused]) {
        await play(harness, script, async (fixture) => {
          const { events, failure } = await read(fixture, { options })
          demandNoKey(plainKey, [events, failure?.thrown])
        })
      }
    },
  },
  {
    name: 'the key is on no property of the adapter',
    async run(harness) {
      for (const script of [hello, refused]) {
        for (const options of [{}, { apiKey: plainKey }]) {
          await play(harness, script, async (fixture) => {
            await read(fixture, { options })
            const sent = fixture.declares('keys') ? fixture.sentKeys() : []
            demandKeysHidden(fixture.own, [plainKey, ...(harness.keys?.() ?? []), ...sent])
          })
        }
      }
    },
  },
  {
    name: 'the key is not in what was recorded of a request',
    capability: 'requests',
    run: (harness) =>
      play(harness, hello, async (fixture) => {
        await readEvents(fixture, { options: { apiKey: plainKey } })
        demandNoKey(plainKey, [fixture.requests()])
      }),
  },
  {
    name: 'a key that the provider echoes is taken out of the error',
    run: (harness) =>
      play(harness, echoed, async (fixture) => {
        const { events, failure } = await read(fixture, { options: { apiKey: echoedKey } })
        demand(failure !== undefined, {
          expected: "a rejection with the provider's message about the key",
          received: showEvents(events),
          contract: 'preflight',
        })
        demandNoKey(echoedKey, [events, failure?.thrown])
      }),
  },
  {
    name: 'a key of any form that the provider repeats is in nothing that leaves the adapter',
    capability: 'keys',
    async run(harness) {
      const inMiddle = harness.capabilities?.includes('stream_failures') === true
      for (const key of [plainKey, 'hush-7', ...(harness.keys?.() ?? [])]) {
        const own = harness.keys?.().includes(key) === true
        const said = { message: `the key ${key} is wrong` }
        const scripts: readonly Script[] = [
          [['preflight_error', 'authentication_failed', { status: 401, ...said }]],
          [['preflight_error', 'invalid_request', { status: 400, ...said }]],
          ...(inMiddle ? [repeatedInMiddle(said)] : []),
        ]
        for (const script of scripts) {
          await play(harness, script, async (fixture) => {
            const { events, failure } = await read(fixture, {
              options: own ? {} : { apiKey: key },
            })
            demandNoKey(key, [events, failure?.thrown])
          })
        }
      }
    },
  },
  {
    name: 'no rejection is left unhandled',
    async run(harness) {
      const found = await unhandledDuring(async () => {
        await play(harness, refused, async (fixture) => {
          // This stream is never read.
          fixture.adapter.stream(requestOf(fixture))
          await turns(20)
        })
        await play(harness, refused, (fixture) => read(fixture))
        await play(harness, slow, async (fixture) => {
          const stream = openStream(fixture)
          await stream.next()
          await stream.leave()
          await turns(20)
        })
        await play(harness, late, async (fixture) => {
          const controller = new AbortController()
          const reading = read(fixture, { options: { signal: controller.signal } })
          await turns(20)
          controller.abort()
          await reading
        })
      })
      demand(found.length === 0, {
        expected: 'no unhandled rejection from streams that fail, are left early, or are not read',
        received: found[0],
        contract: 'rejections',
        hint: 'a promise that is not awaited needs its own catch',
      })
    },
  },
]

/** A case that reads an answer, a refusal, and an answer that breaks off. What is wrong with them is found where they are read. */
function readsAll(name: string): ChatCase {
  return {
    name,
    async run(harness) {
      for (const script of [hello, refused, breaking]) {
        await play(harness, script, (fixture) => read(fixture))
      }
    },
  }
}

const breaking: Script = [
  ['text_delta', 'so far'],
  ['stream_error', 'truncated', {}],
]

/** An answer that breaks with what the provider says. */
function repeatedInMiddle(said: JsonObject): Script {
  return [
    ['text_delta', 'so far'],
    ['error_event', 'provider_unavailable', said],
  ]
}

/** Calls do not change the data of the caller, and do not affect each other. */
export const isolationCases: readonly ChatCase[] = [
  {
    name: 'the request is not changed',
    run: (harness) =>
      play(harness, declares(harness, 'tools') ? weatherCall : hello, async (fixture) => {
        const request = weatherRequest(fixture)
        await readEvents(fixture, { request })
        const changed = differenceOf(weatherRequest(fixture), request)
        demand(changed === undefined, {
          problem: `the call changed the request: ${changed ?? ''}`,
          expected: 'the request as it was before the call',
          received: changed,
          contract: 'isolated',
        })
      }),
  },
  {
    name: 'a call without options is legal and gets an id of its own',
    run: (harness) =>
      play(harness, hello, async (fixture) => {
        const events: ModelEvent[] = []
        for await (const batch of fixture.adapter.stream(requestOf(fixture))) events.push(...batch)
        const { requestId } = foldEvents(events)
        const text = joinedDeltas(events, 'text_delta')
        demand(text !== '' && typeof requestId === 'string' && requestId !== '', {
          expected: 'an answer, and a non-empty requestId',
          received: { text, requestId },
          contract: 'options',
        })
      }),
  },
  {
    name: 'an option that is undefined counts as left out',
    run: (harness) =>
      play(harness, hello, async (fixture) => {
        const { events, failure } = await read(fixture, { options: undefinedOptions })
        const text = joinedDeltas(events, 'text_delta')
        demand(text === 'Hello', {
          problem: 'a call failed because an option was undefined',
          expected: 'the answer "Hello", as without the option',
          received: failure?.thrown ?? showEvents(events),
          contract: 'options',
          hint: 'an engine passes every option, also those that nobody gave: { headers: undefined, … }',
        })
      }),
  },
  {
    name: 'an engine gets its answers from the adapter',
    run: (harness) =>
      play(harness, hello, async (fixture) => {
        const { adapter, model, adapterClock: clock } = fixture
        const engine = createEngine({ adapter, model, clock, retry: false })
        const answer = generate(engine, [{ role: 'user', content: 'Hello' }]).then(
          ({ outputText }) => outputText,
          (error: unknown) => error,
        )
        const given = await within(answer, waitFor(fixture, 'generate(engine, …) to be settled'))
        demand(given === 'Hello', {
          problem: 'a call that an engine makes is not answered',
          expected: 'the text "Hello" from generate(engine, …)',
          received: given,
          contract: 'options',
        })
      }),
  },
  {
    name: 'a call gets nothing of the answers before it',
    capability: 'several_calls',
    run: (harness) =>
      play(
        harness,
        paused,
        async (fixture) => {
          const left = openStream(fixture)
          await left.next()
          await left.leave()
          await readEvents(fixture, { request: weatherRequest(fixture) })
          const events = await readEvents(fixture)
          const { outputText, toolCalls, usage, finishReason } = foldEvents(events)
          const isAlone =
            outputText === 'Hello' && toolCalls.length === 0 && finishReason === 'stop'
          demand(isAlone && (usage.inputTokens ?? 0) !== 77, {
            problem: 'an answer has something of an answer before it',
            expected: 'the text "Hello", no call, and no usage of another answer',
            received: { outputText, toolCalls, usage, finishReason },
            contract: 'isolated',
            hint: 'make the state of an answer when the call starts',
          })
        },
        { more: [busyWith(harness), hello] },
      ),
  },
  {
    name: 'two streams at once do not mix',
    capability: 'several_calls',
    async run(harness) {
      // Bytes that are cut inside of characters show state that is shared.
      const isCut = harness.capabilities?.includes('chunking') === true
      const options = isCut ? { chunking: { seed: 3, maxBytes: 60 } } : {}
      const scripts: readonly ((word: string) => Script)[] = [twoPieces, manyPieces]
      for (const scriptOf of scripts) {
        await play(
          harness,
          scriptOf('left'),
          async (fixture) => {
            const left = openStream(fixture, { options: { requestId: 'run-left' } })
            const begun = (await left.next()) ?? []
            const right = openStream(fixture, { options: { requestId: 'run-right' } })
            const reading =
              scriptOf === manyPieces
                ? inTurn(left, right)
                : Promise.all([drain(left), drain(right)])
            const [leftRest, rightAll] = await whileTimePasses(fixture, reading, 30_000)
            const texts = [[...begun, ...leftRest], rightAll].map(
              (events) => `${foldEvents(events).requestId}: ${joinedDeltas(events, 'text_delta')}`,
            )
            const wanted = ['left', 'right'].map(
              (word) => `run-${word}: ${wholeText(scriptOf(word))}`,
            )
            demand(sameJson(texts, wanted), {
              expected: `each stream with its own requestId and its own text: ${show(wanted)}`,
              received: texts,
              contract: 'isolated',
              hint: 'the state of a decoder belongs to one call, not to the adapter',
            })
          },
          { more: [scriptOf('right')], ...options },
        )
      }
    },
  },
]

/** Every option, and none of them given. The list does not compile when one is missing. */
const undefinedOptions: AdapterOptions = {
  requestId: runId,
  signal: undefined,
  apiKey: undefined,
  keys: undefined,
  headers: undefined,
  requestTimeoutMs: undefined,
  queue: undefined,
  streamTimeoutMs: undefined,
  maxResponseBytes: undefined,
  onActivity: undefined,
  onRateLimit: undefined,
  includeRawChunks: undefined,
  sessionId: undefined,
  newId: undefined,
  clock: undefined,
  spanId: undefined,
} satisfies Record<keyof AdapterOptions, unknown>

/** Reads two streams, one batch of each in turn. */
async function inTurn(
  ...streams: readonly [OpenStream, OpenStream]
): Promise<[readonly ModelEvent[], readonly ModelEvent[]]> {
  const events: [ModelEvent[], ModelEvent[]] = [[], []]
  const open = new Set([0, 1] as const)
  while (open.size > 0) {
    for (const at of open) {
      const batch = await streams[at].next()
      if (batch === undefined) open.delete(at)
      else events[at].push(...batch)
    }
  }
  return events
}

function wholeText(script: Script): string {
  return script.map((entry) => (entry[0] === 'text' ? entry[1] : '')).join('')
}

/** A text in many deltas, of characters that take several bytes. */
function manyPieces(word: string): Script {
  return Array.from({ length: 12 }, (_, at): ScriptEntry => ['text', `${word} ${at} 漢字 `])
}

/** A text in two deltas, with a second between them. */
function twoPieces(word: string): Script {
  return [
    ['text', `${word}, `],
    ['delay', 1000],
    ['text', '漢字, '],
    ['text', word],
    ['finish', 'stop'],
  ]
}
