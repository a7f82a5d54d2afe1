import { totalUsage } from '../collect/to-results.ts'
import type { Batch } from '../events/event.ts'
import type { BatchSource } from '../stream/run-stream.ts'
import { span, type Span } from '../telemetry/telemetry.ts'
import type { SpanOutcome } from '../telemetry/telemetry-event.ts'
import type { Loop } from './loop.ts'
import { loopSource } from './loop-source.ts'
import type { Place } from './place.ts'

/** A loop's batches, with a span over all of them. */
export function tracedLoop(loop: Loop, kind: Place['kind']): BatchSource {
  const source = loopSource(loop, kind)
  let trace: Span | undefined
  let reported = false
  const report = (failure: unknown): void => {
    if (reported || trace === undefined) return
    reported = true
    if (failure !== undefined) trace.error(failure)
    else trace.stop(outcomeOf(loop))
  }
  const passed = (result: IteratorResult<Batch, void>): IteratorResult<Batch, void> => {
    if (result.done === true) report(loop.state.error)
    return result
  }
  const failed = (error: unknown): never => {
    report(error)
    throw error
  }
  return {
    next: () => {
      trace ??= loopSpan(loop, kind)
      return source.next().then(passed, failed)
    },
    return: async () => {
      const result = await source.return()
      report(loop.state.error)
      return result
    },
  }
}

function loopSpan({ scene }: Loop, kind: Place['kind']): Span {
  const { requestId, sessionId, engine } = scene
  return span(kind, { requestId, sessionId, provider: engine.adapter?.provider }, engine.clock)
}

function outcomeOf({ state, haltedReason }: Loop): SpanOutcome {
  return { haltedReason, usage: totalUsage(state), content: state.result }
}
