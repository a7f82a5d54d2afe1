import { toStandardJsonSchema } from '@valibot/to-json-schema'
import * as v from 'valibot'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import {
  chat,
  createEngine,
  generate,
  jsonSchema,
  Session,
  step,
  tool,
  user,
  type ModelResponse,
  type Tool,
} from '../../src/index.ts'
import { fake, type Script } from '../../src/testing.ts'

const messages = [user('go')]
const answer: Script = [
  ['text', '{"city":"Paris",'],
  ['text', '"n":3}'],
  ['finish', 'stop'],
]
const Place = z.object({ city: z.string(), n: z.number().transform((n) => String(n)) })
const engine = (...scripts: Script[]) => createEngine({ adapter: fake({ scripts }) })

describe('generate with a schema', () => {
  test('returns the validated, typed output together with the response', async () => {
    const result = await generate(engine(answer), messages, { responseFormat: Place })
    expect(result.output).toEqual({ city: 'Paris', n: '3' })
    expect(result.outputText).toBe('{"city":"Paris","n":3}')
    expectTypeOf(result.output).toEqualTypeOf<{ city: string; n: string }>()
  })

  test('accepts a Valibot schema as well', async () => {
    const schema = toStandardJsonSchema(v.object({ city: v.string(), n: v.number() }))
    const result = await generate(engine(answer), messages, { responseFormat: schema })
    expect(result.output).toEqual({ city: 'Paris', n: 3 })
    expectTypeOf(result.output).toEqualTypeOf<{ city: string; n: number }>()
  })

  test('sends its JSON Schema to the provider', async () => {
    const adapter = fake({ script: answer })
    await generate(createEngine({ adapter }), messages, { responseFormat: Place })
    expect(adapter.calls[0]?.request.responseFormat).toMatchObject({
      type: 'json_schema',
      strict: true,
      schema: { type: 'object', properties: { city: { type: 'string' } } },
    })
  })

  test('an answer that does not match is a ValidationError with the path, and the text is kept', async () => {
    const wrong: Script = [['text', '{"city":7,"n":1}']]
    await expect(
      generate(engine(wrong), messages, { responseFormat: Place }),
    ).rejects.toMatchObject({
      kind: 'validation',
      reason: 'invalid_output',
      issues: [{ path: 'city' }],
      partial: { outputText: '{"city":7,"n":1}' },
    })
  })

  test.each([
    ['is not JSON', [['text', '{"city":']] as Script, 'is not JSON'],
    ['has no text', [['finish', 'stop']] as Script, 'has no text'],
  ])('an answer that %s is a ValidationError too', async (_what, script, message) => {
    await expect(generate(engine(script), messages, { responseFormat: Place })).rejects.toThrow(
      message,
    )
  })

  test('with a plain format the result has no output', async () => {
    const format = jsonSchema('place', { type: 'object' })
    const result = await generate(engine(answer), messages, { responseFormat: format })
    expect('output' in result).toBe(false)
    expectTypeOf(result).toExtend<ModelResponse>()
  })
})

describe('chat with a schema', () => {
  const look: Tool = tool({
    name: 'look',
    description: 'looks',
    schema: { type: 'object' },
    handler: () => 'seen',
  })
  const calls: Script = [['tool_call', { id: 'c1', name: 'look' }]]

  test('the completed result has the output', async () => {
    const adapter = fake({ scripts: [calls, answer] })
    const result = await chat(createEngine({ adapter, tools: [look] }), messages, {
      responseFormat: Place,
    })
    expect(result.output).toEqual({ city: 'Paris', n: '3' })
    expectTypeOf(result.output).toEqualTypeOf<{ city: string; n: string } | undefined>()
    expect(adapter.calls.every(({ request }) => request.responseFormat !== undefined)).toBe(true)
  })

  test('structuredFinalize runs the loop without the format, then makes one more call with the format and without tools', async () => {
    const adapter = fake({ scripts: [calls, [['text', 'it is Paris']], answer] })
    const engineWithTools = createEngine({ adapter, tools: [look] })
    const result = await chat(engineWithTools, messages, {
      responseFormat: Place,
      structuredFinalize: true,
      tools: [{ ...look, name: 'other' }],
      toolChoice: 'required',
    })
    expect(result).toMatchObject({
      haltedReason: 'completed',
      output: { city: 'Paris' },
      metadata: { structuredFinalize: true },
    })
    expect(result.steps).toHaveLength(3)
    const [first, second, third] = adapter.calls.map(({ request }) => request)
    expect(first).toMatchObject({
      toolChoice: 'required',
      tools: [{ name: 'look' }, { name: 'other' }],
    })
    expect(first?.responseFormat).toBeUndefined()
    expect(second?.responseFormat).toBeUndefined()
    expect(third).toMatchObject({ tools: [], responseFormat: { type: 'json_schema' } })
    expect(third?.toolChoice).toBeUndefined()
    expect(third?.messages.at(-1)).toMatchObject({
      role: 'user',
      metadata: { structuredFinalize: true },
    })
  })

  test('the second pass of structuredFinalize runs no tool, even if the model calls one', async () => {
    const ran: string[] = []
    const peek = tool({
      name: 'peek',
      description: 'peeks',
      schema: { type: 'object' },
      handler: (_args, { toolCall }) => ran.push(toolCall.id),
    })
    const scripts: Script[] = [
      [['text', 'free']],
      [['tool_call', { id: 'c1', name: 'peek', arguments: {} }]],
      answer,
    ]
    const result = await chat(
      createEngine({ adapter: fake({ scripts }), tools: [peek] }),
      messages,
      { responseFormat: Place, structuredFinalize: true },
    )
    expect(ran).toEqual([])
    expect(result.thread.messages.at(-2)?.content).toMatch(/no tool peek/)
    expect(result.output).toEqual({ city: 'Paris', n: '3' })
  })

  test('structuredFinalize does not count towards maxTurns, and follows a loop that ran out of turns', async () => {
    const adapter = fake({ scripts: [calls, answer] })
    const result = await chat(createEngine({ adapter, tools: [look] }), messages, {
      responseFormat: Place,
      structuredFinalize: true,
      maxTurns: 1,
    })
    expect(result).toMatchObject({ haltedReason: 'completed', output: { city: 'Paris' } })
  })

  test('structuredFinalize is skipped when something else ended the loop', async () => {
    const adapter = fake({ scripts: [calls, answer] })
    const result = await chat(
      createEngine({ adapter, tools: [{ ...look, manual: true }] }),
      messages,
      {
        responseFormat: Place,
        structuredFinalize: true,
      },
    )
    expect(result.haltedReason).toBe('manual_tool_calls')
    expect(result.output).toBeUndefined()
  })

  test('structuredFinalize needs a format', async () => {
    await expect(chat(engine(answer), messages, { structuredFinalize: true })).rejects.toThrow(
      'responseFormat',
    )
  })
})

test('a session whose answer does not match is in status error, with the answer in its thread', async () => {
  const wrong: Script = [['text', 'no JSON at all']]
  const { session, result } = await Session.start(engine(wrong), messages, {
    responseFormat: Place,
  })
  expect(session).toMatchObject({
    status: 'error',
    error: { kind: 'validation', reason: 'invalid_output' },
  })
  expect(session.thread.messages.at(-1)?.content).toBe('no JSON at all')
  expect(result.output).toBeUndefined()
})

test('handler arguments are inferred from the schema and validated by it', async () => {
  const seen: unknown[] = []
  const add = tool({
    name: 'add',
    description: 'adds',
    schema: z.object({ a: z.number(), b: z.coerce.number() }),
    handler: ({ a, b }) => {
      expectTypeOf(a).toEqualTypeOf<number>()
      expectTypeOf(b).toEqualTypeOf<number>()
      seen.push(a, b)
      return a + b
    },
  })
  const adapter = fake({
    scripts: [
      [['tool_call', { id: 'c1', name: 'add', arguments: { a: 'one' } }]],
      [['tool_call', { id: 'c2', name: 'add', arguments: { a: 1, b: '2' } }]],
      [['text', 'ok']],
    ],
  })
  const result = await chat(createEngine({ adapter, tools: [add] }), messages)
  expect(seen).toEqual([1, 2])
  expect(result.steps[0]?.toolResults[0]?.content).toMatch(/"error".*a/)
  expect(result.steps[1]?.toolResults[0]?.content).toBe('3')
})

test('a single step has no second pass: its format applies, and structuredFinalize has no effect', async () => {
  const adapter = fake({ script: answer })
  await step(createEngine({ adapter, structuredFinalize: true, responseFormat: Place }), messages)
  expect(adapter.calls[0]?.request.responseFormat).toMatchObject({ type: 'json_schema' })
})
