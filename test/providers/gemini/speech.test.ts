import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { SpeechEvent } from '../../../src/core/contracts/adapter.ts'
import { sampleFormatOf, wavChunks } from '../../../src/core/messages/wav.ts'
import type { SpeechRequest } from '../../../src/core/types/models.ts'
import { geminiSpeech } from '../../../src/gemini.ts'
import { createEngine, imageToBytes, speak } from '../../../src/index.ts'
import { sineWav } from '../../models/audio.ts'
import { json, sentJson, shared, stubFetch } from '../../models/support.ts'
import { hasOracles, loadOracle } from '../../testing/server/wire/shared.ts'

const wav = sineWav(0.1)
const pcm = Buffer.from(wav.subarray(44)).toString('base64')
const model = 'gemini-2.5-flash-preview-tts'

function request(fields: Partial<SpeechRequest> = {}): SpeechRequest {
  return { text: 'Hello', model, providerOptions: {}, metadata: {}, ...fields }
}

function answer(
  parts: readonly object[] = [part(pcm)],
  finishReason: string | null = 'STOP',
  more: object = {},
): () => Response {
  return () => json({ candidates: [{ content: { parts }, finishReason, ...more }], ...more })
}

function part(data: string, mimeType = 'audio/L16;codec=pcm;rate=24000'): object {
  return { inlineData: { mimeType, data } }
}

async function all(events: AsyncIterable<SpeechEvent>): Promise<SpeechEvent[]> {
  const list: SpeechEvent[] = []
  for await (const event of events) list.push(event)
  return list
}

function bytesOf(events: readonly SpeechEvent[]): Buffer {
  return Buffer.concat(events.flatMap((event) => (event.type === 'audio_delta' ? event.bytes : [])))
}

describe('a request', () => {
  test('asks for audio in one piece', async () => {
    const { fetch, calls } = stubFetch(answer())
    await all(geminiSpeech({ apiKey: 'k', fetch }).speak(request({ voice: 'Kore' })))
    expect(calls[0]?.url).toBe(
      `https://generativelanguage.googleapis.com/v1beta/models/${model}:generateContent`,
    )
    expect(sentJson(calls[0])).toEqual({
      contents: [{ role: 'user', parts: [{ text: 'Hello' }] }],
      generationConfig: {
        responseModalities: ['AUDIO'],
        speechConfig: { voiceConfig: { prebuiltVoiceConfig: { voiceName: 'Kore' } } },
      },
    })
  })

  test('has the instructions before the text, and a warning for the speed', async () => {
    const { fetch, calls } = stubFetch(answer())
    const asked = request({ instructions: 'Say it softly:', speed: 2 })
    const [started] = await all(geminiSpeech({ apiKey: 'k', fetch }).speak(asked))
    expect(sentJson(calls[0])).toMatchObject({
      contents: [{ parts: [{ text: 'Say it softly:\nHello' }] }],
      generationConfig: { responseModalities: ['AUDIO'] },
    })
    expect(started).toMatchObject({ warnings: [{ setting: 'speed' }] })
  })

  test('for a format that is not made is refused before a key is missed', async () => {
    const call = all(geminiSpeech().speak(request({ format: 'mp3' })))
    await expect(call).rejects.toMatchObject({
      reason: 'unsupported_feature',
      message: 'gemini does not make mp3: the formats are wav and pcm',
    })
  })

  test.skipIf(!hasOracles)("is legal by Google's own description (../shared/oracles)", async () => {
    const errorsOf = await loadOracle('default', true)
    const { fetch, calls } = stubFetch(answer())
    const asked = request({ voice: 'Kore', instructions: 'Softly' })
    await all(geminiSpeech({ apiKey: 'k', fetch }).speak(asked))
    expect(errorsOf('gemini.generate.request', sentJson(calls[0]))).toEqual([])
  })
})

describe('an answer', () => {
  test('gets the header of a WAV file', async () => {
    const { fetch } = stubFetch(
      answer([part(pcm)], 'STOP', { responseId: 'a1', modelVersion: 'm1' }),
    )
    const asked = request({ metadata: { mine: 1 } })
    const events = await all(geminiSpeech({ apiKey: 'k', fetch }).speak(asked, { requestId: 'r1' }))
    expect(events[0]).toEqual({
      type: 'speech_started',
      mimeType: 'audio/wav',
      requestId: 'r1',
      id: 'a1',
      model: 'm1',
      provider: 'gemini',
      warnings: [],
      metadata: { sampleRate: 24_000, mine: 1 },
    })
    expect(bytesOf(events).equals(Buffer.from(wav))).toBe(true)
    expect(events.at(-1)).toEqual({ type: 'speech_completed', usage: {} })
  })

  test('has no header as pcm', async () => {
    const { fetch } = stubFetch(answer([part(pcm, 'audio/L16;rate=16000')]))
    const events = await all(geminiSpeech({ apiKey: 'k', fetch }).speak(request({ format: 'pcm' })))
    expect(events[0]).toMatchObject({ mimeType: 'audio/pcm', metadata: { sampleRate: 16_000 } })
    expect(bytesOf(events).equals(Buffer.from(wav.subarray(44)))).toBe(true)
  })

  test('of several parts is one recording', async () => {
    const halves = [
      part(pcm.slice(0, 400)),
      { text: 'thinking', thought: true },
      part(pcm.slice(400)),
    ]
    const { fetch } = stubFetch(answer(halves))
    const events = await all(geminiSpeech({ apiKey: 'k', fetch }).speak(request()))
    expect(bytesOf(events).equals(Buffer.from(wav))).toBe(true)
  })

  test('of another type is passed on as it is', async () => {
    const { fetch } = stubFetch(answer([part('SUQz', 'audio/mpeg')]))
    const events = await all(geminiSpeech({ apiKey: 'k', fetch }).speak(request()))
    expect(events[0]).toMatchObject({ mimeType: 'audio/mpeg', metadata: {} })
    expect(bytesOf(events).toString()).toBe('ID3')
  })

  test.each<[string, () => Response, string, object]>([
    [
      'no audio',
      answer([{ text: 'Hello' }]),
      'malformed_response',
      { metadata: { finishReason: 'STOP' } },
    ],
    ['no candidate', () => json({}), 'malformed_response', {}],
    ['null for a candidate', () => json({ candidates: [null] }), 'malformed_response', {}],
    ['audio that is not base64', answer([part('?')]), 'malformed_response', {}],
    ['a filtered speech', answer([], 'SAFETY'), 'content_filter', {}],
    [
      'a blocked prompt',
      () => json({ promptFeedback: { blockReason: 'OTHER' } }),
      'content_filter',
      {},
    ],
    ['an error', () => json({ error: { code: 503, message: 'busy' } }), 'provider_unavailable', {}],
    [
      'speech that broke off',
      answer([part(pcm)], 'OTHER'),
      'truncated',
      { name: 'StreamError', metadata: { finishReason: 'OTHER', bytesReceived: wav.length - 44 } },
    ],
    ['speech without an end', answer([part(pcm)], null), 'truncated', {}],
    ['too long a speech', answer([part(pcm)], 'MAX_TOKENS'), 'context_length_exceeded', {}],
  ])('with %s fails', async (_what, given, reason, facts) => {
    const { fetch } = stubFetch(given)
    const call = all(geminiSpeech({ apiKey: 'k', fetch }).speak(request()))
    await expect(call).rejects.toMatchObject({ reason, ...facts })
  })

  test('ends when its reader leaves', async () => {
    let aborted = false
    const fetch = (_url: string, { signal }: RequestInit): Promise<Response> =>
      new Promise((_, reject) => {
        signal?.addEventListener('abort', () => {
          aborted = true
          reject(new Error('aborted'))
        })
      })
    const events = geminiSpeech({ apiKey: 'k', fetch }).speak(request())[Symbol.asyncIterator]()
    const pending = events.next()
    await new Promise((resolve) => setImmediate(resolve))
    await events.return?.()
    expect(await pending).toMatchObject({ done: true })
    expect(aborted).toBe(true)
  })
})

const recording = shared('fixtures/open/gemini/gemini-tts-01')

test.skipIf(!existsSync(recording))(
  'a recorded answer is a playable file (../shared/fixtures)',
  async () => {
    const { fetch, calls } = stubFetch(
      () => new Response(readFileSync(`${recording}/response.json`)),
    )
    const { model: _model, ...body } = JSON.parse(
      readFileSync(`${recording}/request.json`, 'utf8'),
    ) as {
      model: string
      contents: { parts: { text: string }[] }[]
    }
    const engine = createEngine({ speechAdapter: geminiSpeech({ apiKey: 'k', fetch, model }) })
    const text = body.contents[0]?.parts[0]?.text ?? ''
    const response = await speak(engine, text, { voice: 'Kore' })
    expect(sentJson(calls[0])).toEqual(body)
    expect(response).toMatchObject({
      mimeType: 'audio/wav',
      id: '5b6FaoeZJuDGnsEPzuHcyQo',
      model,
      usage: { inputTokens: 11, outputTokens: 111, totalTokens: 122 },
    })
    const chunks = wavChunks(imageToBytes(response))
    expect(sampleFormatOf(chunks)).toEqual({ sampleRate: 24_000, channels: 1 })
    // Four and a half seconds.
    expect(chunks.find(({ name }) => name === 'data')?.bytes.byteLength).toBe(213_646)
  },
)
