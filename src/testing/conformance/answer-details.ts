import { AdapterError, isAllmError, type AdapterErrorReason } from '../../core/errors/errors.ts'
import { sameJson } from '../../core/schema/json-schema.ts'
import type { ErrorData } from '../../core/types/error-data.ts'
import type { ModelEvent } from '../../core/types/events.ts'
import type { ModelResponse } from '../../core/types/response.ts'
import type { Script, ScriptEntry } from '../fakes/script.ts'
import { demand, show, turns } from './demands.ts'
import {
  declares,
  drain,
  eventsOfType,
  foldEvents,
  hello,
  joinedDeltas,
  openStream,
  play,
  read,
  readEvents,
  requestOf,
  showEvents,
  weatherRequest,
  whileTimePasses,
  type ChatCase,
  type ChatFixture,
  type ChatHarness,
} from './harness.ts'
import { differenceOf } from './sent.ts'

/** What is easily lost or invented of an answer: its size, a 0, what a failure says, pieces that come in time, and whose answer it is. */
export const answerDetailCases: readonly ChatCase[] = [
  {
    name: 'a long answer arrives whole',
    run: (harness) =>
      play(harness, longText, async (fixture) => {
        const events = await readEvents(fixture)
        const text = joinedDeltas(events, 'text_delta')
        demand(text === wholeText && foldEvents(events).outputText === wholeText, {
          problem: `of ${wholeText.length} characters, ${text.length} arrived`,
          expected: 'every delta of an answer of 300 deltas, as it was sent',
          received: text.slice(-80),
          contract: 'text',
        })
      }),
  },
  {
    name: 'many calls of one answer arrive, each as it was made',
    capability: 'parallel_tools',
    run: (harness) =>
      play(harness, manyCalls, async (fixture) => {
        const events = await readEvents(fixture, { request: weatherRequest(fixture) })
        const calls = eventsOfType(events, 'tool_call_completed').map(({ call }) => call)
        const given = calls.map(({ id, arguments: args }) => [id, args])
        const wanted = sevenCalls.map(({ id, arguments: args }) => [id, args])
        demand(sameJson(given, wanted), {
          problem: `of ${wanted.length} calls, ${given.length} arrived: ${differenceOf(wanted, given) ?? ''}`,
          expected: show(wanted),
          received: given,
          contract: 'tools',
        })
      }),
  },
  {
    name: 'a count of 0 that the provider reports is kept',
    capability: 'usage',
    run: (harness) =>
      play(
        harness,
        [
          ['text', 'Hello'],
          ['usage', { inputTokens: 100, outputTokens: 0 }],
          ['finish', 'stop'],
        ],
        async (fixture) => {
          const { usage } = foldEvents(await readEvents(fixture))
          demand(usage.outputTokens === 0, {
            problem: `outputTokens is ${show(usage.outputTokens)}, and the provider reported 0`,
            expected: 'outputTokens 0',
            received: usage,
            contract: 'usage',
            hint: '0 is a count; test for undefined, not for a falsy value',
          })
        },
      ),
  },
  {
    name: 'raw chunks are what the provider sent, and come once',
    capability: 'raw_chunks',
    run: (harness) =>
      play(
        harness,
        [
          ['text', 'Hel'],
          ['raw_chunk', odd],
          ['text', 'lo'],
          ['finish', 'stop'],
        ],
        async (fixture) => {
          const events = await readEvents(fixture, { options: { includeRawChunks: true } })
          const chunks = eventsOfType(events, 'raw_chunk')
            .map(({ chunk }) => chunk)
            .filter((chunk) => JSON.stringify(chunk).includes('conformance_odd'))
          demand(chunks.length === 1 && sameJson(chunks[0], odd), {
            problem:
              chunks.length === 1
                ? `a raw chunk was changed: ${differenceOf(odd, chunks[0]) ?? ''}`
                : `a chunk of the provider came ${chunks.length} times as raw_chunk`,
            expected: `one raw_chunk ${JSON.stringify(odd)}`,
            received: chunks,
            contract: 'events',
          })
        },
      ),
  },
  {
    name: 'the pieces of a call arrive while the model writes it',
    capability: 'streamed_tools',
    run: (harness) =>
      play(harness, pausedCall, async (fixture) => {
        const early: ModelEvent[] = []
        const stream = openStream(fixture, { request: weatherRequest(fixture) })
        let isReading = true
        const reading = (async () => {
          while (pieces(early) === '') {
            const batch = await stream.next()
            if (batch === undefined || !isReading) return
            early.push(...batch)
          }
        })()
        await Promise.race([reading, turns(2000)])
        isReading = false
        const before = pieces(early)
        await whileTimePasses(
          fixture,
          reading.then(() => drain(stream)),
          5000,
        )
        demand(before !== '', {
          problem: 'the arguments of a call were held back until the call had ended',
          expected: 'a tool_call_delta while the provider pauses in the middle of a call',
          received: `${showEvents(early)} before the pause was over`,
          contract: 'live',
        })
      }),
  },
  {
    name: 'an answer beyond maxResponseBytes ends with too_large',
    capability: 'chunking',
    run: (harness) =>
      play(harness, longText, async (fixture) => {
        const { events, failure } = await read(fixture, { options: { maxResponseBytes: 2000 } })
        const thrown = failure?.thrown
        const error = isAllmError(thrown) ? thrown.toJSON() : errorOf(events.at(-1))
        demand(error?.reason === 'too_large', {
          problem: `an answer beyond maxResponseBytes ended as ${error?.reason ?? events.at(-1)?.type ?? 'nothing'}`,
          expected: 'StreamError too_large for an answer of more than 2000 bytes',
          received: thrown ?? showEvents(events),
          contract: 'limit',
        })
      }),
  },
  {
    name: 'the id of a run that has none is made by newId',
    run: (harness) =>
      play(harness, hello, async (fixture) => {
        const made: string[] = []
        const newId = (kind: string): string => {
          made.push(`conformance-${kind}-${made.length}`)
          return made.at(-1) ?? ''
        }
        const events: ModelEvent[] = []
        const options = { newId, clock: fixture.adapterClock }
        for await (const batch of fixture.adapter.stream(requestOf(fixture), options))
          events.push(...batch)
        const { requestId } = foldEvents(events)
        demand(made.includes(requestId), {
          problem: 'the id of the run was not made by options.newId',
          expected: `requestId from newId: ${show(made)}`,
          received: requestId,
          contract: 'options',
        })
      }),
  },
  {
    name: 'streams of different shapes at once do not mix',
    capability: 'several_calls',
    async run(harness) {
      for (const [left, right] of shapes(harness)) {
        const alone = [await foldAlone(harness, left), await foldAlone(harness, right)]
        const together = await play(harness, left, (fixture) => foldTogether(fixture), {
          more: [right],
        })
        const difference = differenceOf(alone, together)
        demand(difference === undefined, {
          problem: `an answer is another one while a second call is under way: ${difference ?? ''}`,
          expected: 'the same two answers as one after the other',
          received: together,
          contract: 'isolated',
          hint: 'the state of a decoder (blocks, indexes, ids of calls) belongs to one call: make it in the decoder, not beside it',
        })
      }
    },
  },
]

const wholeText = Array.from({ length: 300 }, (_, at) => `word ${at}\r\n&amp; e\u0301 `).join('')

const longText: Script = [
  ...Array.from({ length: 300 }, (_, at): ScriptEntry => ['text', `word ${at}\r\n&amp; e\u0301 `]),
  ['finish', 'stop'],
]

const sevenCalls = Array.from({ length: 7 }, (_, at) => ({
  id: `call_${at}`,
  name: 'weather',
  arguments: { city: `city ${at} \r\n e\u0301`, note: null },
}))

const manyCalls: Script = [
  ...sevenCalls.map((call): ScriptEntry => ['tool_call', call]),
  ['finish', 'tool_calls'],
]

const odd = { type: 'conformance_odd', list: [1, null, { deep: 'e\u0301' }], zero: 0 }

const pausedCall: Script = [
  ['tool_call_delta', { id: 'call_1', name: 'weather', argumentsDelta: '{"city":' }],
  ['delay', 1000],
  ['tool_call_delta', { id: 'call_1', argumentsDelta: '"Paris"}' }],
  ['finish', 'tool_calls'],
]

function pieces(events: readonly ModelEvent[]): string {
  return eventsOfType(events, 'tool_call_delta')
    .map(({ argumentsDelta }) => argumentsDelta)
    .join('')
}

function errorOf(event: ModelEvent | undefined): ErrorData | undefined {
  return event?.type === 'error' ? event.error : undefined
}

/** Pairs of answers that a provider sends at the same positions: a text beside a call, two calls, reasoning beside a text. */
function shapes(harness: ChatHarness): readonly (readonly [Script, Script])[] {
  const pairs: [Script, Script][] = [[says('left'), says('right')]]
  if (declares(harness, 'tools')) {
    const calls = (id: string, city: string): Script => callSlowly(harness, id, city)
    pairs.push([says('left'), calls('call_a', 'Ankara')])
    pairs.push([calls('call_a', 'Ankara'), calls('call_b', 'Bern')])
  }
  if (declares(harness, 'reasoning')) {
    pairs.push([
      says('left'),
      [
        ['reasoning', 'a thought'],
        ['delay', 700],
        ['text', 'after it'],
        ['finish', 'stop'],
      ],
    ])
  }
  return pairs
}

function says(word: string): Script {
  return [
    ['text', `${word} one, `],
    ['delay', 500],
    ['text', `${word} two, `],
    ['delay', 1000],
    ['text', `${word} three`],
    ['finish', 'stop'],
  ]
}

function callSlowly(harness: ChatHarness, id: string, city: string): Script {
  const call: Script = declares(harness, 'streamed_tools')
    ? [
        ['tool_call_delta', { id, name: 'weather', argumentsDelta: '{"city":' }],
        ['delay', 750],
        ['tool_call_delta', { id, argumentsDelta: JSON.stringify(city) }],
        ['delay', 750],
        ['tool_call_delta', { id, argumentsDelta: '}' }],
      ]
    : [['tool_call', { id, name: 'weather', arguments: { city } }]]
  return [['delay', 250], ...call, ['finish', 'tool_calls']]
}

/** What an answer says, without ids that a provider makes for each answer. */
interface Told extends Pick<ModelResponse, 'outputText' | 'finishReason'> {
  readonly calls: readonly (readonly unknown[])[]
  readonly reasoning: readonly string[]
}

function told(events: readonly ModelEvent[]): Told {
  const { outputText, toolCalls, finishReason } = foldEvents(events)
  return {
    outputText,
    finishReason,
    calls: toolCalls.map(({ id, name, arguments: args }) => [id, name, args]),
    reasoning: eventsOfType(events, 'reasoning_completed').map(({ text }) => text),
  }
}

function foldAlone(harness: ChatHarness, script: Script): Promise<Told> {
  return play(harness, script, (fixture) => {
    const stream = openStream(fixture, { request: weatherRequest(fixture) })
    return whileTimePasses(fixture, drain(stream).then(told), 30_000)
  })
}

async function foldTogether(fixture: ChatFixture): Promise<readonly Told[]> {
  const open = (requestId: string): Promise<Told> =>
    drain(openStream(fixture, { request: weatherRequest(fixture), options: { requestId } })).then(
      told,
    )
  const left = open('run-left')
  // The scripts are played in the order of the calls.
  await turns(200)
  return whileTimePasses(fixture, Promise.all([left, open('run-right')]), 30_000)
}

/** What a failure says beyond its reason. */
export const failureDetailCases: readonly ChatCase[] = [
  {
    name: 'a refusal says whether another attempt may succeed, and invents no wait',
    async run(harness) {
      for (const [reason, status] of refusalsTried) {
        const script: Script = [['preflight_error', reason, { status }]]
        await play(harness, script, async (fixture) => {
          const { failure } = await read(fixture)
          const thrown = failure?.thrown
          // Other cases judge what kind of failure it is.
          if (isAllmError(thrown)) demandHopes(thrown.toJSON())
        })
      }
    },
  },
  {
    name: 'a failure in the middle says whether another attempt may succeed, and invents no wait',
    capability: 'stream_failures',
    run: (harness) =>
      play(
        harness,
        [
          ['text_delta', 'so far'],
          ['error_event', 'provider_unavailable', {}],
        ],
        async (fixture) => {
          const error = errorOf((await readEvents(fixture)).at(-1))
          if (error !== undefined) demandHopes(error)
        },
      ),
  },
  {
    name: 'a failure has the words of the provider',
    capability: 'statuses',
    async run(harness) {
      const scripts: Script[] = [
        [['preflight_error', 'invalid_request', { status: 400, message: words }]],
      ]
      if (declares(harness, 'stream_failures'))
        scripts.push([
          ['text_delta', 'so far'],
          ['error_event', 'provider_unavailable', { message: words }],
        ])
      for (const script of scripts) {
        await play(harness, script, async (fixture) => {
          const { events, failure } = await read(fixture)
          const thrown = failure?.thrown
          const message = isAllmError(thrown) ? thrown.message : errorOf(events.at(-1))?.message
          const isDump = message?.includes('{"') === true
          demand(message?.includes(words) === true && !isDump, {
            problem: isDump
              ? 'the message of the error is the body, not the words in it'
              : `the words of the provider were lost${script.length === 1 ? '' : ' in the middle of an answer'}`,
            expected: `an error with the message ${JSON.stringify(words)}`,
            received: message ?? showEvents(events),
            contract: 'words',
          })
        })
      }
    },
  },
]

const words = 'the parameter voice is unknown to this house'

const refusalsTried: readonly (readonly [AdapterErrorReason, number])[] = [
  ['rate_limited', 429],
  ['provider_unavailable', 503],
  ['timeout', 408],
  ['authentication_failed', 401],
  ['invalid_request', 400],
]

function demandHopes({ reason, retryable, retryAfterMs }: ErrorData): void {
  // Every reason of an adapter error is one.
  const wanted = new AdapterError(reason as AdapterErrorReason, '').retryable
  demand(retryable === wanted, {
    problem: `${reason} was reported with retryable ${show(retryable)}`,
    expected: `retryable ${wanted}, as it follows from the reason`,
    received: { reason, retryable },
    contract: 'hopes',
    hint: 'leave retryable out, unless the provider says otherwise',
  })
  demand(retryAfterMs === undefined, {
    problem: `${reason} was reported with retryAfterMs ${show(retryAfterMs)}, and the provider asked for no wait`,
    expected: 'no retryAfterMs',
    received: { reason, retryAfterMs },
    contract: 'hopes',
    hint: 'Number(null) is 0: a header that is not there says nothing',
  })
}
