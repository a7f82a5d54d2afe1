import { isAllmError } from '../../core/errors/errors.ts'
import { createFakeServer, type FakeServer } from '../../testing/server/fake-server.ts'
import type { FakeServerOptions } from '../../testing/server/request-handler.ts'
import {
  exitCodes,
  failure,
  integerOption,
  usageError,
  type Command,
  type CommandCall,
} from './command.ts'
import { readScriptFile } from './files.ts'
import type { Io } from './io.ts'
import { progressOn } from './progress.ts'

/** `allm-ts serve`: a server that plays a script in the formats of three providers. */
export const serveCommand: Command = {
  name: 'serve',
  summary: 'serve a script over HTTP in the formats of OpenAI, Anthropic and Gemini',
  synopsis: '<script.json> [options]',
  options: {
    port: { value: '<number>', short: 'p', help: 'the port (8080); 0 chooses a free one' },
    host: { value: '<address>', help: 'the address to listen on (127.0.0.1)' },
    repeat: { help: 'start again after the last script instead of failing' },
  },
  notes: [
    'The file has the format of allm-ts run. An object may have any other option of createFakeServer that is JSON: images, models, failures, faults and so on. Options of the command line override it.',
    'It serves until Ctrl-C, and ends with exit code 0. Requests need a key; any key is accepted.',
  ],
  examples: [
    ['serve script.json', 'play a script on port 8080'],
    ['serve script.json --port 0 --repeat', 'on a free port, again and again'],
  ],
  positionals: [1, 1],
  run,
}

async function run(call: CommandCall): Promise<number> {
  const { io, positionals } = call
  const [path = '-'] = positionals
  const { scripts, rest } = await readScriptFile(path, io)
  const port = integerOption(call, 'port', [0, 65_535]) ?? portOf(rest) ?? 8080
  const options = {
    ...rest,
    scripts,
    port,
    ...(call.text('host') === undefined ? {} : { host: call.text('host') }),
    ...(call.flag('repeat') ? { repeat: true } : {}),
  }
  const server = await started(options, path)
  io.stdout.write(greeting(server, scripts.length))
  const requests = (): string => count(server.requests.length, 'request')
  await untilStopped(io, () => `${requests()} so far`)
  await server.close()
  io.stdout.write(`\n${requests()}\n`)
  return exitCodes.ok
}

function started(options: FakeServerOptions, path: string): Promise<FakeServer> {
  return listening(options, () => createFakeServer(options), path)
}

/** Starts a server. What keeps it from listening is one line that says what to do. */
export async function listening<T>(
  { port, host }: Pick<FakeServerOptions, 'port' | 'host'>,
  start: () => Promise<T>,
  path?: string,
): Promise<T> {
  try {
    return await start()
  } catch (error) {
    if (isAllmError(error)) {
      throw usageError(path === undefined ? error.message : `${path}: ${error.message}`, error)
    }
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'EADDRINUSE') {
      throw failure(`port ${port} is in use; pass another with --port, or 0 for a free one`)
    }
    if (code === 'EACCES') throw failure(`port ${port} is not allowed; try one above 1023`)
    if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') {
      throw usageError(`cannot listen on ${host}; pass an address of this machine with --host`)
    }
    throw error
  }
}

function portOf({ port }: Readonly<Record<string, unknown>>): number | undefined {
  return typeof port === 'number' ? port : undefined
}

function greeting(server: FakeServer, scripts: number): string {
  return `${[
    `serving ${count(scripts, 'script')} on ${server.url}, until Ctrl-C`,
    `  OpenAI     ${server.openaiBaseUrl}`,
    `  Anthropic  ${server.anthropicBaseUrl}`,
    `  Gemini     ${server.geminiBaseUrl}`,
  ].join('\n')}\n`
}

/** Waits for Ctrl-C, or for a signal that asks the program to end. A progress line says what has happened so far. */
export function untilStopped(io: Io, soFar?: () => string): Promise<void> {
  const { onInterrupt, onSignal } = io
  const progress = progressOn(io)
  if (soFar !== undefined) progress.wait(soFar)
  return new Promise((resolve) => {
    const stop = (): void => {
      for (const off of offs) off?.()
      progress.done()
      resolve()
    }
    const offs = [onInterrupt(stop), onSignal?.('SIGTERM', stop), onSignal?.('SIGHUP', stop)]
  })
}

/** A number of things, in words. */
export function count(number: number, thing: string): string {
  return number === 1 ? `1 ${thing}` : `${number} ${thing}s`
}
