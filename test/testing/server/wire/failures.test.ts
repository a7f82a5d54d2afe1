import { describe, expect, test } from 'vitest'
import { renderWire } from '../../../../src/server.ts'
import type { HarnessEntry, Script } from '../../../../src/testing.ts'
import type { WireFormat } from '../../../../src/testing/server/wire-format.ts'
import { wireBody, wireEvents } from './decode.ts'

function refusal(format: WireFormat, reason: string, details: HarnessEntry[2] = {}) {
  const script = [['preflight_error', reason, details]] as Script
  return { ...renderWire(format, script), body: wireBody(format, script) }
}

describe('as a refusal', () => {
  test.each([
    ['authentication_failed', 401, 'invalid_request_error', 'invalid_api_key'],
    ['rate_limited', 429, 'requests', 'rate_limit_exceeded'],
    ['invalid_request', 400, 'invalid_request_error', null],
    ['content_filter', 400, 'invalid_request_error', 'content_filter'],
    ['context_length_exceeded', 400, 'invalid_request_error', 'context_length_exceeded'],
    ['provider_unavailable', 503, 'server_error', 'server_error'],
    ['no_scripted_response', 501, 'server_error', 'no_scripted_response'],
  ])('OpenAI says %s with %s, %s, %s', (reason, status, type, code) => {
    const answer = refusal('openai_chat', reason)
    expect(answer.status).toBe(status)
    expect(answer.body).toMatchObject({ error: { type, code, param: null } })
    expect(answer.headers).toMatchObject({ 'x-request-id': 'req_fake1' })
  })

  test.each([
    ['authentication_failed', 401, 'authentication_error'],
    ['rate_limited', 429, 'rate_limit_error'],
    ['invalid_request', 400, 'invalid_request_error'],
    ['provider_unavailable', 529, 'overloaded_error'],
    ['no_scripted_response', 501, 'api_error'],
  ])('Anthropic says %s with %s, %s', (reason, status, type) => {
    const answer = refusal('anthropic', reason)
    expect(answer.status).toBe(status)
    expect(answer.body).toMatchObject({ type: 'error', error: { type }, request_id: 'req_fake1' })
    expect(answer.headers).toMatchObject({ 'request-id': 'req_fake1' })
  })

  test.each([
    ['authentication_failed', 400, 'INVALID_ARGUMENT'],
    ['rate_limited', 429, 'RESOURCE_EXHAUSTED'],
    ['invalid_request', 400, 'INVALID_ARGUMENT'],
    ['provider_unavailable', 503, 'UNAVAILABLE'],
    ['no_scripted_response', 501, 'UNIMPLEMENTED'],
  ])('Gemini says %s with %s, %s', (reason, status, word) => {
    const answer = refusal('gemini', reason)
    expect(answer.status).toBe(status)
    expect(answer.body).toMatchObject({ error: { code: status, status: word } })
  })

  test('the message and the status of the script stand', () => {
    const details = { message: 'no more', status: 500 }

    expect(refusal('openai_responses', 'provider_unavailable', details)).toMatchObject({
      status: 500,
      body: { error: { message: 'no more' } },
    })
    expect(refusal('anthropic', 'provider_unavailable', details)).toMatchObject({
      status: 500,
      body: { error: { type: 'api_error', message: 'no more' } },
    })
    expect(refusal('gemini', 'provider_unavailable', details)).toMatchObject({
      status: 500,
      body: { error: { code: 500, status: 'INTERNAL', message: 'no more' } },
    })
  })

  test('a message that alone tells the reason is kept beside that of the script', () => {
    const { body } = refusal('anthropic', 'context_length_exceeded', { message: 'my own' })
    expect(body).toMatchObject({
      error: { message: expect.stringMatching(/too long.*\(my own\)/) },
    })
  })

  test('how long to wait is where the provider says it', () => {
    const details = { retryAfterMs: 1500 }

    expect(refusal('openai_chat', 'rate_limited', details).headers).toMatchObject({
      'retry-after': '2',
      'retry-after-ms': '1500',
    })
    expect(refusal('anthropic', 'rate_limited', { retryAfterMs: 3000 }).headers).toEqual({
      'content-type': 'application/json',
      'request-id': 'req_fake1',
      'retry-after': '3',
    })
    expect(refusal('gemini', 'rate_limited', details).body).toMatchObject({
      error: { details: [{ '@type': expect.stringContaining('RetryInfo'), retryDelay: '1.5s' }] },
    })
  })

  test('the request id of the script is that of the answer', () => {
    const { headers, body } = refusal('anthropic', 'rate_limited', { requestId: 'req_abc' })
    expect(headers).toMatchObject({ 'request-id': 'req_abc' })
    expect(body).toMatchObject({ request_id: 'req_abc' })
  })

  test('a key that is not valid has the detail by which Gemini names it', () => {
    expect(refusal('gemini', 'authentication_failed').body).toMatchObject({
      error: { details: [{ reason: 'API_KEY_INVALID' }] },
    })
  })
})

describe('inside a stream', () => {
  const script: Script = [
    ['text', 'Par'],
    ['error', 'rate_limited'],
  ]

  test('Chat Completions sends an error instead of a chunk, and no end marker', () => {
    expect(wireEvents('openai_chat', script).at(-1)).toEqual({
      error: {
        message: 'Rate limit reached.',
        type: 'requests',
        param: null,
        code: 'rate_limit_exceeded',
      },
    })
  })

  test('Responses sends an error and a response that failed', () => {
    expect(wireEvents('openai_responses', script).slice(-2)).toMatchObject([
      { type: 'error', error: { code: 'rate_limit_exceeded' } },
      {
        type: 'response.failed',
        response: { status: 'failed', error: { code: 'rate_limit_exceeded' } },
      },
    ])
  })

  test('Anthropic sends an error event', () => {
    expect(wireEvents('anthropic', script).at(-1)).toMatchObject({
      type: 'error',
      error: { type: 'rate_limit_error' },
    })
  })

  test('Gemini sends an error instead of a chunk, and never as the first', () => {
    expect(wireEvents('gemini', script).at(-1)).toMatchObject({
      error: { code: 429, status: 'RESOURCE_EXHAUSTED' },
    })
    expect(wireEvents('gemini', [['error', 'rate_limited']])[0]).toHaveProperty('candidates')
  })

  test('without a stream it is a refusal', () => {
    expect(renderWire('anthropic', script).status).toBe(429)
  })

  test('OpenAI says how long to wait in its sentence', () => {
    const late: Script = [['error_event', 'rate_limited', { retryAfterMs: 500 }]]
    expect(wireEvents('openai_chat', late).at(-1)).toMatchObject({
      error: { message: 'Rate limit reached. Please try again in 0.5s.' },
    })
  })
})
