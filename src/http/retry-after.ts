/**
 * How long an answer asks to wait: `retry-after-ms`, or `retry-after` in seconds or as a date.
 *
 * A date is taken against the answer's own `date`, so that no two clocks have to agree; a date in the past is 0.
 * `undefined` when the answer does not say, or says it badly.
 */
export function retryAfterMs(headers: Headers, now?: number): number | undefined {
  const ms = number(headers.get('retry-after-ms'))
  if (ms !== undefined) return Math.round(ms)
  const value = headers.get('retry-after')
  if (value === null || value.trim() === '') return undefined
  const seconds = number(value)
  if (seconds !== undefined) return Math.round(seconds * 1000)
  // What has no letters is no date of HTTP, though a lenient parser may find one in it.
  const date = /[a-z]/i.test(value) ? Date.parse(value) : Number.NaN
  return Number.isNaN(date) ? undefined : Math.max(0, date - (now ?? sentAt(headers)))
}

function number(value: string | null): number | undefined {
  if (value === null || !/^\s*\d+(?:\.\d+)?\s*$/.test(value)) return undefined
  return Number(value)
}

function sentAt(headers: Headers): number {
  const date = Date.parse(headers.get('date') ?? '')
  return Number.isNaN(date) ? Date.now() : date
}
