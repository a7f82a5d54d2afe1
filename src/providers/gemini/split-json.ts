import { maxBufferedCharacters, type BodySplitter } from '../../http/sse.ts'

const quote = 34
const backslash = 92
const openBrace = 123
const closeBrace = 125

/**
 * Splits a stream of JSON objects into their texts: a list that grows (`[{…},{…}]`), or objects one after the other.
 *
 * The texts are not parsed here. What stands between two objects is passed over; an object that never ends is
 * refused at the limit, and one that the body leaves unfinished is given to `end`, whose reader will not be able to parse it.
 */
export function jsonSplitter(limit: number = maxBufferedCharacters): BodySplitter {
  let pieces: string[] = []
  let size = 0
  let depth = 0
  let inString = false
  let escaped = false

  const step = (code: number): void => {
    if (escaped) escaped = false
    else if (inString) {
      if (code === backslash) escaped = true
      else if (code === quote) inString = false
    } else if (code === quote) inString = depth > 0
    else if (code === openBrace) depth++
    else if (code === closeBrace && depth > 0) depth--
  }

  return {
    feed(chunk, onEvent) {
      let start = depth > 0 ? 0 : -1
      for (let at = 0; at < chunk.length; at++) {
        const before = depth
        step(chunk.charCodeAt(at))
        if (before === 0 && depth === 1) start = at
        else if (before === 1 && depth === 0) {
          const text = pieces.join('') + chunk.slice(start, at + 1)
          start = -1
          pieces = []
          size = 0
          onEvent(text, undefined)
        }
      }
      if (start === -1) return
      pieces.push(chunk.slice(start))
      size += chunk.length - start
      if (size > limit) throw new RangeError(`an object is longer than ${limit} characters`)
    },
    end(onEvent) {
      if (pieces.length > 0) onEvent(pieces.join(''), undefined)
      pieces = []
    },
  }
}
