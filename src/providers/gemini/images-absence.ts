import { AdapterError } from '../../errors/errors.ts'
import { secretFilter } from '../../http/secrets.ts'
import { finishReasonOf } from './finish-reason.ts'
import type { ImageHttpCall } from './images-http.ts'
import type { WireAnswer } from './wire-answer.ts'
import { blockedPrompt, reportedError, type CallFacts } from './wire-error.ts'

/**
 * Why an answer has no image: an error in its place, a prompt or an image that was blocked (`content_filter`), or a model
 * that wrote something instead (`malformed_response`, with what it wrote).
 */
export function noImage(answer: WireAnswer, outputText: string, call: ImageHttpCall): AdapterError {
  const { provider, requestId, headers } = call
  const facts: CallFacts = { provider, requestId, hideKey: secretFilter(headers) }
  if (answer.error) return reportedError(answer, facts)
  if (answer.promptFeedback?.['blockReason']) return blockedPrompt(answer, facts)
  const { finishReason, finishMessage } = answer.candidates?.[0] ?? {}
  const word = finishReason ?? 'no reason given'
  const detail = typeof finishMessage === 'string' ? finishMessage : outputText.slice(0, 200)
  const message = `${provider} made no image (${word})${detail === '' ? '' : `: ${detail}`}`
  const filtered = finishReasonOf(word, false) === 'content_filter'
  return new AdapterError(filtered ? 'content_filter' : 'malformed_response', message, {
    provider,
    requestId,
    metadata: finishReason === undefined ? {} : { finishReason },
  })
}
