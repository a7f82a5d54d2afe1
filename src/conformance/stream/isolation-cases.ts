import type { ChatCase } from '../chat-harness.ts'
import { play } from '../chat-scene.ts'
import { demand } from '../conformance-failure.ts'
import { foldEvents, joinedDeltas } from '../events.ts'
import { whileTimePasses } from '../passing-time.ts'
import { drain, openStream, readEvents } from '../read-stream.ts'
import { hello, requestOf, weatherCall, weatherRequest } from '../samples.ts'
import { sameJson } from '../../schema/json-schema.ts'
import type { Script } from '../../testing/script.ts'
import type { ModelEvent } from '../../types/events.ts'

/** What one call has to do with the caller's data and with other calls: nothing. */
export const isolationCases: readonly ChatCase[] = [
  {
    name: 'the request is not changed',
    run: (harness) =>
      play(harness, weatherCall, async (scene) => {
        const request = weatherRequest(scene)
        await readEvents(scene, { request })
        demand(sameJson(request, weatherRequest(scene)), {
          expected: 'the request as it was before the call',
          received: request,
          contract: 'isolated',
        })
      }),
  },
  {
    name: 'a call without options is legal and gets an id of its own',
    run: (harness) =>
      play(harness, hello, async (scene) => {
        const events: ModelEvent[] = []
        for await (const batch of scene.adapter.stream(requestOf(scene))) events.push(...batch)
        const { requestId } = foldEvents(events)
        const text = joinedDeltas(events, 'text_delta')
        demand(text !== '' && typeof requestId === 'string' && requestId !== '', {
          expected: 'an answer, and a requestId that is not empty',
          received: { text, requestId },
          contract: 'options',
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
          const rest = Promise.all([drain(left), drain(right)])
          const [leftRest, rightAll] = await whileTimePasses(scene, rest, 30_000)
          const texts = [[...begun, ...leftRest], rightAll].map(
            (events) => `${foldEvents(events).requestId}: ${joinedDeltas(events, 'text_delta')}`,
          )
          demand(sameJson(texts, ['run-left: left, left', 'run-right: right, right']), {
            expected: 'each stream with its own requestId and its own text',
            received: texts,
            contract: 'isolated',
            hint: 'what a decoder remembers belongs to one call, not to the adapter',
          })
        },
        { more: [twoPieces('right')] },
      ),
  },
]

/** A text in two pieces, with a second between them. */
function twoPieces(word: string): Script {
  return [
    ['text', `${word}, `],
    ['delay', 1000],
    ['text', word],
    ['finish', 'stop'],
  ]
}
