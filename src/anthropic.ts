export { anthropic } from './providers/anthropic/anthropic.ts'
export type { AnthropicOptions } from './providers/anthropic/anthropic-options.ts'
