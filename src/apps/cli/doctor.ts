import { startTimer, systemClock } from '../../core/base/clock.ts'
import { keyVariables } from '../../core/base/keys.ts'
import { exitCodes, usageError, packageVersion, type Command, type CommandCall } from './command.ts'
import { describeError } from './describe-error.ts'
import { say, styleFor, type Io, type Style } from './io.ts'
import { during } from './progress.ts'
import {
  assertUrl,
  baseUrlOf,
  foundKey,
  isServerName,
  needsKey,
  providerNames,
  serverNames,
  type ServerName,
} from './provider.ts'
import { playScripts } from './run.ts'

/** `allm-ts doctor`: checks the keys and the endpoints. */
export const doctorCommand: Command = {
  name: 'doctor',
  summary: 'show which keys are found (never the keys) and which endpoints answer',
  synopsis: '[options]',
  options: {
    provider: {
      value: '<name>',
      help: 'check one of openai, anthropic, gemini or a preset such as groq; fail if it is not ready',
    },
    'base-url': {
      value: '<url>',
      help: 'try this URL, with its version path; with --provider also look for its key',
    },
    offline: { help: 'do not try the endpoints' },
  },
  notes: [
    'Endpoints are asked for their models, without a key: an answer, even a refusal, means that they can be reached. The exit code is 1 if what was named with --provider or --base-url is not ready.',
  ],
  examples: [
    ['doctor', 'look at everything'],
    ['doctor --provider openai', 'fail unless OpenAI is ready'],
    ['doctor --offline', 'keys only'],
  ],
  positionals: [0, 0],
  run,
}

/** The result of a check. */
interface Finding {
  readonly ok: boolean
  readonly name: string
  readonly words: string
}

async function run(call: CommandCall): Promise<number> {
  const { io } = call
  const checked = checkedServers(call)
  const style = styleFor(io.stdout, io.env)
  const print = (finding: Finding): void => say(io.stdout, `${line(finding, style)}\n`)
  print({
    ok: true,
    name: 'allm-ts',
    words: `${packageVersion()}, on Node ${process.versions.node}`,
  })
  print(await checkFake())
  // All are asked at the same time, and told in order.
  const answers = call.flag('offline') ? [] : checked.map((server) => checkEndpoint(server, io))
  let ready = true
  for (const [index, { name, url, key }] of checked.entries()) {
    if (key !== undefined) print(key)
    const answer = answers[index]
    const endpoint = answer && (await during(io, `asking ${shownUrl(url)}`, () => answer))
    if (endpoint !== undefined) print({ name, ...endpoint })
    ready &&= key?.ok !== false && endpoint?.ok !== false
  }
  const isNamed = call.text('provider') !== undefined || call.text('base-url') !== undefined
  return isNamed && !ready ? exitCodes.failed : exitCodes.ok
}

/** A server to check. */
interface CheckedServer {
  /** The name in the first column. */
  readonly name: string
  readonly url: string
  /** What is known of its key, if one is expected. */
  readonly key?: KeyFinding
}

interface KeyFinding extends Finding {
  readonly hasKey: boolean
}

/** What the command line names, or the providers. */
function checkedServers(call: CommandCall): readonly CheckedServer[] {
  const only = providerOption(call)
  const given = call.text('base-url')
  if (given !== undefined) assertUrl(given)
  if (given !== undefined && only === undefined) return [{ name: 'server', url: given }]
  return (only === undefined ? providerNames : [only]).map((name) => ({
    name,
    url: given ?? baseUrlOf(name, call.io.env),
    key: checkKey(name, call),
  }))
}

function line({ ok, name, words }: Finding, style: Style): string {
  return `${ok ? style.good('ok') : style.dim('--')}  ${name.padEnd(10)} ${words}`
}

function providerOption(call: CommandCall): ServerName | undefined {
  const word = call.text('provider')
  if (word === undefined || isServerName(word)) return word
  throw usageError(`--provider must be one of ${serverNames.join(', ')}, not ${word}`)
}

/** Plays one call, which detects a broken installation without a network. */
async function checkFake(): Promise<Finding> {
  for await (const { response } of playScripts([[['text', 'ready']]], false, () => undefined)) {
    return { ok: response.outputText === 'ready', name: 'fake', words: 'plays scripts, offline' }
  }
  return { ok: false, name: 'fake', words: 'does not play scripts; install the package again' }
}

function checkKey(name: ServerName, { io, text }: CommandCall): KeyFinding {
  const found = foundKey(name, io)
  if (found !== undefined) {
    return { ok: true, hasKey: true, name, words: `key found in ${found.variable}` }
  }
  const none = { hasKey: false, name }
  if (text('base-url') !== undefined) {
    return { ok: true, ...none, words: 'no key; your own server may not need one' }
  }
  if (!needsKey(name)) return { ok: true, ...none, words: 'no key, and none is needed' }
  return { ok: false, ...none, words: `no key: set ${keyVariables(name).join(' or ')}` }
}

/** An address as it may be shown: without a password and without a query, which may hold a key. */
function shownUrl(url: string): string {
  return url.replace(/\/\/[^/@]*@/, '//').replace(/\?.*$/s, '')
}

/** Asks a server for its models, without a key, for at most five seconds. */
async function checkEndpoint({ url, key }: CheckedServer, io: Io): Promise<Judgement> {
  const { clock = systemClock, fetch = globalThis.fetch } = io
  const shown = shownUrl(url)
  const late = new AbortController()
  const cancel = startTimer(clock, patienceMs, () => late.abort())
  try {
    const init = { method: 'GET', redirect: 'manual', signal: late.signal } as const
    const answer = await fetch(modelsUrl(url), init)
    await answer.body?.cancel()
    const { ok, words } = judged(answer, key)
    return { ok, words: `${shown} ${words}` }
  } catch (error) {
    const problem = late.signal.aborted
      ? `no answer within ${patienceMs / 1000} seconds`
      : describeError(networkProblem(error), io.env)
    return { ok: false, words: `${shown} cannot be reached: ${problem}` }
  } finally {
    cancel()
  }
}

const patienceMs = 5000

type Judgement = Pick<Finding, 'ok' | 'words'>

function modelsUrl(base: string): string {
  const url = new URL(base)
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/models`
  return url.href
}

/** What an answer says about a server. A refusal without a key is what a provider should say. */
function judged({ status, headers }: Response, key: KeyFinding | undefined): Judgement {
  const type = headers.get('content-type') ?? ''
  if (status >= 300 && status < 400) {
    return {
      ok: false,
      words: `answers ${status}, a redirection to ${shownUrl(headers.get('location') ?? 'nowhere')}, which is not followed; name that address`,
    }
  }
  if (type.includes('text/html')) {
    const advice = 'check the path, which ends in /v1 on most servers, and proxies of the network'
    return { ok: false, words: `answers ${status} with a web page, not as an API; ${advice}` }
  }
  if (status >= 500) return { ok: false, words: `answers ${status}: it has a problem of its own` }
  if (status !== 401 && status !== 403) return { ok: true, words: 'answers' }
  // A key that was found is not sent, so nothing is known of it.
  const isMissing = key?.hasKey === false
  const words = `answers ${status}: it wants a key${isMissing ? ', and there is none' : ''}`
  // That a provider has no key is told once.
  return { ok: !isMissing || !key.ok, words }
}

/** Why a server cannot be reached: the code of the system, or its words. */
function networkProblem(error: unknown): unknown {
  const cause = error instanceof Error ? (error.cause ?? error) : error
  return cause instanceof Error && 'code' in cause ? new Error(String(cause.code)) : cause
}
