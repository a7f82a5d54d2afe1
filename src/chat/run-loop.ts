import type { Collector } from '../collect/collector-state.ts'
import { failureOf } from '../collect/failure.ts'
import { totalUsage } from '../collect/to-results.ts'
import type { PartialResult } from '../data/partial-result.ts'
import { isAllmError } from '../errors/allm-error.ts'
import type { Batch } from '../events/event.ts'
import { keepEvent } from '../stream/keep-event.ts'
import { runStream, type BatchSource, type RunStream } from '../stream/run-stream.ts'
import { span, type Span } from '../telemetry/telemetry.ts'
import type { Loop } from './loop.ts'

type Batches = AsyncGenerator<Batch, void>

/** A loop as a stream for its consumer. */
export function loopStream(loop: Loop, batches: Batches, name: 'step' | 'chat'): RunStream {
  return runStream(traced(loop, batches, name), { keep: keepEvent(loop.scene) })
}

/** Runs a loop to its end and gives its result, or rejects with the failure that holds what there is of it. */
export async function drainLoop<Result extends PartialResult>(
  loop: Loop,
  batches: Batches,
  name: 'step' | 'chat',
  project: (state: Collector) => Result,
): Promise<Result> {
  const { state } = loop
  const source = traced(loop, batches, name)
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

/** The loop's batches, with a span over all of them. */
export function traced(loop: Loop, batches: Batches, name: 'step' | 'chat'): BatchSource {
  const { requestId, sessionId, engine } = loop.scene
  let trace: Span | undefined
  let reported = false
  const report = (error?: unknown): void => {
    if (reported || trace === undefined) return
    reported = true
    loop.abort.unlink()
    const { state } = loop
    const failure = error ?? state.error
    if (failure !== undefined) trace.error(failure)
    else
      trace.stop({
        haltedReason: loop.haltedReason,
        usage: totalUsage(state),
        content: state.result,
      })
  }
  return {
    async next() {
      trace ??= span(
        name,
        { requestId, sessionId, provider: engine.adapter?.provider },
        engine.clock,
      )
      try {
        const result = await batches.next()
        if (result.done === true) report()
        return result
      } catch (error) {
        report(error)
        throw error
      }
    },
    async return() {
      // A generator that waits takes its `return` only when it wakes up: the abort wakes it.
      loop.abort.abort(new Error('the consumer left'))
      const result = await batches.return()
      report()
      return result
    },
  }
}
