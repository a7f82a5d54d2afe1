export type { Fetch } from './http/call.ts'
export { anthropic, type AnthropicOptions } from './providers/anthropic/anthropic.ts'
export type { AnthropicProviderOptions } from './types/provider-options.ts'
