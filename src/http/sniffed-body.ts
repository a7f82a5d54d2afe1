import { sseSplitter, type BodySplitter } from './sse.ts'
import { wholeBody } from './whole-body.ts'

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
