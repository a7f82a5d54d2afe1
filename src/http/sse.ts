/** Takes one server-sent event: its data lines joined, and its name when it has one. */
export type OnSseEvent = (data: string, event: string | undefined) => void

/** Splits the text of a body into events. Feed it chunks cut anywhere; call `end` when the body is over. */
export interface BodySplitter {
  feed(chunk: string, onEvent: OnSseEvent): void
  /** Dispatches an event that the body left without its blank line. */
  end(onEvent: OnSseEvent): void
}

/** A body that never ends a line must not fill the memory: beyond this many characters it is refused. */
export const maxBufferedCharacters: number = 32 * 1024 * 1024

const lineFeed = 10
const carriageReturn = 13
const space = 32

/**
 * Makes a splitter. It is synchronous: the same text gives the same events, however it is cut.
 *
 * LF, CRLF and CR end lines; comments, `id` and `retry` are passed over; a byte order mark is dropped.
 */
export function sseSplitter(limit: number = maxBufferedCharacters): BodySplitter {
  let rest = ''
  let data = ''
  let hasData = false
  let event: string | undefined
  let atStart = true
  let skipLineFeed = false

  const line = (text: string, from: number, to: number, onEvent: OnSseEvent): void => {
    if (from === to) {
      dispatch(onEvent)
      return
    }
    if (text.startsWith('data', from)) {
      const value = fieldValue(text, from + 4, to)
      if (value === undefined) return
      data = hasData ? `${data}\n${value}` : value
      hasData = true
    } else if (text.startsWith('event', from)) {
      event = fieldValue(text, from + 5, to) ?? event
    }
  }

  const dispatch = (onEvent: OnSseEvent): void => {
    if (hasData) onEvent(data, event === '' ? undefined : event)
    data = ''
    hasData = false
    event = undefined
  }

  const splitLines = (text: string, onEvent: OnSseEvent): void => {
    let from = 0
    let nextCr = text.indexOf('\r')
    for (;;) {
      const nextLf = text.indexOf('\n', from)
      if (nextCr !== -1 && nextCr < from) nextCr = text.indexOf('\r', from)
      const to = nextCr === -1 || (nextLf !== -1 && nextLf < nextCr) ? nextLf : nextCr
      if (to === -1) break
      line(text, from, to, onEvent)
      from = to + 1
      if (text.charCodeAt(to) !== carriageReturn) continue
      if (from === text.length) skipLineFeed = true
      else if (text.charCodeAt(from) === lineFeed) from++
    }
    rest = from === 0 ? text : text.slice(from)
    if (rest.length + data.length > limit) {
      throw new RangeError(`a server-sent event is longer than ${limit} characters`)
    }
  }

  return {
    feed(chunk, onEvent) {
      if (chunk === '') return
      let text = chunk
      if (atStart) {
        atStart = false
        if (text.charCodeAt(0) === 0xfeff) text = text.slice(1)
      }
      if (skipLineFeed && text !== '') {
        skipLineFeed = false
        if (text.charCodeAt(0) === lineFeed) text = text.slice(1)
      }
      splitLines(rest === '' ? text : rest + text, onEvent)
    },
    end(onEvent) {
      if (rest !== '') line(rest, 0, rest.length, onEvent)
      rest = ''
      dispatch(onEvent)
    },
  }
}

/** The value of a field whose name ends at `at`, without the one leading space; `undefined` for a longer name. */
function fieldValue(text: string, at: number, to: number): string | undefined {
  if (at === to) return ''
  if (text.charCodeAt(at) !== 58) return undefined
  return text.slice(text.charCodeAt(at + 1) === space && at + 1 < to ? at + 2 : at + 1, to)
}
