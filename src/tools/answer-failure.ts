import type { ToolError } from '../errors/errors.ts'
import type { Answer } from './answer.ts'
import { encodeResult } from './encode-result.ts'
import { errorContent } from './error-content.ts'
import { decide, type ErrorDecision } from './error-policy.ts'
import type { CallScene } from './execution.ts'
import { unencodable } from './tool-failure.ts'
import { assertNever } from '../types/guards.ts'

/**
 * The answer to a call that failed, by the error policy. Whatever the policy says, the call is answered.
 *
 * The caller gets the whole error, the model one sentence of it or what the policy put in its place.
 */
export function answerFailure(execution: CallScene, error: ToolError): Answer {
  const { call, tool, run } = execution
  const result = { error: error.toJSON() }
  const { content, haltedBy } = follow(execution, decide(run.onToolError, call, error))
  const event = {
    type: 'tool_result_encoded',
    id: call.id,
    content: content ?? errorContent(error, tool),
  } as const
  if (haltedBy === undefined) return { result, event, error }
  const halt = { reason: 'tool_error', toolCallId: call.id, error: haltedBy.toJSON() }
  return { result, event: { ...event, halt }, error }
}

interface Consequence {
  /** What the model reads, when it is not the error. */
  readonly content?: string
  /** Why the loop stops, when it does. */
  readonly haltedBy?: ToolError
}

function follow({ call, run }: CallScene, decision: ErrorDecision): Consequence {
  switch (decision.type) {
    case 'tell':
      return {}
    case 'halt':
      return { haltedBy: decision.error }
    case 'replace':
      try {
        return { content: encodeResult(decision.value, run.encoder).content }
      } catch (thrown) {
        return { haltedBy: unencodable(call, thrown) }
      }
    default:
      return assertNever(decision)
  }
}
