import { warnDeprecated } from '../../core/base/warning.ts'
import type { ChatAdapter } from '../../core/contracts/adapter.ts'
import { EngineError } from '../../core/errors/errors.ts'
import { oneOf, someText, type Checks } from '../../core/schema/checks.ts'
import { merged } from '../../core/types/guards.ts'
import {
  leanAdapter,
  settleConnection,
  type Connection,
  type ConnectionOptions,
  type LeanWire,
} from '../shared/call.ts'
import { fileKind } from '../shared/files.ts'
import { credentialed, settleVertex } from '../shared/platform.ts'
import type { MediaLimits } from '../vision/resolve-images.ts'
import { answerDecoder } from './decode.ts'
import { parseFailure } from './failure.ts'
import { renderRequest } from './render-request.ts'
import { bodySplitter } from './split-body.ts'

/**
 * A chat adapter for Gemini's `generateContent`. A text is the name of the model.
 *
 * It works with the Gemini API and with compatible servers. Gemini on Vertex AI is `geminiVertex`; the option `platform` for it is deprecated.
 * Nothing is sent before the stream is read. Its messages carry Gemini's thought signatures, which are sent back on the parts
 * that they came with; reasoning of other providers is not sent.
 */
export function gemini(given: GeminiOptions | VertexWord | string = {}): ChatAdapter {
  const options = typeof given === 'string' ? { model: given } : given
  // Other words, and options that are not an object, are refused by `settle`.
  if (options?.platform === 'vertex') {
    const { platform: _word, ...rest } = options
    warnDeprecated("gemini({ platform: 'vertex' })", 'geminiVertex(options)')
    return geminiVertex(rest)
  }
  const connection = settle(options, { platform: oneOf(['vertex']) })
  return leanAdapter({ ...geminiWire(connection), models: '/models', keyHeader })
}

/**
 * A chat adapter for Gemini on Vertex AI. It renders and reads what `gemini` does.
 *
 * Its name is `gemini-vertex`. Options that Vertex AI does not have, or lacks, are a `ValidationError`. A call without credentials is
 * `missing_key`, and nothing is sent.
 */
export function geminiVertex(options: GeminiVertexOptions = {}): ChatAdapter {
  const connection = settleVertex(options, {
    api: 'gemini',
    publisher: 'google',
    checks: { apiVersion: someText },
  })
  return leanAdapter({
    ...geminiWire(connection),
    // Vertex AI lists models in another way.
    models: '',
    // With a project, the key is an access token.
    keyHeader: options.project === undefined ? keyHeader : undefined,
    prepare: (call) => credentialed(call, options),
  })
}

/** The options of a Gemini adapter. All are optional. */
export interface GeminiOptions extends ConnectionOptions {
  /**
   * The address of the API, with its version path. Default: `GOOGLE_GEMINI_BASE_URL`, or `https://generativelanguage.googleapis.com/v1beta`.
   * At any other address a key is optional.
   */
  readonly baseUrl?: string | undefined
  /** The version path of the default address. Default: `v1beta`. */
  readonly apiVersion?: string | undefined
  /** The name of the provider in events, errors and key look-ups. Default: `gemini`. */
  readonly provider?: string | undefined
  /** @deprecated Use `geminiVertex(options)`. */
  readonly platform?: undefined
  readonly project?: undefined
  readonly region?: undefined
}

/**
 * The options of Gemini on Vertex AI. All are optional.
 *
 * With a `project`, put the access token into `headers`, as a function that renews it:
 * `headers: async () => ({ authorization: … })`; a key (`apiKey`, or one found under the name `gemini-vertex`) is sent as a bearer
 * token too. Without a project it is the express mode, which takes an API key. A key of the Gemini API is never looked up for it. The default
 * `baseUrl` is Vertex AI's address in the region, with its version (`v1`); the project and the region are in the path below it.
 */
export interface GeminiVertexOptions extends Omit<
  GeminiOptions,
  'platform' | 'project' | 'region'
> {
  /** The id of the project in Google Cloud. */
  readonly project?: string | undefined
  /** A location of Google Cloud, such as `us-central1`, or `global`, `us`, `eu`. Default: `global`. It needs a project. */
  readonly region?: string | undefined
}

/** The options of `geminiVertex`, with the word that stood for it. */
interface VertexWord extends GeminiVertexOptions {
  /** @deprecated Use `geminiVertex(options)`, without this word. */
  readonly platform: 'vertex'
}

/** Checks the options and settles them. An unknown key is refused by name, with the nearest legal one. */
export function settle(options: GeminiOptions, checks: Checks = {}): Connection {
  const { apiVersion = 'v1beta' } = options ?? {}
  return settleConnection(options, {
    provider: 'gemini',
    baseUrl: `https://generativelanguage.googleapis.com/${apiVersion}`,
    baseUrlVariable: 'GOOGLE_GEMINI_BASE_URL',
    versionPath: `/${apiVersion}`,
    keyHeaders: ['x-goog-api-key', 'authorization'],
    checks: { apiVersion: someText, ...checks },
  })
}

/** The header that carries the key. */
export function keyHeader(key: string): Readonly<Record<string, string>> {
  return { 'x-goog-api-key': key }
}

/** The images and files that Gemini takes. A request holds 100 MB, with its files as base64, and a PDF has at most 50 MB. */
export const imageLimits: Omit<MediaLimits, 'provider'> = {
  maxBytes: 75_000_000,
  maxFileBytes: 75_000_000,
  maxPdfBytes: 50_000_000,
  mimeTypes: ['image/png', 'image/jpeg', 'image/webp', 'image/heic', 'image/heif'],
  takesBack: (media) => !/other/.test(fileKind(media)),
}

/** `generateContent`, wherever it is. */
function geminiWire(connection: Connection): LeanWire {
  return {
    connection,
    media: imageLimits,
    parseFailure,
    splitter: bodySplitter,
    whole: true,
    render: (request, { stream, newId, warn }) => ({
      path: methodPath(request.model, stream),
      ...(stream ? { query: { alt: 'sse' } } : {}),
      ...renderRequest(request, merged(connection, { warn })),
      decoder: answerDecoder({ history: request.messages, whole: !stream, newId }),
    }),
  }
}

/** The path of `generateContent` of a model. A missing model is an `EngineError`. */
export function wholePath(provider: string, model = ''): string {
  if (model !== '') return methodPath(model, false)
  throw new EngineError('missing_model', `${provider} needs a model`, { provider })
}

/**
 * The path of a model's method: `streamGenerateContent`, or `generateContent` for a whole answer. A model name with a slash
 * (`tunedModels/…`) is a path of its own.
 */
function methodPath(model: string, stream: boolean): string {
  const path = (model.includes('/') ? model : `models/${model}`)
    .split('/')
    .map(encodeURIComponent)
    .join('/')
  return `/${path}:${stream ? 'streamGenerateContent' : 'generateContent'}`
}
