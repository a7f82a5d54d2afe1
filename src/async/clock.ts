/** Where time comes from. Everything that waits goes through it, so a test can replace it. */
export interface Clock {
  /** Milliseconds since some fixed moment. */
  now(): number
  /** Waits. Rejects with the signal's reason as soon as the signal is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

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
}

/** The reason of an aborted signal, as an error. */
export function reasonOf(signal: AbortSignal): Error {
  const reason: unknown = signal.reason
  return reason instanceof Error ? reason : new Error(String(reason), { cause: reason })
}
