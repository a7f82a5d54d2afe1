import type { JSX } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { LogEntry } from '../../../durable/stores/run-store.ts'
import { duration, plural } from './format.ts'
import { JsonView } from './json-view.tsx'
import { summaryOf } from './summary.ts'

const rowHeight = 26
/** Rows that are drawn beyond those that are seen. */
const spare = 8

/**
 * The events one by one. Rows have the same height, and only those that are seen are in the document, so that scrolling and new events cost
 * the same in a log of any length.
 */
export function EventsView({
  entries,
  length,
  events,
  steps,
  at,
  isAtEnd,
  isLoading,
  onSelect,
}: {
  entries: readonly LogEntry[]
  length: number
  /** How many of them are events. The others are commands. */
  events: number
  /** The indexes of the entries that are not pieces of an answer. */
  steps: readonly number[]
  /** The index of the selected entry. */
  at: number
  /** The end is followed: new events are scrolled to. */
  isAtEnd: boolean
  /** There may be more. */
  isLoading: boolean
  onSelect: (index: number) => void
}): JSX.Element {
  const [isShort, setShort] = useState(false)
  const rows = isShort ? steps.length : length
  const indexOf = (row: number): number => (isShort ? (steps[row] ?? 0) : row)
  const selectedRow = isShort ? lastAtMost(steps, at) : at
  const entry = entries[at]
  const isHidden = isShort && indexOf(selectedRow) !== at
  const startAt = entries[0]?.at ?? 0
  const { scroller, top, height } = useScroll(selectedRow, isAtEnd, rows)
  const first = Math.max(0, Math.floor(top / rowHeight) - spare)
  const last = Math.min(rows, Math.ceil((top + height) / rowHeight) + spare)
  const drawn = Array.from({ length: Math.max(0, last - first) }, (_, number) => first + number)
  return (
    <div class="events">
      <div class="bar-of-tools">
        <label>
          <input
            type="checkbox"
            checked={isShort}
            onChange={(event) => setShort(event.currentTarget.checked)}
          />{' '}
          hide the pieces of answers
        </label>
        <span class="quiet-text">{isLoading ? 'loading…' : rowWords(rows, length, events)}</span>
      </div>
      <div
        class="rows"
        ref={scroller}
        role="listbox"
        tabIndex={0}
        aria-label="Events"
        aria-activedescendant={entry === undefined || isHidden ? undefined : `row-${selectedRow}`}
      >
        <div class="spacer" style={{ height: `${rows * rowHeight}px` }}>
          {drawn.map((row) => {
            const index = indexOf(row)
            const item = entries[index]
            return item === undefined ? null : (
              <Row
                key={row}
                row={row}
                rows={rows}
                entry={item}
                ms={item.at - startAt}
                isSelected={row === selectedRow && !isHidden}
                onSelect={() => onSelect(index)}
              />
            )
          })}
        </div>
      </div>
      {entry !== undefined && (
        <section class="event-detail" aria-label="The selected event" key={at}>
          {isHidden && (
            <p class="quiet-text">
              {'event' in entry ? `Event ${entry.id}` : 'The selected entry'} is a piece of an
              answer, which the list hides.
            </p>
          )}
          <JsonView value={'event' in entry ? entry.event : entry} open={2} />
        </section>
      )}
    </div>
  )
}

/** How many events and commands the list shows. No command is hidden. */
function rowWords(rows: number, length: number, events: number): string {
  const commands = length - events
  const shown = plural(rows - commands, 'event')
  return commands === 0 ? shown : `${shown}, ${plural(commands, 'command')}`
}

function Row({
  row,
  rows,
  entry,
  ms,
  isSelected,
  onSelect,
}: {
  row: number
  rows: number
  entry: LogEntry
  ms: number
  isSelected: boolean
  onSelect: () => void
}): JSX.Element {
  const { name, tone, text, isSave, isInner } = summaryOf(entry)
  return (
    <div
      id={`row-${row}`}
      class={`row ${tone}${isInner ? ' inner' : ''}`}
      role="option"
      aria-selected={isSelected}
      aria-setsize={rows}
      aria-posinset={row + 1}
      style={{ top: `${row * rowHeight}px` }}
      onClick={onSelect}
    >
      <span class="number">{'event' in entry ? entry.id : '·'}</span>
      <span class="since">{duration(ms)}</span>
      <span class="name">{name}</span>
      <span class="text">{text}</span>
      {isSave && (
        <span class="saved" title="saved after it">
          ▪
        </span>
      )}
    </div>
  )
}

/** Where the list is scrolled to. It goes to the selected row, and stays at the end while the end is followed. */
function useScroll(
  selectedRow: number,
  isAtEnd: boolean,
  rows: number,
): {
  readonly scroller: { readonly current: HTMLDivElement | null }
  readonly top: number
  readonly height: number
} {
  const scroller = useRef<HTMLDivElement>(null)
  const [{ top, height }, setView] = useState({ top: 0, height: 400 })
  const isNearEnd = useRef(true)
  const wasAtEnd = useRef(false)
  useEffect(() => {
    const { current } = scroller
    if (current === null) return undefined
    const look = (): void => {
      const { scrollTop, clientHeight, scrollHeight } = current
      isNearEnd.current = scrollHeight - scrollTop - clientHeight < rowHeight * 2
      setView({ top: scrollTop, height: clientHeight })
    }
    look()
    const observer = new ResizeObserver(look)
    observer.observe(current)
    current.addEventListener('scroll', look, { passive: true })
    return () => {
      observer.disconnect()
      current.removeEventListener('scroll', look)
    }
  }, [])
  useLayoutEffect(() => {
    const { current } = scroller
    if (current === null) return
    const from = selectedRow * rowHeight
    const room = current.clientHeight
    // A reader who has scrolled up is left alone.
    const isHeld = wasAtEnd.current && !isNearEnd.current
    wasAtEnd.current = isAtEnd
    if (isAtEnd && isHeld) return
    if (isAtEnd) current.scrollTop = rows * rowHeight
    else if (from < current.scrollTop) current.scrollTop = from - rowHeight
    else if (from + rowHeight > current.scrollTop + room) {
      current.scrollTop = from + rowHeight * 2 - room
    }
  }, [selectedRow, isAtEnd, isAtEnd ? rows : 0])
  return { scroller, top, height }
}

/** The last row whose entry is not after an index. */
function lastAtMost(steps: readonly number[], index: number): number {
  let low = 0
  for (let high = steps.length - 1; low < high;) {
    const middle = Math.ceil((low + high) / 2)
    if ((steps[middle] ?? 0) <= index) low = middle
    else high = middle - 1
  }
  return low
}
