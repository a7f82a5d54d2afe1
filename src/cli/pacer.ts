import type { Output } from './io.ts'
import type { Clock } from '../core/clock.ts'

/** Writes text now, or at the pace of a clock that does not wait. */
export interface Pacer {
  readonly write: (text: string) => void
  /** Resolves when everything has been written. */
  readonly flush: () => Promise<void>
}

/**
 * A writer that shows what happened on a virtual clock as it would have been seen. Each text is held with its time, and `flush`
 * writes them one after the other, waiting as long as the clock says. Without `wait` everything is written at once.
 */
export function pacer(
  output: Output,
  clock: Clock,
  wait?: (ms: number) => Promise<unknown>,
): Pacer {
  let held: { readonly at: number; readonly text: string }[] = []
  let shown = clock.now()
  return {
    write(text) {
      if (wait === undefined) output.write(text)
      else held.push({ at: clock.now(), text })
    },
    async flush() {
      const texts = held
      held = []
      for (const { at, text } of texts) {
        if (at > shown) await wait?.(at - shown)
        shown = Math.max(shown, at)
        output.write(text)
      }
    },
  }
}
