/** A stop whose signal is made when somebody looks at it: a signal costs more than a whole call of a fake. */
export interface LazyAbort {
  /** Why it was stopped; `undefined` while it may go on. */
  reason: Error | undefined
  controller: AbortController | undefined
}

/** A stop that nobody has used yet. */
export function lazyAbort(): LazyAbort {
  return { reason: undefined, controller: undefined }
}

/** Stops. Only the first reason counts. */
export function abortWith(abort: LazyAbort, reason: Error): void {
  if (abort.reason !== undefined) return
  abort.reason = reason
  abort.controller?.abort(reason)
}

/** The signal of a stop, made now if it was not made before. */
export function signalOf(abort: LazyAbort): AbortSignal {
  if (abort.controller === undefined) {
    abort.controller = new AbortController()
    if (abort.reason !== undefined) abort.controller.abort(abort.reason)
  }
  return abort.controller.signal
}

/** Where options keep the stop that their signal is made of. */
export const stopOf: unique symbol = Symbol('allm-ts.stop')

/** Gives options, which nobody else has yet, a `signal` that is made of their stop when it is read. */
export function withLazySignal<Options extends { readonly [stopOf]: LazyAbort }>(
  options: Options,
): Options & { readonly signal: AbortSignal } {
  const held: Options & { signal?: AbortSignal } = options
  // The property is added here.
  return Object.defineProperty(held, 'signal', lazySignal) as Options & { signal: AbortSignal }
}

/** One getter for all options: one for each would make every one of them a slow object. */
const lazySignal: PropertyDescriptor & ThisType<{ readonly [stopOf]: LazyAbort }> = {
  enumerable: true,
  configurable: true,
  get() {
    return signalOf(this[stopOf])
  },
}

/** Whether options say that it is over already. Unlike a look at their signal, it does not make one. */
export function isAborted(options: {
  readonly signal?: AbortSignal | undefined
  readonly [stopOf]?: LazyAbort
}): boolean {
  const stop = options[stopOf]
  return stop === undefined ? options.signal?.aborted === true : stop.reason !== undefined
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
  const follow = (): void => controller.abort(parent?.reason)
  if (parent?.aborted === true) follow()
  else parent?.addEventListener('abort', follow, { once: true })
  return {
    signal: controller.signal,
    abort: (reason) => controller.abort(reason),
    unlink: () => parent?.removeEventListener('abort', follow),
  }
}
