import { joinFrames } from '../wire/chunking.ts'
import type { WireAnswer, WireEnd } from '../wire/wire-answer.ts'

/** Bytes that are written at once, after a wait. */
export interface PreparedWrite {
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
