import type { ChatScene } from './chat-scene.ts'
import { ConformanceFailure } from './conformance-failure.ts'
import { contract } from './contract.ts'
import { turns } from './patience.ts'

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
    contract: contract.timeouts,
    hint: 'measure time with options.clock (now, sleep), not with setTimeout or Date.now',
  })
}
