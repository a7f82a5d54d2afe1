// Tries random input for some time: saved sessions, answers of four APIs, scripts, and what tools do. Prints the number of cases,
// the seeds, and for each failure its seed and the smallest input that fails.
// usage: npm run fuzz -- [--seconds 60] [--seed N]     (the seed is random when it is left out; a seed is tried again with --seconds 0)
import { spawnSync } from 'node:child_process'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'

const root = resolve(import.meta.dirname, '..')
const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '60' }, seed: { type: 'string' } },
})
const seed = values.seed ?? String(Math.floor(Math.random() * 1_000_000) * 1_000)
for (const [name, value] of Object.entries({ seconds: values.seconds, seed })) {
  if (!/^\d+$/.test(value)) throw new Error(`--${name} must be a whole number, not ${value}`)
}
console.log(`fuzzing for ${values.seconds} s from seed ${seed}`)
const vitest = join(root, 'node_modules/vitest/vitest.mjs')
const { status } = spawnSync(
  process.execPath,
  [vitest, 'run', 'test/laws/fuzz.test.ts', '--testTimeout=0', '--disable-console-intercept'],
  {
    cwd: root,
    env: { ...process.env, ALLM_FUZZ_SECONDS: values.seconds, ALLM_FUZZ_SEED: seed },
    stdio: 'inherit',
  },
)
process.exitCode = status ?? 1
