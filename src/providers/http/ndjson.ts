import { defaultMaxResponseBytes } from '../../core/errors/errors.ts'
import type { BodySplitter } from './sse.ts'

/**
 * Makes a splitter of JSON lines (NDJSON): each line that is not blank is one event, without a name. The same text gives the
 * same events, wherever it is cut.
 *
 * LF and CRLF end lines; a byte order mark is dropped; a last line without its end is an event too. A line that grows beyond
 * `limit` characters throws a `RangeError`. The cost is linear in the text, also for one line in many chunks.
 */
export function ndjsonSplitter(limit: number = defaultMaxResponseBytes): BodySplitter {
  let rest = ''
  let atStart = true
  return {
    // Servers name JSON lines in several ways.
    accept: 'application/x-ndjson, */*;q=0.5',
    feed(chunk, onEvent) {
      let from = atStart && chunk.startsWith('\uFEFF') ? 1 : 0
      if (chunk !== '') atStart = false
      for (let to = chunk.indexOf('\n', from); to !== -1; to = chunk.indexOf('\n', from)) {
        const line = (rest + chunk.slice(from, to)).trim()
        rest = ''
        from = to + 1
        if (line !== '') onEvent(line, undefined)
      }
      // Only the new chunk is searched, and a line is joined once, when it is complete.
      rest += chunk.slice(from)
      if (rest.length > limit) throw new RangeError(`a line is longer than ${limit} characters`)
    },
    end(onEvent) {
      const line = rest.trim()
      rest = ''
      if (line !== '') onEvent(line, undefined)
    },
  }
}
