import type { AdapterOptions, ChatAdapter, TokenCount } from '../core/contracts/adapter.ts'
import type { Engine } from '../core/contracts/engine.ts'
import type { CallOptions } from '../core/contracts/options.ts'
import { AdapterError } from '../core/errors/errors.ts'
import type { JsonObject } from '../core/types/json.ts'
import type { ModelRequest } from '../core/types/request.ts'
import { optionOf } from '../engine/model-call/context.ts'
import { checkedRequest, type RequestInput } from '../engine/model-call/generate.ts'
import { renderedCall, type RenderedCall } from '../providers/shared/call.ts'
import { asCount, asObject } from '../providers/shared/read-json.ts'
import { askPath, askProvider, unsupported, wireOf } from './ask.ts'

/**
 * How many input tokens a request has, counted by the provider: the messages, and the instructions, tools and format of the engine and the
 * call, as a model call would send them. Nothing is generated.
 *
 * The Responses API of OpenAI, Anthropic and Gemini count, and so does every adapter with a method `countTokens`. Others fail with `AdapterError`
 * `unsupported_feature`, before anything is sent.
 */
export async function countTokens(
  engine: Engine,
  input: RequestInput,
  options?: CallOptions,
): Promise<TokenCount> {
  const { context, request } = checkedRequest(engine, input, options)
  const { engine: parts, call, requestId } = context
  const { adapter } = parts
  if (adapter === undefined) throw new TypeError('the request was checked without an adapter')
  const { signal, apiKey, retry } = call
  const headers = { ...parts.defaults.headers, ...call.headers }
  const requestTimeoutMs = optionOf(context, 'requestTimeoutMs') ?? 60_000
  const asked = { signal, apiKey, retry, headers, requestId, requestTimeoutMs }
  return askProvider(parts, adapter, asked, (given) =>
    adapter.countTokens === undefined
      ? countedBy(adapter, request, given)
      : adapter.countTokens(request, given),
  )
}

async function countedBy(
  adapter: ChatAdapter,
  request: ModelRequest,
  options: AdapterOptions,
): Promise<TokenCount> {
  const wire = wireOf(adapter)
  if (wire === undefined || wire.models === '') throw unsupported(adapter, 'count tokens on')
  const { provider } = adapter
  const { newId, sessionId } = options
  const context = { provider, stream: false, warn: () => undefined, sessionId, newId }
  const rendered = await renderedCall(wire, request, context)
  const counting = countingCall(rendered, request)
  if (counting === undefined) {
    const more =
      ' by this API: of OpenAI, the Responses API counts (openaiResponses, or api: "responses")'
    throw unsupported(adapter, 'count tokens on', more)
  }
  const answer = asObject(await askPath(wire, counting.path, options, counting.body))
  const inputTokens = asCount(answer?.[counting.field])
  if (inputTokens !== undefined) return { inputTokens }
  const message = `${provider} answered without a count of tokens`
  throw new AdapterError('malformed_response', message)
}

/** The call that counts instead of answering, and where its answer has the count. */
interface CountingCall {
  readonly path: string
  readonly body: JsonObject
  readonly field: string
}

/** What the endpoints that count take of a request. They refuse, or do not count, the settings of an answer. */
const counted = {
  '/responses':
    'model input instructions tools tool_choice parallel_tool_calls text reasoning previous_response_id conversation truncation',
  '/messages': 'model messages system tools tool_choice thinking output_config mcp_servers',
}

/** The path says which API a request was rendered for. */
function countingCall(
  { path, body }: RenderedCall,
  { model = '' }: ModelRequest,
): CountingCall | undefined {
  const field = 'input_tokens'
  if (path === '/responses') {
    return { path: `${path}/input_tokens`, body: picked(body, counted[path]), field }
  }
  if (path === '/messages') {
    return { path: `${path}/count_tokens`, body: picked(body, counted[path]), field }
  }
  const method = /:generateContent$/
  if (!method.test(path)) return undefined
  const name = model.includes('/') ? model : `models/${model}`
  return {
    path: path.replace(method, ':countTokens'),
    body: { generateContentRequest: { model: name, ...body } },
    field: 'totalTokens',
  }
}

function picked(body: JsonObject, names: string): JsonObject {
  const taken = new Set(names.split(' '))
  return Object.fromEntries(Object.entries(body).filter(([name]) => taken.has(name)))
}
