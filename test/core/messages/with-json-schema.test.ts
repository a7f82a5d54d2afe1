import { toJsonSchema } from '@valibot/to-json-schema'
import * as v from 'valibot'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { z as zod3 } from 'zod-3'
import { z as zod41 } from 'zod-4.1'
import {
  createEngine,
  generate,
  tool,
  withJsonSchema,
  type Engine,
  type SchemaOutput,
  type SchemaWithJson,
} from '../../../src/index.ts'
import { fake } from '../../../src/testing.ts'

const json = {
  type: 'object',
  properties: { city: { type: 'string' }, days: { type: 'number' } },
  required: ['city'],
}
const old = {
  zod3: zod3.object({ city: zod3.string(), days: zod3.number().default(3) }),
  zod41: zod41.object({ city: zod41.string(), days: zod41.number().default(3) }),
  valibot: v.object({ city: v.string(), days: v.optional(v.number(), 3) }),
}
const wrapped = {
  // Zod 3 has a converter of its own, `zodToJsonSchema(schema)` of zod-to-json-schema; here its result is written out.
  zod3: withJsonSchema(old.zod3, json),
  zod41: withJsonSchema(old.zod41, zod41.toJSONSchema(old.zod41, { io: 'input' })),
  valibot: withJsonSchema(old.valibot, toJsonSchema(old.valibot)),
}

const answering = (text: string): Engine =>
  createEngine({ adapter: fake({ script: [['text', text]] }) })

describe.each(Object.entries(wrapped))('a schema of %s with a JSON Schema', (_name, schema) => {
  test('asks for the format, validates and fills in defaults', async () => {
    const adapter = fake({ script: [['text', '{"city":"Oslo"}']] })
    const { output } = await generate(createEngine({ adapter }), 'Where?', {
      responseFormat: schema,
    })
    expect(output).toEqual({ city: 'Oslo', days: 3 })
    expect(adapter.calls[0]?.request.responseFormat).toMatchObject({
      type: 'json_schema',
      schema: { properties: { city: { type: 'string' }, days: { type: 'number' } } },
    })
    const wrong = generate(answering('{"city":1}'), 'Where?', { responseFormat: schema })
    await expect(wrong).rejects.toMatchObject({
      reason: 'invalid_output',
      issues: [{ path: 'city' }],
    })
  })

  test('describes and types the arguments of a tool', () => {
    const made = tool({
      name: 't',
      description: '',
      schema,
      handler: ({ city, days }) => city.repeat(days),
    })
    expect(made.schema).toMatchObject({ type: 'object', properties: { city: { type: 'string' } } })
  })
})

test('the types are those of the schema', () => {
  expectTypeOf<SchemaOutput<typeof wrapped.zod3>>().toEqualTypeOf<{ city: string; days: number }>()
  expectTypeOf<SchemaOutput<typeof wrapped.zod41>>().toEqualTypeOf<{ city: string; days: number }>()
  expectTypeOf<SchemaOutput<typeof wrapped.valibot>>().toEqualTypeOf<{
    city: string
    days: number
  }>()
})

test('a schema that cannot tell its JSON Schema does not compile, and is refused', async () => {
  const engine = answering('{}')
  // @ts-expect-error Zod 3
  await expect(generate(engine, '', { responseFormat: old.zod3 })).rejects.toThrow('withJsonSchema')
  // @ts-expect-error Zod 4.1
  await expect(generate(engine, '', { responseFormat: old.zod41 })).rejects.toThrow(
    'withJsonSchema',
  )
  // @ts-expect-error Valibot without its converter
  await expect(generate(engine, '', { responseFormat: old.valibot })).rejects.toThrow(
    'toStandardJsonSchema',
  )
  // @ts-expect-error Zod 4.1
  expect(() => tool({ name: 't', description: '', schema: old.zod41 })).toThrow('withJsonSchema')
})

test('what is not a schema, or not a JSON Schema, is refused', () => {
  // @ts-expect-error plain JSON Schema is none of a library
  expect(() => withJsonSchema(json, json)).toThrow('must be a schema of a library')
  expect(() => withJsonSchema(old.zod3, [])).toThrow('must be a JSON Schema')
})

test('a wrapper that is generic in what the schema gives has its type', async () => {
  async function ask<Output>(schema: SchemaWithJson<unknown, Output>): Promise<Output> {
    const { output } = await generate(answering('{"n":1}'), 'How many?', { responseFormat: schema })
    return output
  }
  const { n } = await ask(z.object({ n: z.number() }))
  expectTypeOf(n).toEqualTypeOf<number>()
  expect(n).toBe(1)
})
