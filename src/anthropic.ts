export type { Fetch } from './providers/http/call.ts'
export {
  anthropic,
  type AnthropicBedrockOptions,
  type AnthropicOptions,
  type AnthropicVertexOptions,
} from './providers/anthropic/anthropic.ts'
export type { SignRequest, UnsignedRequest } from './providers/anthropic/platforms.ts'
export type { AnthropicProviderOptions } from './core/types/provider-options.ts'
