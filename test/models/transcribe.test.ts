import { describe, expect, test } from 'vitest'
import type { TranscriptionAdapter } from '../../src/core/contracts/adapter.ts'
import {
  AdapterError,
  createEngine,
  fileFromBytes,
  fileFromUrl,
  onTelemetry,
  speak,
  transcribe,
  type MediaFile,
  type TelemetryEvent,
  type TranscriptionResponse,
} from '../../src/index.ts'
import { openaiTranscription } from '../../src/openai.ts'
import { fakeSpeech, fakeTranscription, virtualClock } from '../../src/testing.ts'
import { sineWav } from './audio.ts'
import { json, stubFetch } from './support.ts'

const file = fileFromBytes(sineWav(0.1), 'audio/wav', { name: 'note.wav' })

function adapterOf(
  transcribeIt: TranscriptionAdapter['transcribe'],
  more: Partial<TranscriptionAdapter> = {},
): TranscriptionAdapter {
  return { provider: 'test', transcribe: transcribeIt, ...more }
}

test('a recording becomes a text with its facts', async () => {
  const segments = [{ text: ' Hello', start: 0, end: 0.5, speaker: 'A' }]
  const adapter = fakeTranscription({
    script: [['ok', { text: 'Hello', segments, language: 'en', duration: 0.5 }]],
  })
  const engine = createEngine({ transcriptionAdapter: adapter, transcriptionModel: 'w' })
  const response = await transcribe(engine, file, {
    language: 'en',
    prompt: 'Allegra',
    timestamps: 'segment',
    requestId: 'r1',
    metadata: { mine: 1 },
  })
  expect(adapter.calls[0]?.request).toEqual({
    file,
    language: 'en',
    prompt: 'Allegra',
    timestamps: 'segment',
    model: 'w',
    providerOptions: {},
    metadata: { mine: 1 },
  })
  expect(response).toEqual({
    requestId: 'r1',
    model: 'w',
    provider: 'fake',
    text: 'Hello',
    segments,
    language: 'en',
    duration: 0.5,
    usage: {},
    warnings: [],
    metadata: { mine: 1 },
  })
})

test('what the fake says, the other fake writes down', async () => {
  const engine = createEngine({
    speechAdapter: fakeSpeech(),
    transcriptionAdapter: fakeTranscription(),
  })
  const said = 'Grüße an Zoë 👋'
  const response = await transcribe(engine, await speak(engine, said), { timestamps: 'word' })
  expect(response.text).toBe(said)
  expect(response.duration).toBe(said.length / 20)
  expect(response.words?.map(({ text }) => text)).toEqual(['Grüße', 'an', 'Zoë', '👋'])
  expect(response.words?.[0]).toEqual({ text: 'Grüße', start: 0, end: 0.25 })
  expect(response.segments).toEqual([{ text: said, start: 0, end: response.duration }])
  await expect(transcribe(engine, file)).rejects.toMatchObject({
    reason: 'no_scripted_response',
    message: expect.stringContaining('fakeSpeech'),
  })
})

test('what may go away is tried again, and the file is sent again', async () => {
  const adapter = fakeTranscription({
    script: [
      ['retry_until_call', 3],
      ['ok', 'Hello'],
    ],
  })
  const engine = createEngine({ transcriptionAdapter: adapter, clock: virtualClock() })
  expect((await transcribe(engine, file)).text).toBe('Hello')
  expect(adapter.calls.map(({ request }) => request.file)).toEqual([file, file, file])
})

describe('before anything is sent', () => {
  const engine = createEngine({
    transcriptionAdapter: adapterOf(() => Promise.reject(new Error('was called'))),
  })

  test.each<[string, unknown, string]>([
    ['a path', 'note.mp3', 'pass await fileFromPath(path)'],
    ['bytes', new Uint8Array([1]), 'pass fileFromBytes(bytes, "audio/wav")'],
    ['a blob', new Blob(['a']), 'pass fileFromBytes(await blob.arrayBuffer(), "audio/wav")'],
    ['nothing', undefined, 'file'],
    ['a file of no kind', {}, 'file.type'],
    ['a file that is not base64', { ...file, base64: '?' }, 'file.base64 is not base64'],
  ])('%s instead of a file is refused', async (_what, given, problem) => {
    const error = await transcribe(engine, given as MediaFile).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ name: 'ValidationError', reason: 'invalid_request' })
    expect(String(error)).toContain(problem)
  })

  test.each<[string, object, string]>([
    ['timestamps', { timestamps: 'words' }, 'invalid_request'],
    ['an empty language', { language: '' }, 'invalid_request'],
    ['an unknown option', { lang: 'en' }, 'invalid_options'],
  ])('%s of the wrong kind is refused', async (_what, options, reason) => {
    await expect(transcribe(engine, file, options)).rejects.toMatchObject({ reason })
  })

  test('an engine without an adapter is refused', async () => {
    await expect(transcribe(createEngine(), file)).rejects.toMatchObject({
      reason: 'missing_adapter',
      message: expect.stringContaining('transcriptionAdapter'),
    })
  })

  test('a file that is too large is refused by its limit, before the key is missed', async () => {
    const { fetch, calls } = stubFetch(() => json({ text: '' }))
    const adapter = openaiTranscription({ fetch, model: 'whisper-1', maxFileBytes: 1000 })
    const keyless = createEngine({ transcriptionAdapter: adapter, keys: () => undefined as never })
    const size = sineWav(0.1).length
    await expect(transcribe(keyless, file)).rejects.toMatchObject({
      name: 'AdapterError',
      reason: 'invalid_request',
      message: expect.stringContaining(`file has ${size} bytes; openai accepts at most 1000`),
    })
    const small = fileFromBytes(sineWav(0.001), 'audio/wav')
    await expect(transcribe(keyless, small)).rejects.toMatchObject({ reason: 'missing_key' })
    expect(calls).toEqual([])
  })

  test('a file at a URL is refused with what to do', async () => {
    const adapter = openaiTranscription({ apiKey: 'k', model: 'whisper-1' })
    const remote = fileFromUrl('https://example.com/a.mp3')
    const call = transcribe(createEngine({ transcriptionAdapter: adapter }), remote)
    await expect(call).rejects.toMatchObject({
      reason: 'unsupported_feature',
      message: expect.stringContaining('pass its bytes, by fileFromBytes or fileFromPath'),
    })
  })
})

test('a response without a text is malformed', async () => {
  const wrong = adapterOf(async () => ({}) as TranscriptionResponse)
  const engine = createEngine({ transcriptionAdapter: wrong, retry: false })
  await expect(transcribe(engine, file)).rejects.toMatchObject({ reason: 'malformed_response' })
})

test('telemetry tells the size of the recording and not what is said', async () => {
  const events: TelemetryEvent[] = []
  const off = onTelemetry((event) => void events.push(event))
  const adapter = fakeTranscription({
    script: [
      ['ok', 'a secret'],
      ['error', new AdapterError('invalid_request', 'no')],
    ],
  })
  const engine = createEngine({ transcriptionAdapter: adapter })
  await transcribe(engine, file)
  await transcribe(engine, file).catch(() => undefined)
  off()
  expect(events).toMatchObject([
    { name: 'transcribe', phase: 'start' },
    { name: 'transcribe', phase: 'stop', audioBytes: sineWav(0.1).length },
    { name: 'transcribe', phase: 'start' },
    { name: 'transcribe', phase: 'error' },
  ])
  expect(JSON.stringify(events)).not.toContain('secret')
})
