import type { ServerResponse } from 'node:http'
import { setImmediate } from 'node:timers/promises'
import type { Clock } from '../../core/base/clock.ts'
import type { WireAnswer, WireEnd } from './wire-format.ts'
import { joinFrames } from './wire.ts'

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
 * Prepares an answer: frames without a wait between them become one write. With `pieces`, every frame is a write of its own.
 *
 * Streams, and answers that break off, are sent with chunked encoding, so that the client notices a missing end.
 */
export function prepareAnswer(answer: WireAnswer, pieces = false): PreparedAnswer {
  const { status, headers, end } = answer
  const frames = pieces ? answer.frames : joinFrames(answer.frames)
  const writes = frames.map(({ bytes, delayMs = 0 }) => ({ bytes, delayMs }))
  const [only] = writes
  const length = frames.length === 1 && end === 'normal' ? only?.bytes.length : undefined
  const streamed = /event-?stream|^audio\//.test(headers['content-type'] ?? '')
  const framing =
    length === undefined || streamed
      ? { 'transfer-encoding': 'chunked' }
      : { 'content-length': String(length) }
  return { status, headers: { ...headers, ...framing }, writes, end }
}

/** Options of `sendAnswer`. */
export interface SendOptions {
  readonly clock: Clock
  /** Aborted when the server closes. It ends waits, stalls and streams. */
  readonly signal: AbortSignal
  /** Gives every write its own turn of the event loop, so that the client sees the pieces. */
  readonly pieces: boolean
}

/**
 * Writes an answer. A single write without a wait is written at once, and there is no promise.
 *
 * The promise is fulfilled when everything is written, or when the client has left. It never rejects.
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
        head: index === 0 ? () => response.writeHead(status, headers).flushHeaders() : undefined,
      })
    }
    if (end === 'normal') response.end()
    else if (end === 'cut') response.destroy()
    else await untilGone(gone.signal)
  } catch {
    // The client has left, or the server closes.
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
    // The callback comes when the system has the bytes, so that closing the connection loses none.
    response.write(bytes, (error) => {
      gone.removeEventListener('abort', leave)
      if (error) reject(error)
      else resolve()
    })
  })
}

/** Waits until the client leaves, and rejects. */
function untilGone(gone: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const leave = (): void => reject(new Error('the connection was closed'))
    if (gone.aborted) leave()
    gone.addEventListener('abort', leave, { once: true })
  })
}
