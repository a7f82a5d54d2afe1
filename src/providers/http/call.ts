import { linkedAbort } from '../../core/base/abort.ts'
import { systemClock } from '../../core/base/clock.ts'
import { idleTimer } from '../../core/base/timers.ts'
import {
  timedOutCall,
  type AdapterErrorDetails,
  type AdapterErrorReason,
} from '../../core/errors/errors.ts'
import type { JsonValue } from '../../core/types/json.ts'
import type { AnsweredCall } from './answer.ts'
import type { BodySplitter } from './sse.ts'

/** The part of `fetch` that is used here. Any function of this shape can be injected. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>

/** A response that is not a success. */
export interface Refusal {
  readonly status: number
  /** The body as text. A long one is cut, and the secrets of the call are removed. */
  readonly body: string
  /** The body as JSON; `undefined` if it is not JSON. */
  readonly json: unknown
  readonly headers: Headers
  /** The time of the call's clock, for dates in headers. */
  readonly now: number
}

/** What an adapter reads in a refusal. Whatever it leaves out is taken from the status, the headers and the body. */
export interface HttpFailure extends Pick<
  AdapterErrorDetails,
  'retryAfterMs' | 'retryable' | 'metadata'
> {
  /** By default `reasonOfStatus(status)`. */
  readonly reason?: AdapterErrorReason | undefined
  /** What the provider said. By default the text under `error`, `message` or `detail`, or the status and the beginning of the body. */
  readonly message?: string | undefined
}

/** One POST to a provider, and how to read its response. */
export interface HttpCall extends AnsweredCall {
  readonly url: string
  /** The headers that are sent. Values under names such as `authorization` or `x-api-key`, and values that look like a token, are secret. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** The body. Without one, `json` is sent. */
  readonly body?: RequestInit['body'] | undefined
  /** Sent as the body, with the content type of JSON. */
  readonly json?: JsonValue | undefined
  /** Reads a refusal. A header such as `retry-after` is read without it. */
  readonly parseFailure?: ((refusal: Refusal) => HttpFailure) | undefined
  /** Makes the splitter of the body into events, none of which is longer than `limit`: `sseSplitter` by default. */
  readonly splitter?: ((limit: number) => BodySplitter) | undefined
  readonly fetch?: Fetch | undefined
}

/** A call under way: its signal and its idle timer. */
export interface GuardedCall {
  readonly signal: AbortSignal
  /** What else is to be done when the call is aborted, until it is released. */
  onStop: (() => void) | undefined
  /** The consumer gets events. The timer pauses, so that a slow consumer does not count as silence. */
  deliver(): void
  /** The provider is waited for again, or it has shown that it is alive. */
  wait(): void
  /** The finish reason has come. The wait for what may still follow is short. */
  waitForEnd(): void
  /** The body has ended by itself: releases everything and aborts nothing. */
  release(): void
  /** Aborts the call if it is still open, and releases everything. */
  close(): void
}

/** How long token counts and an end marker may take after the finish reason. */
const lastEventsMs = 5000

/** Starts the idle timer of a call: `requestTimeoutMs` until the first content, `streamTimeoutMs` for every silence after it. */
export function guardCall(call: AnsweredCall): GuardedCall {
  const { requestTimeoutMs, streamTimeoutMs } = call
  const abort = linkedAbort(call.signal, () => guard.onStop?.())
  const timed = requestTimeoutMs !== undefined || streamTimeoutMs !== undefined
  let begun = false
  const idle = idleTimer(call.clock ?? systemClock, (ms) => {
    abort.abort(timedOutCall(call, ms, begun))
  })
  if (timed) idle.reset(requestTimeoutMs)
  const release = (): void => {
    idle.stop()
    abort.unlink()
    // The platform keeps the signal of a request for a long time, and must not keep the body with it.
    guard.onStop = undefined
  }
  const guard: GuardedCall = {
    signal: abort.signal,
    onStop: undefined,
    deliver() {
      begun = true
      if (timed) idle.reset(undefined)
    },
    wait() {
      if (timed && begun) idle.reset(streamTimeoutMs)
    },
    waitForEnd() {
      // Less than the engine's own limit: the engine does not know that the finish reason has come.
      idle.reset(Math.min(lastEventsMs, (streamTimeoutMs ?? Infinity) / 2))
    },
    release,
    close() {
      abort.abort(new Error('closed'))
      release()
    },
  }
  return guard
}
