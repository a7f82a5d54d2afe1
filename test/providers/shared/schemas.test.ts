import { expect, test } from 'vitest'
import { requestSchemas } from '../../../src/adapter.ts'
import { geminiJson, openaiStrict } from '../../../src/core/schema/dialects.ts'
import type { JsonObject, JsonValue } from '../../../src/core/types/json.ts'
import type { ModelRequest } from '../../../src/core/types/request.ts'
import { chat, createEngine, tool, user } from '../../../src/index.ts'
import { renderRequest } from '../../../src/providers/gemini/render-request.ts'
import { fake } from '../../../src/testing.ts'

const lowered = (schema: JsonObject, dialect = geminiJson): JsonObject =>
  requestSchemas('acme', () => undefined).tool({ name: 'a', description: '', schema }, 0, dialect)
    .schema

test('the schema of a tool is rewritten once for all requests', () => {
  const schema = { type: 'object', properties: { a: { const: 'x' } } }
  expect(lowered(schema)).toBe(lowered(schema))
})

test('a schema that was changed since, at any depth, is rewritten', () => {
  const part = { const: 'x' }
  const schema = { type: 'object', properties: { a: part } }
  const before = lowered(schema)
  part.const = 'y'
  const after = lowered(schema)
  expect(JSON.stringify(before)).toContain('"x"')
  expect(JSON.stringify(after)).toContain('"y"')
})

test('a schema is rewritten for each dialect', () => {
  const schema = { type: 'object', properties: { a: { type: 'string' } } }
  expect(lowered(schema, openaiStrict)).not.toEqual(lowered(schema))
})

test('a schema that cannot be enforced is told at every request, with its place in it', () => {
  const schema = { type: 'object', properties: { a: { not: {} } } }
  const told: string[] = []
  for (const index of [0, 3]) {
    const schemas = requestSchemas('acme', (_setting, problem) => told.push(problem))
    schemas.tool({ name: 'a', description: '', schema }, index, openaiStrict)
  }
  expect(told).toEqual([
    expect.stringContaining('tools[0].schema.properties.a'),
    expect.stringContaining('tools[3].schema.properties.a'),
  ])
})

test('all steps of a loop send the same rewritten schemas to Gemini', async () => {
  const requests: ModelRequest[] = []
  const script = (request: ModelRequest) => {
    requests.push(request)
    return requests.length < 3
      ? ([['tool_call', { id: `call-${requests.length}`, name: 'add', arguments: {} }]] as const)
      : ([['text', 'done']] as const)
  }
  const schema = { type: 'object', properties: { a: { type: 'number' } } } as const
  const add = tool({ name: 'add', description: 'Adds.', schema, handler: () => 3 })
  await chat(createEngine({ adapter: fake({ script }), tools: [add] }), [user('go')])
  expect(requests).toHaveLength(3)
  expect(new Set(requests.map(sentSchema)).size).toBe(1)
})

/** The schema of the first tool, as it is sent. */
function sentSchema(request: ModelRequest): JsonValue | undefined {
  const { body } = renderRequest({ ...request, model: 'gemini-2.5-flash' })
  const [{ functionDeclarations }] = body['tools'] as [{ functionDeclarations: JsonObject[] }]
  return functionDeclarations[0]?.['parametersJsonSchema']
}
