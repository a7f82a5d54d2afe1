import type { FinishReason, ModelResponse } from '../types/response.ts'
import type { StepResult, ToolHalt } from '../types/results.ts'

/**
 * Whether the tool calls of an answer are to be run.
 *
 * Only an answer that ended by itself has whole calls: one that was cut by `length`, by a filter or in some unknown way has
 * not, even if they happen to parse.
 */
export function runsTools(response: Pick<ModelResponse, 'finishReason' | 'toolCalls'>): boolean {
  return response.toolCalls.length > 0 && endedByItself(response.finishReason)
}

/** Whether a model stopped of its own accord. */
export function endedByItself(finishReason: FinishReason): boolean {
  return finishReason === 'tool_calls' || finishReason === 'stop'
}

/** Whether no further model call follows from a step by itself: something halted, or there was nothing to run. */
export function isDone(step: Pick<StepResult, 'response' | 'manualToolCalls' | 'halt'>): boolean {
  return step.halt !== undefined || (step.manualToolCalls.length === 0 && !runsTools(step.response))
}

/** What halted, in the order of the calls of an answer. */
export function inCallOrder(
  halts: readonly ToolHalt[],
  { toolCalls }: Pick<ModelResponse, 'toolCalls'>,
): readonly ToolHalt[] {
  if (halts.length < 2) return halts
  const order = toolCalls.map(({ id }) => id)
  return halts.toSorted((a, b) => order.indexOf(a.toolCallId) - order.indexOf(b.toolCallId))
}
