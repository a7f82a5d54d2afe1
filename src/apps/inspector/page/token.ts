import { isObject } from '../../../core/types/guards.ts'
import { read, write } from './hooks.ts'

/** The token that this tab sends, if it has one. */
export interface TokenKeeper {
  readonly current: () => string | undefined
  /** Uses another token from now on. */
  readonly set: (token: string) => void
  /** The server has taken it: other tabs of this page may have it. */
  readonly prove: () => void
  readonly subscribe: (listener: () => void) => () => void
}

/**
 * Keeps the token of a tab while the tab is open. A tab that has none asks the other tabs of the same page for theirs: those that were
 * opened with the address can send commands, and so can what is opened from them. Only pages of the same origin hear it.
 */
export function keepToken(base: string, given: string | undefined): TokenKeeper {
  const listeners = new Set<() => void>()
  let token = given ?? read('token')
  let isProven = false
  const set = (next: string): void => {
    token = next
    isProven = false
    write('token', next)
    for (const listener of listeners) listener()
  }
  if (given !== undefined) write('token', given)
  const tabs = new BroadcastChannel(`allm-inspector ${base}`)
  // A channel has the pages of one origin, and takes no other target.
  // oxlint-disable-next-line unicorn/require-post-message-target-origin
  const say = (message: object): void => tabs.postMessage(message)
  tabs.addEventListener('message', ({ data }: MessageEvent<unknown>) => {
    if (!isObject(data)) return
    if (data['ask'] === 'token' && isProven) say({ token })
    if (typeof data['token'] === 'string' && !isProven && data['token'] !== token) {
      set(data['token'])
    }
  })
  say({ ask: 'token' })
  return {
    current: () => token,
    set,
    prove: () => {
      isProven = token !== undefined
    },
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}
