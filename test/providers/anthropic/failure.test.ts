import { describe, expect, test } from 'vitest'
import { collectEventsSync } from '../../../src/core/answer/fold-answer.ts'
import type { AdapterError } from '../../../src/core/errors/errors.ts'
import { decode, eventsOf, head, named, request, stubbed, text } from './support.ts'

function refusal(type: string, message: string): string {
  return JSON.stringify({ type: 'error', error: { type, message }, request_id: 'req_body' })
}

/** The error with which both `stream` and `generate` fail. */
async function failure(
  body: string,
  status: number,
  headers: Record<string, string> = {},
): Promise<AdapterError> {
  const { adapter } = stubbed({ body, status, headers })
  const streamed: unknown = await eventsOf(adapter).catch((error: unknown) => error)
  const whole: unknown = await adapter
    .generate?.(request(), { requestId: 'run' })
    .catch((error: unknown) => error)
  expect(JSON.parse(JSON.stringify(whole))).toEqual(JSON.parse(JSON.stringify(streamed)))
  return streamed as AdapterError
}

describe('a refusal', () => {
  test.each([
    [400, 'invalid_request_error', 'max_tokens: must be positive', 'invalid_request', false],
    [
      400,
      'invalid_request_error',
      'prompt is too long: 3333404 tokens > 200000 maximum',
      'context_length_exceeded',
      false,
    ],
    [
      400,
      'invalid_request_error',
      'input length and `max_tokens` exceed context limit',
      'context_length_exceeded',
      false,
    ],
    [
      400,
      'invalid_request_error',
      'Output blocked by content filtering policy',
      'content_filter',
      false,
    ],
    [401, 'authentication_error', 'invalid x-api-key', 'authentication_failed', false],
    [402, 'billing_error', 'no credit', 'authentication_failed', false],
    [
      400,
      'invalid_request_error',
      'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing.',
      'authentication_failed',
      false,
    ],
    [403, 'permission_error', 'not yours', 'authentication_failed', false],
    [404, 'not_found_error', 'model: claude-0', 'invalid_request', false],
    [409, 'conflict_error', 'changed meanwhile', 'invalid_request', false],
    [413, 'request_too_large', 'Request exceeds the maximum size', 'invalid_request', false],
    [422, 'invalid_request_error', 'unprocessable', 'invalid_request', false],
    [429, 'rate_limit_error', 'slower', 'rate_limited', true],
    [500, 'api_error', 'Internal server error', 'provider_unavailable', true],
    [502, 'api_error', 'bad gateway', 'provider_unavailable', true],
    [503, 'api_error', 'unavailable', 'provider_unavailable', true],
    [504, 'timeout_error', 'took too long', 'provider_unavailable', true],
    [529, 'overloaded_error', 'Overloaded', 'provider_unavailable', true],
    [418, 'overloaded_error', 'a teapot', 'provider_unavailable', true],
    [418, 'teapot_error', 'a teapot', 'unknown', false],
  ])('%i %s (%s) is %s', async (status, type, message, reason, retryable) => {
    expect(await failure(refusal(type, message), status)).toMatchObject({
      kind: 'adapter',
      provider: 'anthropic',
      requestId: 'run',
      reason,
      message,
      status,
      retryable,
      metadata: { type, providerRequestId: 'req_body' },
    })
  })

  test('keeps the delay, whether to retry, and the provider’s request id', async () => {
    const headers = { 'retry-after': '17', 'x-should-retry': 'false', 'request-id': 'req_head' }
    expect(await failure(refusal('rate_limit_error', 'slower'), 429, headers)).toMatchObject({
      retryAfterMs: 17_000,
      retryable: false,
      metadata: { providerRequestId: 'req_head' },
    })
  })

  test.each([
    ['<html>Bad gateway</html>', ': Bad gateway'],
    ['', ''],
    ['null', ': null'],
    ['{"error":{"message":7}}', ': {"error":{"message":7}}'],
  ])('whose body is %j still has its reason', async (body, start) => {
    expect(await failure(body, 502)).toMatchObject({
      reason: 'provider_unavailable',
      message: `anthropic answered 502${start}`,
    })
  })

  test('that echoes the key does not show it', async () => {
    const key = 'no-shape-of-a-key'
    const { adapter } = stubbed(
      { body: refusal('authentication_error', `bad ${key}`), status: 401 },
      { apiKey: key },
    )
    const error: unknown = await eventsOf(adapter).catch((problem: unknown) => problem)
    expect(JSON.stringify(error)).not.toContain(key)
  })
})

describe('an error inside an answer', () => {
  const failing = (type: string, message = 'no') =>
    named({ type: 'error', error: { type, message }, request_id: 'req_1' })

  test.each([
    ['overloaded_error', 'provider_unavailable', true],
    ['api_error', 'provider_unavailable', true],
    ['timeout_error', 'provider_unavailable', true],
    ['rate_limit_error', 'rate_limited', true],
    ['invalid_request_error', 'invalid_request', false],
    ['authentication_error', 'authentication_failed', false],
    ['permission_error', 'authentication_failed', false],
    ['not_found_error', 'invalid_request', false],
    ['request_too_large', 'invalid_request', false],
    ['news_error', 'unknown', false],
  ])(
    '%s is %s, thrown when it is first and the last event when it is not',
    async (type, reason, retryable) => {
      const facts = { reason, message: 'no', retryable, provider: 'anthropic', requestId: 'run' }
      const ping = named({ type: 'ping' })
      await expect(decode(ping + failing(type))).rejects.toMatchObject({
        kind: 'adapter',
        ...facts,
      })
      const events = await decode(named(head(), ...text(0, 'Once')) + failing(type))
      expect(events.at(-1)).toEqual({
        type: 'error',
        error: { kind: 'adapter', ...facts, metadata: { type, providerRequestId: 'req_1' } },
      })
      expect(() => collectEventsSync(events)).toThrow(
        expect.objectContaining({ partial: expect.objectContaining({ outputText: 'Once' }) }),
      )
    },
  )

  test('gets its reason from the message when the type does not decide', async () => {
    const body = failing('api_error', 'Output blocked by content filtering policy')
    await expect(decode(body)).rejects.toMatchObject({ reason: 'content_filter' })
  })

  test('in place of a whole answer rejects', async () => {
    const { adapter } = stubbed({ body: refusal('overloaded_error', 'Overloaded') })
    await expect(adapter.generate?.(request())).rejects.toMatchObject({
      reason: 'provider_unavailable',
    })
    await expect(eventsOf(adapter)).rejects.toMatchObject({ reason: 'provider_unavailable' })
  })

  test('that echoes the key does not show it', async () => {
    const key = 'no-shape-of-a-key'
    const body = named(head()) + failing('api_error', `used ${key}`)
    const { adapter } = stubbed({ body }, { apiKey: key })
    const error: unknown = await eventsOf(adapter).catch((problem: unknown) => problem)
    expect(error).toMatchObject({ kind: 'adapter', reason: 'provider_unavailable' })
    expect(JSON.stringify(error)).not.toContain(key)
  })
})

describe('an answer that cannot be read', () => {
  test.each(['[]', '7', '{"type":"message"}', '{"completion":"x"}'])(
    '%s is malformed',
    async (body) => {
      const { adapter } = stubbed({ body })
      await expect(adapter.generate?.(request())).rejects.toMatchObject({
        kind: 'adapter',
        reason: 'malformed_response',
      })
    },
  )

  test('an event that is not JSON ends a stream that had begun', async () => {
    const events = await decode(`${named(head(), ...text(0, 'Once'))}data: {"type"\n\n`)
    expect(events.at(-1)).toMatchObject({
      type: 'error',
      error: { kind: 'stream', reason: 'malformed_event' },
    })
  })

  test('a body that ends without message_stop is truncated, even after a stop reason', async () => {
    const delta = { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: {} }
    const events = await decode(named(head(), ...text(0, 'Once'), delta))
    expect(events.at(-1)).toMatchObject({
      type: 'error',
      error: { kind: 'stream', reason: 'truncated' },
    })
  })
})
