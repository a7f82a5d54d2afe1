import { abortWith, lazyAbort } from '../core/abort.ts'
import { answerCall } from './answer-call.ts'
import type { AnswerEvent } from './answer.ts'
import { toolSpan } from './call-telemetry.ts'
import type { Execution } from './execution.ts'
import { toolFailure } from './tool-failure.ts'
import type { ToolOutcome } from './tool-outcome.ts'
import type { ToolRun } from './tool-run.ts'
import type { StreamEvent } from '../types/events.ts'
import type { ToolCall } from '../types/message.ts'

/** A call whose time begins now. */
export function openCall(call: ToolCall, run: ToolRun): Execution {
  const tool = run.tools.get(call.name)
  const startedAt = run.clock.now()
  return {
    call,
    tool,
    run,
    control: lazyAbort(),
    startedAt,
    deadline: startedAt + (tool?.timeoutMs ?? run.timeoutMs),
    trace: toolSpan(call, run),
  }
}

/** Answers a call: adds the two events that end it, and ends its span. */
export function closeCall(execution: Execution, outcome: ToolOutcome, events: StreamEvent[]): void {
  const { call, run, startedAt, trace } = execution
  const { result, outcome: wish, event, error } = answerCall(execution, outcome)
  const { id, name } = call
  const durationMs = run.clock.now() - startedAt
  const completed = { type: 'tool_execution_completed', id, name, result, durationMs } as const
  events.push(wish === undefined ? completed : { ...completed, outcome: wish }, event)
  if (error !== undefined) trace.error(error)
  else trace.stop({ haltedReason: haltReason(event), content: 'ok' in result ? result.ok : null })
}

function haltReason(event: AnswerEvent): string | undefined {
  if (event.type === 'tool_halt') return event.reason
  return event.type === 'ask_user_requested' ? 'ask_user' : undefined
}

/** The deadline has come: the handler is told to stop, and the call came out as timed out. */
export function expireCall({ call, control, deadline, startedAt }: Execution): ToolOutcome {
  const message = `tool ${call.name} gave no answer within ${deadline - startedAt} ms`
  const error = toolFailure('timeout', call, message)
  abortWith(control, error)
  return { type: 'error', error }
}
