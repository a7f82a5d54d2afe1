import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import * as files from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  fileStore,
  memoryStore,
  Session,
  SessionError,
  user,
  type SessionStore,
} from '../../src/index.ts'

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'allm-store-'))
})

afterEach(() => rmSync(folder, { recursive: true }))

const session = Session.create({ id: 'a/b c', messages: [user('go')], metadata: { n: 1 } })

describe.each<[string, () => SessionStore]>([
  ['memoryStore', () => memoryStore()],
  ['fileStore', () => fileStore(join(folder, 'deep/er'))],
])('%s', (_name, make) => {
  test('gives back what was saved, deep-equal, and nothing for an unknown id', async () => {
    const store = make()
    expect(await store.load('nobody')).toBeUndefined()
    expect(await store.save(session)).toBe(1)
    expect(await store.load(session.id)).toEqual({ session, version: 1 })
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
    expect(await store.load(session.id)).toEqual({ session: next, version: 2 })
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

  test('refuses what is not a session', async () => {
    await expect(make().save({ ...session, status: 'asleep' } as never)).rejects.toMatchObject({
      reason: 'invalid_session',
    })
  })
})

describe('fileStore', () => {
  test('leaves the old session or the new one when a write is interrupted at any operation', async () => {
    const operations: (keyof typeof files)[] = ['open', 'rename', 'rm', 'readFile', 'mkdir']
    for (const failing of operations) {
      const path = join(folder, failing)
      await fileStore(path).save(session)
      const broken = { ...files, [failing]: () => Promise.reject(new Error('power cut')) }
      await fileStore(path, { files: broken })
        .save({ ...session, metadata: { n: 2 } })
        .catch(() => undefined)
      const found = await fileStore(path).load(session.id)
      expect([1, 2]).toContain(found?.version)
      expect(found?.session.metadata).toEqual({ n: found?.version })
    }
  })

  test('a half-written file beside it is never taken for the session', async () => {
    const store = fileStore(folder)
    await store.save(session)
    const [name = ''] = readdirSync(folder)
    writeFileSync(join(folder, `${name}.123.new`), '{"version":9,"sess')
    expect((await store.load(session.id))?.version).toBe(1)
  })

  test('what somebody else wrote there is unreadable, and says so', async () => {
    const store = fileStore(folder)
    await store.save(session)
    const [name = ''] = readdirSync(folder)
    writeFileSync(join(folder, name), '{"half":')
    await expect(store.load(session.id)).rejects.toMatchObject({ reason: 'unreadable' })
  })

  test('takes over a lock that a dead process left', async () => {
    const store = fileStore(folder)
    await store.save(session)
    const [name = ''] = readdirSync(folder)
    const lock = join(folder, `${name}.lock`)
    writeFileSync(lock, '')
    const past = new Date(Date.now() - 60_000)
    await files.utimes(lock, past, past)
    expect(await store.save(session)).toBe(2)
    expect(readdirSync(folder)).toEqual([name])
  })

  test('ids never leave the folder', async () => {
    const store = fileStore(join(folder, 'in'))
    const sly = Session.create({ id: '../out' })
    await store.save(sly)
    expect(readdirSync(folder)).toEqual(['in'])
    expect((await store.load('../out'))?.session.id).toBe('../out')
    await expect(store.load('')).rejects.toThrow('file name')
  })
})
