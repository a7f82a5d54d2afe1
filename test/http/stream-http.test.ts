import type { ServerResponse } from 'node:http'
import { createServer } from 'node:net'
import { describe, expect, test } from 'vitest'
import { streamSse } from '../../src/http/stream-http.ts'
import { callTo, plainDecoder, readItems, type Item } from './call.ts'
import { sendSse, serve, serveByHand, sse, startSse } from '../support/http-server.ts'

test('nothing is sent before the first batch is asked for, and leaving then sends nothing', async () => {
  await using server = await serve((_request, response) => sendSse(response, sse('END')))
  const stream = streamSse(callTo(server.url), plainDecoder())
  await stream.return()
  expect(await stream.next()).toEqual({ done: true, value: undefined })
  expect(server.requests).toEqual([])
})

test('a call can be made when the first batch is asked for, and what goes wrong then is thrown', async () => {
  await using server = await serve((_request, response) => sendSse(response, sse('a', 'END')))
  let made = 0
  const make = async () => {
    made++
    return callTo(server.url)
  }
  const stream = streamSse(make, plainDecoder())
  expect(made).toBe(0)
  expect(await readItems(stream)).toEqual(['a'])
  const failing = streamSse(() => Promise.reject(new Error('no key')), plainDecoder())
  await expect(failing.next()).rejects.toThrow('no key')
})

test('each read is a batch, whatever it holds', async () => {
  let answer: ServerResponse | undefined
  await using server = await serve((_request, response) => {
    answer = response
    startSse(response, sse('a', 'b', 'c'))
  })
  const stream = streamSse(callTo(server.url), plainDecoder())
  expect((await stream.next()).value).toEqual(['a', 'b', 'c'])
  answer?.write('data: d')
  answer?.end('\n\ndata: END\n\n')
  expect(await readItems(stream)).toEqual(['d'])
})

test('leaving early closes the connection', async () => {
  await using server = await serve((_request, response) => startSse(response, sse('a')))
  for await (const batch of streamSse(callTo(server.url), plainDecoder())) {
    expect(batch).toEqual(['a'])
    break
  }
  await server.hungUp()
})

test('leaving while a batch is awaited closes the connection and ends the wait', async () => {
  await using server = await serve((_request, response) => startSse(response, sse('a')))
  const stream = streamSse(callTo(server.url), plainDecoder())
  await stream.next()
  const pending = stream.next()
  await stream.return()
  expect(await pending).toEqual({ done: true, value: undefined })
  await server.hungUp()
})

test('leaving while the answer is awaited closes the connection', async () => {
  await using slow = await serveByHand()
  const stream = streamSse(callTo(slow.server.url), plainDecoder())
  const pending = stream.next()
  await slow.answer
  await stream.return()
  expect((await pending).done).toBe(true)
  await slow.server.hungUp()
})

test('a signal ends the stream as cancelled and closes the connection', async () => {
  await using server = await serve((_request, response) => startSse(response, sse('a')))
  const controller = new AbortController()
  const items: Item[] = []
  const call = callTo(server.url, { signal: controller.signal })
  for await (const batch of streamSse(call, plainDecoder())) {
    items.push(...batch)
    controller.abort(new Error('enough'))
  }
  expect(items).toMatchObject(['a', { error: { kind: 'stream', reason: 'cancelled' } }])
  await server.hungUp()
})

test('a signal that is aborted beforehand sends nothing', async () => {
  await using server = await serve((_request, response) => sendSse(response, sse('END')))
  const call = callTo(server.url, { signal: AbortSignal.abort() })
  await expect(streamSse(call, plainDecoder()).next()).rejects.toMatchObject({
    kind: 'stream',
    reason: 'cancelled',
  })
  expect(server.requests).toEqual([])
})

test('a body that ends without its end marker is truncated', async () => {
  await using server = await serve((_request, response) => sendSse(response, sse('a', 'b')))
  const items = await readItems(streamSse(callTo(server.url), plainDecoder()))
  expect(items.slice(0, 2)).toEqual(['a', 'b'])
  expect(items[2]).toMatchObject({
    error: { kind: 'stream', reason: 'truncated', eventIndex: 2, provider: 'acme' },
  })
})

test('a connection that breaks after the first event is truncated', async () => {
  await using server = await serve((_request, response) => {
    startSse(response, sse('a'))
    response.write('data: half', () => response.destroy())
  })
  const items = await readItems(streamSse(callTo(server.url), plainDecoder()))
  expect(items).toMatchObject(['a', { error: { kind: 'stream', reason: 'truncated' } }])
})

test.each<[string, string, (response: ServerResponse) => void]>([
  ['nothing at all', 'stream truncated', (response) => sendSse(response, '')],
  ['events that say nothing', 'stream truncated', (response) => sendSse(response, sse('SKIP'))],
  ['no events', 'adapter malformed_response', (response) => response.end('hello')],
  [
    'a page',
    'adapter malformed_response',
    (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html>'),
  ],
  ['no body', 'adapter malformed_response', (response) => response.writeHead(204).end()],
  [
    'an event that can not be read',
    'adapter malformed_response',
    (response) => sendSse(response, sse('BAD')),
  ],
  ['a broken connection', 'adapter network_error', (response) => response.destroy()],
])('a stream that begins with %s throws %s', async (_name, failure, answer) => {
  await using server = await serve((_request, response) => answer(response))
  const error: unknown = await streamSse(callTo(server.url), plainDecoder())
    .next()
    .catch((thrown: unknown) => thrown)
  const [kind, reason] = failure.split(' ')
  expect(error).toMatchObject({ kind, reason, provider: 'acme', requestId: 'run' })
})

test('what came before an event that can not be read is handed out', async () => {
  await using server = await serve((_request, response) => sendSse(response, sse('a', 'BAD', 'b')))
  expect(await readItems(streamSse(callTo(server.url), plainDecoder()))).toMatchObject([
    'a',
    { error: { kind: 'stream', reason: 'malformed_event', eventIndex: 1 } },
  ])
})

test('a server that is not there is a network error', async () => {
  const closed = createServer()
  await new Promise<void>((resolve) => closed.listen(0, '127.0.0.1', resolve))
  const address = closed.address()
  await new Promise((resolve) => closed.close(resolve))
  const port = typeof address === 'object' ? address?.port : 0
  const stream = streamSse(callTo(`http://127.0.0.1:${port}`), plainDecoder())
  await expect(stream.next()).rejects.toMatchObject({
    reason: 'network_error',
    retryable: true,
    metadata: { code: 'ECONNREFUSED' },
  })
})

test('a connection is used again after a stream that was read to its end', async () => {
  await using server = await serve((_request, response) => sendSse(response, sse('a', 'END')))
  for (let calls = 0; calls < 5; calls++) {
    await readItems(streamSse(callTo(server.url), plainDecoder()))
    await new Promise((resolve) => setImmediate(resolve))
  }
  expect(server.requests).toHaveLength(5)
  expect(server.connections).toBeLessThan(5)
})

test('a server that keeps the connection open after the end marker holds nobody up', async () => {
  await using server = await serve((_request, response) => startSse(response, sse('a', 'END')))
  expect(await readItems(streamSse(callTo(server.url), plainDecoder()))).toEqual(['a'])
})

test('a letter that is cut in two arrives whole', async () => {
  const bytes = Buffer.from(sse('häß 😀', 'END'))
  for (let at = 1; at < bytes.length; at++) {
    const pieces = [bytes.subarray(0, at), bytes.subarray(at)]
    const fetch = () => Promise.resolve(new Response(new Blob(pieces).stream()))
    const items = await readItems(streamSse(callTo('http://acme', { fetch }), plainDecoder()))
    expect(items).toEqual(['häß 😀'])
  }
})

describe('a fetch that does not listen to its signal', () => {
  const deaf = () => {
    const cancelled: unknown[] = []
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(Buffer.from(sse('a'))),
      cancel: (reason) => {
        cancelled.push(reason)
      },
    })
    return { cancelled, fetch: () => Promise.resolve(new Response(body)) }
  }

  test('is left all the same when its answer does not come', async () => {
    const controller = new AbortController()
    const fetch = () => new Promise<Response>(() => undefined)
    const call = callTo('http://acme', { fetch, signal: controller.signal })
    const pending = streamSse(call, plainDecoder()).next()
    controller.abort()
    await expect(pending).rejects.toMatchObject({ reason: 'cancelled' })
  })

  test('is left all the same in the middle of its body', async () => {
    const { fetch, cancelled } = deaf()
    const controller = new AbortController()
    const call = callTo('http://acme', { fetch, signal: controller.signal })
    const stream = streamSse(call, plainDecoder())
    await stream.next()
    const pending = stream.next()
    controller.abort()
    expect((await pending).value).toMatchObject([{ error: { reason: 'cancelled' } }])
    expect(cancelled).toHaveLength(1)
  })

  test('is left all the same by whoever goes while a batch is awaited', async () => {
    const { fetch, cancelled } = deaf()
    const stream = streamSse(callTo('http://acme', { fetch }), plainDecoder())
    await stream.next()
    const pending = stream.next()
    await stream.return()
    expect(await pending).toEqual({ done: true, value: undefined })
    expect(cancelled).toHaveLength(1)
  })

  test('is not called when the signal is aborted beforehand', async () => {
    const fetch = () => Promise.reject(new Error('called'))
    const call = callTo('http://acme', { fetch, signal: AbortSignal.abort() })
    await expect(streamSse(call, plainDecoder()).next()).rejects.toMatchObject({
      reason: 'cancelled',
    })
  })
})
