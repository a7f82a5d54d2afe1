import type { StoreHarness } from '../../../../src/conformance.ts'
import { isAllmError, messageText, Session, SessionError } from '../../../../src/index.ts'
import {
  fileStore,
  memoryStore,
  type SessionStore,
  type StoreFiles,
  type StoredSession,
} from '../../../../src/stores.ts'
import { fileHarness, memoryHarness } from '../stores.ts'
import type { Mutant } from './mutant.ts'

type SavedSession = StoredSession['session']

/** Session stores with one defect each. */
export const storeMutants: readonly Mutant<StoreHarness>[] = [
  inMemory('what is not there is null', 'a session that was never saved is not there', (store) => ({
    ...store,
    load: async (id) => (id === 'nobody' ? (null as unknown as undefined) : store.load(id)),
  })),
  inMemory('what a run remembers is dropped', 'a session comes back deep-equal', (store) => ({
    ...store,
    save: ({ run: _run, ...session }, options) => store.save(session, options),
  })),
  inMemory('the first save stays', 'the last save is what is there', (store) => {
    const first = new Map<string, SavedSession>()
    return {
      ...store,
      delete: (id) => {
        first.delete(id)
        return store.delete(id)
      },
      load: async (id) => {
        const stored = await store.load(id)
        const session = first.get(id)
        return stored && session && isLong(session) ? { ...stored, session } : stored
      },
      save: (session, options) => {
        if (!first.has(session.id)) first.set(session.id, structuredClone(session))
        return store.save(session, options)
      },
    }
  }),
  inMemory(
    'versions are counted over all sessions',
    'versions count the saves of each session',
    (store) => {
      const ids = new Set<string>()
      return {
        ...store,
        save: async (session, options) => {
          const version = await store.save(session, options)
          ids.add(session.id)
          return session.id === 't' ? version + ids.size - 1 : version
        },
      }
    },
  ),
  inMemory(
    'a version is never the right one',
    'a save from the version that is there is taken',
    (store) => ({
      ...store,
      save: async (session, options) => {
        if (
          options?.ifVersion === 1 &&
          (await store.load(session.id))?.version === 1 &&
          says(session, 'second')
        ) {
          throw new SessionError('stale', 'stale')
        }
        return store.save(session, options)
      },
    }),
  ),
  inMemory(
    'a stale save is refused after it was made',
    'a save from an older version is refused and changes nothing',
    (store) => ({
      ...store,
      save: async (session, options = {}) => {
        try {
          return await store.save(session, options)
        } catch (error) {
          if (options.ifVersion === 1 && says(session, 'third')) await store.save(session)
          throw error
        }
      },
    }),
  ),
  inMemory(
    'version 0 means any version',
    'a first save over a session that is there is refused',
    (store) => ({
      ...store,
      save: (session, options) => store.save(session, options?.ifVersion === 0 ? {} : options),
    }),
  ),
  inMemory(
    'something comes between the look and the write',
    'of several saves from the same version one is taken',
    (store) => ({
      ...store,
      save: async (session, { ifVersion } = {}) => {
        if (ifVersion === undefined) return store.save(session)
        const { version = 0 } = (await store.load(session.id)) ?? {}
        if (version !== ifVersion) throw new SessionError('stale', 'stale')
        return store.save(session)
      },
    }),
  ),
  inMemory(
    'a save takes its number before it waits',
    'saves at the same time all count',
    (store) => {
      let running = 0
      return {
        ...store,
        save: async (session, options) => {
          const together = ++running
          const version = await store.save(session, options)
          running--
          return options === undefined && together > 1 ? version - 1 : version
        },
      }
    },
  ),
  inMemory('a slash is an underscore', 'sessions are kept apart, whatever their ids', (store) => {
    const key = (id: string): string => id.replaceAll(/[/\\]/g, '_')
    return {
      ...store,
      load: async (id) => {
        const stored = await store.load(key(id))
        return stored && { ...stored, session: { ...stored.session, id } }
      },
      save: (session, options) => store.save({ ...session, id: key(session.id) }, options),
    }
  }),
  {
    defect: 'objects are kept as they are',
    caught: 'what was saved cannot be changed from outside',
    harness: memoryHarness(sharing),
  },
  inMemory('ids are cut', 'long ids are kept apart', (store) => {
    const key = (id: string): string => id.slice(0, 300)
    return {
      ...store,
      load: async (id) => {
        const stored = await store.load(key(id))
        return stored && { ...stored, session: { ...stored.session, id } }
      },
      save: (session, options) => store.save({ ...session, id: key(session.id) }, options),
    }
  }),
  inMemory('ids have up to 511 characters', 'ids have up to 512 characters', (store) => ({
    ...store,
    save: async (session, options) => {
      if (session.id.length === 512) throw new SessionError('unavailable', 'too long')
      return store.save(session, options)
    },
  })),
  inMemory(
    'an illegal id is just not there',
    'an id that no store can hold is refused',
    (store) => ({
      ...store,
      load: async (id) => (id.length > 512 ? undefined : store.load(id)),
    }),
  ),
  inMemory(
    'NUL is left out',
    'text of all kinds survives, in the conversation and in metadata',
    (store) => ({
      ...store,
      save: (session, options) =>
        store.save(
          JSON.parse(JSON.stringify(session).replaceAll('\\u0000', '')) as SavedSession,
          options,
        ),
    }),
  ),
  inMemory(
    'saves are counted as events',
    'a session without a log has no events folded in',
    (store) => ({
      ...store,
      load: async (id) => {
        const stored = await store.load(id)
        return stored && { ...stored, lastEventId: stored.version }
      },
    }),
  ),
  inMemory('a list is ordered by UTF-16', 'a list is ordered by code points', (store) => ({
    ...store,
    list: async ({ limit, after, ...options } = {}) =>
      (await store.list(options))
        .filter(({ id }) => after === undefined || id > after)
        .toSorted((left, right) => (left.id < right.id ? -1 : 1))
        .slice(0, limit),
  })),
  inMemory(
    'metadata is compared as text',
    'a list shows metadata, and is limited to some of it',
    (store) => ({
      ...store,
      list: async ({ metadata = {}, limit, ...options } = {}) =>
        (await store.list(options))
          .filter((row) =>
            Object.entries(metadata).every(
              ([name, value]) => textual(row.metadata?.[name]) === textual(value),
            ),
          )
          .slice(0, limit),
    }),
  ),
  inMemory('a save has no time', 'the time of a save is told', (store) => ({
    ...store,
    load: async (id) => {
      const stored = await store.load(id)
      return stored && { ...stored, updatedAt: Number.NaN }
    },
  })),
  inMemory(
    'what is deleted stays',
    'a session that was deleted is not there, and starts again',
    (store) => ({
      ...store,
      delete: (id) => (id === 's' ? Promise.resolve() : store.delete(id)),
    }),
  ),
  inMemory(
    'only what is there can be deleted',
    'deleting a session that does not exist succeeds',
    (store) => ({
      ...store,
      delete: async (id) => {
        if ((await store.load(id)) === undefined) throw new SessionError('unreadable', 'not there')
        await store.delete(id)
      },
    }),
  ),
  inMemory(
    'a list is in the order of the saves',
    'a list has a row for each session, in the order of their ids',
    (store) => ({
      ...store,
      list: async (options) =>
        options === undefined
          ? (await store.list())
              .toSorted((left, right) => left.version - right.version)
              .toReversed()
          : store.list(options),
    }),
  ),
  inMemory('a list has every status', 'a list is limited to a status', (store) => ({
    ...store,
    list: ({ status: _status, ...options } = {}) => store.list(options),
  })),
  inMemory(
    'a prefix is a pattern',
    'a list is limited to the beginning of ids, taken literally',
    (store) => ({
      ...store,
      list: async ({ prefix = '', ...options } = {}) => {
        const pattern = new RegExp(`^${prefix.replaceAll('_', '.').replaceAll('*', '\\*')}`)
        return (await store.list(options)).filter(({ id }) => pattern.test(id))
      },
    }),
  ),
  inMemory(
    'a page begins after a row that has to be there',
    'pages of a list neither skip nor repeat a session, also when others come and go',
    (store) => ({
      ...store,
      list: async ({ after, limit, ...options } = {}) => {
        const rows = await store.list(options)
        const at = rows.findIndex(({ id }) => id === after) + 1
        return rows.slice(at, limit === undefined ? undefined : at + limit)
      },
    }),
  ),
  inFiles(
    'a session is made without looking',
    'of several stores that make a session at the same time, one succeeds',
    (folder, files) => {
      const store = fileStore(folder, { files })
      return {
        ...store,
        save: async (session, options) => {
          if (options?.ifVersion !== 0) return store.save(session, options)
          if (await store.load(session.id)) throw new SessionError('stale', 'stale')
          return store.save(session)
        },
      }
    },
  ),
  inFiles(
    'a save reads what it replaces',
    'a session that cannot be read is replaced by a save, and can be deleted',
    (folder, files) => {
      const store = fileStore(folder, { files })
      return {
        ...store,
        save: async (session, options) => {
          await store.load(session.id)
          return store.save(session, options)
        },
      }
    },
  ),
  inFiles(
    'errors of the file system come out as they are',
    'a failure of the storage is typed, and the next save succeeds',
    (folder, files) => {
      const store = fileStore(folder, { files })
      return {
        ...store,
        save: (session, options) =>
          store.save(session, options).catch((error: unknown) => {
            throw isAllmError(error) && error.reason === 'unavailable' ? error.cause : error
          }),
      }
    },
  ),
  inFiles(
    'a session is kept in memory too, and never looked at again',
    'another store on the same place finds the session',
    forgetful,
  ),
  inFiles(
    'a version is kept in memory',
    'another store on the same place refuses a stale save',
    remembering,
  ),
  inFiles(
    'what cannot be read is not there',
    'a session that cannot be read is unreadable, not absent',
    (folder, files) => {
      const store = fileStore(folder, { files })
      return { ...store, load: (id) => store.load(id).catch(() => undefined) }
    },
  ),
  inFiles(
    'another session is taken for the one that was asked for',
    'another session in the place of a session is unreadable',
    (folder, files) => {
      const store = fileStore(folder, { files })
      const asAsked = (error: unknown): StoredSession => {
        const id = error instanceof SessionError ? error.metadata['found'] : undefined
        if (typeof id !== 'string') throw error
        return { session: Session.create({ id }), version: 1, updatedAt: 0, lastEventId: 0 }
      }
      return { ...store, load: (id) => store.load(id).catch(asAsked) }
    },
  ),
  inFiles(
    'a write that fails counts as made',
    'a save that is interrupted leaves the old session or the new one',
    (folder, files) => fileStore(folder, { files: careless(files) }),
  ),
]

function inMemory(
  defect: string,
  caught: string,
  change: (store: SessionStore) => SessionStore,
): Mutant<StoreHarness> {
  return { defect, caught, harness: memoryHarness(() => change(memoryStore())) }
}

function inFiles(
  defect: string,
  caught: string,
  make: (folder: string, files: StoreFiles) => SessionStore,
): Mutant<StoreHarness> {
  return { defect, caught, harness: fileHarness(make) }
}

/** A value as text, in which a number is like its digits. */
function textual(value: unknown): string {
  return (JSON.stringify(value) ?? '').replaceAll('"', '')
}

function textOf({ thread }: SavedSession): string {
  return thread.messages.map(messageText).join()
}

function says(session: SavedSession, text: string): boolean {
  return textOf(session) === text
}

function isLong(session: SavedSession): boolean {
  return textOf(session).startsWith('a long first text')
}

/** Gives out the very objects that it was given. */
function sharing(): SessionStore {
  const store = memoryStore()
  const objects = new Map<string, SavedSession>()
  return {
    ...store,
    load: async (id) => {
      const stored = await store.load(id)
      return stored && { ...stored, session: objects.get(id) ?? stored.session }
    },
    save: async (session, options) => {
      const version = await store.save(session, options)
      objects.set(session.id, session)
      return version
    },
  }
}

/** Finds only what it saved itself. */
function forgetful(folder: string, files: StoreFiles): SessionStore {
  const store = fileStore(folder, { files })
  const own = new Set<string>()
  return {
    ...store,
    load: async (id) => (own.has(id) ? store.load(id) : undefined),
    save: (session, options) => {
      own.add(session.id)
      return store.save(session, options)
    },
  }
}

/** Looks at the version that it remembers, not at the one that is there. */
function remembering(folder: string, files: StoreFiles): SessionStore {
  const store = fileStore(folder, { files })
  const versions = new Map<string, number>()
  return {
    ...store,
    delete: (id) => {
      versions.delete(id)
      return store.delete(id)
    },
    save: async (session, options = {}) => {
      const { ifVersion } = options
      const known = versions.get(session.id)
      if (ifVersion !== undefined && known !== undefined) {
        if (ifVersion !== known) throw new SessionError('stale', 'stale')
        versions.set(session.id, known + 1)
        return store.save(session)
      }
      const version = await store.save(session, options)
      versions.set(session.id, version)
      return version
    },
  }
}

/** Does not look whether a write succeeded. */
function careless(files: StoreFiles): StoreFiles {
  return {
    ...files,
    open: async (path, flags) => {
      const file = await files.open(path, flags)
      return { ...file, writeFile: (data) => file.writeFile(data).catch(() => undefined) }
    },
  }
}
