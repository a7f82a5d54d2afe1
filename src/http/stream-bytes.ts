import {
  AdapterError,
  defaultMaxResponseBytes,
  isAllmError,
  StreamError,
  tooLongAnswer,
  type AllmError,
} from '../errors/errors.ts'
import { attributed, identified } from './answer.ts'
import { guardCall, type GuardedCall, type HttpCall } from './call.ts'
import { beginning, transportFailure } from './failure.ts'
import { failureText, post } from './post.ts'
import { secretsOf } from './secrets.ts'

/** Makes our events of a body of bytes. */
export interface BytesDecoder<Event> {
  /** What the body should be, as the end of a sentence: `audio`. */
  readonly wanted: string
  /** Whether a response is something else, such as a page or JSON, by its headers. */
  isForeign(headers: Headers): boolean
  /** The events of the first bytes. Whatever is wrong with them throws. */
  first(bytes: Uint8Array, headers: Headers): readonly Event[]
  /** The event of any later bytes. */
  more(bytes: Uint8Array): Event
  /** The event of a body that has come whole. */
  end(): Event
}

/**
 * Sends a call and yields the events of its body as the bytes arrive. Nothing happens before the first `next()`.
 *
 * Every failure throws. A body that breaks off, or that has fewer bytes than its headers say, is `truncated`; one without any bytes, or
 * that is something else, is `malformed_response`. `return()` and the signal of the call close the connection, also while a `next()` is pending.
 * Time is that of `call.clock`. A body has at most `call.maxResponseBytes`, and no secret of the call is in an error.
 */
export function streamBytes<Event>(
  source: () => Promise<HttpCall>,
  decoder: BytesDecoder<Event>,
): AsyncGenerator<Event, void> {
  const exit: Exit = { left: false, guard: undefined }
  const events = readBytes(source, decoder, exit)
  const finish = events.return.bind(events)
  // A generator handles `return` only after its pending read, and the abort ends that read.
  events.return = (value) => {
    exit.left = true
    exit.guard?.close()
    return finish(value)
  }
  return events
}

interface Exit {
  left: boolean
  guard: GuardedCall | undefined
}

async function* readBytes<Event>(
  source: () => Promise<HttpCall>,
  decoder: BytesDecoder<Event>,
  exit: Exit,
): AsyncGenerator<Event, void> {
  const call = identified(await source())
  if (exit.left) return
  const guard = guardCall(call)
  exit.guard = guard
  const { signal } = guard
  const { maxResponseBytes: limit = defaultMaxResponseBytes } = call
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined
  let received = 0
  try {
    const response = await post(call, signal)
    const { headers, body } = response
    if (body === null || decoder.isForeign(headers)) {
      throw await foreignBody(response, call, decoder.wanted)
    }
    reader = body.getReader()
    const open = reader
    // The body of an injected fetch may ignore the signal; a cancelled reader does not.
    signal.addEventListener('abort', () => void open.cancel().catch(() => undefined), {
      once: true,
    })
    for (;;) {
      const { done, value } = await reader.read()
      if (signal.aborted) throw signal.reason
      if (done) break
      call.onActivity?.()
      if (value.byteLength === 0) continue
      const isFirst = received === 0
      received += value.byteLength
      if (received > limit) throw tooLongAnswer(call, limit, received)
      const events = isFirst ? decoder.first(value, headers) : [decoder.more(value)]
      guard.deliver()
      yield* events
      guard.wait()
    }
    assertWhole(call, headers, received, decoder.wanted)
    yield decoder.end()
  } catch (error) {
    if (exit.left) return
    const failure = brokenRead(error, call, signal, { received, reading: reader !== undefined })
    throw secretsOf(call).cleanError(attributed(failure, call))
  } finally {
    guard.close()
    await reader?.cancel().catch(() => undefined)
  }
}

/** The error for a success that is something else. It has the beginning of its text. */
async function foreignBody(
  response: Response,
  call: HttpCall,
  wanted: string,
): Promise<AdapterError> {
  const { status, headers, body } = response
  const found = body === null ? 'no body' : (headers.get('content-type') ?? 'something else')
  const start = beginning(await failureText(response, call), secretsOf(call))
  const message = `${call.provider} answered ${status} with ${found} instead of ${wanted}${start}`
  return new AdapterError('malformed_response', message, { status })
}

/** Throws unless a body that has ended is whole. The length of a compressed body is not that of its bytes here. */
function assertWhole(call: HttpCall, headers: Headers, received: number, wanted: string): void {
  const { provider } = call
  const length = headers.get('content-length')
  const promised = headers.has('content-encoding') || length === null ? 0 : Number(length)
  if (received < promised) {
    const message = `the answer of ${provider} ended after ${received} of ${promised} bytes`
    throw new StreamError('truncated', message, { metadata: { bytesReceived: received } })
  }
  if (received > 0) return
  throw new AdapterError('malformed_response', `${provider} answered without any ${wanted}`)
}

/** The error for a failed read: before the first bytes a failed call, after them a broken stream. */
function brokenRead(
  error: unknown,
  call: HttpCall,
  signal: AbortSignal,
  { received, reading }: { readonly received: number; readonly reading: boolean },
): AllmError {
  const failure = transportFailure(error, call, signal, reading)
  if (received === 0 || isAllmError(error) || signal.aborted || failure.kind !== 'adapter') {
    return failure
  }
  const reason = failure.reason === 'timeout' ? 'timeout' : 'truncated'
  const metadata = { bytesReceived: received }
  return new StreamError(reason, failure.message, { cause: error, metadata })
}
