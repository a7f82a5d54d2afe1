// Runs the tests that take minutes: property tests with more seeds, the steps of a new user in a clone, the published types under every supported TypeScript,
// the package as somebody installs it, with compilers, bundlers and CommonJS, in every runtime and with packages that need a newer Node, the API reference, a page in a browser, and agents and workers that are killed. Needs a build. All of them run, even if an earlier one failed.
// Two rows of them run beside each other, because most of each is waiting for one process.
// usage: node scripts/test-long.mjs [FOLDER]     (FOLDER gets the reports, and a line for each run in runs.txt)
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'

const root = resolve(import.meta.dirname, '..')
const [folder] = process.argv.slice(2)
const vitestReport = (file) => [
  '--reporter=default',
  '--reporter=json',
  `--outputFile.json=${file}`,
]

const seeds = {
  name: 'seeds',
  script: 'seeds.mjs',
  args: ['2', '--from', '1'],
  report: vitestReport,
}
const browser = { name: 'browser', script: 'browser.mjs', args: [], report: vitestReport }
const named = (file) => ['--report', file]
// These fetch what they need into one folder, so they follow each other.
const packed = [
  { name: 'types', script: 'types-compat.mjs', args: [], report: (file) => [file] },
  { name: 'package', script: 'try-package.mjs', args: [], report: (file) => [file] },
  { name: 'runtimes', script: 'runtimes.mjs', args: [], report: (file) => [file] },
  { name: 'newer', script: 'newer.mjs', args: [], report: (file) => [file] },
]
const others = [
  { name: 'clone', script: 'fresh-clone.mjs', args: ['--linked'], report: named },
  { name: 'docs', script: 'docs.mjs', args: [], report: named },
  { name: 'kills', script: 'kill-files.mjs', args: ['--kills', '20'], report: named },
  {
    name: 'kill-runs',
    script: 'kill-runs.mjs',
    args: '--scenario points,second --kills 48 --sessions 5 --workers 2 --seed 1'.split(' '),
    report: named,
  },
]

let failed = 0

/** Runs one of them, and prints its output when it has ended. */
async function run({ name, script, args, report }) {
  const file = folder === undefined ? undefined : resolve(folder, `${name}.json`)
  const command = [
    join(root, 'scripts', script),
    ...args,
    ...(file === undefined ? [] : report(file)),
  ]
  const child = spawn(process.execPath, command, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] })
  const output = []
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => output.push(data))
  const [status] = await once(child, 'close')
  process.stdout.write(`== ${name}\n${Buffer.concat(output).toString()}`)
  if (status !== 0) failed++
  if (folder === undefined) return
  mkdirSync(folder, { recursive: true })
  appendFileSync(join(folder, 'runs.txt'), `${name} ${status ?? 1} ${file}\n`)
}

async function runAll(list) {
  for (const one of list) await run(one)
}

await run(seeds)
await Promise.all([runAll(packed), runAll(others)])
await run(browser)
process.exitCode = failed === 0 ? 0 : 1
