// A long prompt that never changes: asks the provider to cache it, and prints how much was read from the cache.
import { createEngine, generate, system, user } from 'allm-ts'
import { choose } from './choose.ts'

const handbook = 'Chapter 1. Always be kind to the reader. '.repeat(200)

const engine = createEngine({
  ...choose([
    [
      ['text', 'Be kind.'],
      ['usage', { inputTokens: 1810, outputTokens: 3, cacheWriteInputTokens: 1800 }],
    ],
    [
      ['text', 'To the reader.'],
      ['usage', { inputTokens: 1812, outputTokens: 4, cachedInputTokens: 1800 }],
    ],
  ]),
  promptCache: { key: 'handbook', retention: 'short' },
})

for (const question of ['What is the rule?', 'To whom?']) {
  const { usage } = await generate(engine, [system(handbook), user(question)])
  console.log(`${usage.cachedInputTokens ?? 0} of ${usage.inputTokens} input tokens from the cache`)
}
// => 0 of 1810 input tokens from the cache
// => 1800 of 1812 input tokens from the cache
