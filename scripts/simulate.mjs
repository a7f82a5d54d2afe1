// Plays many runs at once on a virtual clock, with owners that die at random, and counts what was lost or done twice. Minutes.
// usage: node scripts/simulate.mjs [RUNS] [SEED]     (11000 runs, of which 10000 are under way at once)
import { spawnSync } from 'node:child_process'
import { join, resolve } from 'node:path'

const root = resolve(import.meta.dirname, '..')
const [runs = '11000', seed] = process.argv.slice(2)
const { status } = spawnSync(
  process.execPath,
  [join(root, 'node_modules/vitest/vitest.mjs'), 'run', 'test/durable/runs/simulation.test.ts'],
  {
    cwd: root,
    env: { ...process.env, ALLM_SIMULATED_RUNS: runs, ...(seed && { ALLM_SEED: seed }) },
    stdio: 'inherit',
  },
)
process.exitCode = status ?? 1
