import { loopSource } from './loop-source.ts'
import type { Loop } from './loop.ts'
import type { Place } from './place.ts'
import { span, type Span, type SpanOutcome } from '../core/telemetry.ts'
import { totalUsage } from '../run/collector.ts'
import type { BatchSource } from '../run/run-stream.ts'
import type { Batch } from '../types/events.ts'

/** A loop's batches, with a span over all of them, and in a chat one over each step. */
export function tracedLoop(loop: Loop, kind: Place['kind']): BatchSource {
  const source = loopSource(loop, kind)
  let trace: Span | undefined
  let step: Span | undefined
  let reported = false
  const report = (failure: unknown): void => {
    if (reported || trace === undefined) return
    reported = true
    for (const open of [step, trace]) {
      if (failure !== undefined) open?.error(failure)
      else open?.stop(open === trace ? outcomeOf(loop) : {})
    }
  }
  const passed = (result: IteratorResult<Batch, void>): IteratorResult<Batch, void> => {
    if (result.done === true) report(loop.state.error)
    else if (step !== undefined) step = afterBatch(step, result.value)
    return result
  }
  const failed = (error: unknown): never => {
    report(error)
    throw error
  }
  return {
    next: () => {
      trace ??= loopSpan(loop, kind)
      if (kind === 'chat' && loop.haltedReason === undefined) step ??= loopSpan(loop, 'step')
      return source.next().then(passed, failed)
    },
    return: async () => {
      const result = await source.return()
      report(loop.state.error)
      return result
    },
  }
}

/** The span of the step that is under way after a batch: none, when the batch ended it. */
function afterBatch(step: Span, batch: Batch): Span | undefined {
  const last = batch.at(-1)
  if (last?.type !== 'step_completed') return step
  const { finishReason, usage } = last.response
  step.stop({ finishReason, usage, haltedReason: last.halt?.reason, content: last.response })
  return undefined
}

function loopSpan({ scene }: Loop, kind: Place['kind']): Span {
  const { requestId, sessionId, engine } = scene
  return span(kind, { requestId, sessionId, provider: engine.adapter?.provider }, engine.clock)
}

function outcomeOf({ state, haltedReason }: Loop): SpanOutcome {
  return { haltedReason, usage: totalUsage(state), content: state.result }
}
