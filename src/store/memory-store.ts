import { parseSession, stringifySession } from '../session/saved-session.ts'
import { refuseStale } from './refuse-stale.ts'
import type { SessionStore } from './session-store.ts'

/** A store in memory, for tests and for one process. It keeps text, so nobody can change what it holds. */
export function memoryStore(): SessionStore {
  const saved = new Map<string, { readonly text: string; readonly version: number }>()
  return {
    load: async (id) => {
      const found = saved.get(id)
      return found && { session: parseSession(found.text), version: found.version }
    },
    save: async (session, { ifVersion } = {}) => {
      const text = stringifySession(session)
      const current = saved.get(session.id)?.version ?? 0
      refuseStale(session.id, current, ifVersion)
      saved.set(session.id, { text, version: current + 1 })
      return current + 1
    },
  }
}
