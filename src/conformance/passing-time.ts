import type { ChatScene } from './chat-scene.ts'
import { ConformanceFailure } from './conformance-failure.ts'
import { turns } from './patience.ts'
import { openStream, type OpenStream, type Reading } from './read-stream.ts'
import type { AdapterOptions } from '../contracts/adapter.ts'
import type { ModelEvent } from '../types/events.ts'

/** How far the clock is moved at once. Much shorter than every limit that a case sets. */
const stepMs = 250

/** Rounds of the event loop between two moves, so that bytes arrive in less time than any limit. */
const turnsPerStep = 20

/**
 * Moves a scene's clock on, in small steps, until a promise is settled.
 *
 * Fails when by that clock `limitMs` have passed. No real time is waited for, only that what is ready runs.
 */
export async function whileTimePasses<T>(
  { clock }: Pick<ChatScene, 'clock'>,
  pending: Promise<T>,
  limitMs: number,
): Promise<T> {
  const state = { settled: false }
  const settle = (): void => {
    state.settled = true
  }
  pending.then(settle, settle)
  for (let passed = 0; ; passed += stepMs) {
    await turns(turnsPerStep)
    if (state.settled) return pending
    if (passed >= limitMs) break
    await clock.advance(stepMs)
  }
  throw new ConformanceFailure({
    expected: `something to happen within ${limitMs} ms by options.clock`,
    received: undefined,
    contract: 'timeouts',
    hint: 'measure time with options.clock (now, sleep), not with setTimeout or Date.now',
  })
}

/** Reads a stream to its end while time passes, a minute at most by the scene's clock. */
export function readWhileTimePasses(scene: ChatScene, options: AdapterOptions): Promise<Reading> {
  const events: ModelEvent[] = []
  const reading = readAll(openStream(scene, { options }), events).then(
    () => ({ events }),
    (thrown: unknown) => ({ events, failure: { thrown } }),
  )
  return whileTimePasses(scene, reading, 60_000)
}

/** Without a limit in real time: the clock is what limits it. */
async function readAll(stream: OpenStream, into: ModelEvent[]): Promise<void> {
  for (;;) {
    const { done, value } = await stream.step()
    if (done === true) return
    // Whether the items are events is what other cases find out.
    into.push(...(Array.isArray(value) ? (value as readonly ModelEvent[]) : []))
  }
}
