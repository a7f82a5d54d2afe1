export type { Fetch } from './providers/http/call.ts'
export { openaiEmbeddings, type OpenAiEmbeddingsOptions } from './providers/openai/embeddings.ts'
export { openaiImages, type OpenAiImagesOptions } from './providers/openai/images.ts'
export { openaiModeration } from './providers/openai/moderation.ts'
export { openaiSpeech } from './providers/openai/speech.ts'
export {
  openaiTranscription,
  type OpenAiTranscriptionOptions,
} from './providers/openai/transcription.ts'
export {
  azure,
  openai,
  openaiChat,
  openaiResponses,
  type AzureOptions,
  type OpenAiChatOptions,
  type OpenAiOptions,
} from './providers/openai/openai.ts'
export type { OpenAiCompat } from './providers/openai/model-family.ts'
export { presetNames, type OpenAiPreset } from './providers/openai/presets.ts'
export type { OpenAiProviderOptions } from './core/types/provider-options.ts'
