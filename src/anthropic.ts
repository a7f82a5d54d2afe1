export { anthropic, type AnthropicOptions } from './providers/anthropic/anthropic.ts'
