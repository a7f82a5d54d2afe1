import type { StepCompleted } from './halted.ts'
import { say, type Loop } from './loop.ts'
import type { Place } from './place.ts'
import { manualCalls } from './sort-calls.ts'
import { finalizeMessage, isFinalizing } from './turn-request.ts'
import { inCallOrder, partialMessages } from '../run/collector.ts'
import type { Batch } from '../types/events.ts'
import { defined } from '../types/guards.ts'
import type { HaltedReason } from '../types/results.ts'

/** The reasons after which `structuredFinalize` asks for its answer. */
const finalizable: ReadonlySet<string> = new Set(['completed', 'max_turns', 'halt_when'])

/** The end of a step: what it added to the thread, and who has to answer what is open. */
export function completedStep({ loop, answer }: Place): StepCompleted {
  const { state } = loop
  const manual = manualCalls(loop, answer)
  return defined<StepCompleted>({
    type: 'step_completed',
    response: answer,
    newMessages: partialMessages(state, new Set(manual.map(({ id }) => id))),
    manualToolCalls: manual,
    mode: loop.mode,
    // Of several halts, the one whose call comes first.
    halt: inCallOrder(state.halts, answer)[0],
  })
}

/** Ends a step, and with a reason the loop. */
export function closeStep(
  loop: Loop,
  step: StepCompleted,
  reason: HaltedReason | undefined,
): Batch {
  if (reason === undefined) return say(loop, step)
  // The request for the final answer belongs to this step, so that a run cut after it goes on with the answer.
  if (loop.finalize && finalizable.has(reason) && !isFinalizing(loop)) {
    return say(loop, { ...step, newMessages: [...step.newMessages, finalizeMessage] })
  }
  loop.haltedReason = reason
  return say(loop, { ...step, haltedReason: reason })
}
