import { describe, expect, test } from 'vitest'
import { anthropic } from '../../../src/anthropic.ts'
import type { ChatAdapter } from '../../../src/core/contracts/adapter.ts'
import type { JsonObject } from '../../../src/core/types/json.ts'
import { gemini } from '../../../src/gemini.ts'
import {
  isAllmError,
  jsonSchema,
  modelRequest,
  user,
  type ModelRequest,
} from '../../../src/index.ts'
import { openai } from '../../../src/openai.ts'
import { renderWire, wireResponse, type WireFormat } from '../../../src/server.ts'
import { rawSchemas, trickySchemas } from '../../support/tricky-schemas.ts'
import { hasOracles, loadOracle, requestKinds } from '../../testing/server/wire/shared.ts'

type Fetch = (url: string, init: { readonly body?: unknown }) => Promise<Response>

/** An API and a model of it. Older models get other schemas. */
const apis: readonly (readonly [WireFormat, string, (fetch: Fetch) => ChatAdapter])[] = [
  ['openai_chat', 'gpt-5', (fetch) => openai({ apiKey: 'k', fetch, api: 'chat' })],
  ['openai_responses', 'gpt-5', (fetch) => openai({ apiKey: 'k', fetch, api: 'responses' })],
  ['anthropic', 'claude-opus-5', (fetch) => anthropic({ apiKey: 'k', fetch })],
  ['anthropic', 'claude-sonnet-4-0', (fetch) => anthropic({ apiKey: 'k', fetch })],
  ['gemini', 'gemini-3-pro-preview', (fetch) => gemini({ apiKey: 'k', fetch })],
  ['gemini', 'gemini-2.5-flash', (fetch) => gemini({ apiKey: 'k', fetch })],
  ['gemini', 'gemini-2.0-flash', (fetch) => gemini({ apiKey: 'k', fetch })],
]

const schemas: readonly (readonly [string, JsonObject])[] = [
  ...Object.entries(trickySchemas).map(
    ([name, schema]) =>
      [
        name,
        schema['~standard'].jsonSchema?.input({ target: 'draft-2020-12' }) as JsonObject,
      ] as const,
  ),
  ...Object.entries(rawSchemas),
]

describe.skipIf(!hasOracles)('requests with hard schemas (../shared/oracles)', () => {
  test.each(apis)(
    '%s, %s: each is strict-valid, or refused by name',
    async (format, model, make) => {
      const validate = await loadOracle('default', true)
      const told: Record<string, readonly string[]> = {}
      let requests = 0
      for (const [name, schema] of schemas) {
        for (const [use, request] of Object.entries(usesOf(schema, model))) {
          const body = await bodyOf(format, make, request)
          if (body === undefined) continue
          requests++
          const errors = validate(requestKinds[format], body)
          if (errors.length > 0) told[`${name}, ${use}`] = errors
        }
      }
      expect(told).toEqual({})
      expect(requests).toBeGreaterThan(2 * schemas.length)
    },
  )
})

/** A schema as an answer, as a strict tool, as a tool, and as an answer beside that tool. */
function usesOf(schema: JsonObject, model: string): Readonly<Record<string, ModelRequest>> {
  const responseFormat = jsonSchema('answer', schema)
  const find = { name: 'find', description: 'Finds.', schema }
  const other = { name: 'other', description: 'Another.', schema: { type: 'object' } }
  const request = (rest: Partial<ModelRequest>): ModelRequest => ({
    ...modelRequest([user('go')]),
    model,
    ...rest,
  })
  return {
    answer: request({ responseFormat }),
    'strict tool': request({ tools: [{ ...find, strict: true }] }),
    tool: request({ tools: [find] }),
    'answer beside a tool': request({ responseFormat, tools: [other] }),
  }
}

/** The body that is sent; `undefined` if the adapter refuses the schema. */
async function bodyOf(
  format: WireFormat,
  make: (fetch: Fetch) => ChatAdapter,
  request: ModelRequest,
): Promise<JsonObject | undefined> {
  let body: JsonObject | undefined
  const adapter = make((_url, init) => {
    body = JSON.parse(String(init.body)) as JsonObject
    return wireResponse(renderWire(format, [['text', '{}']], { stream: true }))
  })
  try {
    const batches = adapter.stream(request)[Symbol.asyncIterator]()
    await batches.next()
    await batches.return?.()
  } catch (error) {
    if (!isAllmError(error)) throw error
    expect(error).toMatchObject({ kind: 'adapter', reason: 'unsupported_feature' })
    expect(body).toBe(undefined)
  }
  return body
}
