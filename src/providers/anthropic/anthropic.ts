import type { AdapterOptions, ChatAdapter } from '../../contracts/adapter.ts'
import { randomId } from '../../core/ids.ts'
import { postForJson } from '../../http/post.ts'
import { streamSse } from '../../http/stream-http.ts'
import { anthropicSettings, type AnthropicOptions } from './anthropic-options.ts'
import { callFor } from './call-for.ts'
import type { DecodedCall } from './decoder-state.ts'
import { messageDecoder } from './message-decoder.ts'
import { responseOf } from './response-of.ts'

/**
 * An adapter for Anthropic's Messages API, and for servers that speak it.
 *
 * The request's `maxTokens`, which the API wants, is the model's largest answer unless it is set. What a model does not take
 * as it was asked for (a temperature, a forced tool, a kind of thinking) is left out or sent as what comes nearest, and named in
 * the response's `metadata.adjusted`. Reasoning is echoed with its signatures; reasoning of other providers is not sent.
 */
export function anthropic(options: AnthropicOptions = {}): ChatAdapter {
  const settings = anthropicSettings(options)
  const { provider, keyRequired } = settings
  const { apiKey: ownKey } = options
  return {
    provider,
    needsModel: true,
    key: { required: keyRequired, own: ownKey !== undefined && ownKey !== '' },
    stream(request, callOptions = {}) {
      const answer = expectedAnswer(provider, callOptions)
      const plan = { settings, request, options: { ...callOptions, ownKey }, answer }
      return streamSse(() => callFor(plan, true), messageDecoder(answer))
    },
    async generate(request, callOptions = {}) {
      const answer = expectedAnswer(provider, callOptions)
      const plan = { settings, request, options: { ...callOptions, ownKey }, answer }
      const { value, status } = await postForJson(await callFor(plan, false))
      return responseOf(value, status, answer)
    },
  }
}

function expectedAnswer(provider: string, options: AdapterOptions): DecodedCall {
  return {
    provider,
    requestId: options.requestId ?? (options.newId ?? randomId)('request'),
    includeRawChunks: options.includeRawChunks === true,
    adjusted: [],
    clean: (text) => text,
  }
}
