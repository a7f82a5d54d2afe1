import type { Tool } from '../contracts/tool.ts'
import { cancellation } from './batch-failure.ts'
import { foldToolEvents, type ToolCallsResult } from './fold-tool-events.ts'
import { settleToolRun } from './settle-tool-run.ts'
import { toolBatches } from './tool-batches.ts'
import type { ToolCallsOptions } from './tool-options.ts'
import { unknownTool } from './unknown-tool.ts'
import type { StreamEvent } from '../types/events.ts'
import type { ToolCall } from '../types/message.ts'

/**
 * Runs a batch of tool calls: one message for each, in the order of the calls. It is the fold of `streamToolCalls`.
 *
 * A call of an unknown tool rejects with an `EngineError` before anything runs. A handler that fails is an answer, not a
 * rejection. A batch that its signal stops rejects with `StreamError` `cancelled`.
 */
export async function runToolCalls(
  calls: readonly ToolCall[],
  tools: readonly Tool[],
  options: ToolCallsOptions = {},
): Promise<ToolCallsResult> {
  const run = settleToolRun(tools, options)
  const unknown = unknownTool(calls, run.tools)
  if (unknown !== undefined) throw unknown
  const events: StreamEvent[] = []
  const batches = toolBatches(calls, run)
  for (let step = await batches.next(); step.done !== true; step = await batches.next()) {
    events.push(...step.value)
  }
  if (batches.wasCut()) throw cancellation(run)
  return foldToolEvents(calls, events)
}
