import { expect, test } from 'vitest'
import { createEngine, Session, tool, type Engine } from '../../../src/index.ts'
import { createRuns } from '../../../src/runs.ts'
import { memoryStore } from '../../../src/stores.ts'
import { fake } from '../../../src/testing.ts'

/** A bank that acts once for each key, and an agent whose server numbers its calls. */
function bank(...sums: readonly number[]): { paid: Map<string, number>; engine: Engine } {
  const paid = new Map<string, number>()
  const pay = tool({
    name: 'pay',
    description: 'Pays.',
    schema: { type: 'object', properties: { euros: { type: 'number' } }, required: ['euros'] },
    handler: ({ euros }, { idempotencyKey }) => {
      if (!paid.has(idempotencyKey)) paid.set(idempotencyKey, euros)
      return `paid ${paid.get(idempotencyKey)}`
    },
  })
  const scripts = sums.flatMap((euros) => [
    [['tool_call', { id: 'functions.pay:0', name: 'pay', arguments: { euros } }]] as const,
    ['ok'],
  ])
  return { paid, engine: createEngine({ tools: [pay], adapter: fake({ scripts }) }) }
}

test('another call in the place of one that was rewound has a key of its own', async () => {
  const { paid, engine } = bank(10, 99)
  const { session } = await Session.start(engine, 'Pay 10.')
  const { session: after } = await Session.reply(engine, Session.rewind(session, 0), 'No: pay 99.')
  expect([...paid.values()]).toEqual([10, 99])
  expect(after.thread.messages[2]?.content).toBe('paid 99')
})

test('a session under the id of one that was deleted does not have its keys', async () => {
  const { paid, engine } = bank(10, 99)
  await using runs = createRuns({ engine, store: memoryStore() })
  await runs.send('ada', 'Pay 10.')
  await runs.wait('ada')
  await runs.delete('ada')
  await runs.send('ada', 'Pay 99.')
  await runs.wait('ada')
  expect([...paid.values()]).toEqual([10, 99])
})

test('a colon in the id of a call does not make its key that of another session', async () => {
  const keyOf = async (sessionId: string, id: string): Promise<string> => {
    let key = ''
    const look = tool({
      name: 'look',
      description: 'Looks.',
      schema: {},
      handler: (_args, { idempotencyKey }) => {
        key = idempotencyKey
        return 'ok'
      },
    })
    const scripts = [[['tool_call', { id, name: 'look' }]] as const, ['ok']]
    const engine = createEngine({ tools: [look], adapter: fake({ scripts }) })
    await Session.start(engine, Session.create({ id: sessionId, messages: 'hi' }))
    return key
  }
  expect(await keyOf('acme', '1:c1')).not.toBe(await keyOf('acme:1', 'c1'))
})
