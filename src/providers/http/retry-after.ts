/**
 * How long a response asks to wait: `retry-after-ms`, or `retry-after` in seconds or as a date. A `retry-after-ms` of 0 does not hide a `retry-after`.
 *
 * A date is compared with the response's own `date`, so that clocks do not have to agree, and with `now` if it has none. A
 * date in the past is 0. Returns `undefined` when the header is absent or invalid.
 */
export function retryAfterMs(headers: Headers, now?: number): number | undefined {
  const ms = number(headers.get('retry-after-ms'))
  return firstWait(ms && Math.round(ms), secondsOrDate(headers, now))
}

/** The first of several waits that is longer than 0; 0 when no other one is known. */
export function firstWait(...waits: readonly (number | undefined)[]): number | undefined {
  const known = waits.filter((ms) => ms !== undefined)
  return known.find((ms) => ms > 0) ?? known[0]
}

function secondsOrDate(headers: Headers, now: number | undefined): number | undefined {
  const value = headers.get('retry-after')
  if (value === null || value.trim() === '') return undefined
  const seconds = number(value)
  if (seconds !== undefined) return Math.round(seconds * 1000)
  // An HTTP date has letters. A lenient parser would also accept other texts.
  const date = /[a-z]/i.test(value) ? Date.parse(value) : Number.NaN
  const since = sentAt(headers) ?? now
  return Number.isNaN(date) || since === undefined ? undefined : Math.max(0, date - since)
}

function number(value: string | null): number | undefined {
  if (value === null || !/^\s*\d+(?:\.\d+)?\s*$/.test(value)) return undefined
  return Number(value)
}

/** When a response was sent, by the clock of its sender. */
export function sentAt(headers: Headers): number | undefined {
  const date = Date.parse(headers.get('date') ?? '')
  return Number.isNaN(date) ? undefined : date
}
