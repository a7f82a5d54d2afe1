import { linkedAbort } from '../core/abort.ts'
import { systemClock, type Clock } from '../core/clock.ts'
import { idleTimer } from '../core/timers.ts'
import {
  timedOutCall,
  type AdapterErrorDetails,
  type AdapterErrorReason,
} from '../errors/errors.ts'
import type { BodySplitter } from './sse.ts'

/** The part of `fetch` that is used here. Any function of this shape can be injected. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>

/** A response that is not a success, as the provider's adapter reads it. */
export interface HttpFailure extends Pick<
  AdapterErrorDetails,
  'retryAfterMs' | 'retryable' | 'metadata'
> {
  readonly reason: AdapterErrorReason
  /** What the provider said. Without it, the message of the error is the status and the beginning of the body. */
  readonly message?: string | undefined
}

/** One POST to a provider, and how to read its response. */
export interface HttpCall {
  readonly provider: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: RequestInit['body']
  /** Reads an error response. A long body is cut. `now` is the time of the call's clock, for dates in headers. */
  readonly parseFailure: (
    status: number,
    body: string,
    headers: Headers,
    now: number,
  ) => HttpFailure
  /** How the body is split into events, none of which is longer than `limit`: server-sent events by default. */
  readonly splitter?: ((response: Response, limit: number) => BodySplitter) | undefined
  /** The longest body of a successful response, in bytes (64 MiB). */
  readonly maxResponseBytes?: number | undefined
  /** Called with a successful response before its body is read, for its headers. */
  readonly onResponse?: ((response: Response) => void) | undefined
  readonly fetch?: Fetch | undefined
  readonly signal?: AbortSignal | undefined
  readonly requestId?: string | undefined
  /** Milliseconds to the first content, or to the end of a response that is not streamed. */
  readonly requestTimeoutMs?: number | undefined
  /** Milliseconds of silence after it. Every byte that arrives ends a silence. */
  readonly streamTimeoutMs?: number | undefined
  readonly clock?: Clock | undefined
  /** Called for every read that gave bytes. */
  readonly onActivity?: (() => void) | undefined
}

/** A call under way: its signal and its idle timer. */
export interface GuardedCall {
  readonly signal: AbortSignal
  /** The consumer gets events. The timer pauses, so that a slow consumer does not count as silence. */
  deliver(): void
  /** The provider is waited for again, or it has shown that it is alive. */
  wait(): void
  /** The finish reason has come. The wait for what may still follow is short. */
  waitForEnd(): void
  /** Aborts the call if it is still open, and releases everything. */
  close(): void
}

/** How long token counts and an end marker may take after the finish reason. */
const lastEventsMs = 5000

/** Starts the idle timer of a call: `requestTimeoutMs` until the first content, `streamTimeoutMs` for every silence after it. */
export function guardCall(call: HttpCall): GuardedCall {
  const { requestTimeoutMs, streamTimeoutMs } = call
  const abort = linkedAbort(call.signal)
  const timed = requestTimeoutMs !== undefined || streamTimeoutMs !== undefined
  let begun = false
  const idle = idleTimer(call.clock ?? systemClock, (ms) => {
    abort.abort(timedOutCall(call, ms, begun))
  })
  if (timed) idle.reset(requestTimeoutMs)
  return {
    signal: abort.signal,
    deliver() {
      begun = true
      if (timed) idle.reset(undefined)
    },
    wait() {
      if (timed && begun) idle.reset(streamTimeoutMs)
    },
    waitForEnd() {
      // Less than the engine's own limit: the engine does not know that the finish reason has come.
      idle.reset(Math.min(lastEventsMs, (streamTimeoutMs ?? Number.POSITIVE_INFINITY) / 2))
    },
    close() {
      idle.stop()
      abort.unlink()
      abort.abort(new Error('closed'))
    },
  }
}
