import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createEngine, Session, user, type StreamEvent } from '../../../src/index.ts'
import { createRuns, type Runs } from '../../../src/runs.ts'
import { fileStore } from '../../../src/stores.ts'
import { fake } from '../../../src/testing.ts'

let folder: string
let open: Runs[]

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'allm-damage-'))
  open = []
})

afterEach(async () => {
  for (const runs of open) await runs.close()
  rmSync(folder, { recursive: true })
})

/** Another process. */
function make(): Runs {
  const engine = createEngine({ adapter: fake({ script: () => ['Hi.'] }) })
  const runs = createRuns({ engine, store: fileStore(folder), onError: () => undefined })
  open.push(runs)
  return runs
}

/** The file of the session `s` whose name ends so. */
function fileOf(end: string): string {
  const name = readdirSync(join(folder, 's')).find((file) => file.endsWith(end))
  if (name === undefined) throw new Error(`no ${end}`)
  return join(folder, 's', name)
}

const damages: Readonly<Record<string, (path: string) => void>> = {
  'was cut': (path) => truncateSync(path, 10),
  'is full of zeros': (path) => writeFileSync(path, Buffer.alloc(statSync(path).size)),
  'ends with zeros': (path) => {
    const size = statSync(path).size
    truncateSync(path, size - 30)
    truncateSync(path, size)
  },
}

async function followed(runs: Runs, after = 0): Promise<number> {
  const ids: number[] = []
  for await (const { id } of runs.follow('s', { after })) ids.push(id)
  return ids.length
}

describe.each(Object.entries(damages))('a log that %s', (_name, damage) => {
  test('is unreadable, and the path and what to do are said; a session that was saved after it goes on', async () => {
    const first = make()
    await first.send('s', 'one')
    const { session } = await first.wait('s')
    const before = (await first.get('s'))?.lastEventId
    await first.close()
    const path = fileOf('.log')
    damage(path)
    const runs = make()
    const unreadable = { reason: 'unreadable', message: expect.stringContaining(path) as string }
    const store = fileStore(folder)
    await expect(followed(runs)).rejects.toMatchObject(unreadable)
    await expect(followed(runs)).rejects.toThrow(/restore it from a backup; or load the session/)
    await expect(store.readEvents('s', {})).rejects.toMatchObject(unreadable)
    await expect(store.readEvents('s', { commands: true })).rejects.toMatchObject(unreadable)
    await runs.send('s', 'two')
    const rested = await runs.wait('s')
    expect(rested.session).toMatchObject({ status: 'completed' })
    expect(rested.session.thread.messages).toHaveLength(session.thread.messages.length + 2)
    expect(rested.result.outputText).toBe('Hi.')
    expect(await followed(runs, before)).toBeGreaterThan(0)
    // What was damaged is not copied into another file, where it would be nobody's.
    await expect(followed(runs)).rejects.toMatchObject(unreadable)
  })

  test('and has what was not saved: send stores nothing, and wait does not hang', async () => {
    const dead = fileStore(folder)
    const lease = await dead.acquire('s', { owner: 'dead', ttlMs: 60_000 })
    if (lease === undefined) throw new Error('no lease')
    await dead.save(Session.create({ id: 's', messages: [user('go')] }), { lease })
    const events: StreamEvent[] = ['a', 'b', 'c'].map((delta) => ({ type: 'text_delta', delta }))
    await dead.append('s', events, { lease })
    const path = fileOf('.log')
    damage(path)
    const runs = make()
    const unreadable = { reason: 'unreadable', message: expect.stringContaining(path) as string }
    await expect(runs.send('s', 'two')).rejects.toMatchObject(unreadable)
    expect(await fileStore(folder).readInbox('s')).toEqual([])
    await expect(runs.wait('s')).rejects.toMatchObject(unreadable)
    await expect(runs.get('s')).rejects.toMatchObject(unreadable)
    await expect(followed(runs)).rejects.toMatchObject(unreadable)
  })
})

test('a log that is lost is unreadable, and a session that was saved after it goes on', async () => {
  const first = make()
  await first.send('s', 'one')
  await first.wait('s')
  rmSync(fileOf('.log'))
  for (const runs of [first, make()]) {
    await expect(followed(runs)).rejects.toThrow(/lacks a file .* restore the folder/)
    await runs.send('s', 'more')
    expect((await runs.wait('s')).session.status).toBe('completed')
  }
})

test('a command or a session of zeros is unreadable, with the path, and wait does not hang', async () => {
  const store = fileStore(folder)
  await store.save(Session.create({ id: 's', messages: [user('go')] }))
  await store.push('s', { type: 'send', content: 'x'.repeat(5000) })
  const command = fileOf('.command')
  writeFileSync(command, Buffer.alloc(5000))
  await expect(store.readInbox('s')).rejects.toMatchObject({ reason: 'unreadable' })
  await expect(make().wait('s')).rejects.toThrow(command)
  const saved = fileOf('.json')
  const [line = ''] = readFileSync(saved, 'utf8').split('\n')
  writeFileSync(saved, `${line}\n${'\0'.repeat(500)}`)
  await expect(store.load('s')).rejects.toMatchObject({ reason: 'unreadable' })
  await expect(make().wait('s')).rejects.toThrow(saved)
})
