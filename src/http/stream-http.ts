import { systemClock } from '../core/clock.ts'
import { idleTimer } from '../core/timers.ts'
import { AdapterError, isAllmError, StreamError, type AllmError } from '../errors/errors.ts'
import { guardCall, type GuardedCall, type HttpCall } from './call.ts'
import { transportFailure } from './failure.ts'
import { post } from './post.ts'
import { sseSplitter, type BodySplitter, type SseDecoder } from './sse.ts'

export type { SseDecoder } from './sse.ts'

/** A call, or a function that makes it when the first batch is read. */
export type CallSource = HttpCall | (() => HttpCall | Promise<HttpCall>)

/**
 * Sends a call and yields one batch for each read of its body. Nothing happens before the first `next()`.
 *
 * A failure before the first batch throws. A later failure is emitted as the last event. A body that ends without the
 * provider's end marker is `truncated`. Leaving early closes the connection, also while a `next()` is pending.
 */
export function streamSse<Out>(
  source: CallSource,
  decoder: SseDecoder<Out>,
): AsyncGenerator<readonly Out[], void> {
  const exit: Exit = { left: false, guard: undefined }
  const batches = readBatches(source, decoder, exit)
  const finish = batches.return.bind(batches)
  // A generator handles `return` only after its pending read, and the abort ends that read.
  batches.return = (value) => {
    exit.left = true
    if (!decoder.done) exit.guard?.close()
    return finish(value)
  }
  return batches
}

interface Exit {
  left: boolean
  guard: GuardedCall | undefined
}

async function* readBatches<Out>(
  source: CallSource,
  decoder: SseDecoder<Out>,
  exit: Exit,
): AsyncGenerator<readonly Out[], void> {
  const call = typeof source === 'function' ? await source() : source
  if (exit.left) return
  const guard = guardCall(call)
  exit.guard = guard
  let reader: BodyReader | undefined
  let sent = 0
  let seen = 0
  try {
    const response = await post(call, guard.signal)
    reader = bodyReader(response, call, guard.signal)
    const body = bodyDecoder(decoder, call.splitter?.(response) ?? sseSplitter())
    let hadText = false
    while (!decoder.done) {
      const { done, value } = await reader.read()
      if (guard.signal.aborted) throw guard.signal.reason
      hadText ||= !done
      const out: Out[] = []
      const stopped = body.take(value, out)
      if (out.length > 0) {
        guard.handOut()
        sent += out.length
        yield out
      }
      if (!decoder.done && (out.length > 0 || body.seen !== seen)) guard.wait()
      seen = body.seen
      if (stopped !== undefined) {
        // An event that cannot be parsed at the end of a stream was cut off.
        const cut = done && stopped.problem instanceof SyntaxError && !body.isDocument
        throw cut
          ? truncated(call, { sent, seen }, false)
          : unreadable(stopped.problem, call, { sent, seen })
      }
      if (done && !decoder.done) {
        throw truncated(call, { sent, seen }, hadText && (seen === 0 || body.isDocument))
      }
    }
  } catch (error) {
    if (exit.left) return
    const failure = brokenRead(error, call, guard.signal, { sent, seen })
    if (sent === 0) throw failure
    yield [decoder.failure(failure.toJSON())]
  } finally {
    if (decoder.done && reader !== undefined) letEnd(reader, guard).catch(() => undefined)
    else await hangUp(reader, guard)
  }
}

function bodyReader(response: Response, call: HttpCall, signal: AbortSignal): BodyReader {
  const type = response.headers.get('content-type') ?? ''
  if (response.body !== null && !type.includes('text/html')) {
    const reader = response.body.getReader()
    // The body of an injected fetch may ignore the signal; a cancelled reader does not.
    const stop = (): void => {
      reader.cancel().catch(() => undefined)
    }
    signal.addEventListener('abort', stop, { once: true })
    return reader
  }
  const { provider, requestId } = call
  const { status } = response
  const message = `${provider} answered ${status} with ${type || 'no body'} instead of a stream`
  throw new AdapterError('malformed_response', message, { provider, requestId, status })
}

/** A body under way: bytes in, events out. */
interface BodyDecoder<Out> {
  /** The number of the provider's events so far, decoded or not. */
  readonly seen: number
  /** Whether the body is one document instead of a stream of events. */
  readonly isDocument: boolean
  /**
   * Decodes one chunk into `out`; `undefined` is the end of the body.
   *
   * A problem is returned instead of thrown, so that the events decoded before it can be handed out first.
   */
  take(chunk: Uint8Array | undefined, out: Out[]): { readonly problem: unknown } | undefined
}

/** Connects a splitter and a decoder. */
export function bodyDecoder<Out>(
  decoder: SseDecoder<Out>,
  splitter: BodySplitter,
): BodyDecoder<Out> {
  const text = new TextDecoder()
  let seen = 0
  let target: Out[] = []
  const onEvent = (data: string, event: string | undefined): void => {
    seen++
    if (!decoder.done) decoder.push(data, event, target)
  }
  const decode = (chunk: Uint8Array | undefined): void => {
    if (chunk !== undefined) {
      splitter.feed(text.decode(chunk, { stream: true }), onEvent)
      return
    }
    splitter.feed(text.decode(), onEvent)
    splitter.end(onEvent)
    if (!decoder.done) decoder.end(target)
  }
  return {
    get seen() {
      return seen
    },
    get isDocument() {
      return splitter.isDocument === true
    },
    take(chunk, out) {
      target = out
      try {
        decode(chunk)
        return undefined
      } catch (problem) {
        return { problem }
      }
    },
  }
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
  const idle = idleTimer(systemClock, () => guard.close())
  idle.reset(lastReadMs)
  try {
    for (let reads = 0; reads < 64 && !(await reader.read()).done; reads++);
  } catch {
    // It was closed in the meantime, and nothing is missing.
  } finally {
    idle.stop()
    await hangUp(reader, guard)
  }
}

/** Closes a connection at once. */
async function hangUp(reader: BodyReader | undefined, guard: GuardedCall): Promise<void> {
  guard.close()
  await reader?.cancel().catch(() => undefined)
}

/** How far a stream was when it failed. */
interface Progress {
  /** The events that were handed out. Before the first one, the whole call has failed. */
  readonly sent: number
  /** Events of the provider. */
  readonly seen: number
}

/** The error for an exception of a decoder: the provider's own error, or that of an unreadable event. */
function unreadable(problem: unknown, call: HttpCall, { sent }: Progress): AllmError {
  if (isAllmError(problem)) return problem
  const { provider, requestId } = call
  const text = problem instanceof Error ? problem.message : String(problem)
  const message = `${provider} sent an event that cannot be read: ${text}`
  if (sent === 0) {
    return new AdapterError('malformed_response', message, { provider, requestId, cause: problem })
  }
  const eventIndex = sent
  return new StreamError('malformed_event', message, {
    provider,
    requestId,
    eventIndex,
    cause: problem,
  })
}

/** The error for a body without the provider's end marker: it was cut, or it was not an answer at all. */
function truncated(call: HttpCall, { sent }: Progress, foreign: boolean): AllmError {
  const { provider, requestId } = call
  if (foreign && sent === 0) {
    const message = `${provider} answered with a body that is neither a stream of events nor an answer`
    return new AdapterError('malformed_response', message, { provider, requestId })
  }
  const message = `the answer of ${provider} ended early, without its end marker`
  return new StreamError('truncated', message, { provider, requestId, eventIndex: sent })
}

/** The error for a failed read: before the first event a failed call, after it a broken stream. */
function brokenRead(
  error: unknown,
  call: HttpCall,
  signal: AbortSignal,
  { sent }: Progress,
): AllmError {
  const failure = transportFailure(error, call, signal)
  if (sent === 0 || isAllmError(error) || signal.aborted || failure.kind !== 'adapter') {
    return failure
  }
  const { provider, requestId } = call
  const reason = failure.reason === 'timeout' ? 'timeout' : 'truncated'
  const details = { provider, requestId, eventIndex: sent, cause: error }
  return new StreamError(reason, failure.message, details)
}
