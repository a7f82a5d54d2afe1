import { describe, expect, test } from 'vitest'
import { anthropic } from '../../../src/anthropic.ts'
import type { JsonObject, JsonValue } from '../../../src/core/types/json.ts'
import type { ModelRequest, ToolSpec } from '../../../src/core/types/request.ts'
import { renderRequest } from '../../../src/providers/anthropic/render-request.ts'
import { warningList } from '../../../src/providers/shared/call.ts'
import { request } from './support.ts'

const weather: ToolSpec = {
  name: 'weather',
  description: 'Tells the weather.',
  schema: { type: 'object', properties: {} },
}

function render(fields: Partial<ModelRequest>, version = '2023-06-01') {
  const { warnings, warn } = warningList()
  const rendered = renderRequest(request(fields), { provider: 'anthropic', version, warn })
  return { ...rendered, leftOut: warnings.map(({ setting }) => setting) }
}

describe('a minimal request', () => {
  test('has a model, its messages and a maximum length', () => {
    expect(render({})).toEqual({
      body: {
        model: 'claude-haiku-4-5',
        max_tokens: 64_000,
        messages: [{ role: 'user', content: 'Hi' }],
      },
      leftOut: [],
      forms: { tools: new Map() },
    })
  })

  test('without a model is rejected', async () => {
    const { model: _model, ...unnamed } = request()
    await expect(anthropic({ apiKey: 'key' }).generate?.(unnamed)).rejects.toMatchObject({
      kind: 'engine',
      reason: 'missing_model',
    })
  })

  test('allows the longest answer of the model unless maxTokens is set', () => {
    expect(render({ model: 'claude-opus-5-5' }).body['max_tokens']).toBe(128_000)
    expect(render({ model: 'claude-opus-5-5', maxTokens: 100 }).body['max_tokens']).toBe(100)
  })
})

describe('temperature', () => {
  test.each([
    { name: 'an older model takes it', fields: {}, sent: true },
    { name: 'a newer model refuses it', fields: { model: 'claude-opus-4-7' }, sent: false },
    {
      name: 'a model that thinks refuses it',
      fields: { reasoning: { effort: 'low' } },
      sent: false,
    },
    {
      name: 'a model with thinking turned off takes it',
      fields: { reasoning: { effort: 'none' } },
      sent: true,
    },
    {
      name: 'the newest version of the API refuses it',
      fields: {},
      version: '2026-10-21',
      sent: false,
    },
  ] as const)('$name', ({ fields, sent, ...rest }) => {
    const { body, leftOut } = render(
      { temperature: 0, ...fields },
      'version' in rest ? rest.version : undefined,
    )
    expect(body['temperature']).toBe(sent ? 0 : undefined)
    expect(leftOut).toEqual(sent ? [] : ['temperature'])
  })
})

test('a temperature above the API’s maximum is sent as the maximum', () => {
  expect(render({ temperature: 1.5 })).toMatchObject({
    body: { temperature: 1 },
    leftOut: ['temperature'],
  })
})

describe('tools', () => {
  test.each([
    [undefined, undefined],
    ['auto', undefined],
    ['none', { type: 'none' }],
    ['required', { type: 'any' }],
    ['weather', { type: 'tool', name: 'weather' }],
  ])('the choice %s is written as %o', (toolChoice, wire) => {
    const { body } = render({
      tools: [weather],
      ...(toolChoice === undefined ? {} : { toolChoice }),
    })
    expect(body['tools']).toEqual([
      {
        name: 'weather',
        description: 'Tells the weather.',
        input_schema: { type: 'object', properties: {} },
      },
    ])
    expect(body['tool_choice']).toEqual(wire)
  })

  test.each(['required', 'weather'])(
    'a forced choice is left out for a model that does not take it: %s',
    (toolChoice) => {
      const { body, leftOut } = render({ model: 'claude-opus-5-5', tools: [weather], toolChoice })
      expect(body).not.toHaveProperty('tool_choice')
      expect(leftOut).toEqual(['toolChoice'])
    },
  )

  test.each([
    [undefined, { type: 'auto', disable_parallel_tool_use: true }],
    ['required', { type: 'any', disable_parallel_tool_use: true }],
    ['weather', { type: 'tool', name: 'weather', disable_parallel_tool_use: true }],
  ])('disable_parallel_tool_use is a provider option, with the choice %s', (toolChoice, wire) => {
    const { body } = render({
      tools: [weather],
      ...(toolChoice === undefined ? {} : { toolChoice }),
      providerOptions: { anthropic: { tool_choice: { disable_parallel_tool_use: true } } },
    })
    expect(body['tool_choice']).toEqual(wire)
  })

  test('a schema that is too large for the API to compile is not enforced: a strict tool is a plain one, a format a tool', () => {
    const names = Array.from({ length: 25 }, (_, index) => `p${index}`)
    const wide = (type: JsonValue, required: readonly string[]): JsonObject => ({
      type: 'object',
      properties: Object.fromEntries(names.map((name) => [name, { type }])),
      required,
    })
    const sizes = [
      [wide('string', names), true],
      [wide('string', names.slice(0, 1)), true],
      [wide('string', []), false],
      [wide(['string', 'null'], names), false],
    ] as const
    for (const [schema, isEnforced] of sizes) {
      const tools = render({ tools: [{ ...weather, schema, strict: true }] })
      expect(tools.leftOut).toEqual(isEnforced ? [] : ['tools.weather.strict'])
      const { strict = false } = (tools.body['tools'] as readonly JsonObject[])[0] ?? {}
      expect(strict).toBe(isEnforced)
      const responseFormat = { type: 'json_schema', name: 'p', schema, strict: true } as const
      const answer = render({ responseFormat })
      expect(answer.leftOut).toEqual(isEnforced ? [] : ['responseFormat.strict'])
      expect('output_config' in answer.body).toBe(isEnforced)
      expect('tools' in answer.body).toBe(!isEnforced)
    }
  })

  test('the schema of a strict tool is closed when the model can enforce it', () => {
    const strict: ToolSpec = { ...weather, strict: true }
    expect(render({ tools: [strict] }).body['tools']).toMatchObject([
      { strict: true, input_schema: { additionalProperties: false } },
    ])
    expect(render({ model: 'claude-3-7-sonnet-20250219', tools: [strict] }).body['tools']).toEqual([
      { name: 'weather', description: 'Tells the weather.', input_schema: weather.schema },
    ])
  })

  test('a conversation with calls declares their tools, also when the request has none', () => {
    const toolCalls = [{ id: 'a', name: 'weather', arguments: {} }]
    const { body } = render({
      messages: [
        { role: 'user', content: '?' },
        { role: 'assistant', content: '', toolCalls },
        { role: 'tool', toolCallId: 'a', content: 'sunny' },
      ],
    })
    expect(body['tools']).toEqual([{ name: 'weather', input_schema: { type: 'object' } }])
    expect(body['tool_choice']).toEqual({ type: 'none' })
  })
})

describe('reasoning', () => {
  test.each([
    ['claude-haiku-4-5', 'none', undefined, undefined, false],
    ['claude-haiku-4-5', 'minimal', { type: 'enabled', budget_tokens: 1024 }, undefined, false],
    ['claude-haiku-4-5', 'low', { type: 'enabled', budget_tokens: 4096 }, undefined, false],
    ['claude-haiku-4-5', 'medium', { type: 'enabled', budget_tokens: 12_288 }, undefined, false],
    ['claude-haiku-4-5', 'high', { type: 'enabled', budget_tokens: 24_000 }, undefined, false],
    ['claude-haiku-4-5', 'max', { type: 'enabled', budget_tokens: 48_000 }, undefined, false],
    ['claude-opus-4-1', 'max', { type: 'enabled', budget_tokens: 24_000 }, undefined, true],
    ['claude-3-opus-20240229', 'high', undefined, undefined, true],
    ['claude-opus-4-6', 'minimal', { type: 'adaptive' }, { effort: 'low' }, true],
    ['claude-opus-5', 'max', { type: 'adaptive' }, { effort: 'max' }, false],
    ['claude-opus-4-8', 'none', undefined, undefined, false],
    ['claude-opus-5', 'none', { type: 'disabled' }, undefined, false],
    ['claude-sonnet-5-5', 'none', { type: 'between_tools' }, undefined, false],
    ['claude-opus-5-5', 'none', undefined, { effort: 'low' }, true],
  ] as const)('%s with effort %s', (model, effort, thinking, output_config, isLeftOut) => {
    const { body, leftOut } = render({ model, reasoning: { effort } })
    expect({ thinking: body['thinking'], output_config: body['output_config'] }).toEqual({
      thinking,
      output_config,
    })
    expect(leftOut).toEqual(isLeftOut ? ['reasoning'] : [])
  })

  test.each([
    [true, 'summarized'],
    [false, 'omitted'],
  ])('a summary is asked for, or not: %s', (summary, display) => {
    const reasoning = { effort: 'high', summary } as const
    expect(render({ model: 'claude-opus-5-5', reasoning }).body['thinking']).toEqual({
      type: 'adaptive',
      display,
    })
    expect(render({ reasoning }).body['thinking']).toMatchObject({ type: 'enabled', display })
  })

  test('the budget leaves room for the answer, and an answer that is too short has no thinking', () => {
    const reasoning = { effort: 'high' } as const
    expect(render({ reasoning, maxTokens: 4000 }).body['thinking']).toEqual({
      type: 'enabled',
      budget_tokens: 3000,
    })
    expect(render({ reasoning, maxTokens: 1000 })).toMatchObject({ leftOut: ['reasoning'] })
    expect(render({ reasoning, maxTokens: 1000 }).body).not.toHaveProperty('thinking')
  })

  test('a forced tool excludes thinking, because the API does not take both', () => {
    const forced = {
      reasoning: { effort: 'high' },
      tools: [weather],
      toolChoice: 'required',
    } as const
    expect(render(forced)).toMatchObject({ leftOut: ['reasoning'] })
    expect(render(forced).body).not.toHaveProperty('thinking')
    expect(render({ ...forced, model: 'claude-opus-5' }).body).toMatchObject({
      output_config: { effort: 'high' },
    })
  })

  test('a model that thinks is asked to continue an answer that was cut; one that does not continues by itself', () => {
    const messages = [
      { role: 'user', content: 'A story' },
      { role: 'assistant', content: 'Once' },
    ] as const
    expect(render({ messages }).body['messages']).toHaveLength(2)
    expect(render({ messages, reasoning: { effort: 'low' } }).body['messages']).toHaveLength(3)
  })
})

describe('the response format', () => {
  const schema = {
    type: 'object',
    properties: { age: { type: 'integer', minimum: 0 } },
    required: ['age'],
  }
  const responseFormat = { type: 'json_schema', name: 'person', schema, strict: true } as const
  const old = 'claude-3-5-haiku-latest'

  test('is sent in the API’s own field when the model has it', () => {
    const { body, forms } = render({ responseFormat, reasoning: { effort: 'none' } })
    expect(body['output_config']).toEqual({
      format: {
        type: 'json_schema',
        schema: {
          type: 'object',
          properties: { age: { type: 'integer', description: '{minimum: 0}' } },
          required: ['age'],
          additionalProperties: false,
        },
      },
    })
    expect(forms.answerTool).toBeUndefined()
  })

  test('is sent beside the effort', () => {
    const { body } = render({
      model: 'claude-opus-5-5',
      responseFormat,
      reasoning: { effort: 'high' },
    })
    expect(body['output_config']).toMatchObject({ effort: 'high', format: { type: 'json_schema' } })
  })

  test('becomes a forced tool for other models', () => {
    const { body } = render({ model: old, responseFormat })
    expect(body['tools']).toMatchObject([{ name: 'respond_with_person', input_schema: schema }])
    expect(body['tool_choice']).toEqual({ type: 'tool', name: 'respond_with_person' })
    expect(body).not.toHaveProperty('output_config')
  })

  test.each([
    [undefined, { type: 'any' }, ['weather', 'respond_with_person']],
    ['none', { type: 'tool', name: 'respond_with_person' }, ['weather', 'respond_with_person']],
    ['required', { type: 'any' }, ['weather']],
    ['weather', { type: 'tool', name: 'weather' }, ['weather']],
  ])('leaves the other tools callable, with the choice %s', (toolChoice, wire, names) => {
    const { body } = render({
      model: old,
      responseFormat,
      tools: [weather],
      ...(toolChoice === undefined ? {} : { toolChoice }),
    })
    expect(body['tool_choice']).toEqual(wire)
    expect(body['tools']).toMatchObject(names.map((name) => ({ name })))
  })

  test('json_object becomes a forced tool, and is an error for a model that takes none', () => {
    const json = { responseFormat: { type: 'json_object' } } as const
    expect(render(json).body['tool_choice']).toEqual({ type: 'tool', name: 'respond_with_json' })
    expect(() => render({ ...json, model: 'claude-opus-5-5' })).toThrow(
      expect.objectContaining({ kind: 'engine', reason: 'unsupported_response_format' }),
    )
  })

  test('avoids the name of another tool, and free text needs no setting', () => {
    const taken = { ...weather, name: 'respond_with_person' }
    expect(render({ model: old, responseFormat, tools: [taken] }).forms.answerTool).toBe(
      'respond_with_person_',
    )
    expect(render({ responseFormat: { type: 'text' } }).body).not.toHaveProperty('output_config')
  })

  test('that is not an object is wrapped in one, with its definitions at the root', () => {
    const list = { type: 'array', items: { $ref: '#/$defs/n' }, $defs: { n: { type: 'number' } } }
    const { body, forms } = render({
      model: old,
      responseFormat: { ...responseFormat, schema: list },
    })
    expect(forms.answer?.wrapped).toBe(true)
    expect(body['tools']).toMatchObject([
      {
        input_schema: {
          type: 'object',
          properties: { value: { type: 'array', items: { $ref: '#/$defs/n' } } },
          required: ['value'],
          $defs: { n: { type: 'number' } },
        },
      },
    ])
  })

  test('that cannot be enforced becomes a forced tool with a note, and is refused where no tool can be forced', () => {
    const any = { ...responseFormat, schema: { ...schema, properties: { age: {} } } }
    const { body, leftOut } = render({ model: 'claude-opus-4-5', responseFormat: any })
    expect(body['tools']).toMatchObject([{ name: 'respond_with_person', input_schema: any.schema }])
    expect(leftOut).toEqual(['responseFormat.strict'])
    expect(() => render({ model: 'claude-opus-5-5', responseFormat: any })).toThrow(
      'responseFormat.schema.properties.age allows values of any type',
    )
  })
})

describe('other settings', () => {
  test.each([
    [true, { type: 'ephemeral' }],
    [{ retention: 'short' }, { type: 'ephemeral' }],
    [
      { key: 'k', retention: 'long' },
      { type: 'ephemeral', ttl: '1h' },
    ],
  ] as const)('a cache is asked for with %o', (promptCache, wire) => {
    expect(render({ promptCache }).body['cache_control']).toEqual(wire)
  })

  test('provider options override the body, and are merged into its objects', () => {
    const { body } = render({
      model: 'claude-opus-5',
      reasoning: { effort: 'high' },
      tools: [weather],
      providerOptions: {
        anthropic: {
          tools: [{ type: 'web_search_20250305', name: 'web_search' }],
          output_config: { effort: 'xhigh' },
          thinking: { type: 'disabled' },
          metadata: { user_id: 'u' },
          max_tokens: 7,
        },
        openai: { store: false },
      },
    })
    expect(body).toMatchObject({
      tools: [{ name: 'weather' }, { name: 'web_search' }],
      output_config: { effort: 'xhigh' },
      metadata: { user_id: 'u' },
      max_tokens: 7,
    })
    expect(body['thinking']).toEqual({ type: 'disabled' })
    expect(body).not.toHaveProperty('store')
  })

  test('the options under the adapter’s own name are merged too', () => {
    const { body } = renderRequest(
      request({ providerOptions: { anthropic: { a: 1, b: 1 }, kimi: { b: 2 } } }),
      {
        provider: 'kimi',
        version: '2023-06-01',
        warn: () => undefined,
      },
    )
    expect(body).toMatchObject({ a: 1, b: 2 })
  })
})
