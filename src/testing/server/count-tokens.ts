import type { IncomingHttpHeaders } from 'node:http'
import { isObject } from '../../core/types/guards.ts'
import type { JsonObject } from '../../core/types/json.ts'
import type { RequestProblem } from './check-params.ts'
import { checkRequest } from './check-request.ts'
import type { WireFormat } from './wire-format.ts'

/** A path that counts the tokens of a request instead of answering it. */
export interface CountRoute {
  readonly type: 'count'
  readonly provider: 'openai' | 'anthropic' | 'gemini'
  readonly format: WireFormat
  readonly model?: string
}

/** The route of a path that counts tokens; `undefined` for any other path. */
export function countRoute(path: string): CountRoute | undefined {
  if (path === '/v1/responses/input_tokens') {
    return { type: 'count', provider: 'openai', format: 'openai_responses' }
  }
  if (path === '/v1/messages/count_tokens') {
    return { type: 'count', provider: 'anthropic', format: 'anthropic' }
  }
  const [, model] = /^\/v1(?:beta|alpha)?\/models\/([^/]+):countTokens$/.exec(path) ?? []
  return model === undefined
    ? undefined
    : { type: 'count', provider: 'gemini', format: 'gemini', model: decodeURIComponent(model) }
}

/** The settings of an answer, which Anthropic and OpenAI refuse where nothing is answered. */
const answerSettings: Partial<Readonly<Record<WireFormat, readonly string[]>>> = {
  anthropic: [
    'max_tokens',
    'stream',
    'temperature',
    'top_p',
    'top_k',
    'stop_sequences',
    'metadata',
  ],
  openai_responses: ['max_output_tokens', 'stream', 'store', 'temperature', 'top_p', 'include'],
}

/** Why a provider would not count a body. */
export function checkCount(
  route: CountRoute,
  body: JsonObject,
  headers: IncomingHttpHeaders,
): RequestProblem | undefined {
  const { format } = route
  const extra = answerSettings[format]?.find((name) => name in body)
  if (extra !== undefined) {
    return { message: `${extra}: Extra inputs are not permitted`, param: extra }
  }
  if (format === 'gemini' && 'contents' in body && 'generateContentRequest' in body) {
    return { message: 'contents and generateContentRequest are mutually exclusive' }
  }
  // Anthropic requires the length of an answer, where there is one.
  const needed = format === 'anthropic' ? { max_tokens: 1 } : {}
  return checkRequest(route, { ...needed, ...countedBody(body) }, headers)
}

/** The request that is counted: Gemini may have it inside. */
function countedBody(body: JsonObject): JsonObject {
  const { generateContentRequest: inner } = body
  if (!isObject(inner)) return body
  const { model: _model, ...request } = inner
  return request
}

/** The answer: a fourth of the characters of the request, so that the same request has the same count. */
export function countAnswer({ format, model }: CountRoute, body: JsonObject): JsonObject {
  const { model: _model, ...content } = countedBody(body)
  const tokens = Math.ceil(JSON.stringify(content).length / 4)
  if (format === 'anthropic') return { input_tokens: tokens }
  return model === undefined
    ? { object: 'response.input_tokens', input_tokens: tokens }
    : { totalTokens: tokens, promptTokensDetails: [{ modality: 'TEXT', tokenCount: tokens }] }
}
