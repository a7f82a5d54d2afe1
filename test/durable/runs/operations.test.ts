import { expect, test } from 'vitest'
import { createEngine, tool } from '../../../src/index.ts'
import { createRuns } from '../../../src/runs.ts'
import { memoryStore, type RunStore } from '../../../src/stores.ts'
import { fake, type Script } from '../../../src/testing.ts'

/** What a run costs its store, in operations: each is a round trip on a database. */

/** A store that counts its operations. `watch` is none: it listens. */
function counting(store: RunStore): { readonly store: RunStore; readonly count: () => number } {
  let count = 0
  const counted = new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name)
      if (typeof member !== 'function' || name === 'watch') return member
      return (...args: unknown[]): unknown => {
        count++
        return Reflect.apply(member, target, args)
      }
    },
  })
  return { store: counted, count: () => count }
}

const pieces: Script = Array.from({ length: 20 }, (_, at) => ['text', `piece ${at} `] as const)

function engine() {
  const look = tool({
    name: 'look',
    description: 'looks',
    schema: { type: 'object' },
    handler: () => 'seen',
  })
  const adapter = fake({ scripts: [[['tool_call', { id: 'c1', name: 'look' }]], pieces] })
  return createEngine({ adapter, tools: [look] })
}

test('to send and to wait in one process are at most 24 operations, with a tool and an answer in pieces', async () => {
  const { store, count } = counting(memoryStore())
  await using runs = createRuns({ engine, store })
  await runs.send('ada', 'go')
  await runs.wait('ada')
  expect(count()).toBeLessThanOrEqual(24)
  expect(count()).toBeGreaterThan(10)
})

test('those who wait for one session in the process that runs it watch nothing: each reads its result', async () => {
  const { store, count } = counting(memoryStore())
  await using runs = createRuns({ engine, store })
  await runs.send('ada', 'go')
  const before = count()
  const ends = await Promise.all(Array.from({ length: 20 }, async () => runs.wait('ada')))
  expect(new Set(ends.map(({ result }) => result.outputText)).size).toBe(1)
  expect(count() - before).toBeLessThanOrEqual(20 * 6 + 20)
})

test('who stops waiting in the process that runs the session is told at once, and the run goes on', async () => {
  let open: (() => void) | undefined
  const gate = new Promise<void>((resolve) => {
    open = resolve
  })
  const slow = tool({
    name: 'look',
    description: 'looks',
    schema: { type: 'object' },
    handler: () => gate,
  })
  const adapter = fake({ scripts: [[['tool_call', { id: 'c1', name: 'look' }]], pieces] })
  await using runs = createRuns({
    engine: createEngine({ adapter, tools: [slow] }),
    store: memoryStore(),
  })
  await runs.send('ada', 'go')
  const leaving = new AbortController()
  const waiting = runs.wait('ada', { signal: leaving.signal })
  leaving.abort()
  await expect(waiting).rejects.toMatchObject({ kind: 'stream', reason: 'cancelled' })
  open?.()
  expect((await runs.wait('ada')).session.status).toBe('completed')
})
