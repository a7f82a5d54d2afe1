import { describe, expect, test } from 'vitest'
import type { SpeechEvent } from '../../../src/core/contracts/adapter.ts'
import type { SpeechRequest } from '../../../src/core/types/models.ts'
import { openaiSpeech } from '../../../src/openai.ts'
import { mpegFile, mpegFrames, sineWav, wav64 } from '../../models/audio.ts'
import { json, sentJson, stubFetch } from '../../models/support.ts'
import { hasOracles, loadOracle } from '../../testing/server/wire/shared.ts'

const wav = sineWav(0.2)

/** The recording with other lengths in its header. */
function wavOf(whole: number, samples: number): Uint8Array<ArrayBuffer> {
  const bytes = wav.slice()
  const view = new DataView(bytes.buffer)
  view.setUint32(4, whole, true)
  view.setUint32(40, samples, true)
  return bytes
}

function request(fields: Partial<SpeechRequest> = {}): SpeechRequest {
  return { text: 'Hello', model: 'gpt-4o-mini-tts', providerOptions: {}, metadata: {}, ...fields }
}

function audio(
  headers: Record<string, string> = { 'content-type': 'audio/wav' },
  body: Uint8Array<ArrayBuffer> | string = wav,
): () => Response {
  return () => new Response(body, { headers })
}

/** A body in pieces that then ends, breaks or stays silent. */
function inPieces(
  pieces: readonly Uint8Array[],
  end: 'close' | 'break' | 'stall' = 'close',
): { readonly body: ReadableStream<Uint8Array<ArrayBuffer>>; readonly isCancelled: () => boolean } {
  let cancelled = false
  let next = 0
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    pull(controller) {
      const piece = pieces[next++]
      if (piece !== undefined) controller.enqueue(new Uint8Array(piece))
      else if (end === 'close') controller.close()
      else if (end === 'break') controller.error(new TypeError('terminated'))
      else return new Promise(() => undefined)
      return undefined
    },
    cancel() {
      cancelled = true
    },
  })
  return { body, isCancelled: () => cancelled }
}

async function all(events: AsyncIterable<SpeechEvent>): Promise<SpeechEvent[]> {
  const list: SpeechEvent[] = []
  for await (const event of events) list.push(event)
  return list
}

describe('a request', () => {
  test('has the least that the API demands', async () => {
    const { fetch, calls } = stubFetch(audio())
    await all(openaiSpeech({ apiKey: 'k', fetch }).speak(request()))
    const [call] = calls
    expect(call?.url).toBe('https://api.openai.com/v1/audio/speech')
    expect(sentJson(call)).toEqual({ model: 'gpt-4o-mini-tts', input: 'Hello', voice: 'alloy' })
    expect(call?.headers.get('authorization')).toBe('Bearer k')
    expect(call?.headers.get('accept')).toContain('audio/*')
  })

  test('has everything that was asked for, and provider options over it', async () => {
    const { fetch, calls } = stubFetch(audio())
    const asked = request({
      voice: 'nova',
      format: 'wav',
      instructions: 'Softly.',
      speed: 1.25,
      providerOptions: { openai: { voice: { id: 'voice_1' } } },
      metadata: { private: true },
    })
    await all(openaiSpeech({ apiKey: 'k', fetch }).speak(asked))
    expect(sentJson(calls[0])).toEqual({
      model: 'gpt-4o-mini-tts',
      input: 'Hello',
      voice: { id: 'voice_1' },
      response_format: 'wav',
      instructions: 'Softly.',
      speed: 1.25,
    })
  })

  test.each(['tts-1', 'tts-1-hd'])('has no instructions for %s, which says so', async (model) => {
    const { fetch, calls } = stubFetch(audio())
    const asked = request({ model, instructions: 'Softly.' })
    const [started] = await all(openaiSpeech({ apiKey: 'k', fetch }).speak(asked))
    expect(sentJson(calls[0])).not.toHaveProperty('instructions')
    expect(started).toMatchObject({
      warnings: [{ setting: 'instructions', problem: `${model} takes no instructions` }],
    })
  })

  test.each<[string, Partial<SpeechRequest>, string]>([
    ['ulaw', { format: 'ulaw' }, 'the formats are mp3, opus, aac, flac, wav, pcm'],
    [
      'sse',
      { providerOptions: { openai: { stream_format: 'sse' } } },
      'leave stream_format "sse" out',
    ],
  ])('for %s is refused before a key is missed', async (_what, fields, problem) => {
    const { fetch, calls } = stubFetch(audio())
    const call = all(openaiSpeech({ fetch }).speak(request(fields)))
    await expect(call).rejects.toMatchObject({
      reason: 'unsupported_feature',
      message: expect.stringContaining(problem),
    })
    expect(calls).toEqual([])
  })

  test.skipIf(!hasOracles)("is legal by OpenAI's own description (../shared/oracles)", async () => {
    const errorsOf = await loadOracle('default', true)
    const { fetch, calls } = stubFetch(audio())
    const adapter = openaiSpeech({ apiKey: 'k', fetch })
    await all(adapter.speak(request()))
    await all(
      adapter.speak(request({ voice: 'nova', format: 'opus', speed: 2, instructions: 'a' })),
    )
    for (const call of calls) expect(errorsOf('openai.speech.request', sentJson(call))).toEqual([])
  })
})

describe('an answer', () => {
  test('comes piece by piece, after its start', async () => {
    const { body } = inPieces([wav.subarray(0, 100), new Uint8Array(), wav.subarray(100)])
    const headers = { 'content-type': 'audio/wav; rate=24000', 'x-request-id': 'req_1' }
    const { fetch } = stubFetch(() => new Response(body, { headers }))
    const asked = request({ metadata: { mine: 1 } })
    const events = await all(openaiSpeech({ apiKey: 'k', fetch }).speak(asked, { requestId: 'r1' }))
    expect(events).toEqual([
      {
        type: 'speech_started',
        mimeType: 'audio/wav',
        requestId: 'r1',
        model: 'gpt-4o-mini-tts',
        provider: 'openai',
        warnings: [],
        metadata: { providerRequestId: 'req_1', mine: 1 },
      },
      { type: 'audio_delta', bytes: wav.subarray(0, 100) },
      { type: 'audio_delta', bytes: wav.subarray(100) },
      { type: 'speech_completed', usage: {} },
    ])
  })

  test('is lazy: nothing is sent before the first read', async () => {
    const { fetch, calls } = stubFetch(audio())
    const events = openaiSpeech({ apiKey: 'k', fetch }).speak(request())[Symbol.asyncIterator]()
    await Promise.resolve()
    expect(calls).toEqual([])
    await events.next()
    expect(calls).toHaveLength(1)
    await events.return?.()
  })

  test.each<[string, SpeechRequest['format'], Record<string, string>, string]>([
    ['its own type', undefined, { 'content-type': 'Audio/MPEG' }, 'audio/mpeg'],
    ['no type', undefined, {}, 'audio/mpeg'],
    ['bytes of a format', 'flac', { 'content-type': 'application/octet-stream' }, 'audio/flac'],
    ['samples', 'pcm', { 'content-type': 'audio/pcm;rate=24000;channels=1' }, 'audio/pcm'],
  ])('with %s is of the right type', async (_what, format, headers, mimeType) => {
    const { body } = inPieces([new Uint8Array([0xff, 0xfb, 1])])
    const { fetch } = stubFetch(() => new Response(body, { headers }))
    const [started] = await all(
      openaiSpeech({ apiKey: 'k', fetch }).speak(request(format === undefined ? {} : { format })),
    )
    expect(started).toMatchObject({ mimeType })
  })

  test.each<[string, () => Response, string]>([
    [
      'JSON',
      () => json({ error: { message: 'quota' } }),
      'application/json instead of audio: {"error":{"message":"quota"}}',
    ],
    [
      'a page',
      audio({ 'content-type': 'text/html' }, '<html><h1>Sign in</h1></html>'),
      'text/html instead of audio: Sign in',
    ],
    [
      'events',
      audio({ 'content-type': 'text/event-stream' }, 'data: {}\n\n'),
      'text/event-stream instead of audio',
    ],
    [
      'JSON under the type of audio',
      audio({ 'content-type': 'audio/mpeg' }, '{"error": "no voice"}'),
      'audio/mpeg that is not audio: {"error": "no voice"}',
    ],
    ['nothing', audio({ 'content-type': 'audio/mpeg' }, ''), 'without any audio'],
    [
      'no body',
      () => new Response(null, { headers: { 'content-type': 'audio/mpeg' } }),
      'no body instead of audio',
    ],
  ])('that is %s with status 200 is malformed', async (_what, answer, problem) => {
    const { fetch } = stubFetch(answer)
    await expect(all(openaiSpeech({ apiKey: 'k', fetch }).speak(request()))).rejects.toMatchObject({
      name: 'AdapterError',
      reason: 'malformed_response',
      provider: 'openai',
      message: expect.stringContaining(problem),
    })
  })

  test('samples may begin with anything', async () => {
    const { fetch } = stubFetch(audio({ 'content-type': 'audio/pcm' }, '{"a"'))
    const events = await all(openaiSpeech({ apiKey: 'k', fetch }).speak(request({ format: 'pcm' })))
    expect(events).toHaveLength(3)
  })

  test('that breaks off is truncated, with what came', async () => {
    const { body } = inPieces([wav.subarray(0, 100)], 'break')
    const { fetch } = stubFetch(
      () => new Response(body, { headers: { 'content-type': 'audio/wav' } }),
    )
    const events: SpeechEvent[] = []
    const reading = (async () => {
      for await (const event of openaiSpeech({ apiKey: 'k', fetch }).speak(request())) {
        events.push(event)
      }
    })()
    await expect(reading).rejects.toMatchObject({
      name: 'StreamError',
      reason: 'truncated',
      metadata: { bytesReceived: 100 },
    })
    expect(events.map(({ type }) => type)).toEqual(['speech_started', 'audio_delta'])
  })

  test('that breaks off before its first bytes is a failed call', async () => {
    const { body } = inPieces([], 'break')
    const { fetch } = stubFetch(
      () => new Response(body, { headers: { 'content-type': 'audio/wav' } }),
    )
    await expect(all(openaiSpeech({ apiKey: 'k', fetch }).speak(request()))).rejects.toMatchObject({
      name: 'AdapterError',
      reason: 'network_error',
    })
  })

  test('with fewer bytes than its headers promise is truncated', async () => {
    const short = { 'content-type': 'audio/wav', 'content-length': String(wav.length + 1) }
    const { fetch } = stubFetch(audio(short))
    await expect(all(openaiSpeech({ apiKey: 'k', fetch }).speak(request()))).rejects.toMatchObject({
      reason: 'truncated',
      message: `the answer of openai ended after ${wav.length} of ${wav.length + 1} bytes`,
    })
  })

  test.each<[string, Uint8Array<ArrayBuffer>]>([
    ['the samples that its header promises', wav.slice(0, 1000)],
    ['one byte', wav.slice(0, -1)],
    ['its samples, and half of its header', wav.slice(0, 30)],
    ['its samples, of a length that is not known', wavOf(0xffffffff, 0xffffffff).slice(0, 40)],
    ['samples, of which only their own length is known', wavOf(0, wav.length - 44).slice(0, 1000)],
    ['a chunk after the samples', wavOf(wav.length + 100, wav.length - 44)],
  ])('that ends well, as a WAV file without %s, is truncated', async (_what, bytes) => {
    const [first, second] = [bytes.subarray(0, 1), bytes.subarray(1)]
    for (const pieces of [[bytes], [first, second], Array.from(bytes, (byte) => [byte])]) {
      const { body } = inPieces(pieces.map((piece) => Uint8Array.from(piece)))
      const headers = { 'content-type': 'audio/wav' }
      const { fetch } = stubFetch(() => new Response(body, { headers }))
      const events: SpeechEvent[] = []
      const reading = (async () => {
        for await (const event of openaiSpeech({ apiKey: 'k', fetch }).speak(request())) {
          events.push(event)
        }
      })()
      await expect(reading).rejects.toMatchObject({
        name: 'StreamError',
        reason: 'truncated',
        message: expect.stringContaining('by the header of its WAV file'),
        metadata: { bytesReceived: bytes.length },
      })
      expect(events[0]?.type).toBe('speech_started')
      expect(events.at(-1)?.type).toBe('audio_delta')
    }
  })

  test.each<[string, Uint8Array<ArrayBuffer>]>([
    ['of the largest length', wavOf(0xffffffff, 0xffffffff)],
    ['of no length', wavOf(0, 0)],
    ['of an empty file', wavOf(36, 0)],
    ['of two gigabytes', wavOf(0x7ffff024, 0x7ffff000)],
    ['that counts a byte that makes it even', wavOf(wav.length - 7, wav.length - 44)],
  ])('as a WAV file with a header %s is whole', async (_what, bytes) => {
    const { fetch } = stubFetch(audio({ 'content-type': 'audio/wav' }, bytes))
    const events = await all(openaiSpeech({ apiKey: 'k', fetch }).speak(request()))
    expect(events.at(-1)?.type).toBe('speech_completed')
  })

  test.each<[string, string, string | Uint8Array<ArrayBuffer>]>([
    ['events', 'audio/wav', 'data: {"text": 1}\n\n'],
    ['mp3', 'audio/wav', new Uint8Array([0xff, 0xfb, 0x90, 0xc4, 0, 0, 0, 0, 0, 0, 0, 0])],
    ['WAV', 'audio/mpeg', wav],
    ['WAV', 'audio/flac', wav],
    ['WAV', 'audio/ogg', wav],
  ])('of %s under %s is malformed', async (_what, mimeType, bytes) => {
    const { fetch } = stubFetch(audio({ 'content-type': mimeType }, bytes))
    await expect(all(openaiSpeech({ apiKey: 'k', fetch }).speak(request()))).rejects.toMatchObject({
      name: 'AdapterError',
      reason: 'malformed_response',
      message: expect.stringContaining(`is declared as ${mimeType}, but its bytes are not`),
    })
  })

  test('of MPEG audio may be of any layer and rate', async () => {
    for (const [, second] of mpegFrames) {
      const bytes = mpegFile(second)
      const { fetch } = stubFetch(audio({ 'content-type': 'audio/mpeg' }, bytes))
      expect(await all(openaiSpeech({ apiKey: 'k', fetch }).speak(request()))).toHaveLength(3)
    }
  })

  test.each(['RF64', 'BW64'] as const)(
    'as a WAV file of lengths of 64 bits, %s, is whole or truncated by what it says',
    async (name) => {
      const file = wav64(name, wav)
      const played = (bytes: Uint8Array<ArrayBuffer>): Promise<unknown[]> => {
        const { fetch } = stubFetch(audio({ 'content-type': 'audio/wav' }, bytes))
        return all(openaiSpeech({ apiKey: 'k', fetch }).speak(request()))
      }
      expect(await played(file)).toHaveLength(3)
      await expect(played(file.slice(0, -10))).rejects.toMatchObject({ reason: 'truncated' })
    },
  )

  test('that is a part of a file, or compressed, is malformed: it cannot be told whether it is whole', async () => {
    const headers = { 'content-type': 'audio/wav' }
    const part = stubFetch(() => new Response(wav, { status: 206, headers }))
    const call = all(openaiSpeech({ apiKey: 'k', fetch: part.fetch }).speak(request()))
    await expect(call).rejects.toMatchObject({ reason: 'malformed_response', status: 206 })
    expect(part.calls[0]?.headers.get('accept-encoding')).toBe('identity')
    const packed = stubFetch(audio({ ...headers, 'content-encoding': 'gzip' }))
    const other = all(openaiSpeech({ apiKey: 'k', fetch: packed.fetch }).speak(request()))
    await expect(other).rejects.toMatchObject({
      reason: 'malformed_response',
      message: expect.stringContaining('content-encoding gzip'),
    })
    const plain = stubFetch(audio({ ...headers, 'content-encoding': 'identity' }))
    const good = all(openaiSpeech({ apiKey: 'k', fetch: plain.fetch }).speak(request()))
    expect(await good).toHaveLength(3)
  })

  test('is bounded in its size', async () => {
    const { fetch } = stubFetch(audio())
    const call = all(
      openaiSpeech({ apiKey: 'k', fetch }).speak(request(), { maxResponseBytes: 99 }),
    )
    await expect(call).rejects.toMatchObject({ name: 'StreamError', reason: 'too_large' })
  })

  test('that has come whole is not aborted, and one that is left is', async () => {
    const signals: (AbortSignal | null | undefined)[] = []
    const fetch = async (_url: string, { signal }: RequestInit): Promise<Response> => {
      signals.push(signal)
      return audio()()
    }
    const adapter = openaiSpeech({ apiKey: 'k', fetch })
    await all(adapter.speak(request()))
    const left = adapter.speak(request())[Symbol.asyncIterator]()
    await left.next()
    await left.return?.()
    expect(signals.map((signal) => signal?.aborted)).toEqual([false, true])
  })

  test('is closed when its reader leaves, also while it waits', async () => {
    const { body, isCancelled } = inPieces([wav.subarray(0, 100)], 'stall')
    const { fetch } = stubFetch(
      () => new Response(body, { headers: { 'content-type': 'audio/wav' } }),
    )
    const events = openaiSpeech({ apiKey: 'k', fetch }).speak(request())[Symbol.asyncIterator]()
    await events.next()
    await events.next()
    const pending = events.next()
    await events.return?.()
    expect(await pending).toMatchObject({ done: true })
    expect(isCancelled()).toBe(true)
  })

  test('is cancelled by the signal', async () => {
    const { body, isCancelled } = inPieces([wav.subarray(0, 100)], 'stall')
    const { fetch } = stubFetch(
      () => new Response(body, { headers: { 'content-type': 'audio/wav' } }),
    )
    const controller = new AbortController()
    const { signal } = controller
    const stream = openaiSpeech({ apiKey: 'k', fetch }).speak(request(), { signal })
    const events = stream[Symbol.asyncIterator]()
    await events.next()
    await events.next()
    const pending = events.next()
    controller.abort()
    await expect(pending).rejects.toMatchObject({ name: 'StreamError', reason: 'cancelled' })
    expect(isCancelled()).toBe(true)
  })
})

describe('a refusal', () => {
  test('of a text that is too long says the limit', async () => {
    const message =
      "Invalid 'input': string too long. Expected a string with maximum length 4096, but got a string with length 5000 instead."
    const error = {
      message,
      type: 'invalid_request_error',
      param: 'input',
      code: 'string_above_max_length',
    }
    const { fetch } = stubFetch(() => json({ error }, 400))
    const call = all(
      openaiSpeech({ apiKey: 'k', fetch }).speak(request({ text: 'a'.repeat(5000) })),
    )
    await expect(call).rejects.toMatchObject({
      reason: 'context_length_exceeded',
      status: 400,
      message,
    })
  })

  test('has no key in it', async () => {
    const { fetch } = stubFetch(() =>
      json({ error: { message: 'wrong key plain-words-key' } }, 401),
    )
    const call = all(openaiSpeech({ apiKey: 'plain-words-key', fetch }).speak(request()))
    const error = await call.catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ reason: 'authentication_failed' })
    expect(String(error)).not.toContain('plain-words-key')
  })
})

test('the name of a model is enough, and illegal options are refused', () => {
  expect(openaiSpeech('tts-1').model).toBe('tts-1')
  expect(() => openaiSpeech({ voice: 'nova' } as object)).toThrow('unknown key voice')
})
