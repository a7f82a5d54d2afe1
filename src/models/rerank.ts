import type { AdapterOptions, RerankAdapter } from '../core/contracts/adapter.ts'
import type { Engine } from '../core/contracts/engine.ts'
import type { Check } from '../core/schema/checks.ts'
import { ranksProblem, validateRerankRequest } from '../core/schema/validate-embeddings.ts'
import { defined } from '../core/types/guards.ts'
import type { RerankRequest, RerankResponse, RerankResult } from '../core/types/models.ts'
import {
  callModel,
  later,
  malformedAnswer,
  modelCallOptions,
  type ModelCallOptions,
  type SingleCallKind,
} from './call.ts'

/**
 * Ranks documents by how well they answer a query, the best first. Each result has the document, its index in the list and its score.
 *
 * It uses the engine's `rerankAdapter` and `rerankModel`, in one call: scores of two calls are not comparable. Without documents the
 * results are empty, and nothing is sent.
 */
export async function rerank(
  engine: Engine,
  query: string,
  documents: readonly string[],
  options: RerankCallOptions = {},
): Promise<RerankResult> {
  // A caller without types may pass anything; the validator reports it.
  const list: readonly string[] = Array.isArray(documents) ? documents.slice() : documents
  const response = await callModel(engine, rerankCalls, options, (fields) => ({
    ...fields,
    ...defined<Pick<RerankRequest, 'topN'>>({ topN: options.topN }),
    query,
    documents: list,
  }))
  const results = response.results.map(({ index, score }) => ({
    index,
    score,
    // The index was checked.
    document: list[index] ?? '',
  }))
  return { ...response, results }
}

/** Every option of `rerank`. */
export interface RerankCallOptions extends ModelCallOptions {
  /** How many of the best are wanted. All of them without it. */
  readonly topN?: number | undefined
}

const rerankCalls: SingleCallKind<'rerank', RerankRequest, RerankResponse> = {
  slot: 'rerank',
  span: 'rerank',
  options: modelCallOptions({ topN: later } satisfies Readonly<
    Record<Exclude<keyof RerankCallOptions, keyof ModelCallOptions>, Check>
  >),
  request: validateRerankRequest,
  async send(adapter, request, given) {
    if (request.documents.length === 0) return emptyRanking(adapter, request, given)
    const response = await adapter.rerank(request, given)
    const problem = ranksProblem(response?.results, request)
    if (problem === undefined) return response
    throw malformedAnswer(adapter, given.requestId, problem)
  },
  outcome: ({ id, model, usage }) => ({ responseId: id, responseModel: model, usage }),
}

function emptyRanking(
  { provider }: RerankAdapter,
  { model, metadata }: RerankRequest,
  { requestId = '' }: AdapterOptions,
): RerankResponse {
  const own = defined<{ model?: string }>({ model })
  return { requestId, ...own, provider, results: [], usage: {}, warnings: [], metadata }
}
