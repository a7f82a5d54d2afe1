import type { JSX } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { LogEntry } from '../../../durable/stores/run-store.ts'
import { axisOf, type Axis } from './axis.ts'
import { duration, tickLabel } from './format.ts'
import { firstLine } from './hostile.ts'
import {
  barMs,
  firstTokenMs,
  retriesInWords,
  retriesShare,
  type RetryFacts,
  type Timeline,
  type TimelineBar,
  type TimelineMark,
} from './timeline.ts'

/** The room that a piece needs to be told from its neighbours, in pixels. */
const pieceWidth = 9
/** With more than this, only what is seen is drawn. */
const mostDrawn = 300
/** The room of a label of the time, and how far from the one before it an equal one is shown again, in pixels. */
const [labelWidth, sameLabelGap] = [64, 600]

/** What happened over time. A click selects the event. */
export function TimelineView({
  timeline,
  entries,
  at,
  isAtEnd,
  onSelect,
}: {
  timeline: Timeline
  entries: readonly LogEntry[]
  /** The index of the selected entry. */
  at: number
  isAtEnd: boolean
  onSelect: (index: number) => void
}): JSX.Element {
  const axis = useMemo(() => axisOf(timeline), [timeline])
  const scroller = useRef<HTMLDivElement>(null)
  const [{ seen, whole }, setView] = useState<View>({ seen: [0, 1], whole: 0 })
  const placeOf = (index: number): number => axis.place(index, entries[index]?.at ?? 0)
  const cursor = placeOf(at)
  const width = Math.max(0, axis.pieces * pieceWidth)

  useEffect(() => {
    const { current } = scroller
    if (current === null) return undefined
    const look = (): void => {
      const { scrollWidth, scrollLeft, clientWidth } = current
      const all = Math.max(1, scrollWidth)
      const area = current.firstElementChild?.clientWidth ?? all
      setView({ seen: [scrollLeft / all, (scrollLeft + clientWidth) / all], whole: area })
    }
    look()
    const observer = new ResizeObserver(look)
    observer.observe(current)
    current.addEventListener('scroll', look, { passive: true })
    return () => {
      observer.disconnect()
      current.removeEventListener('scroll', look)
    }
  }, [width])
  const wasAtEnd = useRef(false)
  useEffect(() => {
    const { current } = scroller
    if (current === null || current.scrollWidth <= current.clientWidth) return
    // A reader who has scrolled away from the end is left alone.
    const isHeld = isAtEnd && wasAtEnd.current && seen[1] < 0.95
    wasAtEnd.current = isAtEnd
    if (isHeld) return
    const x = cursor * current.scrollWidth
    const isSeen = x >= current.scrollLeft && x <= current.scrollLeft + current.clientWidth - 8
    if (!isSeen) current.scrollLeft = x - current.clientWidth * 0.7
  }, [cursor, isAtEnd, width])

  const isMany = timeline.bars.length + timeline.saves.length > mostDrawn
  const isSeen = (from: number, to: number): boolean =>
    !isMany || (to >= seen[0] - 0.02 && from <= seen[1] + 0.02)
  const shownSaves = isMany
    ? between(timeline.saves, axis.entryAt(seen[0]), axis.entryAt(Math.min(1, seen[1])))
    : timeline.saves
  const bars = timeline.bars
    .map((bar) => ({ bar, ...spanOf(bar, entries, placeOf) }))
    .filter(({ from, to }) => isSeen(from, to))
  return (
    <section class="timeline" aria-label="Timeline">
      <div class="lane-labels" aria-hidden="true">
        {timeline.lanes.map(({ label, kind, depth }, index) => (
          <span key={index} class={`lane ${kind}`}>
            {depth > 0 && label !== '' ? `${'·'.repeat(depth)} ${label}` : label}
          </span>
        ))}
        <span class="lane save">saves</span>
      </div>
      <div class="tracks" ref={scroller}>
        <div
          class="track-area"
          style={{ minWidth: `${width}px` }}
          onClick={(event) => {
            const box = event.currentTarget.getBoundingClientRect()
            onSelect(axis.entryAt((event.clientX - box.left) / box.width))
          }}
        >
          {axis.folds.map((fold) => (
            <span
              key={fold.from}
              class="gap"
              title={`${duration(fold.ms)} of nothing, folded`}
              style={{ left: percent(fold.from), width: percent(fold.to - fold.from) }}
            >
              <span>{duration(fold.ms)}</span>
            </span>
          ))}
          {timeline.lanes.map(({ kind, depth }, lane) => (
            <div key={lane} class={`lane ${kind}${depth > 0 ? ' inner' : ''}`}>
              {bars
                .filter(({ bar }) => bar.lane === lane)
                .map(({ bar, from, to }) => (
                  <Bar
                    key={`${bar.kind}${bar.entry}-${bar.from}`}
                    bar={bar}
                    span={{ from, to }}
                    ms={barMs(bar, entries)}
                    first={bar.first === undefined ? undefined : placeOf(bar.first)}
                    firstMs={firstTokenMs(bar, entries)}
                    isSelected={!isAtEnd && at >= bar.from && at <= (bar.to ?? Infinity)}
                    onSelect={onSelect}
                  />
                ))}
              {timeline.marks
                .filter((mark) => mark.lane === lane)
                .map((mark) => (
                  <MarkSign
                    key={`${mark.type}${mark.entry}`}
                    mark={mark}
                    place={placeOf(mark.entry)}
                    onSelect={onSelect}
                  />
                ))}
            </div>
          ))}
          <div class="lane save">
            {shownSaves
              .map((index) => ({ index, place: placeOf(index) }))
              .map(({ index, place }) => (
                <span key={index} class="tick" style={{ left: percent(place) }} />
              ))}
          </div>
          <Times axis={axis} width={whole} isSeen={(place) => isSeen(place, place)} />
          <span class="cursor" style={{ left: percent(cursor) }} />
        </div>
      </div>
      <ScrollHint to="earlier" isShown={seen[0] > 0.001} scroller={scroller} />
      <ScrollHint to="later" isShown={seen[1] < 0.999} scroller={scroller} />
    </section>
  )
}

/** The part of the picture that is seen, and how wide the whole of it is, in pixels. */
interface View {
  readonly seen: readonly [number, number]
  readonly whole: number
}

/** Says that there is more than is seen, and goes there. */
function ScrollHint({
  to,
  isShown,
  scroller,
}: {
  to: 'earlier' | 'later'
  isShown: boolean
  scroller: { readonly current: HTMLDivElement | null }
}): JSX.Element | null {
  if (!isShown) return null
  const go = (): void => {
    const { current } = scroller
    const width = (current?.clientWidth ?? 0) * 0.8
    current?.scrollBy({ left: to === 'later' ? width : -width })
  }
  const label = to === 'later' ? 'Scroll to what came later' : 'Scroll to what came earlier'
  return (
    <button
      type="button"
      tabIndex={-1}
      class={`scroll-hint ${to}`}
      aria-label={label}
      title={label}
      onClick={go}
    >
      {to === 'later' ? '›' : '‹'}
    </button>
  )
}

/** The members of a rising list from one number to another. */
function between(list: readonly number[], from: number, to: number): readonly number[] {
  const after = (value: number): number => {
    let low = 0
    for (let high = list.length; low < high;) {
      const middle = Math.floor((low + high) / 2)
      if ((list[middle] ?? 0) < value) low = middle + 1
      else high = middle
    }
    return low
  }
  return list.slice(after(from), after(to + 1))
}

function Times({
  axis,
  width,
  isSeen,
}: {
  axis: Axis
  width: number
  isSeen: (place: number) => boolean
}): JSX.Element {
  const labels = useMemo(() => labelsOf(axis, width), [axis, width])
  return (
    <div class="times" aria-hidden="true">
      {labels
        .filter(({ place }) => isSeen(place))
        .map(({ place, text }) => (
          <span key={place} style={{ left: percent(place) }}>
            {text}
          </span>
        ))}
    </div>
  )
}

/** The labels of the ticks that have room: not on a fold, which has a label of its own, and not beyond the end. */
function labelsOf(
  axis: Axis,
  width: number,
): readonly { readonly place: number; readonly text: string }[] {
  const room = labelWidth / Math.max(1, width)
  const labels: { place: number; text: string }[] = []
  for (const { place, ms } of axis.ticks(width)) {
    const isOnFold = axis.folds.some(({ from, to }) => place > from - room && place < to)
    const text = tickLabel(ms)
    const last = labels.at(-1)
    // Where nothing takes time, the time stays the same.
    const isSame = last?.text === text && (place - last.place) * width < sameLabelGap
    if (!isOnFold && !isSame && (place === 0 || place <= 1 - room)) labels.push({ place, text })
  }
  return labels
}

function Bar({
  bar,
  span: { from, to },
  ms,
  first,
  firstMs,
  isSelected,
  onSelect,
}: {
  bar: TimelineBar
  span: { readonly from: number; readonly to: number }
  ms: number
  first: number | undefined
  /** The time to the first part of the answer. */
  firstMs: number | undefined
  isSelected: boolean
  onSelect: (index: number) => void
}): JSX.Element {
  const width = to - from
  const lead = first === undefined || width <= 0 ? undefined : (first - from) / width
  const state = bar.state === 'done' ? '' : `, ${bar.state}`
  const lag = firstMs === undefined ? '' : `, first token after ${duration(firstMs)}`
  const tries = bar.retries === undefined ? '' : ` (${retriesInWords(bar.retries)})`
  const name = `${kindWords[bar.kind]} ${firstLine(bar.label, 60)}, ${duration(ms)}${tries}${lag}${state}`
  return (
    <button
      type="button"
      tabIndex={-1}
      class={`bar ${bar.kind} ${bar.state}${isSelected ? ' selected' : ''}`}
      title={name}
      aria-label={name}
      style={{ left: percent(from), width: percent(width) }}
      onClick={(event) => {
        event.stopPropagation()
        onSelect(bar.entry)
      }}
    >
      {lead !== undefined && <span class="lead" style={{ width: percent(lead) }} />}
      <span class="label">{firstLine(bar.label, 40)}</span>
    </button>
  )
}

const kindWords: Readonly<Record<TimelineBar['kind'], string>> = {
  model: 'model',
  tool: 'tool',
  wait: 'waiting:',
  retry: 'before it:',
}

const markSigns: Readonly<Record<TimelineMark['type'], string>> = {
  person: '●',
  refused: '⊘',
  take_over: '⚡',
  error: '×',
  stopped: '■',
}

function MarkSign({
  mark,
  place,
  onSelect,
}: {
  mark: TimelineMark
  place: number
  onSelect: (index: number) => void
}): JSX.Element {
  const label = firstLine(mark.label, 160)
  return (
    <button
      type="button"
      tabIndex={-1}
      class={`mark ${mark.type}`}
      title={label}
      aria-label={label}
      style={{ left: percent(place) }}
      onClick={(event) => {
        event.stopPropagation()
        onSelect(mark.entry)
      }}
    >
      {markSigns[mark.type]}
    </button>
  )
}

function spanOf(
  bar: TimelineBar,
  entries: readonly LogEntry[],
  placeOf: (index: number) => number,
): { readonly from: number; readonly to: number } {
  const { from, to, asked, retries } = bar
  /** Where the failed attempts ended. */
  const split = (start: number, end: number, tried: readonly RetryFacts[]): number => {
    const share = retriesShare({ from: start, to: end }, tried, entries)
    return placeOf(start) + (placeOf(end) - placeOf(start)) * share
  }
  if (retries !== undefined && to !== undefined) {
    return { from: placeOf(from), to: split(from, to, retries) }
  }
  const start = asked === undefined ? placeOf(from) : split(asked, from, bar.call?.retries ?? [])
  return { from: start, to: to === undefined ? 1 : Math.max(start, placeOf(to)) }
}

function percent(share: number): string {
  return `${(share * 100).toFixed(3)}%`
}
