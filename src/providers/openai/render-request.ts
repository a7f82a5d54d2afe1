import { EngineError } from '../../errors/errors.ts'
import { modelFamily, type Endpoint } from './model-family.ts'
import { renderChat } from './render-chat.ts'
import type { RenderedRequest, RenderOptions } from './render-options.ts'
import { renderResponses } from './render-responses.ts'
import { asList, asObject } from './wire.ts'
import type { JsonObject, JsonValue } from '../../types/json.ts'
import type { ModelRequest } from '../../types/request.ts'

/** What a request needs to know of its call. */
export interface RenderContext {
  readonly provider: string
  readonly endpoint: Endpoint
  readonly stream: boolean
  readonly sessionId: string | undefined
}

/**
 * A request as a body of its endpoint, with `providerOptions` merged last: those under `openai`, then those under the
 * name of the server. Only whether the answer is streamed can not be changed there. No model is `missing_model`.
 */
export function renderRequest(request: ModelRequest, context: RenderContext): RenderedRequest {
  const { provider, endpoint, stream } = context
  if (request.model === undefined || request.model === '') {
    throw new EngineError('missing_model', `${provider} needs a model`, { provider })
  }
  const { openai } = request.providerOptions
  const own = provider === 'openai' ? undefined : request.providerOptions[provider]
  const over: JsonObject = mergeBody(openai ?? {}, own)
  const options: RenderOptions = {
    ...context,
    family: modelFamily(request.model),
    stored: over['store'] === true,
  }
  const rendered =
    endpoint === 'chat' ? renderChat(request, options) : renderResponses(request, options)
  const body = mergeBody(rendered.body, over)
  return { ...rendered, body: stream ? { ...body, stream } : body }
}

/** The endpoint for a model: the one that was told, else that of the model's family. */
export function endpointFor(api: Endpoint | undefined, model: string | undefined): Endpoint {
  return api ?? modelFamily(model ?? '').endpoint
}

/** The lists that are added to, not replaced, so that a built-in tool does not drive out the request's own. */
const addedTo: ReadonlySet<string> = new Set(['tools', 'include'])

/**
 * The body with provider options merged over it.
 *
 * Objects are merged member by member; `tools` and `include` at the top are added to; everything else is replaced.
 */
export function mergeBody(body: JsonObject, over: JsonObject | undefined): JsonObject {
  if (over === undefined) return body
  const result: Record<string, JsonValue> = { ...body }
  for (const [key, value] of Object.entries(over)) {
    result[key] =
      addedTo.has(key) && Array.isArray(value)
        ? addItems(asList(result[key]), asList(value))
        : mergeValue(result[key], value)
  }
  return result
}

function addItems(known: readonly JsonValue[], over: readonly JsonValue[]): readonly JsonValue[] {
  return [...known, ...over.filter((item) => !known.includes(item))]
}

function mergeValue(known: JsonValue | undefined, over: JsonValue): JsonValue {
  const before = asObject(known)
  const after = asObject(over)
  if (before === undefined || after === undefined) return over
  const result: Record<string, JsonValue> = { ...before }
  for (const [key, value] of Object.entries(after)) result[key] = mergeValue(result[key], value)
  return result
}
