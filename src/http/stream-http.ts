import { startTimer, systemClock } from '../core/clock.ts'
import {
  AdapterError,
  defaultMaxResponseBytes,
  isAllmError,
  StreamError,
  tooLongAnswer,
  type AllmError,
} from '../errors/errors.ts'
import { passedGate } from '../make/gate.ts'
import type { ModelEvent } from '../types/events.ts'
import type { Written } from '../types/guards.ts'
import { attributed, identified, openAnswer, type CallSink, type OpenAnswer } from './answer.ts'
import { guardCall, type GuardedCall, type HttpCall } from './call.ts'
import { beginning, transportFailure } from './failure.ts'
import { foreignPage, post } from './post.ts'
import { secretsOf, type Secrets } from './secrets.ts'
import { sseSplitter, type BodySplitter, type BytesDecoder } from './sse.ts'

/** A call, or a function that makes it when the first batch is read. */
export type CallSource = HttpCall | (() => HttpCall | Promise<HttpCall>)

/**
 * Makes the decoder of one answer, once its headers have come. A decoder is synchronous: it reads the provider's events and
 * emits ours into the sink, mostly through `messageBuilder(sink)`.
 */
export type MakeDecoder = (sink: CallSink) => AnswerDecoder

/** Reads the body of one answer. The answer is over when `message_completed` was emitted; nothing after it is read. */
export interface AnswerDecoder {
  /**
   * Reads one event of the body: the data of a server-sent event and its name, or one line.
   *
   * An `AdapterError` that it throws is the provider's own failure. A `SyntaxError`, such as that of `JSON.parse`, and any other
   * error mean that the event cannot be read.
   */
  push(data: string, event: string | undefined): void
  /** The body is over. An API without an end marker completes its message here; else the answer is truncated. */
  end?(): void
  /** Whether the finish reason has come, and only the end marker is missing: then silence or a broken connection ends the answer too. */
  readonly ended?: boolean
}

/**
 * Sends a call and yields one batch of events for each read of its body. Nothing happens before the first `next()`.
 *
 * A failure before the first event throws. A later failure is emitted as the last event. A body that ends without the
 * provider's end marker is `truncated`, unless its decoder has `ended`. `return()` and the signal of the call close the
 * connection, also while a `next()` is pending. Time is that of `call.clock`. Redirects are not followed, an answer has at most
 * `call.maxResponseBytes`, and no secret of the call is in anything that leaves it.
 */
export function streamHttp(
  call: CallSource,
  decoder: MakeDecoder,
): AsyncGenerator<readonly ModelEvent[], void> {
  const stream: HttpStream = {
    source: call,
    makeDecoder: decoder,
    sending: undefined,
    body: undefined,
    left: false,
    ended: false,
    busy: false,
    last: undefined,
  }
  const batches: AsyncGenerator<readonly ModelEvent[], void> & { readonly [passedGate]: true } = {
    next: () => next(stream),
    return: async (value) => {
      await leave(stream)
      return { done: true, value: await value }
    },
    throw: async (error) => {
      await leave(stream)
      throw error
    },
    [Symbol.asyncIterator]: () => batches,
    [Symbol.asyncDispose]: () => leave(stream),
    [passedGate]: true,
  }
  return batches
}

type Step = IteratorResult<readonly ModelEvent[], void>

const over: Step = { done: true, value: undefined }

/**
 * A stream that is being read. It is not a generator: a generator takes five promises more for each read, and a delta in a packet of its own
 * is one read.
 */
interface HttpStream {
  readonly source: CallSource
  readonly makeDecoder: MakeDecoder
  /** The call, once it was made. */
  sending: Sending | undefined
  /** The body of its answer, once the headers have come. */
  body: OpenBody | undefined
  /** Whether its consumer has left. */
  left: boolean
  ended: boolean
  /** Whether the last `next()` is pending. */
  busy: boolean
  last: Promise<Step> | undefined
}

interface Sending {
  readonly call: HttpCall
  readonly guard: GuardedCall
  readonly secrets: Secrets
}

/** The body of an answer under way. */
interface OpenBody extends Sending {
  readonly reader: BodyReader
  readonly answer: OpenAnswer
  readonly decoder: AnswerDecoder
  readonly text: BodyDecoder
  /** The most bytes that are read. */
  readonly limit: number
  received: number
  /** The events that were emitted. */
  sent: number
  /** The provider's events before the last read. */
  seen: number
  /** Whether the last read was the end of the body. */
  done: boolean
  /** Why the answer ends with the events of the last read, if it does. */
  stopped: { readonly problem: unknown } | undefined
  /** They are made once, because there is a read for every batch. */
  readonly onRead: (read: BodyRead) => Step | Promise<Step>
  readonly onBroken: (error: unknown) => Step | Promise<Step>
}

/** The next batch. Concurrent calls are queued. */
function next(stream: HttpStream): Promise<Step> {
  if (stream.busy && stream.last !== undefined) {
    const again = (): Promise<Step> => next(stream)
    return stream.last.then(again, again)
  }
  if (stream.ended) return Promise.resolve(over)
  stream.busy = true
  const { body } = stream
  const step = body === undefined ? open(stream) : safely(stream, () => goOn(stream, body))
  stream.last = step
  return step
}

/** Ends a pending read, and then the stream. */
async function leave(stream: HttpStream): Promise<void> {
  stream.left = true
  if (stream.body?.answer.done !== true) stream.sending?.guard.close()
  if (stream.busy) await stream.last?.catch(() => undefined)
  await end(stream)
}

/** Ends the stream. A connection whose answer is whole may be used again; any other is closed. */
async function end(stream: HttpStream): Promise<void> {
  if (stream.ended) return
  stream.ended = true
  const { body, sending } = stream
  if (body?.answer.done === true) letEnd(body).catch(() => undefined)
  else if (sending !== undefined) await hangUp(body?.reader, sending.guard)
}

/** What a `next()` gives. Then the next one may come. */
function given(stream: HttpStream, step: Step): Step {
  stream.busy = false
  return step
}

/** Sends the call and reads the first batch of its answer. */
async function open(stream: HttpStream): Promise<Step> {
  const { source } = stream
  let body: OpenBody
  try {
    const call = identified(typeof source === 'function' ? await source() : source)
    if (stream.left) return given(stream, over)
    const guard = guardCall(call)
    const secrets = secretsOf(call)
    stream.sending = { call, guard, secrets }
    const response = await post(call, guard.signal)
    const reader = bodyReader(response, guard)
    if (reader === undefined) throw await foreignPage(response, call)
    const { headers } = response
    const answer = openAnswer(call, { signal: guard.signal, headers, clean: secrets.clean })
    const decoder = stream.makeDecoder(answer.sink)
    const { maxResponseBytes: limit = defaultMaxResponseBytes } = call
    const splitter = (call.splitter ?? sseSplitter)(limit)
    body = {
      call,
      guard,
      secrets,
      reader,
      answer,
      decoder,
      text: bodyDecoder(decoder, splitter, { answer, secrets }),
      limit,
      received: 0,
      sent: 0,
      seen: 0,
      done: false,
      stopped: undefined,
      onRead: (piece) => safely(stream, () => takeRead(stream, body, piece)),
      onBroken: (error) => safely(stream, () => takeBroken(stream, body, error)),
    }
    stream.body = body
  } catch (error) {
    return fail(stream, error)
  }
  return read(body)
}

/** A clock or a callback of the caller may throw. */
function safely<Result>(stream: HttpStream, work: () => Result): Result | Promise<Step> {
  try {
    return work()
  } catch (error) {
    return fail(stream, error)
  }
}

/** Reads a piece of the body. */
function read({ reader, onRead, onBroken }: OpenBody): Promise<Step> {
  return reader.read().then(onRead, onBroken)
}

function takeRead(stream: HttpStream, body: OpenBody, piece: BodyRead): Step | Promise<Step> {
  const { signal } = body.guard
  if (signal.aborted) return takeBroken(stream, body, signal.reason)
  if (!piece.done) body.call.onActivity?.()
  return take(stream, body, piece.value, false)
}

function takeBroken(stream: HttpStream, body: OpenBody, error: unknown): Step | Promise<Step> {
  const isWhole = body.decoder.ended === true
  if (!isWhole || stream.left || body.call.signal?.aborted === true) return fail(stream, error)
  // Only the end marker is missing.
  return take(stream, body, undefined, true)
}

/** Decodes a piece of the body; `undefined` is its end. A piece without an event is not emitted. */
function take(
  stream: HttpStream,
  body: OpenBody,
  piece: Uint8Array | undefined,
  broken: boolean,
): Step | Promise<Step> {
  const { answer, guard, text } = body
  body.done = piece === undefined
  body.received += piece?.byteLength ?? 0
  if (body.received > body.limit) {
    return fail(stream, tooLongAnswer(body.call, body.limit, body.sent))
  }
  const found = text.take(piece, broken)
  const batch = answer.take()
  body.stopped = answer.problem === undefined ? found : { problem: answer.problem }
  if (batch.length === 0) return goOn(stream, body)
  guard.deliver()
  body.sent += batch.length
  return given(stream, { done: false, value: batch })
}

/** What follows the last read: a failure, the end of the answer, or the next read. */
function goOn(stream: HttpStream, body: OpenBody): Promise<Step> {
  const { answer, decoder, done, guard, text } = body
  // Whatever arrives ends a silence: pings, comments, half an event.
  if (!answer.done && !done) {
    if (decoder.ended !== true) guard.wait()
    else if (text.seen > body.seen) guard.waitForEnd()
  }
  body.seen = text.seen
  const problem = problemOf(body)
  if (problem !== undefined) return fail(stream, problem)
  return answer.done ? end(stream).then(() => given(stream, over)) : read(body)
}

/** Why the answer does not go on after its last read, unless it is whole. */
function problemOf(body: OpenBody): AllmError | undefined {
  const { answer, call, done, received, seen, secrets, sent, stopped, text } = body
  if (stopped !== undefined) {
    // An event that cannot be parsed at the end of a stream was cut off, unless all that came is something else.
    const isPart = !text.isDocument() && (sent > 0 || text.isJson)
    const cut = done && stopped.problem instanceof SyntaxError && isPart
    return cut ? truncated(call, sent) : unreadable(stopped.problem, call, sent)
  }
  if (!done || answer.done) return undefined
  const isForeign = received > 0 && (seen === 0 || text.isDocument())
  return truncated(call, sent, isForeign ? beginning(text.head, secrets) : undefined)
}

/** Ends the stream with a failure: it is thrown before the first event, and is the last event after it. */
async function fail(stream: HttpStream, error: unknown): Promise<Step> {
  const { body, sending } = stream
  if (stream.left || sending === undefined) {
    await end(stream)
    stream.busy = false
    if (stream.left) return over
    throw error
  }
  const { call, guard, secrets } = sending
  const sent = body?.sent ?? 0
  const reading = body !== undefined
  const broken = brokenRead(error, call, guard.signal, { sent, reading })
  const failure = secrets.cleanError(attributed(broken, call))
  const ending = end(stream)
  if (sent === 0) {
    await ending
    stream.busy = false
    throw failure
  }
  return given(stream, { done: false, value: [{ type: 'error', error: failure.toJSON() }] })
}

/** The reader of a body that may be an answer. A page of HTML is not one. */
function bodyReader(response: Response, guard: GuardedCall): BodyReader | undefined {
  const type = response.headers.get('content-type') ?? ''
  if (response.body === null || type.includes('text/html')) return undefined
  const reader = response.body.getReader()
  // The body of an injected fetch may ignore the signal; a cancelled reader does not.
  guard.onStop = () => {
    reader.cancel().catch(() => undefined)
  }
  return reader
}

/** A body under way: bytes in, events of the answer out. */
interface BodyDecoder {
  /** The number of the provider's events so far, decoded or not. */
  readonly seen: number
  /** Whether the body is one document instead of a stream of events. */
  isDocument(): boolean
  /** Whether the first event begins like JSON. */
  readonly isJson: boolean
  /** The beginning of the text, until an event has come. */
  readonly head: string
  /**
   * Decodes one chunk; `undefined` is the end of the body.
   *
   * A problem is returned instead of thrown, so that the events decoded before it can be emitted first. At the end of a body
   * that is `broken`, half an event is not read.
   */
  take(chunk: Uint8Array | undefined, broken?: boolean): { readonly problem: unknown } | undefined
}

/** How many characters of a body are kept to describe it, until an event has come. */
const headLength = 8192

/** Connects a splitter and a decoder. The secrets of the call are removed from the text before it is split. */
export function bodyDecoder(
  decoder: AnswerDecoder,
  splitter: BodySplitter,
  { answer, secrets }: { readonly answer: OpenAnswer; readonly secrets: Secrets },
): BodyDecoder {
  const text: BytesDecoder = splitter.decoder ?? new TextDecoder()
  const filter = secrets.bodyFilter()
  const onEvent = (data: string, event: string | undefined): void => {
    if (body.seen++ === 0) body.isJson = /^\s*[[{]/.test(data)
    if (answer.done) return
    try {
      decoder.push(data, event)
    } catch (error) {
      // The platform's error quotes a piece of the text, which may be a piece of a key.
      if (!(error instanceof SyntaxError)) throw error
      throw new SyntaxError(`it is not JSON: ${secrets.clean(data.slice(0, 2000)).slice(0, 120)}`)
    }
  }
  const feed = (piece: string): void => {
    if (body.seen === 0 && body.head.length < headLength) body.head += piece.slice(0, headLength)
    splitter.feed(piece, onEvent)
  }
  const decode = (chunk: Uint8Array | undefined, broken: boolean): void => {
    if (chunk !== undefined) {
      feed(filter(text.decode(chunk, { stream: true }), false))
      return
    }
    if (!broken) {
      feed(filter(text.decode(), true))
      splitter.end(onEvent)
    }
    if (!answer.done) decoder.end?.()
  }
  const body: Written<BodyDecoder> = {
    seen: 0,
    isDocument: () => splitter.isDocument === true,
    isJson: false,
    head: '',
    take(chunk, broken = false) {
      try {
        decode(chunk, broken)
        return undefined
      } catch (problem) {
        // Nothing after the end of an answer counts, wherever the chunks are cut.
        return answer.done ? undefined : { problem }
      }
    },
  }
  return body
}

/** The reader of a response's body. */
type BodyReader = ReadableStreamDefaultReader<Uint8Array>

/** What a read of it gives. */
type BodyRead = Awaited<ReturnType<BodyReader['read']>>

/** How long a connection may take to end by itself after the provider's end marker. */
const lastReadMs = 1000

/**
 * Reads the little that follows the end marker, so that the connection can be used for the next call.
 *
 * The consumer does not wait for it. Its timer runs on the system clock, not on the engine's.
 */
async function letEnd({ reader, guard }: OpenBody): Promise<void> {
  const stop = startTimer(systemClock, lastReadMs, () => guard.close())
  let ended = false
  try {
    for (let reads = 0; reads < 64 && !ended; reads++) ended = (await reader.read()).done
  } catch {
    // It was closed in the meantime, and nothing is missing.
  } finally {
    stop()
    if (ended) guard.release()
    else await hangUp(reader, guard)
  }
}

/** Closes a connection at once. */
async function hangUp(reader: BodyReader | undefined, guard: GuardedCall): Promise<void> {
  guard.close()
  await reader?.cancel().catch(() => undefined)
}

/** The error for an exception of a decoder: the provider's own error, or that of an unreadable event. */
function unreadable(problem: unknown, call: HttpCall, sent: number): AllmError {
  if (isAllmError(problem)) return problem
  const text = problem instanceof Error ? problem.message : String(problem)
  const message = `${call.provider} sent an event that cannot be read: ${text}`
  // A text or a nesting that the runtime cannot hold.
  if (problem instanceof RangeError) {
    return new StreamError('too_large', message, { eventIndex: sent })
  }
  return sent === 0
    ? new AdapterError('malformed_response', message, { cause: problem })
    : new StreamError('malformed_event', message, { eventIndex: sent, cause: problem })
}

/** The error for a body without the provider's end marker: it was cut, or it was not an answer at all. */
function truncated(call: HttpCall, sent: number, foreign?: string): AllmError {
  const { provider } = call
  if (foreign !== undefined && sent === 0) {
    const message = `${provider} answered with neither a stream of events nor an answer${foreign}`
    return new AdapterError('malformed_response', message)
  }
  const message = `the answer of ${provider} ended early, without its end marker`
  return new StreamError('truncated', message, { eventIndex: sent })
}

/** The error for a failed read: before the first event a failed call, after it a broken stream. */
function brokenRead(
  error: unknown,
  call: HttpCall,
  signal: AbortSignal,
  { sent, reading }: { readonly sent: number; readonly reading: boolean },
): AllmError {
  const failure = transportFailure(error, call, signal, reading)
  if (sent === 0 || isAllmError(error) || signal.aborted || failure.kind !== 'adapter') {
    return failure
  }
  const reason = failure.reason === 'timeout' ? 'timeout' : 'truncated'
  return new StreamError(reason, failure.message, { eventIndex: sent, cause: error })
}
