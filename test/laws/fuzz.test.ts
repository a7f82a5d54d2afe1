import { expect, test } from 'vitest'
import { fuzzTargets } from '../support/fuzz.ts'

/**
 * Random input, for every place where data enters: a few thousand cases with a fixed seed. `npm run fuzz` sets the other
 * two: it goes on with new seeds until the time is over, and prints what it found.
 */
const seconds = Number(process.env['ALLM_FUZZ_SECONDS'] ?? 0)
const firstSeed = Number(process.env['ALLM_FUZZ_SEED'] ?? 1)

test.each(fuzzTargets)('no input of the kind $name breaks the library', async (target) => {
  const found: string[] = []
  const deadline = performance.now() + (seconds * 1000) / fuzzTargets.length
  let tried = 0
  let seed = firstSeed
  do {
    const problem = await target.run(seed)
    tried += target.cases
    if (problem !== undefined) found.push(`seed ${seed}: ${problem}`)
    seed++
  } while (performance.now() < deadline)
  if (seconds > 0) {
    const last = seed - 1
    console.log(
      `${target.name}: ${tried} cases with the seeds ${firstSeed} to ${last}, ${found.length} failures`,
    )
  }
  expect(found.slice(0, 5).join('\n\n')).toBe('')
})
