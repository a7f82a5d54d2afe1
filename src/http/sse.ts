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
const colon = 58
const byteOrderMark = 0xfeff

/**
 * Makes a splitter. It is synchronous: the same text gives the same events, however it is cut.
 *
 * LF, CRLF and CR end lines; comments, `id` and `retry` are passed over; a byte order mark is dropped. An event that grows
 * beyond `limit` characters throws a `RangeError`. The cost is linear in the text, also for one event in many chunks.
 */
export function sseSplitter(limit: number = maxBufferedCharacters): BodySplitter {
  let rest = ''
  let data = ''
  let hasData = false
  let event: string | undefined
  let atStart = true
  let skipLineFeed = false

  const dispatch = (onEvent: OnSseEvent): void => {
    if (hasData) onEvent(data, event === '' ? undefined : event)
    data = ''
    hasData = false
    event = undefined
  }

  const takeLine = (text: string, from: number, to: number, onEvent: OnSseEvent): void => {
    if (from === to) {
      dispatch(onEvent)
    } else if (text.startsWith('data', from)) {
      const value = fieldValue(text, from + 4, to)
      if (value === undefined) return
      data = hasData ? `${data}\n${value}` : value
      hasData = true
    } else if (text.startsWith('event', from)) {
      event = fieldValue(text, from + 5, to) ?? event
    }
  }

  /** Where the text of a chunk begins: after a byte order mark, and after the LF of a CRLF that was cut in two. */
  const textStart = (chunk: string): number => {
    const first = chunk.charCodeAt(0)
    const skips = (atStart && first === byteOrderMark) || (skipLineFeed && first === lineFeed)
    atStart = false
    skipLineFeed = false
    return skips ? 1 : 0
  }

  const feed = (chunk: string, onEvent: OnSseEvent): void => {
    if (chunk === '') return
    let from = textStart(chunk)
    let nextLf = chunk.indexOf('\n', from)
    let nextCr = chunk.indexOf('\r', from)
    for (;;) {
      const to = nextCr === -1 || (nextLf !== -1 && nextLf < nextCr) ? nextLf : nextCr
      if (to === -1) break
      if (rest === '') {
        takeLine(chunk, from, to, onEvent)
      } else {
        const line = rest + chunk.slice(from, to)
        rest = ''
        takeLine(line, 0, line.length, onEvent)
      }
      from = to + 1
      if (chunk.charCodeAt(to) === carriageReturn) {
        if (from === chunk.length) skipLineFeed = true
        else if (chunk.charCodeAt(from) === lineFeed) from++
      }
      if (nextLf !== -1 && nextLf < from) nextLf = chunk.indexOf('\n', from)
      if (nextCr !== -1 && nextCr < from) nextCr = chunk.indexOf('\r', from)
    }
    // Only the new chunk is searched and the line is joined once, when its end is there.
    if (from < chunk.length) rest += from === 0 ? chunk : chunk.slice(from)
    if (rest.length + data.length > limit) {
      throw new RangeError(`a server-sent event is longer than ${limit} characters`)
    }
  }

  const end = (onEvent: OnSseEvent): void => {
    if (rest !== '') takeLine(rest, 0, rest.length, onEvent)
    rest = ''
    dispatch(onEvent)
  }

  return { feed, end }
}

/** The value of a field whose name ends at `at`, without the one leading space; `undefined` for a longer name. */
function fieldValue(text: string, at: number, to: number): string | undefined {
  if (at === to) return ''
  if (text.charCodeAt(at) !== colon) return undefined
  return text.slice(at + 1 < to && text.charCodeAt(at + 1) === space ? at + 2 : at + 1, to)
}
