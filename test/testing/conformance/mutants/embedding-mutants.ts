import type { EmbeddingHarness, RerankHarness } from '../../../../src/conformance.ts'
import type { EmbeddingAdapter, RerankAdapter } from '../../../../src/core/contracts/adapter.ts'
import type {
  Embedding,
  EmbeddingRequest,
  EmbeddingResponse,
  RerankRequest,
  RerankResponse,
} from '../../../../src/core/types/models.ts'
import { AdapterError } from '../../../../src/index.ts'
import {
  fakeEmbeddingsHarness,
  fakeRerankHarness,
  httpEmbeddingsHarness,
  httpRerankHarness,
} from '../harnesses.ts'
import { conductDefects, impatient, sending, sharedDefects, type Change } from './model-mutants.ts'
import type { Mutant } from './mutant.ts'

type EmbedChange = Change<EmbeddingRequest, EmbeddingResponse>

const withVectors =
  (change: (vectors: readonly Embedding[]) => readonly Embedding[]): EmbedChange =>
  (send) =>
  async (...given) => {
    const response = await send(...given)
    return { ...response, embeddings: change(response.embeddings) }
  }

/** What a careless adapter makes of an answer that its provider should not have sent. */
const forgiving: EmbedChange =
  (send) =>
  async (...given) => {
    try {
      return await send(...given)
    } catch (error) {
      if (!(error instanceof AdapterError)) throw error
      const [{ metadata }] = given
      const facts = { requestId: 'r', provider: 'fake', usage: {}, warnings: [], metadata }
      return { ...facts, embeddings: [[1]] }
    }
  }

/** Embedding adapters with one defect each. */
export const embeddingMutants: readonly Mutant<EmbeddingHarness>[] = [
  ...conductDefects('an embedding call').map((one) =>
    impatient(embedder(one.defect, one.caught, (send) => sending(one, send), true)),
  ),
  ...sharedDefects<EmbeddingRequest, EmbeddingResponse>('an embedding call').map(
    ([defect, caught, change, onTheWire]) => embedder(defect, caught, change, onTheWire),
  ),
  embedder(
    'a count that nobody made is 0',
    'a response has usage and warnings, and a count that was not reported is absent',
    (send) =>
      async (...given) => ({ ...(await send(...given)), usage: { inputTokens: 0 } }),
  ),
  embedder(
    'the vectors are in another order',
    'a response has a vector for each text, in their order',
    withVectors((vectors) => vectors.toReversed()),
  ),
  embedder(
    'tokens are not counted',
    'the tokens of the texts are counted',
    (send) =>
      async (...given) => ({
        ...(await send(...given)),
        usage: {},
      }),
  ),
  ...[
    'too few vectors',
    'too many vectors',
    'vectors of different lengths',
    'empty vectors',
    'numbers that are not finite',
  ].map((what) => embedder(`${what} are taken`, `${what} are malformed_response`, forgiving)),
  embedder('the limit is 0', 'the limits are positive integers', (send) => send, false, {
    maxTexts: 0,
  }),
  embedder(
    'nothing is embedded',
    'a request with no text is refused with invalid_request',
    forgiving,
  ),
  embedder(
    'too many texts are cut',
    'a request with more texts than maxTexts is refused with invalid_request',
    (send) => (request, options) => send({ ...request, texts: request.texts.slice(0, 1) }, options),
  ),
  embedder(
    'what is refused is sent first',
    'a request that is refused is not sent',
    (send) => async (request, options) => {
      await send({ ...request, texts: request.texts.slice(0, 1) }, options)
      return send(request, options)
    },
    true,
  ),
  embedder(
    'the metadata is sent',
    'the texts are sent, and the metadata is not',
    (send) => (request, options) =>
      send({ ...request, providerOptions: { openai: { user: 'of the caller' } } }, options),
    true,
  ),
  embedder(
    'dimensions and task are dropped',
    'dimensions and task are sent or named in warnings',
    (send) =>
      ({ dimensions: _dimensions, task: _task, ...request }, options) =>
        send(request, options),
    true,
  ),
]

function embedder(
  defect: string,
  caught: string,
  change: EmbedChange,
  onTheWire = false,
  limits?: EmbeddingAdapter['limits'],
): Mutant<EmbeddingHarness> {
  const right = onTheWire ? httpEmbeddingsHarness('openai') : fakeEmbeddingsHarness
  const harness: EmbeddingHarness = {
    ...right,
    patienceMs: 5000,
    async start(script, options) {
      const started = await right.start(script, options)
      const { adapter } = started
      const broken: EmbeddingAdapter = {
        provider: adapter.provider,
        limits: limits ?? adapter.limits,
        embed: change((...given) => adapter.embed(...given)),
      }
      return { ...started, adapter: broken }
    },
  }
  return { defect, caught, harness }
}

type RankChange = Change<RerankRequest, RerankResponse>

const withResults =
  (change: (results: RerankResponse['results']) => RerankResponse['results']): RankChange =>
  (send) =>
  async (...given) => {
    const response = await send(...given)
    return { ...response, results: change(response.results) }
  }

const ranksAnyway: RankChange =
  (send) =>
  async (...given) => {
    try {
      return await send(...given)
    } catch (error) {
      if (!(error instanceof AdapterError)) throw error
      const [{ metadata }] = given
      const facts = { requestId: 'r', provider: 'fake', usage: {}, warnings: [], metadata }
      return { ...facts, results: [{ index: 0, score: 1 }] }
    }
  }

/** Rerank adapters with one defect each. */
export const rerankMutants: readonly Mutant<RerankHarness>[] = [
  ...conductDefects('a reranking call').map((one) =>
    impatient(ranker(one.defect, one.caught, (send) => sending(one, send), true)),
  ),
  ...sharedDefects<RerankRequest, RerankResponse>('a reranking call').map(
    ([defect, caught, change, onTheWire]) => ranker(defect, caught, change, onTheWire),
  ),
  ranker(
    'a count that nobody made is 0',
    'a response has usage and warnings, and a count that was not reported is absent',
    (send) =>
      async (...given) => ({ ...(await send(...given)), usage: { inputTokens: 0 } }),
  ),
  ranker(
    'the results are in the order of the documents',
    'the results are sorted, the best first, with their indices and scores',
    withResults((results) => results.toSorted((one, other) => one.index - other.index)),
  ),
  ranker(
    'topN is not looked at',
    'only the best topN are in a response',
    (send) =>
      ({ topN: _topN, ...request }, options) =>
        send(request, options),
  ),
  ranker(
    'a topN beyond the documents is an error',
    'a topN beyond the documents gives all of them',
    (send) => async (request, options) => {
      if ((request.topN ?? 0) > request.documents.length) throw new AdapterError('unknown', 'no')
      return send(request, options)
    },
  ),
  ...[
    'too few results',
    'too many results',
    'two results for one document',
    'a result for a document that does not exist',
    'a score that is not finite',
  ].map((what) =>
    ranker(`${what} are taken`, `an answer with ${what} is malformed_response`, ranksAnyway),
  ),
  ranker(
    'another query is sent',
    'the query and the documents are sent, and the metadata is not',
    (send) => (request, options) => send({ ...request, query: 'something' }, options),
    true,
  ),
]

function ranker(
  defect: string,
  caught: string,
  change: RankChange,
  onTheWire = false,
): Mutant<RerankHarness> {
  const right = onTheWire ? httpRerankHarness : fakeRerankHarness
  const harness: RerankHarness = {
    ...right,
    patienceMs: 5000,
    async start(script, options) {
      const started = await right.start(script, options)
      const { adapter } = started
      const broken: RerankAdapter = {
        provider: adapter.provider,
        rerank: change((...given) => adapter.rerank(...given)),
      }
      return { ...started, adapter: broken }
    },
  }
  return { defect, caught, harness }
}
