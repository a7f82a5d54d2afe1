import { isAllmError } from '../../core/errors/errors.ts'
import type { Cassette, CassetteCall } from '../../testing/fakes/cassette.ts'
import {
  createRecordingProxy,
  type RecordingProxy,
  type RecordingProxyOptions,
} from '../../testing/recording/proxy/recording-proxy.ts'
import {
  redactCassette,
  secretPatterns,
  stringifyCassette,
} from '../../testing/recording/write-cassette.ts'
import { runChild } from './child.ts'
import {
  exitCodes,
  failure,
  integerOption,
  usageError,
  type Command,
  type CommandCall,
} from './command.ts'
import { assertFolder, writeTextFile } from './files.ts'
import { say, type Io } from './io.ts'
import {
  assertUrl,
  baseUrlOf,
  isProviderName,
  providerNames,
  type ProviderName,
} from './provider.ts'
import { count, listening, untilStopped } from './serve.ts'

/** `allm-ts record`: a proxy that writes what passes between a program and its provider. */
export const recordCommand: Command = {
  name: 'record',
  summary: 'record the calls of a program, in any language, as a cassette',
  synopsis: '[options] [-- <program> [arguments]]',
  options: {
    provider: {
      value: '<name>',
      help: 'pass calls on to one of openai, anthropic, gemini only; otherwise to all of them',
    },
    'base-url': {
      value: '<url>',
      help: "the provider's address, with its version path; needs --provider",
    },
    out: { value: '<file>', short: 'o', help: 'where the cassette goes (cassette.json)' },
    port: {
      value: '<number>',
      short: 'p',
      help: 'the port on 127.0.0.1; otherwise 8080, or any free one with a program',
    },
    redact: {
      value: '<names>',
      isList: true,
      help: 'leave out the values of these names: email,iban; may be repeated',
    },
    'redact-pattern': {
      value: '<regex>',
      isList: true,
      help: 'leave out the texts that match; may be repeated',
    },
    'mask-secrets': { help: 'leave out what looks like a secret, instead of refusing to write it' },
    'no-check': { help: 'also pass on calls that the provider is known to refuse' },
  },
  notes: [
    'With a program, it is run with OPENAI_BASE_URL, ANTHROPIC_BASE_URL and GOOGLE_GEMINI_BASE_URL set to the proxy, and the cassette is written when it ends. Its exit code is that of allm-ts. Without a program the proxy runs until Ctrl-C, which writes the cassette and ends with exit code 0: point a base URL to it.',
    'Bytes pass unchanged, and keys pass through; no key is in the cassette. An older file is replaced. allm-ts replay serves the cassette, allm-ts test makes a test of it.',
  ],
  examples: [
    ['record -- node agent.js', 'run a program, and record its calls'],
    ['record --out night.json -- python agent.py', 'any language will do'],
    ['record --provider openai --port 8080', 'a proxy for a program that you start yourself'],
  ],
  positionals: [0, Number.POSITIVE_INFINITY],
  run,
}

async function run(call: CommandCall): Promise<number> {
  const { io, positionals: program } = call
  const out = call.text('out') ?? 'cassette.json'
  await assertFolder(out)
  const notes = new Map<string, number>()
  let calls = 0
  const proxy = await startProxy(call, {
    onCall: () => calls++,
    onNote: ({ type, method, path, reason }) => {
      const line = `${type.replace('_', ' ')}: ${method} ${path}: ${reason}`
      notes.set(line, (notes.get(line) ?? 0) + 1)
    },
  })
  let code: number = exitCodes.ok
  try {
    if (program.length > 0) {
      code = await runChild(io, program, withoutProxy(io, proxy.environment))
    } else {
      io.stderr.write(greeting(proxy))
      await untilStopped(io, () => `${count(calls, 'call')} recorded so far`)
    }
  } finally {
    await proxy.close()
  }
  const cassette = proxy.cassette()
  for (const [line, times] of notes) {
    say(io.stderr, `allm-ts: ${line}${times === 1 ? '' : ` (${times} times)`}\n`)
  }
  if (cassette.calls.length === 0) {
    const variables = Object.keys(proxy.environment).join(', ')
    say(
      io.stderr,
      `allm-ts: no calls were recorded; does the program take its base URL from ${variables}?\n`,
    )
    return code
  }
  const unreached = cassette.calls.filter(isUnreached).length
  if (unreached > 0) {
    say(
      io.stderr,
      `allm-ts: ${count(unreached, 'call')} failed: the provider could not be reached\n`,
    )
  }
  await writeCassette(out, cassette)
  say(io.stderr, `allm-ts: ${count(cassette.calls.length, 'call')} in ${out}\n`)
  return code
}

/** Whether a call has no answer, because there was no connection. */
function isUnreached({ script }: CassetteCall): boolean {
  return script.some(([tag, reason]) => tag === 'failure' && reason === 'network_error')
}

function startProxy(
  call: CommandCall,
  listeners: Pick<RecordingProxyOptions, 'onCall' | 'onNote'>,
): Promise<RecordingProxy> {
  const standard = call.positionals.length > 0 ? 0 : 8080
  const port = integerOption(call, 'port', [0, 65_535]) ?? standard
  const names = call.texts('redact').flatMap((list) => list.split(',').map((name) => name.trim()))
  const options: RecordingProxyOptions = {
    ...listeners,
    upstream: upstreamOf(call),
    port,
    validateRequests: !call.flag('no-check'),
    secrets: call.flag('mask-secrets') ? 'mask' : 'refuse',
    redact: {
      names: names.filter((name) => name !== ''),
      patterns: call.texts('redact-pattern').map(patternOf),
    },
  }
  return listening({ port }, () => createRecordingProxy(options))
}

function patternOf(source: string): RegExp {
  try {
    return new RegExp(source, 'u')
  } catch {
    throw usageError(`--redact-pattern must be a regular expression, not ${source}`)
  }
}

/** The addresses that calls are passed on to: those of the options, of the environment, or of the providers. */
function upstreamOf(call: CommandCall): Readonly<Partial<Record<ProviderName, string>>> {
  const word = call.text('provider')
  const baseUrl = call.text('base-url')
  if (word === undefined) {
    if (baseUrl !== undefined) {
      throw usageError(`--base-url needs --provider: ${providerNames.join(', ')}`)
    }
    return Object.fromEntries(providerNames.map((name) => [name, baseUrlOf(name, call.io.env)]))
  }
  if (!isProviderName(word)) {
    throw usageError(`--provider must be one of ${providerNames.join(', ')}, not ${word}`)
  }
  if (baseUrl !== undefined) assertUrl(baseUrl)
  return { [word]: baseUrl ?? baseUrlOf(word, call.io.env) }
}

/** The variables for a program, which must not look for 127.0.0.1 behind a proxy of the network. */
function withoutProxy(
  { env }: Io,
  environment: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const known = env['NO_PROXY'] ?? env['no_proxy'] ?? ''
  const list = known === '' ? '127.0.0.1' : `${known},127.0.0.1`
  return { ...environment, NO_PROXY: list, no_proxy: list }
}

function greeting(proxy: RecordingProxy): string {
  const lines = Object.entries(proxy.environment).map(([name, value]) => `  ${name}=${value}`)
  return `${[`recording on ${proxy.url}, until Ctrl-C; point a program to it:`, ...lines].join('\n')}\n`
}

async function writeCassette(path: string, cassette: Cassette): Promise<void> {
  let text: string
  try {
    text = stringifyCassette(cassette)
  } catch (error) {
    if (!isAllmError(error)) throw error
    const masked = await writeMasked(path, cassette)
    const kept = masked === undefined ? '' : `; the calls are in ${masked}, without it`
    throw failure(
      `${path} is not written: ${error.message}, or pass --redact, --redact-pattern or --mask-secrets${kept}`,
      error,
    )
  }
  await writeTextFile(path, text)
}

/** A recording may have cost money: one that is refused is kept without what looks like a secret. Returns its file. */
async function writeMasked(path: string, cassette: Cassette): Promise<string | undefined> {
  const masked = `${path.replace(/\.json$/, '')}.masked.json`
  let text: string
  try {
    text = stringifyCassette(redactCassette(cassette, { patterns: secretPatterns }))
  } catch (error) {
    if (!isAllmError(error)) throw error
    return undefined
  }
  await writeTextFile(masked, text)
  return masked
}
