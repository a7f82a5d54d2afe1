import { createLoop, startAt, type ThreadInput } from './create-loop.ts'
import { drainLoop, loopStream } from './run-loop.ts'
import type { Engine } from '../contracts/engine.ts'
import type { CallOptions } from '../contracts/options.ts'
import { toStepResult } from '../run/collector.ts'
import type { RunStream } from '../run/run-stream.ts'
import type { StepResult } from '../types/results.ts'

/**
 * Makes one model call and runs the tools that it asks for. The fold of `streamStep`.
 *
 * It rejects when the model call fails; the error's `partial` is the step so far.
 */
export async function step(
  engine: Engine,
  input: ThreadInput,
  options?: CallOptions,
): Promise<StepResult> {
  const loop = createLoop(engine, startAt(input), singleStep(options))
  return drainLoop(loop, 'step', toStepResult)
}

/** One step as events: those of the model call, those of its tools, then `step_completed`. */
export function streamStep(engine: Engine, input: ThreadInput, options?: CallOptions): RunStream {
  const loop = createLoop(engine, startAt(input), singleStep(options))
  return loopStream(loop, 'step')
}

/** The options of a single step: it has no second pass, so a format holds for it as it is. */
export function singleStep(options?: CallOptions): CallOptions {
  return { ...options, structuredFinalize: false }
}
