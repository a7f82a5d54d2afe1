import { AdapterError } from '../errors/errors.ts'
import { bodyDecoder } from './body-decoder.ts'
import { guardCall, type GuardedCall } from './guarded-call.ts'
import { hangUp, letEnd, type BodyReader } from './hang-up.ts'
import type { HttpCall } from './http-call.ts'
import { post } from './post.ts'
import type { SseDecoder } from './sse-decoder.ts'
import { sseSplitter } from './sse.ts'
import { brokenRead, truncated, unreadable } from './stream-failure.ts'

export type { SseDecoder } from './sse-decoder.ts'

/** A call, or how to make it when the first batch is asked for. */
export type CallSource = HttpCall | (() => HttpCall | Promise<HttpCall>)

/**
 * Sends a call and yields one batch for each read of its body. Nothing happens before the first `next()`.
 *
 * What fails before the first batch throws; what fails later is the last event. A body that ends without the
 * provider's end marker is `truncated`. Leaving early closes the connection, also while a `next()` is pending.
 */
export function streamSse<Out>(
  source: CallSource,
  decoder: SseDecoder<Out>,
): AsyncGenerator<readonly Out[], void> {
  const exit: Exit = { left: false, guard: undefined }
  const batches = readBatches(source, decoder, exit)
  const finish = batches.return.bind(batches)
  // A generator that is asked to return waits for its pending read first; the abort ends that read.
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
        // What can not be parsed at the end of a stream was cut off.
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
    // The body of an injected fetch may not listen to the signal; a cancelled reader does.
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
