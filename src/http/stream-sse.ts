import type { ErrorData } from '../data/error-data.ts'
import { AdapterError } from '../errors/adapter-error.ts'
import { isAllmError, type AllmError } from '../errors/allm-error.ts'
import { StreamError } from '../errors/stream-error.ts'
import { guardCall } from './guarded-call.ts'
import type { HttpCall } from './http-call.ts'
import { post } from './post.ts'
import { sseSplitter, type BodySplitter } from './sse.ts'
import { transportFailure } from './transport-failure.ts'

/**
 * Turns a provider's server-sent events into events of ours. Synchronous; one is made for each call.
 *
 * `Out` is the adapter's event; this room moves bytes and does not know it.
 */
export interface SseDecoder<Out> {
  /** Decodes one event into `out`. It may throw an `AllmError`, which ends the stream. */
  push(data: string, event: string | undefined, out: Out[]): void
  /** The body is over: give what is still to be said. */
  end(out: Out[]): void
  /** Whether the provider's own end marker was seen. What follows it is not read. */
  readonly done: boolean
  /** Wraps an error as the last event. */
  failure(error: ErrorData): Out
}

/**
 * Sends a call and yields one batch for each read of its body.
 *
 * What fails before the first batch throws; what fails later is the last event. A body that ends without the
 * provider's end marker is `truncated`. Leaving early closes the connection.
 */
export async function* streamSse<Out>(
  call: HttpCall,
  decoder: SseDecoder<Out>,
): AsyncGenerator<readonly Out[], void> {
  const guard = guardCall(call)
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined
  let sent = 0
  try {
    const response = await post(call, guard.signal)
    guard.alive()
    reader = bodyReader(response, call)
    const decode = chunkDecoder(decoder, call.splitter?.(response) ?? sseSplitter())
    while (!decoder.done) {
      const { done, value } = await reader.read()
      guard.alive()
      const out: Out[] = []
      // What was decoded before a bad event is handed out before the failure.
      const problem = attempt(() => decode(done ? undefined : value, out))
      if (out.length > 0) {
        sent += out.length
        yield out
      }
      if (problem !== undefined) throw problem.error
      if (done && !decoder.done) throw truncated(call, sent)
    }
  } catch (error) {
    const failure = streamFailure(error, call, guard.signal, sent)
    if (sent === 0) throw failure
    yield [decoder.failure(failure.toJSON())]
  } finally {
    guard.close()
    await reader?.cancel().catch(() => undefined)
  }
}

function bodyReader(response: Response, call: HttpCall): ReadableStreamDefaultReader<Uint8Array> {
  const type = response.headers.get('content-type') ?? ''
  const { provider, requestId } = call
  if (response.body === null || type.includes('text/html')) {
    const message = `${provider} answered ${response.status} with ${type || 'no body'} instead of a stream`
    const { status } = response
    throw new AdapterError('malformed_response', message, { provider, requestId, status })
  }
  return response.body.getReader()
}

/** Decodes chunk after chunk; `undefined` is the end of the body. */
function chunkDecoder<Out>(
  decoder: SseDecoder<Out>,
  splitter: BodySplitter,
): (chunk: Uint8Array | undefined, out: Out[]) => void {
  const text = new TextDecoder()
  let target: Out[] = []
  const onEvent = (data: string, event: string | undefined): void => {
    if (!decoder.done) decoder.push(data, event, target)
  }
  return (chunk, out) => {
    target = out
    if (chunk !== undefined) {
      splitter.feed(text.decode(chunk, { stream: true }), onEvent)
      return
    }
    splitter.feed(text.decode(), onEvent)
    splitter.end(onEvent)
    if (!decoder.done) decoder.end(out)
  }
}

function attempt(work: () => void): { readonly error: unknown } | undefined {
  try {
    work()
    return undefined
  } catch (error) {
    return { error }
  }
}

function truncated(call: HttpCall, eventIndex: number): StreamError {
  const { provider, requestId } = call
  const message = `the answer of ${provider} ended without its end marker`
  return new StreamError('truncated', message, { provider, requestId, eventIndex })
}

/** What a failure in the middle of a body means. A connection that breaks after the first event is `truncated`. */
function streamFailure(
  error: unknown,
  call: HttpCall,
  signal: AbortSignal,
  eventIndex: number,
): AllmError {
  if (isAllmError(error)) return error
  const { provider, requestId } = call
  if (error instanceof SyntaxError || error instanceof RangeError) {
    const message = `${provider} sent an event that can not be read: ${error.message}`
    return new StreamError('malformed_event', message, {
      provider,
      requestId,
      eventIndex,
      cause: error,
    })
  }
  const failure = transportFailure(error, call, signal)
  if (eventIndex === 0 || failure.kind !== 'adapter' || failure.reason !== 'network_error')
    return failure
  return new StreamError('truncated', failure.message, {
    provider,
    requestId,
    eventIndex,
    cause: error,
  })
}
