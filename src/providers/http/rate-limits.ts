import type { RateLimit, RateLimits } from '../../core/contracts/adapter.ts'
import { defined } from '../../core/types/guards.ts'
import { sentAt } from './retry-after.ts'

/**
 * What the headers of a response say about the provider's limits; `undefined` when they say nothing.
 *
 * Two families are known: `x-ratelimit-remaining-requests` and its sisters (OpenAI, and most servers that are compatible with it), and
 * `anthropic-ratelimit-requests-remaining` and its sisters. A header that cannot be read is passed over.
 */
export function rateLimitsOf(headers: Headers, now: number): RateLimits | undefined {
  const read = (name: string): RateLimit | undefined => {
    const fact = (word: string): string | null =>
      headers.get(`x-ratelimit-${word}-${name}`) ??
      headers.get(`anthropic-ratelimit-${name}-${word}`)
    const limit = defined<RateLimit>({
      limit: countOf(fact('limit')),
      remaining: countOf(fact('remaining')),
      resetMs: resetMs(fact('reset'), sentAt(headers) ?? now),
    })
    return Object.keys(limit).length === 0 ? undefined : limit
  }
  const limits = defined<RateLimits>({
    requests: read('requests'),
    tokens: read('tokens'),
    inputTokens: read('input-tokens'),
    outputTokens: read('output-tokens'),
  })
  return Object.keys(limits).length === 0 ? undefined : limits
}

function countOf(value: string | null): number | undefined {
  return value !== null && /^\d{1,15}$/.test(value) ? Number(value) : undefined
}

/** The units of a duration such as `6m0s`, in milliseconds. */
const units: Readonly<Record<string, number>> = {
  d: 86_400_000,
  h: 3_600_000,
  m: 60_000,
  s: 1000,
  ms: 1,
}

/** How long from now: seconds, a duration, or a date. */
function resetMs(value: string | null, now: number): number | undefined {
  if (value === null) return undefined
  const text = /^\d+(?:\.\d+)?$/.test(value) ? `${value}s` : value
  const date = /^\d{4}-/.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(date) ? durationMs(text) : Math.max(0, date - now)
}

/** The milliseconds of a duration such as `6m0s` or `1.5s`; `undefined` for any other text. */
export function durationMs(text: string): number | undefined {
  if (!/^(?:\d{1,9}(?:\.\d+)?(?:ms|[dhms]))+$/.test(text)) return undefined
  const pieces = text.matchAll(/([\d.]+)([a-z]+)/g)
  const ms = Array.from(pieces, ([, count, unit = '']) => Number(count) * (units[unit] ?? 0))
  return ms.reduce((sum, piece) => sum + piece, 0)
}
