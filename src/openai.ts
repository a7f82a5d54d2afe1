export type { Fetch } from './http/call.ts'
export { openaiImages, type OpenAiImagesOptions } from './providers/openai/images.ts'
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
  type OpenAiOptions,
} from './providers/openai/openai.ts'
export type { OpenAiCompat } from './providers/openai/model-family.ts'
export type { OpenAiProviderOptions } from './types/provider-options.ts'
