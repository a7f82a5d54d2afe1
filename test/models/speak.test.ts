import { describe, expect, test } from 'vitest'
import { bytesToBase64 } from '../../src/core/base/base64.ts'
import type { SpeechAdapter, SpeechEvent } from '../../src/core/contracts/adapter.ts'
import { sampleFormatOf, wavChunks } from '../../src/core/messages/wav.ts'
import {
  AdapterError,
  createEngine,
  fileFromBytes,
  filePart,
  imageToBytes,
  onTelemetry,
  speak,
  StreamError,
  streamSpeech,
  type TelemetryEvent,
} from '../../src/index.ts'
import { fakeSpeech, virtualClock, type SpeechScriptEntry } from '../../src/testing.ts'
import { sineWav } from './audio.ts'

const wav = sineWav(0.5)
const file = fileFromBytes(wav, 'audio/wav')

async function read(stream: AsyncIterable<Uint8Array>): Promise<Uint8Array[]> {
  const pieces: Uint8Array[] = []
  for await (const bytes of stream) pieces.push(bytes)
  return pieces
}

function engineOf(...script: SpeechScriptEntry[]) {
  const adapter = fakeSpeech({ script })
  const clock = virtualClock()
  return { adapter, clock, engine: createEngine({ speechAdapter: adapter, clock }) }
}

/** An adapter that says what it is told. */
function adapterOf(
  speakIt: SpeechAdapter['speak'],
  more: Partial<SpeechAdapter> = {},
): SpeechAdapter {
  return { provider: 'test', speak: speakIt, ...more }
}

const started: SpeechEvent = {
  type: 'speech_started',
  mimeType: 'audio/wav',
  requestId: 'r',
  provider: 'test',
  warnings: [],
  metadata: {},
}

function delta(...bytes: number[]): SpeechEvent {
  return { type: 'audio_delta', bytes: new Uint8Array(bytes) }
}

const completed: SpeechEvent = { type: 'speech_completed', usage: {} }

describe('speak', () => {
  test('returns the audio as a file with its facts', async () => {
    const usage = { inputTokens: 3 }
    const { engine, adapter } = engineOf(['ok', file, { usage, id: 'a1', model: 'm2' }])
    const response = await speak(engine, 'Hello', {
      voice: 'nova',
      format: 'wav',
      instructions: 'Softly.',
      speed: 1.5,
      model: 'm',
      requestId: 'r1',
      metadata: { mine: 1 },
      providerOptions: { openai: { user: 'u' } },
    })
    expect(adapter.calls[0]?.request).toEqual({
      text: 'Hello',
      voice: 'nova',
      format: 'wav',
      instructions: 'Softly.',
      speed: 1.5,
      model: 'm',
      metadata: { mine: 1 },
      providerOptions: { openai: { user: 'u' } },
    })
    expect(response).toEqual({
      type: 'base64',
      base64: file.base64,
      mimeType: 'audio/wav',
      requestId: 'r1',
      id: 'a1',
      model: 'm2',
      provider: 'fake',
      usage,
      warnings: [],
      metadata: { mine: 1 },
    })
    expect(JSON.parse(JSON.stringify(response))).toEqual(response)
  })

  test('gives a file that parts and bytes are made of as it is', async () => {
    const { engine } = engineOf(['ok', file])
    const response = await speak(engine, 'Hello')
    expect(filePart(response)).toEqual({
      type: 'file',
      file: { type: 'base64', base64: file.base64, mimeType: 'audio/wav' },
    })
    const bytes = imageToBytes(response)
    expect(bytes).toEqual(wav)
    const chunks = wavChunks(bytes)
    expect(sampleFormatOf(chunks)).toEqual({ sampleRate: 24_000, channels: 1 })
    expect(chunks.find(({ name }) => name === 'data')?.bytes).toHaveLength(24_000)
  })

  test('says a text without a script as a tone, longer for a longer text', async () => {
    const engine = createEngine({ speechAdapter: fakeSpeech() })
    const [short, long] = [await speak(engine, 'Hi'), await speak(engine, 'Hi, how are you?')]
    const samples = ({ base64 }: { base64: string }): number =>
      wavChunks(imageToBytes({ type: 'base64', base64, mimeType: 'audio/wav' })).find(
        ({ name }) => name === 'data',
      )?.bytes.byteLength ?? 0
    expect([samples(short), samples(long)]).toEqual([2 * 400 * 2, 16 * 400 * 2])
    expect(await speak(engine, 'Hi')).toMatchObject({ base64: short.base64 })
  })

  test('retries what fails before the first bytes, with the one policy', async () => {
    const { engine, adapter } = engineOf(['retry_until_call', 3], ['ok', file])
    expect((await speak(engine, 'Hello')).base64).toBe(file.base64)
    expect(adapter.calls).toHaveLength(3)
  })

  test('does not retry after the first bytes, and says how many came', async () => {
    const { engine, adapter } = engineOf(['ok', file, { cutAfter: 5000 }], ['ok', file])
    const error = await speak(engine, 'Hello', { requestId: 'r1' }).catch((thrown) => thrown)
    expect(error).toBeInstanceOf(StreamError)
    expect(error).toMatchObject({ reason: 'truncated', metadata: { bytesReceived: 5000 } })
    expect(adapter.calls).toHaveLength(1)
  })

  test('takes ten megabytes of audio', async () => {
    const large = fileFromBytes(sineWav((10 * 1024 * 1024) / 48_000), 'audio/wav')
    const { engine } = engineOf(['ok', large])
    expect((await speak(engine, 'A long story.')).base64 === large.base64).toBe(true)
  })
})

describe('streamSpeech', () => {
  test('sends nothing before it is read', async () => {
    const { engine, adapter } = engineOf(['ok', file])
    const stream = streamSpeech(engine, 'Hello')
    expect(adapter.calls).toHaveLength(0)
    const pieces = await read(stream)
    expect(adapter.calls).toHaveLength(1)
    expect(Buffer.concat(pieces).equals(Buffer.from(wav))).toBe(true)
    expect(pieces.length).toBe(Math.ceil(wav.length / 4096))
  })

  test('tells its type with the first bytes, and keeps them for the reader', async () => {
    const { engine, adapter } = engineOf(['ok', file, { usage: { outputTokens: 5 } }])
    const stream = streamSpeech(engine, 'Hello', { requestId: 'r1', model: 'm' })
    expect(await stream.start()).toEqual({
      mimeType: 'audio/wav',
      requestId: 'r1',
      model: 'm',
      provider: 'fake',
      warnings: [],
      metadata: {},
    })
    expect(stream.usage).toBeUndefined()
    expect(Buffer.concat(await read(stream))).toHaveLength(wav.length)
    expect(stream.usage).toEqual({ outputTokens: 5 })
    expect(adapter.calls).toHaveLength(1)
  })

  test('has one reader', async () => {
    const { engine } = engineOf(['ok', file])
    const stream = streamSpeech(engine, 'Hello')
    await read(stream)
    await expect(read(stream)).rejects.toMatchObject({ reason: 'already_read' })
    expect(() => stream.toReadableStream()).toThrow('only once')
    await stream.return()
    expect(() => stream.toReadableStream()).toThrow('only once')
  })

  test('that was ended before anybody read it says so', async () => {
    const { engine } = engineOf(['ok', file])
    const stream = streamSpeech(engine, 'Hello')
    await stream.return()
    await expect(read(stream)).rejects.toMatchObject({
      reason: 'already_read',
      message: 'this stream was ended by return() before it was read',
    })
  })

  test('that is left early closes the connection', async () => {
    const { engine, adapter } = engineOf(['ok', file])
    for await (const bytes of streamSpeech(engine, 'Hello')) {
      expect(bytes.length).toBeGreaterThan(0)
      expect(adapter.openStreams).toBe(1)
      break
    }
    expect(adapter.openStreams).toBe(0)
  })

  test('that is left while it waits ends at once', async () => {
    const { engine, adapter } = engineOf(['ok', file, { pauseMs: 50_000 }])
    const stream = streamSpeech(engine, 'Hello', { streamTimeoutMs: 1_000_000 })
    const bytes = stream[Symbol.asyncIterator]()
    await bytes.next()
    const pending = bytes.next()
    const [left] = await Promise.all([stream.return(), pending.catch(() => 'stopped')])
    expect(left).toBeUndefined()
    expect(adapter.openStreams).toBe(0)
  })

  test('that is left before it is read sends nothing', async () => {
    const { engine, adapter } = engineOf(['ok', file])
    const stream = streamSpeech(engine, 'Hello')
    await stream.return()
    await expect(stream.start()).rejects.toMatchObject({ reason: 'cancelled' })
    expect(await stream[Symbol.asyncDispose]()).toBeUndefined()
    expect(adapter.calls).toHaveLength(0)
  })

  test('that is left in the wait between two attempts makes no other', async () => {
    const clock = virtualClock({ auto: false })
    let calls = 0
    const failing = adapterOf(() => {
      calls++
      throw new AdapterError('rate_limited', 'slow')
    })
    const stream = streamSpeech(createEngine({ speechAdapter: failing, clock }), 'Hello')
    const reading = read(stream).catch((error: unknown) => error)
    await new Promise((resolve) => setImmediate(resolve))
    await stream.return()
    expect(await reading).toMatchObject({ reason: 'cancelled' })
    expect(calls).toBe(1)
  })

  test('is cancelled by its signal at any time', async () => {
    const { engine, adapter } = engineOf(['ok', file], ['ok', file])
    const controller = new AbortController()
    const bytes = streamSpeech(engine, 'Hello', { signal: controller.signal })
    const reader = bytes[Symbol.asyncIterator]()
    const { value } = await reader.next()
    controller.abort()
    await expect(reader.next()).rejects.toMatchObject({
      name: 'StreamError',
      reason: 'cancelled',
      metadata: { bytesReceived: value?.byteLength },
    })
    expect(adapter.openStreams).toBe(0)
    const before = speak(engine, 'Hello', { signal: AbortSignal.abort() })
    await expect(before).rejects.toMatchObject({ reason: 'cancelled' })
    expect(adapter.calls).toHaveLength(1)
  })

  test('does not wait for ever for the next bytes', async () => {
    const { engine, clock } = engineOf(['ok', file, { pauseMs: 30_000 }])
    const stream = streamSpeech(engine, 'Hello', { streamTimeoutMs: 20_000 })
    await expect(read(stream)).rejects.toMatchObject({
      name: 'AdapterError',
      reason: 'timeout',
      message: 'fake was silent for 20000 ms (streamTimeoutMs)',
      metadata: { bytesReceived: 4096 },
    })
    expect(clock.now()).toBe(20_000)
  })

  test('bears silences that are short enough', async () => {
    const { engine } = engineOf(['ok', file, { pauseMs: 59_000 }])
    expect(Buffer.concat(await read(streamSpeech(engine, 'Hello')))).toHaveLength(wav.length)
  })

  test('an adapter that ignores its signal cannot hold it', async () => {
    const clock = virtualClock()
    const deaf = adapterOf(async function* () {
      yield started
      yield delta(1)
      await new Promise(() => undefined)
    })
    const engine = createEngine({ speechAdapter: deaf, clock, streamTimeoutMs: 5000 })
    await expect(read(streamSpeech(engine, 'Hello'))).rejects.toMatchObject({ reason: 'timeout' })
  })

  test('the wait for the first bytes has its own limit', async () => {
    const clock = virtualClock()
    const slow = adapterOf(async function* () {
      yield started
      await new Promise(() => undefined)
    })
    const engine = createEngine({
      speechAdapter: slow,
      clock,
      requestTimeoutMs: 7000,
      retry: false,
    })
    await expect(speak(engine, 'Hello')).rejects.toMatchObject({ reason: 'timeout' })
    expect(clock.now()).toBe(7000)
  })

  test('is bounded in its size', async () => {
    const { engine } = engineOf(['ok', file])
    const stream = streamSpeech(engine, 'Hello', { maxResponseBytes: 10_000 })
    await expect(read(stream)).rejects.toMatchObject({ name: 'StreamError', reason: 'too_large' })
  })

  test.each<[string, readonly unknown[], string]>([
    ['nothing', [], 'malformed_response'],
    ['no audio', [started, completed], 'malformed_response'],
    ['no start', [delta(1), completed], 'malformed_response'],
    [
      'an illegal type',
      [{ ...started, mimeType: 'audio/x\r\nevil: 1' }, delta(1)],
      'malformed_response',
    ],
    ['a page', [{ ...started, mimeType: 'text/html' }, delta(1), completed], 'malformed_response'],
    ['an empty piece', [started, delta(), completed], 'malformed_response'],
    ['no bytes', [started, { type: 'audio_delta', bytes: 'abc' }], 'malformed_response'],
    ['two starts', [started, delta(1), started], 'malformed_response'],
    ['no end', [started, delta(1)], 'truncated'],
  ])('an adapter that gives %s fails the call', async (_what, events, reason) => {
    const wrong = adapterOf(async function* () {
      yield* events as SpeechEvent[]
    })
    const engine = createEngine({ speechAdapter: wrong, retry: false })
    await expect(speak(engine, 'Hello')).rejects.toMatchObject({ reason })
  })

  test('whatever an adapter throws is one of our errors', async () => {
    const wrong = adapterOf(() => {
      throw new TypeError('oops')
    })
    const engine = createEngine({ speechAdapter: wrong, retry: false })
    await expect(speak(engine, 'Hello')).rejects.toMatchObject({
      name: 'AdapterError',
      reason: 'unknown',
      message: 'test failed: oops',
    })
  })
})

describe('the response of a route handler', () => {
  test('has the bytes and their type', async () => {
    const { engine } = engineOf(['ok', file])
    const response = await streamSpeech(engine, 'Hello').toHttpResponse({
      headers: { 'cache-control': 'no-store' },
    })
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('audio/wav')
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(response.headers.get('x-content-type-options')).toBe('nosniff')
    expect(bytesToBase64(new Uint8Array(await response.arrayBuffer()))).toBe(file.base64)
  })

  test('is not made of a call that fails before its first bytes', async () => {
    const error = new AdapterError('authentication_failed', 'no')
    const { engine } = engineOf(['error', error])
    await expect(streamSpeech(engine, 'Hello').toHttpResponse()).rejects.toBe(error)
  })

  test('breaks off with the call', async () => {
    const { engine } = engineOf(['ok', file, { cutAfter: 5000 }])
    const response = await streamSpeech(engine, 'Hello').toHttpResponse()
    await expect(response.arrayBuffer()).rejects.toThrow('scripted break')
  })

  test('ends the call when the browser leaves', async () => {
    const { engine, adapter } = engineOf(['ok', file])
    const response = await streamSpeech(engine, 'Hello').toHttpResponse()
    expect(adapter.openStreams).toBe(1)
    await response.body?.cancel()
    expect(adapter.openStreams).toBe(0)
  })

  test('takes the settings of a Response only', async () => {
    const { engine } = engineOf(['ok', file])
    const wrong = streamSpeech(engine, 'Hello').toHttpResponse({ header: {} } as object)
    await expect(wrong).rejects.toThrow('did you mean headers?')
  })
})

describe('before anything is sent', () => {
  const engine = createEngine({
    speechAdapter: adapterOf(() => {
      throw new Error('was called')
    }),
  })

  test.each<[string, () => unknown, object]>([
    ['an empty text', () => speak(engine, ' '), { reason: 'invalid_request' }],
    ['no text', () => speak(engine, undefined as unknown as string), { reason: 'invalid_request' }],
    [
      'an unknown format',
      () => speak(engine, 'a', { format: 'mp4' as 'mp3' }),
      { reason: 'invalid_request' },
    ],
    ['no speed', () => speak(engine, 'a', { speed: 0 }), { reason: 'invalid_request' }],
    [
      'an unknown option',
      () => speak(engine, 'a', { voise: 'x' } as object),
      { reason: 'invalid_options' },
    ],
    [
      'a wrong timeout',
      () => speak(engine, 'a', { streamTimeoutMs: -1 }),
      { reason: 'invalid_options' },
    ],
    [
      'an engine without an adapter',
      () => speak(createEngine(), 'a'),
      { reason: 'missing_adapter' },
    ],
  ])('%s is refused', async (_what, call, expected) => {
    await expect(call()).rejects.toMatchObject(expected)
  })

  test('a missing model and a missing key are refused', async () => {
    const needy = adapterOf(() => [] as never, { needsModel: true })
    await expect(speak(createEngine({ speechAdapter: needy }), 'a')).rejects.toMatchObject({
      reason: 'missing_model',
      message: expect.stringContaining('speechModel'),
    })
    const keyed = adapterOf(() => [] as never, {
      provider: 'nobody-has-a-key-for-this',
      key: { required: true, own: false },
    })
    await expect(speak(createEngine({ speechAdapter: keyed }), 'a')).rejects.toMatchObject({
      reason: 'missing_key',
    })
  })
})

describe('telemetry', () => {
  test('has one span from the first read to the end, without the text', async () => {
    const events: TelemetryEvent[] = []
    const off = onTelemetry((event) => void events.push(event))
    const { engine } = engineOf(['ok', file, { usage: { inputTokens: 2 } }], ['ok', file])
    await speak(engine, 'a secret', { model: 'm' })
    const left = streamSpeech(engine, 'a secret')
    await left[Symbol.asyncIterator]().next()
    await left.return()
    off()
    expect(events).toMatchObject([
      { name: 'speak', phase: 'start', model: 'm' },
      {
        name: 'speak',
        phase: 'stop',
        audioBytes: wav.length,
        usage: { inputTokens: 2 },
        timeToFirstChunkMs: 0,
      },
      { name: 'speak', phase: 'start' },
      { name: 'speak', phase: 'stop', haltedReason: 'cancelled', audioBytes: 4096 },
    ])
    expect(JSON.stringify(events)).not.toContain('secret')
  })
})
