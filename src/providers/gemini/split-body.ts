import { defaultMaxResponseBytes } from '../../core/errors/errors.ts'
import { sseSplitter, type BodySplitter } from '../http/sse.ts'

/**
 * Splits the body of an answer: server-sent events, a list of JSON objects (a stream without `alt=sse`) or one JSON object (a
 * whole answer).
 *
 * The first character tells them apart. Gemini also writes a late error as a bare object into a body of server-sent events;
 * it is found there.
 */
export function bodySplitter(limit?: number): BodySplitter {
  const events = sseSplitter(limit)
  const objects = jsonSplitter(limit)
  let framing: 'unknown' | 'events' | 'objects' = 'unknown'
  let lineStart = true

  const feedEvents: BodySplitter['feed'] = (chunk, onEvent) => {
    const at = lineStart && chunk.startsWith('{') ? 0 : afterBreak(chunk)
    if (at === -1) {
      lineStart = /[\r\n]$/.test(chunk)
      events.feed(chunk, onEvent)
      return
    }
    events.feed(chunk.slice(0, at), onEvent)
    events.end(onEvent)
    framing = 'objects'
    objects.feed(chunk.slice(at), onEvent)
  }

  return {
    feed(chunk, onEvent) {
      if (framing === 'unknown') framing = framingOf(chunk)
      if (framing === 'objects') objects.feed(chunk, onEvent)
      else if (chunk !== '') feedEvents(chunk, onEvent)
    },
    end(onEvent) {
      events.end(onEvent)
      objects.end(onEvent)
    },
  }
}

function framingOf(chunk: string): 'unknown' | 'events' | 'objects' {
  const text = chunk.trimStart()
  if (text === '') return 'unknown'
  return text.startsWith('[') || text.startsWith('{') ? 'objects' : 'events'
}

/** The position of a brace at the start of a line, or -1. */
function afterBreak(chunk: string): number {
  const at = chunk.search(/[\r\n]\{/)
  return at === -1 ? -1 : at + 1
}

const quote = 34

const backslash = 92

const openBrace = 123

const closeBrace = 125

/**
 * Splits a stream of JSON objects into their texts: a list that grows (`[{…},{…}]`), or consecutive objects.
 *
 * The texts are not parsed here. Text between two objects is ignored. An object that grows beyond `limit` characters throws a
 * `RangeError`. `end` dispatches an object that the body left unfinished, and parsing it fails.
 */
export function jsonSplitter(limit: number = defaultMaxResponseBytes): BodySplitter {
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
