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

const lazy: unique symbol = Symbol('allm-ts.lazy-abort')

interface Signalled {
  readonly signal?: AbortSignal | undefined
}

/** Adds to options, which nobody else has yet, a signal that is made when it is read. */
export function addLazySignal<Options extends object>(
  options: Options,
  abort: LazyAbort,
): Options & { readonly signal: AbortSignal } {
  const held: Options & { signal?: AbortSignal } = Object.assign(options, { [lazy]: abort })
  // The property is added here.
  return Object.defineProperty(held, 'signal', lazySignal) as Options & { signal: AbortSignal }
}

/** One getter for all options: one for each would make every one of them a slow object. */
const lazySignal: PropertyDescriptor & ThisType<{ readonly [lazy]: LazyAbort }> = {
  enumerable: true,
  configurable: true,
  get() {
    return signalOf(this[lazy])
  },
}

/** Whether options say that it is over already. Unlike a look at their signal, it does not make one. */
export function isAborted(options: Signalled & { readonly [lazy]?: LazyAbort }): boolean {
  const abort = options[lazy]
  return abort === undefined ? options.signal?.aborted === true : abort.reason !== undefined
}
