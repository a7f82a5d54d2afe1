// Runs the tests that check properties with other seeds than `npm test`, and prints each seed that fails.
// usage: node scripts/seeds.mjs [SEEDS] [--from SEED] [VITEST_ARGUMENT...]     (10 random seeds, unless --from gives the first)
// A seed is tried again with: ALLM_SEED=<seed> npx vitest run <file>
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const root = resolve(import.meta.dirname, '..')
const [seeds = '10', ...rest] = process.argv.slice(2)
const isFixed = rest[0] === '--from'
const more = isFixed ? rest.slice(2) : rest
if (!/^[1-9]\d*$/.test(seeds))
  throw new Error(`the number of seeds must be a positive integer, not ${seeds}`)

const files = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.test.ts'))
  .map((name) => `test/${name}`)
  .filter((name) => /from 'fast-check'/.test(readFileSync(join(root, name), 'utf8')))

const vitest = join(root, 'node_modules/vitest/vitest.mjs')
const args = [vitest, 'run', '--config', 'vitest.seeds.config.ts', ...files, ...more]
const env = {
  ...process.env,
  ALLM_SEEDS: seeds,
  ...(isFixed ? { ALLM_FIRST_SEED: rest[1] } : {}),
}
const { status } = spawnSync(process.execPath, args, { cwd: root, env, stdio: 'inherit' })
process.exitCode = status ?? 1
