import { randomInt } from 'node:crypto'
import fc from 'fast-check'
import { TestRunner, type RunnerTestCase } from 'vitest'

const runs = Number(process.env['ALLM_SEEDS'] ?? '10')
const first = process.env['ALLM_FIRST_SEED']

/**
 * Runs each property test with `ALLM_SEEDS` seeds, and each other test once. The seeds are random, or with `ALLM_FIRST_SEED`
 * that number and those after it.
 * Every seed that fails is printed; the first failure is the result of the test.
 */
export default class SeedsRunner extends TestRunner {
  async runTask(test: RunnerTestCase): Promise<void> {
    const fn = TestRunner.getTestFn(test)
    const failures: unknown[] = []
    for (let run = 0; run < runs; run++) {
      const seed = first === undefined ? randomInt(-(2 ** 31), 2 ** 31) : Number(first) + run
      const seen = { property: false }
      fc.configureGlobal({ seed, beforeEach: () => void (seen.property = true) })
      try {
        await fn()
      } catch (error) {
        failures.push(error)
        const [line] = String(error).split('\n')
        console.log(`ALLM_SEED=${seed} ${test.file.name} > ${test.name}: ${line}`)
      }
      if (!seen.property) break
    }
    if (failures.length > 0) throw failures[0]
  }
}
