import { describe, test } from 'vitest'
import { embeddingAdapterCases, register, rerankAdapterCases } from '../../../src/conformance.ts'
import {
  fakeEmbeddingsHarness,
  fakeRerankHarness,
  httpEmbeddingsHarness,
  httpRerankHarness,
} from './harnesses.ts'

describe('the embedding fake', () => {
  register(embeddingAdapterCases, fakeEmbeddingsHarness, test)
})

describe.each(['openai', 'gemini'] as const)('%s embeddings over HTTP', (provider) => {
  register(embeddingAdapterCases, httpEmbeddingsHarness(provider), test)
})

describe('the rerank fake', () => {
  register(rerankAdapterCases, fakeRerankHarness, test)
})

describe('reranking over HTTP', () => {
  register(rerankAdapterCases, httpRerankHarness, test)
})
