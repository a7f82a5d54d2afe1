import type { EmbeddingAdapter, EmbeddingLimits } from '../../core/contracts/adapter.ts'
import { mergeOptions, optionsFor } from '../../core/messages/provider-options.ts'
import type { JsonObject } from '../../core/types/json.ts'
import type {
  Embedding,
  EmbeddingRequest,
  EmbeddingResponse,
  EmbeddingTask,
} from '../../core/types/models.ts'
import type { Warn } from '../../core/types/warning.ts'
import type { JsonAnswer } from '../http/post.ts'
import type { UnsentCall } from '../shared/call.ts'
import {
  answeredBody,
  countedUsage,
  embeddingResponse,
  malformedAnswer,
  refuseTexts,
  settleLimits,
} from '../shared/embeddings.ts'
import { modelCaller, type AnswerContext, modelFacts } from '../shared/model-caller.ts'
import { asList, asObject } from '../shared/read-json.ts'
import { requestBody } from '../shared/request-body.ts'
import { parseFailure } from './failure.ts'
import { keyHeader, settle, wholePath, type GeminiOptions } from './gemini.ts'

/**
 * An adapter for the embedding models of the Gemini API. A text is the name of the model.
 *
 * With `dimensions` the vectors have the length 1, whether the model does that itself or not. `providerOptions.gemini` is merged into the
 * part of the call that belongs to each text, such as `{ title }`. A text that is too long for the model is cut by Gemini without a word.
 */
export function geminiEmbeddings(options: GeminiEmbeddingsOptions | string = {}): EmbeddingAdapter {
  const given: GeminiEmbeddingsOptions = typeof options === 'string' ? { model: options } : options
  const { limits: own, ...connecting } = given
  const limits = settleLimits(own, { maxTexts: 100 })
  const connection = settle(connecting)
  const { provider } = connection
  return {
    ...modelFacts(connection),
    limits,
    embed: modelCaller({
      connection,
      keyHeader,
      parseFailure,
      refuse: (request, call) => refuseTexts(limits, request, call),
      path: (request) => [
        wholePath(provider, request.model).replace(/:\w+$/, ':batchEmbedContents'),
      ],
      body: (request, call, warn) => JSON.stringify(renderBody(request, call, warn)),
      read: parseEmbeddings,
    }),
  }
}

/** How to reach the embedding models of the Gemini API. */
export interface GeminiEmbeddingsOptions extends GeminiOptions {
  /** What one call may have, where it is not 100 texts as at Gemini. */
  readonly limits?: Partial<EmbeddingLimits> | undefined
}

const taskTypes: Readonly<Record<EmbeddingTask, string>> = {
  search_document: 'RETRIEVAL_DOCUMENT',
  search_query: 'RETRIEVAL_QUERY',
  classification: 'CLASSIFICATION',
  clustering: 'CLUSTERING',
  similarity: 'SEMANTIC_SIMILARITY',
}

/** A request for each text: several texts in one request would become one vector. */
function renderBody(request: EmbeddingRequest, { provider }: UnsentCall, warn: Warn): JsonObject {
  const { model = '', texts, dimensions, providerOptions } = request
  const name = model.includes('/') ? model : `models/${model}`
  const taskType = taskTypeOf(request, warn)
  const over = optionsFor('gemini', provider, providerOptions)
  const requests = texts.map((text) => {
    const own = requestBody<EmbeddingRequest>({
      model: { model: name },
      texts: { content: { parts: [{ text }] } },
      task: { taskType },
      dimensions: { outputDimensionality: dimensions },
      providerOptions: {},
      metadata: {},
    })
    return mergeOptions(own, over)
  })
  return { requests }
}

/** The word for the task. Models after the first generation take it as words in the text. */
function taskTypeOf({ task, model = '' }: EmbeddingRequest, warn: Warn): string | undefined {
  if (task === undefined) return undefined
  if (!/gemini-embedding-[2-9]/.test(model)) return taskTypes[task]
  warn('task', `${model} has no parameter for it: name the task in the text`)
  return undefined
}

/** Reads an answer. It has no indices: the vectors are in the order of the texts. */
function parseEmbeddings(
  answer: JsonAnswer,
  context: AnswerContext<EmbeddingRequest>,
): EmbeddingResponse {
  const { call, request } = context
  const { embeddings, usageMetadata } = answeredBody(answer, call)
  if (!Array.isArray(embeddings)) throw malformedAnswer('no list of vectors', call, answer.status)
  const vectors = asList(embeddings).map((item) => asObject(item)?.['values'])
  const { promptTokenCount, totalTokenCount } = asObject(usageMetadata) ?? {}
  const usage = countedUsage(promptTokenCount, totalTokenCount)
  const response = embeddingResponse(vectors, answer, context, { usage })
  return request.dimensions === undefined
    ? response
    : { ...response, embeddings: response.embeddings.map(unitVector) }
}

/** The vector at the length 1. One that has it stays as it is, and so does one of zeros. */
function unitVector(vector: Embedding): Embedding {
  // By the largest value, so that no square is too large for a number.
  const scale = vector.reduce((most, value) => Math.max(most, Math.abs(value)), 0)
  if (scale === 0) return vector
  const sum = vector.reduce((total, value) => total + (value / scale) ** 2, 0)
  const root = Math.sqrt(sum)
  return Math.abs(root * scale - 1) < 1e-6 ? vector : vector.map((value) => value / scale / root)
}
