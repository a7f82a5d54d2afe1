import { bytesToBase64 } from '../../core/base/base64.ts'
import { defined } from '../../core/types/guards.ts'
import type { JsonObject, JsonValue } from '../../core/types/json.ts'
import type { Embedding, EmbeddingRequest } from '../../core/types/models.ts'
import type { Usage } from '../../core/types/response.ts'
import {
  embeddingGrammar,
  wordCount,
  type EmbeddingScriptEntry,
  type ScriptedEmbeddingFacts,
} from '../fakes/fake-embeddings.ts'
import { scriptedModel, type PlayedAnswer } from '../fakes/scripted-model.ts'
import { missing, openaiWords, params, wordProblem, wrongType } from './check-openai.ts'
import {
  firstProblem,
  kindOf,
  objectOf,
  objectsOf,
  paramProblem,
  shown,
  type ParamTable,
  type RequestProblem,
} from './check-params.ts'
import { refusedPlan } from './plan.ts'
import {
  outcomeOf,
  type ModelCallFacts,
  type ModelRoute,
  type ServedModel,
} from './served-model.ts'
import { openaiHeaders } from './wire-failure.ts'
import type { WireAnswer } from './wire-format.ts'
import { renderPlan } from './wire.ts'

/**
 * The embeddings endpoints of OpenAI and Gemini. A scripted answer is sent as it is, also when it has not one vector for each text, so that a client
 * can be tested on it.
 */
export function servedEmbeddings(script: readonly EmbeddingScriptEntry[] | undefined): ServedModel {
  const { play } = scriptedModel({ script }, embeddingGrammar({ maxTexts: Infinity }))
  return {
    check: (route, body) =>
      route.provider === 'openai' ? checkOpenai(body) : checkGemini(route, body),
    async answer(route, call) {
      const request = readRequest(route, call)
      // `play` throws what a script tells it to.
      const given = async (): Promise<Played> => play(request, { requestId: call.requestId })
      const outcome = await outcomeOf(given())
      if ('failure' in outcome) return refused(route, call, outcome.failure)
      return route.provider === 'openai'
        ? jsonAnswer(openaiBody(outcome.answer, request, call), openaiHeaders(call.requestId))
        : jsonAnswer(geminiBody(outcome.answer, route))
    },
  }
}

type Played = PlayedAnswer<readonly Embedding[], ScriptedEmbeddingFacts>

/** A refusal in the words of the provider. */
export function refused(
  { provider }: Pick<ModelRoute, 'provider'>,
  { model, requestId }: ModelCallFacts,
  failure: Parameters<typeof refusedPlan>[0],
): WireAnswer {
  const format = provider === 'openai' ? 'openai_chat' : 'gemini'
  return renderPlan(format, refusedPlan(failure), {
    id: '',
    model,
    requestId,
    created: 0,
    stream: false,
    includeUsage: false,
    framing: 'sse',
  })
}

/** A successful answer of JSON. */
export function jsonAnswer(
  body: JsonObject,
  headers: Readonly<Record<string, string>> = {},
): WireAnswer {
  return {
    status: 200,
    headers: { ...headers, 'content-type': 'application/json' },
    frames: [{ bytes: new TextEncoder().encode(JSON.stringify(body)) }],
    end: 'normal',
  }
}

/** The texts of a call and the length of their vectors, in the words of either provider. */
function readRequest(
  { provider, isSingle }: ModelRoute,
  { model, body }: ModelCallFacts,
): EmbeddingRequest {
  const requests = isSingle === true ? [body] : objectsOf(body['requests'])
  const [first = {}] = requests
  const openai = provider === 'openai'
  const dimensions = openai
    ? body['dimensions']
    : (first['outputDimensionality'] ?? first['output_dimensionality'])
  return defined<EmbeddingRequest>({
    model,
    texts: openai ? inputsOf(body['input']) : requests.map(textOf),
    dimensions: typeof dimensions === 'number' ? dimensions : undefined,
    providerOptions: {},
    metadata: {},
  })
}

/** The inputs of OpenAI: texts, or tokens, which are taken for words. */
function inputsOf(input: JsonValue | undefined): readonly string[] {
  if (!Array.isArray(input)) return [shown(input)]
  const items: readonly JsonValue[] = input
  return items.every((item) => typeof item === 'number') ? [items.join(' ')] : items.map(shown)
}

/** The text of one request of Gemini: that of all parts. */
function textOf({ content }: JsonObject): string {
  const parts = objectsOf(objectOf(content)['parts'])
  return parts.map(({ text }) => (typeof text === 'string' ? text : '')).join('')
}

/** The answer of OpenAI. It always has its counters, except where a script says that nothing was counted: `usage: {}`. */
function openaiBody(
  { value, facts = {} }: Played,
  { texts }: EmbeddingRequest,
  { model, body }: ModelCallFacts,
): JsonObject {
  const isBase64 = body['encoding_format'] === 'base64'
  return {
    object: 'list',
    data: value.map((vector, index) => ({
      object: 'embedding',
      index,
      embedding: isBase64 ? floats(vector) : vector,
    })),
    model: facts.model ?? model,
    ...openaiUsage(facts.usage ?? wordCount(texts)),
  }
}

/** The numbers as 32-bit floats, the lowest byte first. */
function floats(vector: Embedding): string {
  const view = new DataView(new ArrayBuffer(vector.length * 4))
  for (const [index, value] of vector.entries()) view.setFloat32(index * 4, value, true)
  return bytesToBase64(new Uint8Array(view.buffer))
}

/** The counters of OpenAI. They are sent together or not at all. */
export function openaiUsage({ inputTokens, totalTokens }: Usage = {}): JsonObject {
  const tokens = inputTokens ?? totalTokens
  if (tokens === undefined) return {}
  return { usage: { prompt_tokens: tokens, total_tokens: totalTokens ?? tokens } }
}

/** Gemini counts no tokens here. */
function geminiBody({ value }: Played, { isSingle }: ModelRoute): JsonObject {
  const embeddings = value.map((values) => ({ values }))
  return isSingle === true ? { embedding: embeddings[0] ?? {} } : { embeddings }
}

const openaiTable: ParamTable = Object.fromEntries([
  ...params(['string', 'array'], 'input'),
  ...params(['string'], 'model encoding_format user'),
  ...params(['integer'], 'dimensions'),
])

/** Checks a request of OpenAI's endpoint: unknown fields, wrong kinds, and what is missing, empty or too much. */
function checkOpenai(body: JsonObject): RequestProblem | undefined {
  const { input, model, encoding_format } = body
  const items: readonly JsonValue[] = Array.isArray(input) ? input : [input ?? '']
  return (
    paramProblem(body, openaiTable, openaiWords) ??
    (model === undefined ? missing('model') : undefined) ??
    (input === undefined ? missing('input') : undefined) ??
    (encoding_format === undefined
      ? undefined
      : wordProblem('encoding_format', encoding_format, ['float', 'base64'])) ??
    (items.length === 0 || items.length > 2048 || items.includes('')
      ? { message: "'$.input' is invalid.", param: 'input' }
      : undefined) ??
    firstProblem(items, (item, index) =>
      ['string', 'integer', 'array'].includes(kindOf(item))
        ? undefined
        : wrongType(`input[${index}]`, 'a string', kindOf(item)),
    )
  )
}

const geminiNames = ['model', 'content', 'taskType', 'title', 'outputDimensionality']
const snakeNames = ['task_type', 'output_dimensionality']

/** Checks a request of Gemini's endpoints: unknown names, texts that are missing, too many of them, and another model than that of the path. */
function checkGemini(route: ModelRoute, body: JsonObject): RequestProblem | undefined {
  const isBatch = route.isSingle !== true
  const requests = isBatch ? objectsOf(body['requests']) : [body]
  const strange = isBatch
    ? Object.keys(body).find((name) => name !== 'requests' && name !== 'model')
    : undefined
  if (strange !== undefined) return unknownName(strange, 'request')
  if (requests.length === 0)
    return { message: '* BatchEmbedContentsRequest.requests: at least one request is needed' }
  if (requests.length > 100) {
    const message = '* BatchEmbedContentsRequest.requests: at most 100 requests can be in one batch'
    return { message }
  }
  return firstProblem(requests, (request, index) => {
    const at = isBatch ? `requests[${index}]` : 'request'
    const unknown = Object.keys(request).find(
      (name) => ![...geminiNames, ...snakeNames].includes(name),
    )
    if (unknown !== undefined) return unknownName(unknown, at)
    const { model } = request
    if (isBatch && model !== `models/${route.model}`) {
      return { message: `* ${at}: model must match the model in the path` }
    }
    return textOf(request) === '' ? { message: `* ${at}.content: content is empty` } : undefined
  })
}

function unknownName(name: string, at: string): RequestProblem {
  return {
    message: `Invalid JSON payload received. Unknown name "${name}" at '${at}': Cannot find field.`,
  }
}
