import type { ChatAdapter } from '../../core/contracts/adapter.ts'
import { mergeOptions, optionsFor } from '../../core/messages/provider-options.ts'
import {
  assertValid,
  fine,
  flag,
  must,
  oneOf,
  optionsOf,
  someText,
  text,
  type Check,
} from '../../core/schema/checks.ts'
import type { Issue } from '../../core/types/error-data.ts'
import { defined, isObject, merged } from '../../core/types/guards.ts'
import type { JsonObject } from '../../core/types/json.ts'
import type { ModelRequest } from '../../core/types/request.ts'
import type { CallSink } from '../http/answer.ts'
import type { AnswerDecoder, MakeDecoder } from '../http/stream-http.ts'
import { sniffedBody } from '../http/whole-body.ts'
import {
  connectionChecks,
  leanAdapter,
  settleConnection,
  type CallHeaders,
  type ConnectionDefaults,
  type ConnectionOptions,
  type ProviderWire,
} from '../shared/call.ts'
import { failureParser } from '../shared/reported-failure.ts'
import { chatDecoder } from './decode-chat.ts'
import { responsesDecoder } from './decode-responses.ts'
import {
  endpoints,
  isFamily,
  modelFamily,
  withCompat,
  type Endpoint,
  type ModelFamily,
  type OpenAiCompat,
} from './model-family.ts'
import { presetNames, presets, renderFor, type OpenAiPreset } from './presets.ts'
import { renderChat } from './render-chat.ts'
import { renderResponses } from './render-responses.ts'

/**
 * A chat adapter for OpenAI's Responses and Chat Completions APIs, and for servers that are compatible with them. A text is
 * the name of the model.
 *
 * Invalid options throw at once; requests are checked when a call is made. Settings that the model's family is known to
 * refuse are left out of the call and named in `warnings` of the answer.
 */
export function openai(options: OpenAiOptions | string = {}): ChatAdapter {
  const settings = settleOptions(named(options))
  const { api } = settings
  return adapterFor(settings, (family) =>
    (api ?? family.endpoint) === 'chat' ? chatApi : responsesApi,
  )
}

/**
 * `openai` for Chat Completions alone, which compatible servers speak: a bundle has only this API.
 *
 * `preset` is the name of a server whose address and habits are known, such as `groq`. The provider has that name, and its key is
 * found under it (GROQ_API_KEY); neither the key nor the address of OpenAI is used. Other options override those of the preset.
 */
export function openaiChat(options: OpenAiChatOptions | string = {}): ChatAdapter {
  const given: OpenAiChatOptions = named(options)
  // Options that are not an object are refused below.
  const preset = given?.preset
  const server = preset && presets[preset]
  const settings = settleOptions(given, {
    checks: { preset: oneOf(presetNames), api: oneOf(['chat']) },
    ...(server && { provider: preset, baseUrlVariable: undefined, ...server }),
  })
  const api = server ? { ...chatApi, render: renderFor(server) } : chatApi
  const compat = server && { compat: { ...server.compat, ...settings.compat } }
  return adapterFor({ ...settings, ...compat, api: 'chat' }, () => api)
}

/** `openai` for the Responses API alone: a bundle has only this API. */
export function openaiResponses(options: Omit<OpenAiOptions, 'api'> | string = {}): ChatAdapter {
  return adapterFor({ ...settleOptions(named(options)), api: 'responses' }, () => responsesApi)
}

/**
 * `openai` for a deployment on Azure. The model of the adapter is the deployment, whose name says nothing about the model:
 * set `family` (`'gpt-5'`, …) to send what that model takes.
 *
 * Without `apiVersion` it uses Azure's version 1 API; with a dated one, the older address of the deployment and Chat
 * Completions; there the address decides, and another `model` of a call or an engine is ignored with a warning. The key is `apiKey`, or found under the name `azure` (AZURE_OPENAI_API_KEY); `token` is for Entra ID and may be a
 * function that renews it.
 */
export function azure(options: AzureOptions): ChatAdapter {
  assertValid('invalid_options', azureIssues(options))
  const { resource, deployment, apiVersion, token, headers, baseUrl, ...rest } = options
  const legacy = apiVersion !== undefined && /^\d/.test(apiVersion)
  if (legacy && rest.api === 'responses') {
    const problem = `has only "chat" at the address of apiVersion ${apiVersion}: leave out apiVersion for the Responses API`
    assertValid('invalid_options', [{ path: 'api', problem }])
  }
  /** An address of version 1 as that of the wanted version. */
  const addressOf = (address: string): string => {
    const url = new URL(address)
    if (apiVersion !== undefined) url.searchParams.set('api-version', apiVersion)
    if (legacy && !url.pathname.includes('/deployments/')) {
      const host = url.pathname.replace(/(?:\/openai)?(?:\/v1)?\/*$/, '')
      url.pathname = `${host}/openai/deployments/${encodeURIComponent(deployment)}`
    }
    return url.href
  }
  const settings = settleOptions(
    {
      model: deployment,
      ...(legacy ? { api: 'chat' } : {}),
      ...rest,
      ...(baseUrl === undefined ? {} : { baseUrl: addressOf(baseUrl) }),
      headers: token === undefined ? headers : () => withToken(token, headers),
    },
    {
      provider: 'azure',
      baseUrl: addressOf(`https://${resource}.openai.azure.com/openai/v1`),
      baseUrlVariable: undefined,
      keyHeaders: ['api-key', 'authorization'],
    },
  )
  const { api, family } = settings
  // Its list has models, not deployments.
  const own = { ...settings, models: '', keyHeader: (key: string) => ({ 'api-key': key }) }
  if (legacy) {
    const deployed = deployedApi(deployment)
    return adapterFor({ ...own, family: family ?? deployment }, () => deployed)
  }
  return adapterFor(own, (known) => ((api ?? known.endpoint) === 'chat' ? chatApi : responsesApi))
}

/** Chat Completions at an address that names the deployment, whatever the model of a request is. */
function deployedApi(deployment: string): Api {
  return {
    ...chatApi,
    render(request, context) {
      const { model } = request
      if (model !== deployment) {
        context.warn(
          'model',
          `${model} is not used: the address names the deployment ${deployment}`,
        )
      }
      return renderChat({ ...request, model: deployment }, context)
    },
  }
}

/** How to reach a deployment on Azure. */
export interface AzureOptions extends OpenAiOptions {
  /** The name of the resource: the first part of its address. Not needed beside `baseUrl`. */
  readonly resource?: string | undefined
  /** The name of the deployment, which is sent as the model. */
  readonly deployment: string
  /**
   * A dated version, such as `2024-10-21`, uses the older address of the deployment and Chat Completions only. A `baseUrl` of
   * your own is then the address before `/openai/deployments`, or one that names the deployment itself.
   */
  readonly apiVersion?: string | undefined
  /** A token of Entra ID, or a function that returns one for each call. It is sent instead of a key. */
  readonly token?: string | (() => string | Promise<string>) | undefined
}

async function withToken(
  token: NonNullable<AzureOptions['token']>,
  headers: AzureOptions['headers'],
): Promise<CallHeaders> {
  const more = typeof headers === 'function' ? await headers() : headers
  const bearer = typeof token === 'function' ? await token() : token
  return { authorization: `Bearer ${bearer}`, ...more }
}

function named<Options extends { readonly model?: string | undefined }>(
  options: Options | string,
): Options {
  // Options have no other member that is required.
  return typeof options === 'string' ? ({ model: options } as Options) : options
}

/** One of the two APIs: how a request is written, and what reads the answer. */
interface Api {
  readonly render: typeof renderChat
  readonly decoder: (sink: CallSink, tools: ModelRequest['tools']) => AnswerDecoder
}

const chatApi: Api = { render: renderChat, decoder: (sink) => chatDecoder(sink) }

const responsesApi: Api = { render: renderResponses, decoder: responsesDecoder }

function adapterFor(settings: OpenAiSettings, apiOf: (family: ModelFamily) => Api): ChatAdapter {
  const { connection, api: wanted, family: familyName, compat } = settings
  return leanAdapter({
    ...settings,
    identity: defined<JsonObject>({
      api: wanted,
      family: familyName,
      compat: compat && defined<JsonObject>({ ...compat }),
    }),
    media: mediaLimits,
    parseFailure: failureParser(connection.provider),
    splitter: sniffedBody,
    whole: true,
    render(request, context) {
      const family = withCompat(modelFamily(familyName ?? request.model), compat)
      const api = apiOf(family)
      const { provider, stream } = context
      const over = optionsFor('openai', provider, request.providerOptions)
      const rendered = api.render(request, merged(context, { family, over }))
      // Only `stream` cannot be changed by the caller's own parameters.
      const body = { ...mergeOptions(rendered.body, over), ...(stream && { stream }) }
      const decoder: MakeDecoder = (sink) => api.decoder(sink, request.tools)
      return merged(rendered, { body, decoder })
    },
  })
}

/** How to reach OpenAI, or a server that is compatible with it. */
export interface OpenAiOptions extends ConnectionOptions {
  /** The endpoint to use. By default the model decides: the GPT-5 and o families and later ones use `responses`. */
  readonly api?: Endpoint | undefined
  /**
   * What the model is, where its name does not say it: the name of a model of OpenAI (`gpt-5`, `o3`, `gpt-4o`), or `compatible`
   * for a server whose models are not OpenAI's.
   */
  readonly family?: string | undefined
  /** What the server takes, flag by flag. */
  readonly compat?: OpenAiCompat | undefined
  /** With the version path. The default is `OPENAI_BASE_URL`, or `https://api.openai.com/v1`. A query, such as Azure's `api-version`, is kept. */
  readonly baseUrl?: string | undefined
  /** The adapter's own key. The key of a call takes precedence. Only OpenAI itself requires a key. */
  readonly apiKey?: string | undefined
  readonly organization?: string | undefined
  readonly project?: string | undefined
  /**
   * The name of a compatible server; the default is `openai`. It labels events and errors, and keys are looked up by it. At the address of
   * OpenAI itself, or of a preset, only a key that is given is sent under another name: `apiKey`, or one of the call or the engine.
   *
   * `providerOptions` under this name are merged after those under `openai`.
   */
  readonly provider?: string | undefined
}

/** How to reach a server that speaks Chat Completions. */
export interface OpenAiChatOptions extends Omit<OpenAiOptions, 'api'> {
  /** A server whose address, key variable and habits are known. */
  readonly preset?: OpenAiPreset | undefined
}

const ownChecks = {
  api: oneOf(endpoints),
  family: must('the name of a model of OpenAI, such as "gpt-5", or "compatible"', isFamily),
  compat: optionsOf({
    streamOptions: flag,
    reasoningEffort: flag,
    temperature: flag,
    developerRole: flag,
    maxTokensField: oneOf(['max_tokens', 'max_completion_tokens']),
  } satisfies Readonly<Record<keyof OpenAiCompat, Check>>),
  organization: text,
  project: text,
} satisfies Readonly<Record<Exclude<keyof OpenAiOptions, keyof ConnectionOptions>, Check>>

/** A function, so that a bundle without `azure` does not have it. */
const azureIssues = (options: unknown): readonly Issue[] => {
  const check = optionsOf({
    ...connectionChecks,
    ...ownChecks,
    resource: must('the name of a resource', isName),
    deployment: someText,
    apiVersion: someText,
    // The value is never shown.
    token: (value) =>
      (typeof value === 'string' && value !== '') || typeof value === 'function'
        ? fine
        : [{ path: '', problem: 'must be a string that is not empty, or a function' }],
  } satisfies Readonly<Record<keyof AzureOptions, Check>>)
  if (!isObject(options)) return check(options)
  const { baseUrl, resource = '', deployment = '' } = options
  return check({ ...options, deployment, ...(baseUrl === undefined ? { resource } : {}) })
}

function isName(value: unknown): boolean {
  return typeof value === 'string' && /^[\w-]+$/.test(value)
}

/** The options, settled: what chat calls and image calls have in common. */
export interface OpenAiSettings extends Pick<ProviderWire, 'connection' | 'headers' | 'keyHeader'> {
  readonly api: Endpoint | undefined
  readonly family: string | undefined
  readonly compat: OpenAiCompat | undefined
}

/** Checks the options and fills in the defaults. Invalid options are a `ValidationError`. */
export function settleOptions(
  options: OpenAiOptions,
  defaults: Partial<ConnectionDefaults> = {},
): OpenAiSettings {
  const connection = settleConnection(options, {
    provider: 'openai',
    baseUrl: 'https://api.openai.com/v1',
    baseUrlVariable: 'OPENAI_BASE_URL',
    ...defaults,
    checks: { ...ownChecks, ...defaults.checks },
  })
  const { api, family, compat, organization, project } = options
  return {
    api,
    family,
    compat,
    connection,
    headers: defined<Record<string, string>>({
      'openai-organization': organization,
      'openai-project': project,
    }),
  }
}

/** The images and files that OpenAI accepts. */
const mediaLimits: ProviderWire['media'] = {
  maxBytes: 20 * 1024 * 1024,
  maxFileBytes: 50 * 1024 * 1024,
  mimeTypes: ['image/png', 'image/jpeg', 'image/webp', 'image/gif'],
  // An image that a model of OpenAI made.
  takesBack: (media) => 'metadata' in media,
}
