export { openaiImages } from './providers/openai/images.ts'
export { openai, type OpenAiOptions } from './providers/openai/openai.ts'
