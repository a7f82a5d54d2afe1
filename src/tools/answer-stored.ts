import { errorFromJSON } from '../errors/error-json.ts'
import { ToolError } from '../errors/errors.ts'
import { answerCall } from './answer-call.ts'
import type { AnswerEvent } from './answer.ts'
import { toolFailure } from './tool-failure.ts'
import type { ToolOutcome } from './tool-outcome.ts'
import type { ToolRun } from './tool-run.ts'
import type { ToolCall } from '../types/message.ts'
import type { StoredResult } from '../types/session.ts'

/** The event that ends a call whose handler finished in an earlier life of the run. The handler does not run again. */
export function answerStored(call: ToolCall, stored: StoredResult, run: ToolRun): AnswerEvent {
  return answerCall({ call, tool: run.tools.get(call.name), run }, outcomeOf(call, stored)).event
}

function outcomeOf(call: ToolCall, stored: StoredResult): ToolOutcome {
  const { value = null, error, question, haltReason } = stored
  if (question !== undefined) return { type: 'ask_user', ...question }
  if (haltReason !== undefined) return { type: 'halt', reason: haltReason, result: value }
  if (error === undefined) return { type: 'value', value }
  const failure = errorFromJSON(error)
  return {
    type: 'error',
    error:
      failure instanceof ToolError ? failure : toolFailure('handler_raised', call, failure.message),
  }
}
