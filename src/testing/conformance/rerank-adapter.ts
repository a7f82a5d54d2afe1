import type { RerankAdapter } from '../../core/contracts/adapter.ts'
import type { DocumentRank, RerankRequest, RerankResponse } from '../../core/types/models.ts'
import type { RerankScriptEntry } from '../fakes/fake-rerank.ts'
import type { ConformanceCase, RerankCapability } from './cases.ts'
import { demand } from './demands.ts'
import {
  errorOf,
  playModel,
  sharedModelCases,
  type ModelCaseScript,
  type ModelFixture,
  type ModelHarness,
  type ModelPlay,
} from './model-adapter.ts'

/** Starts a rerank adapter whose calls are answered by a script. */
export interface RerankHarness extends ModelHarness<
  RerankAdapter,
  RerankScriptEntry,
  RerankCapability
> {}

/** A case for rerank adapters. */
export type RerankCase = ConformanceCase<RerankHarness, RerankCapability>

const rerankPlay: ModelPlay<RerankAdapter, RerankRequest, RerankResponse> = {
  call: 'a reranking call',
  contract: 'rerankResponse',
  request: requestOf,
  send: (adapter, request, options) => adapter.rerank(request, options),
}

type Fixture = ModelFixture<RerankAdapter, RerankRequest, RerankResponse>

const documents = ['a heron', 'a kestrel', 'a wren']

/** The best one is not the first, and they are not sorted. */
const ranks: readonly DocumentRank[] = [
  { index: 0, score: -0.5 },
  { index: 1, score: 0.75 },
  { index: 2, score: 0.25 },
]

/** Runs a case on an adapter whose provider answers with these results. */
function answering(
  act: (fixture: Fixture) => Promise<void>,
  answer: readonly DocumentRank[] = ranks,
): RerankCase['run'] {
  return (harness) => playModel(harness, rerankPlay, [['ok', answer]], act)
}

/** What only rankings have. */
const ownCases: readonly RerankCase[] = [
  {
    name: 'the results are sorted, the best first, with their indices and scores',
    run: answering(async (fixture) => {
      const { results } = await fixture.succeed()
      const told = results.map(({ index, score }) => `${index}: ${score}`)
      demand(told.join() === '1: 0.75,2: 0.25,0: -0.5', {
        expected: 'the documents 1, 2 and 0 with 0.75, 0.25 and -0.5',
        received: results,
        contract: 'rerankResponse',
      })
    }),
  },
  {
    name: 'only the best topN are in a response',
    run: answering(async (fixture) => {
      const { results } = await fixture.succeed({ topN: 2 })
      demand(results.map(({ index }) => index).join() === '1,2', {
        expected: 'the documents 1 and 2',
        received: results,
        contract: 'rerankResponse',
      })
    }),
  },
  {
    name: 'a topN beyond the documents gives all of them',
    run: answering(async (fixture) => {
      const { results } = await fixture.succeed({ topN: 9 })
      demand(results.length === 3, {
        expected: 'three results',
        received: results,
        contract: 'rerankResponse',
      })
    }),
  },
  ...(
    [
      ['too few results', ranks.slice(0, 2)],
      ['too many results', [...ranks, { index: 0, score: 1 }]],
      ['two results for one document', [...ranks.slice(0, 2), { index: 1, score: 0 }]],
      [
        'a result for a document that does not exist',
        [...ranks.slice(0, 2), { index: 3, score: 0 }],
      ],
      ['a score that is not finite', [...ranks.slice(0, 2), { index: 2, score: NaN }]],
    ] as const
  ).map(([what, answer]): RerankCase => ({
    name: `an answer with ${what} is malformed_response`,
    run: answering(async (fixture) => {
      const outcome = await fixture.call(fixture.request())
      demand(errorOf(outcome)?.reason === 'malformed_response', {
        expected: 'a rejection with AdapterError malformed_response',
        received: outcome.failure?.thrown ?? outcome.response?.results,
        contract: 'rerankResponse',
      })
    }, answer),
  })),
  {
    name: 'a response has usage and warnings, and a count that was not reported is absent',
    run: answering(async (fixture) => {
      const { usage, warnings } = await fixture.succeed()
      const isPlain = Array.isArray(warnings) && typeof usage === 'object'
      demand(isPlain && usage.inputTokens === undefined && usage.totalTokens === undefined, {
        expected: 'usage {} and warnings []',
        received: { usage, warnings },
        contract: 'usage',
      })
    }),
  },
  {
    name: 'the query and the documents are sent, and the metadata is not',
    capability: 'requests',
    run: answering(async (fixture) => {
      const query = 'which one hovers'
      await fixture.succeed({ query, metadata: { secret: 'of the caller' } })
      const sent = JSON.stringify(fixture.requests())
      const isSent = [...documents, query].every((text) => sent.includes(text))
      demand(isSent && !sent.includes('of the caller'), {
        expected: 'the query and the documents in the request, and no metadata',
        received: sent,
        contract: 'conversation',
      })
    }),
  },
]

const script: ModelCaseScript<RerankScriptEntry> = {
  ok: ['ok', ranks],
  error: (data) => ['error', data],
}

const shared = sharedModelCases(rerankPlay, script)

/** The cases for every rerank adapter. */
export const rerankAdapterCases: readonly RerankCase[] = [
  ...shared.responses,
  ...ownCases,
  ...shared.failures,
  ...shared.conduct,
]

function requestOf(model: string, fields: Partial<RerankRequest> = {}): RerankRequest {
  return { model, query: 'a bird', documents, providerOptions: {}, metadata: {}, ...fields }
}
