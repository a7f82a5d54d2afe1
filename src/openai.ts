export { openai } from './providers/openai/openai.ts'
export type { OpenAiOptions } from './providers/openai/openai-options.ts'
