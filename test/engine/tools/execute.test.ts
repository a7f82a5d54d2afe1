import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { type } from 'arktype'
import * as v from 'valibot'
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { outcomeBrand, type Tool } from '../../../src/core/contracts/tool.ts'
import { askUser, fail, halt } from '../../../src/core/messages/outcomes.ts'
import type { JsonObject } from '../../../src/core/types/json.ts'
import type { ToolCall } from '../../../src/core/types/message.ts'
import type { SchemaWithJson, StandardSchema } from '../../../src/core/types/standard-schema.ts'
import { readOutcome } from '../../../src/engine/tools/execute.ts'
import { runToolCalls } from '../../../src/engine/tools/run-tool-calls.ts'
import { tool } from '../../../src/engine/tools/tool.ts'
import { virtualClock } from '../../../src/testing/fakes/virtual-clock.ts'
import { call, sentence, simple, textOf } from './support.ts'

/** Runs one call of a tool that returns its arguments, and returns its result or its error message. */
async function given(made: Tool, toCall: ToolCall): Promise<unknown> {
  const { messages } = await runToolCalls([toCall], [made])
  const content = textOf(messages[0])
  return sentence(content) ?? JSON.parse(content)
}

const weather: JsonObject = {
  type: 'object',
  properties: {
    city: { type: 'string' },
    days: { type: 'array', items: { type: 'integer' } },
  },
  required: ['city'],
  additionalProperties: false,
}

const byJsonSchema = tool({
  name: 'weather',
  description: '',
  schema: weather,
  handler: (args) => args,
})

describe('JSON Schema', () => {
  test('valid arguments reach the handler', async () => {
    const args = { city: 'Oslo', days: [1, 2] }

    expect(await given(byJsonSchema, call('c0', 'weather', args))).toEqual(args)
  })

  test('the model gets every path and its problem, and the handler does not run', async () => {
    let runs = 0
    const counted = { ...byJsonSchema, handler: () => ++runs }

    const text = await given(counted, call('c0', 'weather', { days: [1, 'two'], wind: true }))

    expect(text).toMatch(/^invalid arguments: /)
    expect(text).toMatch(/city: is missing/)
    expect(text).toMatch(/days\[1\]: must be an integer, not "two"/)
    expect(text).toMatch(/wind/)
    expect(runs).toBe(0)
  })

  test('the caller gets every issue as data', async () => {
    const { halt } = await runToolCalls([call('c0', 'weather', { city: 3 })], [byJsonSchema], {
      onToolError: 'halt',
    })

    expect(halt?.error).toMatchObject({
      reason: 'invalid_arguments',
      metadata: { issues: [{ path: 'city', problem: 'must be a string, not 3' }] },
    })
  })

  test('problems that do not fit into the message are counted', async () => {
    const args = Object.fromEntries(
      Array.from({ length: 30 }, (_, index) => [`unknown_argument_${index}`, 1]),
    )

    const text = String(await given(byJsonSchema, call('c0', 'weather', args)))

    expect(text).toMatch(/; and \d+ more$/)
    expect(text.length).toBeLessThanOrEqual(300)
  })

  test('a handler that changes its arguments does not change the call', async () => {
    const rude = simple('rude', (args) => {
      Object.assign(args, { list: 'gone' })
      return args
    })
    const toCall = call('c0', 'rude', { list: [1, { deep: true }] })
    const before = structuredClone(toCall)

    await runToolCalls([toCall], [rude])

    expect(toCall).toEqual(before)
  })
})

describe('arguments that an adapter could not parse', () => {
  const anything = simple('anything', (args) => ({ ran: args }))
  const raw = (rawArguments: string, args: JsonObject = {}): ToolCall => ({
    id: 'c0',
    name: 'anything',
    arguments: args,
    rawArguments,
  })

  test.each([
    ['{"city": "Par', 'invalid arguments: the arguments are not valid JSON; send one JSON object'],
    ['not json', 'invalid arguments: the arguments are not valid JSON; send one JSON object'],
    ['[1]', 'invalid arguments: the arguments must be a JSON object'],
    ['"text"', 'invalid arguments: the arguments must be a JSON object'],
    ['null', 'invalid arguments: the arguments must be a JSON object'],
  ])('%s is never run as {}', async (text, problem) => {
    expect(await given(anything, raw(text))).toBe(problem)
  })

  test.each(['', '  ', '{}', ' {} \n', '{ }'])('%j means no arguments', async (text) => {
    expect(await given(anything, raw(text))).toEqual({ ran: {} })
  })

  test('a call without raw text runs with its arguments', async () => {
    const toCall = { id: 'c0', name: 'anything', arguments: { a: 1 } }

    expect(await given(anything, toCall)).toEqual({ ran: { a: 1 } })
  })

  test('the handler gets the parsed raw text when it is a valid object', async () => {
    expect(await given(anything, raw('{"a":1}'))).toEqual({ ran: { a: 1 } })
  })

  test('decoded arguments take precedence over the raw text', async () => {
    expect(await given(anything, raw('half {', { a: 1 }))).toEqual({ ran: { a: 1 } })
  })
})

const libraries: readonly (readonly [string, SchemaWithJson])[] = [
  ['Zod', z.object({ city: z.string(), days: z.number().default(3) })],
  [
    'Valibot',
    toStandardJsonSchema(v.object({ city: v.string(), days: v.optional(v.number(), 3) })),
  ],
  ['ArkType', type({ city: 'string', days: 'number = 3' })],
]

describe.each(libraries)('a schema of %s', (_library, schema) => {
  const made = tool({ name: 'weather', description: '', schema, handler: (args) => args })

  test('passes its output to the handler', async () => {
    const args = { city: 'Oslo' }

    expect(await given(made, call('c0', 'weather', args))).toEqual({ city: 'Oslo', days: 3 })
    expect(args).toEqual({ city: 'Oslo' })
  })

  test('names the path of each problem', async () => {
    const text = await given(made, call('c0', 'weather', { city: 5, days: 'many' }))

    expect(text).toMatch(/^invalid arguments: .*city: .*; days: /)
  })
})

describe('a custom schema', () => {
  const schema = (
    validate: StandardSchema<unknown, JsonObject>['~standard']['validate'],
  ): Tool => ({
    ...simple('own', (args) => ({ ran: args })),
    input: { '~standard': { version: 1, vendor: 'own', validate } },
  })

  test('does not change the call', async () => {
    const rude = schema((value) => ({ value: Object.assign(value as object, { a: 2 }) }))
    const toCall = call('c0', 'own', { a: 1 })

    expect(await given(rude, toCall)).toEqual({ ran: { a: 2 } })
    expect(toCall.arguments).toEqual({ a: 1 })
  })

  test('may return a promise', async () => {
    const later = schema(async (value) => ({ value: { ...(value as object), checked: true } }))
    const never = schema(async () => ({
      issues: [{ message: 'is odd', path: ['list', { key: 2 }, 'a b'] }],
    }))

    expect(await given(later, call('c0', 'own', { a: 1 }))).toEqual({
      ran: { a: 1, checked: true },
    })
    expect(await given(never, call('c0', 'own'))).toBe('invalid arguments: list[2]["a b"]: is odd')
  })

  test.each([
    [
      'throws',
      () =>
        schema(() => {
          throw new Error('secret detail')
        }),
    ],
    ['rejects', () => schema(() => Promise.reject(new Error('secret detail')))],
  ])('that %s is invalid_arguments, without its details', async (_how, make) => {
    const { messages, halt } = await runToolCalls([call('c0', 'own')], [make()], {
      onToolError: 'halt',
    })

    expect(sentence(messages[0]?.content)).toBe(
      'the arguments of own could not be checked: its schema threw',
    )
    expect(halt?.error).toMatchObject({
      reason: 'invalid_arguments',
      cause: { message: 'secret detail' },
    })
  })

  test('that answers after the deadline does not start the handler', async () => {
    const clock = virtualClock()
    let runs = 0
    const slow: Tool = {
      ...schema(async (value) => {
        await clock.sleep(200)
        return { value: value as JsonObject }
      }),
      handler: () => ++runs,
    }

    const { messages } = await runToolCalls([call('c0', 'own')], [slow], {
      clock,
      toolTimeoutMs: 100,
    })
    await clock.runAll()

    expect(sentence(messages[0]?.content)).toMatch(/did not finish within 100 ms/)
    expect(runs).toBe(0)
  })
})

const toCall = call('c0', 'x')

const branded = (fields: object): object => ({ [outcomeBrand]: true, ...fields })

test.each([
  ['undefined', undefined],
  ['a string', 'halt'],
  ['an object that looks like an outcome', { type: 'halt', reason: 'x', result: 1 }],
  ['a list', [1]],
])('%s is a value', (_what, value) => {
  expect(readOutcome(toCall, value)).toEqual({ type: 'value', value })
})

test('the outcomes of askUser, halt and fail are recognized', () => {
  expect(readOutcome(toCall, askUser('which?', { a: [1] }))).toEqual({
    type: 'ask_user',
    question: 'which?',
    options: { a: [1] },
  })
  expect(readOutcome(toCall, halt('shipped', 5))).toEqual({
    type: 'halt',
    reason: 'shipped',
    result: 5,
  })
  expect(readOutcome(toCall, fail('no'))).toMatchObject({
    type: 'error',
    error: { reason: 'handler_failed', message: 'no' },
  })
  expect(readOutcome(toCall, fail(''))).toMatchObject({ error: { message: 'tool x failed' } })
})

test.each([
  ['an unknown type', { type: 'nap' }, 'it was not made by askUser, halt, fail or content'],
  [
    'a question that is not a string',
    { type: 'ask_user', question: 5 },
    'the question must be a string',
  ],
  [
    'options that are a list',
    { type: 'ask_user', question: 'a', options: [] },
    'must be an object',
  ],
  [
    'options that are not JSON',
    { type: 'ask_user', question: 'a', options: { f: () => 1 } },
    'f is a function',
  ],
  [
    'a halt without a reason',
    { type: 'halt', result: 1 },
    'the reason of a halt must be a non-empty string',
  ],
  [
    'an empty halt reason',
    { type: 'halt', reason: '' },
    'the reason of a halt must be a non-empty string',
  ],
  ['a failure that is not JSON', { type: 'fail', reason: new Map() }, 'the value is a Map'],
])('%s is invalid_return', (_what, fields, problem) => {
  expect(readOutcome(toCall, branded(fields))).toMatchObject({
    type: 'error',
    error: {
      reason: 'invalid_return',
      toolName: 'x',
      toolCallId: 'c0',
      message: expect.stringContaining(problem),
    },
  })
})
