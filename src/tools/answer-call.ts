import { answerFailure } from './answer-failure.ts'
import type { Answer } from './answer.ts'
import { encodeResult, type EncodedResult } from './encode-result.ts'
import type { CallScene } from './execution.ts'
import { unencodable } from './tool-failure.ts'
import type { ToolOutcome } from './tool-outcome.ts'
import { assertNever } from '../types/guards.ts'

/** Turns an outcome into an answer: encodes it, and asks the error policy about a failure. Never throws. */
export function answerCall(execution: CallScene, outcome: ToolOutcome): Answer {
  switch (outcome.type) {
    case 'value':
      return answerValue(execution, outcome.value)
    case 'halt':
      return answerValue(execution, outcome.result, outcome.reason)
    case 'ask_user': {
      const { id, name } = execution.call
      const { question, options } = outcome
      return {
        result: { ok: null },
        outcome: { type: 'ask_user', question, options },
        event: { type: 'ask_user_requested', toolCallId: id, toolName: name, question, options },
      }
    }
    case 'error':
      return answerFailure(execution, outcome.error)
    default:
      return assertNever(outcome)
  }
}

/** A value that can not be encoded makes the call a failed one, also where the handler wanted to halt. */
function answerValue(execution: CallScene, value: unknown, haltReason?: string): Answer {
  const { call, run } = execution
  let encoded: EncodedResult
  try {
    encoded = encodeResult(value, run.encoder)
  } catch (thrown) {
    return answerFailure(execution, unencodable(call, thrown))
  }
  const { id } = call
  const { content, json: result } = encoded
  if (haltReason === undefined) {
    return { result: { ok: result }, event: { type: 'tool_result_encoded', id, content } }
  }
  return {
    result: { ok: result },
    outcome: { type: 'halt', reason: haltReason },
    event: { type: 'tool_halt', toolCallId: id, reason: haltReason, result, content },
  }
}
