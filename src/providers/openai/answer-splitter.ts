import { sniffedBody } from '../../http/sniffed-body.ts'
import { sseSplitter, type BodySplitter } from '../../http/sse.ts'

/**
 * How the body of an answer is cut. Some servers stream unasked, some do not stream when asked, and some call a stream JSON.
 *
 * What calls itself an event stream is one; of anything else the first character decides.
 */
export function answerSplitter(response: Response): BodySplitter {
  const type = response.headers.get('content-type') ?? ''
  return type.includes('text/event-stream') ? sseSplitter() : sniffedBody()
}
