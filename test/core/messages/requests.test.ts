import { expect, test } from 'vitest'
import { z } from 'zod'
import { user } from '../../../src/core/messages/messages.ts'
import {
  imageRequest,
  jsonSchema,
  modelRequest,
  toResponseFormat,
} from '../../../src/core/messages/requests.ts'
import { validateRequest } from '../../../src/core/schema/validate.ts'
import { tool } from '../../../src/engine/tools/tool.ts'
import { refusalOf } from '../../support/refusals.ts'

const answer = z.object({ n: z.number() })
const answerSchema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] }

test('a request has its defaults and no empty keys', () => {
  const messages = [user('hi')]
  expect(modelRequest(messages, { model: undefined })).toStrictEqual({
    messages,
    tools: [],
    providerOptions: {},
    metadata: {},
  })
})

test('a request keeps of a tool what the model sees, and of a schema its JSON', () => {
  const look = tool({ name: 'look', description: 'd', schema: answer, handler: () => 1 })
  const request = modelRequest([user('hi')], {
    model: 'm',
    tools: [look, { name: 'plain', description: 'p', schema: {}, strict: true }],
    responseFormat: answer,
    temperature: 0,
  })
  expect(request.tools).toStrictEqual([
    { name: 'look', description: 'd', schema: look.schema },
    { name: 'plain', description: 'p', schema: {}, strict: true },
  ])
  expect(request.responseFormat).toMatchObject({
    type: 'json_schema',
    name: 'output',
    schema: answerSchema,
    strict: true,
  })
  expect(JSON.parse(JSON.stringify(request))).toStrictEqual(request)
  expect(validateRequest(request)).toEqual([])
})

test('a value out of range is for validateRequest to tell', () => {
  expect(validateRequest(modelRequest([user('hi')], { temperature: 3 }))).toMatchObject([
    { path: 'temperature' },
  ])
})

test('a format is a schema with a name, strict unless told otherwise', () => {
  expect(jsonSchema('answer', answerSchema)).toStrictEqual({
    type: 'json_schema',
    name: 'answer',
    schema: answerSchema,
    strict: true,
  })
  expect(jsonSchema('answer', answer, { strict: false })).toMatchObject({
    schema: answerSchema,
    strict: false,
  })
  const format = jsonSchema('answer', answerSchema)
  expect(toResponseFormat(format)).toBe(format)
  expect(toResponseFormat({ type: 'text' })).toEqual({ type: 'text' })
})

test('an image request makes one new image, or edits those that it is given', () => {
  const image = { type: 'url', url: 'https://a.b/c' } as const
  expect(imageRequest('a cat', { size: undefined })).toStrictEqual({
    operation: 'generate',
    prompt: 'a cat',
    n: 1,
    responseFormat: 'base64',
    inputImages: [],
    providerOptions: {},
    metadata: {},
  })
  expect(imageRequest('a hat', { inputImages: [image] }).operation).toBe('edit')
  expect(
    imageRequest(undefined, { operation: 'variation', inputImages: [image], n: 2 }),
  ).not.toHaveProperty('prompt')
})

test.each<[string, () => unknown, string, string | RegExp]>([
  [
    'a misspelt key',
    () => modelRequest([], { maxToken: 1 } as never),
    '',
    'unknown key maxToken; did you mean maxTokens?',
  ],
  [
    'an option of the loop',
    () => modelRequest([], { haltWhen: () => true } as never),
    '',
    /^unknown key haltWhen; known keys are model, /,
  ],
  [
    'a number for messages',
    () => modelRequest(7 as never),
    'messages',
    'must be a text or a list such as [user("…")], not 7',
  ],
  [
    'a name with a space',
    () => jsonSchema('the answer', {}),
    'name',
    'must be 1 to 64 letters, digits, _ or -, not "the answer"',
  ],
  [
    'a schema that is a text',
    () => jsonSchema('x', '{}' as never),
    'schema',
    'must be a JSON object, not "{}"',
  ],
  [
    'a schema without a keyword',
    () => jsonSchema('x', { city: 'string' }),
    'schema',
    "is not JSON Schema; write { type: 'object', properties: { city: { type: 'string' } } }, or use a schema of Zod",
  ],
  [
    'a misspelt format option',
    () => jsonSchema('x', {}, { strikt: true } as never),
    '',
    'unknown key strikt; did you mean strict?',
  ],
  [
    'a misspelt image option',
    () => imageRequest('x', { siez: 'auto' } as never),
    '',
    'unknown key siez; did you mean size?',
  ],
  ['a prompt that is none', () => imageRequest(5 as never), 'prompt', 'must be a string, not 5'],
])('%s is refused', (_name, make, path, problem) => {
  expect(refusalOf(make)).toEqual([
    { path, problem: typeof problem === 'string' ? problem : expect.stringMatching(problem) },
  ])
})
