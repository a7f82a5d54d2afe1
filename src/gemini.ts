export type { Fetch } from './http/call.ts'
export { gemini, type GeminiOptions, type GeminiVertexOptions } from './providers/gemini/gemini.ts'
export { geminiImages, type GeminiImagesOptions } from './providers/gemini/images.ts'
export type { GeminiProviderOptions } from './types/provider-options.ts'
