/** Stops something that may never need a signal. Making one costs more than a whole call of a fake. */
export interface LazyAbort {
  /** Made when it is first asked for. */
  readonly signal: AbortSignal
  readonly aborted: boolean
  abort(reason: Error): void
}

/** A stop whose signal is made on demand. */
export function lazyAbort(): LazyAbort {
  // The platform makes the signal of a controller when it is asked for; `signal.aborted` would ask.
  const controller = new AbortController()
  let aborted = false
  return {
    get signal() {
      return controller.signal
    },
    get aborted() {
      return aborted
    },
    abort(reason) {
      aborted = true
      controller.abort(reason)
    },
  }
}

const lazy: unique symbol = Symbol('allm-ts.lazy-abort')

interface Signalled {
  readonly signal?: AbortSignal | undefined
}

/** Options with a signal that is made when it is read. */
export function withLazySignal<Options extends object>(
  options: Options,
  abort: LazyAbort,
): Options & Signalled {
  return {
    ...options,
    [lazy]: abort,
    get signal() {
      return abort.signal
    },
  }
}

/** Whether options say that it is over already. Unlike a look at their signal, it does not make one. */
export function isAborted(options: Signalled & { readonly [lazy]?: LazyAbort }): boolean {
  return options[lazy]?.aborted ?? options.signal?.aborted === true
}
