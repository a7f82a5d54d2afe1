import type { StoreHarness } from '../../../src/conformance.ts'
import {
  fileStore,
  memoryStore,
  messageText,
  SessionError,
  type SessionStore,
  type StoreFiles,
  type StoredSession,
} from '../../../src/index.ts'
import { fileHarness, memoryHarness } from '../stores.ts'
import type { Mutant } from './mutant.ts'

type SavedSession = StoredSession['session']

/** Session stores with one defect each. */
export const storeMutants: readonly Mutant<StoreHarness>[] = [
  inMemory('what is not there is null', 'a session that was never saved is not there', (store) => ({
    ...store,
    load: async (id) => (await store.load(id)) ?? (null as unknown as undefined),
  })),
  inMemory('what a run remembers is dropped', 'a session comes back deep-equal', (store) => ({
    ...store,
    save: ({ run: _run, ...session }, options) => store.save(session, options),
  })),
  inMemory('the first save stays', 'the last save is what is there', (store) => {
    const first = new Map<string, SavedSession>()
    return {
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
  inMemory('ids are cut to letters', 'sessions are kept apart, whatever their ids', (store) => {
    const key = (id: string): string => id.replaceAll(/\W/g, '_')
    return {
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
    'a file is written in place',
    'a save that is interrupted leaves the old session or the new one',
    (folder, files) => fileStore(folder, { files: inPlace(files) }),
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
  const saved = new Map<string, StoredSession>()
  return {
    load: async (id) => saved.get(id),
    save: async (session, { ifVersion } = {}) => {
      const { version = 0 } = saved.get(session.id) ?? {}
      if (ifVersion !== undefined && ifVersion !== version) throw new SessionError('stale', 'stale')
      saved.set(session.id, { session, version: version + 1 })
      return version + 1
    },
  }
}

/** Finds only what it saved itself. */
function forgetful(folder: string, files: StoreFiles): SessionStore {
  const store = fileStore(folder, { files })
  const own = new Set<string>()
  return {
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
    load: (id) => store.load(id),
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

/** Writes over the old file, where a new one is to be written first. */
function inPlace(files: StoreFiles): StoreFiles {
  return {
    ...files,
    open: (path, flags) =>
      path.endsWith('.new')
        ? files.open(path.replace(/\.[^.]+\.new$/, ''), 'w')
        : files.open(path, flags),
    rename: async () => undefined,
  }
}
