import { getEventListeners } from 'node:events'
import type { ServerResponse } from 'node:http'
import { createServer } from 'node:net'
import { describe, expect, test } from 'vitest'
import { streamHttp } from '../../../src/providers/http/stream-http.ts'
import { parseChunk } from '../../../src/providers/shared/read-json.ts'
import { sendSse, serve, serveByHand, sse, startSse } from '../../support/http-server.ts'
import { callTo, readItems, streamItems, watched, type Item } from './call.ts'

test('nothing is sent before the first next(), and return() before it sends nothing', async () => {
  await using server = await serve((_request, response) => sendSse(response, sse('END')))
  const stream = streamItems(callTo(server.url))
  await stream.return()
  expect(await stream.next()).toEqual({ done: true, value: undefined })
  expect(server.requests).toEqual([])
})

test('a call can be built at the first next(), and a failure to build it is thrown', async () => {
  await using server = await serve((_request, response) => sendSse(response, sse('a', 'END')))
  let made = 0
  const make = async () => {
    made++
    return callTo(server.url)
  }
  const stream = streamItems(make)
  expect(made).toBe(0)
  expect(await readItems(stream)).toEqual(['a'])
  const failing = streamItems(() => Promise.reject(new Error('no key')))
  await expect(failing.next()).rejects.toThrow('no key')
})

test('each network read is one batch, whatever it contains', async () => {
  let answer: ServerResponse | undefined
  await using server = await serve((_request, response) => {
    answer = response
    startSse(response, sse('a', 'b', 'c'))
  })
  const stream = streamItems(callTo(server.url))
  expect((await stream.next()).value).toEqual(['a', 'b', 'c'])
  answer?.write('data: d')
  answer?.end('\n\ndata: END\n\n')
  expect(await readItems(stream)).toEqual(['d'])
})

test('leaving early closes the connection', async () => {
  await using server = await serve((_request, response) => startSse(response, sse('a')))
  for await (const batch of streamItems(callTo(server.url))) {
    expect(batch).toEqual(['a'])
    break
  }
  await server.hungUp()
})

test('return() while a batch is pending closes the connection and ends the pending next()', async () => {
  await using server = await serve((_request, response) => startSse(response, sse('a')))
  const stream = streamItems(callTo(server.url))
  await stream.next()
  const pending = stream.next()
  await stream.return()
  expect(await pending).toEqual({ done: true, value: undefined })
  await server.hungUp()
})

test('calls of next() that do not wait for one another are answered in order', async () => {
  await using server = await serve((_request, response) => sendSse(response, sse('a', 'END')))
  const stream = streamItems(callTo(server.url))
  const steps = await Promise.all([stream.next(), stream.next(), stream.next()])
  expect(steps.map(({ done }) => done)).toEqual([false, true, true])
  expect(steps[0].value).toEqual(['a'])
})

test('queued calls of next() end with a stream that is left', async () => {
  await using server = await serve((_request, response) => startSse(response, sse('a')))
  const stream = streamItems(callTo(server.url))
  await stream.next()
  const pending = [stream.next(), stream.next()]
  await stream.return()
  expect(await Promise.all(pending)).toEqual([over, over])
  expect(await stream.next()).toEqual(over)
  await server.hungUp()
})

const over = { done: true, value: undefined }

test('throw() ends the stream with the given error and closes the connection', async () => {
  await using server = await serve((_request, response) => startSse(response, sse('a')))
  const stream = streamHttp(callTo(server.url), (sink) => ({
    push: (delta) => sink.emit({ type: 'text_delta', delta }),
  }))
  await stream.next()
  const pending = stream.next()
  await expect(stream.throw(new Error('enough'))).rejects.toThrow('enough')
  expect(await pending).toEqual(over)
  await server.hungUp()
})

test('what a callback of the caller throws ends the stream, and the connection is closed at once', async () => {
  let answer: ServerResponse | undefined
  await using server = await serve((_request, response) => {
    answer = response
    startSse(response, sse('a'))
  })
  let signs = 0
  const onActivity = (): void => {
    signs++
    if (signs > 1) throw new Error('a mistake in the callback')
    answer?.write(sse('b'))
  }
  const stream = streamItems(callTo(server.url, { onActivity }))
  expect((await stream.next()).value).toEqual(['a'])
  expect((await stream.next()).value).toMatchObject([
    { error: { message: expect.stringContaining('a mistake in the callback') } },
  ])
  await server.hungUp()
  expect(await stream.next()).toEqual(over)
})

test('return() while the response is pending closes the connection', async () => {
  await using slow = await serveByHand()
  const stream = streamItems(callTo(slow.server.url))
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
  for await (const batch of streamItems(call)) {
    items.push(...batch)
    controller.abort(new Error('enough'))
  }
  expect(items).toMatchObject(['a', { error: { kind: 'stream', reason: 'cancelled' } }])
  await server.hungUp()
})

test('a signal that is already aborted sends nothing', async () => {
  await using server = await serve((_request, response) => sendSse(response, sse('END')))
  const call = callTo(server.url, { signal: AbortSignal.abort() })
  await expect(streamItems(call).next()).rejects.toMatchObject({
    kind: 'stream',
    reason: 'cancelled',
  })
  expect(server.requests).toEqual([])
})

test('a body that ends without its end marker is truncated', async () => {
  await using server = await serve((_request, response) => sendSse(response, sse('a', 'b')))
  const items = await readItems(streamItems(callTo(server.url)))
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
  const items = await readItems(streamItems(callTo(server.url)))
  expect(items).toMatchObject(['a', { error: { kind: 'stream', reason: 'truncated' } }])
  expect(JSON.stringify(items[1])).toContain(
    'the connection to acme broke while the answer was being read: ',
  )
})

test.each<[string, string, (response: ServerResponse) => void]>([
  ['nothing at all', 'stream truncated', (response) => sendSse(response, '')],
  ['events without items', 'stream truncated', (response) => sendSse(response, sse('SKIP'))],
  ['no events', 'adapter malformed_response', (response) => response.end('hello')],
  [
    'a page',
    'adapter malformed_response',
    (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html>'),
  ],
  ['no body', 'adapter malformed_response', (response) => response.writeHead(204).end()],
  [
    'an event that cannot be decoded',
    'adapter malformed_response',
    (response) => sendSse(response, sse('BAD')),
  ],
  ['a broken connection', 'adapter network_error', (response) => response.destroy()],
])('a stream that begins with %s throws %s', async (_name, failure, answer) => {
  await using server = await serve((_request, response) => answer(response))
  const error: unknown = await streamItems(callTo(server.url))
    .next()
    .catch((thrown: unknown) => thrown)
  const [kind, reason] = failure.split(' ')
  expect(error).toMatchObject({ kind, reason, provider: 'acme', requestId: 'run' })
})

test('the items before an event that cannot be decoded are emitted', async () => {
  await using server = await serve((_request, response) => sendSse(response, sse('a', 'BAD', 'b')))
  expect(await readItems(streamItems(callTo(server.url)))).toMatchObject([
    'a',
    { error: { kind: 'stream', reason: 'malformed_event', eventIndex: 1 } },
  ])
})

test.each([
  ['null', 'it is JSON, but not an object: null'],
  ['[]', 'it is JSON, but not an object: []'],
  ['nothing', 'it is not JSON: nothing'],
])('an event %s is refused for what it is', async (data, problem) => {
  await using server = await serve((_request, response) => sendSse(response, sse(data)))
  const stream = streamHttp(callTo(server.url), () => ({ push: (text) => void parseChunk(text) }))
  await expect(stream.next()).rejects.toMatchObject({
    reason: 'malformed_response',
    message: expect.stringContaining(problem),
  })
})

test('a server that does not exist is a network error', async () => {
  const closed = createServer()
  await new Promise<void>((resolve) => closed.listen(0, '127.0.0.1', resolve))
  const address = closed.address()
  await new Promise((resolve) => closed.close(resolve))
  const port = typeof address === 'object' ? address?.port : 0
  const stream = streamItems(callTo(`http://127.0.0.1:${port}`))
  await expect(stream.next()).rejects.toMatchObject({
    reason: 'network_error',
    retryable: true,
    metadata: { code: 'ECONNREFUSED' },
  })
})

test('a connection is reused after a stream that was read to its end', async () => {
  await using server = await serve((_request, response) => sendSse(response, sse('a', 'END')))
  for (let calls = 0; calls < 5; calls++) {
    await readItems(streamItems(callTo(server.url)))
    await new Promise((resolve) => setImmediate(resolve))
  }
  expect(server.requests).toHaveLength(5)
  expect(server.connections).toBeLessThan(5)
})

test('a call is not aborted when its body has ended by itself, and leaves no listener behind', async () => {
  await using server = await serve((_request, response) => sendSse(response, sse('a', 'END')))
  const { signal } = new AbortController()
  const { fetch, sent } = watched()
  expect(await readItems(streamItems(callTo(server.url, { signal, fetch })))).toEqual(['a'])
  await expect.poll(() => getEventListeners(signal, 'abort')).toEqual([])
  expect(sent.map(({ aborted }) => aborted)).toEqual([false])
})

test('a call is aborted when its stream is left, or when its body goes on after the end marker', async () => {
  await using server = await serve((_request, response) => {
    startSse(response, sse('a'))
    response.write(sse('END'))
  })
  const { fetch, sent } = watched()
  await readItems(streamItems(callTo(server.url, { fetch })))
  const left = streamItems(callTo(server.url, { fetch }))
  await left.next()
  await left.return()
  await expect.poll(() => sent.map(({ aborted }) => aborted)).toEqual([true, true])
})

test('a server that keeps the connection open after the end marker does not delay the end of the stream', async () => {
  await using server = await serve((_request, response) => startSse(response, sse('a', 'END')))
  expect(await readItems(streamItems(callTo(server.url)))).toEqual(['a'])
})

test('a character whose bytes are split across chunks is decoded correctly', async () => {
  const bytes = Buffer.from(sse('häß 😀', 'END'))
  for (let at = 1; at < bytes.length; at++) {
    const pieces = [bytes.subarray(0, at), bytes.subarray(at)]
    const fetch = () => Promise.resolve(new Response(new Blob(pieces).stream()))
    const items = await readItems(streamItems(callTo('http://acme', { fetch })))
    expect(items).toEqual(['häß 😀'])
  }
})

describe('a fetch that ignores its signal', () => {
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

  test('is abandoned when its response does not arrive', async () => {
    const controller = new AbortController()
    const fetch = () => new Promise<Response>(() => undefined)
    const call = callTo('http://acme', { fetch, signal: controller.signal })
    const pending = streamItems(call).next()
    controller.abort()
    await expect(pending).rejects.toMatchObject({ reason: 'cancelled' })
  })

  test('is abandoned in the middle of its body', async () => {
    const { fetch, cancelled } = deaf()
    const controller = new AbortController()
    const call = callTo('http://acme', { fetch, signal: controller.signal })
    const stream = streamItems(call)
    await stream.next()
    const pending = stream.next()
    controller.abort()
    expect((await pending).value).toMatchObject([{ error: { reason: 'cancelled' } }])
    expect(cancelled).toHaveLength(1)
  })

  test('is abandoned by return() while a batch is pending', async () => {
    const { fetch, cancelled } = deaf()
    const stream = streamItems(callTo('http://acme', { fetch }))
    await stream.next()
    const pending = stream.next()
    await stream.return()
    expect(await pending).toEqual({ done: true, value: undefined })
    expect(cancelled).toHaveLength(1)
  })

  test('is not called when the signal is already aborted', async () => {
    const fetch = () => Promise.reject(new Error('called'))
    const call = callTo('http://acme', { fetch, signal: AbortSignal.abort() })
    await expect(streamItems(call).next()).rejects.toMatchObject({
      reason: 'cancelled',
    })
  })
})

test('headers that are undefined, as an engine passes them, count as left out', async () => {
  await using server = await serve((_request, response) => sendSse(response, sse('a', 'END')))
  const stream = streamItems(callTo(server.url, { headers: undefined, apiKey: undefined }))
  expect(await readItems(stream)).toEqual(['a'])
})
