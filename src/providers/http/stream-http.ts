import { passedGate } from '../../core/answer/gate.ts'
import { startTimer, systemClock } from '../../core/base/clock.ts'
import {
  AdapterError,
  defaultMaxResponseBytes,
  isAllmError,
  StreamError,
  tooLongAnswer,
  type AllmError,
} from '../../core/errors/errors.ts'
import type { ModelEvent } from '../../core/types/events.ts'
import { isObject, parseJson, type Written } from '../../core/types/guards.ts'
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
  source: CallSource,
  makeDecoder: MakeDecoder,
): AsyncGenerator<readonly ModelEvent[], void> {
  // Not a generator: it needs four promises more for each read, and a delta in its own packet is one read.
  let sent: SentCall | undefined
  let body: OpenBody | undefined
  let left = false
  let ended = false
  /** Whether the last `next()` is pending. */
  let busy = false
  let last: Promise<Step> | undefined

  const next = (): Promise<Step> => {
    // Concurrent next() calls are queued.
    if (busy && last !== undefined) return last.then(next, next)
    if (ended) return Promise.resolve(over)
    busy = true
    last = body === undefined ? open() : safely(body.goOn)
    return last
  }
  /** Ends the pending `next()` with a step. */
  const given = (step: Step): Step => {
    busy = false
    return step
  }
  const open = async (): Promise<Step> => {
    try {
      const call = identified(typeof source === 'function' ? await source() : source)
      if (left) return given(over)
      sent = { call, guard: guardCall(call), secrets: secretsOf(call) }
      const response = await post(call, sent.guard.signal)
      body = await openBody(sent, response)
    } catch (error) {
      return fail(error)
    }
    return body.read()
  }
  const openBody = async (
    { call, guard, secrets }: SentCall,
    response: Response,
  ): Promise<OpenBody> => {
    const reader = bodyReader(response, guard)
    if (reader === undefined) throw await foreignPage(response, call)
    const { signal } = guard
    const answer = openAnswer(call, { signal, headers: response.headers, clean: secrets.clean })
    const decoder = makeDecoder(answer.sink)
    const { maxResponseBytes: limit = defaultMaxResponseBytes } = call
    const text = bodyDecoder(decoder, (call.splitter ?? sseSplitter)(limit), { answer, secrets })
    let received = 0
    let seen = 0
    /** Whether the last read was the end of the body, and why the answer ends with its events, if it does. */
    let done = false
    let stopped: { readonly problem: unknown } | undefined

    const read = (): Promise<Step> => reader.read().then(onRead, onBroken)
    const onRead = (piece: BodyRead): Step | Promise<Step> =>
      safely(() => {
        if (signal.aborted) return onBroken(signal.reason)
        if (!piece.done) call.onActivity?.()
        return take(piece.value, false)
      })
    const onBroken = (error: unknown): Step | Promise<Step> => {
      if (decoder.ended !== true || left || call.signal?.aborted === true) return fail(error)
      // The answer is whole: only its end marker is missing.
      return safely(() => take(undefined, true))
    }
    /** Decodes a piece of the body; `undefined` is its end. A piece without an event is not emitted. */
    const take = (piece: Uint8Array | undefined, broken: boolean): Step | Promise<Step> => {
      done = piece === undefined
      received += piece?.byteLength ?? 0
      if (received > limit) throw tooLongAnswer(call, limit, opened.events)
      const found = text.take(piece, broken)
      const batch = answer.take()
      stopped = answer.problem === undefined ? found : { problem: answer.problem }
      if (batch.length === 0) return goOn()
      guard.deliver()
      opened.events += batch.length
      return given({ done: false, value: batch })
    }
    /** What follows the last read: a failure, the end of the answer, or the next read. */
    const goOn = (): Promise<Step> => {
      // Whatever arrives ends a silence: pings, comments, half an event.
      if (!answer.done && !done) {
        if (decoder.ended !== true) guard.wait()
        else if (text.seen > seen) guard.waitForEnd()
      }
      seen = text.seen
      const { events } = opened
      if (stopped !== undefined) {
        // An event that cannot be parsed at the end of a stream was cut off, unless all that came is something else.
        const isPart = !text.isDocument() && (events > 0 || text.isJson)
        const cut = done && stopped.problem instanceof SyntaxError && isPart
        throw cut ? truncated(call, events) : unreadable(stopped.problem, call, events)
      }
      if (answer.done) return end().then(() => given(over))
      if (!done) return read()
      const isForeign = received > 0 && (seen === 0 || text.isDocument())
      throw truncated(call, events, isForeign ? beginning(text.head, secrets) : undefined)
    }
    const opened: OpenBody = { reader, answer, events: 0, read, goOn }
    return opened
  }
  /** Turns an exception into a failure of the stream. The clock and the callbacks are the caller's. */
  const safely = <Result>(work: () => Result): Result | Promise<Step> => {
    try {
      return work()
    } catch (error) {
      return fail(error)
    }
  }
  /** Ends the stream with a failure: it is thrown before the first event, and is the last event after it. */
  const fail = async (error: unknown): Promise<Step> => {
    const failure = left || sent === undefined ? undefined : failureOf(error, sent, body)
    const ending = end()
    if (failure !== undefined && body !== undefined && body.events > 0) {
      return given({ done: false, value: [{ type: 'error', error: failure.toJSON() }] })
    }
    await ending
    busy = false
    if (left) return over
    throw failure ?? error
  }
  /** A connection whose answer is whole may be used again. Any other is closed. */
  const end = async (): Promise<void> => {
    if (ended) return
    ended = true
    if (sent === undefined) return
    if (body?.answer.done === true) letEnd(body.reader, sent.guard).catch(() => undefined)
    else await hangUp(body?.reader, sent.guard)
  }
  const leave = async (): Promise<void> => {
    left = true
    // A pending read ends with the connection.
    if (body?.answer.done !== true) sent?.guard.close()
    if (busy) await last?.catch(() => undefined)
    await end()
  }

  const batches: AsyncGenerator<readonly ModelEvent[], void> & { readonly [passedGate]: true } = {
    next,
    return: async (value) => {
      await leave()
      return { done: true, value: await value }
    },
    throw: async (error) => {
      await leave()
      throw error
    },
    [Symbol.asyncIterator]: () => batches,
    [Symbol.asyncDispose]: leave,
    [passedGate]: true,
  }
  return batches
}

type Step = IteratorResult<readonly ModelEvent[], void>

const over: Step = { done: true, value: undefined }

/** A call that was made, and what watches over it. */
interface SentCall {
  readonly call: HttpCall & { readonly requestId: string }
  readonly guard: GuardedCall
  readonly secrets: Secrets
}

/** The body of its answer. */
interface OpenBody {
  readonly reader: BodyReader
  readonly answer: OpenAnswer
  /** The number of events that were emitted. */
  events: number
  readonly read: () => Promise<Step>
  /** Goes on after the last batch. */
  readonly goOn: () => Promise<Step>
}

/** The error of a call or of its stream, which names the call and has none of its secrets. */
function failureOf(
  error: unknown,
  { call, guard, secrets }: SentCall,
  body: OpenBody | undefined,
): AllmError {
  const progress = { sent: body?.events ?? 0, reading: body !== undefined }
  return secrets.cleanError(attributed(brokenRead(error, call, guard.signal, progress), call))
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
      const value = parseJson(data)
      const isOther = value !== undefined && !isObject(value)
      const problem = isOther ? 'it is JSON, but not an object' : 'it is not JSON'
      throw new SyntaxError(`${problem}: ${secrets.clean(data.slice(0, 2000)).slice(0, 120)}`)
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
async function letEnd(reader: BodyReader, guard: GuardedCall): Promise<void> {
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
