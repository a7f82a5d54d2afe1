import type { ChatAdapter } from '../../contracts/adapter.ts'
import { EngineError } from '../../errors/errors.ts'
import { someText, type Check } from '../../schema/checks.ts'
import type { MediaLimits } from '../../vision/resolve-images.ts'
import {
  chatAdapter,
  settleConnection,
  type Connection,
  type ConnectionOptions,
  type ProviderWire,
} from '../shared/call.ts'
import { answerDecoder } from './decode.ts'
import { parseFailure } from './failure.ts'
import { renderRequest } from './render-request.ts'
import { bodySplitter } from './split-body.ts'

/**
 * A chat adapter for Gemini's `generateContent`. A text is the name of the model.
 *
 * It works with the Gemini API, with Vertex AI (pass its `baseUrl`, and its token in `headers`) and with compatible servers.
 * Nothing is sent before the stream is read. Its messages carry Gemini's thought signatures, which are sent back on the parts
 * that they came with; reasoning of other providers is not sent.
 */
export function gemini(options: GeminiOptions | string = {}): ChatAdapter {
  return chatAdapter(geminiWire(settle(typeof options === 'string' ? { model: options } : options)))
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
}

const ownChecks = { apiVersion: someText } satisfies Readonly<
  Record<Exclude<keyof GeminiOptions, keyof ConnectionOptions>, Check>
>

/** Checks the options and settles them. An unknown key is refused by name, with the nearest legal one. */
export function settle(options: GeminiOptions): Connection {
  const { apiVersion = 'v1beta' } = options
  return settleConnection(options, {
    provider: 'gemini',
    baseUrl: `https://generativelanguage.googleapis.com/${apiVersion}`,
    baseUrlVariable: 'GOOGLE_GEMINI_BASE_URL',
    versionPath: `/${apiVersion}`,
    keyHeaders: ['x-goog-api-key', 'authorization'],
    checks: ownChecks,
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
}

function geminiWire(connection: Connection): ProviderWire {
  return {
    connection,
    models: '/models',
    media: imageLimits,
    keyHeader,
    parseFailure,
    splitter: bodySplitter,
    whole: true,
    render: (request, { provider, stream, newId, warn }) => ({
      path: methodPath(provider, request.model, stream),
      isMerged: true,
      ...(stream ? { query: { alt: 'sse' } } : {}),
      ...renderRequest(request, { ...connection, warn }),
      decoder: answerDecoder({ history: request.messages, whole: !stream, newId }),
    }),
  }
}

/**
 * The path of a model's method: `streamGenerateContent`, or `generateContent` for a whole answer. A model name with a slash
 * (`tunedModels/…`) is a path of its own. A missing model is an `EngineError`.
 */
export function methodPath(provider: string, model: string | undefined, stream: boolean): string {
  if (model === undefined || model === '') {
    throw new EngineError('missing_model', `${provider} needs a model`, { provider })
  }
  const path = (model.includes('/') ? model : `models/${model}`)
    .split('/')
    .map(encodeURIComponent)
    .join('/')
  return `/${path}:${stream ? 'streamGenerateContent' : 'generateContent'}`
}
