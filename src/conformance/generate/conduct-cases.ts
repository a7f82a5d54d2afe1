import { generated, settled, startGenerate } from '../call-generate.ts'
import type { ChatCase } from '../chat-harness.ts'
import { play } from '../chat-scene.ts'
import { demand } from '../conformance-failure.ts'
import { demandCancelled } from '../demand-cancelled.ts'
import { demandNoKey, plainKey } from '../demand-no-key.ts'
import { turns } from '../patience.ts'
import { hello, late, refused, weatherRequest } from '../samples.ts'
import { sameJson } from '../../schema/json-schema.ts'

/** How `generate` behaves beside what it gives. */
export const conductCases: readonly ChatCase[] = [
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
