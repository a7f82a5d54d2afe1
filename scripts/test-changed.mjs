// Runs the tests that are nearest to what was changed, in seconds. `npm test` and the other projects run the rest.
// usage: node scripts/test-changed.mjs [--since REF] [VITEST_ARGUMENT...]     (what is not committed, unless --since names a commit or branch)
//
// `test` has the folders of `src`: a change of src/durable/runs/owner.ts runs test/durable/runs. A changed test runs itself.
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'

const root = resolve(import.meta.dirname, '..')

/** Tests that a change needs besides those of its folder. */
const others = [
  [/^src\//, 'test/architecture.test.ts'],
  [/^src\/[^/]+$/, 'test/public-api.test.ts'],
  [/^src\/providers\//, 'test/testing/conformance/chat-adapters.test.ts'],
  [/^src\/core\//, 'test/compiler-leads.test.ts'],
  [/^src\/core\/contracts\//, 'test/engine'],
  [/^(?:README|ARCHITECTURE|CONTRIBUTING|CHANGELOG|llms|docs\/)/, 'test/docs-lists.test.ts'],
  [/^(?:README|docs\/guides\/)/, 'test/docs.test.ts'],
  [/^scripts\//, 'test/scripts'],
  [/^examples\//, 'test/examples'],
]

const args = process.argv.slice(2)
const since = args[0] === '--since' ? args.splice(0, 2)[1] : 'HEAD'
if (since === undefined) throw new Error('--since needs a commit or a branch')
const changed = [
  ...git('diff', '--name-only', since),
  ...git('ls-files', '--others', '--exclude-standard'),
]
const tests = [...new Set(changed.flatMap((path) => testsOf(path)))].toSorted((a, b) =>
  a < b ? -1 : 1,
)

if (tests.length === 0) {
  console.log(`nothing that has tests was changed since ${since}`)
} else {
  console.log(`${tests.join('\n')}\n`)
  const vitest = join(root, 'node_modules/vitest/vitest.mjs')
  const run = [vitest, 'run', ...tests, ...args]
  process.exitCode = spawnSync(process.execPath, run, { cwd: root, stdio: 'inherit' }).status ?? 1
}

function testsOf(path) {
  const near = path.endsWith('.test.ts') ? path : nearestTests(path.replace(/^src\//, 'test/'))
  const more = others.filter(([pattern]) => pattern.test(path)).map(([, test]) => test)
  return [near, ...more].filter((test) => test !== undefined && existsSync(join(root, test)))
}

/** The folder of tests that a file of `test`, or of the same place in `src`, belongs to: its own or the next above that has tests. */
function nearestTests(path) {
  for (let folder = dirname(path); folder.startsWith('test/'); folder = dirname(folder)) {
    const here = join(root, folder)
    if (existsSync(here) && readdirSync(here).some((name) => name.endsWith('.test.ts')))
      return folder
  }
  return undefined
}

function git(...command) {
  const text = execFileSync('git', command, { cwd: root, encoding: 'utf8' })
  return text.split('\n').filter((line) => line !== '')
}
