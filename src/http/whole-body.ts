import { maxBufferedCharacters, type BodySplitter } from './sse.ts'

/**
 * A splitter for a body that is one JSON document: the whole of it is one event, given when the body is over.
 *
 * It is for servers that answer a streaming call with a plain document. Beyond `limit` characters it throws a `RangeError`.
 */
export function wholeBody(limit: number = maxBufferedCharacters): BodySplitter {
  let text = ''
  return {
    isDocument: true,
    feed(chunk) {
      text += chunk
      if (text.length > limit) throw new RangeError(`the body is longer than ${limit} characters`)
    },
    end(onEvent) {
      if (text.trim() !== '') onEvent(text, undefined)
      text = ''
    },
  }
}
