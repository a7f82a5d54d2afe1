import { EngineError } from '../../errors/errors.ts'
import { renderChat } from './chat/render-chat.ts'
import { mergeBody } from './merge-body.ts'
import { modelFamily, type Endpoint } from './model-family.ts'
import type { RenderOptions } from './render-options.ts'
import type { RenderedRequest } from './rendered-request.ts'
import { renderResponses } from './responses/render-responses.ts'
import type { JsonObject } from '../../types/json.ts'
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
