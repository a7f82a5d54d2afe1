import type { RerankAdapter } from '../../core/contracts/adapter.ts'
import { AdapterError } from '../../core/errors/errors.ts'
import { listOf, must, nonNegativeInteger, shape } from '../../core/schema/checks.ts'
import { ranksProblem } from '../../core/schema/validate-embeddings.ts'
import type { DocumentRank, RerankRequest } from '../../core/types/models.ts'
import type { Usage } from '../../core/types/response.ts'
import {
  scriptedFields,
  scriptedModel,
  scriptedUsage,
  type ModelGrammar,
  type ModelScriptEntry,
  type ScriptedFacts,
  type ScriptedModel,
  type ScriptedModelOptions,
} from './scripted-model.ts'
import { wordsOf } from './words.ts'

/**
 * Makes a rerank adapter for tests. Without a script, the score of a document is the share of the query's words that it has, compared as a whole, without the endings -s, -es, -ed and -ing. With a script,
 * each call is answered by the next entry, sorted and cut to `topN`.
 *
 * A scripted answer that does not rank the documents of the request fails with `malformed_response`, as that of a provider would. A call after
 * the last entry fails with `no_scripted_response`.
 */
export function fakeRerank(options: FakeRerankOptions = {}): FakeRerank {
  const { shown, play } = scriptedModel(options, rerankGrammar)
  return Object.assign(shown, {
    async rerank(request, callOptions = {}) {
      const played = play(request, callOptions)
      const { value, facts = {}, requestId } = played
      const { documents, topN } = request
      const ranks = value.toSorted((one, other) => other.score - one.score)
      const problem = ranksProblem(
        ranks,
        ranks.length === documents.length ? { documents } : request,
      )
      if (problem !== undefined) {
        const origin = { provider: 'fake', requestId }
        throw new AdapterError('malformed_response', `the script has ${problem}`, origin)
      }
      return {
        ...scriptedFields(played, request),
        results: ranks.slice(0, topN),
        usage: facts.usage ?? {},
      }
    },
  } satisfies Pick<RerankAdapter, 'rerank'>)
}

/** Options of `fakeRerank`. All of them are checked when the fake is made. */
export interface FakeRerankOptions extends ScriptedModelOptions<RerankScriptEntry, RerankRequest> {}

/** A rerank adapter for tests. It needs no model and no key. */
export interface FakeRerank extends RerankAdapter, ScriptedModel<RerankRequest> {
  readonly provider: 'fake'
}

/** The facts of a scripted ranking beside its results. */
export interface ScriptedRerankFacts extends ScriptedFacts {
  readonly usage?: Usage
}

/** One entry of a rerank script: the results of one call, in any order. */
export type RerankScriptEntry = ModelScriptEntry<readonly DocumentRank[], ScriptedRerankFacts>

/** How the script of rankings is read, and what is answered without one. */
export const rerankGrammar: ModelGrammar<
  readonly DocumentRank[],
  ScriptedRerankFacts,
  RerankRequest
> = {
  value: 'results',
  check: listOf(
    shape({
      index: nonNegativeInteger,
      score: must('a number', (value) => typeof value === 'number'),
    }),
  ),
  facts: { usage: scriptedUsage },
  unscripted({ query, documents }) {
    const wanted = new Set(wordsOf(query))
    return [documents.map((document, index) => ({ index, score: shareOf(wanted, document) }))]
  },
}

function shareOf(wanted: ReadonlySet<string>, document: string): number {
  const found = new Set(wordsOf(document).filter((word) => wanted.has(word)))
  return wanted.size === 0 ? 0 : found.size / wanted.size
}
