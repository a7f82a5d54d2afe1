import { describe, expect, test } from 'vitest'
import { bytesToBase64 } from '../../../src/core/base/base64.ts'
import type { InlineFile } from '../../../src/core/types/media.ts'
import type { TranscriptionRequest } from '../../../src/core/types/models.ts'
import { openaiTranscription } from '../../../src/openai.ts'
import { sineWav } from '../../models/audio.ts'
import { json, parseMultipart, stubFetch, textFields } from '../../models/support.ts'

const wav = sineWav(0.1)
const file: InlineFile = {
  type: 'base64',
  base64: bytesToBase64(wav),
  mimeType: 'audio/wav',
  name: 'note.wav',
}

function request(fields: Partial<TranscriptionRequest> = {}): TranscriptionRequest {
  return { file, model: 'whisper-1', providerOptions: {}, metadata: {}, ...fields }
}

/** Sends a request and returns the parts of its form, and the response. */
async function sent(fields: Partial<TranscriptionRequest>, answer: unknown = { text: 'Hello' }) {
  const { fetch, calls } = stubFetch(() => json(answer))
  const response = await openaiTranscription({ apiKey: 'k', fetch }).transcribe(request(fields))
  const [call] = calls
  const parts = parseMultipart(
    call?.bytes ?? new Uint8Array(),
    call?.headers.get('content-type') ?? null,
  )
  return { call, parts, fields: textFields(parts), response }
}

describe('a request', () => {
  test('is a form with the bytes of the file', async () => {
    const { call, parts, fields } = await sent({ metadata: { private: true } })
    expect(call?.url).toBe('https://api.openai.com/v1/audio/transcriptions')
    expect(fields).toEqual({ model: 'whisper-1', response_format: 'verbose_json' })
    const recording = parts.find(({ name }) => name === 'file')
    expect(recording).toMatchObject({ filename: 'note.wav', contentType: 'audio/wav' })
    expect(recording?.bytes.equals(Buffer.from(wav))).toBe(true)
  })

  test.each<[string, Partial<TranscriptionRequest>, object, readonly string[]]>([
    ['whisper-1', {}, { response_format: 'verbose_json' }, []],
    [
      'whisper-1',
      { timestamps: 'segment' },
      { response_format: 'verbose_json', 'timestamp_granularities[]': 'segment' },
      [],
    ],
    [
      'whisper-1',
      { timestamps: 'word' },
      { response_format: 'verbose_json', 'timestamp_granularities[]': 'segment' },
      [],
    ],
    ['gpt-4o-transcribe', { prompt: 'Zoë' }, { response_format: 'json', prompt: 'Zoë' }, []],
    ['gpt-4o-mini-transcribe', { timestamps: 'word' }, { response_format: 'json' }, ['timestamps']],
    ['gpt-transcribe', { timestamps: 'segment' }, { response_format: 'json' }, ['timestamps']],
    [
      'gpt-4o-transcribe-diarize',
      { prompt: 'Zoë' },
      { response_format: 'diarized_json', chunking_strategy: 'auto' },
      ['prompt'],
    ],
    [
      'gpt-4o-transcribe-diarize',
      { timestamps: 'segment' },
      { response_format: 'diarized_json', chunking_strategy: 'auto' },
      [],
    ],
    [
      'gpt-4o-transcribe-diarize',
      { timestamps: 'word' },
      { response_format: 'diarized_json', chunking_strategy: 'auto' },
      ['timestamps'],
    ],
    ['whisper-large-v3', {}, { response_format: 'json' }, []],
    [
      'whisper-large-v3',
      { timestamps: 'segment' },
      { response_format: 'verbose_json', 'timestamp_granularities[]': 'segment' },
      [],
    ],
  ])('to %s with %j has what that model takes', async (model, fields, expected, warned) => {
    const answer = { text: 'Hello', segments: [], words: [] }
    const { fields: form, response } = await sent({ model, ...fields }, answer)
    expect(form).toEqual({ model, ...expected })
    expect(response.warnings.map(({ setting }) => setting)).toEqual(warned)
  })

  test('for words asks for words and passages', async () => {
    const { parts } = await sent({ timestamps: 'word' })
    const asked = parts.filter(({ name }) => name === 'timestamp_granularities[]')
    expect(asked.map(({ bytes }) => bytes.toString())).toEqual(['word', 'segment'])
  })

  test('has the options of the provider, lists and objects as forms write them', async () => {
    const { parts } = await sent({
      model: 'gpt-4o-transcribe',
      language: 'de',
      providerOptions: {
        openai: {
          temperature: 0.2,
          include: ['logprobs'],
          chunking_strategy: { type: 'server_vad', threshold: 0.5 },
          prompt: null,
        },
      },
    })
    const fields = parts
      .filter(({ filename }) => filename === undefined)
      .map(({ name, bytes }) => `${name}=${bytes.toString()}`)
    expect(fields).toEqual([
      'model=gpt-4o-transcribe',
      'language=de',
      'response_format=json',
      'temperature=0.2',
      'include[]=logprobs',
      'chunking_strategy[type]=server_vad',
      'chunking_strategy[threshold]=0.5',
    ])
  })

  test.each<[Partial<InlineFile>, string]>([
    [{ mimeType: 'audio/wav' }, 'recording.wav'],
    [{ mimeType: 'audio/mpeg' }, 'recording.mp3'],
    [{ mimeType: 'audio/mpeg', name: 'a.mpga' }, 'a.mpga'],
    [{ mimeType: 'audio/ogg', name: 'voice.oga' }, 'voice.ogg'],
    [{ mimeType: 'audio/opus', name: 'voice.opus' }, 'voice.ogg'],
    [{ mimeType: 'audio/wav', name: 'clip.mp3' }, 'clip.wav'],
    [{ mimeType: 'audio/webm', name: 'blob' }, 'blob.webm'],
    [{ mimeType: 'audio/mp4', name: 'C:\\notes\\memo.M4A' }, 'memo.m4a'],
    [{ mimeType: 'video/mp4', name: '.mp4' }, 'recording.mp4'],
    [{ mimeType: 'application/octet-stream', name: 'a.flac' }, 'a.flac'],
  ])('names a file of %j %s', async (given, filename) => {
    const { base64 } = file
    const { parts } = await sent({ file: { type: 'base64', base64, mimeType: '', ...given } })
    expect(parts.find(({ name }) => name === 'file')?.filename).toBe(filename)
  })

  test.each<[string, Partial<TranscriptionRequest>, string, string]>([
    [
      'a type that the API does not know',
      { file: { ...file, mimeType: 'audio/basic', name: 'a.au' } },
      'unsupported_feature',
      'the types are audio/mpeg',
    ],
    [
      'a file by id',
      { file: { type: 'id', id: 'file-1', provider: 'openai' } },
      'unsupported_feature',
      'pass its bytes',
    ],
    [
      'a form that is not JSON',
      { providerOptions: { openai: { response_format: 'srt' } } },
      'unsupported_feature',
      'leave response_format "srt" out',
    ],
    [
      'a stream',
      { providerOptions: { openai: { stream: true } } },
      'unsupported_feature',
      'leave stream true out',
    ],
  ])('with %s is refused before a key is missed', async (_what, fields, reason, problem) => {
    const { fetch, calls } = stubFetch(() => json({ text: '' }))
    const call = openaiTranscription({ fetch }).transcribe(request(fields), { requestId: 'r1' })
    await expect(call).rejects.toMatchObject({
      reason,
      requestId: 'r1',
      message: expect.stringContaining(problem),
    })
    expect(calls).toEqual([])
  })

  test('of more than 25 MiB is refused, with the limit in the message', async () => {
    const adapter = openaiTranscription({ model: 'whisper-1' })
    expect(adapter.maxBytes).toBe(26_148_864)
    const large = { ...file, base64: 'A'.repeat(((26_148_864 + 3) / 3) * 4) }
    await expect(adapter.transcribe(request({ file: large }))).rejects.toMatchObject({
      reason: 'invalid_request',
      message: expect.stringContaining('has 26148867 bytes; openai accepts at most 26148864'),
      metadata: { size: 26_148_867, maxBytes: 26_148_864 },
    })
  })

  test('goes to any compatible server, without a key if it needs none', async () => {
    const { fetch, calls } = stubFetch(() => json({ text: 'Hello', x_groq: { id: 'req_1' } }))
    const adapter = openaiTranscription({
      provider: 'groq',
      baseUrl: 'https://api.groq.example/openai/v1',
      maxFileBytes: 100_000_000,
      fetch,
    })
    expect(await adapter.transcribe(request({ model: 'whisper-large-v3' }))).toMatchObject({
      provider: 'groq',
      id: 'req_1',
    })
    expect(calls[0]?.url).toBe('https://api.groq.example/openai/v1/audio/transcriptions')
    expect(calls[0]?.headers.get('authorization')).toBeNull()
  })
})

describe('an answer', () => {
  test('with times is read whole', async () => {
    const { response } = await sent(
      { timestamps: 'word', metadata: { mine: 1 } },
      {
        task: 'transcribe',
        language: 'english',
        duration: 1.5,
        text: 'Hello there.',
        segments: [{ id: 0, seek: 0, start: 0, end: 1.5, text: ' Hello there.', tokens: [1] }],
        words: [
          { word: 'Hello', start: 0, end: 0.5 },
          { word: 'there', start: 0.5, end: 0.5 },
        ],
        usage: { type: 'duration', seconds: 2 },
      },
    )
    expect(response).toMatchObject({
      text: 'Hello there.',
      segments: [{ text: ' Hello there.', start: 0, end: 1.5 }],
      words: [
        { text: 'Hello', start: 0, end: 0.5 },
        { text: 'there', start: 0.5, end: 0.5 },
      ],
      language: 'english',
      duration: 1.5,
      model: 'whisper-1',
      provider: 'openai',
      usage: { extra: { seconds: 2 } },
      warnings: [],
      metadata: { mine: 1 },
    })
  })

  test('tells speakers apart', async () => {
    const segment = {
      type: 'transcript.text.segment',
      id: 's1',
      start: 0,
      end: 1,
      text: 'Hi',
      speaker: 'A',
    }
    const { response } = await sent(
      { model: 'gpt-4o-transcribe-diarize' },
      { task: 'transcribe', duration: 1, text: 'Hi', segments: [segment] },
    )
    expect(response.segments).toEqual([{ text: 'Hi', start: 0, end: 1, speaker: 'A' }])
  })

  test('counts tokens, and keeps what only this provider says', async () => {
    const { response } = await sent(
      { model: 'gpt-transcribe' },
      {
        text: '',
        languages: [{ code: 'de' }, { code: 'en' }],
        logprobs: [{ token: 'a', logprob: -0.1 }],
        usage: {
          type: 'tokens',
          input_tokens: 14,
          input_token_details: { audio_tokens: 14 },
          output_tokens: 3,
          total_tokens: 17,
        },
      },
    )
    expect(response).toMatchObject({
      text: '',
      language: 'de',
      usage: {
        inputTokens: 14,
        outputTokens: 3,
        totalTokens: 17,
        extra: { input_token_details: { audio_tokens: 14 } },
      },
      metadata: { logprobs: [{ token: 'a', logprob: -0.1 }] },
    })
    expect(response).not.toHaveProperty('segments')
  })

  test.each<[string, object, string]>([
    ['a negative start', { segments: [{ text: 'a', start: -1, end: 1 }] }, 'segments[0]'],
    [
      'an end before its start',
      {
        segments: [
          { text: 'a', start: 0, end: 1 },
          { text: 'b', start: 2, end: 1 },
        ],
      },
      'segments[1]',
    ],
    ['a time that is no number', { segments: [{ text: 'a', start: '0', end: 1 }] }, 'segments[0]'],
    ['a passage without a text', { segments: [{ start: 0, end: 1 }] }, 'segments[0]'],
    ['a passage that is none', { segments: [null] }, 'segments[0]'],
    ['passages that are no list', { segments: { 0: {} } }, 'no list'],
    ['a word without an end', { words: [{ word: 'a', start: 0 }] }, 'words[0]'],
    [
      'words that run backwards',
      {
        words: [
          { word: 'a', start: 5, end: 6 },
          { word: 'b', start: 1, end: 2 },
        ],
      },
      'words[1]',
    ],
    ['a word of ages', { words: [{ word: 'a', start: 0, end: 1e308 }] }, 'words[0]'],
    [
      'a word long after the end',
      { words: [{ word: 'a', start: 0, end: 99 }], duration: 3 },
      'words[0]',
    ],
  ])(
    'with %s keeps its text and leaves the times out, which it says',
    async (_what, more, place) => {
      const { response } = await sent({}, { text: 'Hello', ...more })
      expect(response.text).toBe('Hello')
      expect(response).not.toHaveProperty('segments')
      expect(response).not.toHaveProperty('words')
      expect(response.warnings).toMatchObject([{ setting: 'timestamps' }])
      expect(response.warnings[0]?.problem).toContain(place)
    },
  )

  test('without the times that were asked for says so', async () => {
    const asked = { model: 'whisper-1', timestamps: 'word' } as const
    const segments = [{ text: 'Hello', start: 0, end: 1 }]
    const { response } = await sent(asked, { text: 'Hello', segments })
    expect(response.segments).toEqual(segments)
    expect(response.warnings).toEqual([
      { setting: 'timestamps', problem: 'the answer has no times of a word' },
    ])
  })

  test('with a length of 0, and with speakers who talk at once, has its times', async () => {
    const segments = [
      { text: 'a', start: 5, end: 6, speaker: 'A' },
      { text: 'b', start: 1, end: 7, speaker: 'B' },
    ]
    const { response } = await sent({}, { text: 'Hello', segments, duration: 0 })
    expect(response.segments).toEqual(segments)
    expect(response.warnings).toEqual([])
  })

  test('with an infinite time leaves the times out', async () => {
    const text = '{"text":"a","segments":[{"text":"a","start":0,"end":1e999}],"duration":1e999}'
    const { fetch } = stubFetch(() => new Response(text))
    const response = await openaiTranscription({ apiKey: 'k', fetch }).transcribe(request())
    expect(response).not.toHaveProperty('segments')
    expect(response).not.toHaveProperty('duration')
  })

  test.each<[string, () => Response, string, string]>([
    ['no text', () => json({ segments: [] }), 'malformed_response', 'without a text'],
    ['a text that is none', () => json({ text: 5 }), 'malformed_response', 'without a text'],
    ['a list', () => json([]), 'malformed_response', 'without a text'],
    ['no JSON', () => new Response('Hello'), 'malformed_response', 'not JSON: Hello'],
    [
      'an error in it',
      () => json({ error: { message: 'busy', type: 'server_error' } }),
      'provider_unavailable',
      'busy',
    ],
  ])('with %s fails', async (_what, answer, reason, problem) => {
    const { fetch } = stubFetch(answer)
    const call = openaiTranscription({ apiKey: 'k', fetch }).transcribe(request())
    await expect(call).rejects.toMatchObject({ reason, message: expect.stringContaining(problem) })
  })
})

test('illegal options are refused', () => {
  expect(() => openaiTranscription({ maxFileBytes: 0 })).toThrow('maxFileBytes')
  expect(() => openaiTranscription({ langauge: 'en' } as object)).toThrow('unknown key langauge')
  expect(openaiTranscription('whisper-1').model).toBe('whisper-1')
})
