import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import * as files from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Session, SessionError, user } from '../../../src/index.ts'
import { fileStore, memoryStore, type SessionStore, type StoreFile } from '../../../src/stores.ts'
import { virtualClock } from '../../../src/testing.ts'

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'allm-store-'))
})

afterEach(() => rmSync(folder, { recursive: true }))

const session = Session.create({ id: 'a/b c', messages: [user('go')], metadata: { n: 1 } })

/** Every file of the store, without the random parts of the names. */
function stored(): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((item) => item.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(folder.length + 1))
    .map((path) => path.replaceAll(/\.[0-9a-f]{12,}/g, ''))
    .toSorted()
}

describe.each<[string, () => SessionStore]>([
  ['memoryStore', () => memoryStore()],
  ['fileStore', () => fileStore(join(folder, 'deep/er'))],
])('%s', (_name, make) => {
  test('gives back what was saved, deep-equal, and nothing for an unknown id', async () => {
    const store = make()
    expect(await store.load('nobody')).toBeUndefined()
    expect(await store.list()).toEqual([])
    expect(await store.save(session)).toBe(1)
    expect(await store.load(session.id)).toEqual({
      session,
      version: 1,
      updatedAt: expect.any(Number),
      lastEventId: 0,
    })
  })

  test('counts versions, and refuses a stale save without changing anything', async () => {
    const store = make()
    expect(await store.save(session, { ifVersion: 0 })).toBe(1)
    const next = { ...session, metadata: { n: 2 } }
    expect(await store.save(next, { ifVersion: 1 })).toBe(2)
    await expect(store.save(session, { ifVersion: 1 })).rejects.toMatchObject({
      kind: 'session',
      reason: 'stale',
      metadata: { version: 2, ifVersion: 1 },
    })
    expect(await store.load(session.id)).toMatchObject({ session: next, version: 2 })
    expect(await store.save(session)).toBe(3)
  })

  test('of two workers that save at once from the same version, one is refused', async () => {
    const store = make()
    await store.save(session)
    const saves = ['one', 'two', 'three'].map((by) =>
      store.save({ ...session, metadata: { by } }, { ifVersion: 1 }).then(
        () => 'saved',
        (error: unknown) => (error instanceof SessionError ? error.reason : 'other'),
      ),
    )
    expect((await Promise.all(saves)).toSorted()).toEqual(['saved', 'stale', 'stale'])
  })

  test('refuses what is not a session, an empty id, and options that it does not know', async () => {
    const store = make()
    await expect(store.save({ ...session, status: 'asleep' } as never)).rejects.toMatchObject({
      reason: 'invalid_session',
    })
    await expect(store.load('')).rejects.toThrow('id must be a non-empty string')
    await expect(store.delete('')).rejects.toThrow('id must be a non-empty string')
    await expect(store.save(session, { ifversion: 1 } as never)).rejects.toThrow(
      'did you mean ifVersion?',
    )
    await expect(store.save(session, { ifVersion: -1 })).rejects.toThrow('an integer of at least 0')
    await expect(store.list({ limit: 0 })).rejects.toThrow('a positive integer')
    expect(await store.list()).toEqual([])
  })
})

test('the time of a save is that of the clock', async () => {
  const clock = virtualClock()
  for (const store of [memoryStore({ clock }), fileStore(folder, { clock })]) {
    await store.save(session)
    const { updatedAt } = (await store.load(session.id)) ?? {}
    expect(updatedAt).toBe(clock.now())
    const metadata = session.metadata
    expect(await store.list()).toEqual([
      { id: 'a/b c', status: 'idle', version: 1, updatedAt, running: false, metadata },
    ])
  }
  expect(() => fileStore(folder, { cloc: clock } as never)).toThrow('did you mean clock?')
  expect(() => memoryStore({ cloc: clock } as never)).toThrow('did you mean clock?')
})

describe('fileStore', () => {
  test('keeps one file for a session, and nothing when it is deleted', async () => {
    const store = fileStore(folder)
    for (let save = 0; save < 3; save++) await store.save(session)
    expect(stored()).toEqual(['a%002fb%0020c/3.json'])
    await store.delete(session.id)
    expect(readdirSync(folder)).toEqual([])
  })

  test('leaves the old session or the new one, and no other file, whichever operation fails', async () => {
    const counting = failingAt(Number.POSITIVE_INFINITY)
    const store = fileStore(folder)
    await store.save(session)
    await fileStore(folder, { files: counting.files }).save(session)
    const operations = counting.done()
    expect(operations.length).toBeGreaterThan(12)
    for (let at = 1; at <= operations.length; at++) {
      const before = await store.save({ ...session, metadata: { n: 'old' } })
      const failing = failingAt(at)
      const outcome = await fileStore(folder, { files: failing.files })
        .save({ ...session, metadata: { n: 'new' } })
        .catch((error: unknown) => error)
      const found = await store.load(session.id)
      const place = `operation ${at}, ${operations[at - 1]}`
      if (typeof outcome === 'number') {
        // Only cleaning up may fail without notice.
        expect(outcome, place).toBe(before + 1)
      } else {
        expect(outcome, place).toMatchObject({
          kind: 'session',
          reason: 'unavailable',
          metadata: { code: 'ENOSPC' },
          cause: { code: 'ENOSPC' },
        })
      }
      expect([before, before + 1], place).toContain(found?.version)
      expect(found?.session.metadata, place).toEqual({
        n: found?.version === before ? 'old' : 'new',
      })
      if (typeof outcome !== 'number' && found?.version === before) {
        expect(stored(), place).toEqual([`a%002fb%0020c/${before}.json`])
      }
    }
    const last = await store.save(session)
    expect(stored()).toEqual([`a%002fb%0020c/${last}.json`])
  })

  test('a first save that fails leaves nothing, whichever operation fails', async () => {
    const counting = failingAt(Number.POSITIVE_INFINITY)
    await fileStore(join(folder, 'count'), { files: counting.files }).save(session)
    const total = counting.done().length
    for (let at = 1; at <= total; at++) {
      const failing = failingAt(at)
      const outcome = await fileStore(join(folder, `${at}`), { files: failing.files })
        .save(session, { ifVersion: 0 })
        .catch((error: unknown) => error)
      const found = await fileStore(join(folder, `${at}`)).load(session.id)
      if (outcome === 1) expect(found?.version).toBe(1)
      else if (found === undefined) {
        expect(outcome).toMatchObject({ reason: 'unavailable' })
        expect(stored().filter((path) => path.startsWith(`${at}/`))).toEqual([])
      }
    }
  })

  test('a load removes what a writer left that was killed after its entry was there', async () => {
    const store = fileStore(folder)
    await store.save(session)
    const name = join(folder, 'a%002fb%0020c')
    const [first = ''] = readdirSync(name)
    const text = await files.readFile(join(name, first), 'utf8')
    await store.save(session)
    const [second = ''] = readdirSync(name)
    const life = second.split('.')[1]
    writeFileSync(join(name, first), text)
    writeFileSync(join(name, `2.${life}.00aa.new`), '{')
    writeFileSync(join(name, `3.${life}.00bb.new`), '{')
    expect((await store.load(session.id))?.version).toBe(2)
    expect(readdirSync(name).toSorted()).toEqual([second, `3.${life}.00bb.new`])
    await store.save(session)
    expect(stored()).toEqual(['a%002fb%0020c/3.json'])
  })

  test('what a killed process left of a session that nobody saves again is removed after an hour', async () => {
    const store = fileStore(folder)
    await store.save(session)
    const own = join(folder, 'a%002fb%0020c')
    const life = readdirSync(own)[0]?.split('.')[1]
    const random = '0123456789abcdef0123456789abcdef'
    const write = join(own, `2.${life}.${random}.new`)
    const first = join(folder, '.tmp', `bob.${random}`)
    const foreign = join(folder, '.tmp', 'notes')
    for (const path of [first, foreign]) {
      mkdirSync(path, { recursive: true })
      writeFileSync(join(path, '1.abc.json'), 'half of a sess')
    }
    writeFileSync(write, 'half of a sess')
    const lookAround = async (): Promise<readonly boolean[]> => {
      await store.load(session.id)
      await store.save(Session.create({ id: 'eve' }))
      await store.delete('eve')
      return [write, first, foreign].map((path) => existsSync(path))
    }
    expect(await lookAround()).toEqual([true, true, true])
    for (const path of [write, first, foreign]) {
      const longAgo = new Date(Date.now() - 2 * 3_600_000)
      await files.utimes(path, longAgo, longAgo)
    }
    expect(await lookAround()).toEqual([false, false, true])
    expect(await store.load(session.id)).toMatchObject({ session, version: 1 })
  })

  test('a full disk leaves no file, however often a save is tried', async () => {
    const full = {
      ...files,
      open: async (path: string, flags: string) => {
        const file = await files.open(path, flags)
        return {
          read: (...args: Parameters<typeof file.read>) => file.read(...args),
          sync: () => file.sync(),
          close: () => file.close(),
          writeFile: async (data: string) => {
            await file.writeFile(data.slice(0, 10))
            throw Object.assign(new Error('ENOSPC: no space left on device, write'), {
              code: 'ENOSPC',
            })
          },
        }
      },
    }
    const store = fileStore(folder, { files: full as never })
    for (let save = 0; save < 3; save++) {
      await expect(store.save(session)).rejects.toMatchObject({ reason: 'unavailable' })
      expect(readdirSync(folder)).toEqual([])
    }
    await fileStore(folder).save(session)
    for (let save = 0; save < 3; save++) {
      await expect(store.save(session)).rejects.toMatchObject({ reason: 'unavailable' })
      expect(stored()).toEqual(['a%002fb%0020c/1.json'])
    }
  })

  test.each(['ENOTDIR', 'ENOENT'])(
    'a folder in progress whose parent another process removes meanwhile is made again: %s',
    async (code) => {
      let failures = 0
      const racing = {
        ...files,
        mkdir: async (path: string, options: { readonly recursive: true }) => {
          if (path.includes('.tmp') && failures < 3) {
            failures++
            throw Object.assign(new Error(code), { code })
          }
          return files.mkdir(path, options)
        },
      }
      const store = fileStore(folder, { files: racing })
      expect(await store.save(session, { ifVersion: 0 })).toBe(1)
      expect(failures).toBe(3)
      failures = 0
      await store.delete(session.id)
      expect(failures).toBe(3)
      expect(await store.load(session.id)).toBeUndefined()
    },
  )

  test('a file in place of the folder of writes in progress is reported at once', async () => {
    writeFileSync(join(folder, '.tmp'), '')
    await expect(fileStore(folder).save(session)).rejects.toMatchObject({
      reason: 'unavailable',
      metadata: { code: 'ENOTDIR' },
    })
  })

  test('the new file and its folder are synced before a save resolves', async () => {
    const synced: string[] = []
    const watching = {
      ...files,
      open: async (path: string, flags: string) => {
        const file = await files.open(path, flags)
        return {
          read: (...args: Parameters<typeof file.read>) => file.read(...args),
          writeFile: (data: string) => file.writeFile(data),
          close: () => file.close(),
          sync: async () => {
            synced.push(path.slice(folder.length).replaceAll(/\.[0-9a-f]{12,}/g, ''))
            await file.sync()
          },
        }
      },
    }
    const store = fileStore(join(folder, 'new'), { files: watching as never })
    await store.save(Session.create({ id: 's' }))
    expect(synced).toEqual(['/new/.tmp/s/1.json', '/new/.tmp/s', '/new', '/new/..'])
    synced.length = 0
    await store.save(Session.create({ id: 's' }))
    expect(synced).toEqual(['/new/s/2.new', '/new/s'])
  })

  test('what somebody else wrote there is unreadable; a save without ifVersion replaces it', async () => {
    const store = fileStore(folder)
    const damage = async (text: string): Promise<void> => {
      const name = 'a%002fb%0020c'
      const [file = ''] = readdirSync(join(folder, name))
      writeFileSync(join(folder, name, file), text)
    }
    const other = Session.stringify(Session.create({ id: 'other' }))
    const head = { id: session.id, version: 1, status: 'idle', updatedAt: 1 }
    const texts = [
      '{"half":',
      '',
      Session.stringify(session),
      `${JSON.stringify({ ...head, id: 'other' })}\n${other}\n`,
      `${JSON.stringify(head)}\n${other}\n`,
      `${JSON.stringify(head)}\n{"version":1}\n`,
      `${JSON.stringify({ ...head, version: 1e23 })}\n${Session.stringify(session)}\n`,
    ]
    for (const text of texts) {
      await store.delete(session.id)
      await store.save(session)
      await damage(text)
      await expect(store.load(session.id), text).rejects.toMatchObject({ reason: 'unreadable' })
      await store.save(session)
      expect(await store.load(session.id), text).toMatchObject({ session, version: 2 })
    }
    await damage('{"half":')
    await expect(store.save(session, { ifVersion: 1 })).rejects.toMatchObject({
      reason: 'unreadable',
      message: expect.stringContaining('save without ifVersion'),
    })
    expect(await store.list()).toEqual([])
  })

  test('files of version 0.1.0 are read, listed, replaced and deleted, with the lock that belongs to them', async () => {
    const store = fileStore(folder)
    const path = join(folder, 'a%002fb%0020c.json')
    const plant = (text: string): void => {
      writeFileSync(path, text)
      writeFileSync(`${path}.lock`, '')
      writeFileSync(`${path}.0d3ad6f7-24c3-4e5c-a0a4-000000000000.new`, '{"version":9,"sess')
    }
    plant(`{"version":7,"session":${Session.stringify(session)}}`)
    expect(await store.load(session.id)).toMatchObject({ session, version: 7 })
    expect(await store.list()).toMatchObject([{ id: 'a/b c', status: 'idle', version: 7 }])
    await expect(store.save(session, { ifVersion: 6 })).rejects.toMatchObject({ reason: 'stale' })
    expect(await store.save(session, { ifVersion: 7 })).toBe(8)
    expect(await store.load(session.id)).toMatchObject({ session, version: 8 })
    expect(stored()).toEqual(['a%002fb%0020c/8.json'])
    await store.delete(session.id)
    plant(`{"version":7,"session":${Session.stringify(Session.create({ id: 'x' }))}}`)
    await expect(store.load(session.id)).rejects.toMatchObject({ reason: 'unreadable' })
    for (const version of ['1e23', '9007199254740991', '999999999999999']) {
      plant(`{"version":${version},"session":${Session.stringify(session)}}`)
      await expect(store.load(session.id)).rejects.toMatchObject({ reason: 'unreadable' })
    }
    expect(await store.list()).toEqual([])
    await store.delete(session.id)
    expect(readdirSync(folder)).toEqual([])
  })

  test('ids of any length and script have a folder of their own, inside the directory', async () => {
    const store = fileStore(join(folder, 'in'))
    const ids = [
      '../out',
      'con',
      '%0063on',
      'ä'.repeat(51),
      '\u{1F99C}'.repeat(60),
      'x'.repeat(512),
      `${'x'.repeat(511)}y`,
      'ü'.repeat(512),
    ]
    for (const id of ids) await store.save(Session.create({ id, metadata: { id } }))
    for (const id of ids) expect((await store.load(id))?.session.metadata).toEqual({ id })
    expect((await store.list()).map(({ id }) => id).toSorted()).toEqual(ids.toSorted())
    expect(readdirSync(folder)).toEqual(['in'])
    for (const id of ids) await store.delete(id)
    expect(readdirSync(join(folder, 'in'))).toEqual([])
  })

  test('other files and folders in the directory are left alone', async () => {
    const store = fileStore(folder)
    writeFileSync(join(folder, 'README.md'), 'mine')
    mkdirSync(join(folder, 'notes'))
    writeFileSync(join(folder, 'notes', 'one.txt'), 'mine')
    mkdirSync(join(folder, 'empty'))
    writeFileSync(join(folder, 'readme'), 'mine')
    mkdirSync(join(folder, 'config.json'))
    await store.save(session)
    expect((await store.list()).map(({ id }) => id)).toEqual([session.id])
    await expect(store.load('notes')).rejects.toMatchObject({ reason: 'unreadable' })
    await expect(store.save(Session.create({ id: 'notes' }))).rejects.toMatchObject({
      reason: 'unreadable',
    })
    await expect(store.load('readme')).rejects.toMatchObject({ reason: 'unavailable' })
    await expect(store.load('config')).rejects.toMatchObject({ reason: 'unavailable' })
    await expect(store.delete('notes')).rejects.toMatchObject({ reason: 'unreadable' })
    expect(readdirSync(join(folder, 'notes'))).toEqual(['one.txt'])
    expect(await store.save(Session.create({ id: 'empty' }))).toBe(1)
  })

  test('a save that no number follows is refused, and what is stored stays', async () => {
    const store = fileStore(folder)
    await store.save(session)
    const own = join(folder, 'a%002fb%0020c')
    const [entry = ''] = readdirSync(own)
    await files.rename(join(own, entry), join(own, entry.replace(/^1/, '9'.repeat(15))))
    await expect(store.save(session)).rejects.toMatchObject({ reason: 'unavailable' })
    expect(await store.load(session.id)).toMatchObject({ session, version: 1 })
  })

  test.each([[''], [undefined], [7]])('%o is not a directory', (wrong) => {
    expect(() => fileStore(wrong as never)).toThrow('directory must be a non-empty string')
  })

  test('a directory that cannot be used is unavailable', async () => {
    writeFileSync(join(folder, 'file'), '')
    const store = fileStore(join(folder, 'file', 'sessions'))
    await expect(store.save(session)).rejects.toMatchObject({ reason: 'unavailable' })
    await expect(store.load('s')).rejects.toMatchObject({ reason: 'unavailable' })
    await expect(store.list()).rejects.toMatchObject({ reason: 'unavailable' })
  })
})

/** Node's files, of which the operation with a number fails as on a full disk. */
function failingAt(at: number) {
  const done: string[] = []
  const step = <Args extends readonly unknown[], Result>(
    name: string,
    work: (...args: Args) => Promise<Result>,
  ) => {
    return async (...args: Args): Promise<Result> => {
      done.push(name)
      if (done.length === at) throw Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' })
      return work(...args)
    }
  }
  return {
    done: () => done,
    files: {
      mkdir: step('mkdir', (path: string, options: { recursive: true }) =>
        files.mkdir(path, options),
      ),
      readdir: step('readdir', (path: string) => files.readdir(path)),
      readFile: step('readFile', (path: string) => files.readFile(path, 'utf8')),
      link: step('link', files.link),
      rename: step('rename', files.rename),
      rm: step('rm', files.rm),
      rmdir: step('rmdir', (path: string) => files.rmdir(path)),
      stat: step('stat', (path: string) => files.stat(path)),
      open: step('open', async (path: string, flags: string) => {
        const file = await files.open(path, flags)
        return {
          read: step('read', (buffer: Uint8Array, offset: number, length: number, at: number) =>
            file.read(buffer, offset, length, at),
          ),
          write: step('write', (...args: Parameters<StoreFile['write']>) => file.write(...args)),
          writeFile: step('writeFile', (data: string) => file.writeFile(data)),
          sync: step('sync', () => file.sync()),
          close: () => file.close(),
        }
      }),
    },
  }
}
