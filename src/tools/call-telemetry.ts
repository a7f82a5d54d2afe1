import { emitTelemetry, isObserved, span, type Span, type SpanFacts } from '../core/telemetry.ts'
import { toJsonValue } from '../errors/to-json-value.ts'
import { ToolError } from '../errors/errors.ts'
import type { Execution } from './execution.ts'
import type { ToolOutcome } from './tool-outcome.ts'
import type { ToolRun } from './tool-run.ts'
import type { ToolCall } from '../types/message.ts'

/** Starts the span of a call. */
export function toolSpan(call: ToolCall, run: ToolRun): Span {
  return span('tool', factsOf(call, run), run.clock)
}

/** Tells of a handler that answered after its deadline. The answer itself is thrown away. */
export function reportLate(execution: Execution, outcome: ToolOutcome): void {
  const { call, run, deadline, control } = execution
  // One that was stopped with its run is not late.
  if (!isObserved() || !isTimeout(control.reason)) return
  const at = run.clock.now()
  emitTelemetry({
    name: 'tool.unsettled',
    at,
    lateByMs: at - deadline,
    outcome: outcome.type === 'error' ? 'rejected' : 'resolved',
    ...(outcome.type === 'value' ? { content: toJsonValue(outcome.value) } : {}),
    ...factsOf(call, run),
  })
}

function isTimeout(reason: Error | undefined): boolean {
  return reason instanceof ToolError && reason.reason === 'timeout'
}

function factsOf(call: ToolCall, { requestId, sessionId }: ToolRun): SpanFacts {
  return { requestId, sessionId, toolName: call.name, toolCallId: call.id }
}
