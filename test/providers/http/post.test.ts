import { expect, test } from 'vitest'
import { AdapterError } from '../../../src/core/errors/errors.ts'
import type { Refusal } from '../../../src/providers/http/call.ts'
import { postForJson } from '../../../src/providers/http/post.ts'
import { sendJson, serve } from '../../support/http-server.ts'
import { callTo, watched } from './call.ts'

/** The error that a call fails with. */
async function failureOf(pending: Promise<unknown>): Promise<AdapterError> {
  const error = await pending.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof AdapterError)) throw new Error(`not an AdapterError: ${String(error)}`)
  return error
}

test('a response is returned as a whole, with its status and headers', async () => {
  await using server = await serve((_request, response) =>
    sendJson(response, { a: 1 }, { status: 201, headers: { 'x-request-id': 'req_1' } }),
  )
  const answer = await postForJson(callTo(`${server.url}/v1/x?y=1`, { body: '{"b":2}' }))
  expect(answer).toMatchObject({ value: { a: 1 }, status: 201 })
  expect(answer.headers.get('x-request-id')).toBe('req_1')
  expect(server.requests).toMatchObject([{ method: 'POST', path: '/v1/x?y=1', body: '{"b":2}' }])
})

test('a call is not aborted when its answer has come, and is when it has failed', async () => {
  await using server = await serve(({ body }, response) => {
    if (body === '{}') sendJson(response, { a: 1 })
    else response.end('<html>')
  })
  const { fetch, sent } = watched()
  await postForJson(callTo(server.url, { fetch }))
  await failureOf(postForJson(callTo(server.url, { fetch, body: '' })))
  expect(sent.map(({ aborted }) => aborted)).toEqual([false, true])
})

test('a body that is not JSON is a malformed response', async () => {
  await using server = await serve((_request, response) => response.end('<html>'))
  const error = await failureOf(postForJson(callTo(server.url)))
  expect(error).toMatchObject({ reason: 'malformed_response', status: 200 })
  expect(error.message).toContain('<html>')
})

test('a redirect is refused, and nothing is sent to its target', async () => {
  await using elsewhere = await serve((_request, response) => sendJson(response, {}))
  await using server = await serve((_request, response) =>
    response.writeHead(307, { location: elsewhere.url }).end(),
  )
  const error = await failureOf(postForJson(callTo(server.url)))
  expect(error).toMatchObject({ reason: 'invalid_request', status: 307 })
  expect(error.message).toContain('redirect')
  expect(elsewhere.requests).toEqual([])
})

test('the provider classifies an error response by its status, body and headers', async () => {
  await using server = await serve((_request, response) =>
    sendJson(response, 'slow down', { status: 429, headers: { 'retry-after': '2' } }),
  )
  const parseFailure = ({ status, body }: Refusal) => ({
    reason: 'rate_limited' as const,
    message: `${status} ${body}`,
  })
  const error = await failureOf(postForJson(callTo(server.url, { parseFailure })))
  expect(error.toJSON()).toEqual({
    kind: 'adapter',
    reason: 'rate_limited',
    message: '429 "slow down"',
    provider: 'acme',
    requestId: 'run',
    status: 429,
    retryAfterMs: 2000,
    retryable: true,
  })
})

test('an error response is read up to a limit, and then the connection is closed', async () => {
  await using server = await serve((_request, response) => {
    response.writeHead(500)
    const more = (): void => {
      while (!response.destroyed && response.write('x'.repeat(16 * 1024)));
      response.once('drain', more)
    }
    more()
  })
  const error = await failureOf(postForJson(callTo(server.url)))
  await server.hungUp()
  expect(error).toMatchObject({ status: 500 })
  expect(error.message).toHaveLength(64 * 1024)
})

test('a key that an error response echoes is redacted, whatever it looks like', async () => {
  await using server = await serve((_request, response) =>
    response.writeHead(401).end('your key is hidden-word, is it not?'),
  )
  const error = await failureOf(postForJson(callTo(server.url)))
  expect(error.message).toBe('your key is [redacted], is it not?')
  expect(JSON.stringify(error)).not.toContain('hidden-word')
  expect(error.metadata).toEqual({
    echo: 'your key is [redacted], is it not?',
    nested: [{ echo: 'your key is [redacted], is it not?' }],
  })
})

test('a header that cannot be sent is refused, and the error does not show its value', async () => {
  const headers = { authorization: 'Bearer hidden-word\nx-evil: 1' }
  const error = await failureOf(postForJson(callTo('http://127.0.0.1:9', { headers })))
  expect(error).toMatchObject({ reason: 'invalid_request' })
  expect(error.message).toContain('authorization')
  expect(`${error.message}${String(error.cause)}${JSON.stringify(error)}`).not.toContain('hidden')
})

test('headers are taken as fetch takes them: an end of line around a key is dropped, a sign beyond Latin-1 is refused', async () => {
  let sent: unknown
  await using server = await serve((request, response) => {
    sent = request.headers['authorization']
    sendJson(response, {})
  })
  await postForJson(callTo(server.url, { headers: { authorization: 'Bearer caf\u00e9-key\n' } }))
  expect(sent).toBe('Bearer caf\u00e9-key')
  for (const headers of [
    { 'x-a': 'a \u2013 b' },
    { 'x-a': 'a\u0000b' },
    { 'x a': 'b' },
    { '': 'b' },
  ]) {
    const error = await failureOf(postForJson(callTo('http://127.0.0.1:9', { headers })))
    expect(error).toMatchObject({ reason: 'invalid_request' })
  }
})
