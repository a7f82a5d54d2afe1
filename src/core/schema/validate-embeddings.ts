import { isObject } from '../types/guards.ts'
import { embeddingTasks, type EmbeddingRequest, type RerankRequest } from '../types/models.ts'
import {
  describe,
  listOf,
  oneOf,
  positiveInteger,
  shapeOf,
  someText,
  type Check,
} from './checks.ts'
import { requestFields } from './validate.ts'

const { providerOptions, metadata } = requestFields

/** The problems of an embedding request. A list without texts is valid: there is nothing to do. */
export const validateEmbeddingRequest: Check = shapeOf<EmbeddingRequest>(
  { texts: listOf(someText), providerOptions, metadata },
  { model: someText, dimensions: positiveInteger, task: oneOf(embeddingTasks) },
)

/** The problems of a reranking request. A list without documents is valid: there is nothing to do. */
export const validateRerankRequest: Check = shapeOf<RerankRequest>(
  { query: someText, documents: listOf(someText), providerOptions, metadata },
  { model: someText, topN: positiveInteger },
)

/** What is wrong with the vectors of an answer. `undefined` if there is one for each text, all of one length and of finite numbers. */
export function vectorsProblem(vectors: unknown, count: number): string | undefined {
  if (!isList(vectors)) return 'no list of vectors'
  if (vectors.length !== count) return `${vectors.length} vectors for ${count} texts`
  let length: number | undefined
  for (const [index, vector] of vectors.entries()) {
    const problem = isList(vector) ? vectorProblem(vector) : `is ${describe(vector)}`
    if (problem !== undefined) return `a vector that ${problem} (text ${index})`
    const own = isList(vector) ? vector.length : 0
    length ??= own
    if (own !== length) {
      return `vectors of different lengths: ${length} (text 0) and ${own} (text ${index})`
    }
  }
  return undefined
}

function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value)
}

function vectorProblem(vector: readonly unknown[]): string | undefined {
  if (vector.length === 0) return 'is empty'
  for (let at = 0; at < vector.length; at++) {
    const value = vector[at]
    if (typeof value === 'number' && Number.isFinite(value)) continue
    return isList(value)
      ? 'has a list for each token: the server needs a pooling type, such as --pooling mean of llama.cpp'
      : `has ${describe(value)} at ${at}, which is not a finite number`
  }
  return undefined
}

/**
 * What is wrong with the results of a ranking. `undefined` if there are as many as there should be, the best first, each with another
 * document and a finite score.
 */
export function ranksProblem(
  results: unknown,
  { documents, topN = documents.length }: Pick<RerankRequest, 'documents' | 'topN'>,
): string | undefined {
  if (!isList(results)) return 'no list of results'
  const wanted = Math.min(topN, documents.length)
  if (results.length !== wanted) return `${results.length} results instead of ${wanted}`
  const seen = new Set<unknown>()
  let last = Infinity
  for (const result of results) {
    const { index, score } = isObject(result) ? result : {}
    const exists = typeof index === 'number' && Number.isInteger(index) && index in documents
    if (!exists) return `a result for the document ${describe(index)}, which does not exist`
    if (seen.has(index)) return `two results for the document ${index}`
    seen.add(index)
    if (typeof score !== 'number' || !Number.isFinite(score)) {
      return `the score ${describe(score)}, which is not a finite number (document ${index})`
    }
    if (score > last) return `results that are not sorted by their scores`
    last = score
  }
  return undefined
}
