import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { fileStore } from '../../../src/stores.ts'
import { programOnSources } from '../../support/on-sources.ts'

const program = await programOnSources(new URL('run-worker.mjs', import.meta.url))

let folder: string
let workers: ChildProcess[]

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'allm-store-'))
  workers = []
})

afterEach(() => {
  for (const worker of workers) worker.kill('SIGKILL')
  rmSync(folder, { recursive: true })
})

/** Starts a process. Resolves with how it ended, or when it has stopped itself. */
function start(...args: readonly (string | number)[]): Promise<string> {
  const child = spawn(process.execPath, [program, folder, ...args.map(String)], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  workers.push(child)
  let errors = ''
  child.stderr.on('data', (data) => (errors += String(data)))
  return new Promise((resolve) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (line.includes('stopped')) resolve('stopped')
    })
    child.on('close', (code, signal) =>
      resolve(signal ?? (errors === '' ? `exit ${code}` : errors)),
    )
  })
}

const pushers = ['a', 'b', 'c']
const each = 15

test('commands of several processes are applied once and in order by several owners, some of which die or sleep', async () => {
  const goal = pushers.length * each
  const given = pushers.map((name) => start('push', name, each))
  // Each stops at another operation, from its first look to the end of a lease.
  const victims = [40, 55, 70, 85, 100, 115, 130, 145].map((at, index) =>
    start('own', `v${index}`, goal, at, index % 3 === 2 ? 'SIGSTOP' : 'SIGKILL'),
  )
  const owners = ['x', 'y'].map((name) => start('own', name, goal))
  for (const outcome of await Promise.all([...given, ...owners])) expect(outcome).toBe('exit 0')
  const ends = await Promise.all(victims)
  expect(ends.filter((end) => !['stopped', 'SIGKILL', 'exit 0'].includes(end))).toEqual([])
  // Those that sleep go on after all was done, and find that it was.
  for (const worker of workers) worker.kill('SIGCONT')
  for (const worker of workers) {
    if (worker.exitCode !== null || worker.signalCode !== null) continue
    await new Promise((resolve) => worker.on('close', resolve))
  }

  const store = fileStore(folder)
  const entries = await store.readEvents('s', { commands: true })
  const commands = entries.flatMap((entry) => ('command' in entry ? [entry] : []))
  const events = entries.flatMap((entry) => ('event' in entry ? [entry] : []))
  expect(commands.map(({ id }) => id)).toEqual(commands.map((_, index) => index + 1))
  expect(events.map(({ id }) => id)).toEqual(events.map((_, index) => index + 1))
  const words = commands.map(({ command }) =>
    command.type === 'send' && typeof command.content === 'string' ? command.content.trim() : '?',
  )
  for (const name of pushers) {
    expect(words.filter((word) => word.startsWith(name))).toEqual(
      Array.from({ length: each }, (_, index) => `${name}.${index + 1}`),
    )
  }
  expect(words).toHaveLength(goal)
  const { session } = (await store.load('s')) ?? {}
  expect(session?.metadata['words']).toEqual(words)
  const texts = events.map(({ event }) => (event.type === 'text_delta' ? event.delta : '?'))
  expect(texts.filter((text) => !text.startsWith('by '))).toEqual(words)

  // Nothing is left behind after the next write.
  await store.save({ ...session, id: 's' } as never)
  expect(unneeded()).toEqual([])
  expect(readdirSync(folder)).toEqual(['s'])
})

/** The files of the session that the newest entry does not name. */
function unneeded(): readonly string[] {
  const names = readdirSync(join(folder, 's'))
  const [newest = ''] = names
    .filter((name) => name.endsWith('.json'))
    .toSorted((left, right) => Number.parseInt(right) - Number.parseInt(left))
  const [line = ''] = readFileSync(join(folder, 's', newest), 'utf8').split('\n', 1)
  return names.filter((name) => name !== newest && !line.includes(name))
}
