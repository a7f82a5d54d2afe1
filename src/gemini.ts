export type { Fetch } from './providers/http/call.ts'
export {
  gemini,
  geminiVertex,
  type GeminiOptions,
  type GeminiVertexOptions,
} from './providers/gemini/gemini.ts'
export { geminiEmbeddings, type GeminiEmbeddingsOptions } from './providers/gemini/embeddings.ts'
export { geminiImages, type GeminiImagesOptions } from './providers/gemini/images.ts'
export { geminiSpeech } from './providers/gemini/speech.ts'
export type { GeminiProviderOptions } from './core/types/provider-options.ts'
