import { sseSplitter, type BodySplitter } from '../../http/sse.ts'
import { wholeBody } from '../../http/whole-body.ts'

/**
 * How the body of an answer is cut. Some servers stream unasked, and some do not stream when asked.
 *
 * What the answer says it is holds; what was asked for decides where it does not say.
 */
export function answerSplitter(response: Response, asked: boolean): BodySplitter {
  const type = response.headers.get('content-type') ?? ''
  const streamed = type.includes('text/event-stream') || (asked && !type.includes('json'))
  return streamed ? sseSplitter() : wholeBody()
}
