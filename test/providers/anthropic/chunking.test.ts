import { describe, expect, test } from 'vitest'
import { messageDecoder } from '../../../src/providers/anthropic/decode.ts'
import { sseSplitter } from '../../../src/providers/http/sse.ts'
import { decodeBytes } from '../../support/decode-bytes.ts'
import { block, head, named, recordings, tail, text, toolUse } from './support.ts'

/** Decodes bytes that are cut into these pieces. An error among the events is the last item. */
function decodePieces(...pieces: readonly Uint8Array[]): readonly unknown[] {
  const { events, stopped } = decodeBytes('anthropic', messageDecoder, sseSplitter(), pieces)
  return stopped === undefined ? events : [...events, stopped.problem]
}

function bytesOf(body: string): Uint8Array {
  return new TextEncoder().encode(body)
}

const everything = named(
  head({ input_tokens: 3, cache_read_input_tokens: 2, output_tokens: 1 }),
  ...block(
    0,
    { type: 'thinking', thinking: '', signature: '' },
    { type: 'thinking_delta', thinking: 'Hm … 🤔' },
    { type: 'signature_delta', signature: 'c2ln' },
  ),
  ...block(1, { type: 'redacted_thinking', data: 'ZW5j' }),
  ...text(2, 'Grüße, ', '世界 🌍', '\n\n"quoted"'),
  { type: 'ping' },
  ...block(
    3,
    { type: 'server_tool_use', id: 's', name: 'web_search', input: {} },
    { type: 'input_json_delta', partial_json: '{"q":"é"}' },
  ),
  ...toolUse(4, 't1', 'weather', '', '{"city": "Zür', 'ich"}'),
  ...toolUse(5, 't2', 'weather'),
  ...tail('tool_use'),
)

describe('a body that is cut anywhere', () => {
  test('gives the same events, wherever it is cut in two', () => {
    const bytes = bytesOf(everything)
    const whole = decodePieces(bytes)
    for (let at = 0; at <= bytes.length; at++) {
      expect(decodePieces(bytes.subarray(0, at), bytes.subarray(at)), `cut at ${at}`).toEqual(whole)
    }
  })

  test('gives the same events byte by byte, with any kind of line end', () => {
    const whole = decodePieces(bytesOf(everything))
    for (const lineEnd of ['\n', '\r\n', '\r']) {
      const bytes = bytesOf(everything.replaceAll('\n', lineEnd))
      expect(decodePieces(...Array.from(bytes, (byte) => Uint8Array.of(byte)))).toEqual(whole)
    }
  })
})

const streams = recordings().filter((recording) => recording.has('response.sse'))

describe('recorded streams', () => {
  test.each(streams)('$id gives the same events however it is cut', ({ read, has }) => {
    const bytes = bytesOf(read('response.sse'))
    const whole = decodePieces(bytes)
    const step = Math.max(1, Math.floor(bytes.length / 150))
    for (let at = 0; at <= bytes.length; at += step) {
      expect(decodePieces(bytes.subarray(0, at), bytes.subarray(at)), `cut at ${at}`).toEqual(whole)
    }
    if (!has('chunks.json')) return
    let from = 0
    const lengths = JSON.parse(read('chunks.json')) as readonly number[]
    const arrived = lengths.map((length) => bytes.subarray(from, (from += length)))
    expect(decodePieces(...arrived, bytes.subarray(from))).toEqual(whole)
  })
})
