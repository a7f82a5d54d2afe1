import { closeStep, completedStep } from './complete-step.ts'
import { haltedAfter } from './halted.ts'
import type { Place } from './place.ts'
import type { Batch } from '../types/events.ts'
import type { HaltedReason } from '../types/results.ts'

/** Ends a step and decides what comes after it. A promise only where the caller's `haltWhen` is asked. */
export function endStep(place: Place): Batch | Promise<Batch> {
  const { loop, kind } = place
  const step = completedStep(place)
  const end = (reason: HaltedReason | undefined): Batch => {
    const batch = closeStep(loop, step, reason)
    if (kind === 'step') place.stage = 'over'
    else place.stage = loop.haltedReason === undefined ? 'start' : 'halted'
    return batch
  }
  const reason = kind === 'step' ? undefined : haltedAfter(loop, step)
  return reason instanceof Promise ? reason.then(end) : end(reason)
}
