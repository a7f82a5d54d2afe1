import { expect, test } from 'vitest'
import * as z from 'zod'
import { createEngine, tool } from '../../src/index.ts'
import { createRuns } from '../../src/runs.ts'
import { memoryStore } from '../../src/stores.ts'
import { fake } from '../../src/testing.ts'

test('a message makes a session, and its run is in the log', async () => {
  const store = memoryStore()
  await using runs = createRuns({
    engine: createEngine({ adapter: fake({ script: [['text', 'Hello, Ada.']] }) }),
    store,
  })
  const sent = await runs.send('ada', 'Hello')
  expect(sent).toEqual({ lastEventId: 0, duplicate: false })
  const { session, result } = await runs.wait('ada')
  expect(session.status).toBe('completed')
  expect(result.outputText).toBe('Hello, Ada.')
  const types = []
  for await (const { id, event } of runs.follow('ada')) types.push([id, event.type])
  expect(types.at(-1)?.[1]).toBe('chat_completed')
  expect(types.map(([id]) => id)).toEqual(types.map((_type, at) => at + 1))
  expect((await store.look('ada'))?.running).toBe(false)
})

test('a tool runs once its start is stored', async () => {
  const store = memoryStore()
  const seen: string[] = []
  const pay = tool({
    name: 'pay',
    description: 'Pays.',
    schema: z.object({ euros: z.number() }),
    handler: async ({ euros }) => {
      const entries = await store.readEvents('ada', {})
      seen.push(...entries.flatMap((entry) => ('event' in entry ? entry.event.type : [])))
      return `paid ${euros}`
    },
  })
  await using runs = createRuns({
    engine: createEngine({
      adapter: fake({
        scripts: [
          [['tool_call', { id: 'c1', name: 'pay', arguments: { euros: 3 } }]],
          [['text', 'Done.']],
        ],
      }),
      tools: [pay],
    }),
    store,
  })
  await runs.send('ada', 'Pay 3')
  const { result } = await runs.wait('ada')
  expect(result.outputText).toBe('Done.')
  expect(seen).toContain('tool_execution_started')
})
