import type { ChatAdapter } from '../../contracts/adapter.ts'
import { sniffedBody } from '../../http/whole-body.ts'
import { listOf, someText, type Check } from '../../schema/checks.ts'
import { chatAdapter, settleConnection, type ConnectionOptions } from '../shared/call.ts'
import { messageDecoder } from './decode.ts'
import { parseFailure } from './failure.ts'
import { renderRequest } from './render-request.ts'

/**
 * An adapter for Anthropic's Messages API, and for servers that speak it. A text is the name of the model.
 *
 * `maxTokens`, which the API requires, defaults to the longest answer of the model. A setting that a model does not take as
 * it is (a temperature, a forced tool, a kind of thinking) is left out or replaced by the nearest one, and named in the
 * response's `warnings`. Reasoning is sent back with its signatures; reasoning of other providers is not sent.
 */
export function anthropic(given: AnthropicOptions | string = {}): ChatAdapter {
  const options: AnthropicOptions = typeof given === 'string' ? { model: given } : given
  const connection = settleConnection(options, {
    provider: 'anthropic',
    baseUrl: 'https://api.anthropic.com/v1',
    baseUrlVariable: 'ANTHROPIC_BASE_URL',
    versionPath: '/v1',
    keyHeaders: ['x-api-key', 'authorization'],
    checks: ownChecks,
  })
  const { version = '2023-06-01', beta = [] } = options
  return chatAdapter({
    connection,
    models: '/models',
    media: { maxBytes: maxImageBytes, maxFileBytes, mimeTypes },
    headers: {
      'anthropic-version': version,
      ...(beta.length === 0 ? {} : { 'anthropic-beta': beta.join(',') }),
    },
    listHeader: 'anthropic-beta',
    keyHeader: (key) => ({ 'x-api-key': key }),
    parseFailure,
    splitter: sniffedBody,
    whole: true,
    render(request, { provider, stream, warn }) {
      const { body, forms } = renderRequest(request, { provider, version, warn })
      return {
        path: '/messages',
        body: { ...body, stream },
        isMerged: true,
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
  /** The `anthropic-version` header (`2023-06-01`). From `2026-10-21` on the API takes no `temperature`, and none is sent. */
  readonly version?: string | undefined
  /** The features to turn on, for the `anthropic-beta` header. Those of a call's own header are added. */
  readonly beta?: readonly string[] | undefined
}

const ownChecks = {
  version: someText,
  beta: listOf(someText),
} satisfies Readonly<Record<Exclude<keyof AnthropicOptions, keyof ConnectionOptions>, Check>>

/** The API takes up to 10 MiB of base64 for an image. */
const maxImageBytes = (10 * 1024 * 1024 * 3) / 4

/** A request has at most 32 MB, with its files as base64. */
const maxFileBytes = (32_000_000 * 3) / 4

const mimeTypes: readonly string[] = ['image/jpeg', 'image/png', 'image/gif', 'image/webp']
