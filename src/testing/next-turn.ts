/** What a runtime may have for "after everything that is ready now". */
interface Runtime {
  readonly setImmediate?: (work: () => void) => unknown
  readonly MessageChannel?: new () => Channel
}

/** What is used of a `MessageChannel`. */
interface Channel {
  readonly port1: {
    addEventListener(type: 'message', listener: () => void, options: { once: true }): void
    start(): void
    close(): void
  }
  readonly port2: { postMessage(message: number): void }
}

/**
 * Waits until all that is ready now has run: every promise, however long their chain, and one round of the event loop.
 *
 * The runtime's own functions are taken when this is loaded, so a test that replaces timers does not stop it.
 */
export const nextTurn: () => Promise<void> = pickTurn(globalThis)

/** The quickest way that a runtime has; `setTimeout` is there everywhere, and slow. */
export function pickTurn(runtime: Runtime): () => Promise<void> {
  const { setImmediate: immediate, MessageChannel: NewChannel } = runtime
  if (immediate !== undefined) return () => new Promise((resolve) => void immediate(resolve))
  if (NewChannel !== undefined) return () => messageTurn(new NewChannel())
  const later = setTimeout
  return () => new Promise((resolve) => void later(resolve, 0))
}

function messageTurn({ port1, port2 }: Channel): Promise<void> {
  return new Promise((resolve) => {
    const onMessage = (): void => {
      // An open port would keep the process alive.
      port1.close()
      resolve()
    }
    port1.addEventListener('message', onMessage, { once: true })
    port1.start()
    port2.postMessage(0)
  })
}
