export { openaiImages } from './providers/openai/images.ts'
export { openai } from './providers/openai/openai.ts'
export type { OpenAiOptions } from './providers/openai/openai-options.ts'
