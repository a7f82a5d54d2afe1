import { defaultMaxResponseBytes } from '../../core/errors/errors.ts'

/** Called with one event of a body: the data of a server-sent event and its name if it has one, or one line. */
export type OnEvent = (data: string, event: string | undefined) => void

/** Splits the text of a body into events. Feed it chunks cut anywhere, and call `end` at the end of the body. */
export interface BodySplitter {
  feed(chunk: string, onEvent: OnEvent): void
  /** Dispatches an event that the body ended without its blank line. */
  end(onEvent: OnEvent): void
  /** Whether the body is one document instead of a stream of events. */
  readonly isDocument?: boolean
  /** What the server is asked for, if not `text/event-stream`. */
  readonly accept?: string
  /** Makes the text of the bytes, for a body that is not text by itself. By default the bytes are UTF-8. */
  readonly decoder?: BytesDecoder
}

/** Makes text of bytes that come in pieces, as a `TextDecoder` does. Without bytes, it is the end. */
export interface BytesDecoder {
  decode(bytes?: Uint8Array, options?: { readonly stream?: boolean }): string
}

const lineFeed = 10

const space = 32

const colon = 58

const byteOrderMark = 0xfeff

/**
 * Makes a splitter of server-sent events. It is synchronous: the same text gives the same events, wherever it is cut.
 *
 * LF, CRLF and CR end lines; comments, `id` and `retry` are ignored; a byte order mark is dropped. An event that grows
 * beyond `limit` characters throws a `RangeError`. The cost is linear in the text, also for one event in many chunks.
 */
export function sseSplitter(limit: number = defaultMaxResponseBytes): BodySplitter {
  const state: SplitterState = {
    limit,
    rest: '',
    data: '',
    hasData: false,
    event: undefined,
    atStart: true,
    skipLineFeed: false,
  }
  return {
    feed(chunk, onEvent) {
      if (chunk !== '') splitLines(state, chunk, onEvent)
    },
    end(onEvent) {
      const { rest } = state
      state.rest = ''
      if (rest !== '') takeLine(state, rest, 0, rest.length)
      dispatch(state, onEvent)
    },
  }
}

/** A body under way. */
interface SplitterState {
  readonly limit: number
  /** The line that has no end yet. */
  rest: string
  /** The event that has no blank line yet. */
  data: string
  hasData: boolean
  event: string | undefined
  atStart: boolean
  /** The last character was a CR; an LF that comes next belongs to it. */
  skipLineFeed: boolean
}

function splitLines(state: SplitterState, chunk: string, onEvent: OnEvent): void {
  let from = textStart(state, chunk)
  let nextLf = chunk.indexOf('\n', from)
  let nextCr = chunk.indexOf('\r', from)
  for (;;) {
    const to = nextCr === -1 || (nextLf !== -1 && nextLf < nextCr) ? nextLf : nextCr
    if (to === -1) break
    if (endLine(state, chunk, from, to)) dispatch(state, onEvent)
    from = to + 1
    if (to === nextCr) {
      if (from === chunk.length) state.skipLineFeed = true
      else if (chunk.charCodeAt(from) === lineFeed) from++
    }
    if (nextLf !== -1 && nextLf < from) nextLf = chunk.indexOf('\n', from)
    if (nextCr !== -1 && nextCr < from) nextCr = chunk.indexOf('\r', from)
  }
  // Only the new chunk is searched, and a line is joined once, when it is complete.
  if (from < chunk.length) state.rest += from === 0 ? chunk : chunk.slice(from)
  if (state.rest.length + state.data.length > state.limit) {
    throw new RangeError(`a server-sent event is longer than ${state.limit} characters`)
  }
}

/** The start of the text in a chunk: after a byte order mark, and after the LF of a CRLF that was cut in two. */
function textStart(state: SplitterState, chunk: string): number {
  const first = chunk.charCodeAt(0)
  const { atStart, skipLineFeed } = state
  state.atStart = false
  state.skipLineFeed = false
  return (atStart && first === byteOrderMark) || (skipLineFeed && first === lineFeed) ? 1 : 0
}

/** Ends the line that reaches to `to`. Returns whether it was the blank line that ends an event. */
function endLine(state: SplitterState, chunk: string, from: number, to: number): boolean {
  const { rest } = state
  if (rest === '') {
    if (from === to) return true
    takeLine(state, chunk, from, to)
  } else {
    state.rest = ''
    const line = rest + chunk.slice(from, to)
    takeLine(state, line, 0, line.length)
  }
  return false
}

function takeLine(state: SplitterState, text: string, from: number, to: number): void {
  if (text.startsWith('data', from)) {
    const value = fieldValue(text, from + 4, to)
    if (value === undefined) return
    state.data = state.hasData ? `${state.data}\n${value}` : value
    state.hasData = true
  } else if (text.startsWith('event', from)) {
    state.event = fieldValue(text, from + 5, to) ?? state.event
  }
}

function dispatch(state: SplitterState, onEvent: OnEvent): void {
  const { data, hasData, event } = state
  state.data = ''
  state.hasData = false
  state.event = undefined
  if (hasData) onEvent(data, event === '' ? undefined : event)
}

/** The value of a field whose name ends at `at`, without one leading space. `undefined` for a longer name. */
function fieldValue(text: string, at: number, to: number): string | undefined {
  if (at === to) return ''
  if (text.charCodeAt(at) !== colon) return undefined
  return text.slice(at + 1 < to && text.charCodeAt(at + 1) === space ? at + 2 : at + 1, to)
}
