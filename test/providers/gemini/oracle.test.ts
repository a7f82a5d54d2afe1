import { existsSync } from 'node:fs'
import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import type { JsonObject } from '../../../src/core/types/json.ts'
import type { Message } from '../../../src/core/types/message.ts'
import type { ModelRequest } from '../../../src/core/types/request.ts'
import { renderRequest } from '../../../src/providers/gemini/render-request.ts'
import { checkGemini } from '../../../src/testing/server/check-gemini.ts'
import { toolSpec, transcript } from '../../support/arbitraries.ts'
import { request, shared } from './support.ts'

/** Checks a body against Google's own description of the API, unknown members included. */
type Validate = (
  kind: string,
  body: unknown,
  options: { strict: boolean; mode: 'exact' | 'default' },
) => { readonly ok: boolean; readonly errors?: readonly string[] }

const oracle = shared('oracles/validate.mjs')

const image = { type: 'base64', base64: 'AAAA', mimeType: 'image/png' } as const
const address = { type: 'url', url: 'https://example.com/a.png' } as const
const schema: JsonObject = {
  type: 'object',
  properties: {
    city: { type: ['string', 'null'], minLength: 1 },
    days: {
      anyOf: [
        { type: 'integer', maximum: 9 },
        { type: 'string', enum: ['all'] },
      ],
    },
    rates: { type: 'array', items: { type: 'number', enum: [1, 2] }, minItems: 1 },
    when: { $ref: '#/$defs/when' },
  },
  required: ['city'],
  additionalProperties: false,
  $defs: { when: { type: 'string', format: 'date-time', description: 'When' } },
}
const weather = { name: 'weather', description: 'Tells the weather.', schema }
const now = { name: 'now', description: 'The time.', schema: { type: 'object', properties: {} } }

const conversation: readonly Message[] = [
  { role: 'system', content: 'Be brief.' },
  {
    role: 'user',
    content: [
      { type: 'text', text: 'Look' },
      { type: 'image', image },
      { type: 'image', image: address },
    ],
  },
  {
    role: 'assistant',
    content: [
      { type: 'reasoning', text: 'Hm', opaque: 'Uw==', provider: 'gemini' },
      { type: 'text', text: 'One moment.' },
      {
        type: 'reasoning',
        text: '',
        opaque: { thoughtSignature: 'Uw==', on: 'previous' },
        provider: 'gemini',
      },
      { type: 'reasoning', text: 'Hm', provider: 'openai' },
    ],
    toolCalls: [
      {
        id: 'c1',
        name: 'weather',
        arguments: { city: 'Rome' },
        opaque: { thoughtSignature: 'Uw==' },
      },
      { id: 'c2', name: 'now', arguments: {}, opaque: { sentId: null } },
    ],
  },
  { role: 'tool', content: 'noon', toolCallId: 'c2' },
  {
    role: 'tool',
    content: [
      { type: 'text', text: 'sunny' },
      { type: 'image', image },
    ],
    toolCallId: 'c1',
  },
  { role: 'assistant', content: '' },
  { role: 'user', content: 'Thanks' },
]

const hosted = 'options of the provider'

const matrix: Readonly<Record<string, Partial<ModelRequest>>> = {
  'a plain request': {},
  'a whole conversation': { messages: conversation, tools: [weather, now] },
  'system messages only': { messages: [{ role: 'system', content: 'Tell a joke.' }] },
  'every parameter': {
    temperature: 0.5,
    maxTokens: 64,
    reasoning: { effort: 'none', summary: true },
    promptCache: { key: 'k', retention: 'long' },
    metadata: { mine: true },
  },
  'the tool choice auto': { tools: [weather], toolChoice: 'auto' },
  'the tool choice none': { tools: [weather], toolChoice: 'none' },
  'the tool choice required': { tools: [weather], toolChoice: 'required' },
  'one tool': { tools: [weather, now], toolChoice: 'now' },
  'JSON of any form': { responseFormat: { type: 'json_object' } },
  'JSON of one form': { responseFormat: { type: 'json_schema', name: 'x', schema, strict: true } },
  [hosted]: {
    tools: [weather],
    providerOptions: {
      gemini: {
        safetySettings: [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' }],
        cachedContent: 'cachedContents/1',
        tools: [{ googleSearch: {} }, { codeExecution: {} }],
        generationConfig: { topK: 3, topP: 0.9, seed: 7, responseModalities: ['TEXT', 'IMAGE'] },
      },
    },
  },
}

const models = ['gemini-2.0-flash', 'gemini-2.5-pro', 'gemini-3.1-pro-preview']
const rows = Object.keys(matrix).flatMap((name) => models.map((model) => ({ name, model })))

describe.skipIf(!existsSync(oracle))('the published description (../shared/oracles)', () => {
  let validate: Validate

  beforeAll(async () => {
    const module: { validate: Validate } = await import(oracle)
    validate = module.validate
  })

  const check = (body: JsonObject): void => {
    const verdict = validate('gemini.generate.request', known(body), {
      strict: true,
      mode: 'exact',
    })
    expect(verdict).toEqual({ ok: true })
  }

  // Gemini before 3 does not take both kinds of tools.
  const legal = rows.filter(({ name, model }) => name !== hosted || model.startsWith('gemini-3'))
  test.each(legal)('$name for $model matches the description of Google', ({ name, model }) => {
    check(renderRequest(request({ model, ...matrix[name] })).body)
  })

  test('a member that does not exist is refused', () => {
    const body = { ...renderRequest(request()).body, generationConfig: { top_kay: 1 } }
    const verdict = validate('gemini.generate.request', body, { strict: true, mode: 'exact' })
    expect(verdict.ok).toBe(false)
  })

  test('every conversation matches the description of Google', () => {
    const tools = fc.uniqueArray(toolSpec, { maxLength: 2, selector: ({ name }) => name })
    fc.assert(
      fc.property(transcript, tools, fc.constantFrom(...models), (messages, specs, model) => {
        const described = specs.map((spec) => ({ ...spec, schema }))
        check(renderRequest(request({ model, messages, tools: described })).body)
      }),
      { numRuns: 200 },
    )
  })
})

describe.skipIf(!existsSync(oracle))('the description of Vertex AI (../shared/oracles)', () => {
  const baseUrl =
    'https://us-central1-aiplatform.googleapis.com/v1/projects/p/locations/us-central1/publishers/google'
  let validate: Validate

  beforeAll(async () => {
    const module: { validate: Validate } = await import(oracle)
    validate = module.validate
  })

  const check = (asked: ModelRequest): void => {
    const { body } = renderRequest(asked, { provider: 'gemini-vertex', baseUrl })
    const how = { strict: true, mode: 'exact' } as const
    expect(validate('vertex.generate.request', body, how)).toEqual({ ok: true })
    expect(checkGemini(body, asked.model, true)).toBeUndefined()
  }

  const legal = rows.filter(({ name, model }) => name !== hosted || model.startsWith('gemini-3'))
  test.each(legal)('$name for $model matches it, with nothing taken out', ({ name, model }) => {
    check(request({ model, ...matrix[name] }))
  })

  test('a member that only the Gemini API has is refused by it', () => {
    const { body } = renderRequest(request())
    const how = { strict: true, mode: 'exact' } as const
    for (const more of [
      { store: true },
      { toolConfig: { includeServerSideToolInvocations: true } },
    ]) {
      expect(validate('vertex.generate.request', { ...body, ...more }, how).ok).toBe(false)
      expect(checkGemini({ ...body, ...more }, undefined, true)).toBeDefined()
    }
  })

  test('every conversation matches it', () => {
    const tools = fc.uniqueArray(toolSpec, { maxLength: 2, selector: ({ name }) => name })
    fc.assert(
      fc.property(transcript, tools, fc.constantFrom(...models), (messages, specs, model) => {
        const described = specs.map((spec) => ({ ...spec, schema }))
        check(request({ model, messages, tools: described }))
      }),
      { numRuns: 200 },
    )
  })
})

/** Without the thinking level and the calls of hosted tools, which are newer than the description. */
function known(body: JsonObject): JsonObject {
  const copy = structuredClone(body) as {
    generationConfig?: { thinkingConfig?: object }
    toolConfig?: { includeServerSideToolInvocations?: boolean }
  }
  delete copy.toolConfig?.includeServerSideToolInvocations
  const thinking = copy.generationConfig?.thinkingConfig
  if (thinking !== undefined && 'thinkingLevel' in thinking) delete thinking.thinkingLevel
  return copy as JsonObject
}
