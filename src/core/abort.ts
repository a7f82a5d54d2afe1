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
