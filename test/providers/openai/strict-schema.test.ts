import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { type } from 'arktype'
import * as v from 'valibot'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { jsonSchema } from '../../../src/index.ts'
import { openai } from '../../../src/openai.ts'
import { strictSchema } from '../../../src/providers/openai/strict-schema.ts'
import type { JsonObject } from '../../../src/types/json.ts'
import { request, sentBody, weather } from './request.ts'

const text = { type: 'string' }
const object = (properties: JsonObject, beside: JsonObject = {}): JsonObject => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  ...beside,
})
const closed = (properties: JsonObject, beside: JsonObject = {}): JsonObject =>
  object(properties, { additionalProperties: false, ...beside })

test.each<[string, JsonObject, JsonObject]>([
  ['a closed object as it is', closed({ a: text }), closed({ a: text })],
  ['an object that is not closed', object({ a: text }), closed({ a: text })],
  ['no properties', { type: 'object', properties: {} }, closed({})],
  [
    'objects in objects, lists, choices and definitions',
    object(
      { a: object({ b: text }), c: { type: 'array', items: object({}) }, d: { $ref: '#/$defs/d' } },
      { $defs: { d: { oneOf: [object({ e: text }), { type: 'null' }] } } },
    ),
    closed(
      { a: closed({ b: text }), c: { type: 'array', items: closed({}) }, d: { $ref: '#/$defs/d' } },
      { $defs: { d: { anyOf: [closed({ e: text }), { type: 'null' }] } } },
    ),
  ],
  [
    'keywords that are enforced',
    { type: 'integer', minimum: 0, maximum: 9, multipleOf: 3 },
    { type: 'integer', minimum: 0, maximum: 9, multipleOf: 3 },
  ],
  [
    'keywords that are refused, but can be read',
    { type: 'string', minLength: 2, format: 'uri', description: 'A place.' },
    { type: 'string', description: 'A place.\n\n{minLength: 2, format: "uri"}' },
  ],
  ['a format that is enforced', { ...text, format: 'uuid' }, { ...text, format: 'uuid' }],
  ['a keyword that is not a constraint', { $schema: 's', $comment: 'c', ...text }, text],
])('%s', (_name, schema, expected) => {
  expect(strictSchema(schema)).toEqual(expected)
})

test.each<[string, JsonObject]>([
  ['a property that may be left out', { ...object({ a: text, b: text }), required: ['a'] }],
  ['a record', { type: 'object', additionalProperties: text }],
  ['an object of anything', { type: 'object' }],
  ['an object that is open', object({ a: text }, { additionalProperties: true })],
  ['a property of any kind', { ...object({}), properties: { a: true }, required: ['a'] }],
  ['allOf', { allOf: [object({ a: text })] }],
  ['a tuple', { type: 'array', prefixItems: [text] }],
  ['something deep inside', object({ a: { type: 'array', items: { not: text } } })],
  ['an unknown keyword', { ...text, sparkle: true }],
])('%s cannot be enforced', (_name, schema) => {
  expect(strictSchema(schema)).toBeUndefined()
})

describe('what is sent', () => {
  test.each([
    ['Zod', z.object({ name: z.string(), age: z.number() })],
    ['Valibot', toStandardJsonSchema(v.object({ name: v.string(), age: v.number() }))],
    ['ArkType', type({ name: 'string', age: 'number' })],
  ])('a schema of %s is enforced', async (_library, schema) => {
    const responseFormat = jsonSchema('person', schema)
    const { body } = await sentBody(request({ responseFormat }), { api: 'responses' })
    expect(body).toMatchObject({
      text: { format: { strict: true, schema: { additionalProperties: false } } },
    })
  })

  test('a schema that cannot be enforced is sent as it is, and named in the metadata', async () => {
    const schema = { ...weather.schema, required: [] }
    const given = request({
      tools: [{ ...weather, schema, strict: true }],
      responseFormat: { type: 'json_schema', name: 'a', schema, strict: true },
    })
    const chat = await sentBody(given, { api: 'chat' })
    expect(chat.body).toMatchObject({
      response_format: { json_schema: { name: 'a', schema, strict: false } },
    })
    expect(JSON.stringify(chat.body['tools'])).not.toContain('strict')
    const { body } = await sentBody(given, { api: 'responses' })
    expect(body).toMatchObject({
      tools: [{ parameters: schema, strict: false }],
      text: { format: { schema, strict: false } },
    })
    const answer = { object: 'response', status: 'completed', output: [] }
    const fetch = () => Promise.resolve(new Response(JSON.stringify(answer)))
    const adapter = openai({ api: 'responses', apiKey: 'k', fetch })
    expect((await adapter.generate?.(given))?.metadata).toEqual({
      droppedParameters: ['tools.get_weather.strict', 'responseFormat.strict'],
    })
  })
})
