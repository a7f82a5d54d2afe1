import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { cohereRerank } from '../../../src/cohere.ts'
import { createEngine, embed, rerank, type Engine } from '../../../src/index.ts'
import { openaiEmbeddings } from '../../../src/openai.ts'
import {
  hasLlama,
  llamaKey,
  startLlamaWith,
  type RunningLlama,
} from '../../support/llama-server.ts'

const texts = ['hello from', 'one tiny llama file', 'unicode 🌍']

describe.skipIf(!hasLlama())(
  'embeddings and reranking of a real llama.cpp server of ../shared/tools/llama',
  { timeout: 300_000 },
  () => {
    const servers: RunningLlama[] = []
    const start = async (...options: readonly string[]): Promise<Engine> => {
      const server = await startLlamaWith(...options)
      servers.push(server)
      const connection = {
        baseUrl: `http://127.0.0.1:${server.port}/v1`,
        apiKey: llamaKey,
        provider: 'llamacpp',
        model: 'tiny',
      }
      const embeddingAdapter = openaiEmbeddings({ ...connection, limits: { maxTexts: 2 } })
      return createEngine({ embeddingAdapter, rerankAdapter: cohereRerank(connection) })
    }
    let pooled: Engine
    let unpooled: Engine
    let ranking: Engine
    beforeAll(async () => {
      pooled = await start('--embeddings', '--pooling', 'mean')
      unpooled = await start('--embeddings', '--pooling', 'none')
      ranking = await start('--reranking')
    }, 300_000)
    afterAll(() => servers.forEach((server) => server.stop()))

    test('a vector for each text, in several batches, with the tokens of all', async () => {
      const { embeddings, usage, model, provider } = await embed(pooled, texts)
      expect(embeddings).toHaveLength(3)
      expect(new Set(embeddings.map(({ length }) => length)).size).toBe(1)
      expect({ model, provider }).toEqual({ model: 'tiny', provider: 'llamacpp' })
      // The tokens of this model are bytes, so the estimate of the batches is exact.
      const bytes = new TextEncoder().encode(texts.join('')).length
      expect(usage).toEqual({ inputTokens: bytes, totalTokens: bytes })
    })

    test('base64 and numbers are the same vectors', async () => {
      const openai = (encoding_format: string) => ({ openai: { encoding_format } })
      const numbers = await embed(pooled, texts, { providerOptions: openai('float') })
      const base64 = await embed(pooled, texts, { providerOptions: openai('base64') })
      expect(base64.embeddings).toEqual(numbers.embeddings)
    })

    test('dimensions that the server does not know are told', async () => {
      const { embeddings, warnings } = await embed(pooled, 'hello', { dimensions: 3 })
      const problem = `the vectors have ${embeddings[0]?.length} numbers, not 3`
      expect(warnings).toEqual([{ setting: 'dimensions', problem }])
    })

    test('a server that makes a vector of each token is refused clearly', async () => {
      await expect(embed(unpooled, 'hello')).rejects.toMatchObject({
        reason: 'invalid_request',
        message: expect.stringContaining('Pooling type') as string,
      })
    })

    test('a wrong key', async () => {
      const call = embed(pooled, 'hello', { apiKey: 'wrong' })
      await expect(call).rejects.toMatchObject({ reason: 'authentication_failed' })
    })

    test('a ranking', async () => {
      const { results, usage } = await rerank(ranking, 'hello', texts, { topN: 2 })
      expect(results).toHaveLength(2)
      for (const { index, document } of results) expect(document).toBe(texts[index])
      expect(usage.inputTokens).toBeGreaterThan(0)
    })

    test('a server that was started without reranking says so, and is not asked again', async () => {
      await expect(rerank(pooled, 'hello', texts)).rejects.toMatchObject({
        reason: 'unsupported_feature',
        message: expect.stringContaining('--reranking') as string,
      })
    })
  },
)
