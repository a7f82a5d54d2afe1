import { StreamError } from '../../errors/errors.ts'
import { sseSplitter, type BodySplitter } from '../../http/sse.ts'
import { jsonSplitter } from './split-json.ts'

/** Whose body is split. */
export interface SplitFacts {
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
