import { systemClock, type Clock } from '../core/clock.ts'
import { assertOptions } from '../schema/checks.ts'
import { parseSession, stringifySession } from '../session/saved.ts'
import {
  assertListOptions,
  assertSaveOptions,
  assertSessionId,
  refuseStale,
  selectIds,
  type SessionRow,
  type SessionStore,
} from './session-store.ts'

/** The clock of a memory store; by default that of the system. */
export interface MemoryStoreOptions {
  readonly clock?: Clock | undefined
}

/** A store in memory, for tests and for one process. It stores text, so a session that was saved cannot be changed from outside. */
export function memoryStore(options: MemoryStoreOptions = {}): SessionStore {
  assertOptions('invalid_options', options, ['clock'])
  const { clock = systemClock } = options
  const saved = new Map<string, { readonly row: SessionRow; readonly text: string }>()
  return {
    load: async (id) => {
      assertSessionId(id)
      const found = saved.get(id)
      if (found === undefined) return undefined
      const { version, updatedAt } = found.row
      return { session: parseSession(found.text), version, updatedAt }
    },
    save: async (session, options = {}) => {
      assertSaveOptions(options)
      const text = stringifySession(session)
      const { id, status } = session
      const current = saved.get(id)?.row.version ?? 0
      refuseStale(id, current, options.ifVersion)
      const row = Object.freeze({ id, status, version: current + 1, updatedAt: clock.now() })
      saved.set(id, { row, text })
      return row.version
    },
    delete: async (id) => {
      assertSessionId(id)
      saved.delete(id)
    },
    list: async (options = {}) => {
      assertListOptions(options)
      const { status, limit } = options
      return selectIds(saved.keys(), options)
        .flatMap((id) => saved.get(id)?.row ?? [])
        .filter((row) => status === undefined || row.status === status)
        .slice(0, limit)
    },
  }
}
