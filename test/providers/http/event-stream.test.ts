import { EventStreamCodec } from '@smithy/eventstream-codec'
import { describe, expect, test } from 'vitest'
import {
  eventStreamSplitter,
  type StreamMessage,
} from '../../../src/providers/http/event-stream.ts'
import { wholeBody } from '../../../src/providers/http/whole-body.ts'
import { encodeMessage } from '../../../src/testing/server/wire-event-stream.ts'
import { seededRandom } from '../../../src/testing/server/wire.ts'

const codec = new EventStreamCodec(
  (bytes) => new TextDecoder().decode(bytes instanceof Uint8Array ? bytes : new Uint8Array()),
  (text) => new TextEncoder().encode(text),
)

const limit = 100_000

function textOf({ headers, payload }: StreamMessage): string {
  return `${headers.get(':event-type')}=${new TextDecoder().decode(payload)}`
}

/** What a splitter makes of chunks: its events, and the problem that ended it. */
function split(chunks: readonly Uint8Array[], most = limit) {
  const events: string[] = []
  const splitter = eventStreamSplitter(most, textOf, wholeBody())
  const onEvent = (data: string): void => void events.push(data)
  let problem: unknown
  try {
    for (const chunk of chunks) {
      splitter.feed(splitter.decoder?.decode(chunk, { stream: true }) ?? '', onEvent)
    }
    splitter.feed(splitter.decoder?.decode() ?? '', onEvent)
    splitter.end(onEvent)
  } catch (error) {
    problem = error
  }
  return { events, problem }
}

function message(type: string, payload: string): Uint8Array {
  const headers = { ':event-type': type, ':message-type': 'event' }
  return encodeMessage(headers, new TextEncoder().encode(payload))
}

function joined(...parts: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(parts))
}

/** A message of these bytes of headers, with right lengths and checksums. */
function withHeaders(headers: readonly number[]): Uint8Array {
  const plain = encodeMessage({}, new Uint8Array(headers))
  // The headers were written as a payload; only the second length has to change, and both checksums.
  return resealed(plain, headers.length)
}

/** The message with another length of headers, and checksums that fit. */
function resealed(bytes: Uint8Array, headers: number, total = bytes.length): Uint8Array {
  const view = new DataView(bytes.buffer.slice(0))
  view.setUint32(0, total)
  view.setUint32(4, headers)
  const head = new Uint8Array(view.buffer)
  view.setUint32(8, crc(head.subarray(0, 8)))
  view.setUint32(bytes.length - 4, crc(head.subarray(0, bytes.length - 4)))
  return head
}

/** A second CRC-32, bit by bit. */
function crc(bytes: Uint8Array): number {
  let value = ~0
  for (const byte of bytes) {
    value ^= byte
    for (let bit = 0; bit < 8; bit++) value = (value >>> 1) ^ (0xedb88320 & -(value & 1))
  }
  return ~value >>> 0
}

const first = message('a', '{"n":1}')
const second = message('b', '{"n":2,"text":"wörld 🦊"}')
const good = ['a={"n":1}', 'b={"n":2,"text":"wörld 🦊"}']

describe('messages', () => {
  test('are read as the codec of AWS writes them, with headers of all types', () => {
    const bytes = codec.encode({
      headers: {
        ':event-type': { type: 'string', value: 'chunk' },
        yes: { type: 'boolean', value: true },
        no: { type: 'boolean', value: false },
        byte: { type: 'byte', value: 7 },
        short: { type: 'short', value: 300 },
        integer: { type: 'integer', value: 70_000 },
        binary: { type: 'binary', value: new Uint8Array([1, 2]) },
        when: { type: 'timestamp', value: new Date(0) },
        uuid: { type: 'uuid', value: '01234567-89ab-cdef-0123-456789abcdef' },
      },
      body: new TextEncoder().encode('hi'),
    })
    const seen: StreamMessage[] = []
    const splitter = eventStreamSplitter(limit, (one) => void seen.push(one), wholeBody())
    splitter.feed(splitter.decoder?.decode(bytes) ?? '', () => undefined)
    const [one] = seen
    expect(new TextDecoder().decode(one?.payload)).toBe('hi')
    expect(Object.fromEntries(one?.headers ?? [])).toMatchObject({
      ':event-type': 'chunk',
      yes: 'true',
      no: 'false',
      byte: '7',
      binary: '1,2',
    })
    expect(one?.headers.size).toBe(9)
  })

  test('of the fake server are read by the codec of AWS', () => {
    const { headers, body } = codec.decode(second)
    expect(headers[':event-type']).toEqual({ type: 'string', value: 'b' })
    expect(new TextDecoder().decode(body)).toBe('{"n":2,"text":"wörld 🦊"}')
  })

  test('give the same events wherever the body is cut in two', () => {
    const body = joined(first, second)
    for (let at = 0; at <= body.length; at++) {
      expect(split([body.subarray(0, at), body.subarray(at)])).toEqual({ events: good })
    }
  })

  test('come byte by byte', () => {
    const body = joined(first, second)
    expect(split(Array.from(body, (byte) => Uint8Array.of(byte)))).toEqual({ events: good })
  })

  test('without an event are passed over, and line feeds inside of JSON are no borders', () => {
    const read = ({ headers, payload }: StreamMessage): string | undefined =>
      headers.get(':event-type') === 'a' ? undefined : new TextDecoder().decode(payload)
    const events: string[] = []
    const splitter = eventStreamSplitter(limit, read, wholeBody())
    const text = splitter.decoder?.decode(joined(first, message('b', '{\n"n": 1\n}'))) ?? ''
    splitter.feed(text, (data) => void events.push(data))
    expect(events.map((data) => JSON.parse(data) as unknown)).toEqual([{ n: 1 }])
  })

  test('a body that begins like JSON is left to the other splitter', () => {
    const bytes = new TextEncoder().encode(' {"type":"message"}')
    expect(split([bytes.subarray(0, 5), bytes.subarray(5)])).toEqual({
      events: [' {"type":"message"}'],
    })
  })
})

describe('hostile bytes', () => {
  test('a body that is cut anywhere keeps the events before the cut, and half a message is no event', () => {
    const body = joined(first, second)
    for (let at = 0; at < body.length; at++) {
      const events = at < first.length ? [] : good.slice(0, 1)
      expect(split([body.subarray(0, at)])).toEqual({ events })
    }
  })

  test('any byte that is changed is a problem, or a message that never ends, and the event before it is kept', () => {
    for (let at = 0; at < second.length; at++) {
      const broken = second.map((byte, index) => (index === at ? byte ^ 1 : byte))
      const { events, problem } = split([joined(first, broken, first)])
      expect(events).toEqual(good.slice(0, 1))
      expect(problem).toBeInstanceOf(Error)
      expect(String(problem)).toMatch(/checksum/)
    }
  })

  test.each([
    ['a length below the least', resealed(first, 0, 15), /15 bytes cannot have 0 bytes of headers/],
    ['no length at all', resealed(first, 0, 0), /0 bytes cannot have/],
    ['headers longer than the message', resealed(first, 5000), /cannot have 5000 bytes of headers/],
    ['headers that reach into the checksum', resealed(first, first.length - 15), /cannot have/],
    ['a huge length', resealed(first, 0, 0xff_ff_ff_ff), /4294967295 bytes, more than 100000/],
    ['a length just above the limit', resealed(first, 0, limit + 1), /more than 100000/],
    ['an unknown type of a header', withHeaders([1, 97, 10]), /unknown type 10/],
    ['a header name beyond the headers', withHeaders([200, 97]), /longer than its headers/],
    ['a header value beyond the headers', withHeaders([1, 97, 7, 255, 255, 1]), /longer than/],
    ['a header without a type', withHeaders([1, 97]), /longer than its headers/],
    ['a fixed value that is cut', withHeaders([1, 97, 9, 1, 2]), /longer than its headers/],
    ['a header twice', withHeaders([1, 97, 0, 1, 97, 1]), /the header a twice/],
  ])('%s is a problem, after the event before it', (_name, bytes, words) => {
    const { events, problem } = split([joined(first, bytes, second)])
    expect(events).toEqual(good.slice(0, 1))
    expect(String(problem)).toMatch(words)
    expect(problem instanceof RangeError).toBe(/more than/.test(words.source))
  })

  test('a prelude with a wrong checksum is refused before its length is believed', () => {
    const prelude = Uint8Array.of(0, 255, 255, 255, 0, 0, 0, 0, 1, 2, 3, 4)
    expect(String(split([prelude]).problem)).toMatch(/checksum of a message head/)
  })

  test('nothing is allocated for a length that is only claimed, and the cost is linear', () => {
    const claimed = resealed(first, 0, 50_000_000).subarray(0, 12)
    const chunks = [claimed, ...Array.from({ length: 200_000 }, () => Uint8Array.of(7))]
    const before = process.memoryUsage().arrayBuffers
    expect(split(chunks, 60_000_000)).toEqual({ events: [] })
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(40_000_000)
  })

  test.each(Array.from({ length: 40 }, (_, seed) => seed))(
    'random bytes of seed %i end in nothing or a problem, however they are cut',
    (seed) => {
      const random = seededRandom(seed)
      const bytes = Uint8Array.from({ length: 400 }, () => Math.floor(random() * 256))
      // A body that begins like JSON is a document.
      bytes[0] = seed % 2
      const cut = Math.floor(random() * 400)
      const whole = split([bytes])
      expect(whole.events).toEqual([])
      expect(String(whole.problem)).toMatch(/checksum/)
      expect(split([bytes.subarray(0, cut), bytes.subarray(cut)])).toEqual(whole)
    },
  )

  test('what follows a problem is not read', () => {
    const broken = first.map((byte, at) => (at === 20 ? byte ^ 255 : byte))
    const splitter = eventStreamSplitter(limit, textOf, wholeBody())
    const events: string[] = []
    const feed = (bytes: Uint8Array): void =>
      splitter.feed(splitter.decoder?.decode(bytes) ?? '', (data) => void events.push(data))
    expect(() => feed(broken)).toThrow('checksum')
    expect(() => feed(second)).toThrow('checksum')
    expect(events).toEqual([])
  })
})
