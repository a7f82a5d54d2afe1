import type { JsonObject, JsonValue } from '../../core/types/json.ts'
import type { DocumentRank, RerankRequest } from '../../core/types/models.ts'
import {
  rerankGrammar,
  type RerankScriptEntry,
  type ScriptedRerankFacts,
} from '../fakes/fake-rerank.ts'
import { scriptedModel, type PlayedAnswer } from '../fakes/scripted-model.ts'
import { missing, wrongType } from './check-openai.ts'
import { kindOf, shown, type RequestProblem } from './check-params.ts'
import { outcomeOf, type ServedModel } from './served-model.ts'
import { jsonAnswer, openaiUsage, refused } from './wire-embeddings.ts'
import { openaiHeaders } from './wire-failure.ts'

/** The rerank endpoint of Cohere and of compatible servers. A scripted answer is sent as it is, in its order. */
export function servedRerank(script: readonly RerankScriptEntry[] | undefined): ServedModel {
  const { play } = scriptedModel({ script }, rerankGrammar)
  return {
    check: (_route, body) => checkRerank(body),
    async answer(route, call) {
      const { requestId, model, body } = call
      const request = readRequest(body)
      // `play` throws what a script tells it to.
      const given = async (): Promise<Played> => play(request, { requestId })
      const outcome = await outcomeOf(given())
      if ('failure' in outcome) return refused(route, call, outcome.failure)
      const { value, facts = {} } = outcome.answer
      const results = script === undefined ? bestOf(value, body['top_n']) : value
      const answer = {
        id: facts.id ?? `rerank-${requestId}`,
        object: 'list',
        model: facts.model ?? model,
        results: results.map(({ index, score }) => ({ index, relevance_score: score })),
        ...openaiUsage(facts.usage),
      }
      return jsonAnswer(answer, openaiHeaders(requestId))
    },
  }
}

type Played = PlayedAnswer<readonly DocumentRank[], ScriptedRerankFacts>

function readRequest({ query, documents }: JsonObject): RerankRequest {
  return {
    query: shown(query),
    documents: textsOf(documents),
    providerOptions: {},
    metadata: {},
  }
}

/** Some clients send documents as objects with a text. */
function textsOf(documents: JsonValue | undefined): readonly string[] {
  const items: readonly JsonValue[] = Array.isArray(documents) ? documents : []
  return items.map(shown)
}

function bestOf(
  ranks: readonly DocumentRank[],
  topN: JsonValue | undefined,
): readonly DocumentRank[] {
  const sorted = ranks.toSorted((one, other) => other.score - one.score)
  return typeof topN === 'number' ? sorted.slice(0, topN) : sorted
}

/** Checks a request: what is missing, and wrong kinds. Servers have parameters of their own, so unknown ones pass. */
function checkRerank({ query, documents, top_n }: JsonObject): RequestProblem | undefined {
  if (query === undefined) return missing('query')
  if (documents === undefined) return missing('documents')
  if (typeof query !== 'string') return wrongType('query', 'a string', kindOf(query))
  if (!Array.isArray(documents)) return wrongType('documents', 'an array', kindOf(documents))
  if (documents.length === 0)
    return { message: "'documents' must not be empty.", param: 'documents' }
  if (top_n === undefined || top_n === null || kindOf(top_n) === 'integer') return undefined
  return wrongType('top_n', 'an integer', kindOf(top_n))
}
