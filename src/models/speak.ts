/// <reference lib="esnext.disposable" preserve="true" />

import {
  leavable,
  linkedAbort,
  onAbort,
  unlessStopped,
  type LinkedAbort,
} from '../core/base/abort.ts'
import { bytesToBase64, joined } from '../core/base/base64.ts'
import { reasonOf } from '../core/base/clock.ts'
import type { Span } from '../core/base/telemetry.ts'
import { idleTimer, type IdleTimer } from '../core/base/timers.ts'
import type { AdapterOptions, SpeechAdapter, SpeechEvent } from '../core/contracts/adapter.ts'
import type { Engine } from '../core/contracts/engine.ts'
import {
  cancelledCall,
  defaultMaxResponseBytes,
  failedCall,
  isAllmError,
  StreamError,
  timedOutCall,
  tooLongAnswer,
  type AdapterError,
  type AllmError,
} from '../core/errors/errors.ts'
import { assertValid, optionsOf, type Check } from '../core/schema/checks.ts'
import { callOptionChecks } from '../core/schema/options.ts'
import { validateSpeechRequest } from '../core/schema/validate-audio.ts'
import { defined } from '../core/types/guards.ts'
import type {
  SpeechFormat,
  SpeechRequest,
  SpeechResponse,
  SpeechStart,
} from '../core/types/models.ts'
import type { Usage } from '../core/types/response.ts'
import { engineParts } from '../engine/model-call/context.ts'
import { responseChecks, webStream } from '../engine/model-call/run-stream.ts'
import {
  attempts,
  later,
  malformedAnswer,
  modelCallOptions,
  openSpan,
  settleModelCall,
  type ModelCall,
  type ModelCallKind,
  type ModelCallOptions,
} from './call.ts'

/**
 * Says a text, and returns the audio as a file that holds its bytes.
 *
 * It uses the engine's `speechAdapter` and `speechModel`. It is the fold of `streamSpeech`: a failure before the first bytes is retried by the
 * engine's retry policy, a later one rejects, and there is never a shorter file that looks whole.
 */
export async function speak(
  engine: Engine,
  text: string,
  options: SpeechCallOptions = {},
): Promise<SpeechResponse> {
  const stream = streamSpeech(engine, text, options)
  const pieces: Uint8Array[] = []
  for await (const bytes of stream) pieces.push(bytes)
  const { mimeType, ...facts } = await stream.start()
  const base64 = bytesToBase64(joined(pieces))
  return { type: 'base64', base64, mimeType, ...facts, usage: stream.usage ?? {} }
}

/**
 * Says a text, and gives the bytes of the audio as they arrive. Nothing is sent before it is read, or `start()` is called.
 *
 * What is wrong with the call throws here. A failure before the first bytes is retried by the engine's retry policy; what fails after that, or
 * later, throws from the reading, with `metadata.bytesReceived`.
 */
export function streamSpeech(
  engine: Engine,
  text: string,
  options: SpeechCallOptions = {},
): SpeechStream {
  const call = settleModelCall(engine, speechCalls, options, (fields) =>
    defined<SpeechRequest>({
      ...fields,
      text,
      voice: options.voice,
      format: options.format,
      instructions: options.instructions,
      speed: options.speed,
    }),
  )
  const { defaults } = engineParts(engine)
  const { streamTimeoutMs = defaults.streamTimeoutMs ?? 60_000 } = options
  const { maxResponseBytes = defaults.maxResponseBytes ?? defaultMaxResponseBytes } = options
  return speechStream({ call, streamTimeoutMs, maxResponseBytes })
}

/** Every option of a speech call. */
export interface SpeechCallOptions extends ModelCallOptions {
  /** The name of a voice of the provider. */
  readonly voice?: string | undefined
  readonly format?: SpeechFormat | undefined
  /** How to say it, for models that take instructions. */
  readonly instructions?: string | undefined
  /** 1 is the natural speed. */
  readonly speed?: number | undefined
  /** Milliseconds that each attempt may take to its first bytes. */
  readonly requestTimeoutMs?: number | undefined
  /** Milliseconds of silence after the first bytes (60 000); beyond it the call fails with `timeout`. */
  readonly streamTimeoutMs?: number | undefined
  /** The most bytes of audio (64 MiB); beyond it the call fails with `StreamError` `too_large`. */
  readonly maxResponseBytes?: number | undefined
}

/**
 * Speech as a stream of bytes. Lazy: nothing is sent before it is read. It has one consumer; a second iteration throws.
 *
 * All bytes together are one file of the type that `start()` names. Leaving early (`break`, `throw`, `return()`, `await using`) closes the
 * connection to the provider.
 */
export interface SpeechStream extends AsyncIterable<Uint8Array> {
  [Symbol.asyncIterator](): AsyncIterator<Uint8Array, void>
  /**
   * What is known when the first bytes have come: the type of the audio, the model, the warnings. It sends the call if nobody has read yet; the
   * bytes wait for their reader. Rejects if the call fails before them. Then read the stream, or leave it with `return()`.
   */
  start(): Promise<SpeechStart>
  /** What the call consumed; `undefined` until the stream has ended. */
  readonly usage: Usage | undefined
  /** Ends the call. Safe at any time, also when it is over or never started. */
  return(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
  /** The bytes as a Web stream. It is pulled, so a slow reader slows the call. */
  toReadableStream(): ReadableStream<Uint8Array>
  /**
   * The bytes as the answer of a route handler, with the type of the audio. Rejects if the call fails before its first bytes, so that the handler can
   * answer with an error of its own; a later failure breaks the body off, so that no browser takes it for whole.
   */
  toHttpResponse(init?: ResponseInit): Promise<Response>
}

const speechCalls: ModelCallKind<'speech', SpeechRequest, SpeechResponse> = {
  slot: 'speech',
  span: 'speak',
  options: modelCallOptions({
    voice: later,
    format: later,
    instructions: later,
    speed: later,
    streamTimeoutMs: callOptionChecks.streamTimeoutMs,
    maxResponseBytes: callOptionChecks.maxResponseBytes,
  } satisfies Readonly<Record<Exclude<keyof SpeechCallOptions, keyof ModelCallOptions>, Check>>),
  request: validateSpeechRequest,
  outcome: ({ id, model, usage }) => ({ responseId: id, responseModel: model, usage }),
}

/** A call with the limits of its stream. */
interface SpeechCall {
  readonly call: ModelCall<SpeechAdapter, SpeechRequest>
  readonly streamTimeoutMs: number
  readonly maxResponseBytes: number
}

const httpResponseInit = optionsOf(responseChecks)

function speechStream(speech: SpeechCall): SpeechStream {
  const reading = openReading(speech)
  let taken = false
  let left = false
  const iterate = (): AsyncIterator<Uint8Array, void> => {
    if (taken) {
      const message = left
        ? 'this stream was ended by return() before it was read'
        : 'this stream already has a reader and can be read only once: keep the bytes'
      throw new StreamError('already_read', message)
    }
    taken = true
    return reading.bytes
  }
  const leave = async (): Promise<void> => {
    left ||= !taken
    taken = true
    await reading.bytes.return()
  }
  const start = async (): Promise<SpeechStart> => (await reading.open()).started
  return {
    [Symbol.asyncIterator]: iterate,
    start,
    get usage() {
      return reading.usage()
    },
    return: leave,
    [Symbol.asyncDispose]: leave,
    toReadableStream: () => webStream(iterate(), (bytes) => [bytes]),
    async toHttpResponse(init = {}) {
      assertValid('invalid_options', httpResponseInit(init))
      const bytes = iterate()
      const { mimeType } = await start()
      const headers = new Headers(init.headers)
      const defaults = {
        'content-type': mimeType,
        'x-content-type-options': 'nosniff',
        // Proxies would otherwise hold bytes back.
        'x-accel-buffering': 'no',
      }
      for (const [name, value] of Object.entries(defaults)) {
        if (!headers.has(name)) headers.set(name, value)
      }
      return new Response(
        webStream(bytes, (piece) => [piece]),
        { ...init, headers },
      )
    },
  }
}

/** A call that is being read. */
interface Reading {
  /** Sends the call, once, and waits for its first bytes. */
  open(): Promise<OpenSpeech>
  readonly bytes: AsyncGenerator<Uint8Array, void>
  usage(): Usage | undefined
}

/** A call whose first bytes have come. */
interface OpenSpeech {
  readonly started: SpeechStart
  readonly first: Uint8Array
  readonly events: AsyncIterator<SpeechEvent>
}

/** The state of a call: one signal and one idle timer for all of it. The signal of its call is that of `abort`. */
interface SpeechState extends SpeechCall {
  readonly trace: Span
  /** Follows the signal of the caller, and ends all that is open. */
  readonly abort: LinkedAbort
  readonly idle: IdleTimer
  /** Whether the next bytes are awaited. A slow reader is not a silence. */
  waiting: boolean
  received: number
  /** From the start of the attempt that succeeded to its first bytes. */
  timeToFirstChunkMs: number | undefined
  usage: Usage | undefined
}

function openReading(speech: SpeechCall): Reading {
  const { call } = speech
  let state: SpeechState | undefined
  let opening: Promise<OpenSpeech> | undefined
  let left = false
  const open = (): Promise<OpenSpeech> => {
    if (opening !== undefined) return opening
    if (left) return Promise.reject(cancelledCall(call))
    const opened = (state = speechState(speech))
    opening = openSpeech(opened).catch((error: unknown) => {
      throw ended(opened, error)
    })
    // Somebody may leave before it is awaited.
    opening.catch(() => undefined)
    return opening
  }
  const leave = async (): Promise<void> => {
    left = true
    if (state === undefined || state.usage !== undefined) return
    state.abort.abort(cancelledCall(call))
    release((await opening?.catch(() => undefined))?.events)
    ended(state, cancelledCall(call))
  }
  const bytes = leavable(
    readSpeech(open, () => state),
    leave,
  )
  return { open, bytes, usage: () => state?.usage }
}

function speechState(speech: SpeechCall): SpeechState {
  const abort = linkedAbort(speech.call.signal)
  const call = { ...speech.call, signal: abort.signal }
  return {
    ...speech,
    call,
    trace: openSpan(call, speechCalls),
    abort,
    idle: idleTimer(call.clock, (ms) => abort.abort(timedOutCall(call, ms, true))),
    waiting: false,
    received: 0,
    timeToFirstChunkMs: undefined,
    usage: undefined,
  }
}

/** Ends the span of a call that failed, and everything that is open. The error says how much had come. */
function ended(state: SpeechState, thrown: unknown): AllmError {
  const { abort, trace, idle, call, received, timeToFirstChunkMs } = state
  const error = failedCall(thrown, call)
  if (received > 0) {
    Object.assign(error, { metadata: { ...error.metadata, bytesReceived: received } })
  }
  idle.stop()
  abort.unlink()
  abort.abort(error)
  trace.error(error, { audioBytes: received, timeToFirstChunkMs })
  return error
}

/** Makes attempts until one has its first bytes. */
async function openSpeech(state: SpeechState): Promise<OpenSpeech> {
  const attempt = await attempts(state.call, speechCalls, state.trace)
  return attempt((options) => openAttempt(state, options))
}

/** One attempt. The signal that it is given ends with it; that of the adapter lasts as long as the stream. */
async function openAttempt(state: SpeechState, options: AdapterOptions): Promise<OpenSpeech> {
  const { call, abort, maxResponseBytes } = state
  const own = linkedAbort(abort.signal)
  const { signal = abort.signal } = options
  const unfollow = onAbort(signal, () => own.abort(reasonOf(signal)))
  const onActivity = (): void => keepAlive(state)
  let events: AsyncIterator<SpeechEvent> | undefined
  const began = call.clock.now()
  try {
    const given = { ...options, signal: own.signal, maxResponseBytes, onActivity }
    events = call.adapter.speak(call.request, given)[Symbol.asyncIterator]()
    const opened = await firstBytes(state, events)
    // The engine gave it up while it was waiting.
    signal.throwIfAborted()
    taken(state, opened.first)
    state.timeToFirstChunkMs = call.clock.now() - began
    return opened
  } catch (error) {
    own.abort(new Error('closed'))
    release(events)
    throw error
  } finally {
    unfollow()
  }
}

/** Lets an adapter clean up. One that is still waiting does so when it wakes up. */
function release(events: AsyncIterator<SpeechEvent> | undefined): void {
  Promise.resolve(events?.return?.()).catch(() => undefined)
}

/** The provider has sent something. That ends a silence, and does not extend the wait for the first bytes. */
function keepAlive({ idle, waiting, streamTimeoutMs }: SpeechState): void {
  if (waiting) idle.reset(streamTimeoutMs)
}

/** Reads an answer up to its first bytes. */
async function firstBytes(
  state: SpeechState,
  events: AsyncIterator<SpeechEvent>,
): Promise<OpenSpeech> {
  const begin = await events.next()
  const started = begin.done === true ? undefined : startOf(begin.value)
  if (started === undefined) throw malformed(state, 'an answer that does not begin with its type')
  const next = await events.next()
  if (next.done === true || next.value.type !== 'audio_delta') {
    throw malformed(state, 'an answer without audio')
  }
  return { started, first: next.value.bytes, events }
}

const soundTypes = /^(?:(?:audio|video)\/[\w.+-]+|application\/(?:ogg|octet-stream))$/

/** What an answer begins with, if it is legal. Adapters are also written by others. */
function startOf(event: SpeechEvent): SpeechStart | undefined {
  if (event?.type !== 'speech_started') return undefined
  const { type: _type, ...started } = event
  // It becomes the type of a file, and a header of a response: a page is not speech.
  return soundTypes.test(started.mimeType) ? started : undefined
}

/** Counts bytes that have come. */
function taken(state: SpeechState, bytes: Uint8Array): Uint8Array {
  const { call, maxResponseBytes } = state
  if (!(bytes instanceof Uint8Array) || bytes.byteLength === 0) {
    throw malformed(state, 'a piece of audio without bytes')
  }
  state.received += bytes.byteLength
  if (state.received > maxResponseBytes) throw tooLongAnswer(call, maxResponseBytes, state.received)
  return bytes
}

function malformed({ call }: SpeechState, what: string): AdapterError {
  return malformedAnswer(call.adapter, call.requestId, what)
}

/** The bytes of a call, from the first to the last. */
async function* readSpeech(
  open: () => Promise<OpenSpeech>,
  current: () => SpeechState | undefined,
): AsyncGenerator<Uint8Array, void> {
  const { first, events, started } = await open()
  const state = current()
  // It was made when the call was opened.
  if (state === undefined) return
  try {
    yield first
    for (;;) {
      const event = await nextEvent(state, events)
      if (event.type === 'speech_completed') {
        state.usage = event.usage
        break
      }
      if (event.type !== 'audio_delta') throw malformed(state, 'a second start of its answer')
      yield taken(state, event.bytes)
    }
  } catch (error) {
    release(events)
    throw ended(state, error)
  }
  complete(state, started)
  await events.return?.()
}

/** The next event of an answer. A stop or a silence ends the wait at once, also when the adapter ignores its signal. */
async function nextEvent(
  state: SpeechState,
  events: AsyncIterator<SpeechEvent>,
): Promise<SpeechEvent> {
  const { call, idle, abort, trace, streamTimeoutMs, received } = state
  const { signal } = abort
  state.waiting = true
  idle.reset(streamTimeoutMs)
  try {
    signal.throwIfAborted()
    const step = await unlessStopped(
      trace.run(() => events.next()),
      signal,
    )
    if (step.done !== true) return step.value
  } catch (error) {
    if (!signal.aborted) throw error
    // What an adapter makes of its signal is not what happened.
    throw isAllmError(signal.reason) ? signal.reason : cancelledCall(call)
  } finally {
    state.waiting = false
    idle.reset(undefined)
  }
  const { provider, requestId } = call
  const message = `the answer of ${provider} ended early, after ${received} bytes`
  throw new StreamError('truncated', message, { provider, requestId })
}

/** Ends the span of a call that has come whole. */
function complete(state: SpeechState, { id, model }: SpeechStart): void {
  const { idle, abort, trace, received, usage, timeToFirstChunkMs } = state
  idle.stop()
  abort.unlink()
  const answer = { responseId: id, responseModel: model, usage }
  trace.stop({ ...answer, audioBytes: received, timeToFirstChunkMs })
}
