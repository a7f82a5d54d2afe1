/**
 * How long an answer asks to wait: `retry-after-ms`, or `retry-after` in seconds or as a date.
 *
 * `undefined` when it does not say, or says it badly; a date in the past is 0.
 */
export function retryAfterMs(headers: Headers, now: number = Date.now()): number | undefined {
  const ms = number(headers.get('retry-after-ms'))
  if (ms !== undefined) return ms
  const value = headers.get('retry-after')
  if (value === null || value.trim() === '') return undefined
  const seconds = number(value)
  if (seconds !== undefined) return Math.round(seconds * 1000)
  const date = Date.parse(value)
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}

function number(value: string | null): number | undefined {
  if (value === null || !/^\s*\d+(?:\.\d+)?\s*$/.test(value)) return undefined
  return Number(value)
}
