import type { ChatCase } from '../chat-harness.ts'
import { play } from '../chat-scene.ts'
import { demand } from '../conformance-failure.ts'
import { demandNoKey, echoedKey, plainKey } from '../demand-no-key.ts'
import { showEvents } from '../events.ts'
import { turns } from '../patience.ts'
import { openStream, read, readEvents } from '../read-stream.ts'
import { hello, late, refused, requestOf, slow } from '../samples.ts'
import { unhandledDuring } from '../unhandled.ts'
import type { Script } from '../../testing/script.ts'

const echoed: Script = [
  [
    'preflight_error',
    'authentication_failed',
    { status: 401, message: `Incorrect API key provided: ${echoedKey}.` },
  ],
]

/** What must not get out: keys, and rejections that nobody handles. */
export const hygieneCases: readonly ChatCase[] = [
  {
    name: 'the key is in no event and in no error',
    async run(harness) {
      const options = { apiKey: plainKey }
      for (const script of [hello, refused]) {
        await play(harness, script, async (scene) => {
          const { events, failure } = await read(scene, { options })
          demandNoKey(plainKey, [events, failure?.thrown])
        })
      }
    },
  },
  {
    name: 'the key is not in what was recorded of a request',
    capability: 'requests',
    run: (harness) =>
      play(harness, hello, async (scene) => {
        await readEvents(scene, { options: { apiKey: plainKey } })
        demandNoKey(plainKey, [scene.requests()])
      }),
  },
  {
    name: 'a key that the provider echoes is taken out of the error',
    run: (harness) =>
      play(harness, echoed, async (scene) => {
        const { events, failure } = await read(scene, { options: { apiKey: echoedKey } })
        demand(failure !== undefined, {
          expected: 'a rejection with what the provider said about the key',
          received: showEvents(events),
          contract: 'preflight',
        })
        demandNoKey(echoedKey, [events, failure?.thrown])
      }),
  },
  {
    name: 'no rejection is left unhandled',
    async run(harness) {
      const found = await unhandledDuring(async () => {
        await play(harness, refused, async (scene) => {
          // Nobody reads it.
          scene.adapter.stream(requestOf(scene))
          await turns(20)
        })
        await play(harness, refused, (scene) => read(scene))
        await play(harness, slow, async (scene) => {
          const stream = openStream(scene)
          await stream.next()
          await stream.leave()
          await turns(20)
        })
        await play(harness, late, async (scene) => {
          const controller = new AbortController()
          const reading = read(scene, { options: { signal: controller.signal } })
          await turns(20)
          controller.abort()
          await reading
        })
      })
      demand(found.length === 0, {
        expected: 'no unhandled rejection from streams that fail, are left, or are not read',
        received: found[0],
        contract: 'rejections',
        hint: 'a promise that nobody awaits needs a catch of its own',
      })
    },
  },
]
