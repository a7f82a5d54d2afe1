import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'

/** A request as the server received it, with its body. */
export interface ReceivedRequest {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** A server on the loopback interface that lasts for one test. */
export interface TestServer {
  /** `http://127.0.0.1:<port>`, without a slash at the end. */
  readonly url: string
  /** Every request so far, in order. */
  readonly requests: readonly ReceivedRequest[]
  /** How many connections were made. */
  readonly connections: number
  /** Resolves when a client has closed a connection whose answer was not finished; at once if it already has. */
  hungUp(): Promise<void>
  /** Ends every connection and the server. */
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

export type Handler = (request: ReceivedRequest, response: ServerResponse) => unknown

/**
 * Starts a server that answers every request with `handler`. An answer may be left open: `close` ends it.
 *
 * `await using server = await serve(…)` closes it at the end of the test.
 */
export async function serve(handler: Handler): Promise<TestServer> {
  const requests: ReceivedRequest[] = []
  const sockets = new Set<Socket>()
  let reportHangUp: () => void = () => undefined
  const hangUp = new Promise<void>((resolve) => {
    reportHangUp = resolve
  })
  const server = createServer((incoming, response) => {
    const pieces: Buffer[] = []
    response.on('close', () => {
      if (!response.writableFinished) reportHangUp()
    })
    response.on('error', () => undefined)
    incoming.on('data', (piece: Buffer) => pieces.push(piece))
    incoming.on('end', () => {
      const { method = '', url: path = '', headers } = incoming
      const request = { method, path, headers, body: Buffer.concat(pieces).toString() }
      requests.push(request)
      void handler(request, response)
    })
  })
  let connections = 0
  server.on('connection', (socket) => {
    connections++
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  // A server that listens on a port has an address object, not a path.
  const { port } = server.address() as AddressInfo
  const close = async (): Promise<void> => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()))
    for (const socket of sockets) socket.destroy()
    await closed
  }
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    get connections() {
      return connections
    },
    hungUp: () => hangUp,
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** A server whose first response is written by the test itself. */
export interface HandServer {
  readonly server: TestServer
  /** Resolves to the response when the request has arrived. */
  readonly answer: Promise<ServerResponse>
  [Symbol.asyncDispose](): Promise<void>
}

export async function serveByHand(): Promise<HandServer> {
  let arrive: (response: ServerResponse) => void = () => undefined
  const answer = new Promise<ServerResponse>((resolve) => {
    arrive = resolve
  })
  const server = await serve((_request, response) => arrive(response))
  return { server, answer, [Symbol.asyncDispose]: () => server.close() }
}

/** Answers with JSON. */
export function sendJson(
  response: ServerResponse,
  value: unknown,
  { status = 200, headers = {} }: { status?: number; headers?: Record<string, string> } = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(JSON.stringify(value))
}

/** Begins a response of server-sent events and leaves it open. The text is written unchanged. */
export function startSse(response: ServerResponse, text = ''): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.flushHeaders()
  if (text !== '') response.write(text)
}

/** A complete response of server-sent events. */
export function sendSse(response: ServerResponse, text: string): void {
  startSse(response)
  response.end(text)
}

/** Server-sent events with these data lines. Values other than strings are sent as JSON. */
export function sse(...data: readonly unknown[]): string {
  return data
    .map((item) => `data: ${typeof item === 'string' ? item : JSON.stringify(item)}\n\n`)
    .join('')
}
