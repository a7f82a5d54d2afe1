import { defined } from '../../data/defined.ts'
import type { ModelResponse } from '../../data/model-response.ts'
import type { ToolCall } from '../../data/tool-call.ts'
import type { Script } from '../../testing/script-entry.ts'
import { sameJson } from '../../validate/same-json.ts'
import { generated } from '../call-generate.ts'
import type { ChatCase } from '../chat-harness.ts'
import { play } from '../chat-scene.ts'
import { demand } from '../conformance-failure.ts'
import { foldEvents } from '../events.ts'
import { readEvents } from '../read-stream.ts'
import { weatherRequest } from '../samples.ts'

/** That `generate` says the same as the fold of `stream`. */
export const foldCases: readonly ChatCase[] = [
  alike('generate equals the fold of the stream', undefined, [
    ['text', 'Hel'],
    ['text', 'lo'],
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
    ['text', 'Hello'],
    ['usage', { inputTokens: 100, outputTokens: 20 }],
    ['finish', 'length'],
  ]),
]

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
      demand(sameJson(comparable(response), comparable(folded)), {
        expected: `what the stream adds up to, ${JSON.stringify(comparable(folded))}`,
        received: comparable(response),
        contract: 'generate',
      })
    },
  })
}

/** A response without what may differ between two calls, or between a stream and a body: ids, metadata, unparsed text. */
function comparable({ id: _id, metadata: _metadata, ...response }: ModelResponse): unknown {
  const toolCalls = response.toolCalls.map(withoutText)
  const message = response.message.toolCalls
    ? { ...response.message, toolCalls: response.message.toolCalls.map(withoutText) }
    : response.message
  return { ...response, message, toolCalls }
}

function withoutText({ rawArguments: _, ...call }: ToolCall): Omit<ToolCall, 'rawArguments'> {
  return call
}
