import { failureOf } from './failure.ts'
import { AdapterError } from '../errors/errors.ts'
import type { ModelResponse } from '../types/response.ts'

/**
 * The text of a response that ended well, or an error: the response's own, or one that says how it ended instead.
 *
 * Only `stop` with some text is a good end; every error carries the response as its `partial`.
 */
export function unwrap(response: ModelResponse): string {
  const { error, finishReason, outputText, provider, requestId } = response
  if (error !== undefined) throw failureOf(error, response)
  if (finishReason === 'stop' && outputText !== '') return outputText
  const details = {
    provider,
    requestId,
    partial: response,
    metadata: { finishReason, rawFinishReason: response.rawFinishReason ?? finishReason },
  }
  if (finishReason === 'content_filter') {
    throw new AdapterError('content_filter', 'the answer was cut by a content filter', details)
  }
  throw new AdapterError(
    'unknown',
    finishReason === 'stop'
      ? 'the answer has no text'
      : `the answer did not end by itself: finishReason is ${finishReason}`,
    details,
  )
}
