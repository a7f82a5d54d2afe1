import { spawn, type ChildProcess } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Session } from '../../../src/index.ts'
import { fileStore } from '../../../src/stores.ts'
import { programOnSources } from '../../support/on-sources.ts'

const program = await programOnSources(new URL('writer.mjs', import.meta.url))

let folder: string
let writers: Writer[]

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'allm-store-'))
  writers = []
})

afterEach(() => {
  for (const { child } of writers) child.kill('SIGKILL')
  rmSync(folder, { recursive: true })
})

interface Command {
  readonly id: string
  readonly by: string
  readonly ifVersion?: number
  /** The operation before which the process is stopped, and how. */
  readonly at?: number
  readonly signal?: 'SIGKILL' | 'SIGSTOP'
}

interface Writer {
  readonly child: ChildProcess
  send(command: Command): void
  /** The next line that the process prints; `undefined` when it has ended. */
  next(): Promise<Record<string, unknown> | undefined>
}

/** Starts a process that saves on demand. */
function writer(): Writer {
  const child = spawn(process.execPath, [program, folder], { stdio: ['pipe', 'pipe', 'inherit'] })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const started: Writer = {
    child,
    send: (command) => child.stdin.write(`${JSON.stringify(command)}\n`),
    next: async () => {
      const line = await lines.next()
      return line.done === true ? undefined : (JSON.parse(line.value) as Record<string, unknown>)
    },
  }
  writers.push(started)
  return started
}

/** Every file of the store. */
function stored(): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((item) => item.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(folder.length + 1))
    .toSorted()
}

/** What killed writers of this version and of 0.1.0 leave for a session that does not exist yet. */
function plantRemains(id: string): void {
  const progress = join(folder, '.tmp', `${id}.00000000000000000000000000000000`)
  mkdirSync(progress, { recursive: true })
  writeFileSync(join(progress, '1.000000000000.json'), '{"id":"half')
  writeFileSync(join(folder, `${id}.json.lock`), '')
  writeFileSync(join(folder, `${id}.json.0d3ad6f7.new`), '{"version":1,"sess')
}

test('of five processes that make a session at once, one succeeds, in each of 60 rounds, also among the remains of dead ones', async () => {
  const processes = Array.from({ length: 5 }, writer)
  const store = fileStore(folder)
  for (let round = 0; round < 60; round++) {
    const id = `s${round}`
    if (round % 2 === 1) plantRemains(id)
    processes.forEach((process, index) => process.send({ id, by: `p${index}`, ifVersion: 0 }))
    const outcomes = await Promise.all(processes.map((process) => process.next()))
    const winners = outcomes.flatMap((outcome, index) =>
      outcome?.['version'] === 1 ? [`p${index}`] : [],
    )
    expect(winners, `round ${round}: ${JSON.stringify(outcomes)}`).toHaveLength(1)
    expect(
      outcomes.filter((outcome) => outcome?.['reason'] === 'stale'),
      `round ${round}: ${JSON.stringify(outcomes)}`,
    ).toHaveLength(4)
    const found = await store.load(id)
    expect([found?.version, found?.session.metadata]).toEqual([1, { by: winners[0] }])
  }
  expect(stored().filter((path) => !/^s\d+\/1\.[0-9a-f]{12}\.json$/.test(path))).toEqual(
    // What 0.1.0 left is not looked for unless there is a session of 0.1.0.
    Array.from({ length: 60 }, (_, round) => `s${round}.json`)
      .filter((_, round) => round % 2 === 1)
      .flatMap((name) => [`${name}.0d3ad6f7.new`, `${name}.lock`])
      .toSorted(),
  )
})

test('saves of five processes at once all count, and one file stays', async () => {
  const processes = Array.from({ length: 5 }, writer)
  for (let round = 0; round < 8; round++) {
    processes.forEach((process, index) => process.send({ id: 's', by: `p${index}` }))
    const outcomes = await Promise.all(processes.map((process) => process.next()))
    const versions = outcomes.map((outcome) => Number(outcome?.['version']))
    expect(versions.toSorted((left, right) => left - right)).toEqual(
      Array.from({ length: 5 }, (_, index) => round * 5 + index + 1),
    )
  }
  expect(stored()).toHaveLength(1)
})

/** Operations of a save, from its first look to its last removal. */
const moments = [6, 9, 11, 12, 15]

test.each(['first', 'later'] as const)(
  'a process that is killed in the middle of a %s save costs no update and no time, and its remains are removed',
  async (which) => {
    const store = fileStore(folder)
    for (const at of moments) {
      const id = `s${at}`
      if (which === 'later') await store.save(Session.create({ id, metadata: { by: 'me' } }))
      const before = (await store.load(id))?.version ?? 0
      const victim = writer()
      victim.send({ id, by: 'victim', ifVersion: before, at, signal: 'SIGKILL' })
      const stop = await victim.next()
      expect(stop?.['stoppedBefore'], `operation ${at}`).toBeTypeOf('string')
      await victim.next()
      const found = await store.load(id)
      const made = found?.version === before + 1
      expect(found?.session.metadata).toEqual(
        made ? { by: 'victim' } : before === 0 ? undefined : { by: 'me' },
      )
      const version = await store.save(Session.create({ id }), { ifVersion: found?.version ?? 0 })
      expect(version).toBe((found?.version ?? 0) + 1)
      expect(stored().filter((path) => path.includes(id))).toHaveLength(1)
      await store.delete(id)
    }
    expect(readdirSync(folder)).toEqual([])
  },
)

test.each(['first', 'later'] as const)(
  'a process that is paused in the middle of a %s save, for however long, blocks nobody and never costs an update',
  async (which) => {
    const store = fileStore(folder)
    const paused = writer()
    for (const at of [1, 2, 3, 5, 7, 8, 10, 13, 14, 16, 17, ...moments]) {
      const id = `s${at}`
      if (which === 'later') await store.save(Session.create({ id, metadata: { by: 'me' } }))
      const before = (await store.load(id))?.version ?? 0
      paused.send({ id, by: 'paused', ifVersion: before, at, signal: 'SIGSTOP' })
      expect(await paused.next(), `operation ${at}`).toHaveProperty('stoppedBefore')
      const found = await store.load(id)
      let version = found?.version ?? 0
      // Twice, so that the number that the paused process wants is taken and removed again.
      for (const by of ['one', 'two']) {
        const session = Session.create({ id, metadata: { by } })
        version = await store.save(session, { ifVersion: version })
      }
      paused.child.kill('SIGCONT')
      const outcome = await paused.next()
      const made = found?.version === before + 1
      expect(outcome, `operation ${at}`).toMatchObject(
        made ? { version: before + 1 } : { reason: 'stale' },
      )
      const last = await store.load(id)
      expect([last?.version, last?.session.metadata], `operation ${at}`).toEqual([
        version,
        { by: 'two' },
      ])
      expect(stored().filter((path) => path.includes(id))).toHaveLength(1)
    }
  },
)
