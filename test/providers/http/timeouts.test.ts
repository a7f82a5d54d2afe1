import { expect, test } from 'vitest'
import { postForJson } from '../../../src/providers/http/post.ts'
import { virtualClock } from '../../../src/testing/fakes/virtual-clock.ts'
import { serveByHand, sse, startSse } from '../../support/http-server.ts'
import { callTo, streamItems } from './call.ts'

test('without a response within requestTimeoutMs the call fails, and the connection is closed', async () => {
  await using slow = await serveByHand()
  const clock = virtualClock({ auto: false })
  const call = callTo(slow.server.url, { clock, requestTimeoutMs: 1000 })
  const pending = streamItems(call).next()
  const failed = expect(pending).rejects.toMatchObject({
    kind: 'adapter',
    reason: 'timeout',
    retryable: true,
  })
  await slow.answer
  await clock.advance(999)
  expect(clock.pending).toBe(1)
  await clock.advance(1)
  await failed
  await slow.server.hungUp()
})

test('requestTimeoutMs applies until the first event; headers and comments are not events', async () => {
  await using slow = await serveByHand()
  const clock = virtualClock({ auto: false })
  const call = callTo(slow.server.url, { clock, requestTimeoutMs: 1000, streamTimeoutMs: 5000 })
  const pending = streamItems(call).next()
  const failed = expect(pending).rejects.toMatchObject({ reason: 'timeout' })
  startSse(await slow.answer, ': working on it\n\n')
  await clock.advance(1000)
  await failed
})

test('a timeout error is the last event when nothing arrives for streamTimeoutMs', async () => {
  await using slow = await serveByHand()
  const clock = virtualClock({ auto: false })
  const call = callTo(slow.server.url, { clock, requestTimeoutMs: 50, streamTimeoutMs: 1000 })
  const stream = streamItems(call)
  const first = stream.next()
  startSse(await slow.answer, sse('a'))
  expect((await first).value).toEqual(['a'])
  const second = stream.next()
  await clock.advance(1000)
  expect((await second).value).toMatchObject([{ error: { kind: 'adapter', reason: 'timeout' } }])
  expect((await stream.next()).done).toBe(true)
  await slow.server.hungUp()
  expect(clock.pending).toBe(0)
})

test('whatever arrives ends a silence: events without items, comments, half an event', async () => {
  await using slow = await serveByHand()
  const clock = virtualClock({ auto: false })
  let reads = 0
  const onActivity = (): void => void reads++
  const call = callTo(slow.server.url, { clock, streamTimeoutMs: 1000, onActivity })
  const stream = streamItems(call)
  const first = stream.next()
  const answer = await slow.answer
  startSse(answer, sse('a'))
  await first
  const last = stream.next()
  for (const [index, sign] of [sse('SKIP'), ': still here\n\n', 'data: ha'].entries()) {
    await clock.advance(900)
    answer.write(sign)
    await expect.poll(() => reads).toBe(index + 2)
  }
  await clock.advance(999)
  expect(clock.pending).toBe(1)
  await clock.advance(1)
  expect((await last).value).toMatchObject([{ error: { kind: 'adapter', reason: 'timeout' } }])
})

test('streamTimeoutMs counts only after the first content', async () => {
  await using slow = await serveByHand()
  const clock = virtualClock({ auto: false })
  const call = callTo(slow.server.url, { clock, streamTimeoutMs: 1000 })
  const first = streamItems(call).next()
  const answer = await slow.answer
  startSse(answer, sse('SKIP'))
  await clock.advance(100_000)
  answer.write(sse('a'))
  expect((await first).value).toEqual(['a'])
})

test('the idle timer does not run while a slow consumer is not reading', async () => {
  await using slow = await serveByHand()
  const clock = virtualClock({ auto: false })
  const call = callTo(slow.server.url, { clock, streamTimeoutMs: 1000 })
  const stream = streamItems(call)
  const first = stream.next()
  const answer = await slow.answer
  startSse(answer, sse('a'))
  await first
  await clock.advance(60_000)
  answer.end(sse('b', 'END'))
  expect((await stream.next()).value).toEqual(['b'])
  expect((await stream.next()).done).toBe(true)
})

test('a response that is not streamed must be complete within requestTimeoutMs', async () => {
  await using slow = await serveByHand()
  const clock = virtualClock({ auto: false })
  const pending = postForJson(callTo(slow.server.url, { clock, requestTimeoutMs: 1000 }))
  const failed = expect(pending).rejects.toMatchObject({ kind: 'adapter', reason: 'timeout' })
  const answer = await slow.answer
  answer.writeHead(200).write('{"half":')
  await clock.advance(1000)
  await failed
  await slow.server.hungUp()
})

test.each<[string, Error, string]>([
  ['UND_ERR_HEADERS_TIMEOUT', undiciError('UND_ERR_HEADERS_TIMEOUT'), 'timeout'],
  ['UND_ERR_CONNECT_TIMEOUT', undiciError('UND_ERR_CONNECT_TIMEOUT'), 'timeout'],
  ['a TimeoutError', new DOMException('too slow', 'TimeoutError'), 'timeout'],
  ['ECONNRESET', undiciError('ECONNRESET'), 'network_error'],
  ['anything else', new TypeError('fetch failed'), 'network_error'],
])('%s of the platform’s fetch is %s', async (_name, error, reason) => {
  const call = callTo('http://acme', { fetch: () => Promise.reject(error) })
  await expect(streamItems(call).next()).rejects.toMatchObject({
    kind: 'adapter',
    reason,
  })
})

test('a timeout of the platform in the middle of a body is a StreamError that names the runtime', async () => {
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (sent) controller.error(undiciError('UND_ERR_BODY_TIMEOUT'))
      else controller.enqueue(new TextEncoder().encode(sse('a')))
      sent = true
    },
  })
  let sent = false
  const call = callTo('http://acme', { fetch: () => Promise.resolve(new Response(body)) })
  const stream = streamItems(call)
  await stream.next()
  expect((await stream.next()).value).toMatchObject([
    { error: { kind: 'stream', reason: 'timeout', message: expect.stringContaining('runtime') } },
  ])
})

function undiciError(code: string): Error {
  const cause = Object.assign(new Error(`undici: ${code}`), { code })
  return new TypeError('fetch failed', { cause })
}
