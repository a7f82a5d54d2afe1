import { thrownText } from '../errors/to-json-value.ts'

/** The source of time. Everything that waits uses it, so that a test can replace it. */
export interface Clock {
  /** Milliseconds since a fixed moment. */
  now(): number
  /** Waits. Rejects with the signal's reason as soon as the signal is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  /** The same without a promise, if the clock can do it: calls back once, unless cancelled. */
  timer?(ms: number, onTime: () => void): CancelTimer
  /**
   * Only for a clock that moves by itself, in tests. Called before a tool handler starts, with its deadline: the clock must
   * not reach it by itself while real work is in flight. The returned function is called when the handler is done.
   */
  hold?(until: number): () => void
}

/** Cancels a timer that has not fired yet. */
export type CancelTimer = () => void

/** The real clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted === true) {
        reject(reasonOf(signal))
        return
      }
      const onAbort = (): void => {
        clearTimeout(timer)
        reject(signal === undefined ? new Error('aborted') : reasonOf(signal))
      }
      const timer = setTimeout(() => {
        signal?.removeEventListener('abort', onAbort)
        resolve()
      }, ms)
      signal?.addEventListener('abort', onAbort, { once: true })
    }),
  timer: (ms, onTime) => {
    const timer = setTimeout(onTime, ms)
    return () => clearTimeout(timer)
  },
}

/** Calls back after `ms` of the clock. */
export function startTimer(clock: Clock, ms: number, onTime: () => void): CancelTimer {
  if (clock.timer !== undefined) return clock.timer(ms, onTime)
  const controller = new AbortController()
  clock.sleep(ms, controller.signal).then(onTime, () => undefined)
  return () => controller.abort()
}

/** The items of an iterator, and `undefined` whenever none has come for `ms` of the clock (15 000): a sign of life is due. */
export function paced<Item>(
  items: AsyncIterator<Item, void>,
  clock: Clock = systemClock,
  ms: number = 15_000,
): AsyncIterator<Item | undefined, void> {
  let pending: Promise<IteratorResult<Item, void>> | undefined
  let cancel: CancelTimer | undefined
  return {
    next: () =>
      new Promise((resolve, reject) => {
        cancel = startTimer(clock, ms, () => resolve({ done: false, value: undefined }))
        pending ??= items.next()
        pending
          .finally(() => {
            pending = undefined
            cancel?.()
          })
          .then(resolve, reject)
      }),
    async return() {
      cancel?.()
      await items.return?.()
      return { done: true, value: undefined }
    },
  }
}

/** The reason of an aborted signal, as an error. */
export function reasonOf(signal: AbortSignal): Error {
  return asError(signal.reason)
}

/** A thrown value as an error: itself if it is one. */
function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(thrownText(thrown), { cause: thrown })
}

/** A time in milliseconds since 1970 as ISO 8601. One that no date can have becomes the nearest that one can. */
export function isoTime(ms: number): string {
  return new Date(Math.max(-864e13, Math.min(864e13, ms))).toISOString()
}
