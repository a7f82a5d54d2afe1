import { warnDeprecated } from '../../core/base/warning.ts'
import type { ChatAdapter } from '../../core/contracts/adapter.ts'
import { oneOf } from '../../core/schema/checks.ts'
import { leanAdapter, settleConnection, type ConnectionDefaults } from '../shared/call.ts'
import type { AnthropicBedrockOptions } from './bedrock.ts'
import { claudeChecks, messagesWire, type ClaudeOptions } from './messages-wire.ts'
import { bedrockAdapter, vertexAdapter } from './platform-adapter.ts'
import type { AnthropicVertexOptions } from './vertex.ts'

/**
 * An adapter for Anthropic's Messages API, and for servers that speak it. A text is the name of the model. Claude on Vertex AI and Amazon
 * Bedrock is `anthropicVertex` and `anthropicBedrock`; the option `platform` for them is deprecated.
 *
 * `maxTokens`, which the API requires, defaults to the longest answer of the model. A setting that a model does not take as
 * it is (a temperature, a forced tool, a kind of thinking) is left out or replaced by the nearest one, and named in the
 * response's `warnings`. Reasoning is sent back with its signatures; reasoning of other providers is not sent.
 */
export function anthropic(
  given: AnthropicOptions | VertexWord | BedrockWord | string = {},
): ChatAdapter {
  const options = typeof given === 'string' ? { model: given } : given
  // Other words, and options that are not an object, are refused by `settleConnection`.
  if (options?.platform === 'vertex') return onVertex(options)
  if (options?.platform === 'bedrock') return onBedrock(options)
  return leanAdapter({
    ...messagesWire(settleConnection(options, defaults), options),
    models: '/models',
    keyHeader: (key) => ({ 'x-api-key': key }),
  })
}

/**
 * The options of an Anthropic adapter. All of them have defaults.
 *
 * The default `baseUrl` is `ANTHROPIC_BASE_URL`, or `https://api.anthropic.com/v1`. A key is required at this address only, unless `headers` contain
 * one. Set `provider` (`anthropic`) for another server that speaks the protocol.
 */
export interface AnthropicOptions extends ClaudeOptions {
  /** @deprecated Use `anthropicVertex(options)` or `anthropicBedrock(options)`. */
  readonly platform?: undefined
  readonly project?: undefined
  readonly region?: undefined
  readonly sign?: undefined
}

/** The options of `anthropicVertex`, with the word that stood for it. */
interface VertexWord extends AnthropicVertexOptions {
  /** @deprecated Use `anthropicVertex(options)`, without this word. */
  readonly platform: 'vertex'
}

/** The options of `anthropicBedrock`, with the word that stood for it. */
interface BedrockWord extends AnthropicBedrockOptions {
  /** @deprecated Use `anthropicBedrock(options)`, without this word. */
  readonly platform: 'bedrock'
  readonly project?: undefined
}

const defaults: ConnectionDefaults = {
  provider: 'anthropic',
  baseUrl: 'https://api.anthropic.com/v1',
  baseUrlVariable: 'ANTHROPIC_BASE_URL',
  versionPath: '/v1',
  keyHeaders: ['x-api-key', 'authorization'],
  checks: { ...claudeChecks, platform: oneOf(['vertex', 'bedrock']) },
}

/** `anthropicVertex` by its word. What only a call needs is loaded at the first one: programs without a platform start without it. */
function onVertex({ platform: _word, ...options }: VertexWord): ChatAdapter {
  warnDeprecated("anthropic({ platform: 'vertex' })", 'anthropicVertex(options)')
  return vertexAdapter(options, async (...call) => {
    const { toVertex } = await import('./platform-words.ts')
    return toVertex(...call)
  })
}

/** `anthropicBedrock` by its word, which is loaded in the same way. */
function onBedrock({ platform: _word, ...options }: BedrockWord): ChatAdapter {
  warnDeprecated("anthropic({ platform: 'bedrock' })", 'anthropicBedrock(options)')
  return bedrockAdapter(options, async (...call) => {
    const { toBedrock } = await import('./platform-words.ts')
    return toBedrock(...call)
  })
}
