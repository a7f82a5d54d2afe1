import { keyVariables } from '../core/keys.ts'
import { exitCodes, usageError, packageVersion, type Command, type CommandCall } from './command.ts'
import { say, styleFor, type Io, type Style } from './io.ts'
import {
  baseUrlOf,
  foundKey,
  isServerName,
  needsKey,
  providerNames,
  serverNames,
  type ServerName,
} from './provider.ts'
import { playScripts } from './run.ts'

/** `allm doctor`: checks the keys and the endpoints. */
export const doctorCommand: Command = {
  name: 'doctor',
  summary: 'show which keys are found (never the keys) and which endpoints answer',
  synopsis: '[options]',
  options: {
    provider: {
      value: '<name>',
      help: 'check one of openai, anthropic, gemini or a preset such as groq; fail if it is not ready',
    },
    'base-url': { value: '<url>', help: 'the URL to try, with --provider' },
    offline: { help: 'do not try the endpoints' },
  },
  notes: [
    'Endpoints are called without a key: any answer, even a refusal, means that an endpoint can be reached.',
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
  const only = providerOption(call)
  const names = only === undefined ? providerNames : [only]
  const style = styleFor(io.stdout, io.env)
  const print = (finding: Finding): void => say(io.stdout, `${line(finding, style)}\n`)
  print({
    ok: true,
    name: 'allm-ts',
    words: `${packageVersion()}, on Node ${process.versions.node}`,
  })
  print(await checkFake())
  let ready = true
  for (const name of names) {
    const key = checkKey(name, call)
    print(key)
    const endpoint = call.flag('offline') ? undefined : await checkEndpoint(name, call)
    if (endpoint !== undefined) print(endpoint)
    ready &&= key.ok && endpoint?.ok !== false
  }
  return only === undefined || ready ? exitCodes.ok : exitCodes.failed
}

function line({ ok, name, words }: Finding, style: Style): string {
  return `${ok ? style.good('ok') : style.dim('--')}  ${name.padEnd(10)} ${words}`
}

function providerOption(call: CommandCall): ServerName | undefined {
  const word = call.text('provider')
  if (word === undefined) {
    if (call.text('base-url') !== undefined) throw usageError('--base-url needs --provider')
    return undefined
  }
  if (isServerName(word)) return word
  throw usageError(`--provider must be one of ${serverNames.join(', ')}, not ${word}`)
}

/** Plays one call, which detects a broken installation without a network. */
async function checkFake(): Promise<Finding> {
  for await (const { response } of playScripts([[['text', 'ready']]], false, () => undefined)) {
    return { ok: response.outputText === 'ready', name: 'fake', words: 'plays scripts, offline' }
  }
  return { ok: false, name: 'fake', words: 'does not play scripts; install the package again' }
}

function checkKey(name: ServerName, { io, text }: CommandCall): Finding {
  const found = foundKey(name, io)
  if (found !== undefined) return { ok: true, name, words: `key found in ${found.variable}` }
  if (text('base-url') !== undefined) {
    return { ok: true, name, words: 'no key; your own server may not need one' }
  }
  if (!needsKey(name)) return { ok: true, name, words: 'no key, and none is needed' }
  return { ok: false, name, words: `no key: set ${keyVariables(name).join(' or ')}` }
}

async function checkEndpoint(name: ServerName, { io, text }: CommandCall): Promise<Finding> {
  const url = text('base-url') ?? baseUrlOf(name)
  const problem = await unreachable(url, io)
  return problem === undefined
    ? { ok: true, name, words: `${url} answers` }
    : { ok: false, name, words: `${url} cannot be reached: ${problem}` }
}

/** Why a URL does not answer within five seconds, or `undefined` if it does. */
async function unreachable(
  url: string,
  { fetch = globalThis.fetch }: Io,
): Promise<string | undefined> {
  try {
    const init = { method: 'GET', redirect: 'manual', signal: AbortSignal.timeout(5000) } as const
    const answer = await fetch(url, init)
    await answer.body?.cancel()
    return undefined
  } catch (error) {
    const cause = error instanceof Error ? (error.cause ?? error) : error
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : undefined
    return code ?? (cause instanceof Error ? cause.message : String(cause))
  }
}
