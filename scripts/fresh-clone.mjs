// Follows the steps of a new user, in an empty folder and without keys: clone, npm ci, npm start, npm test.
// node scripts/fresh-clone.mjs [--quick]   (--quick runs the tests of the program, the examples and the documentation only)
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'allm-fresh-'))
const clone = join(folder, 'allm-ts')
const env = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/_API_KEY$|^ALLM_/.test(name)),
)

try {
  run('git', ['clone', '--quiet', '--depth', '1', `file://${root}`, clone], folder)
  run('npm', ['ci', '--silent'])
  const shown = run('npm', ['start', '--silent'])
  const [, promised] =
    /^```text\n(allm-ts tour[^]*?)^```$/m.exec(readFileSync(join(clone, 'README.md'), 'utf8')) ?? []
  if (shown !== promised) fail('npm start does not print what the README shows')
  if (process.argv.includes('--quick')) {
    run('npx', ['vitest', 'run', 'test/cli', 'test/examples', 'test/docs.test.ts'])
  } else run('npm', ['test'])
  console.log('a fresh clone works')
} finally {
  rmSync(folder, { recursive: true, force: true })
}

function run(program, args, cwd = clone) {
  console.log(`$ ${program} ${args.join(' ')}`)
  const { status, stdout, stderr } = spawnSync(program, args, {
    cwd,
    env,
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  })
  if (status !== 0) fail(`${program} ${args.join(' ')} failed\n${stdout}\n${stderr}`)
  return stdout
}

function fail(message) {
  rmSync(folder, { recursive: true, force: true })
  console.error(message)
  process.exit(1)
}
