import type { EmbeddingAdapter, EmbeddingLimits } from '../../core/contracts/adapter.ts'
import { AdapterError } from '../../core/errors/errors.ts'
import { listOf, must, optionsOf, positiveInteger } from '../../core/schema/checks.ts'
import { vectorsProblem } from '../../core/schema/validate-embeddings.ts'
import { defined } from '../../core/types/guards.ts'
import type { Embedding, EmbeddingRequest } from '../../core/types/models.ts'
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
 * Makes an embedding adapter for tests. Without a script, texts that share words get vectors that are near one another, the same ones every
 * time, so that a search can be tested without a model. Words are compared as a whole, without the endings -s, -es, -ed and -ing. With a script, each call
 * is answered by the next entry.
 *
 * The vectors have 256 numbers, or the `dimensions` of the request, and the length 1. A scripted answer that has not one vector for each text, or a number
 * that is not finite, fails with `malformed_response`, as that of a provider would. A call after the last entry fails with `no_scripted_response`.
 */
export function fakeEmbeddings(options: FakeEmbeddingsOptions = {}): FakeEmbeddings {
  const limits = { maxTexts: 2048, ...defined<Partial<EmbeddingLimits>>(options.limits ?? {}) }
  const { shown, play } = scriptedModel(options, embeddingGrammar(limits))
  return Object.assign(shown, {
    limits,
    async embed(request, callOptions = {}) {
      const played = play(request, callOptions)
      const { value: embeddings, facts = {}, requestId } = played
      const problem = vectorsProblem(embeddings, request.texts.length)
      if (problem !== undefined) {
        const origin = { provider: 'fake', requestId }
        throw new AdapterError('malformed_response', `the script has ${problem}`, origin)
      }
      return {
        ...scriptedFields(played, request),
        embeddings,
        usage: facts.usage ?? {},
      }
    },
  } satisfies Pick<EmbeddingAdapter, 'limits' | 'embed'>)
}

/** Options of `fakeEmbeddings`. All of them are checked when the fake is made. */
export interface FakeEmbeddingsOptions extends ScriptedModelOptions<
  EmbeddingScriptEntry,
  EmbeddingRequest
> {
  /** What one call may have, to test batches (2,048 texts). */
  readonly limits?: Partial<EmbeddingLimits> | undefined
}

/** An embedding adapter for tests. It needs no model and no key. */
export interface FakeEmbeddings extends EmbeddingAdapter, ScriptedModel<EmbeddingRequest> {
  readonly provider: 'fake'
}

/** The facts of a scripted answer beside its vectors. */
export interface ScriptedEmbeddingFacts extends ScriptedFacts {
  readonly usage?: Usage
}

/** One entry of an embedding script: the vectors of one call. */
export type EmbeddingScriptEntry = ModelScriptEntry<readonly Embedding[], ScriptedEmbeddingFacts>

/** How the script of embeddings is read, and what is answered without one. */
export function embeddingGrammar({
  maxTexts,
}: EmbeddingLimits): ModelGrammar<readonly Embedding[], ScriptedEmbeddingFacts, EmbeddingRequest> {
  return {
    value: 'vectors',
    check: listOf(listOf(must('a number', (value) => typeof value === 'number'))),
    facts: { usage: scriptedUsage },
    options: { limits: optionsOf({ maxTexts: positiveInteger, maxTokens: positiveInteger }) },
    refuse({ texts }, requestId) {
      const { length } = texts
      if (length > 0 && length <= maxTexts) return
      const message = `one call to the fake embeds 1 to ${maxTexts} texts, not ${length}; embed() splits them`
      throw new AdapterError('invalid_request', message, { provider: 'fake', requestId })
    },
    unscripted({ texts, dimensions = defaultDimensions }) {
      const vectors = texts.map((text) => vectorOf(wordsOf(text), text, dimensions))
      return [vectors, { usage: wordCount(texts) }]
    },
  }
}

/** What texts consume where a script does not say it: a token for each word. */
export function wordCount(texts: readonly string[]): Usage {
  const tokens = texts.reduce((sum, text) => sum + wordsOf(text).length, 0)
  return { inputTokens: tokens, totalTokens: tokens }
}

/** Two texts without a common word are at most about 0.25 near one another. */
const defaultDimensions = 256

/** A vector of the length 1: each word is a few places in it, each with a sign, by its hash. A text without words is one word. */
function vectorOf(words: readonly string[], text: string, dimensions: number): Embedding {
  const vector = Array.from({ length: dimensions }, () => 0)
  for (const word of words) addWord(vector, word)
  // Words may cancel one another out.
  if (!vector.some((value) => value !== 0)) vector[hashOf(text) % dimensions] = 1
  const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0))
  return vector.map((value) => value / length)
}

/** With one place each, two of thirty words would often have the same. To share all of several is too rare to happen. */
const placesOfWord = 8

/** Short words, such as "the" and "of", say little; a number says a lot. */
function addWord(vector: number[], word: string): void {
  const weight = word.length < 4 && !/\p{N}/u.test(word) ? 0.25 : 1
  let hash = hashOf(word)
  for (let count = 0; count < placesOfWord; count++) {
    const place = (hash >>> 1) % vector.length
    vector[place] = (vector[place] ?? 0) + (hash % 2 === 0 ? weight : -weight)
    hash = mixed(hash)
  }
}

/** FNV-1a. */
function hashOf(word: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < word.length; at++) {
    hash = Math.imul(hash ^ word.charCodeAt(at), 0x01000193)
  }
  return mixed(hash)
}

/** Another number in which every bit depends on all bits of the given one. */
function mixed(number: number): number {
  let bits = (number + 0x9e3779b9) | 0
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b)
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35)
  return (bits ^ (bits >>> 16)) >>> 0
}
