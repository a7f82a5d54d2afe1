/// <reference lib="esnext.disposable" preserve="true" />

import { once, setMaxListeners } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { systemClock } from '../../core/base/clock.ts'
import { ValidationError } from '../../core/errors/errors.ts'
import {
  assertValid,
  between,
  positiveInteger,
  fine,
  flag,
  nonNegativeInteger,
  listOf,
  must,
  oneOf,
  optionsOf,
  shape,
  shapeOf,
  someText,
  text,
  type Check,
} from '../../core/schema/checks.ts'
import { validateScript } from '../fakes/check-script.ts'
import { chatAnswers, scriptSource, type ListedModel, type ScriptSource } from './answers.ts'
import type { Fault, SeededFailures } from './faults.ts'
import { serveModel } from './models.ts'
import {
  requestHandler,
  type FakeServerOptions,
  type RequestHandler,
  type ServerState,
} from './request-handler.ts'
import { requestLog, type RecordedRequest, type RequestLog } from './request.ts'

/** A server that plays scripts in the formats of all providers. */
export interface FakeServer {
  /** `http://127.0.0.1:port`, without a path. */
  readonly url: string
  readonly port: number
  /** For OpenAI clients: with `/v1`. */
  readonly openaiBaseUrl: string
  /** For the Anthropic adapter of this library: with `/v1`. Anthropic's own package takes `url`. */
  readonly anthropicBaseUrl: string
  /** For the `azure` adapter, and OpenAI clients of Azure: with `/openai/v1`. `AzureOpenAI` of OpenAI's package takes `url` as its endpoint. */
  readonly azureBaseUrl: string
  /** For the Gemini adapter of this library: with `/v1beta`. Google's own package takes `url`. */
  readonly geminiBaseUrl: string
  /** For `anthropicVertex` and `geminiVertex`: with `/v1`. Anthropic's own package takes it too; Google's takes `url`. */
  readonly vertexBaseUrl: string
  /** For `anthropicBedrock`, and for Anthropic's own package. */
  readonly bedrockBaseUrl: string
  /** The requests so far, oldest first, without keys. */
  readonly requests: readonly RecordedRequest[]
  /** The number of answers that are being written: streams that wait, stall, or are not read. */
  readonly openAnswers: number
  /** Waits until no answer is being written. */
  idle(): Promise<void>
  /** Throws a `ValidationError` if there are scripts that were not played. */
  assertDone(): void
  /** Stops listening, ends open streams, and closes all connections. Later calls return the same promise. */
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * Starts an HTTP server that answers from scripts, on the paths of OpenAI, Azure, Anthropic and Gemini at once, and on those of Vertex AI
 * and Amazon Bedrock.
 *
 * Rejects with a `ValidationError` if the options or the scripts are invalid, and with the system's error if the port is taken.
 * Call `close` at the end, or declare the server with `await using`.
 */
export async function createFakeServer(options: FakeServerOptions = {}): Promise<FakeServer> {
  checkFakeServerOptions(options)
  const { script, scripts = [] } = options
  const source = scriptSource({
    scripts: script === undefined || typeof script === 'function' ? (script ?? scripts) : [script],
    models: options,
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
  // Every answer that is being written listens to it.
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
    azureBaseUrl: `${url}/openai/v1`,
    geminiBaseUrl: `${url}/v1beta`,
    vertexBaseUrl: `${url}/v1`,
    bedrockBaseUrl: url,
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

/** An address in a URL. The addresses that mean "all interfaces" cannot be called, so they become the local one. */
function hostOf(address: string): string {
  if (address === '0.0.0.0') return '127.0.0.1'
  if (address === '::') return '[::1]'
  return address.includes(':') ? `[${address}]` : address
}

async function listen(server: Server, options: FakeServerOptions): Promise<void> {
  // Idle connections stay open until the server closes, so that clients can reuse them.
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
  // The last writes may not have reached the system yet.
  await setImmediate()
  server.closeAllConnections()
  await over
}

/** Throws a `ValidationError` with every problem of the scripts, of those of other models, or of the options. */
function checkFakeServerOptions(options: FakeServerOptions): void {
  const { script, scripts } = options
  // What a function returns is checked at each call.
  validateScript({ script: typeof script === 'function' ? () => [] : script, scripts })
  for (const make of Object.values(serveModel)) make(options)
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
  cutAfter: positiveInteger,
  rateCut: share,
  malformedAt: nonNegativeInteger,
  rateMalformed: share,
} satisfies Readonly<Record<keyof SeededFailures, Check>>)

const fault: Check = optionsOf({
  status,
  retryAfterMs: milliseconds,
  message: text,
  slowMs: milliseconds,
  cutAfter: nonNegativeInteger,
  malformedAt: nonNegativeInteger,
} satisfies Readonly<Record<keyof Fault, Check>>)

const listedModel: Check = shapeOf<ListedModel>(
  { id: someText },
  { name: someText, inputTokenLimit: positiveInteger, outputTokenLimit: positiveInteger },
)

const check: Check = optionsOf({
  script: anything,
  scripts: anything,
  images: anything,
  moderation: anything,
  embeddings: anything,
  rerank: anything,
  speech: anything,
  transcriptions: anything,
  repeat: flag,
  cursor: oneOf(['shared', 'per_key']),
  requireKey: flag,
  validateRequests: flag,
  models: listOf((value) => (typeof value === 'object' ? listedModel(value) : someText(value))),
  chunking: shape({ seed, maxBytes: positiveInteger }),
  failures,
  faults: listOf((value) => (value === null ? fine : fault(value))),
  port: must('a port', (value) => Number.isInteger(value) && between(0, 65_535)(value) === fine),
  host: someText,
  requestLimit: positiveInteger,
  clock: must('a clock with now and sleep', isClock),
} satisfies Readonly<Record<keyof FakeServerOptions, Check>>)

function isClock(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'now' in value && 'sleep' in value
}
