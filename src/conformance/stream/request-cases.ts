import { sameJson } from '../../validate/same-json.ts'
import type { ModelRequest } from '../../data/model-request.ts'
import type { Script } from '../../testing/script-entry.ts'
import type { ChatCapability } from '../capabilities.ts'
import type { ChatCase } from '../chat-harness.ts'
import { play, type ChatScene } from '../chat-scene.ts'
import { demand } from '../conformance-failure.ts'
import { contract } from '../contract.ts'
import { foldEvents } from '../fold-events.ts'
import { whileTimePasses } from '../passing-time.ts'
import { openStream, readEvents, type OpenStream } from '../read-stream.ts'
import { helloRequest, requestOf, weatherRequest, weatherTool } from '../sample-requests.ts'
import { hello, weatherCall } from '../scripts.ts'
import { show } from '../show.ts'

/** What is sent, and what one call has to do with another. */
export const requestCases: readonly ChatCase[] = [
  sends('every message is sent, in its order', 'requests', conversation, [
    'Be brief.',
    'first question',
    'first answer',
    'second question',
  ]),
  sends('the tools are described to the model', 'tools', weatherRequest, [
    weatherTool.name,
    weatherTool.description,
    'city',
  ]),
  sends('the result of a tool is sent back', 'tools', answeredCall, ['Lisbon', 'sunny and 23']),
  {
    name: 'the model is sent',
    capability: 'requests',
    run: (harness) =>
      play(harness, hello, async (scene) => {
        await readEvents(scene)
        const sent = JSON.stringify(scene.requests())
        demand(sent.includes(scene.model), {
          expected: `the model ${show(scene.model)} in the request, in its address or in its body`,
          received: sent,
          contract: contract.conversation,
        })
      }),
  },
  {
    name: 'the request is not changed',
    run: (harness) =>
      play(harness, weatherCall, async (scene) => {
        const request = weatherRequest(scene)
        await readEvents(scene, { request })
        demand(sameJson(request, weatherRequest(scene)), {
          expected: 'the request as it was before the call',
          received: request,
          contract: contract.isolated,
        })
      }),
  },
  {
    name: 'a call without options is legal and gets an id of its own',
    run: (harness) =>
      play(harness, hello, async (scene) => {
        const { requestId, outputText } = foldEvents(
          (await Array.fromAsync(scene.adapter.stream(helloRequest(scene)))).flat(),
        )
        demand(outputText === 'Hello' && requestId !== '', {
          expected: 'the text "Hello" and a requestId that is not empty',
          received: { outputText, requestId },
          contract: contract.options,
        })
      }),
  },
  {
    name: 'two streams at once do not mix',
    capability: 'several_calls',
    run: (harness) =>
      play(
        harness,
        twoPieces('left'),
        async (scene) => {
          const left = openStream(scene, { options: { requestId: 'run-left' } })
          const begun = (await left.next()) ?? []
          const right = openStream(scene, { options: { requestId: 'run-right' } })
          const [leftRest, rightAll] = await whileTimePasses(
            scene,
            Promise.all([drain(left), drain(right)]),
            30_000,
          )
          const texts = [foldEvents([...begun, ...leftRest]), foldEvents(rightAll)].map(
            ({ requestId, outputText }) => `${requestId}: ${outputText}`,
          )
          demand(sameJson(texts, ['run-left: left, left', 'run-right: right, right']), {
            expected: 'each stream with its own requestId and its own text',
            received: texts,
            contract: contract.isolated,
            hint: 'what a decoder remembers belongs to one call, not to the adapter',
          })
        },
        { more: [twoPieces('right')] },
      ),
  },
]
