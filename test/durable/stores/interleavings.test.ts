import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import * as nodeFiles from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isAllmError, Session } from '../../../src/index.ts'
import {
  fileStore,
  type SessionStore,
  type StoreFile,
  type StoreFiles,
} from '../../../src/stores.ts'

/** A process that does one file operation at a time, when it is told to. */
interface Process {
  readonly store: SessionStore
  /** Lets the next operation happen. Returns `false` when none is waiting. */
  step(): Promise<boolean>
}

/** The files that are open. A process that dies does not close its files; the end of a world does. */
const opened = new Set<nodeFiles.FileHandle>()

/**
 * The disk as several processes see it: every operation of the file system waits until the schedule lets it happen.
 * Syncing is left out, since nothing loses power here.
 */
function process(folder: string): Process {
  const waiting: (() => Promise<void>)[] = []
  // Reading and closing take no turn: they belong to the step that began them.
  const running = new Set<Promise<unknown>>()
  const atOnce = <Result>(work: Promise<Result>): Promise<Result> => {
    const ended = work.finally(() => running.delete(ended))
    running.add(ended)
    return ended
  }
  const turn =
    <Args extends readonly unknown[], Result>(work: (...args: Args) => Promise<Result>) =>
    (...args: Args): Promise<Result> =>
      new Promise((resolve, reject) => {
        waiting.push(() => work(...args).then(resolve, reject))
      })
  const files: StoreFiles = {
    mkdir: turn((path: string, options: { readonly recursive: true }) =>
      nodeFiles.mkdir(path, options),
    ),
    readdir: turn((path: string) => nodeFiles.readdir(path)),
    readFile: turn((path: string) => nodeFiles.readFile(path, 'utf8')),
    link: turn(nodeFiles.link),
    rename: turn(nodeFiles.rename),
    rm: turn(nodeFiles.rm),
    rmdir: turn((path: string) => nodeFiles.rmdir(path)),
    stat: turn((path: string) => nodeFiles.stat(path)),
    open: turn(async (path: string, flags: string) => {
      const file = await nodeFiles.open(path, flags)
      opened.add(file)
      return {
        read: (...args) => atOnce(file.read(...args)),
        write: turn((...args: Parameters<StoreFile['write']>) => file.write(...args)),
        writeFile: turn((data: string) => file.writeFile(data)),
        sync: () => Promise.resolve(),
        close: () => {
          opened.delete(file)
          return atOnce(file.close())
        },
      }
    }),
  }
  return {
    store: fileStore(folder, { files }),
    async step() {
      const next = waiting.shift()
      await next?.()
      do {
        await Promise.allSettled(running)
        await new Promise((resolve) => setImmediate(resolve))
      } while (running.size > 0)
      return next !== undefined
    },
  }
}

type Plan = 'add' | 'add_always' | 'delete' | 'die'

interface World {
  readonly plans: readonly (readonly Plan[])[]
  /** Which process goes next, and for how many operations. */
  readonly schedule: readonly (readonly [number, number])[]
  readonly old: boolean
}

const plan = (...kinds: readonly Plan[]): fc.Arbitrary<readonly Plan[]> =>
  fc.array(fc.constantFrom(...kinds), { minLength: 1, maxLength: 3 })

function worlds(plans: fc.Arbitrary<readonly Plan[]>): fc.Arbitrary<World> {
  return fc.record({
    plans: fc.array(plans, { minLength: 2, maxLength: 4 }),
    schedule: fc.array(fc.tuple(fc.nat(3), fc.integer({ min: 1, max: 25 })), {
      minLength: 5,
      maxLength: 40,
    }),
    old: fc.boolean(),
  })
}

/** Plays a world to its end. Returns the words that were saved for certain, and those whose process died in the save. */
async function play(folder: string, { plans, schedule, old }: World) {
  if (old) {
    const first = Session.create({ id: 's', metadata: { words: ['old'] } })
    writeFileSync(join(folder, 's.json'), `{"version":3,"session":${Session.stringify(first)}}`)
  }
  const certain: string[] = old ? ['old'] : []
  const uncertain: string[] = []
  const surprises: unknown[] = []
  const actors = plans.map((steps, index) => {
    const actor = process(folder)
    const state = { ended: false, ...actor }
    const act = async (): Promise<void> => {
      for (const [at, kind] of steps.entries()) {
        const word = `${index}.${at}`
        if (kind === 'delete') {
          await actor.store.delete('s')
          continue
        }
        const loaded = await actor.store.load('s')
        const words = [...((loaded?.session.metadata['words'] as string[] | undefined) ?? []), word]
        const session = Session.create({ id: 's', metadata: { words } })
        uncertain.push(word)
        try {
          if (kind === 'add_always') await actor.store.save(session)
          else await actor.store.save(session, { ifVersion: loaded?.version ?? 0 })
          certain.push(word)
        } catch (error) {
          if (!isAllmError(error) || error.reason !== 'stale') throw error
        }
        uncertain.splice(uncertain.indexOf(word), 1)
      }
    }
    act()
      .catch((error: unknown) => surprises.push(error))
      .finally(() => (state.ended = true))
    return state
  })
  for (const [index, count] of schedule) {
    const actor = actors[index % actors.length]
    if (plans[index % actors.length]?.includes('die') === true && count > 20) continue
    for (let step = 0; step < count; step++) await actor?.step()
  }
  // Whoever is left goes on, in turn; a process that dies stays where it is.
  const living = actors.filter((_, index) => plans[index]?.includes('die') !== true)
  for (let step = 0; living.some(({ ended }) => !ended) && step < 20_000; step++) {
    await living[step % living.length]?.step()
  }
  expect(living.every(({ ended }) => ended)).toBe(true)
  return { certain, uncertain, surprises }
}

async function inFolder(check: (folder: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'allm-store-'))
  try {
    await check(folder)
  } finally {
    for (const file of opened) await file.close()
    opened.clear()
    rmSync(folder, { recursive: true })
  }
}

test('whatever the order of their operations, and whoever dies, processes lose no update and block nobody', async () => {
  await fc.assert(
    fc.asyncProperty(worlds(plan('add', 'add', 'add', 'die')), (world) =>
      inFolder(async (folder) => {
        const { certain, uncertain, surprises } = await play(folder, world)
        expect(surprises).toEqual([])
        const store = fileStore(folder)
        const found = await store.load('s')
        const words = (found?.session.metadata['words'] as string[] | undefined) ?? []
        expect(words.filter((word) => !uncertain.includes(word)).toSorted()).toEqual(
          certain.toSorted(),
        )
        expect(new Set(words).size).toBe(words.length)
        // The next save leaves one file, whoever died before.
        const version = await store.save(Session.create({ id: 's' }))
        expect(version).toBe((found?.version ?? 0) + 1)
        expect(readdirSync(folder)).toEqual(['s'])
        expect(readdirSync(join(folder, 's'))).toHaveLength(1)
      }),
    ),
    { numRuns: 60 },
  )
})

test('with deletions and saves without a version among them, nothing fails and what is there is whole', async () => {
  await fc.assert(
    fc.asyncProperty(worlds(plan('add', 'add_always', 'delete', 'die')), (world) =>
      inFolder(async (folder) => {
        const { surprises } = await play(folder, world)
        expect(surprises).toEqual([])
        const store = fileStore(folder)
        const found = await store.load('s')
        const rows = await store.list()
        expect(rows.map(({ id, version }) => [id, version])).toEqual(
          found === undefined ? [] : [['s', found.version]],
        )
        expect(await store.save(Session.create({ id: 's' }))).toBe((found?.version ?? 0) + 1)
        expect(readdirSync(folder)).toEqual(['s'])
        expect(readdirSync(join(folder, 's'))).toHaveLength(1)
        await store.delete('s')
        expect(readdirSync(folder)).toEqual([])
      }),
    ),
    { numRuns: 60 },
  )
})

test('a process that pauses while it cleans up does not touch a session that was deleted and made again', async () => {
  await inFolder(async (folder) => {
    const store = fileStore(folder)
    await store.save(Session.create({ id: 's' }))
    const paused = process(folder)
    const saved: unknown[] = []
    const save = paused.store.save(Session.create({ id: 's' })).then(
      (version) => saved.push(version),
      (error: unknown) => saved.push(error),
    )
    const isLinked = (): boolean =>
      readdirSync(join(folder, 's')).some((name) => /^2\.[0-9a-f]+\.json$/.test(name))
    for (let step = 0; !isLinked() && step < 1000; step++) await paused.step()
    await store.delete('s')
    await store.save(Session.create({ id: 's', metadata: { life: 'second' } }))
    for (let step = 0; saved.length === 0 && step < 1000; step++) await paused.step()
    await save
    expect(saved).toEqual([2])
    expect((await store.load('s'))?.session.metadata).toEqual({ life: 'second' })
  })
})
