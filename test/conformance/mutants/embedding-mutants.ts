import type { EmbeddingHarness, RerankHarness } from '../../../src/conformance.ts'
import type {
  AdapterOptions,
  EmbeddingAdapter,
  RerankAdapter,
} from '../../../src/contracts/adapter.ts'
import { AdapterError, StreamError } from '../../../src/index.ts'
import type {
  Embedding,
  EmbeddingRequest,
  EmbeddingResponse,
  RerankRequest,
  RerankResponse,
} from '../../../src/types/models.ts'
import {
  fakeEmbeddingsHarness,
  fakeRerankHarness,
  httpEmbeddingsHarness,
  httpRerankHarness,
} from '../harnesses.ts'
import { conductDefects, impatient, sending } from './conduct-mutants.ts'
import type { Mutant } from './mutant.ts'

type Send<Request, Response> = (request: Request, options?: AdapterOptions) => Promise<Response>
type Change<Request, Response> = (send: Send<Request, Response>) => Send<Request, Response>

/** The defects that an adapter of either kind may have, by the word for its calls. */
function sharedDefects<
  Request extends { readonly metadata: object },
  Response extends { readonly requestId: string; readonly metadata: object },
>(call: string) {
  type Defect = readonly [
    defect: string,
    caught: string,
    change: Change<Request, Response>,
    onTheWire?: boolean,
  ]
  const failing =
    (change: (error: AdapterError) => Error): Change<Request, Response> =>
    (send) =>
    (...given) =>
      send(...given).catch((error: unknown) => {
        throw error instanceof AdapterError ? change(error) : error
      })
  const giving =
    (change: (response: Response) => object): Change<Request, Response> =>
    (send) =>
    async (...given) =>
      change(await send(...given)) as Response
  const name = call.replace(/^an? /, '')
  const defects: readonly Defect[] = [
    [
      'the id of the run is lost',
      'a response has the id of its run and the name of its provider',
      giving((response) => ({ ...response, requestId: 'another' })),
    ],
    [
      'metadata is lost',
      'the metadata of a request is on its response',
      giving((response) => ({ ...response, metadata: {} })),
    ],
    [
      'a response holds a date',
      'a response is plain JSON',
      giving((response) => ({ at: new Date(0), ...response })),
    ],
    [
      'the request is written to',
      `${call} does not change the request`,
      (send) => (request, options) => {
        Object.assign(request.metadata, { seen: true })
        return send(request, options)
      },
    ],
    [
      'the key is in the metadata of a response',
      'the key is in no response',
      (send) => async (request, options) => {
        const response = await send(request, options)
        return { ...response, metadata: { ...response.metadata, key: options?.apiKey } }
      },
    ],
    ...(
      [
        'authentication_failed',
        'rate_limited',
        'invalid_request',
        'provider_unavailable',
        'content_filter',
      ] as const
    ).map((reason): Defect => [
      `${reason} is an error of streams`,
      `${call} that fails with ${reason} rejects with it`,
      failing((error) =>
        error.reason === reason ? new StreamError('unknown', error.message) : error,
      ),
    ]),
    [
      'Retry-After is lost',
      `a failed ${name} says how long to wait`,
      failing(({ reason, message }) => new AdapterError(reason, message)),
    ],
    [
      'a failure does not say where it happened',
      `a failed ${name} names its provider and its run`,
      failing(({ reason, message, status }) => new AdapterError(reason, message, { status })),
      true,
    ],
    [
      'a signal is not looked at',
      `a signal that is aborted already rejects ${call} with cancelled`,
      (send) =>
        (request, { signal: _signal, ...options } = {}) =>
          send(request, options),
    ],
    [
      'what the provider says is told as it is',
      `a key that the provider echoes is taken out of the error of ${call}`,
      failing((error) =>
        Object.defineProperty(error, 'message', {
          value: 'sk-conformance0123456789abcdef is wrong',
        }),
      ),
    ],
    [
      'a count that nobody made is 0',
      'a response has usage and warnings, and a count that was not reported is absent',
      giving((response) => ({ ...response, usage: { inputTokens: 0 } })),
    ],
  ]
  return defects
}

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
