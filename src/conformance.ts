export {
  type ChatCapability,
  type EmbeddingCapability,
  type EncoderCapability,
  type ImageCapability,
  type ModelCapability,
  type ModerationCapability,
  type RerankCapability,
  type RunStoreCapability,
  type SpeechCapability,
  type StoreCapability,
  type TranscriptionCapability,
  type ConformanceCase,
  type Declares,
  register,
  type RegisterOptions,
  type TestFunction,
  runCases,
  type ConformanceReport,
  type FailedCase,
  type UndeclaredCapability,
} from './conformance/cases.ts'
export { adapterCases } from './conformance/adapter.ts'
export type { ChatCase, ChatHarness, StartedAdapter, StartOptions } from './conformance/harness.ts'
export {
  capture,
  replay,
  replayCases,
  type Exchange,
  type Recording,
  type ReplayHarness,
} from './conformance/replay.ts'
export { ConformanceFailure } from './conformance/demands.ts'
export type {
  ModelHarness,
  ModelStartOptions,
  StartedModelAdapter,
} from './conformance/model-adapter.ts'
export {
  embeddingAdapterCases,
  type EmbeddingCase,
  type EmbeddingHarness,
} from './conformance/embedding-adapter.ts'
export {
  rerankAdapterCases,
  type RerankCase,
  type RerankHarness,
} from './conformance/rerank-adapter.ts'
export {
  imageAdapterCases,
  type ImageCase,
  type ImageHarness,
  type StartedImageAdapter,
} from './conformance/image-adapter.ts'
export {
  moderationAdapterCases,
  type ModerationCase,
  type ModerationHarness,
  type StartedModerationAdapter,
} from './conformance/moderation-adapter.ts'
export {
  speechAdapterCases,
  type SpeechCase,
  type SpeechHarness,
  type StartedSpeechAdapter,
} from './conformance/speech-adapter.ts'
export {
  transcriptionAdapterCases,
  type StartedTranscriptionAdapter,
  type TranscriptionCase,
  type TranscriptionHarness,
} from './conformance/transcription-adapter.ts'
export {
  runStoreCases,
  type RunStoreCase,
  type RunStoreHarness,
  type StartedRunStore,
} from './conformance/run-store.ts'
export {
  sessionStoreCases,
  type StartedStore,
  type StoreCase,
  type StoreHarness,
} from './conformance/session-store.ts'
export { streamAdapterCases } from './conformance/stream-adapter.ts'
export {
  toolExecutorCases,
  type ExecutorCase,
  type ExecutorHarness,
} from './conformance/tool-executor.ts'
export {
  toolResultEncoderCases,
  type EncoderCase,
  type EncoderHarness,
} from './conformance/tool-result-encoder.ts'
