import { linkedAbort } from '../core/abort.ts'
import { systemClock, type Clock } from '../core/clock.ts'
import { idleTimer } from '../core/timers.ts'
import {
  AdapterError,
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
  readonly message: string
}

/** One POST to a provider, and how to read its response. */
export interface HttpCall {
  readonly provider: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: RequestInit['body']
  /** Reads status, body and headers of an error response. A long body is cut. */
  readonly parseFailure: (status: number, body: string, headers: Headers) => HttpFailure
  /** How the body is split into events: server-sent events by default. */
  readonly splitter?: ((response: Response) => BodySplitter) | undefined
  /** Called with a successful response before its body is read, for its headers. */
  readonly onResponse?: ((response: Response) => void) | undefined
  readonly fetch?: Fetch | undefined
  readonly signal?: AbortSignal | undefined
  readonly requestId?: string | undefined
  /** Milliseconds to the first event, or to the end of a response that is not streamed. */
  readonly requestTimeoutMs?: number | undefined
  /** Milliseconds of silence between two events. Comments do not end a silence. */
  readonly streamTimeoutMs?: number | undefined
  readonly clock?: Clock | undefined
}

/** A call under way: its signal and its idle timer. */
export interface GuardedCall {
  readonly signal: AbortSignal
  /** Events are being handed out. The timer pauses, so that a slow reader does not count as silence. */
  handOut(): void
  /** The provider is waited for again, or it sent something that is not an event of ours. */
  wait(): void
  /** Aborts the call if it is still open, and releases everything. */
  close(): void
}

/** Starts the idle timer of a call: `requestTimeoutMs` until the first event, `streamTimeoutMs` for every silence after it. */
export function guardCall(call: HttpCall): GuardedCall {
  const { provider, requestId, requestTimeoutMs, streamTimeoutMs } = call
  const abort = linkedAbort(call.signal)
  const timed = requestTimeoutMs !== undefined || streamTimeoutMs !== undefined
  const idle = idleTimer(call.clock ?? systemClock, (ms) => {
    const message = `${provider} was silent for ${ms} ms`
    abort.abort(new AdapterError('timeout', message, { provider, requestId }))
  })
  if (timed) idle.reset(requestTimeoutMs ?? streamTimeoutMs)
  let begun = requestTimeoutMs === undefined
  return {
    signal: abort.signal,
    handOut() {
      begun = true
      if (timed) idle.reset(undefined)
    },
    wait() {
      if (timed && begun) idle.reset(streamTimeoutMs)
    },
    close() {
      idle.stop()
      abort.unlink()
      abort.abort(new Error('closed'))
    },
  }
}
