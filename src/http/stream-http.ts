import { leavable } from '../core/abort.ts'
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
  const exit: Exit = { left: false, guard: undefined, answer: undefined }
  const batches = leavable(readBatches(call, decoder, exit), () => {
    exit.left = true
    if (exit.answer?.done !== true) exit.guard?.close()
  })
  return Object.assign(batches, { [passedGate]: true })
}

interface Exit {
  left: boolean
  guard: GuardedCall | undefined
  answer: OpenAnswer | undefined
}

async function* readBatches(
  source: CallSource,
  makeDecoder: MakeDecoder,
  exit: Exit,
): AsyncGenerator<readonly ModelEvent[], void> {
  const call = identified(typeof source === 'function' ? await source() : source)
  if (exit.left) return
  const guard = guardCall(call)
  exit.guard = guard
  const secrets = secretsOf(call)
  const { signal } = guard
  let reader: BodyReader | undefined
  let answer: OpenAnswer | undefined
  const { maxResponseBytes: limit = defaultMaxResponseBytes } = call
  let sent = 0
  let seen = 0
  let received = 0
  try {
    const response = await post(call, signal)
    reader = bodyReader(response, guard)
    if (reader === undefined) throw await foreignPage(response, call)
    const { headers } = response
    answer = openAnswer(call, { signal, headers, clean: secrets.clean })
    exit.answer = answer
    const decoder = makeDecoder(answer.sink)
    const splitter = (call.splitter ?? sseSplitter)(limit)
    const body = bodyDecoder(decoder, splitter, { answer, secrets })
    let hadText = false
    while (!answer.done) {
      let read: Awaited<ReturnType<BodyReader['read']>>
      let broken = false
      try {
        read = await reader.read()
        if (signal.aborted) throw signal.reason
      } catch (error) {
        if (decoder.ended !== true || exit.left || call.signal?.aborted === true) throw error
        // The answer is whole: only its end marker is missing.
        read = { done: true, value: undefined }
        broken = true
      }
      const { done, value } = read
      hadText ||= !done
      if (!done) call.onActivity?.()
      received += value?.byteLength ?? 0
      if (received > limit) throw tooLongAnswer(call, limit, sent)
      const found = body.take(value, broken)
      const batch = answer.take()
      const stopped = answer.problem === undefined ? found : { problem: answer.problem }
      if (batch.length > 0) {
        guard.deliver()
        sent += batch.length
        yield batch
      }
      // Whatever arrives ends a silence: pings, comments, half an event.
      if (!answer.done && !done) {
        if (decoder.ended !== true) guard.wait()
        else if (body.seen > seen) guard.waitForEnd()
      }
      seen = body.seen
      if (stopped !== undefined) {
        // An event that cannot be parsed at the end of a stream was cut off, unless all that came is something else.
        const isPart = !body.isDocument() && (sent > 0 || body.isJson)
        const cut = done && stopped.problem instanceof SyntaxError && isPart
        throw cut
          ? truncated(call, { sent, seen })
          : unreadable(stopped.problem, call, { sent, seen })
      }
      if (done && !answer.done) {
        const foreign = hadText && (seen === 0 || body.isDocument())
        throw truncated(call, { sent, seen }, foreign ? beginning(body.head, secrets) : undefined)
      }
    }
  } catch (error) {
    if (exit.left) return
    const progress = { sent, seen, reading: reader !== undefined }
    const failure = secrets.cleanError(attributed(brokenRead(error, call, signal, progress), call))
    if (sent === 0) throw failure
    yield [{ type: 'error', error: failure.toJSON() }]
  } finally {
    if (answer?.done === true && reader !== undefined) letEnd(reader, guard).catch(() => undefined)
    else await hangUp(reader, guard)
  }
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

/** How far a stream was when it failed. */
interface Progress {
  /** The events that were emitted. Before the first one, the whole call has failed. */
  readonly sent: number
  /** Events of the provider. */
  readonly seen: number
}

/** The error for an exception of a decoder: the provider's own error, or that of an unreadable event. */
function unreadable(problem: unknown, call: HttpCall, { sent }: Progress): AllmError {
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
function truncated(call: HttpCall, { sent }: Progress, foreign?: string): AllmError {
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
  { sent, reading }: Progress & { readonly reading: boolean },
): AllmError {
  const failure = transportFailure(error, call, signal, reading)
  if (sent === 0 || isAllmError(error) || signal.aborted || failure.kind !== 'adapter') {
    return failure
  }
  const reason = failure.reason === 'timeout' ? 'timeout' : 'truncated'
  return new StreamError(reason, failure.message, { eventIndex: sent, cause: error })
}
