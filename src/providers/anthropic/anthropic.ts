import type { ChatAdapter } from '../../core/contracts/adapter.ts'
import { anyFunction, listOf, oneOf, someText } from '../../core/schema/checks.ts'
import { merged } from '../../core/types/guards.ts'
import { sniffedBody } from '../http/whole-body.ts'
import {
  headersOf,
  joined,
  leanAdapter,
  type ConnectionDefaults,
  type ConnectionOptions,
} from '../shared/call.ts'
import { fileKind } from '../shared/files.ts'
import { credentialed, settlePlaced } from '../shared/platform.ts'
import { messageDecoder } from './decode.ts'
import { parseFailure } from './failure.ts'
import type { SignRequest } from './platforms.ts'
import { renderRequest } from './render-request.ts'

/**
 * An adapter for Anthropic's Messages API, and for servers that speak it. A text is the name of the model. With `platform`, it
 * is for Claude on Vertex AI or Amazon Bedrock.
 *
 * `maxTokens`, which the API requires, defaults to the longest answer of the model. A setting that a model does not take as
 * it is (a temperature, a forced tool, a kind of thinking) is left out or replaced by the nearest one, and named in the
 * response's `warnings`. Reasoning is sent back with its signatures; reasoning of other providers is not sent.
 */
export function anthropic(
  given: AnthropicOptions | AnthropicVertexOptions | AnthropicBedrockOptions | string = {},
): ChatAdapter {
  const options = typeof given === 'string' ? { model: given } : given
  const connection = settlePlaced(options, 'anthropic', defaults, { sign: anyFunction })
  const { platform, version = '2023-06-01', beta = [] } = options
  return leanAdapter({
    connection,
    models: platform ? '' : '/models',
    // Loaded when it is used: a program without a platform does not have it.
    prepare:
      platform &&
      (async (call) => {
        const { toPlatform } = await import('./platforms.ts')
        const parts = { headersOf, sniffedBody, parseFailure }
        return credentialed(await toPlatform(call, options, parts), options)
      }),
    media: {
      maxBytes: maxImageBytes,
      maxFileBytes,
      mimeTypes,
      takesBack: (media) => !/audio|video|other/.test(fileKind(media)),
    },
    headers: {
      'anthropic-version': version,
      ...(beta.length === 0 ? {} : { 'anthropic-beta': beta.join(',') }),
    },
    listHeader: 'anthropic-beta',
    join: joined,
    keyHeader: platform === undefined ? (key) => ({ 'x-api-key': key }) : undefined,
    parseFailure,
    splitter: sniffedBody,
    whole: true,
    render(request, { provider, stream, warn }) {
      const { body, forms } = renderRequest(request, { provider, version, warn })
      return {
        path: '/messages',
        body: merged(body, { stream }),
        forms,
        decoder: messageDecoder,
      }
    },
  })
}

/**
 * The options of an Anthropic adapter. All of them have defaults.
 *
 * The default `baseUrl` is `ANTHROPIC_BASE_URL`, or `https://api.anthropic.com/v1`. A key is required at this address only, unless `headers` contain
 * one. Set `provider` (`anthropic`) for another server that speaks the protocol.
 */
export interface AnthropicOptions extends ConnectionOptions {
  /**
   * The `anthropic-version` header (`2023-06-01`). From `2026-10-21` on the API takes no `temperature`, and none is sent. On a platform
   * it is in the body (`vertex-2023-10-16`, `bedrock-2023-05-31`).
   */
  readonly version?: string | undefined
  /** The features to turn on, for the `anthropic-beta` header. Those of a call's own header are added. */
  readonly beta?: readonly string[] | undefined
  /** Where Claude runs, if not at Anthropic: `vertex` or `bedrock`. */
  readonly platform?: undefined
  readonly project?: undefined
  readonly region?: undefined
  readonly sign?: undefined
}

/** The options that all of Claude's places have. */
type ClaudeOptions = Omit<AnthropicOptions, 'platform' | 'project' | 'region' | 'sign'>

/**
 * Claude on Vertex AI.
 *
 * The default `baseUrl` is Vertex AI's address in the region, with `/v1`; the project and the region are in the path below it. Put the access token into
 * `headers`, as a function that renews it: `headers: async () => ({ authorization: … })`. A key (`apiKey`, or one found under the name
 * `anthropic-vertex`) is sent as a bearer token too. A key of Anthropic is never looked up for it.
 */
export interface AnthropicVertexOptions extends ClaudeOptions {
  readonly platform: 'vertex'
  /** The id of the project in Google Cloud. */
  readonly project: string
  /** A region of Google Cloud, such as `us-east5`, or `global`, `us`, `eu`. Default: `global`. */
  readonly region?: string | undefined
  /** Returns headers that depend on the request, as on Bedrock. */
  readonly sign?: SignRequest | undefined
}

/**
 * Claude on Amazon Bedrock, by its `InvokeModel` API. The model is an id of Bedrock (`anthropic.claude-…`), an inference profile or an ARN.
 *
 * The default `baseUrl` is Bedrock's address in the region. A Bedrock API key (`apiKey`, or one found under the name
 * `anthropic-bedrock`) is sent as a bearer token; `sign` is for credentials of AWS. A key of Anthropic is never looked up for it.
 */
export interface AnthropicBedrockOptions extends ClaudeOptions {
  readonly platform: 'bedrock'
  /** A region of AWS, such as `us-east-1`. */
  readonly region: string
  /**
   * Signs a request (Signature Version 4): returns the headers to add. It is called for each attempt, and what it is given is what
   * is sent. If it fails, the call is `authentication_failed`.
   */
  readonly sign?: SignRequest | undefined
  readonly project?: undefined
}

const defaults: ConnectionDefaults = {
  provider: 'anthropic',
  baseUrl: 'https://api.anthropic.com/v1',
  baseUrlVariable: 'ANTHROPIC_BASE_URL',
  versionPath: '/v1',
  keyHeaders: ['x-api-key', 'authorization'],
  checks: {
    version: someText,
    beta: listOf(someText),
    platform: oneOf(['vertex', 'bedrock']),
  },
}

/** The API takes up to 10 MiB of base64 for an image. */
const maxImageBytes = (10 * 1024 * 1024 * 3) / 4

/** A request has at most 32 MB, with its files as base64. */
const maxFileBytes = (32_000_000 * 3) / 4

const mimeTypes: readonly string[] = ['image/jpeg', 'image/png', 'image/gif', 'image/webp']
