import { expect, test } from 'vitest'
import { anthropic } from '../../../src/anthropic.ts'
import type { ChatAdapter, RateLimits } from '../../../src/core/contracts/adapter.ts'
import { modelRequest } from '../../../src/index.ts'
import { openai } from '../../../src/openai.ts'
import type { Fetch } from '../../../src/providers/http/call.ts'
import { rateLimitsOf } from '../../../src/providers/http/rate-limits.ts'
import { renderWire, wireResponse, type WireFormat } from '../../../src/server.ts'

const now = Date.parse('2026-05-01T12:00:00Z')

test.each<[string, Readonly<Record<string, string>>, RateLimits | undefined]>([
  [
    'those of OpenAI',
    {
      'x-ratelimit-limit-requests': '60',
      'x-ratelimit-remaining-requests': '59',
      'x-ratelimit-reset-requests': '1s',
      'x-ratelimit-limit-tokens': '150000',
      'x-ratelimit-remaining-tokens': '149984',
      'x-ratelimit-reset-tokens': '6m0s',
    },
    {
      requests: { limit: 60, remaining: 59, resetMs: 1000 },
      tokens: { limit: 150_000, remaining: 149_984, resetMs: 360_000 },
    },
  ],
  [
    'those of Anthropic',
    {
      'anthropic-ratelimit-requests-limit': '50',
      'anthropic-ratelimit-requests-remaining': '0',
      'anthropic-ratelimit-requests-reset': '2026-05-01T12:00:30Z',
      'anthropic-ratelimit-input-tokens-remaining': '10',
      'anthropic-ratelimit-output-tokens-reset': '2026-05-01T11:59:00Z',
    },
    {
      requests: { limit: 50, remaining: 0, resetMs: 30_000 },
      inputTokens: { remaining: 10 },
      outputTokens: { resetMs: 0 },
    },
  ],
  [
    'a date is compared with that of the response',
    {
      date: 'Fri, 01 May 2026 11:00:00 GMT',
      'anthropic-ratelimit-tokens-reset': '2026-05-01T11:00:02Z',
    },
    { tokens: { resetMs: 2000 } },
  ],
  ['fractions', { 'x-ratelimit-reset-tokens': '2m59.56s' }, { tokens: { resetMs: 179_560 } }],
  ['milliseconds', { 'x-ratelimit-reset-requests': '120ms' }, { requests: { resetMs: 120 } }],
  [
    'hours and days',
    { 'x-ratelimit-reset-requests': '1d2h' },
    { requests: { resetMs: 93_600_000 } },
  ],
  ['plain seconds', { 'x-ratelimit-reset-requests': '1.5' }, { requests: { resetMs: 1500 } }],
  ['nothing else', { 'content-type': 'text/plain', 'x-ratelimit-limit': '5' }, undefined],
  [
    'nothing that cannot be read',
    {
      'x-ratelimit-remaining-requests': '-1',
      'x-ratelimit-limit-requests': 'many',
      'x-ratelimit-reset-requests': 'soon',
      'x-ratelimit-reset-tokens': '99999999999s',
    },
    undefined,
  ],
])('headers: %s', (_what, headers, limits) => {
  expect(rateLimitsOf(new Headers(headers), now)).toEqual(limits)
})

test.each<[WireFormat, (fetch: Fetch) => ChatAdapter, string]>([
  [
    'openai_chat',
    (fetch) => openai({ apiKey: 'k', fetch, api: 'chat', model: 'm' }),
    'x-ratelimit-remaining-requests',
  ],
  [
    'anthropic',
    (fetch) => anthropic({ apiKey: 'k', fetch, model: 'm' }),
    'anthropic-ratelimit-requests-remaining',
  ],
])('%s: the adapter tells them, of an answer and of a refusal', async (format, make, name) => {
  const seen: RateLimits[] = []
  const headers = { [name]: '7' }
  const answers = [
    (response: Response) => new Response(response.body, { headers }),
    () => new Response('{}', { status: 429, headers }),
  ]
  const adapter = make(async () => {
    const response = await wireResponse(renderWire(format, [['text', 'hi']], { stream: true }))
    return answers.shift()?.(response) ?? response
  })
  const options = { onRateLimit: (limits: RateLimits) => void seen.push(limits) }
  for await (const batch of adapter.stream(modelRequest('hi'), options))
    expect(batch).not.toEqual([])
  await expect(adapter.generate?.(modelRequest('hi'), options)).rejects.toMatchObject({
    status: 429,
  })
  expect(seen).toEqual([{ requests: { remaining: 7 } }, { requests: { remaining: 7 } }])
  // Without headers, and without a listener, nothing is told.
  await adapter.generate?.(modelRequest('hi'), options)
  await adapter.generate?.(modelRequest('hi'))
  expect(seen).toHaveLength(2)
})
