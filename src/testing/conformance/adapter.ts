import { isAllmError } from '../../core/errors/errors.ts'
import { json } from '../../core/schema/checks.ts'
import { defined } from '../../core/types/guards.ts'
import type { ToolCall } from '../../core/types/message.ts'
import type { ModelRequest } from '../../core/types/request.ts'
import type { ModelResponse } from '../../core/types/response.ts'
import type { Script } from '../fakes/script.ts'
import {
  demandCancelled,
  demandOneRequest,
  demandOrigin,
  demandRefusal,
  demandRetryAfter,
  plainKey,
  refusals,
  scriptOf,
} from './adapter-demands.ts'
import { demand, show, turns } from './demands.ts'
import {
  demandNoTimer,
  foldEvents,
  generated,
  hello,
  late,
  play,
  read,
  readEvents,
  refused,
  runId,
  settled,
  startGenerate,
  weatherRequest,
  whileTimePasses,
  type Outcome,
  type ChatCase,
  type ChatHarness,
  type ChatFixture,
  waiting,
} from './harness.ts'
import { demandNoKey } from './invariants.ts'
import { differenceOf } from './sent.ts'
import { demandSameRequest, fullRequest } from './stream-requests.ts'

/** The response of `generate`. */
const responseCases: readonly ChatCase[] = [
  {
    name: 'generate gives the text of the answer',
    run: (harness) =>
      answered(harness, hello, ({ outputText, finishReason, message }) =>
        demand(outputText === 'Hello' && finishReason === 'stop' && message.role === 'assistant', {
          expected: 'an assistant message, outputText "Hello" and finishReason "stop"',
          received: { outputText, finishReason, message },
          contract: 'generate',
        }),
      ),
  },
  {
    name: 'generate names the run and the provider',
    run: (harness) =>
      play(harness, hello, async (fixture) => {
        const { requestId, provider } = await generated(fixture)
        demand(requestId === runId && provider === fixture.adapter.provider, {
          expected: `requestId ${runId} and provider ${fixture.adapter.provider}`,
          received: { requestId, provider },
          contract: 'generate',
        })
      }),
  },
  {
    name: 'generate gives plain JSON',
    run: (harness) =>
      answered(harness, hello, (response) => {
        const issues = json(response)
        demand(issues.length === 0, {
          expected: 'a response of plain JSON',
          received: issues.map(({ path, problem }) => `${path} ${problem}`.trim()).join('; '),
          contract: 'plainData',
        })
      }),
  },
  {
    name: 'generate gives the calls of tools',
    capability: 'tools',
    run: (harness) =>
      answered(
        harness,
        [['tool_call', { id: 'call_1', name: 'weather', arguments: { city: 'Paris' } }]],
        ({ toolCalls, finishReason }) => {
          const [call] = toolCalls
          const given = show([call?.id, call?.name, call?.arguments, finishReason])
          demand(given === show(['call_1', 'weather', { city: 'Paris' }, 'tool_calls']), {
            expected: 'call_1 of weather with {"city": "Paris"}, and finishReason "tool_calls"',
            received: { toolCalls, finishReason },
            contract: 'tools',
          })
        },
      ),
  },
  {
    name: 'generate counts tokens as the stream does',
    capability: 'usage',
    run: (harness) =>
      answered(
        harness,
        [
          ['text', 'Hello'],
          ['usage', { inputTokens: 100, outputTokens: 20 }],
        ],
        ({ usage }) =>
          demand(usage.inputTokens === 100 && usage.outputTokens === 20, {
            expected: 'inputTokens 100 and outputTokens 20',
            received: usage,
            contract: 'usage',
          }),
      ),
  },
]

/** The response of `generate` equals the fold of `stream`. */
const foldCases: readonly ChatCase[] = [
  alike('generate equals the fold of the stream', undefined, [
    ['text', 'Good '],
    ['text', 'morning.'],
    ['finish', 'stop'],
  ]),
  alike('generate equals the fold of the stream, with calls of tools', 'tools', [
    ['text', 'One moment.'],
    ['tool_call', { id: 'call_1', name: 'weather', arguments: { city: 'Paris' } }],
    ['finish', 'tool_calls'],
  ]),
  alike('generate equals the fold of the stream, with reasoning', 'reasoning', [
    ['reasoning', 'Two and two.', { opaque: 'c2lnbmF0dXJl' }],
    ['text', 'Four.'],
    ['finish', 'stop'],
  ]),
  alike('generate equals the fold of the stream, with usage', 'usage', [
    ['text', 'Counted.'],
    ['usage', { inputTokens: 100, outputTokens: 20 }],
    ['finish', 'length'],
  ]),
  {
    name: 'generate has the text and the warnings of the stream as they are',
    async run(harness) {
      const script: Script = [
        ['text', '  Good \n'],
        ['text', '\tmorning. \n'],
        ['finish', 'stop'],
      ]
      const folded = await play(harness, script, async (fixture) => {
        const { events, failure } = await read(fixture, { request: moreThanMostTake(fixture) })
        return failure === undefined ? foldEvents(events) : undefined
      })
      // An adapter may refuse what it does not know.
      if (folded === undefined) return
      const response = await play(harness, script, (fixture) =>
        generated(fixture, { request: moreThanMostTake(fixture) }),
      )
      const difference = differenceOf(
        [folded.outputText, folded.warnings],
        [response.outputText, response.warnings],
      )
      demand(difference === undefined, {
        problem: `generate has another text or other warnings than the stream: ${difference ?? ''}`,
        expected: show([folded.outputText, folded.warnings]),
        received: [response.outputText, response.warnings],
        contract: 'generate',
      })
    },
  },
]

/** A request with settings of which most providers lack one, and say so. */
function moreThanMostTake(fixture: ChatFixture): ModelRequest {
  const promptCache = { key: 'conformance' }
  return { ...weatherRequest(fixture), topK: 7, seed: 7, presencePenalty: 0.5, promptCache }
}

/** When `generate` rejects. */
const rejectionCases: readonly ChatCase[] = [
  ...refusals.map((refusal): ChatCase =>
    defined<ChatCase>({
      name: `generate rejects with ${refusal.reason} when the call fails with it`,
      capability: refusal.capability,
      run: (harness) =>
        rejected(harness, scriptOf(refusal), (outcome) => demandRefusal(outcome, refusal, harness)),
    }),
  ),
  {
    name: 'a rejection of generate names its provider and its run',
    run: (harness) =>
      rejected(
        harness,
        [['preflight_error', 'rate_limited', { status: 429 }]],
        (outcome, fixture) => demandOrigin(outcome, fixture.adapter.provider),
      ),
  },
  {
    name: 'a rejection of generate says how long to wait',
    capability: 'retry_after',
    run: (harness) => rejected(harness, waiting, (outcome) => demandRetryAfter(outcome, 2000)),
  },
  {
    name: 'generate does not try again',
    capability: 'requests',
    run: (harness) =>
      rejected(
        harness,
        [['preflight_error', 'provider_unavailable', { status: 503 }]],
        (_, fixture) => demandOneRequest(fixture.requests().length),
      ),
  },
  {
    name: 'generate rejects with a failure that the stream would report in its middle',
    capability: 'stream_failures',
    run: (harness) =>
      rejected(
        harness,
        [
          ['text_delta', 'so far'],
          ['error_event', 'provider_unavailable', {}],
        ],
        ({ failure, given }) => {
          const thrown = failure?.thrown
          demand(isAllmError(thrown) && thrown.reason === 'provider_unavailable', {
            expected: 'a rejection with AdapterError provider_unavailable',
            received: thrown ?? given,
            contract: 'generate',
          })
        },
      ),
  },
  {
    name: 'generate rejects an answer that breaks off',
    run: (harness) =>
      rejected(
        harness,
        [
          ['text_delta', 'so far'],
          ['stream_error', 'truncated', {}],
        ],
        ({ failure, given }) =>
          demand(isAllmError(failure?.thrown), {
            expected: 'a rejection with an error of this library, never a partial answer',
            received: failure?.thrown ?? given,
            contract: 'truncated',
          }),
      ),
  },
]

/** Timeouts of `generate`, by a clock that the case moves. */
const timeCases: readonly ChatCase[] = [
  {
    name: 'a wait beyond requestTimeoutMs rejects generate with timeout',
    capability: 'timeouts',
    run: (harness) =>
      play(harness, late, async (fixture) => {
        const call = startGenerate(fixture, { options: { requestTimeoutMs: 2000 } })
        const ending = call.then(
          () => undefined,
          (thrown: unknown) => thrown,
        )
        const thrown = await whileTimePasses(fixture, ending, 60_000)
        demand(isAllmError(thrown) && thrown.reason === 'timeout' && thrown.kind === 'adapter', {
          expected: 'a rejection with AdapterError timeout after 2000 ms',
          received: thrown ?? 'a response',
          contract: 'timeouts',
        })
      }),
  },
  {
    name: 'a limit that is not reached changes nothing',
    capability: 'timeouts',
    run: (harness) =>
      play(harness, hello, async (fixture) => {
        const { outputText } = await generated(fixture, { options: { requestTimeoutMs: 60_000 } })
        demand(outputText !== '', {
          expected: 'an answer',
          received: outputText,
          contract: 'timeouts',
        })
        await demandNoTimer(fixture)
      }),
  },
]

/** How `generate` behaves. */
const conductCases: readonly ChatCase[] = [
  {
    name: 'an abort rejects generate with cancelled',
    run: (harness) =>
      play(harness, late, async (fixture) => {
        const controller = new AbortController()
        const call = startGenerate(fixture, { options: { signal: controller.signal } })
        const ending = settled(fixture, call)
        await turns(20)
        controller.abort()
        const { failure, given } = await ending
        demandCancelled(failure ?? given)
      }),
  },
  {
    name: 'generate sends what the stream sends',
    capability: 'requests',
    async run(harness) {
      const sent = [
        await play(harness, hello, async (fixture) => {
          await readEvents(fixture, { request: fullRequest(fixture) })
          return fixture.requests()
        }),
        await play(harness, hello, async (fixture) => {
          await generated(fixture, { request: fullRequest(fixture) })
          return fixture.requests()
        }),
      ]
      demandSameRequest(sent[0]?.[0], sent[1]?.[0])
    },
  },
  {
    name: 'generate does not change the request',
    run: (harness) =>
      play(harness, hello, async (fixture) => {
        const request = weatherRequest(fixture)
        await generated(fixture, { request })
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
    name: 'the key is in no response and in no rejection of generate',
    async run(harness) {
      const options = { apiKey: plainKey }
      for (const script of [hello, refused]) {
        await play(harness, script, async (fixture) => {
          const call = startGenerate(fixture, { options })
          await settled(fixture, call)
          demandNoKey(plainKey, [await call.catch((thrown: unknown) => thrown)])
        })
      }
    },
  },
]

/** The cases for `generate` of a chat adapter, which is optional. */
export const adapterCases: readonly ChatCase[] = [
  ...responseCases,
  ...foldCases,
  ...rejectionCases,
  ...timeCases,
  ...conductCases,
]

/** Plays a script for a request with a tool and checks the response. */
function answered(
  harness: ChatHarness,
  script: Script,
  look: (response: ModelResponse) => void,
): Promise<void> {
  return play(harness, script, async (fixture) =>
    look(await generated(fixture, { request: weatherRequest(fixture) })),
  )
}

function alike(name: string, capability: ChatCase['capability'], script: Script): ChatCase {
  return defined<ChatCase>({
    name,
    capability,
    async run(harness) {
      const folded = await play(harness, script, async (fixture) =>
        foldEvents(await readEvents(fixture, { request: weatherRequest(fixture) })),
      )
      const response = await play(harness, script, (fixture) =>
        generated(fixture, { request: weatherRequest(fixture) }),
      )
      const difference = differenceOf(comparable(folded), comparable(response))
      demand(difference === undefined, {
        problem: `generate differs from the fold of the stream: ${difference ?? ''}`,
        expected: 'the fold of the stream',
        received: difference,
        contract: 'generate',
      })
    },
  })
}

/** A response without what may differ between a stream and a body: ids, metadata, raw arguments. */
function comparable({ id: _id, metadata: _metadata, ...response }: ModelResponse): unknown {
  const toolCalls = response.toolCalls.map(withoutRawArguments)
  const message = response.message.toolCalls
    ? { ...response.message, toolCalls: response.message.toolCalls.map(withoutRawArguments) }
    : response.message
  return { ...response, message, toolCalls }
}

function withoutRawArguments({
  rawArguments: _raw,
  ...call
}: ToolCall): Omit<ToolCall, 'rawArguments'> {
  return call
}

function rejected(
  harness: ChatHarness,
  script: Script,
  look: (outcome: Outcome, fixture: ChatFixture) => void,
): Promise<void> {
  return play(harness, script, async (fixture) =>
    look(await settled(fixture, startGenerate(fixture)), fixture),
  )
}
