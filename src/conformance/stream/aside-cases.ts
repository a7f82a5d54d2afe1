import type { ChatCase } from '../chat-harness.ts'
import { play } from '../chat-scene.ts'
import { demand } from '../conformance-failure.ts'
import { eventsOfType, showEvents } from '../events.ts'
import { readEvents } from '../read-stream.ts'
import type { Script } from '../../testing/script.ts'

const withRaw: Script = [
  ['text', 'Hello'],
  ['raw_chunk', { type: 'conformance_ping' }],
  ['finish', 'stop'],
]

/** One pixel. */
const base64 =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

const withImage: Script = [
  [
    'ok',
    {
      message: {
        role: 'assistant',
        content: [{ type: 'image', image: { type: 'base64', mimeType: 'image/png', base64 } }],
      },
    },
  ],
]

/** What is neither text nor a call. */
export const asideCases: readonly ChatCase[] = [
  {
    name: 'raw chunks come when they are asked for',
    capability: 'raw_chunks',
    run: (harness) =>
      play(harness, withRaw, async (scene) => {
        const events = await readEvents(scene, { options: { includeRawChunks: true } })
        demand(eventsOfType(events, 'raw_chunk').length > 0, {
          expected: 'raw_chunk events',
          received: showEvents(events),
          contract: 'events',
        })
      }),
  },
  {
    name: 'raw chunks do not come unless they are asked for',
    run: (harness) =>
      play(harness, withRaw, async (scene) => {
        const events = await readEvents(scene)
        demand(eventsOfType(events, 'raw_chunk').length === 0, {
          expected: 'no raw_chunk event without includeRawChunks',
          received: showEvents(events),
          contract: 'events',
        })
      }),
  },
  {
    name: 'an image that the model makes arrives with its bytes',
    capability: 'images',
    run: (harness) =>
      play(harness, withImage, async (scene) => {
        const events = await readEvents(scene)
        const [completed] = eventsOfType(events, 'image_completed')
        const { image } = completed ?? {}
        demand(image?.type === 'base64' && image.base64 === base64, {
          expected: `image_completed with the base64 ${base64}`,
          received: completed ?? showEvents(events),
          contract: 'images',
        })
      }),
  },
]
