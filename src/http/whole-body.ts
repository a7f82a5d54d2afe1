import { maxBufferedCharacters, sseSplitter, type BodySplitter } from './sse.ts'

/**
 * A splitter for a body that is not what it says, as some servers stream unasked, or do not stream when asked.
 *
 * One that begins like a JSON document is one, whatever its content type; any other is a stream of server-sent events.
 */
export function sniffedBody(): BodySplitter {
  let chosen: BodySplitter | undefined
  return {
    get isDocument() {
      return chosen?.isDocument === true
    },
    feed(chunk, onEvent) {
      const start = chunk.trimStart()
      if (chosen === undefined && start === '') return
      chosen ??= start.startsWith('{') || start.startsWith('[') ? wholeBody() : sseSplitter()
      chosen.feed(chunk, onEvent)
    },
    end(onEvent) {
      chosen?.end(onEvent)
    },
  }
}

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
