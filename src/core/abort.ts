import { reasonOf } from './clock.ts'

/** The listeners of a signal, and the one that the signal itself has as long as the set is not empty. */
interface Followers {
  readonly listeners: Set<() => void>
  readonly callAll: () => void
}

const followers = new WeakMap<AbortSignal, Followers>()

/**
 * Calls `listener` once when the signal is aborted, until the returned function is called.
 *
 * Any number of runs may share one signal: it gets one listener, so that Node does not warn of a leak.
 */
export function onAbort(signal: AbortSignal, listener: () => void): () => void {
  const all = followers.get(signal) ?? follow(signal)
  // A listener that is given twice is called twice.
  const own = (): void => listener()
  all.listeners.add(own)
  return () => {
    all.listeners.delete(own)
    if (all.listeners.size > 0 || followers.get(signal) !== all) return
    followers.delete(signal)
    signal.removeEventListener('abort', all.callAll)
  }
}

function follow(signal: AbortSignal): Followers {
  const listeners = new Set<() => void>()
  // Not every runtime calls a listener with the signal as `this`.
  const callAll = (): void => {
    followers.delete(signal)
    for (const listener of listeners) listener()
  }
  const all = { listeners, callAll }
  followers.set(signal, all)
  signal.addEventListener('abort', callAll, { once: true })
  return all
}

/** A controller that also follows another signal. `unlink` removes the listener, so nothing is left behind. */
export interface LinkedAbort {
  readonly signal: AbortSignal
  abort(reason: Error): void
  unlink(): void
}

/**
 * Makes a controller that is aborted with `parent`, or by itself.
 *
 * `AbortSignal.any` would do, but on Node 20 it leaks a kilobyte for each call on a long-lived signal.
 */
export function linkedAbort(parent: AbortSignal | undefined): LinkedAbort {
  const controller = new AbortController()
  const abort = (): void => controller.abort(parent?.reason)
  if (parent?.aborted === true) abort()
  const unlink = parent === undefined || parent.aborted ? () => undefined : onAbort(parent, abort)
  return {
    signal: controller.signal,
    abort: (reason) => controller.abort(reason),
    unlink,
  }
}

/** The value of a promise. Rejects with the reason of the signal if that comes first. */
export function unlessStopped<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(reasonOf(signal))
    if (signal.aborted) stop()
    promise.then(resolve, reject).finally(onAbort(signal, stop))
  })
}
