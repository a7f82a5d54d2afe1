import { describe, expect, test } from 'vitest'
import { strictSchema } from '../../../src/providers/anthropic/strict-schema.ts'

describe('a schema that the API can enforce', () => {
  test.each([
    {
      name: 'objects are closed, at every depth',
      schema: {
        type: 'object',
        properties: { a: { type: 'object', additionalProperties: true }, b: { properties: {} } },
        required: ['a'],
      },
      strict: {
        type: 'object',
        properties: {
          a: { type: 'object', properties: {}, additionalProperties: false },
          b: { properties: {}, additionalProperties: false },
        },
        required: ['a'],
        additionalProperties: false,
      },
    },
    {
      name: 'bounds move into the description',
      schema: { type: 'integer', description: 'Age', minimum: 0, maximum: 150 },
      strict: { type: 'integer', description: 'Age\n\n{minimum: 0, maximum: 150}' },
    },
    {
      name: 'a property may have the name of a keyword',
      schema: { type: 'object', properties: { minimum: { type: 'number' } } },
      strict: {
        type: 'object',
        properties: { minimum: { type: 'number' } },
        additionalProperties: false,
      },
    },
    {
      name: 'known formats stay, others move',
      schema: {
        type: 'array',
        items: {
          anyOf: [
            { type: 'string', format: 'uuid' },
            { type: 'string', format: 'isbn' },
          ],
        },
      },
      strict: {
        type: 'array',
        items: {
          anyOf: [
            { type: 'string', format: 'uuid' },
            { type: 'string', description: '{format: "isbn"}' },
          ],
        },
      },
    },
    {
      name: 'a least length of a list is 0 or 1',
      schema: {
        anyOf: [
          { type: 'array', minItems: 1 },
          { type: 'array', minItems: 2, maxItems: 3 },
        ],
      },
      strict: {
        anyOf: [
          { type: 'array', minItems: 1 },
          { type: 'array', description: '{minItems: 2, maxItems: 3}' },
        ],
      },
    },
    {
      name: 'oneOf is anyOf; definitions and references stay',
      schema: {
        $defs: { n: { type: 'number', multipleOf: 2 } },
        oneOf: [{ $ref: '#/$defs/n' }, { const: null }],
      },
      strict: {
        $defs: { n: { type: 'number', description: '{multipleOf: 2}' } },
        anyOf: [{ $ref: '#/$defs/n' }, { const: null }],
      },
    },
    {
      name: 'literals stay when they are plain',
      schema: {
        $schema: 'x',
        allOf: [{ enum: ['a', 1, null] }, { enum: [{ a: 1 }] }, { const: [1] }],
        title: 'T',
        default: 'a',
      },
      strict: {
        allOf: [
          { enum: ['a', 1, null] },
          { description: '{enum: [{"a":1}]}' },
          { description: '{const: [1]}' },
        ],
        title: 'T',
        default: 'a',
      },
    },
    {
      name: 'a type that may be null is an object all the same',
      schema: { type: ['object', 'null'], patternProperties: { '^x': {} } },
      strict: {
        type: ['object', 'null'],
        properties: {},
        additionalProperties: false,
        description: '{patternProperties: {"^x":{}}}',
      },
    },
  ])('$name', ({ schema, strict }) => {
    expect(strictSchema(schema)).toEqual(strict)
  })
})
