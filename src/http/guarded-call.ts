import { linkedAbort } from '../core/abort.ts'
import { systemClock } from '../core/clock.ts'
import { watchdog } from '../core/timers.ts'
import { AdapterError } from '../errors/errors.ts'
import type { HttpCall } from './http-call.ts'

/** A call under way: its signal, and the watch over its silence. */
export interface GuardedCall {
  readonly signal: AbortSignal
  /** Events are being handed out. The watch rests, so that a slow reader is no silence. */
  handOut(): void
  /** The provider is waited for again, or it has said something that is no event of ours. */
  wait(): void
  /** Aborts what is still open and releases everything. */
  close(): void
}

/** Starts the watch over a call: `requestTimeoutMs` until the first event, `streamTimeoutMs` for every silence after it. */
export function guardCall(call: HttpCall): GuardedCall {
  const { provider, requestId, requestTimeoutMs, streamTimeoutMs } = call
  const abort = linkedAbort(call.signal)
  const timed = requestTimeoutMs !== undefined || streamTimeoutMs !== undefined
  const dog = watchdog(call.clock ?? systemClock, (ms) => {
    const message = `${provider} was silent for ${ms} ms`
    abort.abort(new AdapterError('timeout', message, { provider, requestId }))
  })
  if (timed) dog.feed(requestTimeoutMs ?? streamTimeoutMs)
  let begun = requestTimeoutMs === undefined
  return {
    signal: abort.signal,
    handOut() {
      begun = true
      if (timed) dog.feed(undefined)
    },
    wait() {
      if (timed && begun) dog.feed(streamTimeoutMs)
    },
    close() {
      dog.stop()
      abort.unlink()
      abort.abort(new Error('closed'))
    },
  }
}
