import { exitCodes, usageError, packageVersion, type Command, type CommandCall } from './command.ts'
import { styleFor, type Io, type Style } from './io.ts'
import {
  defaultBaseUrls,
  foundKey,
  isProviderName,
  providerNames,
  type ProviderName,
} from './provider.ts'
import { playScripts } from './run.ts'
import { keyVariables } from '../core/keys.ts'

/** `allm doctor`: what is set up, and what can be reached. */
export const doctorCommand: Command = {
  name: 'doctor',
  summary: 'say which keys are found (never the keys) and which endpoints answer',
  synopsis: '[options]',
  options: {
    provider: {
      value: '<name>',
      help: 'look at one of openai, anthropic, gemini; fail if it is not ready',
    },
    'base-url': { value: '<url>', help: 'the address to try, with --provider' },
    offline: { help: 'do not try the endpoints' },
  },
  notes: [
    'An endpoint is asked without a key: any answer, a refusal too, means that it can be reached.',
  ],
  positionals: [0, 0],
  run,
}

/** How a check came out. */
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
  const say = (finding: Finding): void => void io.stdout.write(`${line(finding, style)}\n`)
  say({ ok: true, name: 'allm-ts', words: `${packageVersion()}, on Node ${process.versions.node}` })
  say(await checkFake())
  let ready = true
  for (const name of names) {
    const key = checkKey(name, call)
    say(key)
    const endpoint = call.flag('offline') ? undefined : await checkEndpoint(name, call)
    if (endpoint !== undefined) say(endpoint)
    ready &&= key.ok && endpoint?.ok !== false
  }
  return only === undefined || ready ? exitCodes.ok : exitCodes.failed
}

function line({ ok, name, words }: Finding, style: Style): string {
  return `${ok ? style.good('ok') : style.dim('--')}  ${name.padEnd(10)} ${words}`
}

function providerOption(call: CommandCall): ProviderName | undefined {
  const word = call.text('provider')
  if (word === undefined) {
    if (call.text('base-url') !== undefined) throw usageError('--base-url needs --provider')
    return undefined
  }
  if (isProviderName(word)) return word
  throw usageError(`--provider must be one of ${providerNames.join(', ')}, not ${word}`)
}

/** Plays one call, so that a broken install is seen without a network. */
async function checkFake(): Promise<Finding> {
  for await (const { response } of playScripts([[['text', 'ready']]], false, () => undefined)) {
    return { ok: response.outputText === 'ready', name: 'fake', words: 'plays scripts, offline' }
  }
  return { ok: false, name: 'fake', words: 'plays nothing; the package is damaged' }
}

function checkKey(name: ProviderName, { io, text }: CommandCall): Finding {
  const found = foundKey(name, io)
  if (found !== undefined) return { ok: true, name, words: `key found in ${found.variable}` }
  if (text('base-url') !== undefined) {
    return { ok: true, name, words: 'no key; a server of your own may need none' }
  }
  return { ok: false, name, words: `no key: set ${keyVariables(name).join(' or ')}` }
}

async function checkEndpoint(name: ProviderName, { io, text }: CommandCall): Promise<Finding> {
  const url = text('base-url') ?? defaultBaseUrls[name]
  const problem = await unreachable(url, io)
  return problem === undefined
    ? { ok: true, name, words: `${url} answers` }
    : { ok: false, name, words: `${url} can not be reached: ${problem}` }
}

/** Why an address does not answer within five seconds; `undefined` when it does. */
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
