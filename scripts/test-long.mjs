// Runs the tests that take minutes: property tests with more seeds, the steps of a new user in a clone, the published types under every supported TypeScript,
// the package as somebody installs it, with compilers, bundlers and CommonJS, in every runtime and with packages that need a newer Node, the API reference, a page in a browser, and agents and workers that are killed. Needs a build. All of them run, even if an earlier one failed.
// usage: node scripts/test-long.mjs [FOLDER]     (FOLDER gets the reports, and a line for each run in runs.txt)
import { spawnSync } from 'node:child_process'
import { appendFileSync, mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'

const root = resolve(import.meta.dirname, '..')
const [folder] = process.argv.slice(2)
const vitestReport = (file) => [
  '--reporter=default',
  '--reporter=json',
  `--outputFile.json=${file}`,
]

const runs = [
  { name: 'seeds', script: 'seeds.mjs', args: ['2', '--from', '1'], report: vitestReport },
  {
    name: 'clone',
    script: 'fresh-clone.mjs',
    args: ['--linked'],
    report: (file) => ['--report', file],
  },
  { name: 'types', script: 'types-compat.mjs', args: [], report: (file) => [file] },
  { name: 'package', script: 'try-package.mjs', args: [], report: (file) => [file] },
  { name: 'runtimes', script: 'runtimes.mjs', args: [], report: (file) => [file] },
  { name: 'newer', script: 'newer.mjs', args: [], report: (file) => [file] },
  { name: 'docs', script: 'docs.mjs', args: [], report: (file) => ['--report', file] },
  { name: 'browser', script: 'browser.mjs', args: [], report: vitestReport },
  {
    name: 'kills',
    script: 'kill-files.mjs',
    args: ['--kills', '20'],
    report: (file) => ['--report', file],
  },
  {
    name: 'kill-runs',
    script: 'kill-runs.mjs',
    args: '--scenario points,second --kills 48 --sessions 5 --workers 2 --seed 1'.split(' '),
    report: (file) => ['--report', file],
  },
]

let failed = 0
for (const { name, script, args, report } of runs) {
  console.log(`== ${name}`)
  const file = folder === undefined ? undefined : resolve(folder, `${name}.json`)
  const reporting = file === undefined ? [] : report(file)
  const command = [join(root, 'scripts', script), ...args, ...reporting]
  const { status } = spawnSync(process.execPath, command, { cwd: root, stdio: 'inherit' })
  if (status !== 0) failed++
  if (folder === undefined) continue
  mkdirSync(folder, { recursive: true })
  appendFileSync(join(folder, 'runs.txt'), `${name} ${status ?? 1} ${file}\n`)
}
process.exitCode = failed === 0 ? 0 : 1
