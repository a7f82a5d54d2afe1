import type { StreamEvent } from '../../src/index.ts'

/** Events without the times of the clock, to compare runs at different times. Those of agents inside are without them too. */
export function untimed(events: readonly StreamEvent[]): readonly object[] {
  return events.map((event) => {
    const { at: _at, ...rest } = { at: undefined, ...event }
    if (event.type !== 'tool_progress' || event.inner !== 'event') return rest
    return { ...rest, data: untimed([event.data as unknown as StreamEvent])[0] }
  })
}
