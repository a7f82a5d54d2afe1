import { isAllmError } from '../../errors/allm-error.ts'
import type { Script } from '../../testing/script-entry.ts'
import { sameJson } from '../../validate/same-json.ts'
import { generated, settled, startGenerate } from '../call-generate.ts'
import type { ChatCase } from '../chat-harness.ts'
import { play } from '../chat-scene.ts'
import { demand } from '../conformance-failure.ts'
import { demandCancelled } from '../demand-cancelled.ts'
import { demandNoKey, plainKey } from '../demand-no-key.ts'
import { whileTimePasses } from '../passing-time.ts'
import { turns } from '../patience.ts'
import { hello, late, refused, weatherRequest } from '../samples.ts'

/** How `generate` behaves beside what it gives. */
export const conductCases: readonly ChatCase[] = [
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
        demand(outputText === 'Hello' && pending === 0, {
          expected: 'the text "Hello", and nobody who still sleeps on options.clock',
          received: `${outputText}, ${pending} timers`,
          contract: 'timeouts',
        })
      }),
  },
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
      play(harness, weatherless, async (scene) => {
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

const weatherless: Script = [['text', 'I do not know.']]
