import { inCallOrder } from '../collect/runs-tools.ts'
import { partialMessages } from '../collect/partial-messages.ts'
import { defined } from '../data/defined.ts'
import type { ModelResponse } from '../data/model-response.ts'
import type { Batch } from '../events/event.ts'
import { haltedAfter, type StepCompleted } from './halted.ts'
import { say, type Loop } from './loop.ts'
import type { Place } from './place.ts'
import { manualCalls } from './sort-calls.ts'
import { finalizeMessage, isFinalizing } from './turn-request.ts'

/** The reasons after which `structuredFinalize` asks for its answer. */
const finalizable: ReadonlySet<string> = new Set(['completed', 'max_turns', 'halt_when'])

/** Ends a step: what it added to the thread, who has to answer what is open, and whether the loop ends with it. */
export async function completeStep(
  loop: Loop,
  kind: Place['kind'],
  response: ModelResponse,
): Promise<Batch> {
  const { state } = loop
  const manual = manualCalls(loop, response)
  const step = defined<StepCompleted>({
    type: 'step_completed',
    response,
    newMessages: partialMessages(state, new Set(manual.map(({ id }) => id))),
    manualToolCalls: manual,
    mode: loop.mode,
    // Of several halts, the one whose call comes first.
    halt: inCallOrder(state.halts, response)[0],
  })
  const reason = kind === 'chat' ? await haltedAfter(loop, step) : undefined
  if (reason === undefined) return say(loop, step)
  // The request for the final answer belongs to this step, so that a run cut after it goes on with the answer.
  if (loop.finalize && finalizable.has(reason) && !isFinalizing(loop)) {
    return say(loop, { ...step, newMessages: [...step.newMessages, finalizeMessage] })
  }
  loop.haltedReason = reason
  return say(loop, { ...step, haltedReason: reason })
}
