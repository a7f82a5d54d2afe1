import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { runsOnDbos } from '../../../examples/queues/dbos.ts'
import { runsOnGraphile } from '../../../examples/queues/graphile-worker.ts'
import { runsOnPgBoss } from '../../../examples/queues/pg-boss.ts'
import { tool } from '../../../src/index.ts'
import type { Script } from '../../../src/testing.ts'
import { root } from '../../support/root.ts'
import { scriptedEngine } from '../runs/support.ts'
import { createPlace, reasonToSkip, serverUrl, type Place } from '../stores/postgres.ts'

const missing = reasonToSkip !== undefined
const engine = scriptedEngine((text) => [['text', `about ${text}`]])
const engines = { 'pg-boss': runsOnPgBoss, 'graphile-worker': runsOnGraphile, DBOS: runsOnDbos }

test.each(['pg-boss', 'graphile-worker', 'dbos'])(
  'the guide shows examples/queues/%s.ts',
  (name) => {
    const guide = readFileSync(join(root, 'docs/guides/24-many-machines.md'), 'utf8')
    expect(guide).toContain(readFileSync(join(root, `examples/queues/${name}.ts`), 'utf8').trim())
  },
)

describe.skipIf(missing)(`the engines of the guide${reasonToSkip ?? ''}`, () => {
  let place: Place
  beforeEach(async () => {
    place = await createPlace('pg')
    for (const name of ['log', 'info', 'warn'] as const) {
      vi.spyOn(console, name).mockImplementation(() => undefined)
    }
  })
  afterEach(async () => {
    vi.restoreAllMocks()
    await place.pool.query(`drop schema if exists "${place.schema}_engine" cascade`, [])
    await place.remove()
  })

  test.each(Object.entries(engines))(
    '%s rings workers, and a sweep finds what was not rung for and what a dead process had',
    async (_name, start) => {
      const store = place.connect()
      // Nobody rang for this one.
      await store.push('unrung', { type: 'send', content: 'one' })
      // The process that had this one is dead.
      await store.push('orphan', { type: 'send', content: 'one' })
      await store.acquire('orphan', { owner: 'dead', ttlMs: 500 })
      const { runs, close } = await start({ engine, store }, serverUrl, `${place.schema}_engine`)
      await runs.send('rung', 'one')
      await runs.send('rung', 'two', { whenBusy: 'queue' })
      for (const id of ['rung', 'unrung', 'orphan']) {
        expect((await runs.wait(id)).session.status).toBe('completed')
      }
      expect((await runs.get('rung'))?.session.thread.messages).toHaveLength(4)
      await close()
    },
  )

  test('pg-boss runs several sessions at once in one process', async () => {
    const here: string[] = []
    let open = (): void => undefined
    const all = new Promise<void>((resolve) => {
      open = resolve
    })
    const meet = tool({
      name: 'meet',
      description: 'Waits until three sessions are here.',
      schema: { type: 'object' },
      handler: async (_args, { toolCall }) => {
        if (here.push(toolCall.id) === 3) open()
        await all
        return 'met'
      },
    })
    const script = (_text: string, results: number): Script =>
      results === 0 ? [['tool_call', { id: 'c', name: 'meet', arguments: {} }]] : [['text', 'done']]
    const meeting = scriptedEngine(script, { tools: [meet] })
    const options = { engine: meeting, store: place.connect() }
    const { runs, close } = await runsOnPgBoss(options, serverUrl, `${place.schema}_engine`, 3)
    const ids = ['one', 'two', 'three']
    for (const id of ids) await runs.send(id, 'go')
    for (const id of ids) expect((await runs.wait(id)).session.status).toBe('completed')
    await close()
  })
})
