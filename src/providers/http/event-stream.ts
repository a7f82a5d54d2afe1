import type { Written } from '../../core/types/guards.ts'
import type { BodySplitter, OnEvent } from './sse.ts'

/** One message of an event stream. */
export interface StreamMessage {
  /** Texts as they are; values of other types as they are written, or `true` and `false`. Names are unique. */
  readonly headers: ReadonlyMap<string, string>
  readonly payload: Uint8Array
}

/** Turns a message into the data of an event. `undefined` for a message that has none. An error that it throws ends the stream. */
export type ReadMessage = (message: StreamMessage) => string | undefined

/**
 * Splits a body in the binary framing of AWS (`application/vnd.amazon.eventstream`) into events, by what `read` makes of its messages.
 *
 * Every length and checksum is checked before it is used. A message is kept in the pieces in which it came until it is whole, so
 * nothing is allocated for a length that a server only claims, and the cost is linear in the bytes. A message longer than `limit`
 * bytes is a `RangeError`; one that breaks the format is an `Error`, after the events before it. A body that begins like JSON is
 * left to `other`: some gateways answer with a document.
 */
export function eventStreamSplitter(
  limit: number,
  read: ReadMessage,
  other: BodySplitter,
): BodySplitter {
  const state: FrameState = { pieces: [], size: 0, needed: preludeLength, table: crcTable() }
  const text = new TextDecoder()
  let isOther: boolean | undefined
  let problem: Error | undefined
  const decode = (bytes: Uint8Array): string => {
    let lines = ''
    try {
      addBytes(state, bytes, limit, (message) => {
        const data = read(message)
        // An event is a line until it is split again. JSON has line feeds only between its tokens.
        if (data !== undefined) lines += `${data.replaceAll('\n', ' ')}\n`
      })
    } catch (error) {
      // The events before it are split first.
      problem = error instanceof Error ? error : new Error(String(error))
    }
    return lines
  }
  const splitter: Written<BodySplitter> = {
    isDocument: false,
    decoder: {
      decode(bytes, options) {
        if (bytes !== undefined && bytes.length > 0) isOther ??= /[\s[{]/.test(charAt(bytes))
        if (isOther === true) return text.decode(bytes, options)
        return bytes === undefined || problem !== undefined ? '' : decode(bytes)
      },
    },
    feed(chunk, onEvent) {
      if (isOther === true) {
        other.feed(chunk, onEvent)
        splitter.isDocument = other.isDocument === true
        return
      }
      for (const line of chunk.split('\n')) if (line !== '') onEvent(line, undefined)
      if (problem !== undefined) throw problem
    },
    // Half a message says nothing: the answer was cut.
    end: (onEvent: OnEvent) => (isOther === true ? other.end(onEvent) : undefined),
  }
  return splitter
}

function charAt([first = 0]: Uint8Array): string {
  return String.fromCharCode(first)
}

/** The bytes of a message under way. */
interface FrameState {
  pieces: Uint8Array[]
  /** The length of all pieces. */
  size: number
  /** How many bytes there must be before it is worth to look at them: a prelude, or the message that it announces. */
  needed: number
  readonly table: Uint32Array
}

/** The length of a message, that of its headers, and the checksum of both. */
const preludeLength = 12

const checksumLength = 4

function addBytes(
  state: FrameState,
  bytes: Uint8Array,
  limit: number,
  onMessage: (message: StreamMessage) => void,
): void {
  state.pieces.push(bytes)
  state.size += bytes.length
  while (state.size >= state.needed) {
    const all = joined(state)
    state.needed = messageLength(all, state.table, limit)
    if (state.size < state.needed) return
    const frame = all.subarray(0, state.needed)
    const rest = all.subarray(state.needed)
    state.pieces = rest.length === 0 ? [] : [rest]
    state.size = rest.length
    state.needed = preludeLength
    onMessage(messageOf(frame, state.table))
  }
}

/** All pieces as one. */
function joined(state: FrameState): Uint8Array {
  const { pieces, size } = state
  const [first] = pieces
  if (first?.length === size) return first
  const all = new Uint8Array(size)
  let at = 0
  for (const piece of pieces) {
    all.set(piece, at)
    at += piece.length
  }
  state.pieces = [all]
  return all
}

/** The length that a prelude announces. Its checksum is checked first, so that no length of a broken stream is believed. */
function messageLength(bytes: Uint8Array, table: Uint32Array, limit: number): number {
  const view = viewOf(bytes)
  const total = view.getUint32(0)
  const headers = view.getUint32(4)
  if (checksum(bytes.subarray(0, 8), table) !== view.getUint32(8)) {
    throw new Error('the checksum of a message head is wrong')
  }
  if (total > limit) throw new RangeError(`a message has ${total} bytes, more than ${limit}`)
  if (headers > total - preludeLength - checksumLength) {
    throw new Error(`a message of ${total} bytes cannot have ${headers} bytes of headers`)
  }
  return total
}

function messageOf(frame: Uint8Array, table: Uint32Array): StreamMessage {
  const view = viewOf(frame)
  const end = frame.length - checksumLength
  if (checksum(frame.subarray(0, end), table) !== view.getUint32(end)) {
    throw new Error('the checksum of a message is wrong')
  }
  const headersEnd = preludeLength + view.getUint32(4)
  return {
    headers: headersOf(frame.subarray(preludeLength, headersEnd)),
    payload: frame.subarray(headersEnd, end),
  }
}

/** The lengths of header values by their type: true, false, byte, short, integer, long, bytes, text, timestamp, UUID. -1 is a length of its own. */
const valueLengths: readonly number[] = [0, 0, 1, 2, 4, 8, -1, -1, 8, 16]

const textType = 7

/** One for all: every name and value is decoded whole. */
const utf8 = new TextDecoder()

function headersOf(bytes: Uint8Array): ReadonlyMap<string, string> {
  const view = viewOf(bytes)
  const headers = new Map<string, string>()
  let at = 0
  const take = (length: number): Uint8Array => {
    const taken = bytes.subarray(at, at + length)
    at += length
    if (at > bytes.length) throw new Error('a header of a message is longer than its headers')
    return taken
  }
  const number = (length: 1 | 2): number => {
    const from = at
    take(length)
    return length === 1 ? view.getUint8(from) : view.getUint16(from)
  }
  while (at < bytes.length) {
    const name = utf8.decode(take(number(1)))
    const type = number(1)
    const known = valueLengths[type]
    if (known === undefined) throw new Error(`a header of a message has the unknown type ${type}`)
    const value = take(known === -1 ? number(2) : known)
    if (headers.has(name)) throw new Error(`a message has the header ${name.slice(0, 64)} twice`)
    headers.set(
      name,
      type < 2 ? String(type === 0) : type === textType ? utf8.decode(value) : value.join(),
    )
  }
  return headers
}

function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, byteLength)
}

/** The table of CRC-32 (that of gzip). */
function crcTable(): Uint32Array {
  return Uint32Array.from({ length: 256 }, (_, byte) => {
    let value = byte
    for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1
    return value
  })
}

function checksum(bytes: Uint8Array, table: Uint32Array): number {
  let value = 0xffffffff
  for (let at = 0; at < bytes.length; at++) {
    value = (value >>> 8) ^ (table[(value ^ (bytes[at] ?? 0)) & 255] ?? 0)
  }
  return (value ^ 0xffffffff) >>> 0
}
