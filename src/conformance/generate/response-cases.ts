import { generated } from '../call-generate.ts'
import type { ChatCase, ChatHarness } from '../chat-harness.ts'
import { play } from '../chat-scene.ts'
import { demand } from '../conformance-failure.ts'
import { runId } from '../read-stream.ts'
import { hello, weatherRequest } from '../samples.ts'
import { show } from '../show.ts'
import { json } from '../../schema/checks.ts'
import type { Script } from '../../testing/script.ts'
import type { ModelResponse } from '../../types/response.ts'

/** What a response of `generate` says. */
export const responseCases: readonly ChatCase[] = [
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
