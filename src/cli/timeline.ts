import type { Clock } from '../core/clock.ts'
import type { StreamEvent } from '../types/events.ts'

/** One row of the chart: who did what, from when to when. */
export interface TimelineRow {
  readonly lane: 'model' | 'tool' | 'user' | 'file'
  readonly label: string
  readonly from: number
  /** When a model's first event came. */
  readonly first?: number
  readonly to: number
}

/** Writes down what happened when. */
export interface Timeline {
  readonly rows: readonly TimelineRow[]
  /** A run begins: its first model call is waited for from now on. */
  begin(): void
  note(event: StreamEvent): void
  /** The run is left: what is open ends now, as `label`. */
  cut(label: string): void
  /** Something that is not an event. */
  mark(lane: TimelineRow['lane'], label: string, from?: number): void
}

/** A timeline by a clock. Times are counted from its making. */
export function timeline(clock: Clock): Timeline {
  const zero = clock.now()
  const now = (): number => clock.now() - zero
  const rows: TimelineRow[] = []
  const tools = new Map<string, number>()
  let waitingSince = 0
  let first: number | undefined
  const endCall = (label: string): void => {
    if (first === undefined) return
    rows.push({ lane: 'model', label, from: waitingSince, first, to: now() })
    first = undefined
  }
  const note = (event: StreamEvent): void => {
    if (event.type === 'message_started') first = now()
    else if (event.type === 'message_completed') {
      const calls = event.message.toolCalls ?? []
      endCall(calls.length === 0 ? 'answers' : `calls ${calls.map(({ name }) => name).join(', ')}`)
    } else if (event.type === 'tool_execution_started') tools.set(event.id, now())
    else if (event.type === 'tool_execution_completed') {
      rows.push({ lane: 'tool', label: event.name, from: tools.get(event.id) ?? now(), to: now() })
    } else if (event.type === 'step_completed') waitingSince = now()
    else if (event.type === 'error') endCall('fails')
  }
  return {
    rows,
    note,
    begin: () => (waitingSince = now()),
    cut: endCall,
    mark: (lane, label, from = clock.now()) =>
      rows.push({ lane, label, from: from - zero, to: now() }),
  }
}

/** The rows as a chart: `░` waits for the model's first word, `█` is busy, `◆` is a moment. */
export function timelineChart(rows: readonly TimelineRow[], width: number = 40): readonly string[] {
  const end = Math.max(1, ...rows.map(({ to }) => to))
  const place = (at: number): number => Math.round((at / end) * width)
  const labels = Math.max(...rows.map(({ label }) => label.length))
  const digits = String(Math.round(end)).length
  return rows.map(({ lane, label, from, first = from, to }) => {
    const bar =
      ' '.repeat(place(from)) +
      '░'.repeat(place(first) - place(from)) +
      (place(to) > place(first) ? '█'.repeat(place(to) - place(first)) : '◆')
    const at = `${number(from, digits)} ms`
    const took = `+${String(Math.round(to - from))} ms`.padStart(digits + 4)
    return `${lane.padEnd(5)} ${label.padEnd(labels)} ${at} ${took}  ${bar}`.trimEnd()
  })
}

function number(value: number, digits: number): string {
  return String(Math.round(value)).padStart(digits)
}
