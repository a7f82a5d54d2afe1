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
} from './testing/conformance/cases.ts'
export { adapterCases } from './testing/conformance/adapter.ts'
export type {
  ChatCase,
  ChatHarness,
  StartedAdapter,
  StartOptions,
} from './testing/conformance/harness.ts'
export {
  capture,
  replay,
  replayCases,
  type Exchange,
  type Recording,
  type ReplayHarness,
} from './testing/conformance/replay.ts'
export { ConformanceFailure } from './testing/conformance/demands.ts'
export type {
  ModelHarness,
  ModelStartOptions,
  StartedModelAdapter,
} from './testing/conformance/model-adapter.ts'
export {
  embeddingAdapterCases,
  type EmbeddingCase,
  type EmbeddingHarness,
} from './testing/conformance/embedding-adapter.ts'
export {
  rerankAdapterCases,
  type RerankCase,
  type RerankHarness,
} from './testing/conformance/rerank-adapter.ts'
export {
  imageAdapterCases,
  type ImageCase,
  type ImageHarness,
  type StartedImageAdapter,
} from './testing/conformance/image-adapter.ts'
export {
  moderationAdapterCases,
  type ModerationCase,
  type ModerationHarness,
  type StartedModerationAdapter,
} from './testing/conformance/moderation-adapter.ts'
export {
  speechAdapterCases,
  type SpeechCase,
  type SpeechHarness,
  type StartedSpeechAdapter,
} from './testing/conformance/speech-adapter.ts'
export {
  transcriptionAdapterCases,
  type StartedTranscriptionAdapter,
  type TranscriptionCase,
  type TranscriptionHarness,
} from './testing/conformance/transcription-adapter.ts'
export {
  runStoreCases,
  type RunStoreCase,
  type RunStoreHarness,
  type StartedRunStore,
} from './testing/conformance/run-store.ts'
export {
  sessionStoreCases,
  type StartedStore,
  type StoreCase,
  type StoreHarness,
} from './testing/conformance/session-store.ts'
export { streamAdapterCases } from './testing/conformance/stream-adapter.ts'
export {
  toolExecutorCases,
  type ExecutorCase,
  type ExecutorHarness,
} from './testing/conformance/tool-executor.ts'
export {
  toolResultEncoderCases,
  type EncoderCase,
  type EncoderHarness,
} from './testing/conformance/tool-result-encoder.ts'
