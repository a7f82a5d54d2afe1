import {
  requestHandler,
  type FakeServerOptions,
  type RequestHandler,
  type ServerState,
} from './request-handler.ts'
import { once, setMaxListeners } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { systemClock } from '../core/clock.ts'
import { ValidationError } from '../errors/errors.ts'
import {
  assertValid,
  between,
  count,
  fine,
  flag,
  integer,
  listOf,
  must,
  oneOf,
  optionsOf,
  shape,
  someText,
  text,
  type Check,
} from '../schema/checks.ts'
import { chatAnswers, scriptSource, type ScriptSource } from './answers.ts'
import { requestLog, type RecordedRequest, type RequestLog } from './request.ts'
import { validateScript } from '../testing/check-script.ts'
import { fakeImages } from '../testing/fake-images.ts'

/** A server that plays scripts in the formats of all providers. */
export interface FakeServer {
  /** `http://127.0.0.1:port`, without a path. */
  readonly url: string
  readonly port: number
  /** For OpenAI clients: with `/v1`. */
  readonly openaiBaseUrl: string
  /** For our Anthropic adapter: with `/v1`. Anthropic's own package takes `url`. */
  readonly anthropicBaseUrl: string
  /** For our Gemini adapter: with `/v1beta`. Google's own package takes `url`. */
  readonly geminiBaseUrl: string
  /** What arrived, oldest first, without keys. */
  readonly requests: readonly RecordedRequest[]
  /** How many answers are being written: streams that wait, that are silent, or that nobody reads. */
  readonly openAnswers: number
  /** Fulfilled as soon as no answer is being written. */
  idle(): Promise<void>
  /** Throws a `ValidationError` when scripts are left that no call has played. */
  assertDone(): void
  /** Stops listening, ends the streams that are open, and closes all connections. It may be called again. */
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * Starts a server that answers from scripts over HTTP, on the addresses of OpenAI, Anthropic and Gemini at once.
 *
 * Rejects with a `ValidationError` when the options or the scripts are not legal, and with the system's error when the port
 * is taken. `close` it, or declare it with `await using`.
 */
export async function createFakeServer(options: FakeServerOptions = {}): Promise<FakeServer> {
  checkFakeServerOptions(options)
  const { script, scripts = script === undefined ? [] : [script] } = options
  const source = scriptSource({
    scripts,
    images: options.images ?? [],
    repeat: options.repeat ?? false,
    perKey: options.cursor === 'per_key',
  })
  const state: ServerState = {
    options,
    source,
    answers: chatAnswers(options.chunking),
    calls: 0,
  }
  const log = requestLog(options.requestLimit ?? 10_000)
  const closing = new AbortController()
  // Every answer that takes its time listens to it.
  setMaxListeners(0, closing.signal)
  const handler = requestHandler(state, log, {
    clock: options.clock ?? systemClock,
    signal: closing.signal,
    pieces: options.chunking !== undefined,
  })
  const server = createServer((request, response) => handler.handle(request, response))
  await listen(server, options)
  return fakeServer(server, { handler, log, source, closing })
}

interface ServerParts {
  readonly handler: RequestHandler
  readonly log: RequestLog
  readonly source: ScriptSource
  readonly closing: AbortController
}

function fakeServer(server: Server, { handler, log, source, closing }: ServerParts): FakeServer {
  // A server that listens on a port has an address with a port.
  const { port, address } = server.address() as AddressInfo
  const url = `http://${hostOf(address)}:${port}`
  let closed: Promise<void> | undefined
  const close = (): Promise<void> => (closed ??= shutDown(server, handler, closing))
  return {
    url,
    port,
    openaiBaseUrl: `${url}/v1`,
    anthropicBaseUrl: `${url}/v1`,
    geminiBaseUrl: `${url}/v1beta`,
    requests: log.requests,
    get openAnswers() {
      return handler.open.size
    },
    async idle() {
      while (handler.open.size > 0) await Promise.all(handler.open)
    },
    assertDone() {
      const { remaining } = source
      if (remaining === 0) return
      const scripts = remaining === 1 ? '1 script was' : `${remaining} scripts were`
      throw new ValidationError('invalid_script', [
        { path: 'scripts', problem: `${scripts} not played` },
      ])
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** An address as it stands in a URL. One that means all of them can not be called, so the nearest one can. */
function hostOf(address: string): string {
  if (address === '0.0.0.0') return '127.0.0.1'
  if (address === '::') return '[::1]'
  return address.includes(':') ? `[${address}]` : address
}

async function listen(server: Server, options: FakeServerOptions): Promise<void> {
  // An idle connection stays until the server closes: a client that keeps it must not find it gone.
  server.keepAliveTimeout = 0
  server.listen(options.port ?? 0, options.host ?? '127.0.0.1')
  await once(server, 'listening')
}

async function shutDown(
  server: Server,
  handler: RequestHandler,
  closing: AbortController,
): Promise<void> {
  const over = once(server, 'close')
  server.close()
  closing.abort()
  await Promise.all(handler.open)
  // What was written at once may still be on its way to the system.
  await setImmediate()
  server.closeAllConnections()
  await over
}

/** Throws a `ValidationError` that holds every problem of the scripts, of the image script, or of the options. */
function checkFakeServerOptions(options: FakeServerOptions): void {
  validateScript({ script: options.script, scripts: options.scripts })
  fakeImages({ script: options.images })
  assertValid('invalid_options', check(options))
}

const anything: Check = () => fine

const share: Check = between(0, 1)

const milliseconds: Check = must(
  'a number of milliseconds, 0 or more',
  (value) => typeof value === 'number' && Number.isFinite(value) && value >= 0,
)

const seed: Check = must('an integer', Number.isSafeInteger)

const status: Check = must(
  'an HTTP status from 400 to 599',
  (value) => Number.isInteger(value) && Number(value) >= 400 && Number(value) <= 599,
)

const failures: Check = optionsOf({
  seed,
  rate429: share,
  rate5xx: share,
  retryAfterMs: milliseconds,
  slowMs: milliseconds,
  rateSlow: share,
  cutAfter: count,
  rateCut: share,
  malformedAt: integer,
  rateMalformed: share,
})

const fault: Check = optionsOf({
  status,
  retryAfterMs: milliseconds,
  message: text,
  slowMs: milliseconds,
  cutAfter: integer,
  malformedAt: integer,
})

const check: Check = optionsOf({
  script: anything,
  scripts: anything,
  images: anything,
  repeat: flag,
  cursor: oneOf(['shared', 'per_key']),
  requireKey: flag,
  validateRequests: flag,
  models: listOf(someText),
  chunking: shape({ seed, maxBytes: count }),
  failures: (value) => failures(value),
  faults: listOf((value) => (value === null ? fine : fault(value))),
  port: must('a port', (value) => Number.isInteger(value) && between(0, 65_535)(value) === fine),
  host: someText,
  requestLimit: count,
  clock: must('a clock with now and sleep', isClock),
})

function isClock(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'now' in value && 'sleep' in value
}
