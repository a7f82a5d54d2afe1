import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { EmbeddingRequest } from '../../src/core/types/models.ts'
import { geminiEmbeddings } from '../../src/gemini.ts'
import { openaiEmbeddings } from '../../src/openai.ts'
import type { Fetch } from '../../src/providers/http/call.ts'
import { sentJson, stubFetch } from '../models/support.ts'
import { hasShared, recordedCases, type RecordedCase } from '../support/recordings.ts'
import { hasOracles, loadOracle } from '../testing/server/wire/shared.ts'

const cases = recordedCases().filter(({ endpoint }) =>
  ['embeddings', 'batchEmbedContents'].includes(endpoint),
)

function read(folder: string, file: string): unknown {
  return JSON.parse(readFileSync(join(folder, file), 'utf8'))
}

interface Facts {
  readonly count: number
  readonly dims: readonly (number | string)[]
  readonly first: readonly (readonly number[] | string)[]
  readonly usage?: { readonly prompt_tokens: number; readonly total_tokens: number }
  readonly error?: { readonly status: number; readonly message: string }
}

const adapterOf = ({ provider }: RecordedCase, fetch: Fetch) =>
  provider === 'gemini'
    ? geminiEmbeddings({ apiKey: 'k', fetch })
    : openaiEmbeddings({ apiKey: 'k', fetch })

const asked: EmbeddingRequest = { model: 'm', texts: ['a'], providerOptions: {}, metadata: {} }

describe.skipIf(!hasShared)('recorded answers of embedding models (../shared/fixtures)', () => {
  test.each(cases)('$id', async (recorded) => {
    const { folder, status } = recorded
    const facts = read(folder, 'expect.json') as Facts
    const body = readFileSync(join(folder, 'response.json'), 'utf8')
    const { fetch } = stubFetch(() => new Response(body, { status }))
    const call = adapterOf(recorded, fetch).embed(asked)
    if (facts.error !== undefined) {
      const { message } = facts.error
      await expect(call).rejects.toMatchObject({ reason: 'authentication_failed', message })
      return
    }
    const { embeddings, usage } = await call
    expect(embeddings).toHaveLength(facts.count)
    const [vector = []] = embeddings
    const [length] = facts.dims
    expect(vector).toHaveLength(Number(String(length).replace('base64:', '')))
    expect(usage.inputTokens).toBe(facts.usage?.prompt_tokens)
    expect(usage.totalTokens).toBe(facts.usage?.total_tokens)
    const [first] = facts.first
    if (typeof first === 'string') {
      const bytes = Buffer.from(new Float32Array(vector).buffer).toString('base64')
      expect(bytes.startsWith(first)).toBe(true)
    } else expect(vector.slice(0, 3)).toEqual(first)
  })

  test('vectors of a shortened Gemini model get the length 1', async () => {
    const recorded = cases.filter(({ endpoint }) => endpoint === 'batchEmbedContents')
    expect(recorded.length).toBeGreaterThan(0)
    for (const one of recorded) {
      const body = readFileSync(join(one.folder, 'response.json'), 'utf8')
      const { fetch } = stubFetch(() => new Response(body))
      const { embeddings, warnings } = await adapterOf(one, fetch).embed({
        ...asked,
        dimensions: 768,
      })
      expect(warnings).toEqual([])
      expect(Math.hypot(...(embeddings[0] ?? []))).toBeCloseTo(1, 9)
    }
  })
})

describe.skipIf(!hasOracles)('by the published descriptions in ../shared/oracles', () => {
  test('the requests of both adapters are valid, and have nothing that is not known', async () => {
    const validate = await loadOracle('default', true)
    const all = { ...asked, texts: ['a', 'b'], dimensions: 8, task: 'search_query' } as const
    for (const [provider, kind] of [
      ['openai', 'openai.embeddings.request'],
      ['gemini', 'gemini.batchEmbed.request'],
    ] as const) {
      const { fetch, calls } = stubFetch(() => new Response('{}'))
      const adapter =
        provider === 'openai'
          ? openaiEmbeddings({ apiKey: 'k', fetch })
          : geminiEmbeddings({ apiKey: 'k', fetch })
      await adapter.embed(all).catch(() => undefined)
      expect(validate(kind, sentJson(calls[0]))).toEqual([])
    }
  })
})
