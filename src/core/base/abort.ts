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
 * Makes a controller that is aborted with `parent`, or by itself. Then `onAborted` is called, once: a listener on the signal would live as
 * long as the signal.
 *
 * `AbortSignal.any` would do, but on Node 20 it leaks a kilobyte for each call on a long-lived signal.
 */
export function linkedAbort(parent: AbortSignal | undefined, onAborted?: () => void): LinkedAbort {
  const controller = new AbortController()
  const abort = (reason: unknown): void => {
    if (controller.signal.aborted) return
    controller.abort(reason)
    onAborted?.()
  }
  const follow = (): void => abort(parent?.reason)
  if (parent?.aborted === true) controller.abort(parent.reason)
  const unlink = parent === undefined || parent.aborted ? () => undefined : onAbort(parent, follow)
  return { signal: controller.signal, abort, unlink }
}

/** The value of a promise. Rejects with the reason of the signal if that comes first. */
export function unlessStopped<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(reasonOf(signal))
    if (signal.aborted) stop()
    promise.then(resolve, reject).finally(onAbort(signal, stop))
  })
}

/**
 * A generator that can be left while a read is pending: it handles `return` only after that read, so `leave`, which is called first, has to
 * end it.
 *
 * It is an object of its own. With an own `return` on the generator, V8 keeps all that the generator refers to until its next full
 * collection, which doubled the garbage of a short call.
 */
export function leavable<Item>(
  items: AsyncGenerator<Item, void>,
  leave: () => Promise<void> | void,
): AsyncGenerator<Item, void> {
  const own: AsyncGenerator<Item, void> = {
    next: () => items.next(),
    return(value) {
      const left = leave()
      return left === undefined ? items.return(value) : left.then(() => items.return(value))
    },
    throw: (error) => items.throw(error),
    [Symbol.asyncIterator]: () => own,
    [Symbol.asyncDispose]: async () => void (await own.return()),
  }
  return own
}
