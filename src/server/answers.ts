import type { ServerResponse } from 'node:http'
import { setImmediate } from 'node:timers/promises'
import type { ImageAdapter } from '../contracts/adapter.ts'
import type { Clock } from '../core/clock.ts'
import { isAllmError } from '../errors/errors.ts'
import { applyFault, type Fault } from './faults.ts'
import { planFailure } from './plan.ts'
import {
  wireEpoch,
  type WireAnswer,
  type WireChunking,
  type WireEnd,
  type WireFormat,
} from './wire-format.ts'
import { renderImages, type ImageOutcome } from './wire-images.ts'
import { joinFrames, rechunk, renderWire } from './wire.ts'
import { fakeImages, type ImageScriptEntry } from '../testing/fake-images.ts'
import { createScriptCursor, type Script, type ScriptCursor } from '../testing/script.ts'
import type { ImageRequest } from '../types/media.ts'

/** What a request asks of its answer. */
interface ChatAsk {
  readonly format: WireFormat
  readonly stream: boolean
  readonly framing: 'sse' | 'json_array'
  readonly includeUsage: boolean
  readonly model: string
  readonly requestId: string
}

/** Renders scripts, each once for every way in which it is asked for. */
export interface ChatAnswers {
  answer(taken: TakenScript, ask: ChatAsk, fault: Fault | undefined): PreparedAnswer
}

/** A client that asks for ever new models must not fill the memory. */
const maxKept = 4096

/** Makes a renderer that keeps what it has rendered. Answers with a fault, and refusals, are made anew. */
export function chatAnswers(chunking: WireChunking | undefined): ChatAnswers {
  const kept = new Map<string, PreparedAnswer>()
  const places = new WeakMap<Script, number>()
  return {
    answer({ script, index }, ask, fault) {
      const { format, stream, framing, includeUsage, model } = ask
      // A script that stands in many places is rendered once, with the ids of the first.
      const place = places.get(script) ?? index
      places.set(script, place)
      const taken = { script, index: place }
      const key = `${place} ${format} ${stream} ${framing} ${includeUsage} ${model}`
      const known = fault === undefined ? kept.get(key) : undefined
      if (known !== undefined) return known
      const answer = applyFault(render(taken, ask), fault)
      const frames = chunking === undefined ? answer.frames : rechunk(answer.frames, chunking)
      const prepared = prepareAnswer({ ...answer, frames }, chunking !== undefined)
      if (fault !== undefined || answer.status !== 200) return prepared
      if (kept.size >= maxKept) kept.clear()
      kept.set(key, prepared)
      return prepared
    },
  }
}

function render({ script, index }: TakenScript, ask: ChatAsk): WireAnswer {
  const { format, ...options } = ask
  return renderWire(format, script, { ...options, id: String(index + 1) })
}

/** Plays the next image entry as the provider's answer. */
export async function imageAnswer(
  provider: 'openai' | 'gemini',
  drawer: ImageAdapter,
  call: { readonly model: string; readonly requestId: string },
): Promise<WireAnswer> {
  const facts = { ...call, id: `fake-${call.requestId}`, created: wireEpoch }
  return renderImages(provider, await outcomeOf(drawer, call.requestId), facts)
}

/** The script's answer does not depend on the request. */
const anyRequest: ImageRequest = {
  operation: 'generate',
  n: 1,
  responseFormat: 'base64',
  inputImages: [],
  providerOptions: {},
  metadata: {},
}

async function outcomeOf(drawer: ImageAdapter, requestId: string): Promise<ImageOutcome> {
  try {
    const { images, usage } = await drawer.generate(anyRequest, { requestId })
    return { images, usage }
  } catch (error) {
    if (!isAllmError(error)) throw error
    const { reason, message, metadata, ...facts } = error.toJSON()
    if (metadata?.['cause'] === 'no_scripted_image')
      return { failure: { reason: 'no_scripted_response', message } }
    const known = reason === 'unsupported_operation' ? 'invalid_request' : reason
    return { failure: planFailure({ ...facts, reason: known, message }) }
  }
}

/** Bytes that are written at once, after a wait. */
interface PreparedWrite {
  readonly bytes: Uint8Array
  readonly delayMs: number
}

/** An answer that is ready to be written. */
export interface PreparedAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly writes: readonly PreparedWrite[]
  readonly end: WireEnd
}

/**
 * Makes an answer ready: what does not wait is one write. With `pieces`, every frame stays a write of its own.
 *
 * A stream, and whatever breaks off, is sent in chunks, so that the other side can tell that something is missing.
 */
export function prepareAnswer(answer: WireAnswer, pieces = false): PreparedAnswer {
  const { status, headers, end } = answer
  const frames = pieces ? answer.frames : joinFrames(answer.frames)
  const writes = frames.map(({ bytes, delayMs = 0 }) => ({ bytes, delayMs }))
  const [only] = writes
  const length = frames.length === 1 && end === 'normal' ? only?.bytes.length : undefined
  const streamed = headers['content-type']?.startsWith('text/event-stream') ?? false
  const framing =
    length === undefined || streamed
      ? { 'transfer-encoding': 'chunked' }
      : { 'content-length': String(length) }
  return { status, headers: { ...headers, ...framing }, writes, end }
}

/** A script and its place in the list. */
interface TakenScript {
  readonly script: Script
  readonly index: number
}

/** Where the answers come from. */
export interface ScriptSource {
  /** The script of the next call, and moves on; `undefined` when all were played. */
  take(key: string | undefined): TakenScript | undefined
  /** The fake that plays the image script for a caller. */
  imagesOf(key: string | undefined): ImageAdapter
  /** How many scripts there are for each caller. */
  readonly size: number
  /** How many scripts were not played: by any caller, or by the one that has most left. */
  readonly remaining: number
}

/** What a source is made of. */
interface SourceOptions {
  readonly scripts: readonly Script[]
  readonly images: readonly ImageScriptEntry[]
  readonly repeat: boolean
  readonly perKey: boolean
}

/** Makes a source: with one place in the scripts for all callers, or with one for each key. */
export function scriptSource({ scripts, images, repeat, perKey }: SourceOptions): ScriptSource {
  const cursors = new Map<string, ScriptCursor>()
  const drawers = new Map<string, ImageAdapter>()
  const nameOf = (key: string | undefined): string => (perKey ? (key ?? '') : '')
  return {
    size: scripts.length,
    take(key) {
      const cursor = made(cursors, nameOf(key), createScriptCursor)
      const index = repeat && scripts.length > 0 ? cursor.index % scripts.length : cursor.index
      cursor.advance()
      const script = scripts[index]
      return script === undefined ? undefined : { script, index }
    },
    imagesOf: (key) => made(drawers, nameOf(key), () => fakeImages({ script: images })),
    get remaining() {
      const played = Array.from(cursors.values(), ({ index }) => index)
      const least = played.length === 0 ? 0 : Math.min(...played)
      return Math.max(0, scripts.length - least)
    },
  }
}

/** The value of a name, made when it is first asked for. */
function made<Value>(values: Map<string, Value>, name: string, make: () => Value): Value {
  const value = values.get(name) ?? make()
  values.set(name, value)
  return value
}

/** What sending needs beside the answer. */
export interface SendOptions {
  readonly clock: Clock
  /** Aborted when the server closes; it ends waits, silences and streams. */
  readonly signal: AbortSignal
  /** Gives every write its own turn, so that the other side sees the pieces. */
  readonly pieces: boolean
}

/**
 * Writes an answer. One that is a single write without a wait is written at once, before this returns.
 *
 * The promise is fulfilled when everything is written, or when the other side has left; it never rejects.
 */
export function sendAnswer(
  response: ServerResponse,
  answer: PreparedAnswer,
  options: SendOptions,
): Promise<void> | undefined {
  const { status, headers, writes, end } = answer
  const [first, second] = writes
  if (status > 0 && end === 'normal' && second === undefined && (first?.delayMs ?? 0) === 0) {
    response.writeHead(status, headers)
    response.end(first?.bytes)
    return undefined
  }
  return sendSlowly(response, answer, options)
}

async function sendSlowly(
  response: ServerResponse,
  { status, headers, writes, end }: PreparedAnswer,
  options: SendOptions,
): Promise<void> {
  const gone = new AbortController()
  const leave = (): void => gone.abort(new Error('the connection was closed'))
  response.once('close', leave)
  options.signal.addEventListener('abort', leave, { once: true })
  try {
    for (const [index, write] of writes.entries()) {
      await writeAfterWait(response, write, gone.signal, {
        ...options,
        head: index === 0 ? () => response.writeHead(status, headers) : undefined,
      })
    }
    if (end === 'normal') response.end()
    else if (end === 'cut') response.destroy()
    else await silence(gone.signal)
  } catch {
    // The other side has left, or the server closes: there is nobody to tell.
    response.destroy()
  } finally {
    response.off('close', leave)
    options.signal.removeEventListener('abort', leave)
  }
}

interface WriteOptions extends SendOptions {
  /** Sends the status and the headers, before the first bytes. */
  readonly head: (() => void) | undefined
}

async function writeAfterWait(
  response: ServerResponse,
  { bytes, delayMs }: PreparedWrite,
  gone: AbortSignal,
  { clock, pieces, head }: WriteOptions,
): Promise<void> {
  if (delayMs > 0) await clock.sleep(delayMs, gone)
  if (pieces) await setImmediate()
  gone.throwIfAborted()
  head?.()
  await new Promise<void>((resolve, reject) => {
    const leave = (): void => reject(new Error('the connection was closed'))
    gone.addEventListener('abort', leave, { once: true })
    // The callback comes when the bytes are with the system, so that nothing is lost when the connection is closed.
    response.write(bytes, (error) => {
      gone.removeEventListener('abort', leave)
      if (error) reject(error)
      else resolve()
    })
  })
}

/** Waits until the other side leaves. */
function silence(gone: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const leave = (): void => reject(new Error('the connection was closed'))
    if (gone.aborted) leave()
    gone.addEventListener('abort', leave, { once: true })
  })
}
