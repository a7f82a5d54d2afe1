import { describe, expect, test } from 'vitest'
import type { SpeechEvent } from '../../../src/core/contracts/adapter.ts'
import { wavChunks, wavComment } from '../../../src/core/messages/wav.ts'
import type { SpeechRequest, TranscriptionRequest } from '../../../src/core/types/models.ts'
import { fileFromBytes } from '../../../src/index.ts'
import { createScriptCursor, fakeSpeech, fakeTranscription } from '../../../src/testing.ts'
import { sineWav } from '../../models/audio.ts'

const file = fileFromBytes(sineWav(0.1), 'audio/wav')
const request: SpeechRequest = { text: 'Hello', providerOptions: {}, metadata: { mine: 1 } }
const heard: TranscriptionRequest = { file, providerOptions: {}, metadata: {} }

async function all(events: AsyncIterable<SpeechEvent>): Promise<SpeechEvent[]> {
  const list: SpeechEvent[] = []
  for await (const event of events) list.push(event)
  return list
}

describe('fakeSpeech', () => {
  test('plays its script piece by piece, and shows its calls without keys', async () => {
    const captured: unknown[] = []
    const fake = fakeSpeech({
      script: [['ok', file, { pieceBytes: 2000, id: 'a1', usage: { inputTokens: 1 } }]],
      capture: (call) => void captured.push(call),
    })
    expect(fake.remaining).toBe(1)
    const stream = fake.speak(request, { apiKey: 'secret', requestId: 'r1' })
    expect(fake.calls).toEqual([])
    const events = await all(stream)
    expect(
      events.map((event) => (event.type === 'audio_delta' ? event.bytes.length : event.type)),
    ).toEqual(['speech_started', 2000, 2000, 844, 'speech_completed'])
    expect(events[0]).toMatchObject({ requestId: 'r1', id: 'a1', metadata: { mine: 1 } })
    expect(JSON.stringify([fake.calls, captured])).not.toContain('secret')
    fake.assertDone()
    await expect(all(fake.speak(request))).rejects.toMatchObject({
      reason: 'no_scripted_response',
      message: 'no scripted file: the script has 1 entry and all were played',
    })
  })

  test('says its text in a file that anybody can play', async () => {
    const [, ...events] = await all(fakeSpeech().speak(request))
    const bytes = Buffer.concat(
      events.flatMap((event) => (event.type === 'audio_delta' ? event.bytes : [])),
    )
    expect(bytes.readUInt32LE(4)).toBe(bytes.length - 8)
    const chunks = wavChunks(bytes)
    expect(chunks.map(({ name, bytes: { length } }) => [name, length])).toEqual([
      ['fmt ', 16],
      ['data', 5 * 400 * 2],
      ['LIST', 4 + 8 + 6],
    ])
    expect(wavComment(chunks)).toBe('Hello')
  })

  test('counts the streams that are open', async () => {
    const fake = fakeSpeech()
    const events = fake.speak(request)[Symbol.asyncIterator]()
    expect(fake.openStreams).toBe(0)
    await events.next()
    expect(fake.openStreams).toBe(1)
    await events.return?.()
    expect(fake.openStreams).toBe(0)
  })

  test('shares a cursor', async () => {
    const scriptCursor = createScriptCursor()
    const script = [
      ['ok', file],
      ['ok', file, { id: 'second' }],
    ] as const
    await all(fakeSpeech({ script, scriptCursor }).speak(request))
    const [started] = await all(fakeSpeech({ script, scriptCursor }).speak(request))
    expect(started).toMatchObject({ id: 'second' })
  })

  test.each<[string, unknown, string]>([
    [
      'a file by URL',
      ['ok', { type: 'url', url: 'https://a.example/a.mp3' }],
      'script[0][1].type must be base64',
    ],
    ['bytes', ['ok', new Uint8Array()], 'script[0][1]'],
    ['a wrong fact', ['ok', file, { pieceBytes: 0 }], 'script[0][2].pieceBytes'],
    ['an unknown fact', ['ok', file, { pauze: 1 }], 'pauze'],
    ['an unknown tag', ['say', file], 'unknown tag "say"'],
  ])('%s in its script is refused at once', (_what, entry, problem) => {
    expect(() => fakeSpeech({ script: [entry as never] })).toThrow(problem)
  })
})

describe('fakeTranscription', () => {
  test.each<[string, unknown, string]>([
    ['a number', ['ok', 5], 'a text or a transcript with a text'],
    ['no text', ['ok', { segments: [] }], 'script[0][1].text is missing'],
    [
      'a negative time',
      ['ok', { text: '', words: [{ text: 'a', start: -1, end: 0 }] }],
      'words[0].start',
    ],
  ])('%s in its script is refused at once', (_what, entry, problem) => {
    expect(() => fakeTranscription({ script: [entry as never] })).toThrow(problem)
  })

  test('refuses what is no recording before it reads its script, as a provider does', async () => {
    const fake = fakeTranscription({ script: [['ok', 'Hello']] })
    const none = [
      fileFromBytes(new TextEncoder().encode('%PDF-1.7'), 'application/pdf'),
      fileFromBytes(sineWav(0.1), 'application/octet-stream'),
      { type: 'url', url: 'https://example.com/a.wav', mimeType: 'audio/wav' } as const,
    ]
    for (const one of none) {
      await expect(fake.transcribe({ ...heard, file: one })).rejects.toMatchObject({
        reason: 'unsupported_feature',
        message: expect.stringContaining(one.mimeType),
        metadata: { feature: 'file', mimeType: one.mimeType, source: one.type },
      })
    }
    expect(fake.remaining).toBe(1)
    const named = fileFromBytes(sineWav(0.1), 'application/octet-stream', { name: 'a.WAV' })
    expect(await fake.transcribe({ ...heard, file: named })).toMatchObject({ text: 'Hello' })
  })

  test('refuses what is too large before it reads its script', async () => {
    const fake = fakeTranscription({ script: [['ok', 'Hello']] })
    const large = { ...file, base64: 'A'.repeat(36_000_000) }
    await expect(fake.transcribe({ ...heard, file: large })).rejects.toMatchObject({
      reason: 'invalid_request',
      message: 'file has 27000000 bytes; fake accepts at most 26214400',
    })
    expect(fake.remaining).toBe(1)
    expect(await fake.transcribe(heard)).toMatchObject({ text: 'Hello', provider: 'fake' })
  })
})
