import { leavable } from '../../core/base/abort.ts'
import { joined } from '../../core/base/base64.ts'
import {
  AdapterError,
  defaultMaxResponseBytes,
  isAllmError,
  StreamError,
  tooLongAnswer,
  type AllmError,
} from '../../core/errors/errors.ts'
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
  /** How many bytes the first ones have at least, unless the whole body has fewer. */
  readonly startBytes: number
  /** The events of the first bytes. Whatever is wrong with them throws. */
  first(bytes: Uint8Array, headers: Headers): readonly Event[]
  /** The event of any later bytes. */
  more(bytes: Uint8Array): Event
  /** The event of a body that has ended. Throws if it is shorter than it says itself. */
  end(): Event
}

/**
 * Sends a call and yields the events of its body as the bytes arrive. Nothing happens before the first `next()`.
 *
 * Every failure throws. A body that breaks off, or that has fewer bytes than its headers say, is `truncated`; one without any bytes, or
 * that is something else, is `malformed_response`, and so is a part of a file (206) and a compressed body, because runtimes inflate half of one
 * without a complaint: ask for `identity`. `return()` and the signal of the call close the connection, also while a `next()` is pending.
 * Time is that of `call.clock`. A body has at most `call.maxResponseBytes`, and no secret of the call is in an error.
 */
export function streamBytes<Event>(
  source: () => Promise<HttpCall>,
  decoder: BytesDecoder<Event>,
): AsyncGenerator<Event, void> {
  const exit: Exit = { left: false, guard: undefined }
  return leavable(readBytes(source, decoder, exit), () => {
    exit.left = true
    exit.guard?.close()
  })
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
  let ended = false
  try {
    const response = await post(call, signal)
    const { headers, body } = response
    if (body === null || decoder.isForeign(headers)) {
      throw await foreignBody(response, call, decoder.wanted)
    }
    assertVerifiable(response, call)
    const open = (reader = body.getReader())
    // The body of an injected fetch may ignore the signal; a cancelled reader does not.
    guard.onStop = () => void open.cancel().catch(() => undefined)
    const next = async (): Promise<Uint8Array | undefined> => {
      for (;;) {
        const { done, value } = await open.read()
        if (signal.aborted) throw signal.reason
        if (done) return undefined
        call.onActivity?.()
        received += value.byteLength
        if (received > limit) throw tooLongAnswer(call, limit, received)
        if (value.byteLength > 0) return value
      }
    }
    const first = await firstBytes(next, decoder.startBytes)
    let events = first && decoder.first(first, headers)
    while (events !== undefined) {
      guard.deliver()
      yield* events
      guard.wait()
      const bytes = await next()
      events = bytes && [decoder.more(bytes)]
    }
    ended = true
    assertWhole(call, headers, received, decoder.wanted)
    yield decoder.end()
  } catch (error) {
    if (exit.left) return
    const failure = brokenRead(error, call, signal, { received, reading: reader !== undefined })
    throw secretsOf(call).cleanError(attributed(failure, call))
  } finally {
    if (ended) guard.release()
    else guard.close()
    await reader?.cancel().catch(() => undefined)
  }
}

/** The first bytes of a body, at least so many if it has them. A body may come byte by byte. */
async function firstBytes(
  next: () => Promise<Uint8Array | undefined>,
  least: number,
): Promise<Uint8Array | undefined> {
  let bytes = await next()
  while (bytes !== undefined && bytes.byteLength < least) {
    const more = await next()
    if (more === undefined) break
    bytes = joined([bytes, more])
  }
  return bytes
}

/** Throws unless it can be told whether a body has come whole. */
function assertVerifiable({ status, headers }: Response, { provider }: HttpCall): void {
  const encoding = headers.get('content-encoding') ?? 'identity'
  const isPlain = /^\s*identity\s*$/i.test(encoding)
  if (status !== 206 && isPlain) return
  const found = isPlain
    ? '206, which is a part of a file'
    : `content-encoding ${encoding.slice(0, 50)}, though identity was asked for: it cannot be told whether it is whole`
  throw new AdapterError('malformed_response', `${provider} answered with ${found}`, { status })
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

/** Throws unless a body that has ended is whole by its headers. */
function assertWhole(call: HttpCall, headers: Headers, received: number, wanted: string): void {
  const { provider } = call
  const promised = Number(headers.get('content-length') ?? 0)
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
