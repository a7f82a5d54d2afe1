import type { Tool } from '../contracts/tool.ts'
import { runStream, type BatchSource, type RunStream } from '../run/run-stream.ts'
import { cancellation, failureBatch } from './batch-failure.ts'
import { settleToolRun } from './settle-tool-run.ts'
import { toolBatches } from './tool-batches.ts'
import type { ToolCallsOptions } from './tool-options.ts'
import type { ToolRun } from './tool-run.ts'
import { unknownTool } from './unknown-tool.ts'
import type { Batch } from '../types/events.ts'
import type { ToolCall } from '../types/message.ts'

/**
 * Runs a batch of tool calls as a stream of events, in the order in which things happen.
 *
 * Each call says `tool_execution_started` when its handler starts, `tool_execution_completed`, and then one of
 * `tool_result_encoded`, `ask_user_requested` and `tool_halt`. A call of an unknown tool gives one `error` event, and nothing
 * runs. Leaving early aborts the signals of the handlers that still run. Illegal options throw at once.
 */
export function streamToolCalls(
  calls: readonly ToolCall[],
  tools: readonly Tool[],
  options: ToolCallsOptions = {},
): RunStream {
  const run = settleToolRun(tools, options)
  const unknown = unknownTool(calls, run.tools)
  return runStream(unknown === undefined ? source(calls, run) : only(failureBatch(unknown)))
}

/** The batch, with what its signal did to it as the last event. */
function source(calls: readonly ToolCall[], run: ToolRun): BatchSource {
  const batches = toolBatches(calls, run)
  let phase: 'new' | 'open' | 'ended' = 'new'
  return {
    next: async () => {
      const step = await batches.next()
      const cut = step.done === true && phase !== 'ended' && batches.wasCut()
      if (!cut) {
        phase = step.done === true ? 'ended' : 'open'
        return step
      }
      const error = cancellation(run)
      if (phase === 'new') throw error
      phase = 'ended'
      return { done: false, value: failureBatch(error) }
    },
    return: () => {
      phase = 'ended'
      return batches.return()
    },
  }
}

/** A source of one batch. */
function only(batch: Batch): BatchSource {
  let left = true
  const end = { done: true, value: undefined } as const
  return {
    next: async () => {
      if (!left) return end
      left = false
      return { done: false, value: batch }
    },
    return: async () => {
      left = false
      return end
    },
  }
}
