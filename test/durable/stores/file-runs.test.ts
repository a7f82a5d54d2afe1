import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import * as nodeFiles from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { Session, user, type StreamEvent } from '../../../src/index.ts'
import { fileStore, type Lease, type RunStore, type StoreFiles } from '../../../src/stores.ts'

let folder: string
let now: number

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'allm-store-'))
  now = 1_800_000_000_000
})

afterEach(() => rmSync(folder, { recursive: true }))

const clock = { now: () => now, sleep: async () => undefined }
const make = (files: StoreFiles = unsynced): RunStore => fileStore(folder, { clock, files })
const session = (text = 'go'): Session => Session.create({ id: 's', messages: [user(text)] })
const delta = (text: string): StreamEvent => ({ type: 'text_delta', delta: text })
const send = (content: string) => ({ type: 'send', content }) as const
const owner = { owner: 'me', ttlMs: 10_000 }

async function taken(store: RunStore, id = 's'): Promise<Lease> {
  const lease = await store.acquire(id, owner)
  if (lease === undefined) throw new Error('nobody has the lease')
  return lease
}

/** Node's files without syncing, since nothing loses power here. */
const unsynced: StoreFiles = {
  ...nodeFiles,
  open: async (path, flags) => {
    const file = await nodeFiles.open(path, flags)
    return {
      close: () => file.close(),
      read: (...args) => file.read(...args),
      write: (...args) => file.write(...args),
      writeFile: (data) => file.writeFile(data),
      sync: async () => undefined,
    }
  },
}

/** The files of the session `s`, without the random parts of their names. */
function stored(): readonly string[] {
  const path = join(folder, 's')
  const names = existsSync(path) ? readdirSync(path) : []
  return names.map((name) => name.replaceAll(/\.[0-9a-f]{12,}/g, '')).toSorted()
}

/** The texts of the events from the log, which must be numbered without gaps. */
async function logged(store: RunStore, first = 1): Promise<readonly string[]> {
  const entries = await store.readEvents('s', { after: first - 1 })
  expect(entries.map(({ id }) => id)).toEqual(entries.map((_, index) => first + index))
  return entries.map((entry) =>
    'event' in entry && entry.event.type === 'text_delta' ? entry.event.delta : '?',
  )
}

/** Node's files that count what is written, and fail at the operation with a number, or at every one from there. */
function watched(at = Number.POSITIVE_INFINITY, mode: 'fails' | 'stops' = 'fails') {
  const done: string[] = []
  const written = { bytes: 0 }
  let stop: (value: string) => void = () => undefined
  /** Resolves when the process stops. */
  const stopped = new Promise<string>((resolve) => (stop = resolve))
  const step =
    <Args extends readonly unknown[], Result>(
      name: string,
      work: (...args: Args) => Promise<Result>,
    ) =>
    async (...args: Args): Promise<Result> => {
      done.push(name)
      if (mode === 'stops' && done.length >= at) {
        stop('stopped')
        return new Promise(() => undefined)
      }
      if (done.length === at) throw Object.assign(new Error('EIO'), { code: 'EIO' })
      return work(...args)
    }
  const files: StoreFiles = {
    mkdir: step('mkdir', (path: string, options: { readonly recursive: true }) =>
      nodeFiles.mkdir(path, options),
    ),
    readdir: step('readdir', (path: string) => nodeFiles.readdir(path)),
    readFile: step('readFile', (path: string) => nodeFiles.readFile(path, 'utf8')),
    link: step('link', nodeFiles.link),
    rename: step('rename', nodeFiles.rename),
    rm: step('rm', nodeFiles.rm),
    rmdir: step('rmdir', (path: string) => nodeFiles.rmdir(path)),
    stat: step('stat', (path: string) => nodeFiles.stat(path)),
    open: step('open', async (path: string, flags: string) => {
      const file = await nodeFiles.open(path, flags)
      let isOpen = true
      const close = async (): Promise<void> => {
        if (isOpen) await file.close()
        isOpen = false
      }
      opened.push(close)
      return {
        close,
        read: (...args) => file.read(...args),
        write: step('write', async (bytes: Uint8Array, offset, length, position) => {
          // As much as fits.
          const result = await file.write(bytes, offset, Math.min(length, 100_000), position)
          written.bytes += result.bytesWritten
          return result
        }),
        writeFile: step('writeFile', async (data: string) => {
          written.bytes += new TextEncoder().encode(data).length
          await file.writeFile(data)
        }),
        sync: step('sync', async () => undefined),
      }
    }),
  }
  return { files, done, written, stopped }
}

const opened: (() => Promise<void>)[] = []

afterEach(async () => {
  for (const close of opened.splice(0)) await close()
})

test('what a lease, a command and events change is small, and the session stays where it is', async () => {
  const store = make()
  await store.save(session())
  const lease = await taken(store)
  expect(stored()).toEqual(['1.json', '2.json'])
  await store.append('s', [delta('a')], { lease })
  await store.push('s', send('more'))
  expect(stored()).toEqual(['1.json', '3.log', '4.json'])
  await store.save(session('next'), { lease, taken: 1, events: [delta('b')] })
  expect(stored()).toEqual(['3.log', '5.json'])
  await store.release('s', lease)
  expect(stored()).toEqual(['3.log', '5.json', '6.json'])
  expect(await store.readEvents('s', { commands: true })).toMatchObject([
    { id: 1, event: delta('a') },
    { id: 1, command: send('more') },
    { id: 2, event: delta('b') },
  ])
  await store.delete('s')
  expect(readdirSync(folder)).toEqual([])
})

test('a lease of a session that does not exist leaves nothing when it is given back', async () => {
  const store = make()
  const lease = await taken(store)
  expect(await store.look('s')).toMatchObject({ version: 0, running: true })
  await store.release('s', lease)
  expect(await store.look('s')).toBeUndefined()
  expect(await store.list()).toEqual([])
  expect(readdirSync(folder)).toEqual([])
})

test('what the end of such a lease leaves when its process dies is removed by whoever comes next', async () => {
  const operations = await count(async (files) => {
    const store = make(files)
    await store.release('s', await taken(store))
  })
  for (let at = 1; at <= operations; at++) {
    const { files, stopped } = watched(at, 'stops')
    const dying = make(files)
    const work = taken(dying).then((lease) => dying.release('s', lease))
    expect(await Promise.race([work, stopped]), `operation ${at}`).toBe('stopped')
    const store = make()
    now += 20_000
    expect(await store.push('s', send('hello')), `operation ${at}`).toBe(true)
    expect(await store.readInbox('s')).toMatchObject([{ command: send('hello') }])
    await store.delete('s')
    expect(readdirSync(folder), `operation ${at}`).toEqual([])
  }
})

test('a file that was left in an empty folder does not hide that there is no session', async () => {
  const store = make()
  await store.release('s', await taken(store))
  await nodeFiles.mkdir(join(folder, 's'))
  writeFileSync(join(folder, 's', '2.0123456789ab.0123456789ab.log'), 'half a li')
  expect(await store.load('s')).toBeUndefined()
  expect(await store.save(session())).toBe(1)
  expect(stored()).toEqual(['1.json'])
})

async function count(act: (files: StoreFiles) => Promise<unknown>): Promise<number> {
  const watching = watched()
  await act(watching.files)
  expect(watching.done.length).toBeGreaterThan(8)
  await make().delete('s')
  return watching.done.length
}

interface Write {
  readonly act: (store: RunStore, lease: Lease) => Promise<unknown>
  /** How much time passes before. */
  readonly laterMs?: number
}

const events = [delta('new'), delta('er')]

/** Every kind of write, on a session with an owner, a log and a queued command. */
const writes: Readonly<Record<string, Write>> = {
  append: { act: (store, lease) => store.append('s', events, { lease }) },
  push: { act: (store) => store.push('s', send('new'), { key: 'k' }) },
  'push of a long command': { act: (store) => store.push('s', send('new'.repeat(5000))) },
  renew: { act: (store, lease) => store.renew('s', lease, 50_000) },
  release: { act: (store, lease) => store.release('s', lease) },
  requestStop: { act: (store) => store.requestStop('s') },
  prune: { act: (store) => store.prune({ keepMs: 0 }) },
  save: { act: (store, lease) => store.save(session('new'), { lease }) },
  'save with everything': {
    act: (store, lease) => store.save(session('new'), { lease, events, taken: 1, first: true }),
  },
  'save that refuses': {
    act: (store, lease) => store.save(session('new'), { lease, taken: 1, refused: overError }),
  },
  acquire: { act: (store) => store.acquire('s', owner), laterMs: 20_000 },
}

const overError = { kind: 'session', reason: 'illegal_status', message: 'it is over' } as const

/** A session as the writes expect it. The log is that of another store, as after a take-over. */
async function prepared(): Promise<Lease> {
  const store = make()
  await store.delete('s')
  const lease = await taken(store)
  await store.save(session('old'), { lease, events: [delta('a'), delta('b')], first: true })
  await store.append('s', [delta('c')], { lease })
  await store.push('s', send('x'.repeat(6000)), { key: 'first', slot: 'first' })
  now += 1000
  return lease
}

/** All that can be asked about the session, without what the time changes. */
async function wholeState(store: RunStore): Promise<unknown> {
  const state = await store.look('s')
  return JSON.parse(
    JSON.stringify(
      {
        state: state && { ...state, dueAt: (state.dueAt ?? now) - now },
        session: await store.load('s'),
        rows: await store.list(),
        inbox: await store.readInbox('s'),
        log: await store.readEvents('s', { commands: true }),
        snapshot: await store.readSnapshot('s', 1000),
        keys: [await store.knowsKey('s', 'first'), await store.knowsKey('s', 'k')],
        stop: await store.stopRequested('s'),
        // The last one, because it is stored if the slot is free.
        slot: await store.push('s', send('late'), { slot: 'first' }),
      },
      (name, value: unknown) => (['at', 'updatedAt'].includes(name) ? 0 : value),
    ),
  )
}

describe.each(Object.entries(writes))('%s', (_name, write) => {
  test('an operation that fails leaves all of the old or all of the new, whichever it is, and the next write removes the rest', async () => {
    await everyOperation(write, 'fails')
  })

  test('a process that dies at an operation leaves all of the old or all of the new, and blocks nobody', async () => {
    await everyOperation(write, 'stops')
  })
})

async function everyOperation({ act, laterMs = 0 }: Write, mode: 'fails' | 'stops'): Promise<void> {
  const lease = await prepared()
  now += laterMs
  const old = await wholeState(make())
  const watching = watched()
  await act(make(watching.files), lease)
  const fresh = await wholeState(make())
  const seen = new Set<string>()
  for (let at = 1; at <= watching.done.length; at++) {
    const place = `operation ${at}, ${watching.done[at - 1]}`
    const own = await prepared()
    const dying = watched(at, mode)
    now += laterMs
    const outcome = act(make(dying.files), own).then(
      () => 'done',
      (error: unknown) => (error instanceof Error ? `${error.name} ${error.message}` : '?'),
    )
    expect(await Promise.race([outcome, dying.stopped]), place).toMatch(
      mode === 'stops' ? 'stopped' : /^done$|^SessionError .*EIO/,
    )
    const store = make()
    const state = await wholeState(store)
    const isOld = JSON.stringify(state) === JSON.stringify(old)
    expect(state, place).toEqual(isOld ? old : fresh)
    seen.add(isOld ? 'old' : 'new')
    // Nobody waits for the dead, and what it left is gone after the next two writes.
    await store.push('s', send('next'))
    await store.requestStop('s')
    const left = readdirSync(join(folder, 's')).filter((name) => name.endsWith('.new'))
    expect(left, place).toEqual([])
    expect(unneeded(), place).toEqual([])
    expect(existsSync(join(folder, '.tmp')), place).toBe(false)
  }
  expect([...seen].toSorted()).toEqual(['new', 'old'])
}

/** The files of the session that the newest entry does not name. */
function unneeded(): readonly string[] {
  const path = join(folder, 's')
  const names = readdirSync(path)
  const entries = names.filter((name) => name.endsWith('.json'))
  const [newest = ''] = entries.toSorted(
    (left, right) => Number.parseInt(right) - Number.parseInt(left),
  )
  const line = readFileSync(join(path, newest), 'utf8').split('\n', 1)[0] ?? ''
  const { base } = JSON.parse(line) as { base?: string }
  const whole =
    base === undefined
      ? line
      : line + (readFileSync(join(path, base), 'utf8').split('\n', 1)[0] ?? '')
  return names.filter((name) => name !== newest && name !== base && !whole.includes(name))
}

test('a store never writes into the log of another one, and few files are left after many owners', async () => {
  const texts: string[] = []
  for (let round = 0; round < 40; round++) {
    const store = make()
    const lease = await taken(store)
    for (const part of ['a', 'b', 'c']) {
      await store.append('s', [delta(`${round}${part}`)], { lease })
      texts.push(`${round}${part}`)
    }
    await store.release('s', lease)
  }
  expect(await logged(make())).toEqual(texts)
  expect(stored().filter((name) => name.endsWith('.log')).length).toBeLessThan(4)
})

test('an owner that lost its lease writes in vain, also into a log that it began', async () => {
  const first = make()
  const lost = await taken(first)
  await first.append('s', [delta('a')], { lease: lost })
  now += 20_000
  const second = make()
  const lease = await taken(second)
  await expect(first.append('s', [delta('zombie')], { lease: lost })).rejects.toMatchObject({
    reason: 'lease_lost',
  })
  await second.append('s', [delta('b')], { lease })
  await expect(first.save(session(), { lease: lost, events: [delta('z')] })).rejects.toMatchObject({
    reason: 'lease_lost',
  })
  expect(await first.renew('s', lost, 1000)).toBe(false)
  expect(await first.release('s', lost)).toBe(false)
  expect(await logged(first)).toEqual(['a', 'b'])
})

test('bytes that no entry counts are not read', async () => {
  const store = make()
  const lease = await taken(store)
  await store.append('s', [delta('a')], { lease })
  const log = readdirSync(join(folder, 's')).find((name) => name.endsWith('.log')) ?? ''
  await nodeFiles.appendFile(
    join(folder, 's', log),
    '{"event":1,"command":0,"at":1,"events":[{}]}\n{"ha',
  )
  expect(await logged(store)).toEqual(['a'])
  await store.append('s', [delta('b')], { lease })
  expect(await logged(store)).toEqual(['a', 'b'])
})

test('a long log is searched, not read from its beginning', async () => {
  const store = make()
  const lease = await taken(store)
  for (let batch = 0; batch < 100; batch++) {
    const events = Array.from({ length: 30 }, (_, index) =>
      delta(`${batch * 30 + index + 1} ${'x'.repeat(400)}`),
    )
    await store.append('s', events, { lease })
  }
  let read = 0
  const counting: StoreFiles = {
    ...nodeFiles,
    open: async (path, flags) => {
      const file = await nodeFiles.open(path, flags)
      return {
        close: () => file.close(),
        sync: () => file.sync(),
        write: (...args) => file.write(...args),
        writeFile: (data) => file.writeFile(data),
        read: async (...args) => {
          const result = await file.read(...args)
          read += result.bytesRead
          return result
        },
      }
    },
  }
  const reader = make(counting)
  for (const after of [0, 1, 29, 30, 31, 1499, 1500, 2969, 2970, 2998, 2999]) {
    read = 0
    const entries = await reader.readEvents('s', { after, limit: 3 })
    const ids = [after + 1, after + 2, after + 3].filter((id) => id <= 3000)
    expect(entries.map(({ id }) => id)).toEqual(ids)
    expect(entries.map((entry) => 'event' in entry && entry.event)).toMatchObject(
      ids.map((id) => ({ delta: expect.stringMatching(new RegExp(`^${id} `)) })),
    )
    expect(read).toBeLessThan(200_000)
  }
  expect((await reader.readEvents('s', {})).map(({ id }) => id)).toEqual(
    Array.from({ length: 3000 }, (_, index) => index + 1),
  )
})

test('text of every kind, in lines of any length, is read back', async () => {
  const store = make()
  const lease = await taken(store)
  const odd = ['\0', '\uD800', '\u2028\n', '"\\', '🦜'.repeat(40_000), 'x'.repeat(300_000), '']
  for (const text of odd) {
    await store.append('s', [delta(text), delta(`${text}!`)], { lease })
    await store.push('s', send(text))
  }
  expect(await logged(make())).toEqual(odd.flatMap((text) => [text, `${text}!`]))
  expect((await make().readInbox('s')).map(({ command }) => command)).toEqual(odd.map(send))
})

test('a long command is written once, however many writes follow', async () => {
  const watching = watched()
  const store = make(watching.files)
  const lease = await taken(store)
  await store.push('s', send('x'.repeat(1_000_000)))
  watching.written.bytes = 0
  for (let n = 0; n < 10; n++) await store.append('s', [delta('a')], { lease })
  expect(watching.written.bytes).toBeLessThan(10_000)
  await store.save(session(), { lease, taken: 1 })
  expect(stored()).toEqual(['3.log', '13.json'].toSorted())
  expect(await store.readEvents('s', { commands: true, after: 10 })).toMatchObject([
    { id: 1, command: { content: 'x'.repeat(1_000_000) } },
  ])
})

test('a long command keeps its file as long as it has a slot', async () => {
  const store = make()
  const texts = ['x'.repeat(6000), 'y'.repeat(6000)] as const
  for (const text of texts) await store.push('s', send(text), { slot: text.slice(0, 1) })
  const lease = await taken(store)
  await store.save(session(), { lease, taken: 1 })
  await store.save(session('next'), { lease })
  const files = (): number => stored().filter((name) => name.endsWith('.command')).length
  expect(files()).toBe(2)
  expect(await make().push('s', send('late'), { slot: 'x' })).toEqual({
    taken: false,
    command: send(texts[0]),
    at: now,
  })
  await store.save(session('last'), { lease, taken: 1, refused: overError })
  expect(files()).toBe(1)
  expect(await make().push('s', send('next'), { slot: 'y' })).toBe(true)
  expect(await make().push('s', send('late'), { slot: 'x' })).toMatchObject({ taken: false })
})

test('a folder of version 0.2 takes commands with slots', async () => {
  const written = new URL('../../fixtures/sessions-0.2.0/file-store', import.meta.url)
  cpSync(fileURLToPath(written), folder, { recursive: true })
  const store = make()
  const [approve] = await store.readInbox('queued')
  expect(approve?.command).toEqual({ type: 'approve', toolCallId: 'c0' })
  const deny = { type: 'deny', toolCallId: 'c0' } as const
  expect(await store.push('queued', deny, { slot: 'c0' })).toBe(true)
  expect(await make().push('queued', { type: 'resume' }, { slot: 'c0' })).toMatchObject({
    taken: false,
    command: deny,
  })
  expect(await store.readInbox('queued')).toMatchObject([approve, { command: deny }])
})

test('a folder of the earlier format gets a lease, commands and a log, and its metadata is listed', async () => {
  const old = Session.create({ id: 's', metadata: { team: 'blue' } })
  const head = { id: 's', version: 4, status: 'idle', updatedAt: 5 }
  await nodeFiles.mkdir(join(folder, 's'))
  writeFileSync(
    join(folder, 's', '4.0123456789ab.json'),
    `${JSON.stringify(head)}\n${Session.stringify(old)}\n`,
  )
  const store = make()
  const row = { id: 's', status: 'idle', version: 4, updatedAt: 5, metadata: { team: 'blue' } }
  expect(await store.list({ metadata: { team: 'blue' } })).toEqual([{ ...row, running: false }])
  expect(await store.load('s')).toEqual({ session: old, version: 4, updatedAt: 5, lastEventId: 0 })
  const lease = await taken(store)
  await store.append('s', [delta('a')], { lease })
  expect(await store.list()).toEqual([{ ...row, running: true }])
  expect(await store.load('s')).toMatchObject({ session: old, version: 4 })
  expect(await store.save(session(), { lease, ifVersion: 4 })).toBe(5)
  expect(await store.load('s')).toMatchObject({ session: session(), version: 5, lastEventId: 1 })
  expect(stored()).toEqual(['6.log', '7.json'])
})

test('what waits in a folder of version 0.2 is in the index, since it was saved', async () => {
  const written = new URL('../../fixtures/sessions-0.2.0/file-store', import.meta.url)
  cpSync(fileURLToPath(written), folder, { recursive: true })
  const store = make()
  const loaded = await Promise.all((await store.list()).map(({ id }) => store.load(id)))
  const wanted = loaded.flatMap((found) => {
    if (found === undefined) return []
    const { id: sessionId, metadata } = found.session
    const calls = Session.pending(found.session)
    return calls.map(({ ticket }) => ({ sessionId, ticket, metadata, since: found.updatedAt }))
  })
  const { rows } = await store.pending()
  expect(wanted.length).toBeGreaterThan(0)
  expect(rows).toHaveLength(wanted.length)
  expect(rows).toEqual(
    expect.arrayContaining(wanted.map((row) => expect.objectContaining(row) as object)),
  )
})

test('a file of version 0.1.0 gets a folder with its session when a command comes', async () => {
  const path = join(folder, 's.json')
  writeFileSync(path, `{"version":7,"session":${Session.stringify(session('old'))}}`)
  const store = make()
  await store.push('s', send('hello'))
  expect(readdirSync(folder)).toEqual(['s'])
  expect(await store.load('s')).toMatchObject({ session: session('old'), version: 7 })
  expect(await store.look('s')).toMatchObject({ version: 7, queued: 1, running: true })
})

test('a session whose files are damaged is unreadable, is not due, and can be replaced or deleted', async () => {
  const damage = async (kind: 'newest' | 'base' | 'log'): Promise<RunStore> => {
    const store = make()
    await store.delete('s')
    const lease = await taken(store)
    await store.save(session(), { lease })
    await store.append('s', [delta('a')], { lease })
    const names = readdirSync(join(folder, 's'))
    const [first = '', second = ''] = names
      .filter((name) => name.endsWith(kind === 'log' ? '.log' : '.json'))
      .toSorted()
    rmSync(join(folder, 's', first), { force: kind === 'base' })
    if (kind === 'newest') writeFileSync(join(folder, 's', second), '{"half')
    now += 20_000
    return make()
  }
  for (const kind of ['newest', 'base'] as const) {
    const store = await damage(kind)
    for (const work of [
      () => store.load('s'),
      () => store.look('s'),
      () => store.push('s', send('x')),
      () => store.acquire('s', owner),
      () => store.save(session(), { ifVersion: 1 }),
    ]) {
      await expect(work()).rejects.toMatchObject({ reason: 'unreadable' })
    }
    expect(await store.due({ limit: 9 })).toEqual([])
    expect(await store.claim(owner)).toBeUndefined()
    expect(await store.list()).toEqual([])
    expect(await store.save(session())).toBe(4)
    expect(stored()).toEqual(['4.json'])
  }
  const store = await damage('log')
  await expect(store.readEvents('s', {})).rejects.toMatchObject({ reason: 'unreadable' })
  expect(await store.load('s')).toMatchObject({ version: 1 })
})

test('names in an entry never lead out of the folder', async () => {
  const store = make()
  const lease = await taken(store)
  await store.append('s', [delta('a')], { lease })
  const names = readdirSync(join(folder, 's'))
  const entry = names.find((name) => name.startsWith('2.') && name.endsWith('.json')) ?? ''
  const path = join(folder, 's', entry)
  const text = readFileSync(path, 'utf8')
  writeFileSync(path, text.replace(/"file":"[^"]+"/, '"file":"../../secret.log"'))
  await expect(store.readEvents('s', {})).rejects.toMatchObject({ reason: 'unreadable' })
})

test('what a dead process prepared for the next number is removed after an hour, also if nobody writes', async () => {
  const store = make()
  await store.save(session())
  const [entry = ''] = readdirSync(join(folder, 's'))
  const life = entry.split('.')[1]
  const left = join(folder, 's', `2.${life}.0123456789abcdef.log`)
  writeFileSync(left, 'half a li')
  now = Date.now()
  await store.load('s')
  expect(existsSync(left)).toBe(true)
  now += 2 * 3_600_000
  await store.load('s')
  expect(existsSync(left)).toBe(false)
  expect(await store.load('s')).toMatchObject({ session: session(), version: 1 })
})

test('the bytes of an append and of a save do not depend on the history', async () => {
  const sizes: Record<string, { append: number; save: number }> = {}
  for (const history of [0, 100_000, 1_000_000]) {
    await make().delete('s')
    const watching = watched()
    const store = make(watching.files)
    const lease = await taken(store)
    const saved = session('x'.repeat(history))
    await store.save(saved, { lease, events: [delta('a')] })
    const measure = async (work: () => Promise<unknown>): Promise<number> => {
      watching.written.bytes = 0
      await work()
      return watching.written.bytes
    }
    const events = Array.from({ length: 20 }, () => delta('some words '))
    const plain = JSON.stringify(events).length
    const append = await measure(() => store.append('s', events, { lease }))
    const save = await measure(() => store.save(saved, { lease, events }))
    expect(append).toBeLessThan(3 * plain)
    expect(save - Session.stringify(saved).length).toBeLessThan(3 * plain)
    sizes[history] = {
      append: append - plain,
      save: save - plain - Session.stringify(saved).length,
    }
  }
  if (process.env['ALLM_FIGURES'] !== undefined) console.table(sizes)
})

test('snapshots of runs are kept with the log, and go with it', async () => {
  const store = make()
  for (const text of ['one', 'two', 'three']) {
    const lease = await taken(store)
    await store.save(session(text), { lease, first: true })
    await store.append('s', [delta(text)], { lease })
    await store.save(session(`${text}!`), { lease })
    await store.release('s', lease)
    now += 100_000
  }
  expect(await store.readSnapshot('s', 0)).toMatchObject({ session: session('one') })
  expect(await store.readSnapshot('s', 1)).toMatchObject({ session: session('two') })
  expect(stored()).toHaveLength(6)
  expect(await store.prune({ keepMs: 150_000 })).toBe(1)
  expect(await store.readSnapshot('s', 1)).toBeUndefined()
  expect(await store.readSnapshot('s', 2)).toMatchObject({ session: session('three') })
  expect(await logged(store, 3)).toEqual(['three'])
  expect(await store.prune({ keepMs: 150_000 })).toBe(0)
  expect(await store.prune({ keepMs: 50_000 })).toBe(1)
  expect(await store.readEvents('s', {})).toEqual([])
  expect(await store.load('s')).toMatchObject({ session: session('three!'), version: 6 })
  expect(stored()).toHaveLength(2)
})

test('a key that version 0.2 stored, without a digest, fits every command', async () => {
  const store = make()
  await store.push('s', send('one'), { key: 'k' })
  const place = join(folder, 's')
  for (const name of readdirSync(place)) {
    const text = readFileSync(join(place, name), 'utf8')
    const old = text.replace(/\["k",(\d+),"[0-9a-f]+"\]/, '["k",$1]')
    expect(old).not.toBe(text)
    writeFileSync(join(place, name), old)
  }
  expect(await store.knowsKey('s', 'k', send('two'))).toBe(true)
  expect(await store.push('s', send('two'), { key: 'k' })).toBe(false)
  // It stays so in what is written next.
  await store.push('s', send('two'), { key: 'new' })
  expect(await store.push('s', send('three'), { key: 'k' })).toBe(false)
  await expect(store.push('s', send('three'), { key: 'new' })).rejects.toMatchObject({
    reason: 'key_reused',
  })
})

describe('a clock that is set back', () => {
  const hour = 3_600_000

  test('does not keep a lease beyond its time', async () => {
    const store = make()
    await store.push('s', send('hi'))
    await taken(store)
    now -= hour
    expect(await store.due({ limit: 9 })).toEqual(['s'])
    expect((await store.look('s'))?.dueAt).toBe(now)
    expect((await store.claim({ owner: 'next', ttlMs: 500 }))?.id).toBe('s')
    expect((await store.look('s'))?.owner).toBe('next')
    now += 499
    expect(await store.acquire('s', owner)).toBeUndefined()
    now += 1
    expect(await store.acquire('s', owner)).toBeDefined()
  })

  test('does not keep a lease that was renewed beyond its time', async () => {
    const store = make()
    const lease = await taken(store)
    now += 5000
    await store.renew('s', lease, 10_000)
    now -= hour
    expect(await make().acquire('s', owner)).toBeDefined()
  })

  test('by a little does not end a lease, and a renewal counts from the new time', async () => {
    const store = make()
    const lease = await taken(store)
    now -= 900
    expect(await make().acquire('s', owner)).toBeUndefined()
    expect(await store.due({ limit: 9 })).toEqual([])
    now -= hour
    expect(await store.renew('s', lease, 10_000)).toBe(true)
    expect(await make().acquire('s', owner)).toBeUndefined()
    now += 10_000
    expect(await make().acquire('s', owner)).toBeDefined()
  })

  test('does not delay a command', async () => {
    const store = make()
    await store.push('s', send('hi'))
    now -= hour
    expect(await store.due({ limit: 9 })).toEqual(['s'])
    expect((await store.claim(owner))?.lease.wakeInMs).toBeUndefined()
  })

  test('makes a session that sleeps sleep as long as it wanted to, and no longer', async () => {
    const store = make()
    await store.save(session())
    await store.release('s', await taken(store), { wakeInMs: 5000 })
    now += 1000 - hour
    const claimed = await store.claim(owner)
    expect(claimed?.lease.wakeInMs).toBe(5000)
    // A run that is woken too early gives it back like this.
    await store.release('s', claimed?.lease ?? { token: 0, expiresAt: 0 }, { wakeInMs: 5000 })
    expect(await store.claim(owner)).toBeUndefined()
    now += 5000
    expect((await store.claim(owner))?.lease.wakeInMs).toBeUndefined()
  })

  test('cannot help with a lease of version 0.2, which did not write when it was taken', async () => {
    const store = make()
    await taken(store)
    const place = join(folder, 's')
    for (const name of readdirSync(place)) {
      const text = readFileSync(join(place, name), 'utf8')
      const old = text.replace(/,"dueFrom":\d+/, '')
      expect(old).not.toBe(text)
      writeFileSync(join(place, name), old)
    }
    expect(await store.acquire('s', owner)).toBeUndefined()
    now += 10_000
    expect(await store.acquire('s', owner)).toBeDefined()
  })
})

// Windows has no such permissions.
describe.skipIf(process.platform === 'win32')('conversations are private', () => {
  const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8)

  test('folders and files that a store makes are for their owner only', async () => {
    const own = join(folder, 'data', 'sessions')
    const store = fileStore(own, { clock })
    await store.push('s', send('x'.repeat(6000)))
    const lease = await taken(store)
    await store.save(session(), { lease, events: [delta('a')], first: true })
    await store.append('s', [delta('b')], { lease })
    const paths = readdirSync(own, { recursive: true, encoding: 'utf8' })
    const kinds = ['json', 'log', 'command']
    expect(kinds.filter((kind) => paths.some((path) => path.endsWith(`.${kind}`)))).toEqual(kinds)
    for (const path of [own, dirname(own), ...paths.map((name) => join(own, name))]) {
      expect([path, modeOf(path)]).toEqual([path, statSync(path).isDirectory() ? '700' : '600'])
    }
  })

  test('a folder that exists stays as it is', async () => {
    const own = join(folder, 'shared')
    mkdirSync(own)
    chmodSync(own, 0o775)
    await fileStore(own, { clock }).save(session())
    expect(modeOf(own)).toBe('775')
    expect(modeOf(join(own, 's'))).toBe('700')
  })
})

describe('many events that came in one batch', () => {
  /** How much is parsed and read when all events of a batch are read in pages, for each character of the log. */
  async function effort(count: number, act: 'append' | 'save') {
    let bytes = 0
    const counting: StoreFiles = {
      ...unsynced,
      open: async (path, flags) => {
        const file = await unsynced.open(path, flags)
        return {
          ...file,
          read: async (...args) => {
            const result = await file.read(...args)
            bytes += result.bytesRead
            return result
          },
        }
      },
    }
    const own = join(folder, `${act}-${count}`)
    const store = fileStore(own, { clock, files: counting })
    const events = Array.from({ length: count }, (_, index) => delta(`piece ${index}`))
    const size = JSON.stringify(events).length
    const lease = await taken(store)
    await store.push('s', send('go'))
    if (act === 'append') await store.append('s', events, { lease })
    else await store.save(session(), { lease, events, taken: 1, first: true })

    bytes = 0
    let parsed = 0
    const parse = JSON.parse
    const spy = vi.spyOn(JSON, 'parse').mockImplementation((text, reviver) => {
      parsed += text.length
      return parse(text, reviver) as unknown
    })
    const texts: string[] = []
    try {
      for (let after = 0; after < count;) {
        const page = await store.readEvents('s', { after, limit: 500 })
        for (const entry of page) {
          if ('event' in entry && entry.event.type === 'text_delta') texts.push(entry.event.delta)
          after = entry.id
        }
      }
    } finally {
      spy.mockRestore()
    }
    expect(texts).toEqual(events.map((event) => event.type === 'text_delta' && event.delta))
    return { parsed: parsed / size, bytes: bytes / size }
  }

  test.each(['append', 'save'] as const)('of %s are read in linear time', async (act) => {
    const [few, many] = [await effort(10_000, act), await effort(40_000, act)]
    expect(many.parsed).toBeLessThan(4)
    // A search in a longer log has some more steps.
    expect(many.bytes).toBeLessThan(2 * few.bytes)
  })

  test('are one write: a command that was taken with them comes before all of them', async () => {
    const store = make()
    await store.push('s', send('one'))
    const lease = await taken(store)
    const events = Array.from({ length: 3000 }, (_, index) => delta(`piece ${index}`))
    await store.save(session(), { lease, events, taken: 1 })
    const log = await store.readEvents('s', { commands: true })
    expect(log).toHaveLength(3001)
    expect(log[0]).toMatchObject({ id: 1, command: send('one') })
    expect(await store.readEvents('s', { commands: true, after: 2000 })).toHaveLength(1000)
    expect(stored().filter((name) => name.endsWith('.log'))).toHaveLength(1)
  })
})
