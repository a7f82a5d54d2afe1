import { baseUrlVariables } from '../../testing/recording/proxy/recording-proxy.ts'
import {
  createReplayServer,
  type ReplayServer,
} from '../../testing/recording/proxy/replay-server.ts'
import type { Provider } from '../../testing/server/request.ts'
import { runChild } from './child.ts'
import { exitCodes, integerOption, type Command, type CommandCall } from './command.ts'
import { readCassette } from './files.ts'
import { say } from './io.ts'
import { count, listening, untilStopped } from './serve.ts'

/** `allm-ts replay`: a server that answers what was recorded. */
export const replayCommand: Command = {
  name: 'replay',
  summary: 'serve a cassette in the format it was recorded in, strictly',
  synopsis: '<cassette.json> [options] [-- <program> [arguments]]',
  options: {
    port: {
      value: '<number>',
      short: 'p',
      help: 'the port on 127.0.0.1; otherwise 8080, or any free one with a program',
    },
    'any-order': { help: 'take calls in any order, for programs that make several at once' },
  },
  notes: [
    'A request that was not recorded is refused, and each recorded call is played once. At the end, which is Ctrl-C or the end of the program, it says what was not used. The exit code is that of the program, or 0; it is 1 if something was not used, or was refused. A program is run with OPENAI_BASE_URL, ANTHROPIC_BASE_URL and GOOGLE_GEMINI_BASE_URL set to the server.',
  ],
  examples: [
    ['replay cassette.json', 'answer what was recorded, on port 8080'],
    ['replay cassette.json -- node agent.js', 'run a program against it'],
  ],
  positionals: [1, Number.POSITIVE_INFINITY],
  run,
}

async function run(call: CommandCall): Promise<number> {
  const { io, positionals } = call
  const [path = '', ...program] = positionals
  const cassette = await readCassette(path, io)
  const port = integerOption(call, 'port', [0, 65_535]) ?? (program.length > 0 ? 0 : 8080)
  const match = call.flag('any-order') ? 'any_order' : 'in_order'
  const server = await listening(
    { port },
    () => createReplayServer(cassette, { port, match }),
    path,
  )
  let code: number = exitCodes.ok
  try {
    if (program.length > 0) code = await runChild(io, program, variablesOf(server))
    else {
      io.stderr.write(greeting(server, cassette.calls.length))
      await untilStopped(io, () => `${count(server.requests.length, 'request')} so far`)
    }
  } finally {
    await server.close()
  }
  const { unused, unknown } = server
  for (const words of unknown) say(io.stderr, `allm-ts: refused: ${words}\n`)
  for (const words of unused) say(io.stderr, `allm-ts: not used: ${words}\n`)
  const isDone = unused.length === 0 && unknown.length === 0
  if (isDone) {
    const { length } = cassette.calls
    say(
      io.stderr,
      `allm-ts: ${length === 1 ? 'the call was' : `all ${length} calls were`} played\n`,
    )
  }
  return code === exitCodes.ok && !isDone ? exitCodes.failed : code
}

const everyProvider: Readonly<Record<Provider, true>> = {
  openai: true,
  anthropic: true,
  gemini: true,
}

function variablesOf({ url }: ReplayServer): Readonly<Record<string, string>> {
  return baseUrlVariables(url, everyProvider)
}

function greeting(server: ReplayServer, calls: number): string {
  const lines = Object.entries(variablesOf(server)).map(([name, value]) => `  ${name}=${value}`)
  return `${[`replaying ${count(calls, 'call')} on ${server.url}, until Ctrl-C; point a program to it:`, ...lines].join('\n')}\n`
}
