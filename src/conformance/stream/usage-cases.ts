import type { ChatCapability } from '../capabilities.ts'
import type { ChatCase } from '../chat-harness.ts'
import { play } from '../chat-scene.ts'
import { demand } from '../conformance-failure.ts'
import { foldEvents } from '../events.ts'
import { readEvents } from '../read-stream.ts'
import { hello } from '../samples.ts'
import { show } from '../show.ts'
import { usageFields, type Usage } from '../../types/response.ts'

/** What a call consumed. The scripts say it in our meaning; the wire in the provider's. */
export const usageCases: readonly ChatCase[] = [
  counts('tokens are counted', 'usage', { inputTokens: 100, outputTokens: 20 }),
  counts('input includes what was read from a cache', 'cached_usage', {
    inputTokens: 100,
    outputTokens: 20,
    cachedInputTokens: 60,
  }),
  counts('input includes what was written to a cache', 'cache_write_usage', {
    inputTokens: 100,
    outputTokens: 20,
    cachedInputTokens: 60,
    cacheWriteInputTokens: 30,
  }),
  counts('output includes what was spent on reasoning', 'reasoning_usage', {
    inputTokens: 100,
    outputTokens: 20,
    reasoningTokens: 15,
  }),
  {
    name: 'usage that the provider did not report is not made up',
    run: (harness) =>
      play(harness, hello, async (scene) => {
        const { usage } = foldEvents(await readEvents(scene))
        const invented = usageFields.filter((field) => (usage[field] ?? 0) !== 0)
        demand(invented.length === 0, {
          expected: 'no counters but those that the provider sent (it sent none, or zeros)',
          received: usage,
          contract: 'usage',
        })
      }),
  },
]

function counts(name: string, capability: ChatCapability, usage: Usage): ChatCase {
  return {
    name,
    capability,
    run: (harness) =>
      play(
        harness,
        [
          ['text', 'Hello'],
          ['usage', usage],
          ['finish', 'stop'],
        ],
        async (scene) => {
          const { usage: counted } = foldEvents(await readEvents(scene))
          const wrong = usageFields.filter(
            (field) => usage[field] !== undefined && usage[field] !== counted[field],
          )
          demand(wrong.length === 0, {
            expected: `the usage ${show(usage)}`,
            received: counted,
            contract: 'usage',
            hint: 'some providers count the cached input, or the reasoning, beside the rest; add it',
          })
        },
      ),
  }
}
