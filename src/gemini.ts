export { gemini } from './providers/gemini/adapter.ts'
export type { GeminiOptions } from './providers/gemini/settings.ts'
