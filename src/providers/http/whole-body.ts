import { defaultMaxResponseBytes } from '../../core/errors/errors.ts'
import type { Written } from '../../core/types/guards.ts'
import { sseSplitter, type BodySplitter } from './sse.ts'

/**
 * A splitter that looks at the body: some servers stream when not asked to, or do not stream when asked.
 *
 * A body that begins like a JSON document is one, whatever its content type. Any other is a stream of server-sent events.
 */
export function sniffedBody(limit?: number): BodySplitter {
  let chosen: BodySplitter | undefined
  const splitter: Written<BodySplitter> = {
    isDocument: false,
    feed(chunk, onEvent) {
      if (chosen === undefined) {
        const start = chunk.trimStart()
        if (start === '') return
        splitter.isDocument = start.startsWith('{') || start.startsWith('[')
        chosen = splitter.isDocument ? wholeBody(limit) : sseSplitter(limit)
      }
      chosen.feed(chunk, onEvent)
    },
    end(onEvent) {
      chosen?.end(onEvent)
    },
  }
  return splitter
}

/**
 * A splitter for a body that is one JSON document: the whole document is one event, dispatched at the end of the body.
 *
 * Some servers answer a streaming call with a plain document. Beyond `limit` characters it throws a `RangeError`.
 */
export function wholeBody(limit: number = defaultMaxResponseBytes): BodySplitter {
  let text = ''
  return {
    isDocument: true,
    accept: 'application/json',
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
