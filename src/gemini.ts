export { gemini, type GeminiOptions } from './providers/gemini/gemini.ts'
export { geminiImages } from './providers/gemini/images.ts'
