import type { Usage } from '../../../core/types/response.ts'
import type { SessionStatus } from '../../../core/types/session.ts'

/** A time span in the unit that fits: `840 ms`, `3.2 s`, `4 min`, `2 h`, `5 d`. */
export function duration(ms: number): string {
  const abs = Math.abs(ms)
  if (abs < 1000) return `${Math.round(ms)} ms`
  if (abs < 9950) return `${(ms / 1000).toFixed(1)} s`
  if (abs < 60_000) return `${Math.round(ms / 1000)} s`
  if (abs < 3_600_000) {
    const minutes = Math.floor(ms / 60_000)
    const seconds = Math.round((ms - minutes * 60_000) / 1000)
    return minutes < 10 && seconds > 0 && seconds < 60
      ? `${minutes} min ${seconds} s`
      : `${Math.round(ms / 60_000)} min`
  }
  if (abs < 86_400_000) return `${trimmed(ms / 3_600_000)} h`
  return `${Math.round(ms / 86_400_000)} d`
}

/** A time on an axis, exactly: `250 ms`, `2.5 s`, `1 min 20 s`, `1 h 30 min`. */
export function tickLabel(ms: number): string {
  if (ms < 1000) return `${Number(ms.toFixed(1))} ms`
  if (ms < 60_000) return `${Number((ms / 1000).toFixed(3))} s`
  const [large, small] =
    ms < 3_600_000 ? tickUnits.min : ms < 86_400_000 ? tickUnits.h : tickUnits.d
  const whole = Math.floor(ms / large.ms)
  const rest = Number(((ms - whole * large.ms) / small.ms).toFixed(1))
  return rest === 0 ? `${whole} ${large.name}` : `${whole} ${large.name} ${rest} ${small.name}`
}

const tickUnits = (() => {
  const [s, min, h, d] = [
    { name: 's', ms: 1000 },
    { name: 'min', ms: 60_000 },
    { name: 'h', ms: 3_600_000 },
    { name: 'd', ms: 86_400_000 },
  ] as const
  return { min: [min, s], h: [h, min], d: [d, h] } as const
})()

/** A number of things: `1 item`, `2 items`. */
export function plural(number: number, thing: string): string {
  return `${number} ${thing}${number === 1 ? '' : 's'}`
}

/** How long ago something was, in words for a list. */
export function age(at: number, now: number): string {
  const ms = now - at
  if (ms < 2000) return 'now'
  if (ms < 60_000) return `${Math.floor(ms / 1000)} s`
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min`
  if (ms < 86_400_000) return `${Math.floor(ms / 3_600_000)} h`
  return `${Math.floor(ms / 86_400_000)} d`
}

/** A count, short: `950`, `1.2k`, `34k`, `1.5M`. */
export function count(value: number): string {
  if (value < 1000) return String(value)
  if (value < 999_500) return `${trimmed(value / 1000)}k`
  return `${trimmed(value / 1_000_000)}M`
}

function trimmed(value: number): string {
  return value < 9.95 ? value.toFixed(1).replace(/\.0$/, '') : String(Math.round(value))
}

/** The tokens of a usage, in and out. `undefined` if none was reported. */
export function tokens({ inputTokens, outputTokens, totalTokens }: Usage): string | undefined {
  if (inputTokens === undefined && outputTokens === undefined) {
    return totalTokens === undefined ? undefined : count(totalTokens)
  }
  return `${known(inputTokens)} → ${known(outputTokens)}`
}

function known(value: number | undefined): string {
  return value === undefined ? '?' : count(value)
}

/** Money without false exactness: `$0.0042`, `$0.31`, `$12`. */
export function cost(value: number): string {
  if (value === 0) return '$0'
  if (value < 0.01) return `$${Number(value.toPrecision(2))}`
  return value < 10 ? `$${value.toFixed(2)}` : `$${Math.round(value)}`
}

/** A time of day, with its date when it is not today. */
export function clockTime(at: number, now: number): string {
  const date = new Date(at)
  const time = [date.getHours(), date.getMinutes(), date.getSeconds()]
    .map((part) => String(part).padStart(2, '0'))
    .join(':')
  if (new Date(now).toDateString() === date.toDateString()) return time
  const day = [date.getFullYear(), date.getMonth() + 1, date.getDate()]
    .map((part) => String(part).padStart(2, '0'))
    .join('-')
  return `${day} ${time}`
}

/** The words for each status, and the sign before it: no status is told by its colour alone. */
export const statusWords: Readonly<
  Record<SessionStatus, { readonly label: string; readonly sign: string; readonly tone: Tone }>
> = {
  idle: { label: 'idle', sign: '○', tone: 'quiet' },
  awaiting_user: { label: 'asks you', sign: '?', tone: 'person' },
  awaiting_approval: { label: 'needs approval', sign: '!', tone: 'person' },
  awaiting_tools: { label: 'needs results', sign: '…', tone: 'person' },
  completed: { label: 'completed', sign: '✓', tone: 'done' },
  halted: { label: 'stopped', sign: '■', tone: 'quiet' },
  error: { label: 'failed', sign: '×', tone: 'error' },
}

/** The meanings that a colour can have. */
export type Tone = 'model' | 'tool' | 'person' | 'error' | 'done' | 'quiet' | 'save'

/** A value as JSON for people. What cannot be written is named. */
export function prettyJson(value: unknown): string {
  try {
    return JSON.stringify(value, undefined, 2) ?? 'undefined'
  } catch {
    return String(value)
  }
}
