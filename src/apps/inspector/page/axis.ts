import type { Timeline, TimelinePoint } from './timeline.ts'

/** Where the entries of a timeline stand, from 0 to 1. */
export interface Axis {
  /** The place of an entry that was stored at this time. */
  readonly place: (entry: number, at: number) => number
  /** The entry at a place: the last one that is not after it. */
  readonly entryAt: (place: number) => number
  /** Pauses that are drawn shorter than they were. */
  readonly folds: readonly AxisFold[]
  /** Places with the time since the beginning, round where it can be, 64 to 160 pixels apart on a picture that is so wide. */
  readonly ticks: (width: number) => readonly AxisTick[]
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
/** The least and the most pixels from one tick to the next. Between them there is always one of 1, 2 and 5 times a power of ten. */
const [leastGap, mostGap] = [64, 160]

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
  /** The time at which each span begins, since the beginning. */
  const times: number[] = [0]
  for (const { ms } of spans) times.push((times.at(-1) ?? 0) + ms)

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
  const spanAt = (where: number): number => Math.min(lastBelow(starts, where), spans.length - 1)
  const shareIn = (index: number, where: number): number => {
    const start = starts[index] ?? 0
    const width = (starts[index + 1] ?? 1) - start
    return width > 0 ? Math.min(1, Math.max(0, (where - start) / width)) : 0
  }
  const timeAt = (where: number): number => {
    const index = Math.max(0, spanAt(where))
    return (times[index] ?? 0) + shareIn(index, where) * (spans[index]?.ms ?? 0)
  }
  /** The first place that has a time. */
  const placeAt = (ms: number): number => {
    const index = Math.min(lastBelow(times, ms), spans.length - 1)
    const [start = 0, end = 1] = [starts[index], starts[index + 1]]
    const { ms: length = 0 } = spans[index] ?? {}
    return length > 0 ? start + ((ms - (times[index] ?? 0)) / length) * (end - start) : start
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
    ticks(width) {
      const ticks: AxisTick[] = [{ place: 0, ms: 0 }]
      let step: number | undefined
      for (let x = 0; spans.length > 0 && x + leastGap <= width;) {
        const [from, to] = [(x + leastGap) / width, Math.min(1, (x + mostGap) / width)]
        // It goes on with the step of the ticks before while that fits.
        const same = (ticks.at(-1)?.ms ?? 0) + (step ?? 0)
        const isSame = step !== undefined && same >= timeAt(from) && same <= timeAt(to)
        // The end is near, and has no tick of its own.
        if (!isSame && x + mostGap > width) break
        const found = isSame ? { ms: same, step } : roundTime(timeAt(from), timeAt(to))
        step = found?.step
        const ms = found?.ms ?? timeAt(from)
        // A time may last for several places: nothing took time there.
        const place = Math.min(to, Math.max(from, placeAt(ms)))
        ticks.push({ place, ms })
        x = place * width
      }
      return ticks
    },
    pieces: spans.length,
  }
}

const [second, minute, hour, day] = [1000, 60_000, 3_600_000, 86_400_000]

/** The distances of round times, the largest first. */
const roundSteps: readonly number[] = [
  ...[1000, 500, 200, 100, 50, 20, 10, 5, 2, 1].map((count) => count * day),
  ...[12, 6, 2, 1].map((count) => count * hour),
  ...[30, 20, 10, 5, 2, 1].map((count) => count * minute),
  ...[30, 20, 10, 5, 2, 1].map((count) => count * second),
  // Milliseconds.
  500,
  200,
  100,
  50,
  20,
  10,
  5,
  2,
  1,
]

/** The roundest time in a stretch. */
function roundTime(
  from: number,
  to: number,
): { readonly ms: number; readonly step: number } | undefined {
  for (const step of roundSteps) {
    const ms = Math.ceil((from - 1e-6) / step) * step
    if (ms <= to + 1e-6) return { ms, step }
  }
  return undefined
}

/** The index of the last number of a rising list that is not above a value. */
function lastBelow(list: readonly number[], value: number): number {
  let low = 0
  for (let high = list.length - 1; low < high;) {
    const middle = Math.ceil((low + high) / 2)
    if ((list[middle] ?? 0) <= value) low = middle
    else high = middle - 1
  }
  return low
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
