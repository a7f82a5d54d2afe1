import type { Loop } from './loop.ts'
import type { Place } from './place.ts'
import { tracedLoop } from './traced-loop.ts'
import { isAllmError } from '../errors/errors.ts'
import { failureOf, type Collector } from '../run/collector.ts'
import { keepEvent } from '../run/context.ts'
import { runStream, type RunStream } from '../run/run-stream.ts'
import type { PartialResult } from '../types/results.ts'

/** A loop as a stream for its consumer. */
export function loopStream(loop: Loop, kind: Place['kind']): RunStream {
  return runStream(tracedLoop(loop, kind), { keep: keepEvent(loop.scene) })
}

/** Runs a loop to its end and gives its result, or rejects with the failure that holds what there is of it. */
export async function drainLoop<Result extends PartialResult>(
  loop: Loop,
  kind: Place['kind'],
  project: (state: Collector) => Result,
): Promise<Result> {
  const { state } = loop
  const source = tracedLoop(loop, kind)
  try {
    while ((await source.next()).done !== true);
  } catch (error) {
    if (isAllmError(error)) {
      state.error ??= error.toJSON()
      error.partial = project(state)
    }
    throw error
  }
  const result = project(state)
  if (state.error !== undefined) throw failureOf(state.error, result)
  return result
}
