import { mkdtemp, open, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import * as nodeFiles from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { RunStoreHarness, StoreHarness } from '../../../src/conformance.ts'
import {
  fileStore,
  memoryStore,
  type MemoryStoreOptions,
  type RunStore,
  type SessionStore,
  type StoreFiles,
} from '../../../src/stores.ts'

/** The harness of a store that lives in memory. */
export function memoryHarness(make: () => SessionStore = memoryStore): StoreHarness {
  return { start: () => ({ store: make() }) }
}

/** The harness of a run store in memory, whose clock is moved by hand. All handles are the one store. */
export function memoryRunHarness(
  make: (options: MemoryStoreOptions) => RunStore = memoryStore,
): RunStoreHarness {
  return {
    capabilities: ['shared', 'own_clock', 'interruption'],
    start() {
      let now = 1_800_000_000_000
      const store = make({ clock: { now: () => now, sleep: async () => undefined } })
      return {
        store,
        connect: () => store,
        advance: (ms) => (now += ms),
        interruptNextSave: () => undefined,
      }
    },
  }
}

/** The harness of a store in a folder of its own. `make` may break it. */
export function fileHarness(
  make: (folder: string, files: StoreFiles) => SessionStore = (folder, files) =>
    fileStore(folder, { files }),
): StoreHarness {
  return {
    capabilities: ['durable', 'damage', 'interruption'],
    async start() {
      const folder = await mkdtemp(join(tmpdir(), 'allm-store-'))
      const disk = failingFiles()
      return {
        store: make(folder, disk.files),
        reopen: () => make(folder, disk.files),
        interruptNextSave: disk.failNextWrite,
        damage: async (_id, text) => {
          for (const file of await readdir(folder, { recursive: true })) {
            if (!file.endsWith('.json')) continue
            // The first line is about the session, which is the rest.
            const [head = ''] = (await readFile(join(folder, file), 'utf8')).split('\n')
            await writeFile(join(folder, file), `${head}\n${text}\n`)
          }
        },
        close: () => rm(folder, { recursive: true }),
      }
    },
  }
}

/** The harness of a run store in a folder of its own. Each handle is a store of its own. */
export function fileRunHarness(): RunStoreHarness {
  return {
    capabilities: ['shared', 'interruption'],
    async start() {
      const folder = await mkdtemp(join(tmpdir(), 'allm-store-'))
      const disk = failingFiles()
      return {
        store: fileStore(folder, { files: disk.files }),
        connect: () => fileStore(folder),
        interruptNextSave: disk.failNextWrite,
        close: () => rm(folder, { recursive: true }),
      }
    },
  }
}

/** Node's files, of which one write can be made to fail when half of it is done. */
function failingFiles() {
  let fails = false
  const files: StoreFiles = {
    ...nodeFiles,
    async open(path, flags) {
      const file = await open(path, flags)
      return {
        close: () => file.close(),
        sync: () => file.sync(),
        read: (...args) => file.read(...args),
        write: (...args) => file.write(...args),
        async writeFile(data) {
          if (!fails) return file.writeFile(data)
          fails = false
          await file.writeFile(data.slice(0, data.length / 2))
          throw new Error('the disk is full')
        },
      }
    },
  }
  const failNextWrite = (): void => {
    fails = true
  }
  return { files, failNextWrite }
}
