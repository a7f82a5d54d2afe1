import { sseSplitter, type BodySplitter } from './sse.ts'
import { wholeBody } from './whole-body.ts'

/**
 * A splitter for a body that does not say what it is: one that begins like a JSON document is one, any other is a stream of
 * server-sent events.
 */
export function sniffedBody(): BodySplitter {
  let chosen: BodySplitter | undefined
  return {
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
