import type { Timeline, TimelinePoint } from './timeline.ts'

/** Where the entries of a timeline stand, from 0 to 1. */
export interface Axis {
  /** The place of an entry that was stored at this time. */
  readonly place: (entry: number, at: number) => number
  /** The entry at a place: the last one that is not after it. */
  readonly entryAt: (place: number) => number
  /** Pauses that are drawn shorter than they were. */
  readonly folds: readonly AxisFold[]
  /** Places with the time since the beginning. */
  readonly ticks: readonly AxisTick[]
  /** How many pieces have to be told apart: the picture should be this wide at least. */
  readonly pieces: number
}

/** A pause that is drawn shorter. */
export interface AxisFold {
  readonly from: number
  readonly to: number
  readonly ms: number
}

/** A time on the axis. */
export interface AxisTick {
  readonly place: number
  readonly ms: number
}

/** The part of the busy time that an idle stretch may take before it is folded. */
const idleShare = 0.12
/** The part of the whole that each piece has at least, so that what took no time is seen. */
const leastShare = 0.008
const tickCount = 6

/**
 * The axis of a timeline. Time is drawn to scale while a model or a tool works. A long pause is folded, and pieces that took no time
 * get a little room, so that their order is seen.
 */
export function axisOf({ points }: Pick<Timeline, 'points'>): Axis {
  const spans = points.slice(1).map((to, index) => spanOf(points[index] ?? to, to))
  const busyMs = sum(spans.filter(({ isBusy }) => isBusy).map(({ ms }) => ms))
  const allMs = sum(spans.map(({ ms }) => ms))
  const scale = busyMs > 0 ? busyMs : Math.max(1, Math.min(allMs, 1))
  const least = Math.min(leastShare, 0.6 / Math.max(1, spans.length)) * scale
  const most = Math.max(idleShare * scale, least)
  const weights = spans.map(({ ms, isBusy }) => Math.max(least, isBusy ? ms : Math.min(ms, most)))
  const whole = sum(weights) || 1
  const starts: number[] = [0]
  for (const weight of weights) starts.push((starts.at(-1) ?? 0) + weight / whole)

  const place = (entry: number, at: number): number => {
    const index = lastAtMost(points, entry)
    const [from, to] = [points[index], points[index + 1]]
    const start = starts[index] ?? 0
    if (from === undefined || to === undefined) return Math.min(1, start)
    if (entry === from.entry) return start
    const byTime = to.at > from.at ? (at - from.at) / (to.at - from.at) : undefined
    const share = byTime ?? (entry - from.entry) / (to.entry - from.entry)
    return start + Math.min(1, Math.max(0, share)) * ((starts[index + 1] ?? 1) - start)
  }
  const spanAt = (where: number): number => {
    let index = 0
    while (index < spans.length - 1 && (starts[index + 1] ?? 1) <= where) index++
    return index
  }
  const shareIn = (index: number, where: number): number => {
    const start = starts[index] ?? 0
    const width = (starts[index + 1] ?? 1) - start
    return width > 0 ? Math.min(1, Math.max(0, (where - start) / width)) : 0
  }
  return {
    place,
    entryAt(where) {
      const index = spanAt(where)
      const [from, to] = [points[index], points[index + 1]]
      if (from === undefined) return 0
      if (to === undefined) return from.entry
      return Math.floor(from.entry + shareIn(index, where) * (to.entry - from.entry) + 1e-9)
    },
    folds: spans.flatMap(({ ms, isBusy }, index) =>
      !isBusy && ms > most * 1.5 && ms > 1000
        ? [{ from: starts[index] ?? 0, to: starts[index + 1] ?? 1, ms }]
        : [],
    ),
    ticks: Array.from({ length: tickCount }, (_, number) => {
      const where = number / tickCount
      const index = spanAt(where)
      const span = spans[index]
      const before = (points[index]?.at ?? 0) - (points[0]?.at ?? 0)
      return { place: where, ms: before + shareIn(index, where) * (span?.ms ?? 0) }
    }),
    pieces: spans.length,
  }
}

function spanOf(
  from: TimelinePoint,
  to: TimelinePoint,
): { readonly ms: number; readonly isBusy: boolean } {
  return { ms: Math.max(0, to.at - from.at), isBusy: from.isBusy }
}

/** The last point that is not after an entry. */
function lastAtMost(points: readonly TimelinePoint[], entry: number): number {
  let low = 0
  for (let high = points.length - 1; low < high;) {
    const middle = Math.ceil((low + high) / 2)
    if ((points[middle]?.entry ?? 0) <= entry) low = middle
    else high = middle - 1
  }
  return low
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
