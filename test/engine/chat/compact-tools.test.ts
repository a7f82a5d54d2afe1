import { expect, test } from 'vitest'
import { chat, createEngine, generate, tool, user } from '../../../src/index.ts'
import { fake, type Script } from '../../../src/testing.ts'

const messages = [user('go')]
const search = tool({
  name: 'search',
  description: 'Searches the archive. Takes a query and an optional limit.',
  schema: {
    type: 'object',
    properties: { query: { type: 'string' }, limit: { type: 'number' } },
    required: ['query'],
  },
  compact: true,
  handler: ({ query }) => ({ found: query }),
})
const done: Script = [
  ['text', 'ok'],
  ['finish', 'stop'],
]

test('a compact tool is sent as a stub, tool_help returns its schema, and it runs with its full schema', async () => {
  const adapter = fake({
    scripts: [
      [['tool_call', { id: 'c1', name: 'tool_help', arguments: { names: ['search'] } }]],
      [['tool_call', { id: 'c2', name: 'search', arguments: { query: 'x' } }]],
      done,
    ],
  })
  const result = await chat(createEngine({ adapter, tools: [search] }), messages)
  const sent = adapter.calls.map(({ request }) => request.tools)
  expect(sent[0]).toEqual([
    {
      name: 'search',
      description: 'Searches the archive. Args: query [limit] [compact]',
      schema: { type: 'object' },
    },
    expect.objectContaining({ name: 'tool_help' }),
  ])
  expect(sent.every((tools) => JSON.stringify(tools) === JSON.stringify(sent[0]))).toBe(true)
  expect(result.steps[0]?.toolResults[0]?.content).toContain('"query"')
  expect(result.steps[1]?.toolResults[0]?.content).toBe('{"found":"x"}')
})

test('a call without a required argument is refused with the help text, and the handler does not run', async () => {
  const adapter = fake({ scripts: [[['tool_call', { id: 'c1', name: 'search' }]], done] })
  const result = await chat(createEngine({ adapter, tools: [search] }), messages)
  expect(result.steps[0]?.toolResults[0]?.content).toMatch(
    /query.*required|required.*query|missing/i,
  )
  expect(result.steps[0]?.toolResults[0]?.content).toContain('limit')
})

test('a forced tool is sent in full', async () => {
  const adapter = fake({ script: done })
  await chat(createEngine({ adapter, tools: [search] }), messages, { toolChoice: 'search' })
  expect(adapter.calls[0]?.request.tools[0]?.schema).toEqual(search.schema)
})

test('a single call sends tools in full, because tool_help would not be answered', async () => {
  const adapter = fake({ script: done })
  await generate(createEngine({ adapter, tools: [search] }), messages)
  expect(adapter.calls[0]?.request.tools).toEqual([
    { name: 'search', description: search.description, schema: search.schema },
  ])
})

test('a custom tool named tool_help is refused together with compact tools', async () => {
  const own = tool({ name: 'tool_help', description: 'mine', schema: { type: 'object' } })
  const engine = createEngine({ adapter: fake({ script: done }), tools: [search, own] })
  await expect(chat(engine, messages)).rejects.toThrow('tool_help')
})
