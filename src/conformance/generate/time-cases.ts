import { generated, startGenerate } from '../call-generate.ts'
import type { ChatCase } from '../chat-harness.ts'
import { play } from '../chat-scene.ts'
import { demand } from '../conformance-failure.ts'
import { whileTimePasses } from '../passing-time.ts'
import { turns } from '../patience.ts'
import { hello, late } from '../samples.ts'
import { isAllmError } from '../../errors/errors.ts'

/** What takes `generate` too long, by a clock that is moved by hand. */
export const timeCases: readonly ChatCase[] = [
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
        demand(outputText !== '' && pending === 0, {
          expected: 'an answer, and nobody who still sleeps on options.clock',
          received: `${outputText}, ${pending} timers`,
          contract: 'timeouts',
        })
      }),
  },
]
