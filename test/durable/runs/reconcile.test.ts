import { beforeEach, expect, test } from 'vitest'
import { createEngine, messageText, tool, type Engine } from '../../../src/index.ts'
import type { Runs } from '../../../src/runs.ts'
import { memoryStore } from '../../../src/stores.ts'
import { fake, virtualClock, type Script, type VirtualClock } from '../../../src/testing.ts'
import { bench, typesOf, type Bench } from './support.ts'

/** An owner is killed while a tool acts at a service. The next one asks the service what became of the call. */

const hang = new Promise<never>(() => undefined)

/** What the service has done, by the keys of the calls. */
const ledger = new Map<string, string>()
const asked: { readonly key: string; readonly at: number }[] = []
let clock: VirtualClock
/** When the dead owner takes effect, after the start of its handler; never without. */
let actsAfterMs: number | undefined

beforeEach(() => {
  ledger.clear()
  asked.length = 0
  actsAfterMs = undefined
  clock = virtualClock()
})

/** The engine of one process. In the first one, which dies, the handler gives no result. */
function engineOf(isFirst: boolean): Engine {
  const pay = tool({
    name: 'pay',
    description: 'Pays.',
    schema: { type: 'object' },
    timeoutMs: 60_000,
    handler: async (_args, { idempotencyKey }) => {
      if (!isFirst) {
        expect(ledger.has(idempotencyKey)).toBe(false)
        ledger.set(idempotencyKey, 'paid by the second')
        return 'paid by the second'
      }
      if (actsAfterMs === undefined) return hang
      await clock.sleep(actsAfterMs)
      expect(ledger.has(idempotencyKey)).toBe(false)
      ledger.set(idempotencyKey, 'paid by the first')
      return hang
    },
    reconcile: (_call, { idempotencyKey: key }) => {
      asked.push({ key, at: clock.now() })
      const receipt = ledger.get(key)
      return receipt === undefined ? 'not_done' : { done: receipt }
    },
  })
  const script = (results: number): Script =>
    results === 0
      ? [['tool_call', { id: 'c1', name: 'pay', arguments: { euros: 5 } }]]
      : [['text', 'Done.']]
  const adapter = fake({
    script: ({ messages }) => script(messages.filter(({ role }) => role === 'tool').length),
  })
  return createEngine({ adapter, tools: [pay] })
}

/** A run whose owner has died in its tool: it renews its lease no more. Its handler was started at 0. */
async function killed(): Promise<Bench> {
  const store = memoryStore({ clock })
  const dead = bench(engineOf(true), {
    clock,
    store: { ...store, renew: () => hang },
    execute: false,
  })
  await dead.runs.send('ada', 'pay')
  dead.runs.advance('ada').catch(() => undefined)
  await clock.advance(0)
  return bench(engineOf(false), { clock, store, execute: false })
}

async function resultIn(runs: Runs): Promise<string> {
  const messages = (await runs.get('ada'))?.session.thread.messages ?? []
  return messages.flatMap((one) => (one.role === 'tool' ? [messageText(one)] : [])).join()
}

const callEvents = async (runs: Runs): Promise<readonly string[]> =>
  (await typesOf(runs, 'ada')).filter((type) => type.startsWith('tool_') && !type.includes('call'))

test('a call that has had its effect gets its result, and its handler does not run again', async () => {
  actsAfterMs = 5
  const { runs } = await killed()
  await clock.advance(10_001)
  expect((await runs.advance('ada')).outcome).toBe('completed')
  expect(await resultIn(runs)).toBe('paid by the first')
  expect([...ledger.values()]).toEqual(['paid by the first'])
  expect(await callEvents(runs)).toEqual(['tool_execution_started', 'tool_result_encoded'])
})

test('a call that has had none is started again after its deadline, under a lease that is renewed, with the same key', async () => {
  const { runs, store } = await killed()
  await clock.advance(10_001)
  const advanced = runs.advance('ada')
  await clock.advance(40_000)
  // The lease is of 10 s, and nobody else may have the run.
  expect(await store.acquire('ada', { owner: 'somebody', ttlMs: 1000 })).toBeUndefined()
  expect((await advanced).outcome).toBe('completed')
  expect(asked.map(({ at }) => at)).toEqual([10_001, 60_000])
  expect([...ledger]).toEqual([[asked[0]?.key, 'paid by the second']])
  expect(await resultIn(runs)).toBe('paid by the second')
  expect(await callEvents(runs)).toEqual([
    'tool_execution_started',
    'tool_execution_started',
    'tool_execution_completed',
    'tool_result_encoded',
  ])
})

test('an effect of an owner that is not as dead as it looks is found when its deadline has passed', async () => {
  actsAfterMs = 45_000
  const { runs } = await killed()
  await clock.advance(10_001)
  expect((await runs.advance('ada')).outcome).toBe('completed')
  expect(asked).toHaveLength(2)
  expect([...ledger.values()]).toEqual(['paid by the first'])
  expect(await resultIn(runs)).toBe('paid by the first')
})

test('an owner that leaves while it waits for the deadline leaves the question to the next one', async () => {
  const { runs, store } = await killed()
  await clock.advance(10_001)
  const advanced = runs.advance('ada')
  await clock.advance(1000)
  await runs.close()
  expect(await advanced).toMatchObject({ outcome: 'drained' })
  const next = bench(engineOf(false), { clock, store, execute: false }).runs
  expect((await next.advance('ada')).outcome).toBe('completed')
  expect(asked.map(({ at }) => at)).toEqual([10_001, 11_001, 60_000])
  expect([...ledger.values()]).toEqual(['paid by the second'])
})

test('a stop ends the wait, and a resume asks again', async () => {
  const { runs } = await killed()
  await clock.advance(10_001)
  const advanced = runs.advance('ada')
  await clock.advance(1000)
  await runs.stop('ada')
  await clock.advance(10_000)
  expect((await advanced).outcome).toBe('halted')
  expect(ledger.size).toBe(0)
  await runs.resume('ada')
  expect((await runs.advance('ada')).outcome).toBe('completed')
  expect([...ledger.values()]).toEqual(['paid by the second'])
})
