import type { OnToolError } from '../contracts/options.ts'
import type { ToolError } from '../errors/errors.ts'
import { disown } from './thenable.ts'
import { toolFailure } from './tool-failure.ts'
import type { ToolCall } from '../types/message.ts'

/** What happens after a failed call: the model is told, it is told something else, or the loop stops. */
export type ErrorDecision =
  | { readonly type: 'tell' }
  | { readonly type: 'replace'; readonly value: unknown }
  /** `error` is why: the call's own, or that of a policy function that failed. */
  | { readonly type: 'halt'; readonly error: ToolError }

/**
 * Applies the policy to one failed call; a function is called once.
 *
 * A function that throws, or gives anything but `{continue: value}` and `'halt'`, halts as `invalid_return`.
 */
export function decide(policy: OnToolError, call: ToolCall, error: ToolError): ErrorDecision {
  if (policy === 'continue') return { type: 'tell' }
  if (policy === 'halt') return { type: 'halt', error }
  try {
    return decisionOf(policy(call, error), call, error)
  } catch (thrown) {
    const message = `onToolError threw when told that ${call.name} failed`
    return { type: 'halt', error: unusable(call, error, message, thrown) }
  }
}

function decisionOf(answer: unknown, call: ToolCall, error: ToolError): ErrorDecision {
  if (answer === 'halt') return { type: 'halt', error }
  if (typeof answer === 'object' && answer !== null && 'continue' in answer) {
    return { type: 'replace', value: answer.continue }
  }
  disown(answer)
  const message = `onToolError must give {continue: value} or 'halt'`
  return { type: 'halt', error: unusable(call, error, message, answer) }
}

function unusable(call: ToolCall, error: ToolError, message: string, cause: unknown): ToolError {
  return toolFailure('invalid_return', call, message, {
    cause,
    metadata: { toolError: { reason: error.reason, message: error.message } },
  })
}
