import { AdapterError } from '../../errors/errors.ts'
import { errorIn, failureOf } from './parse-failure.ts'
import type { WireAnswer } from './wire-answer.ts'

/** Whose call failed. */
export interface CallFacts {
  readonly provider: string
  readonly requestId: string
  /** Takes the key of the call out of a text. */
  readonly hideKey: (text: string) => string
}

/** The error that Gemini put in the place of an answer, or of the rest of one. */
export function reportedError(answer: WireAnswer, facts: CallFacts): AdapterError {
  const { provider, requestId, hideKey } = facts
  const error: unknown = JSON.parse(hideKey(JSON.stringify(answer.error)))
  const known = errorIn({ error }) ?? { message: String(error) }
  const { reason, message, ...details } = failureOf(provider, known)
  return new AdapterError(reason, message, { provider, requestId, ...details })
}

/** The prompt was blocked: there is no answer, and Gemini's reasons are in `metadata.promptFeedback`. */
export function blockedPrompt(answer: WireAnswer, facts: CallFacts): AdapterError {
  const { provider, requestId } = facts
  const { promptFeedback = {}, usageMetadata } = answer
  const { blockReason, blockReasonMessage } = promptFeedback
  const words = typeof blockReasonMessage === 'string' ? ` (${blockReasonMessage})` : ''
  const message = `${provider} blocked the prompt: ${JSON.stringify(blockReason)}${words}`
  const usage = usageMetadata === undefined ? {} : { usageMetadata }
  const metadata = { promptFeedback, ...usage }
  return new AdapterError('content_filter', message, { provider, requestId, metadata })
}

/** An answer that is whole and has no end, or is no answer at all. */
export function malformedAnswer(facts: CallFacts, cause?: unknown): AdapterError {
  const { provider, requestId } = facts
  const message = `${provider} answered without a candidate that has a finish reason`
  return new AdapterError('malformed_response', message, { provider, requestId, cause })
}
