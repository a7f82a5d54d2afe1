import { systemClock, type Clock } from '../core/clock.ts'
import { user } from '../make/messages.ts'
import { collect } from '../run/collect.ts'
import { createEngine } from '../run/engine.ts'
import { streamGenerate } from '../run/generate.ts'
import { fake } from '../testing/fake.ts'
import type { Script } from '../testing/script.ts'
import { virtualClock } from '../testing/virtual-clock.ts'
import type { StreamEvent } from '../types/events.ts'
import type { ModelResponse } from '../types/response.ts'

/** A script that was played as one model call. */
export interface PlayedCall {
  readonly response: ModelResponse
  readonly events: readonly TimedEvent[]
  readonly durationMs: number
}

/** An event, and when it came, counted from the start of its call. */
export interface TimedEvent {
  readonly at: number
  readonly event: StreamEvent
}

/**
 * Plays scripts on the fake, one model call each, without retries, until one of them fails. Delays take no time unless `realTime`.
 *
 * `onEvent` sees every event as it comes. A call that fails before its first event rejects.
 */
export async function* playScripts(
  scripts: readonly Script[],
  realTime: boolean,
  onEvent: (timed: TimedEvent) => void,
): AsyncGenerator<PlayedCall, void> {
  const clock: Clock = realTime ? systemClock : virtualClock()
  let ids = 0
  const newId = (kind: string): string => `${kind}-${++ids}`
  const engine = createEngine({ adapter: fake({ scripts }), clock, newId, retry: false })
  for (const _ of scripts) {
    const start = clock.now()
    const events: TimedEvent[] = []
    for await (const event of streamGenerate(engine, [user('(played by allm run)')])) {
      const timed = { at: clock.now() - start, event }
      events.push(timed)
      onEvent(timed)
    }
    const response = await collect(events.map(({ event }) => event))
    yield { response, events, durationMs: clock.now() - start }
    if (response.error !== undefined) return
  }
}
