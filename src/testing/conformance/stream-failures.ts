import { isAllmError, reasonOfStatus } from '../../core/errors/errors.ts'
import type { ErrorData } from '../../core/types/error-data.ts'
import type { ModelEvent } from '../../core/types/events.ts'
import { defined } from '../../core/types/guards.ts'
import type { Script, ScriptEntry } from '../fakes/script.ts'
import {
  demandOneRequest,
  demandOrigin,
  demandRefusal,
  demandRetryAfter,
  refusals,
  scriptOf,
  statusOf,
  wayOfFailing,
} from './adapter-demands.ts'
import { demand, show, turns, type Finding } from './demands.ts'
import {
  demandNoTimer,
  hello,
  joinedDeltas,
  late,
  openStream,
  play,
  read,
  readEvents,
  readWhileTimePasses,
  showEvents,
  slow,
  weatherRequest,
  whileTimePasses,
  type Outcome,
  type ChatCase,
  type ChatHarness,
  type ChatFixture,
  waiting,
} from './harness.ts'

/** Failures after the first event. */
export const failureCases: readonly ChatCase[] = [
  {
    name: 'a failure that the provider reports in the middle is the last event',
    capability: 'stream_failures',
    run: (harness) =>
      broken(
        harness,
        [
          ['text_delta', 'so far'],
          ['error_event', 'provider_unavailable', {}],
        ],
        {
          kind: 'adapter',
          reason: 'provider_unavailable',
          contract: 'midStream',
        },
      ),
  },
  {
    name: 'a failure that the provider reports in place of an answer is a failure',
    capability: 'stream_failures',
    run: (harness) =>
      play(harness, [['error_event', 'provider_unavailable', {}]], async (fixture) => {
        const { events, failure } = await read(fixture)
        const thrown = failure?.thrown
        const error = isAllmError(thrown) ? thrown.toJSON() : errorOf(events.at(-1))
        demand(error?.reason === 'provider_unavailable', {
          expected:
            'AdapterError provider_unavailable: thrown if there was no event before it, otherwise the last event',
          received: thrown ?? showEvents(events),
          contract: 'midStream',
          hint: 'a status of 200 does not mean that the call succeeded',
        })
      }),
  },
  {
    name: 'a failure in the middle says how long to wait',
    capability: 'stream_retry_after',
    run: (harness) =>
      play(
        harness,
        [
          ['text_delta', 'so far'],
          ['error_event', 'rate_limited', wait],
        ],
        async (fixture) => {
          const events = await readEvents(fixture)
          const error = errorOf(events.at(-1))
          demand(error?.reason === 'rate_limited' && error.retryAfterMs === wait.retryAfterMs, {
            expected: `an error rate_limited with retryAfterMs ${wait.retryAfterMs} as the last event`,
            received: error ?? showEvents(events),
            contract: 'errorFacts',
          })
        },
      ),
  },
  {
    name: 'an answer that breaks off is truncated, never complete',
    run: (harness) =>
      broken(
        harness,
        [
          ['text_delta', 'so far'],
          ['stream_error', 'truncated', {}],
        ],
        {
          kind: 'stream',
          reason: 'truncated',
          contract: 'truncated',
          hint: 'the end of the body is not the end of the answer: wait for the provider’s end marker',
        },
      ),
  },
  {
    name: 'an answer whose body ends early is truncated, never complete',
    capability: 'clean_end',
    run: (harness) => brokenOff(harness, 'end'),
  },
  {
    name: 'an answer whose connection breaks is truncated, never complete',
    capability: 'reset',
    run: (harness) => brokenOff(harness, 'reset'),
  },
  {
    name: 'an event that nobody knows is passed over',
    run: (harness) =>
      play(harness, withUnknown, async (fixture) => {
        const { events, failure } = await read(fixture)
        const text = joinedDeltas(events, 'text_delta')
        const last = events.at(-1)?.type
        demand(text === 'Hello' && last === 'message_completed', {
          problem: 'an event that the adapter does not know broke the answer',
          expected: 'the text "Hello" and message_completed',
          received: failure?.thrown ?? `${show(text)}: ${showEvents(events)}`,
          contract: 'events',
          hint: 'providers add new events; ignore those that you do not know',
        })
      }),
  },
  {
    name: 'an event that cannot be read is malformed_event',
    run: (harness) =>
      broken(
        harness,
        [
          ['text_delta', 'so far'],
          ['stream_error', 'malformed_event', {}],
        ],
        {
          kind: 'stream',
          reason: 'malformed_event',
          contract: 'malformed',
        },
      ),
  },
]

const wait = { retryAfterMs: 2000 }

const withUnknown: Script = [
  ['raw_chunk', { type: 'conformance_hello', detail: { level: 1 } }],
  ['text', 'Hel'],
  ['raw_chunk', { type: 'conformance_note', text: 'not for the answer', list: [null, {}] }],
  ['text', 'lo'],
  ['raw_chunk', {}],
  ['finish', 'stop'],
]

/** Plays answers that break off: after some text, after a call, and before any content. */
async function brokenOff(harness: ChatHarness, by: 'end' | 'reset'): Promise<void> {
  const breaks: ScriptEntry = ['stream_error', 'truncated', { by }]
  await broken(harness, [['text_delta', 'so far'], breaks], {
    kind: 'stream',
    reason: 'truncated',
    contract: 'truncated',
    hint: 'the end of the body is not the end of the answer: wait for the provider’s end marker',
  })
  const others: Script[] = [[breaks]]
  if (harness.capabilities?.includes('tools') === true) {
    others.push([
      ['tool_call', { id: 'call_1', name: 'weather', arguments: { city: 'Rome' } }],
      breaks,
    ])
  }
  for (const script of others) {
    await play(harness, script, async (fixture) => {
      const { events, failure } = await read(fixture, { request: weatherRequest(fixture) })
      const error = isAllmError(failure?.thrown) ? failure.thrown.toJSON() : errorOf(events.at(-1))
      const known = ['truncated', 'network_error', 'malformed_response']
      demand(error !== undefined && known.includes(error.reason), {
        problem: `an answer that broke off ${script.length === 1 ? 'before any content' : 'after a call'} was taken for something else`,
        expected: 'truncated; before any content network_error or malformed_response as well',
        received: failure?.thrown ?? showEvents(events),
        contract: 'truncated',
      })
    })
  }
}

type Expected = Pick<ErrorData, 'kind' | 'reason'> & Pick<Finding, 'contract' | 'hint'>

/** Plays a script that emits "so far" and fails. The text must be emitted, and then the error. */
function broken(harness: ChatHarness, script: Script, expected: Expected): Promise<void> {
  return play(harness, script, async (fixture) => {
    const events = await readEvents(fixture)
    const error = errorOf(events.at(-1))
    const text = joinedDeltas(events, 'text_delta')
    const { kind, reason } = expected
    demand(error?.kind === kind && error.reason === reason && text === 'so far', {
      ...expected,
      problem:
        error === undefined
          ? `an answer that failed with ${reason} ended as ${events.at(-1)?.type ?? 'nothing'}`
          : error.reason === reason && error.kind === kind
            ? `the text before the failure arrived as ${show(text)}`
            : `${kind} ${reason} was reported as ${error.kind} ${error.reason}`,
      expected: `the text "so far", and then an error event of kind ${kind} and reason ${reason}`,
      received: error === undefined ? showEvents(events) : `${showEvents(events)}; ${show(error)}`,
    })
  })
}

function errorOf(event: ModelEvent | undefined): ErrorData | undefined {
  return event?.type === 'error' ? event.error : undefined
}

/** The statuses whose reason follows from the one table of all providers. */
const statuses = [402, 403, 404, 405, 408, 409, 413, 415, 422, 424, 429, 500, 502, 503, 504, 529]

/** Failures before the first event. */
export const refusalCases: readonly ChatCase[] = [
  {
    name: 'the reason of a refusal follows from its status',
    capability: 'statuses',
    async run(harness) {
      const own = Object.values(harness.statuses ?? {})
      for (const status of statuses.filter((one) => !own.includes(one))) {
        const reason = reasonOfStatus(status)
        await play(harness, [['preflight_error', 'unknown', { status }]], async (fixture) => {
          const { events, failure } = await read(fixture)
          const thrown = failure?.thrown
          const error = isAllmError(thrown) ? thrown.toJSON() : undefined
          if (fixture.declares('requests')) demandOneRequest(fixture.requests().length)
          const given = showEvents(events)
          demand(error?.reason === reason && error.status === status, {
            problem:
              error === undefined
                ? wayOfFailing(failure === undefined ? { given } : { failure, given })
                : `the status ${status} was reported as ${error.reason}, with status ${show(error.status)}`,
            expected: `a rejection with AdapterError ${reason} for the status ${status}`,
            received: thrown ?? showEvents(events),
            contract: 'preflight',
            hint: 'use reasonOfStatus: a caller branches on the reason, whatever the provider',
          })
        })
      }
    },
  },
  ...refusals.map((refusal): ChatCase => {
    const { reason, capability } = refusal
    return defined<ChatCase>({
      name: `a call that fails with ${reason} before its first event rejects with it`,
      capability,
      run: (harness) =>
        refused(harness, scriptOf(refusal), (outcome) => demandRefusal(outcome, refusal, harness)),
    })
  }),
  {
    name: 'a refusal has the status of its answer',
    async run(harness) {
      const known: { readonly wanted: unknown; readonly status: unknown }[] = []
      let hasUrl = false
      for (const refusal of refusals.filter(({ capability }) => capability === undefined)) {
        const wanted = statusOf(refusal, harness)
        if (wanted === undefined) continue
        await refused(harness, scriptOf(refusal), ({ failure }, fixture) => {
          const thrown = failure?.thrown
          known.push({ wanted, status: isAllmError(thrown) ? thrown.toJSON().status : undefined })
          if (harness.capabilities?.includes('requests') === true)
            hasUrl ||= /"(?:url|path|endpoint)":"/i.test(JSON.stringify(fixture.requests()))
        })
      }
      // A model in the process has no statuses at all.
      const isDeclared = harness.capabilities?.includes('statuses') === true || hasUrl
      if (!isDeclared && known.every(({ status }) => status === undefined)) return
      const wrong = known.find(({ wanted, status }) => wanted !== status)
      demand(wrong === undefined, {
        problem: `a refusal with status ${show(wrong?.wanted)} was reported with status ${show(wrong?.status)}`,
        expected: 'the status of the answer in the error',
        received: known,
        contract: 'errorFacts',
      })
    },
  },
  {
    name: 'a refusal names its provider and its run',
    run: (harness) =>
      refused(harness, [['preflight_error', 'rate_limited', { status: 429 }]], (outcome, fixture) =>
        demandOrigin(outcome, fixture.adapter.provider),
      ),
  },
  {
    name: 'a refusal says how long to wait',
    capability: 'retry_after',
    run: (harness) => refused(harness, waiting, (outcome) => demandRetryAfter(outcome, 2000)),
  },
  {
    name: 'a refused call is not tried again',
    capability: 'requests',
    run: (harness) =>
      refused(
        harness,
        [['preflight_error', 'provider_unavailable', { status: 503 }]],
        (_, fixture) => demandOneRequest(fixture.requests().length),
      ),
  },
]

function refused(
  harness: ChatHarness,
  script: Script,
  look: (outcome: Outcome, fixture: ChatFixture) => void,
): Promise<void> {
  return play(harness, script, async (fixture) => {
    const { events, failure } = await read(fixture)
    const given = `${showEvents(events)}, and then the stream ended`
    const first = events.length === 0 ? failure : undefined
    look(first === undefined ? { given } : { failure: first, given }, fixture)
  })
}

const limitMs = 4000

/** Six seconds in all, with a delta every second. */
const steady: Script = [
  ['text', 'slow'],
  ...Array.from({ length: 6 }).flatMap((): readonly ScriptEntry[] => [
    ['delay', 1000],
    ['text', ' and steady'],
  ]),
  ['finish', 'stop'],
]

/** Six seconds without content, with a chunk that makes no event every second. */
const pinging: Script = [
  ['text', 'let me think'],
  ...Array.from({ length: 6 }).flatMap((): readonly ScriptEntry[] => [
    ['delay', 1000],
    ['raw_chunk', {}],
  ]),
  ['text', ' and answer'],
  ['finish', 'stop'],
]

/** The provider's handshake, and nothing else for five seconds. */
const handshake: Script = [
  ['raw_chunk', {}],
  ['delay', 5000],
  ['text', 'late'],
  ['finish', 'stop'],
]

/** Timeouts, by a clock that the case moves. */
export const timeCases: readonly ChatCase[] = [
  {
    name: 'what makes no event ends a silence too',
    capability: 'timeouts',
    run: (harness) =>
      play(harness, pinging, async (fixture) => {
        const { events, failure } = await readWhileTimePasses(fixture, { streamTimeoutMs: 3000 })
        demand(events.at(-1)?.type === 'message_completed', {
          expected: 'message_completed: the provider was never silent for 3000 ms',
          received: failure?.thrown ?? showEvents(events),
          contract: 'timeouts',
          hint: 'restart the timer with every read, not with every event: pings and comments end a silence too',
        })
      }),
  },
  {
    name: 'onActivity is called for what makes no event',
    capability: 'timeouts',
    run: (harness) =>
      play(harness, pinging, async (fixture) => {
        let signs = 0
        await readWhileTimePasses(fixture, { onActivity: () => void signs++ })
        demand(signs >= 6, {
          expected: 'at least 6 calls of onActivity: the provider sent something every second',
          received: signs,
          contract: 'activity',
        })
      }),
  },
  {
    name: 'the first event comes with the first content',
    capability: 'timeouts',
    run: (harness) =>
      play(harness, handshake, async (fixture) => {
        const stream = openStream(fixture)
        let early: unknown
        let waits = true
        const pending = stream.step().then(({ value }) => {
          if (waits) early = value
        })
        await turns(200)
        waits = false
        await whileTimePasses(fixture, pending, 60_000)
        await stream.leave()
        demand(early === undefined, {
          expected: 'nothing before the first text: message_started comes with it',
          received: early,
          contract: 'firstContent',
          hint: 'hold message_started back until there is something to say: until then a failure can be retried',
        })
      }),
  },
  {
    name: 'the handshake of the provider does not end requestTimeoutMs',
    capability: 'timeouts',
    run: (harness) =>
      play(harness, handshake, async (fixture) => {
        const { events, failure } = await readWhileTimePasses(fixture, { requestTimeoutMs: 2500 })
        const thrown = failure?.thrown
        demand(events.length === 0 && isAllmError(thrown) && thrown.reason === 'timeout', {
          expected: 'a rejection with timeout after 2500 ms without content',
          received: thrown ?? showEvents(events),
          contract: 'timeouts',
        })
      }),
  },
  {
    name: 'a silence beyond streamTimeoutMs ends the stream with the error timeout',
    capability: 'timeouts',
    run: (harness) =>
      play(harness, slow, async (fixture) => {
        const { events, failure } = await readWhileTimePasses(fixture, { streamTimeoutMs: 2000 })
        const last = events.at(-1)
        const timedOut = last?.type === 'error' && last.error.reason === 'timeout'
        demand(timedOut && last.error.kind === 'adapter', {
          expected: 'an error event with AdapterError timeout after 2000 ms of silence',
          received: failure?.thrown ?? showEvents(events),
          contract: 'timeouts',
        })
      }),
  },
  {
    name: 'a slow stream that is never silent for long is not cut',
    capability: 'timeouts',
    run: (harness) =>
      play(harness, steady, async (fixture) => {
        const { events, failure } = await readWhileTimePasses(fixture, { streamTimeoutMs: limitMs })
        demand(events.at(-1)?.type === 'message_completed', {
          expected: `message_completed: no silence lasted ${limitMs} ms, though all of it took longer`,
          received: failure?.thrown ?? showEvents(events),
          contract: 'timeouts',
          hint: 'restart the timer with every event',
        })
      }),
  },
  {
    name: 'a wait beyond requestTimeoutMs for the first event rejects with timeout',
    capability: 'timeouts',
    run: (harness) =>
      play(harness, late, async (fixture) => {
        const { events, failure } = await readWhileTimePasses(fixture, { requestTimeoutMs: 2000 })
        const thrown = failure?.thrown
        const timedOut = isAllmError(thrown) && thrown.reason === 'timeout'
        demand(timedOut && thrown.kind === 'adapter', {
          expected: 'a rejection with AdapterError timeout after 2000 ms',
          received: thrown ?? showEvents(events),
          contract: 'timeouts',
        })
      }),
  },
  {
    name: 'a stream that has ended leaves no timer behind',
    capability: 'timeouts',
    run: (harness) =>
      play(harness, hello, async (fixture) => {
        await readEvents(fixture, {
          options: { requestTimeoutMs: 60_000, streamTimeoutMs: 60_000 },
        })
        await demandNoTimer(fixture)
      }),
  },
]
