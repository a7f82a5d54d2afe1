import { StreamError } from '../../errors/errors.ts'
import { maxBufferedCharacters, sseSplitter, type BodySplitter } from '../../http/sse.ts'

/** Whose body is split. */
interface SplitFacts {
  readonly provider: string
  readonly requestId?: string | undefined
}

/**
 * Splits the body of a streamed answer, which is server-sent events or, without `alt=sse`, a list of JSON objects.
 *
 * The first character tells them apart. Gemini also writes a late error into a body of server-sent events as a bare
 * object; it is found there. An event that the body cuts off is `truncated`.
 */
export function bodySplitter(facts: SplitFacts): BodySplitter {
  const events = sseSplitter()
  const objects = jsonSplitter()
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
      const last: typeof onEvent = (data, event) => {
        if (!isWhole(data)) throw cutOff(facts)
        onEvent(data, event)
      }
      events.end(last)
      objects.end(last)
    },
  }
}

function framingOf(chunk: string): 'unknown' | 'events' | 'objects' {
  const text = chunk.trimStart()
  if (text === '') return 'unknown'
  return text.startsWith('[') || text.startsWith('{') ? 'objects' : 'events'
}

function cutOff({ provider, requestId }: SplitFacts): StreamError {
  const message = `the answer of ${provider} ended inside an event`
  return new StreamError('truncated', message, { provider, requestId })
}

/** Where a line begins with a brace; -1 when none does. */
function afterBreak(chunk: string): number {
  const at = chunk.search(/[\r\n]\{/)
  return at === -1 ? -1 : at + 1
}

/** Only asked about an event that the body left without its end. */
function isWhole(data: string): boolean {
  try {
    JSON.parse(data)
    return true
  } catch {
    return data === '[DONE]' || data === ''
  }
}

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
