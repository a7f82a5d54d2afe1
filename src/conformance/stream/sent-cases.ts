import type { ChatCase } from '../chat-harness.ts'
import { play, type ChatScene } from '../chat-scene.ts'
import { demand } from '../conformance-failure.ts'
import { readEvents } from '../read-stream.ts'
import { hello, requestOf, weatherRequest, weatherTool } from '../samples.ts'
import { show } from '../show.ts'
import type { ModelRequest } from '../../types/request.ts'

/** What is sent of a request. */
export const sentCases: readonly ChatCase[] = [
  sends('every message is sent, in its order', (scene) => [
    conversation(scene),
    'Be brief.',
    'first question',
    'first answer',
    'second question',
  ]),
  sends('the model is sent', (scene) => [requestOf(scene), scene.model]),
  {
    ...sends('the tools are described to the model', (scene) => [
      weatherRequest(scene),
      weatherTool.name,
      weatherTool.description,
      'city',
    ]),
    capability: 'tools',
  },
  {
    ...sends('the result of a tool is sent back', (scene) => [
      answeredCall(scene),
      'Lisbon',
      'sunny and 23',
    ]),
    capability: 'tools',
  },
]

function conversation(scene: ChatScene): ModelRequest {
  return requestOf(scene, [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'first question' },
    { role: 'assistant', content: 'first answer' },
    { role: 'user', content: 'second question' },
  ])
}

function answeredCall(scene: ChatScene): ModelRequest {
  const call = { id: 'call_1', name: weatherTool.name, arguments: { city: 'Lisbon' } }
  return requestOf(
    scene,
    [
      { role: 'user', content: 'How is the weather there?' },
      { role: 'assistant', content: '', toolCalls: [call] },
      { role: 'tool', content: 'sunny and 23', toolCallId: call.id },
    ],
    [weatherTool],
  )
}

/** A request, and the texts that have to stand in what is sent for it, whatever else there is. */
type Sample = (scene: ChatScene) => readonly [ModelRequest, ...string[]]

function sends(name: string, sample: Sample): ChatCase {
  return {
    name,
    capability: 'requests',
    run: (harness) =>
      play(harness, hello, async (scene) => {
        const [request, ...texts] = sample(scene)
        await readEvents(scene, { request })
        const sent = JSON.stringify(scene.requests())
        const lost = texts.filter((text) => !sent.includes(text))
        demand(lost.length === 0, {
          expected: `${show(texts)} in the address or the body of the request; ${show(lost)} is not there`,
          received: sent,
          contract: 'conversation',
        })
      }),
  }
}
