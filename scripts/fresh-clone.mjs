// Follows the steps of a new user, in an empty folder and without keys: clone, npm ci, npm start, npx allm-ts, npm test.
// usage: node scripts/fresh-clone.mjs [--quick] [--linked] [--report FILE]
//   --quick    npm test runs a few folders only
//   --linked   the packages of this folder instead of npm ci, and npm test runs one folder: a minute, without a network
//   --report   a file that gets { passed, failed, skipped } as JSON
//
// npx must work in a clone whatever was done before it: npm links the program of a folder into its cache at the first npx, and never looks
// again. It must not ask a registry for it either: once the packages are there, the registry is a server of this script that counts.
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    linked: { type: 'boolean', default: false },
    report: { type: 'string' },
  },
})
const root = resolve(import.meta.dirname, '..')
const folder = mkdtempSync(join(tmpdir(), 'allm-fresh-'))
const clone = join(folder, 'allm-ts')
const sessions = join(folder, 'sessions')
const counts = { passed: 0, failed: 0, skipped: 0 }
/** A program that neither ends nor says what is waited for would keep everybody waiting. */
const patienceMs = 20 * 60_000
const asked = []
const registry = createServer((request, response) => {
  asked.push(`${request.method} ${request.url}`)
  response.writeHead(500).end()
})
const children = new Set()

try {
  await new Promise((listening) => registry.listen(0, '127.0.0.1', listening))
  await follow()
} finally {
  registry.close()
  for (const child of children) signal(child, 'SIGKILL')
  rmSync(folder, { recursive: true, force: true })
}
if (options.report !== undefined) writeFileSync(options.report, JSON.stringify(counts))
console.log(`a fresh clone: ${counts.passed} passed, ${counts.failed} failed`)
process.exitCode = counts.failed === 0 && counts.passed > 0 ? 0 : 1

async function follow() {
  mkdirSync(sessions)
  const cloned = await run('git', ['clone', '--quiet', '--depth', '1', `file://${root}`, clone], {
    cwd: folder,
  })
  if (!result('git clone', cloned.code === 0, cloned.text)) return
  if (options.linked) symlinkSync(join(root, 'node_modules'), join(clone, 'node_modules'), 'dir')
  else {
    const installed = await run('npm', ['ci', '--silent'], { env: environment() })
    if (!result('npm ci', installed.code === 0, installed.text)) return
  }
  const early = await npx(['--version'])
  const isTold = early.code === 2 && early.text.includes('npm start')
  result('npx allm-ts before anything else says what to do', isTold, early.text)
  for (const time of ['npm start', 'npm start, again']) {
    const started = await run('npm', ['start', '--silent'])
    const isSame = started.code === 0 && started.stdout === promised()
    result(`${time}: it prints what the README shows, and nothing else`, isSame, started.text)
    await programWorks(time)
  }
  const args = options.linked
    ? ['--', 'test/core/base']
    : options.quick
      ? ['--', 'test/core', 'test/engine']
      : []
  const tested = await run('npm', ['test', ...args])
  result(['npm test', ...args].join(' '), tested.code === 0, tested.text)
  await programWorks('npm test')
  const built = await run('npm', ['run', 'build'])
  result('npm run build, again', built.code === 0, built.text)
  await programWorks('another build')
  const last = await run('npm', ['start', '--silent'])
  result('npm start after a build', last.code === 0 && last.stdout === promised(), last.text)
  await programWorks('npm start after a build')
  result('nobody asked the registry', asked.length === 0, asked.join('\n'))
}

/** The block of the README with the output of the tour. */
function promised() {
  const text = readFileSync(join(clone, 'README.md'), 'utf8')
  return /^```text\n(allm-ts tour[^]*?)^```$/m.exec(text)?.[1]
}

/** The version, and the inspector twice: it starts, serves its page, answers with its token, and ends with Ctrl-C. */
async function programWorks(when) {
  const { version } = JSON.parse(readFileSync(join(clone, 'package.json'), 'utf8'))
  const shown = await npx(['--version'])
  const isRight = shown.code === 0 && shown.stdout.trim() === version
  result(`after ${when}: npx allm-ts --version`, isRight, shown.text)
  for (const time of ['', ', again']) {
    result(`after ${when}: npx allm-ts inspect${time}`, ...(await inspectorWorks()))
  }
}

async function inspectorWorks() {
  const notes = []
  let address
  const ended = await npx(['inspect', sessions, '--no-open'], async (text, child) => {
    const [, origin, token] = /(http:\/\/127\.0\.0\.1:\d+)\/#token=(\S+)\n/.exec(text) ?? []
    if (origin === undefined || notes.length > 0) return
    address = origin
    notes.push('listens')
    const authorization = `Bearer ${token}`
    for (const path of ['/', '/page.js', '/api/sessions']) {
      const headers = path === '/api/sessions' ? { authorization } : {}
      const { status } = await fetch(`${origin}${path}`, { headers })
      notes.push(`${path} ${status}`)
    }
    // As a terminal does it: to npx, its shell and the program.
    signal(child, 'SIGINT')
  })
  const isRight = notes.join() === 'listens,/ 200,/page.js 200,/api/sessions 200'
  // The exit code is npm's, which may have ended by the signal before the program did.
  const isOver = await fetch(address).then(
    () => false,
    () => true,
  )
  return [isRight && isOver, `${notes.join()}, is over: ${isOver}\n${ended.text}`]
}

function npx(args, onText) {
  return run('npx', ['allm-ts', ...args], { onText })
}

/** The environment of a new user: no keys, and an npm that has done nothing yet. */
function environment() {
  const own = Object.entries(process.env).filter(
    ([name]) => !/_API_KEY$|^ALLM_|^npm_|^INIT_CWD$/i.test(name),
  )
  return { ...Object.fromEntries(own), npm_config_update_notifier: 'false' }
}

/** The same with a registry that counts, and a cache of its own. */
function offline() {
  const npm = {
    npm_config_cache: join(folder, 'npm'),
    npm_config_registry: `http://127.0.0.1:${registry.address().port}/`,
    npm_config_fetch_retries: '0',
  }
  return { ...environment(), ...npm }
}

/** Runs a program to its end. `onText` is called with what it has written so far, whenever that is more. */
function run(program, args, { cwd = clone, env = offline(), onText } = {}) {
  const child = spawn(program, args, {
    cwd,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  children.add(child)
  const timer = setTimeout(() => signal(child, 'SIGKILL'), patienceMs)
  let [stdout, text] = ['', '']
  child.stdout.on('data', (chunk) => {
    stdout += String(chunk)
    text += String(chunk)
    void onText?.(stdout, child).catch((error) => (text += String(error)))
  })
  child.stderr.on('data', (chunk) => (text += String(chunk)))
  return new Promise((done, fail) => {
    child.once('error', fail)
    child.once('close', (code, by) => {
      clearTimeout(timer)
      children.delete(child)
      done({ code: code ?? by, stdout, text })
    })
  })
}

/** Sends a signal to a program and to what it has started. */
function signal(child, name) {
  try {
    process.kill(-child.pid, name)
  } catch {
    // It has ended.
  }
}

function result(name, isRight, text) {
  counts[isRight ? 'passed' : 'failed']++
  console.log(isRight ? `ok ${name}` : `NOT OK ${name}\n${text.replaceAll(/^/gm, '    ')}`)
  return isRight
}
