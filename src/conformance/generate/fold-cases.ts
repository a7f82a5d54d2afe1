import { generated } from '../call-generate.ts'
import type { ChatCase } from '../chat-harness.ts'
import { play } from '../chat-scene.ts'
import { demand } from '../conformance-failure.ts'
import { foldEvents } from '../events.ts'
import { sameResponses } from './same-responses.ts'
import { readEvents } from '../read-stream.ts'
import { weatherRequest } from '../samples.ts'
import type { Script } from '../../testing/script.ts'
import { defined } from '../../types/guards.ts'

/** That `generate` says the same as the fold of `stream`. */
export const foldCases: readonly ChatCase[] = [
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
