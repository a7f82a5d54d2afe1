export { gemini } from './providers/gemini/adapter.ts'
export { geminiImages } from './providers/gemini/images.ts'
export type { GeminiOptions } from './providers/gemini/settings.ts'
