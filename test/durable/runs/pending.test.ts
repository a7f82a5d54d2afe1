import { describe, expect, test } from 'vitest'
import { askUser, createEngine, tool, type Engine } from '../../../src/index.ts'
import { createRuns } from '../../../src/runs.ts'
import { memoryStore } from '../../../src/stores.ts'
import { fake, virtualClock, type Script } from '../../../src/testing.ts'

const schema = { type: 'object' }
const tools = [
  tool({ name: 'ask', description: '', schema, handler: () => askUser('Which?') }),
  tool({ name: 'pay', description: '', schema, needsApproval: true, handler: () => 'paid' }),
  tool({ name: 'fill', description: '', schema, manual: true }),
]

const calls = (...names: string[]): Script =>
  names.map((name) => ['tool_call', { id: name, name, arguments: {} }])

const engineOf = (...scripts: Script[]): Engine =>
  createEngine({ adapter: fake({ scripts }), tools })

describe('what staff has to decide is in runs.pending, whatever else happens to the chat:', () => {
  test('a question is open beside the approval', async () => {
    await using runs = createRuns({ engine: engineOf(calls('ask', 'pay')), store: memoryStore() })
    await runs.send('ada', 'go')
    const { session } = await runs.wait('ada')
    expect(session.status).toBe('awaiting_user')
    const { rows } = await runs.pending({ kind: 'approval' })
    expect(rows).toMatchObject([{ sessionId: 'ada', call: { name: 'pay' } }])
  })

  test('the customer says something else meanwhile, and stops the answer', async () => {
    const answer: Script = [
      ['text', 'A moment'],
      ['delay', 60_000],
      ['text', ' please.'],
    ]
    const clock = virtualClock({ auto: true })
    const engine = createEngine({
      adapter: fake({ scripts: [calls('pay'), answer] }),
      tools,
      clock,
    })
    await using runs = createRuns({ engine, store: memoryStore({ clock }), clock })
    await runs.send('ada', 'go')
    await runs.wait('ada')
    await runs.send('ada', 'and?')
    await runs.stop('ada')
    const { session } = await runs.wait('ada')
    expect(session.status).toBe('halted')
    expect((await runs.pending({ kind: 'approval' })).rows).toHaveLength(1)
  })

  test('the model fails at what the customer says meanwhile', async () => {
    const failure: Script = [['error', 'provider_unavailable']]
    const engine = engineOf(calls('pay'), failure)
    await using runs = createRuns({ engine, store: memoryStore() })
    await runs.send('ada', 'go')
    await runs.wait('ada')
    await runs.send('ada', 'and?')
    const { session } = await runs.wait('ada')
    expect(session.status).toBe('error')
    const [row] = (await runs.pending({ kind: 'approval' })).rows
    expect(row?.call.name).toBe('pay')
    expect(session.pendingApprovals.map(({ id }) => id)).toEqual([row?.call.id])
  })
})

test('a row is gone when its call is settled, and the others keep their time', async () => {
  const clock = virtualClock()
  const engine = engineOf(calls('ask', 'pay', 'fill'), [['text', 'done']])
  await using runs = createRuns({ engine, store: memoryStore({ clock }), clock })
  await runs.send('ada', 'go', { metadata: { tenant: 'acme' } })
  await runs.wait('ada')
  const { rows } = await runs.pending({ metadata: { tenant: 'acme' } })
  expect(rows.map(({ kind }) => kind).toSorted()).toEqual(['approval', 'question', 'result'])
  expect(rows.find(({ kind }) => kind === 'question')).toMatchObject({
    sessionId: 'ada',
    question: { text: 'Which?' },
    since: clock.now(),
    metadata: { tenant: 'acme' },
  })
  await clock.advance(1000)
  await runs.approve('ada', 'pay')
  await runs.wait('ada')
  expect((await runs.pending()).rows).toEqual(rows.filter(({ kind }) => kind !== 'approval'))
  await runs.send('ada', 'this one')
  await runs.submitToolResult('ada', 'fill', 'filled')
  expect((await runs.wait('ada')).session.status).toBe('completed')
  expect(await runs.pending()).toEqual({ rows: [] })
})
