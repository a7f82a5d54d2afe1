import { base64ToBytes } from '../../core/base/base64.ts'
import type { EmbeddingAdapter, EmbeddingLimits } from '../../core/contracts/adapter.ts'
import { mergeOptions, optionsFor } from '../../core/messages/provider-options.ts'
import type { JsonObject, JsonValue } from '../../core/types/json.ts'
import type { EmbeddingRequest, EmbeddingResponse } from '../../core/types/models.ts'
import type { Warn } from '../../core/types/warning.ts'
import type { JsonAnswer } from '../http/post.ts'
import type { UnsentCall } from '../shared/call.ts'
import {
  answeredBody,
  countedUsage,
  embeddingResponse,
  malformedAnswer,
  modelFailures,
  refuseTexts,
  settleLimits,
} from '../shared/embeddings.ts'
import { modelCaller, type AnswerContext, modelFacts } from '../shared/model-caller.ts'
import { asList, asObject, asText } from '../shared/read-json.ts'
import { requestBody } from '../shared/request-body.ts'
import { settleOptions, type OpenAiOptions } from './openai.ts'

/**
 * An adapter for OpenAI's embeddings API, and for compatible servers such as llama.cpp, vLLM and Ollama. A text is the name of the model.
 *
 * `task` has no parameter there: it is left out and named in `warnings`. OpenAI and Azure are asked for base64, which is less than half of the
 * size; other servers for numbers, which all of them know. `providerOptions.openai.encoding_format` says otherwise, and both are read. The options
 * `api`, `family` and `compat` are for chat and have no effect here.
 */
export function openaiEmbeddings(options: OpenAiEmbeddingsOptions | string = {}): EmbeddingAdapter {
  const given: OpenAiEmbeddingsOptions = typeof options === 'string' ? { model: options } : options
  const { limits: own, ...connecting } = given
  const limits = settleLimits(own, { maxTexts: 2048, maxTokens: 300_000 })
  const { connection, headers } = settleOptions(connecting)
  const { provider, server } = connection
  const form = knowsBase64(server) ? 'base64' : undefined
  return {
    ...modelFacts(connection),
    limits,
    embed: modelCaller({
      connection,
      headers,
      parseFailure: modelFailures(provider),
      refuse: (request, call) => refuseTexts(limits, request, call),
      path: () => ['/embeddings'],
      body: (request, call, warn) => JSON.stringify(renderBody(request, call, form, warn)),
      read: parseEmbeddings,
    }),
  }
}

/** How to reach OpenAI's embeddings API, or a server that is compatible with it. */
export interface OpenAiEmbeddingsOptions extends OpenAiOptions {
  /** What one call may have, where it is not 2,048 texts and 300,000 tokens as at OpenAI. */
  readonly limits?: Partial<EmbeddingLimits> | undefined
}

/** Some compatible servers refuse the word. */
function knowsBase64(server: string): boolean {
  return /(?:^|\.)(?:openai|azure)\.com$/.test(new URL(server).hostname)
}

function renderBody(
  request: EmbeddingRequest,
  { provider }: UnsentCall,
  form: 'base64' | undefined,
  warn: Warn,
): JsonObject {
  const { model, texts, dimensions, task, providerOptions } = request
  if (task !== undefined) warn('task', `${provider} has no parameter for it`)
  const body = requestBody<EmbeddingRequest>({
    model: { model },
    texts: { input: texts, encoding_format: form },
    dimensions: { dimensions },
    task: {},
    providerOptions: {},
    metadata: {},
  })
  return mergeOptions(body, optionsFor('openai', provider, providerOptions))
}

/** Reads an answer. The vectors are put in the order of their `index`; a server that sends none is trusted with the order. */
function parseEmbeddings(
  answer: JsonAnswer,
  context: AnswerContext<EmbeddingRequest>,
): EmbeddingResponse {
  const { call } = context
  const { data, usage, model } = answeredBody(answer, call)
  if (!Array.isArray(data)) throw malformedAnswer('no list of vectors', call, answer.status)
  const items = asList(data).map((item) => asObject(item) ?? {})
  const vectors = placed(items)
  if (typeof vectors === 'string') throw malformedAnswer(vectors, call, answer.status)
  const { prompt_tokens, total_tokens } = asObject(usage) ?? {}
  return embeddingResponse(vectors, answer, context, {
    model: asText(model),
    usage: countedUsage(prompt_tokens, total_tokens),
  })
}

/** The vectors in the places that their indices name, or what is wrong with an index. Either all have one or none. */
function placed(items: readonly JsonObject[]): readonly unknown[] | string {
  const vectors = items.map(({ embedding }) => vectorOf(embedding))
  if (items.every(({ index }) => index === undefined || index === null)) return vectors
  const inPlace: unknown[] = Array.from(items, () => undefined)
  const taken = new Set<unknown>()
  for (const [at, { index }] of items.entries()) {
    const fits = typeof index === 'number' && Number.isInteger(index) && index in items
    if (!fits || taken.has(index)) {
      return `the index ${JSON.stringify(index)} in vector ${at} of ${items.length}: each needs an index of its own from 0 on`
    }
    taken.add(index)
    inPlace[index] = vectors[at]
  }
  return inPlace
}

/** A vector as numbers. Base64 has them as 32-bit floats, the lowest byte first; one that is damaged stays a text, which is not a vector. */
function vectorOf(embedding: JsonValue | undefined): unknown {
  if (typeof embedding !== 'string') return embedding
  const bytes = bytesOf(embedding)
  if (bytes === undefined || bytes.length % 4 !== 0) return embedding
  const floats = new DataView(bytes.buffer, bytes.byteOffset)
  const vector: number[] = []
  // An array that grows by `push` keeps more than a fourth beyond what it needs.
  vector.length = bytes.length / 4
  for (let at = 0; at < vector.length; at++) vector[at] = floats.getFloat32(at * 4, true)
  return vector
}

function bytesOf(base64: string): Uint8Array | undefined {
  try {
    return base64ToBytes(base64)
  } catch {
    return undefined
  }
}
