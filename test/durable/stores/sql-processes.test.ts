import { spawn } from 'node:child_process'
import { describe, expect, test } from 'vitest'
import type { RunStore } from '../../../src/stores.ts'
import { programOnSources } from '../../support/on-sources.ts'
import * as postgres from './postgres.ts'
import * as sqlite from './sqlite.ts'

const program = await programOnSources(new URL('sql-worker.mjs', import.meta.url))
const processes = 4
const sessions = 3
const commands = 12

describe.skipIf(postgres.reasonToSkip !== undefined)(
  `postgresStore${postgres.reasonToSkip ?? ''}`,
  () => {
    test('processes share the work: every command once and in order, events without gaps, nothing under an old lease', async () => {
      const place = await postgres.createPlace('pg')
      try {
        const told = await workTogether('postgres', `${postgres.serverUrl}#${place.schema}`)
        await expectSound(place.connect(), told)
      } finally {
        await place.remove()
      }
    })
  },
)

const [driver] = sqlite.drivers

describe.skipIf(driver?.missing)(`sqliteStore on ${driver?.title}`, () => {
  test.each(['wal', 'delete'] as const)(
    'processes share the work: every command once and in order, events without gaps, nothing under an old lease (journal_mode %s)',
    async (mode) => {
      if (driver === undefined) return
      const place = sqlite.createPlace(driver.open, mode)
      try {
        const told = await workTogether('sqlite', place.file)
        await expectSound(place.connect(), told)
      } finally {
        place.remove()
      }
    },
  )
})

/** What a process tells at its end. */
interface Told {
  readonly tokens: readonly number[]
  readonly applied: readonly string[]
  readonly appended: number
  readonly refused: number
  readonly problems: readonly string[]
}

async function workTogether(kind: string, place: string): Promise<readonly Told[]> {
  const runs = Array.from({ length: processes }, async (_, index) => {
    const args = [program, kind, place, `p${index}`, String(sessions), String(commands)]
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    let output = ''
    for await (const chunk of child.stdout) output += String(chunk)
    return JSON.parse(output) as Told
  })
  return Promise.all(runs)
}

async function expectSound(store: RunStore, told: readonly Told[]): Promise<void> {
  expect(told.flatMap(({ problems }) => problems)).toEqual([])
  const tokens = told.flatMap((one) => one.tokens)
  expect(new Set(tokens).size).toBe(tokens.length)
  const wanted = Array.from({ length: sessions }, (_, index) => `s${index}`).flatMap((id) =>
    Array.from({ length: commands }, (_, number) => `${id}/${number}`),
  )
  expect(told.flatMap(({ applied }) => applied).toSorted()).toEqual(wanted.toSorted())
  let events = 0
  for (let index = 0; index < sessions; index++) {
    const id = `s${index}`
    const log = await store.readEvents(id, { commands: true })
    const numbers = log.flatMap((entry) => ('event' in entry ? [entry.id] : []))
    expect(numbers).toEqual(numbers.map((_, number) => number + 1))
    events += numbers.length
    const given = log.flatMap((entry) =>
      'command' in entry && entry.command.type === 'send' ? [entry.command.content] : [],
    )
    expect(given).toEqual(Array.from({ length: commands }, (_, number) => `${id}/${number}`))
    const state = await store.look(id)
    expect(state).toMatchObject({ running: false, queued: 0, lastCommandId: commands })
    // Each owner wrote three events and one version.
    expect(state?.lastEventId).toBe(3 * (state?.version ?? 0))
  }
  expect(events).toBe(told.reduce((sum, { appended }) => sum + appended, 0))
}
