import type { RerankAdapter } from '../../core/contracts/adapter.ts'
import { mergeOptions, optionsFor } from '../../core/messages/provider-options.ts'
import { ranksProblem } from '../../core/schema/validate-embeddings.ts'
import type { JsonObject } from '../../core/types/json.ts'
import type { DocumentRank, RerankRequest, RerankResponse } from '../../core/types/models.ts'
import type { Usage } from '../../core/types/response.ts'
import type { JsonAnswer } from '../http/post.ts'
import { settleConnection, type ConnectionOptions, type UnsentCall } from '../shared/call.ts'
import { answeredBody, countedUsage, malformedAnswer, modelFailures } from '../shared/embeddings.ts'
import {
  modelCaller,
  responseFields,
  type AnswerContext,
  modelFacts,
} from '../shared/model-caller.ts'
import { asList, asObject, asText } from '../shared/read-json.ts'
import { requestBody } from '../shared/request-body.ts'

/**
 * An adapter for Cohere's rerank API, and for servers that speak it at their own address: llama.cpp with `--reranking`, vLLM, Jina, Together.
 * A text is the name of the model.
 *
 * The results are sorted here, because not every server sorts them, and cut to `topN`, because not every server knows it.
 */
export function cohereRerank(options: CohereRerankOptions | string = {}): RerankAdapter {
  const given = typeof options === 'string' ? { model: options } : options
  const connection = settleConnection(given, {
    provider: 'cohere',
    baseUrl: 'https://api.cohere.com/v2',
  })
  const { provider } = connection
  return {
    ...modelFacts(connection),
    rerank: modelCaller({
      connection,
      parseFailure: modelFailures(provider),
      path: () => ['/rerank'],
      body: (request, call) => JSON.stringify(renderBody(request, call)),
      read: parseRanks,
    }),
  }
}

/** How to reach Cohere, or a server that speaks its rerank API. */
export interface CohereRerankOptions extends ConnectionOptions {
  /** With the version path, such as `http://127.0.0.1:8080/v1` of llama.cpp. The default is `https://api.cohere.com/v2`. */
  readonly baseUrl?: string | undefined
}

function renderBody(request: RerankRequest, { provider }: UnsentCall): JsonObject {
  const { model, query, documents, topN, providerOptions } = request
  const body = requestBody<RerankRequest>({
    model: { model },
    query: { query },
    documents: { documents },
    topN: { top_n: topN },
    providerOptions: {},
    metadata: {},
  })
  return mergeOptions(body, optionsFor('cohere', provider, providerOptions))
}

function parseRanks(answer: JsonAnswer, context: AnswerContext<RerankRequest>): RerankResponse {
  const { call, request } = context
  const { documents, topN } = request
  const body = answeredBody(answer, call)
  const ranks = sortedRanks(body['results'])
  // A server that does not know `top_n` sends all of them.
  const isAll = ranks?.length === documents.length
  const problem = ranksProblem(ranks, isAll ? { documents } : request)
  if (problem !== undefined) throw malformedAnswer(problem, call, answer.status)
  const id = asText(body['id'])
  const model = asText(body['model'])
  return {
    ...responseFields(context, { id, model, headers: answer.headers }),
    // They were checked.
    results: (ranks as readonly DocumentRank[]).slice(0, topN),
    usage: usageOf(body),
  }
}

function sortedRanks(results: unknown): readonly unknown[] | undefined {
  if (!Array.isArray(results)) return undefined
  const ranks = asList(results).map((item) => {
    const { index, relevance_score: score } = asObject(item) ?? {}
    return { index, score }
  })
  return ranks.toSorted((one, other) => Number(other.score) - Number(one.score))
}

/** What Cohere bills, and what other servers count. */
function usageOf({ usage, meta }: JsonObject): Usage {
  const { prompt_tokens, total_tokens } = asObject(usage) ?? {}
  const { billed_units, tokens } = asObject(meta) ?? {}
  const { input_tokens } = asObject(tokens) ?? {}
  const tokenCount = prompt_tokens ?? input_tokens
  return countedUsage(tokenCount, total_tokens, asObject(billed_units)) ?? {}
}
