import type { ChatAdapter } from '../../contracts/adapter.ts'
import { EngineError } from '../../errors/errors.ts'
import { sniffedBody } from '../../http/whole-body.ts'
import { assertValid, oneOf, optionsOf, text, type Check } from '../../schema/checks.ts'
import type { ModelRequest } from '../../types/request.ts'
import {
  chatAdapter,
  connectionChecks,
  settleConnection,
  urlOf,
  type ConnectionOptions,
  type ProviderWire,
} from '../shared/call.ts'
import { chatDecoder } from './decode-chat.ts'
import { responsesDecoder } from './decode-responses.ts'
import { parseFailure } from './failure.ts'
import { endpoints, modelFamily, type Endpoint } from './model-family.ts'
import { renderChat } from './render-chat.ts'
import {
  mergeOver,
  optionsFor,
  type RenderedRequest,
  type RenderOptions,
} from './render-options.ts'
import { renderResponses } from './render-responses.ts'

/**
 * A chat adapter for OpenAI's Responses and Chat Completions APIs, and for servers that are compatible with them.
 *
 * Invalid options throw at once; requests are checked when a call is made. Settings that the model's family is known to
 * refuse are left out of the call and named in the answer's `metadata.droppedParameters`.
 */
export function openai(options: OpenAiOptions = {}): ChatAdapter {
  const settings = settleOptions(options)
  const { connection, api } = settings
  const { provider } = connection
  return chatAdapter({
    ...settings,
    images: imageLimits,
    requestIdHeader: 'x-request-id',
    parseFailure: (status, body, headers) => parseFailure(provider, status, body, headers),
    splitter: () => sniffedBody,
    open({ model = '' }, facts, context) {
      const endpoint = api ?? modelFamily(model).endpoint
      return {
        render(request) {
          const { path, ...rendered } = renderRequest(request, { provider, endpoint, ...context })
          return { url: urlOf(connection, path), ...rendered }
        },
        decoder: endpoint === 'chat' ? chatDecoder(facts) : responsesDecoder(facts),
      }
    },
  })
}

/** How to reach OpenAI, or a server that is compatible with it. */
export interface OpenAiOptions extends ConnectionOptions {
  /** The endpoint to use. By default the model decides: the GPT-5 and o families and later ones use `responses`. */
  readonly api?: Endpoint | undefined
  /** With the version path. The default is `https://api.openai.com/v1`. A query, such as Azure's `api-version`, is kept. */
  readonly baseUrl?: string | undefined
  /** The adapter's own key. The key of a call takes precedence. Only OpenAI itself requires a key. */
  readonly apiKey?: string | undefined
  readonly organization?: string | undefined
  readonly project?: string | undefined
  /**
   * The name of a compatible server; the default is `openai`. It labels events and errors, and keys are looked up by it.
   *
   * `providerOptions` under this name are merged after those under `openai`.
   */
  readonly provider?: string | undefined
}

const optionIssues: Check = optionsOf({
  ...connectionChecks,
  api: oneOf(endpoints),
  organization: text,
  project: text,
} satisfies Readonly<Record<keyof OpenAiOptions, Check>>)

/** The options, settled: what chat calls and image calls have in common. */
export interface OpenAiSettings extends Pick<ProviderWire, 'connection' | 'headers' | 'keyHeader'> {
  readonly api: Endpoint | undefined
}

/** Checks the options and fills in the defaults. Invalid options are a `ValidationError`. */
export function settleOptions(options: OpenAiOptions): OpenAiSettings {
  assertValid('invalid_options', optionIssues(options))
  const { api, organization, project } = options
  return {
    api,
    connection: settleConnection(options, {
      provider: 'openai',
      baseUrl: 'https://api.openai.com/v1',
      keyHeaders: ['authorization'],
    }),
    headers: {
      ...(organization === undefined ? {} : { 'openai-organization': organization }),
      ...(project === undefined ? {} : { 'openai-project': project }),
    },
    keyHeader: (key) => ({ authorization: `Bearer ${key}` }),
  }
}

/** The images that OpenAI accepts. */
const imageLimits = {
  maxBytes: 20 * 1024 * 1024,
  mimeTypes: ['image/png', 'image/jpeg', 'image/webp', 'image/gif'],
} as const

interface RenderContext extends Pick<RenderOptions, 'provider' | 'stream' | 'sessionId'> {
  readonly endpoint: Endpoint
}

/**
 * Renders a request for its endpoint and merges `providerOptions` over the body.
 *
 * Only `stream` cannot be changed there. A request without a model is an `EngineError`.
 */
function renderRequest(
  request: ModelRequest,
  { endpoint, ...context }: RenderContext,
): RenderedRequest {
  const { provider, stream } = context
  if (request.model === undefined || request.model === '') {
    throw new EngineError('missing_model', `${provider} needs a model`, { provider })
  }
  const over = optionsFor(provider, request.providerOptions)
  const options: RenderOptions = {
    ...context,
    family: modelFamily(request.model),
    stored: over['store'] === true,
  }
  const rendered =
    endpoint === 'chat' ? renderChat(request, options) : renderResponses(request, options)
  const body = mergeOver(rendered.body, over)
  return { ...rendered, body: stream ? { ...body, stream } : body }
}
