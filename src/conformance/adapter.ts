import {
  demandCancelled,
  demandNoKey,
  demandOneRequest,
  demandOrigin,
  demandRefusal,
  demandRetryAfter,
  plainKey,
  refusals,
  scriptOf,
} from './adapter-demands.ts'
import {
  foldEvents,
  generated,
  hello,
  late,
  play,
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
  type ChatScene,
} from './harness.ts'
import { demand, show, turns } from './demands.ts'
import { isAllmError } from '../errors/errors.ts'
import { json } from '../schema/checks.ts'
import { sameJson } from '../schema/json-schema.ts'
import type { Script } from '../testing/script.ts'
import { defined } from '../types/guards.ts'
import type { ToolCall } from '../types/message.ts'
import type { ModelResponse } from '../types/response.ts'

/** What a response of `generate` says. */
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
      play(harness, hello, async (scene) => {
        const { requestId, provider } = await generated(scene)
        demand(requestId === runId && provider === scene.adapter.provider, {
          expected: `requestId ${runId} and provider ${scene.adapter.provider}`,
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

/** That `generate` says the same as the fold of `stream`. */
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
]

/** When `generate` rejects. */
const rejectionCases: readonly ChatCase[] = [
  ...refusals.map((refusal): ChatCase =>
    defined<ChatCase>({
      name: `generate rejects with ${refusal.reason} when the call fails with it`,
      capability: refusal.capability,
      run: (harness) =>
        rejected(harness, scriptOf(refusal), (outcome) => demandRefusal(outcome, refusal)),
    }),
  ),
  {
    name: 'a rejection of generate names its provider and its run',
    run: (harness) =>
      rejected(harness, [['preflight_error', 'rate_limited', { status: 429 }]], (outcome, scene) =>
        demandOrigin(outcome, scene.adapter.provider),
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
        (_, scene) => demandOneRequest(scene.requests().length),
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
            expected: 'a rejection with an error of this library, never half an answer',
            received: failure?.thrown ?? given,
            contract: 'truncated',
          }),
      ),
  },
]

/** What takes `generate` too long, by a clock that is moved by hand. */
const timeCases: readonly ChatCase[] = [
  {
    name: 'a wait beyond requestTimeoutMs rejects generate with timeout',
    capability: 'timeouts',
    run: (harness) =>
      play(harness, late, async (scene) => {
        const call = startGenerate(scene, { options: { requestTimeoutMs: 2000 } })
        const ending = call.then(
          () => undefined,
          (thrown: unknown) => thrown,
        )
        const thrown = await whileTimePasses(scene, ending, 60_000)
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
      play(harness, hello, async (scene) => {
        const { outputText } = await generated(scene, { options: { requestTimeoutMs: 60_000 } })
        await turns(20)
        const { pending } = scene.clock
        demand(outputText !== '' && pending === 0, {
          expected: 'an answer, and nobody who still sleeps on options.clock',
          received: `${outputText}, ${pending} timers`,
          contract: 'timeouts',
        })
      }),
  },
]

/** How `generate` behaves beside what it gives. */
const conductCases: readonly ChatCase[] = [
  {
    name: 'an abort rejects generate with cancelled',
    run: (harness) =>
      play(harness, late, async (scene) => {
        const controller = new AbortController()
        const call = startGenerate(scene, { options: { signal: controller.signal } })
        const ending = settled(scene, call)
        await turns(20)
        controller.abort()
        const { failure, given } = await ending
        demandCancelled(failure ?? given)
      }),
  },
  {
    name: 'generate does not change the request',
    run: (harness) =>
      play(harness, hello, async (scene) => {
        const request = weatherRequest(scene)
        await generated(scene, { request })
        demand(sameJson(request, weatherRequest(scene)), {
          expected: 'the request as it was before the call',
          received: request,
          contract: 'isolated',
        })
      }),
  },
  {
    name: 'the key is in no response and in no rejection of generate',
    async run(harness) {
      const options = { apiKey: plainKey }
      for (const script of [hello, refused]) {
        await play(harness, script, async (scene) => {
          const call = startGenerate(scene, { options })
          await settled(scene, call)
          demandNoKey(plainKey, [await call.catch((thrown: unknown) => thrown)])
        })
      }
    },
  },
]

/** What `generate` of a chat adapter has to do, where it has one. */
export const adapterCases: readonly ChatCase[] = [
  ...responseCases,
  ...foldCases,
  ...rejectionCases,
  ...timeCases,
  ...conductCases,
]

/** Plays a script for a request with a tool and looks at the response. */
function answered(
  harness: ChatHarness,
  script: Script,
  look: (response: ModelResponse) => void,
): Promise<void> {
  return play(harness, script, async (scene) =>
    look(await generated(scene, { request: weatherRequest(scene) })),
  )
}

function alike(name: string, capability: ChatCase['capability'], script: Script): ChatCase {
  return defined<ChatCase>({
    name,
    capability,
    async run(harness) {
      const folded = await play(harness, script, async (scene) =>
        foldEvents(await readEvents(scene, { request: weatherRequest(scene) })),
      )
      const response = await play(harness, script, (scene) =>
        generated(scene, { request: weatherRequest(scene) }),
      )
      demand(sameResponses(response, folded), {
        expected: `what the stream adds up to, ${JSON.stringify(folded)}`,
        received: response,
        contract: 'generate',
      })
    },
  })
}

/** Whether two responses say the same, save what may differ between a stream and a body: ids, metadata, unparsed arguments. */
function sameResponses(left: ModelResponse, right: ModelResponse): boolean {
  return sameJson(comparable(left), comparable(right))
}

function comparable({ id: _id, metadata: _metadata, ...response }: ModelResponse): unknown {
  const toolCalls = response.toolCalls.map(withoutText)
  const message = response.message.toolCalls
    ? { ...response.message, toolCalls: response.message.toolCalls.map(withoutText) }
    : response.message
  return { ...response, message, toolCalls }
}

function withoutText({ rawArguments: _text, ...call }: ToolCall): Omit<ToolCall, 'rawArguments'> {
  return call
}

const waiting: Script = [['preflight_error', 'rate_limited', { status: 429, retryAfterMs: 2000 }]]

function rejected(
  harness: ChatHarness,
  script: Script,
  look: (outcome: Outcome, scene: ChatScene) => void,
): Promise<void> {
  return play(harness, script, async (scene) =>
    look(await settled(scene, startGenerate(scene)), scene),
  )
}
