import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, describe, expect, test } from 'vitest'
import type { SessionCommand } from '../../../src/index.ts'
import { fileStore, type RunStore } from '../../../src/stores.ts'
import { programOnSources } from '../../support/on-sources.ts'
import * as postgres from './postgres.ts'
import * as redis from './redis.ts'
import * as sqlite from './sqlite.ts'

const program = await programOnSources(new URL('slot-worker.mjs', import.meta.url))
const foundRedis = await redis.findRedis()
const [driver] = sqlite.drivers
const rounds = 40

const approve: SessionCommand = { type: 'approve', toolCallId: 'c' }
const deny: SessionCommand = { type: 'deny', toolCallId: 'c', reason: 'no' }

const closings: (() => unknown)[] = []

afterEach(async () => {
  for (const close of closings.splice(0).toReversed()) await close()
})

/** A process that pushes a command when it is told to. */
interface Worker {
  push(id: string, command: SessionCommand): Promise<unknown>
}

function worker(kind: string, place: string): Worker {
  const child: ChildProcess = spawn(process.execPath, [program, kind, place], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  closings.push(() => child.kill('SIGKILL'))
  const { stdin, stdout } = child
  if (stdin === null || stdout === null) throw new Error('the process has no pipes')
  const lines = createInterface({ input: stdout })[Symbol.asyncIterator]()
  return {
    push: async (id, command) => {
      stdin.write(`${JSON.stringify({ id, command, slot: 'c' })}\n`)
      const line = await lines.next()
      return line.done === true ? 'the process has ended' : (JSON.parse(line.value) as unknown)
    },
  }
}

/** Two processes decide the same call, again and again, each in another session. */
async function decide(kind: string, place: string, store: RunStore): Promise<void> {
  const [first, second] = [worker(kind, place), worker(kind, place)]
  // Both are connected before they compete.
  for (const process of [first, second]) await process.push('warm', { type: 'resume' })
  const winners = new Set<unknown>()
  for (let round = 0; round < rounds; round++) {
    const id = `s${round}`
    // One is told a little before the other, in turn.
    const early = round % 2 === 0 ? [first, second] : [second, first]
    const given = round % 4 < 2 ? [approve, deny] : [deny, approve]
    const outcomes = await Promise.all(
      early.map((process, index) => process.push(id, given[index] ?? approve)),
    )
    const inbox = await store.readInbox(id)
    expect(inbox, id).toHaveLength(1)
    const [won] = inbox
    winners.add(won?.command.type)
    expect(
      outcomes.filter((outcome) => outcome === true),
      id,
    ).toHaveLength(1)
    expect(won?.command, id).toEqual(given[outcomes.indexOf(true)])
    expect(outcomes.find((outcome) => outcome !== true)).toEqual({ taken: false, ...won })
  }
  expect(winners).toEqual(new Set(['approve', 'deny']))
}

const claim =
  'of two processes that approve and deny one call at the same time one wins, and the other is given its command'

describe('fileStore', () => {
  test(claim, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'allm-store-'))
    closings.push(() => rmSync(folder, { recursive: true }))
    await decide('file', folder, fileStore(folder))
  })
})

describe.skipIf(driver?.missing)(`sqliteStore on ${driver?.title}`, () => {
  test(claim, async () => {
    if (driver === undefined) return
    const place = sqlite.createPlace(driver.open)
    closings.push(() => place.remove())
    const store = place.connect()
    await store.migrate()
    await decide('sqlite', place.file, store)
  })
})

describe.skipIf(postgres.reasonToSkip !== undefined)(
  `postgresStore${postgres.reasonToSkip ?? ''}`,
  () => {
    test(claim, async () => {
      const place = await postgres.createPlace('pg')
      closings.push(() => place.remove())
      await decide('postgres', `${postgres.serverUrl}#${place.schema}`, place.connect())
    })
  },
)

const whyNot = 'missing' in foundRedis ? ` (skipped: ${foundRedis.missing})` : ''

describe.skipIf(whyNot !== '')(`redisStore${whyNot}`, () => {
  test(claim, async () => {
    const [url, prefix] = ['url' in foundRedis ? foundRedis.url : '', redis.newPrefix()]
    const opened = await redis.clients['ioredis']?.(url, prefix)
    if (opened === undefined) throw new Error('there is no client of this name')
    closings.push(
      () => opened.close(),
      () => redis.removeKeys(opened, prefix),
    )
    await decide('redis', `${url}#${prefix}`, opened.store)
  })
})
