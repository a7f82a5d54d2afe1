import { GoogleGenAI } from '@google/genai'
import OpenAI, { toFile } from 'openai'
import { describe, expect, test } from 'vitest'
import { geminiSpeech } from '../../../src/gemini.ts'
import {
  createEngine,
  fileFromBytes,
  imageToBytes,
  speak,
  streamSpeech,
  transcribe,
} from '../../../src/index.ts'
import { openaiSpeech, openaiTranscription } from '../../../src/openai.ts'
import { createFakeServer, type FakeServer } from '../../../src/server.ts'
import { virtualClock } from '../../../src/testing.ts'
import { sineWav } from '../../models/audio.ts'
import { hasOracles, loadOracle } from './wire/shared.ts'

const wav = sineWav(0.5)
const file = fileFromBytes(wav, 'audio/wav')

function client(server: FakeServer, options: object = {}): OpenAI {
  return new OpenAI({ baseURL: server.openaiBaseUrl, apiKey: 'sk-test', maxRetries: 0, ...options })
}

const asked = { model: 'gpt-4o-mini-tts', input: 'Hello', voice: 'alloy' } as const

function engineOf(server: FakeServer, options: object = {}) {
  const connection = { baseUrl: server.openaiBaseUrl, apiKey: 'k' }
  return createEngine({
    speechAdapter: openaiSpeech({ ...connection, model: 'gpt-4o-mini-tts' }),
    transcriptionAdapter: openaiTranscription({ ...connection, model: 'whisper-1' }),
    ...options,
  })
}

describe('the package of OpenAI', () => {
  test('gets speech, chunked, of the type of the file', async () => {
    await using server = await createFakeServer({ speech: [['ok', file]] })
    const response = await client(server).audio.speech.create(asked)
    expect(response.headers.get('content-type')).toBe('audio/wav')
    expect(response.headers.get('transfer-encoding')).toBe('chunked')
    expect(Buffer.from(await response.arrayBuffer()).equals(Buffer.from(wav))).toBe(true)
    expect(server.requests[0]).toMatchObject({ path: '/v1/audio/speech', body: asked })
  })

  test('gets a transcript as json and as verbose_json', async () => {
    const transcript = {
      text: 'Hello there',
      segments: [{ text: 'Hello there', start: 0, end: 1 }],
      words: [{ text: 'Hello', start: 0, end: 0.5 }],
      language: 'english',
      duration: 1,
    }
    const usage = { inputTokens: 9, outputTokens: 2 }
    await using server = await createFakeServer({
      transcriptions: [
        ['ok', transcript, { usage }],
        ['ok', transcript],
      ],
    })
    const { transcriptions } = client(server).audio
    const upload = async () => toFile(Buffer.from(wav), 'note.wav', { type: 'audio/wav' })
    const plain = await transcriptions.create({ file: await upload(), model: 'gpt-4o-transcribe' })
    expect(plain).toMatchObject({
      text: 'Hello there',
      usage: { type: 'tokens', input_tokens: 9, output_tokens: 2, total_tokens: 11 },
    })
    const verbose = await transcriptions.create({
      file: await upload(),
      model: 'whisper-1',
      response_format: 'verbose_json',
      timestamp_granularities: ['word', 'segment'],
    })
    expect(verbose).toMatchObject({
      text: 'Hello there',
      language: 'english',
      duration: 1,
      segments: [{ text: 'Hello there', start: 0, end: 1 }],
      words: [{ word: 'Hello', start: 0, end: 0.5 }],
      usage: { type: 'duration', seconds: 1 },
    })
    expect(server.requests[1]).toMatchObject({
      body: {
        model: 'whisper-1',
        file: { filename: 'note.wav', contentType: 'audio/wav', size: wav.length },
        timestamp_granularities: ['word', 'segment'],
      },
    })
  })

  test('is answered without a script: what was said is written down', async () => {
    await using server = await createFakeServer()
    const { audio } = client(server)
    const speech = await audio.speech.create({ ...asked, input: 'Good morning' })
    const upload = await toFile(await speech.arrayBuffer(), 'a.wav')
    const { text } = await audio.transcriptions.create({ file: upload, model: 'whisper-1' })
    expect(text).toBe('Good morning')
  })

  test('is refused by an error of the script, until a call, and beyond the last entry', async () => {
    const error = { kind: 'adapter', reason: 'content_filter', message: 'not that' } as const
    await using server = await createFakeServer({
      speech: [
        ['error', error],
        ['retry_until_call', 2],
        ['ok', file],
      ],
      transcriptions: [],
    })
    const { speech, transcriptions } = client(server).audio
    await expect(speech.create(asked)).rejects.toMatchObject({
      status: 400,
      code: 'content_filter',
    })
    await expect(speech.create(asked)).rejects.toMatchObject({ status: 429 })
    await (await speech.create(asked)).arrayBuffer()
    await expect(speech.create(asked)).rejects.toMatchObject({ code: 'no_scripted_response' })
    const upload = await toFile(Buffer.from(wav), 'note.wav')
    const call = transcriptions.create({ file: upload, model: 'whisper-1' })
    await expect(call).rejects.toMatchObject({ code: 'no_scripted_response' })
  })
})

test('the package of Google gets speech as samples', async () => {
  await using server = await createFakeServer({
    speech: [['ok', file, { usage: { inputTokens: 3, outputTokens: 12 } }]],
  })
  const google = new GoogleGenAI({ apiKey: 'k', httpOptions: { baseUrl: server.url } })
  const answer = await google.models.generateContent({
    model: 'gemini-2.5-flash-preview-tts',
    contents: 'Hello',
    config: { responseModalities: ['AUDIO'] },
  })
  const { inlineData } = answer.candidates?.[0]?.content?.parts?.[0] ?? {}
  expect(inlineData?.mimeType).toBe('audio/L16;codec=pcm;rate=24000')
  expect(Buffer.from(inlineData?.data ?? '', 'base64').equals(Buffer.from(wav.subarray(44)))).toBe(
    true,
  )
  expect(answer.usageMetadata).toMatchObject({ promptTokenCount: 3, candidatesTokenCount: 12 })
})

describe('the adapters over HTTP', () => {
  test('speak and write down', async () => {
    await using server = await createFakeServer({
      speech: [['ok', file]],
      transcriptions: [['ok', 'Hello']],
    })
    const engine = engineOf(server)
    const spoken = await speak(engine, 'Hello', { format: 'wav' })
    expect(Buffer.from(imageToBytes(spoken)).equals(Buffer.from(wav))).toBe(true)
    expect(await transcribe(engine, spoken)).toMatchObject({ text: 'Hello' })
  })

  test('Gemini speaks', async () => {
    await using server = await createFakeServer({ speech: [['ok', file]] })
    const speechAdapter = geminiSpeech({ baseUrl: server.geminiBaseUrl, apiKey: 'k', model: 'tts' })
    const spoken = await speak(createEngine({ speechAdapter }), 'Hello')
    expect(spoken).toMatchObject({ mimeType: 'audio/wav', base64: file.base64 })
  })

  test.each([
    ['a fault', { faults: [{ cutAfter: 2 }] }, { pieceBytes: 1000 }, 2000],
    ['the script', {}, { cutAfter: 1500 }, 1500],
  ])(
    'speech that is cut by %s is truncated, and says what came',
    async (_by, options, facts, bytes) => {
      await using server = await createFakeServer({ speech: [['ok', file, facts]], ...options })
      const error = await speak(engineOf(server), 'Hello').catch((thrown: unknown) => thrown)
      expect(error).toMatchObject({
        name: 'StreamError',
        reason: 'truncated',
        metadata: { bytesReceived: bytes },
      })
      expect(server.requests).toHaveLength(1)
    },
  )

  test('speech that fails before its first bytes is tried again', async () => {
    await using server = await createFakeServer({
      speech: [['ok', file]],
      faults: [{ status: 503 }, { status: 429, retryAfterMs: 0 }],
    })
    const engine = engineOf(server, { clock: virtualClock() })
    expect((await speak(engine, 'Hello')).base64).toBe(file.base64)
    expect(server.requests.map(({ status }) => status)).toEqual([503, 429, 200])
  })

  test.each([0, 1, 2])('speech with a malformed piece %i is not whole', async (malformedAt) => {
    await using server = await createFakeServer({ faults: [{ malformedAt }] })
    const baseUrl = server.openaiBaseUrl
    const speechAdapter = openaiSpeech({ baseUrl, apiKey: 'k', model: 'tts-1' })
    const call = speak(createEngine({ speechAdapter }), 'Where do I leave the parcel?')
    await expect(call).rejects.toMatchObject({ reason: 'truncated' })
  })

  test('the bytes are there before the answer has ended, and leaving closes the connection', async () => {
    const clock = virtualClock({ auto: false })
    await using server = await createFakeServer({
      speech: [['ok', file, { pauseMs: 1000, pieceBytes: 4096 }]],
      clock,
    })
    for await (const bytes of streamSpeech(engineOf(server), 'Hello')) {
      expect(Buffer.from(bytes).equals(Buffer.from(wav.subarray(0, 4096)))).toBe(true)
      expect(server.openAnswers).toBe(1)
      break
    }
    await server.idle()
  })
})

test.each<[string, string, object, string]>([
  ['speech', 'without a voice', { model: 'm', input: 'a' }, 'voice'],
  ['speech', 'without a text', { model: 'm', voice: 'alloy' }, 'input'],
  ['speech', 'in an unknown format', { ...asked, response_format: 'mp4' }, 'response_format'],
  ['speech', 'of a text that is too long', { ...asked, input: 'a'.repeat(4097) }, 'input'],
  ['speech', 'that is too fast', { ...asked, speed: 5 }, 'speed'],
  ['speech', 'with an unknown field', { ...asked, pitch: 1 }, 'pitch'],
  ['transcriptions', 'without a file', { model: 'whisper-1' }, 'file'],
])('audio/%s %s is refused', async (path, _what, body, param) => {
  await using server = await createFakeServer()
  const response = await fetch(`${server.openaiBaseUrl}/audio/${path}`, {
    method: 'POST',
    headers: { authorization: 'Bearer k', 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  expect(response.status).toBe(400)
  expect(await response.json()).toMatchObject({ error: { param } })
})

test.each<[string, Record<string, string>, string, string]>([
  [
    'a form that the model does not have',
    { model: 'gpt-4o-transcribe', response_format: 'verbose_json' },
    'a.wav',
    'response_format',
  ],
  [
    'times without the form for them',
    { model: 'whisper-1', 'timestamp_granularities[]': 'word' },
    'a.wav',
    'timestamp_granularities',
  ],
  ['a file without a known ending', { model: 'whisper-1' }, 'blob', 'file'],
  ['an unknown field', { model: 'whisper-1', speaker: 'x' }, 'a.wav', 'speaker'],
])('a transcription with %s is refused', async (_what, fields, name, param) => {
  await using server = await createFakeServer()
  const form = new FormData()
  for (const [key, value] of Object.entries(fields)) form.append(key, value)
  form.append('file', new Blob([wav]), name)
  const response = await fetch(`${server.openaiBaseUrl}/audio/transcriptions`, {
    method: 'POST',
    headers: { authorization: 'Bearer k' },
    body: form,
  })
  expect(response.status).toBe(400)
  expect(await response.json()).toMatchObject({ error: { param } })
})

test('a transcript without a length is sent without one', async () => {
  await using server = await createFakeServer({ transcriptions: [['ok', 'Hello']] })
  const file = await toFile(Buffer.from(wav), 'note.wav')
  const asked = { file, model: 'whisper-1', response_format: 'verbose_json' } as const
  const answer = await client(server).audio.transcriptions.create(asked)
  expect(answer).not.toHaveProperty('duration')
  expect(answer).not.toHaveProperty('usage')
})

test('an invalid script is refused when the server is made', async () => {
  const speech = [['ok', { type: 'url', url: 'https://a.example/a.mp3' }]] as never
  await expect(createFakeServer({ speech })).rejects.toMatchObject({ reason: 'invalid_script' })
  const transcriptions = [['ok', { words: [] }]] as never
  await expect(createFakeServer({ transcriptions })).rejects.toMatchObject({
    reason: 'invalid_script',
  })
})

test.skipIf(!hasOracles)('a transcript is legal by ../shared/oracles', async () => {
  const errorsOf = await loadOracle('default')
  await using server = await createFakeServer({
    transcriptions: [['ok', 'Hello', { usage: { inputTokens: 1, outputTokens: 1 } }]],
  })
  const upload = await toFile(Buffer.from(wav), 'note.wav')
  const answer = await client(server).audio.transcriptions.create({
    file: upload,
    model: 'gpt-4o-transcribe',
  })
  expect(errorsOf('openai.transcription.response', answer)).toEqual([])
})
