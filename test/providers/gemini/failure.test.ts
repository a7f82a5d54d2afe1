import { describe, expect, test } from 'vitest'
import { parseJson } from '../../../src/core/types/guards.ts'
import { parseFailure } from '../../../src/providers/gemini/failure.ts'
import { eventsOf, generated, stubbed } from './support.ts'

interface GoogleError {
  readonly code?: number
  readonly message?: string
  readonly status?: string
  readonly details?: readonly object[]
}

const failure = (status: number, body: unknown) => {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return parseFailure({ status, body: text, json: parseJson(text), headers: new Headers(), now: 0 })
}

const details = (...items: readonly object[]): GoogleError => ({ message: 'No.', details: items })

describe('the reason of a failed response', () => {
  test.each([
    [400, 'Invalid value.', 'invalid_request', false],
    [400, 'API key not valid. Please pass a valid API key.', 'authentication_failed', false],
    [400, 'API key expired. Please renew the API key.', 'authentication_failed', false],
    [
      400,
      'The input token count (9) exceeds the maximum number of tokens allowed (8).',
      'context_length_exceeded',
      false,
    ],
    [400, "The prompt violates Google's Responsible AI practices.", 'content_filter', false],
    [401, 'Who?', 'authentication_failed', false],
    [403, 'No.', 'authentication_failed', false],
    [404, 'models/x is not found', 'invalid_request', false],
    [408, 'Late.', 'timeout', true],
    [413, 'Too large.', 'invalid_request', false],
    [429, 'Quota.', 'rate_limited', true],
    [499, 'Cancelled.', 'unknown', false],
    [500, 'Internal.', 'provider_unavailable', true],
    [502, 'Gateway.', 'provider_unavailable', true],
    [503, 'Overloaded.', 'provider_unavailable', true],
    [504, 'Late.', 'provider_unavailable', true],
    [529, 'Overloaded.', 'provider_unavailable', true],
    [418, 'Teapot.', 'unknown', false],
  ])('%i "%s" is %s', async (status, message, reason, retryable) => {
    const body = JSON.stringify({ error: { code: status, message, status: 'WORD' } })
    const expected = {
      kind: 'adapter',
      reason,
      status,
      message,
      retryable,
      provider: 'gemini',
      requestId: 'run',
      metadata: { googleStatus: 'WORD' },
    }
    await expect(eventsOf(stubbed({ body, status }).adapter)).rejects.toMatchObject(expected)
    await expect(generated(stubbed({ body, status }).adapter)).rejects.toMatchObject(expected)
  })

  test.each([
    ['GenerateRequestsPerDayPerProjectPerModel-FreeTier', false],
    ['GenerateRequestsPerMinutePerProjectPerModel-FreeTier', undefined],
  ])('a used-up quota %s is tried again: %s', (quotaId, retryable) => {
    const error = details(
      { '@type': 'type.googleapis.com/google.rpc.QuotaFailure', violations: [{ quotaId }] },
      { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '7s' },
    )
    const read = failure(429, { error })
    expect(read).toMatchObject({ reason: 'rate_limited', retryAfterMs: 7000 })
    expect(read.retryable).toBe(retryable)
  })

  test('an error in a list is read like a single one', () => {
    const error = { code: 429, message: 'Quota.', status: 'RESOURCE_EXHAUSTED' }
    expect(failure(429, [{ error }])).toEqual(failure(429, { error }))
  })

  test('the details of an error identify a bad key', () => {
    const error = details({
      '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
      reason: 'API_KEY_INVALID',
    })
    expect(failure(400, { error }).reason).toBe('authentication_failed')
  })

  test.each([
    ['34.4s', 34_400],
    ['48.939935699s', 48_940],
    ['0s', 0],
    ['soon', undefined],
  ])('a retry delay of %s is %s ms', (retryDelay, ms) => {
    const error = details({ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay })
    expect(failure(429, { error }).retryAfterMs).toBe(ms)
  })

  test('a header takes precedence over the retry delay in the body', async () => {
    const body = JSON.stringify({ error: details({ retryDelay: '9s' }) })
    const headers = { 'retry-after': '2' }
    const { adapter } = stubbed({ body, status: 429, headers })
    await expect(eventsOf(adapter)).rejects.toMatchObject({ retryAfterMs: 2000 })
  })

  test('a header of 0 does not hide the retry delay in the body', async () => {
    const body = JSON.stringify({ error: details({ retryDelay: '9s' }) })
    const { adapter } = stubbed({ body, status: 429, headers: { 'retry-after': '0' } })
    await expect(eventsOf(adapter)).rejects.toMatchObject({ retryAfterMs: 9000 })
  })

  test('an error may be its message alone', () => {
    expect(failure(503, '{"error":"no"}')).toMatchObject({
      reason: 'provider_unavailable',
      message: 'no',
    })
  })

  test.each(['<html>Not found</html>', '', '[]', '{"error":7}', 'null'])(
    'without a readable error (%s) the status gives the reason',
    async (body) => {
      const { adapter } = stubbed({ body, status: 503, headers: { 'retry-after': '1' } })
      await expect(eventsOf(adapter)).rejects.toMatchObject({
        reason: 'provider_unavailable',
        retryAfterMs: 1000,
      })
    },
  )

  test.each([
    ['RESOURCE_EXHAUSTED', 'rate_limited'],
    ['UNAVAILABLE', 'provider_unavailable'],
    ['PERMISSION_DENIED', 'authentication_failed'],
    ['INVALID_ARGUMENT', 'invalid_request'],
    ['SOMETHING_NEW', 'provider_unavailable'],
  ])('inside a stream the status %s gives the reason', async (status, reason) => {
    const body = `data: ${JSON.stringify({ error: { message: 'No.', status } })}\n\n`
    await expect(eventsOf(stubbed({ body }).adapter)).rejects.toMatchObject({ reason })
  })

  test('an error that is only a text is the message', async () => {
    const body = 'data: {"error":"boom"}\n\n'
    await expect(eventsOf(stubbed({ body }).adapter)).rejects.toMatchObject({ message: 'boom' })
  })
})

describe('the key', () => {
  const apiKey = 'a-key-of-no-known-shape'

  test.each([
    [
      'a refusal',
      {
        status: 400,
        body: JSON.stringify({
          error: { code: 400, message: `bad key ${apiKey}`, details: [{ key: apiKey }] },
        }),
      },
    ],
    [
      'an error in the stream',
      {
        body: `data: ${JSON.stringify({ error: { code: 400, message: `bad key ${apiKey}`, details: [{ key: apiKey }] } })}\n\n`,
      },
    ],
  ])('is removed from %s that repeats it', async (_name, answer) => {
    const { adapter } = stubbed(answer, { apiKey })
    const problem = await eventsOf(adapter).catch((error: unknown) => error)
    expect(problem).toMatchObject({ message: 'bad key [redacted]' })
    expect(JSON.stringify(problem)).not.toContain(apiKey)
  })
})
