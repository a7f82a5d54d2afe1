import { warnOnce } from '../../core/base/warning.ts'
import { anyFunction, assertValid, describe, within } from '../../core/schema/checks.ts'
import { isObject } from '../../core/types/guards.ts'
import { setMount } from './mount.ts'

/** The part of a request of `node:http` that is used. Express's requests have it too. */
export interface NodeRequest extends AsyncIterable<Uint8Array> {
  readonly method?: string | undefined
  readonly url?: string | undefined
  /** The path before a router of Express removed a part of it. */
  readonly originalUrl?: string | undefined
  /** The part that routers of Express have removed: where the handler is mounted. */
  readonly baseUrl?: string | undefined
  /** The route of Express that handles the request, if it is one. Its own path is not in `baseUrl`. */
  readonly route?: unknown
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly socket: object
  /** The body, if a middleware has parsed it. */
  readonly body?: unknown
  /** Whether somebody has read from the body. */
  readonly readableDidRead?: boolean | undefined
  /** Whether the body was read to its end. */
  readonly readableEnded?: boolean | undefined
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
 *
 * The handler sees the host and the path that the server saw, or nothing: a host that is not `host[:port]` and a path that `new URL` would change
 * (dot segments, encoded or not; backslashes; characters that must be encoded) are answered with status 400. A body that somebody has read and not
 * left in `request.body` is status 500, and says so.
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
    const target = targetOf(request)
    if ('problem' in target) return refusal(400, 'invalid_request', target.problem)
    if (isConsumed(request)) {
      report(new Error(consumed))
      return refusal(500, 'body_already_read', consumed)
    }
    web = toWebRequest(request, target, signal)
  } catch {
    return refusal(400, 'invalid_request', 'the request cannot be read')
  }
  try {
    return await handler(web)
  } catch (error) {
    report(error)
    return refusal(500, 'internal', 'something went wrong on the server')
  }
}

const consumed =
  'the body was already read by the framework: pass it as request.body, or mount the handler before the body parser'

function refusal(status: number, reason: string, message: string): Response {
  return Response.json({ reason, message }, { status, headers: { 'cache-control': 'no-store' } })
}

/** Where a request goes. */
interface Target {
  readonly url: string
  /** The path under which routers have mounted the handler, if they tell. */
  readonly mount: string | undefined
}

/** The target of a request: a path, or an address as it is sent to proxies. A fragment is no part of it. */
const targetShape = /^(?:(https?):\/\/([^/?#\\]*))?(\/[^?#]*)(\?[^#]*)?$/i

/** A name or numbers, and a port. */
const hostShape = /^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d{1,5})?$/i

/** The address of a request. The problem of one that servers, routers and `new URL` may read in different ways. */
function targetOf(request: NodeRequest): Target | { readonly problem: string } {
  const { headers, baseUrl = '', route } = request
  const target = routedPath(request)
  const [, scheme, named, path, query = ''] = targetShape.exec(target) ?? []
  if (path === undefined)
    return { problem: `the path must begin with /, not be ${describe(target)}` }
  // HTTP/2 has the host in a header that is no header.
  const hosts = [headers['host'], headers[':authority'], named].filter((one) => one !== undefined)
  const wrong = hosts.find((one) => typeof one !== 'string' || !hostShape.test(one))
  if (wrong !== undefined) return { problem: hostProblem(wrong) }
  const [host = 'localhost', ...others] = hosts.map((one) => String(one).toLowerCase())
  if (others.some((one) => one !== host)) {
    return { problem: 'the request names two hosts: send the same in its address and in Host' }
  }
  const url = `${scheme ?? ('encrypted' in request.socket ? 'https' : 'http')}://${host}${path}${query}`
  const name = host.replace(/:\d+$/, '')
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  // The numbers of an address can be written in many ways. What is in brackets cannot be anything else.
  if (parsed === undefined || (parsed.hostname !== name && !name.startsWith('['))) {
    return { problem: hostProblem(host) }
  }
  if (parsed.pathname !== path) return { problem: pathProblem(path) }
  return { url, mount: baseUrl !== '' && route === undefined ? baseUrl : undefined }
}

/**
 * The target that the last router saw. Express takes the mount away from `url`, and puts a slash before what would be left without one; `originalUrl` is
 * as it came. Where somebody has rewritten `url`, that is what was routed.
 */
function routedPath({ url = '/', originalUrl, baseUrl }: NodeRequest): string {
  if (originalUrl === undefined || baseUrl === undefined) return originalUrl ?? url
  const [, origin = '', rest = ''] = /^(https?:\/\/[^/?#\\]*)?(.*)$/is.exec(url) ?? []
  const isBare = /^\/(?:\?|$)/.test(rest) && originalUrl === origin + baseUrl + rest.slice(1)
  return isBare ? originalUrl : origin + baseUrl + rest
}

function hostProblem(host: unknown): string {
  return `the host must be host[:port], not ${describe(host)}`
}

function pathProblem(path: string): string {
  return /(?:^|[/\\])(?:\.|%2e){1,2}(?=[/\\]|$)/i.test(path)
    ? 'the path must not have dot segments (. or .., also as %2e): send the path that they lead to'
    : 'the path has characters that must be percent-encoded, such as \\ " < > { }'
}

/** Whether somebody has read the body and not left it in `body`. */
function isConsumed(request: NodeRequest): boolean {
  const { method = 'GET', headers, body, readableDidRead, readableEnded } = request
  if (!hasBody(method) || body !== undefined) return false
  if (readableDidRead !== undefined) return readableDidRead
  const length = Number(headers['content-length'] ?? 0)
  return readableEnded === true && (length > 0 || headers['transfer-encoding'] !== undefined)
}

function toWebRequest(request: NodeRequest, { url, mount }: Target, signal: AbortSignal): Request {
  const { method = 'GET' } = request
  const headers = new Headers()
  for (const [name, value] of Object.entries(request.headers)) {
    // HTTP/2 has headers that are no headers.
    if (value === undefined || name.startsWith(':')) continue
    if (typeof value === 'string') headers.set(name, value)
    else for (const one of value) headers.append(name, one)
  }
  const web = new Request(url, {
    method,
    headers,
    signal,
    ...(hasBody(method) && { body: bodyOf(request), duplex: 'half' }),
  })
  if (mount !== undefined) setMount(web, mount)
  return web
}

function hasBody(method: string): boolean {
  return method !== 'GET' && method !== 'HEAD'
}

/** The body of a request: as it comes, or what a middleware has made of it. */
function bodyOf(
  request: NodeRequest,
): ReadableStream<Uint8Array> | string | Uint8Array<ArrayBuffer> {
  const { body, readableDidRead } = request
  // Express 4 leaves an empty object where no parser has read the body.
  const isUnread = readableDidRead === false && isObject(body) && Object.keys(body).length === 0
  if (typeof body === 'string') return body
  if (body instanceof Uint8Array) return new Uint8Array(body)
  if (body !== undefined && !isUnread) return JSON.stringify(body)
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
