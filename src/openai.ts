export { openai } from './providers/openai/openai.ts'
export { openaiImages } from './providers/openai/images.ts'
export type { OpenAiOptions } from './providers/openai/openai-options.ts'
