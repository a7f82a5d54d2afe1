import { warnOnce } from '../core/warning.ts'
import { anyFunction, assertValid, within } from '../schema/checks.ts'

/** The part of a request of `node:http` that is used. Express's requests have it too. */
export interface NodeRequest extends AsyncIterable<Uint8Array> {
  readonly method?: string | undefined
  readonly url?: string | undefined
  /** The path before a router of Express removed a part of it. */
  readonly originalUrl?: string | undefined
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly socket: object
  /** The body, if a middleware has parsed it. */
  readonly body?: unknown
}

/** The part of a response of `node:http` that is used. */
export interface NodeResponse {
  writeHead(status: number, headers: Record<string, string | string[]>): unknown
  flushHeaders(): void
  write(chunk: Uint8Array): boolean
  end(): unknown
  destroy(): unknown
  once(event: 'drain' | 'close', listener: () => void): unknown
  off(event: 'drain' | 'close', listener: () => void): unknown
  readonly destroyed: boolean
  readonly writableFinished: boolean
}

/**
 * A handler of web requests as one for Express and `node:http`: `app.use('/runs', toNodeHandler(handler))`,
 * `createServer(toNodeHandler(handler))`.
 *
 * Bodies stream in both directions, as fast as the other side reads. The signal of the request is aborted when the
 * connection is closed. A handler that throws is answered with status 500, and the first error is a warning of the process (`AllmWarning`).
 */
export function toNodeHandler(
  handler: (request: Request) => Response | Promise<Response>,
): (request: NodeRequest, response: NodeResponse) => void {
  assertValid('invalid_options', within('handler', anyFunction(handler)))
  const report = warnOnce('a handler of toNodeHandler threw')
  return (request, response) => {
    const gone = new AbortController()
    response.once('close', () => {
      if (!response.writableFinished) gone.abort()
    })
    respond({ handler, report }, request, response, gone.signal).catch(() => response.destroy())
  }
}

/** A handler, and who is told of what it throws. */
interface Mounted {
  readonly handler: (request: Request) => Response | Promise<Response>
  readonly report: (error: unknown) => void
}

async function respond(
  mounted: Mounted,
  request: NodeRequest,
  response: NodeResponse,
  signal: AbortSignal,
): Promise<void> {
  const answer = await answerTo(mounted, request, signal)
  const headers: Record<string, string | string[]> = Object.fromEntries(answer.headers)
  const cookies = answer.headers.getSetCookie()
  if (cookies.length > 0) headers['set-cookie'] = cookies
  response.writeHead(answer.status, headers)
  // A stream of events may have nothing to say for a while.
  response.flushHeaders()
  const reader = answer.body?.getReader()
  if (reader !== undefined) {
    const cancel = (): void => void reader.cancel().catch(() => undefined)
    signal.addEventListener('abort', cancel, { once: true })
    if (signal.aborted) cancel()
    for (;;) {
      const { done, value } = await reader.read()
      if (done || signal.aborted) break
      if (!response.write(value)) await drained(response)
    }
  }
  response.end()
}

async function answerTo(
  { handler, report }: Mounted,
  request: NodeRequest,
  signal: AbortSignal,
): Promise<Response> {
  let web: Request
  try {
    web = toWebRequest(request, signal)
  } catch {
    const body = { reason: 'invalid_request', message: 'the request cannot be read' }
    return Response.json(body, { status: 400 })
  }
  try {
    return await handler(web)
  } catch (error) {
    report(error)
    const body = { reason: 'internal', message: 'something went wrong on the server' }
    return Response.json(body, { status: 500 })
  }
}

function toWebRequest(request: NodeRequest, signal: AbortSignal): Request {
  const { method = 'GET' } = request
  const path = request.originalUrl ?? request.url ?? '/'
  const scheme = 'encrypted' in request.socket ? 'https' : 'http'
  const headers = new Headers()
  for (const [name, value] of Object.entries(request.headers)) {
    // HTTP/2 has headers that are no headers.
    if (value === undefined || name.startsWith(':')) continue
    if (typeof value === 'string') headers.set(name, value)
    else for (const one of value) headers.append(name, one)
  }
  const host = headers.get('host') ?? String(request.headers[':authority'] ?? 'localhost')
  const hasBody = method !== 'GET' && method !== 'HEAD'
  // A path that begins with two slashes is a path, and not a host.
  const url = path.startsWith('/') ? `${scheme}://${host}${path}` : path
  return new Request(url, {
    method,
    headers,
    signal,
    ...(hasBody && { body: bodyOf(request), duplex: 'half' }),
  })
}

/** The body of a request: as it comes, or what a middleware has made of it. */
function bodyOf(
  request: NodeRequest,
): ReadableStream<Uint8Array> | string | Uint8Array<ArrayBuffer> {
  const { body } = request
  if (typeof body === 'string') return body
  if (body instanceof Uint8Array) return new Uint8Array(body)
  if (body !== undefined) return JSON.stringify(body)
  const chunks = request[Symbol.asyncIterator]()
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const step = await chunks.next()
        if (step.done === true) controller.close()
        else controller.enqueue(new Uint8Array(step.value))
      },
    },
    { highWaterMark: 0 },
  )
}

/** Waits until the connection takes more, or is closed. */
function drained(response: NodeResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off('drain', done)
      response.off('close', done)
      resolve()
    }
    response.once('drain', done)
    response.once('close', done)
    if (response.destroyed) done()
  })
}
