// Packs the package as it would be published, installs it, and runs test/runtimes in every available runtime: Node of each
// supported line, Bun, Deno, workerd with and without its Node APIs, and a page in Chromium. Needs a build. Binaries are fetched once, into
// a folder under the system's temporary folder; Chromium is the installed one, or that of the variable CHROMIUM. A runtime that cannot be
// had is reported as skipped.
// usage: node scripts/runtimes.mjs [--only=NAME] [--table] [REPORT]
//   --only=NAME   only the runtimes whose name begins with this, such as workerd or "Node 26"
//   --table       writes the outcome into docs/matrix.md
//   REPORT        a file that gets { passed, failed, skipped } as JSON
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { build } from 'esbuild'
import { command, fetchedBinary, installThisPackage, nodes, since } from './fetching.mjs'

const root = resolve(import.meta.dirname, '..')
const onNode = { library: ['main.mjs'], host: ['host.mjs'] }
const thisNode = {
  name: `Node ${process.versions.node}, this one`,
  path: process.execPath,
  runs: onNode,
}
const otherNodes = nodes.map((node) => ({ ...node, runs: onNode }))
const bun = {
  name: 'Bun 1.4.4',
  spec: '@oven/bun-linux-x64@1.4.4',
  file: 'bin/bun',
  runs: onNode,
}
const deno = {
  name: 'Deno 2.9.6',
  spec: '@deno/linux-x64-glibc@2.9.6',
  file: 'deno',
  runs: {
    // It may open its own server, but may not read environment variables or files.
    library: ['run', '--no-prompt', '--allow-net=127.0.0.1', 'main.mjs'],
    host: ['run', '--allow-all', 'host.mjs'],
  },
}
const workerd = {
  name: 'workerd 1.20261104.1',
  spec: '@cloudflare/workerd-linux-64@1.20261104.1',
  file: 'bin/workerd',
  runs: {
    // With this date it has no process, Buffer, setImmediate or MessageChannel: no Node APIs at all.
    'library, as of 2023': ['test', 'worker.capnp', '--no-verbose', '--compat-date', '2023-01-01'],
    'library, as of 2026': ['test', 'worker.capnp', '--no-verbose', '--compat-date', '2026-11-01'],
  },
}

const chromium = chromiumHere()

const {
  values: { only, table },
  positionals,
} = parseArgs({
  allowPositionals: true,
  options: { only: { type: 'string', default: '' }, table: { type: 'boolean' } },
})
const began = performance.now()
const work = mkdtempSync(join(tmpdir(), 'allm-runtimes-'))
try {
  await install()
  await bundle()
  const results = await tryAll()
  process.exitCode = summarize(results) ? 0 : 1
  const [report] = positionals
  if (report !== undefined) writeFileSync(report, JSON.stringify(countsIn(results)))
  if (table === true) writeTable(results)
} finally {
  rmSync(work, { recursive: true, force: true })
}

/** The result of every run. workerd mostly waits, so its runs are concurrent with the others. */
async function tryAll() {
  const edge = await chosen([workerd])
  const others = await chosen([thisNode, ...otherNodes, bun, deno, chromium])
  const waiting = Promise.all(edge.flatMap(runsOf).map(tryRun))
  const results = []
  for (const run of others.flatMap(runsOf)) results.push(print(await tryRun(run)))
  for (const result of await waiting) results.push(print(result))
  return results
}

/** Installs the package as it would be published, in a folder from which no file of this repository can be resolved by accident. */
async function install() {
  await installThisPackage(work)
  writeFileSync(join(work, 'package.json'), '{ "type": "module", "private": true }')
  cpSync(join(root, 'test/runtimes'), work, { recursive: true })
  // The renderer of wire bytes does not need Node, but its entry point does, so it is imported directly.
  const wire = `export * from './node_modules/allm-ts/dist/testing/server/wire.js'\n`
  writeFileSync(join(work, 'wire.mjs'), wire)
}

/** Bundles one file for workerd and one for a page. Fails if the library imports a Node module. */
async function bundle() {
  await build({
    absWorkingDir: work,
    entryPoints: { worker: 'worker.mjs', page: 'page.mjs' },
    outdir: work,
    bundle: true,
    format: 'esm',
    platform: 'browser',
    logLevel: 'error',
  })
}

/** Chromium of this machine. A script of Node opens the page. */
function chromiumHere() {
  const { CHROMIUM } = process.env
  const usual = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']
  const found = (CHROMIUM ? [CHROMIUM] : usual).find((path) => existsSync(path))
  if (found === undefined) return { name: 'Chromium', problem: 'it is not installed' }
  const said = execFileSync(found, ['--version'], { encoding: 'utf8' })
  return {
    name: `Chromium ${/[\d.]+/.exec(said)?.[0] ?? ''}`,
    path: process.execPath,
    runs: { library: [join(root, 'scripts/runtimes-page.mjs'), found] },
  }
}

/** The runtimes that were asked for, with their binaries. */
async function chosen(runtimes) {
  const list = []
  for (const runtime of runtimes) {
    if (runtime.name.startsWith(only)) list.push(await withBinary(runtime))
  }
  return list
}

async function withBinary(runtime) {
  if (runtime.path !== undefined || runtime.problem !== undefined) return runtime
  const { path, problem } = await fetchedBinary(runtime)
  return { ...runtime, path, problem }
}

function runsOf({ name, path, problem, runs }) {
  if (path === undefined) return [{ title: name, problem }]
  return Object.entries(runs).map(([what, args]) => ({
    title: `${name} (${what})`,
    path,
    args,
    isLibrary: what.startsWith('library'),
  }))
}

async function tryRun({ title, problem, path, args, isLibrary }) {
  if (problem !== undefined) return { state: 'skipped', line: `SKIPPED ${title}: ${problem}` }
  const started = performance.now()
  const { ok, text } = await command(path, args, work)
  const [counts = 'no count', good = 0, bad = 0] = /^(\d+) passed, (\d+) failed$/m.exec(text) ?? []
  const columns = columnsIn(text)
  const isCovered = !isLibrary || Object.values(columns).every((count) => count > 0)
  const passed = ok && isCovered && /^[1-9]\d* passed, 0 failed$/.test(counts)
  const shown = isLibrary ? ` (${Object.entries(columns).flat().join(' ')})` : ''
  const line = `${passed ? 'ok' : 'NOT OK'} ${title}: ${counts}${shown}, in ${since(started)} s`
  const counted = { title, isLibrary, columns, passed: Number(good), failed: Number(bad) }
  return passed
    ? { state: 'ok', line, ...counted }
    : { state: 'failed', line: `${line}\n${text.replaceAll(/^/gm, '    ')}`, ...counted }
}

/** The cases that passed in each column of the matrix, as the program says. */
function columnsIn(text) {
  const count = (column) =>
    Number(new RegExp(`^matrix: .*\\b${column} (\\d+)`, 'm').exec(text)?.[1])
  return Object.fromEntries(
    ['core', 'provider', 'runs', 'client'].map((name) => [name, count(name)]),
  )
}

/** Replaces the table of docs/matrix.md. What was skipped has no row. */
function writeTable(results) {
  const path = join(root, 'docs/matrix.md')
  const rows = results
    .filter(({ isLibrary }) => isLibrary)
    .map(({ title, columns, passed, failed }) => {
      const cells = [title.replace(/ \(library(?:, )?/, ' (').replace(/, this one| \(\)$/g, '')]
      return [...cells, ...Object.values(columns), `${passed} passed, ${failed} failed`]
    })
  const head = [
    'runtime',
    'core',
    'one provider over HTTP',
    'runs on memory',
    'client',
    'all cases',
  ]
  const lines = [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`)
  const text = readFileSync(path, 'utf8')
  writeFileSync(path, text.replace(/^\|[^]*\|$/m, lines.join('\n')))
}

function print(result) {
  console.log(result.line)
  return result
}

/** Prints the totals and returns whether all runs passed. At least one run must have passed. */
function summarize(results) {
  const count = (wanted) => results.filter(({ state }) => state === wanted).length
  const [good, bad, skipped] = ['ok', 'failed', 'skipped'].map(count)
  console.log(
    `runtimes in all: ${good} runs ok, ${bad} not ok, ${skipped} runtimes skipped, in ${since(began)} s`,
  )
  return bad === 0 && good > 0
}

/** The tests of all runs. A run that is not ok without a failed test counts as one. */
function countsIn(results) {
  const sum = (numbers) => numbers.reduce((total, number) => total + number, 0)
  return {
    passed: sum(results.map(({ passed = 0 }) => passed)),
    failed: sum(results.map(({ state, failed }) => (state === 'failed' ? Math.max(1, failed) : 0))),
    skipped: results.filter(({ state }) => state === 'skipped').length,
  }
}
