import type { Loop } from './loop.ts'
import type { CallOptions } from '../contracts/options.ts'
import { applyEvent, isDone, toStepResult } from '../run/collector.ts'
import { optionOf } from '../run/context.ts'
import type { StreamEvent } from '../types/events.ts'
import type { HaltedReason } from '../types/results.ts'

/** The event that ends a step. */
export type StepCompleted = Extract<StreamEvent, { type: 'step_completed' }>

/**
 * Why the loop ends after a step, or `undefined` when it goes on. The first that holds counts: what a tool said (a
 * question, an error, a halt), calls that the caller has to answer, an answer that asks for nothing more, `haltWhen`, `maxTurns`.
 */
export function haltedAfter(
  loop: Loop,
  step: StepCompleted,
): HaltedReason | undefined | Promise<HaltedReason | undefined> {
  if (step.halt !== undefined) return step.halt.reason
  if (step.manualToolCalls.length > 0) return 'manual_tool_calls'
  if (isDone(step)) return step.response.finishReason === 'error' ? 'error' : 'completed'
  const limit = loop.turns >= loop.maxTurns ? 'max_turns' : undefined
  const haltWhen = optionOf(loop.scene, 'haltWhen')
  return haltWhen === undefined ? limit : askedTo(haltWhen, loop, step, limit)
}

/** The step is shown as the caller will see it. It is made only where somebody asks, for it copies the thread. */
async function askedTo(
  haltWhen: NonNullable<CallOptions['haltWhen']>,
  { state }: Loop,
  step: StepCompleted,
  otherwise: HaltedReason | undefined,
): Promise<HaltedReason | undefined> {
  return (await haltWhen(toStepResult(applyEvent(state, step)))) ? 'halt_when' : otherwise
}
