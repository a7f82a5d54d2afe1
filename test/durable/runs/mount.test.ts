import { once } from 'node:events'
import { createServer, request, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import express from 'express'
import { Hono } from 'hono'
import { expect, test } from 'vitest'
import { toNodeHandler, type RunsHandler } from '../../../src/runs.ts'
import { messagesOf, sentEvents, service, viewOf } from './service.ts'

/** A server on loopback. */
async function serve(listener: RequestListener): Promise<{
  readonly url: string
  readonly port: number
  [Symbol.asyncDispose](): Promise<void>
}> {
  const server = createServer(listener)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  // A server that listens on a port has an address with it.
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

type Fetch = (path: string, init?: RequestInit) => Promise<Response>

const post = (body: unknown): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
})

/** A conversation that uses every direction: bodies in, streams out, errors. */
async function converse(fetch: Fetch): Promise<void> {
  const sent = await fetch('/ada/messages', post({ text: 'hello' }))
  expect([sent.status, await sent.json()]).toEqual([202, { lastEventId: 0, duplicate: false }])
  const events = await messagesOf(await fetch('/ada/events'))
  expect(events[0]?.data?.type).toBe('view')
  expect(events.at(-1)?.data?.type).toBe('rest')
  expect(await viewOf(await fetch('/ada'))).toMatchObject({ status: 'completed' })
  const refused = await fetch('/ada/messages', { method: 'POST', body: 'hello' })
  expect([refused.status, await refused.json()]).toMatchObject([
    415,
    { reason: 'unsupported_media_type' },
  ])
}

test('mounted in Hono', async () => {
  const { handle } = service()
  const app = new Hono()
  app.all('/runs/*', (context) => handle(context.req.raw))
  await converse(async (path, init) => app.request(`/runs${path}`, init))
})

test.each([
  ['', (_app: express.Express): void => undefined],
  [' behind a parser of bodies', (app: express.Express): void => void app.use(express.json())],
])('mounted in Express%s', async (_title, prepare) => {
  const { handle } = service()
  const app = express()
  prepare(app)
  app.use('/runs', toNodeHandler(handle))
  await using server = await serve(app)
  await converse((path, init) => fetch(`${server.url}/runs${path}`, init))
})

test('mounted in node:http', async () => {
  const { handle } = service()
  await using server = await serve(toNodeHandler(handle))
  await converse((path, init) => fetch(server.url + path, init))
})

test('a client that goes away ends the reading, and the signal of its request says so', async () => {
  const { handle, runs, reached, open } = service()
  await runs.send('ada', 'slow')
  await reached
  let gone: () => void = () => undefined
  const left = new Promise<void>((resolve) => (gone = resolve))
  const watching: RunsHandler = async (incoming) => {
    incoming.signal.addEventListener('abort', gone)
    return handle(incoming)
  }
  await using server = await serve(toNodeHandler(watching))
  const leaving = new AbortController()
  const response = await fetch(`${server.url}/ada/events`, { signal: leaving.signal })
  for await (const { data } of sentEvents(response)) if (data?.type === 'view') break
  leaving.abort()
  await left
  open()
  await runs.wait('ada')
})

test('a client that does not read holds the answer back', async () => {
  let pulled = 0
  const endless = (): Response =>
    new Response(
      new ReadableStream<Uint8Array>(
        {
          pull(controller) {
            pulled++
            controller.enqueue(new Uint8Array(65_536))
          },
        },
        { highWaterMark: 0 },
      ),
    )
  await using server = await serve(toNodeHandler(endless))
  const reading = request({ port: server.port, host: '127.0.0.1' })
  reading.end()
  const [incoming] = (await once(reading, 'response')) as [{ pause(): void }]
  incoming.pause()
  // The buffers of the sockets fill up, and then nothing is pulled any more.
  for (let quiet = 0; quiet < 500;) {
    const before = pulled
    await new Promise((resolve) => setImmediate(resolve))
    quiet = pulled === before ? quiet + 1 : 0
  }
  expect(pulled).toBeLessThan(2000)
  reading.destroy()
})

test.each([
  ['an address that is none', 'http://[', 400],
  ['a handler that throws', '/boom', 500],
])('%s is answered', async (_title, path, status) => {
  const throwing = (): never => {
    throw new Error('SECRET')
  }
  await using server = await serve(toNodeHandler(throwing))
  const asking = request({ port: server.port, host: '127.0.0.1', path })
  asking.end()
  const [response] = (await once(asking, 'response')) as [
    AsyncIterable<Uint8Array> & { statusCode: number },
  ]
  let body = ''
  for await (const chunk of response) body += new TextDecoder().decode(chunk)
  expect(response.statusCode).toBe(status)
  expect(body).not.toContain('SECRET')
})

test('cookies are kept apart', async () => {
  const handler = (): Response => {
    const headers = new Headers()
    headers.append('set-cookie', 'a=1')
    headers.append('set-cookie', 'b=2')
    return new Response('ok', { headers })
  }
  await using server = await serve(toNodeHandler(handler))
  expect((await fetch(server.url)).headers.getSetCookie()).toEqual(['a=1', 'b=2'])
})

test('what is not a handler cannot be mounted', () => {
  for (const wrong of [undefined, {}, Promise.resolve(() => new Response())]) {
    expect(() => toNodeHandler(wrong as never)).toThrow('handler must be a function')
  }
})
