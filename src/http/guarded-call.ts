import { systemClock } from '../async/clock.ts'
import { linkedAbort } from '../async/linked-abort.ts'
import { watchdog } from '../async/watchdog.ts'
import { AdapterError } from '../errors/adapter-error.ts'
import type { HttpCall } from './http-call.ts'

/** A call under way: its signal, and the watch over its silence. */
export interface GuardedCall {
  readonly signal: AbortSignal
  /** The answer has begun, or went on: from here on the stream's own time-out counts. */
  alive(): void
  /** Aborts what is still open and releases everything. Called once, in a `finally`. */
  close(): void
}

/** Starts the watch over a call: `requestTimeoutMs` until it first comes alive, `streamTimeoutMs` from then on. */
export function guardCall(call: HttpCall): GuardedCall {
  const abort = linkedAbort(call.signal)
  const dog =
    call.requestTimeoutMs === undefined && call.streamTimeoutMs === undefined
      ? undefined
      : watchdog(call.clock ?? systemClock, (ms) => {
          const message = `${call.provider} was silent for ${ms} ms`
          const { provider, requestId } = call
          abort.abort(new AdapterError('timeout', message, { provider, requestId }))
        })
  dog?.feed(call.requestTimeoutMs ?? call.streamTimeoutMs)
  return {
    signal: abort.signal,
    alive: () => dog?.feed(call.streamTimeoutMs),
    close: () => {
      dog?.stop()
      abort.unlink()
      abort.abort(new Error('closed'))
    },
  }
}
