export type {
  ChatCapability,
  EncoderCapability,
  ImageCapability,
  StoreCapability,
} from './conformance/capabilities.ts'
export { adapterCases } from './conformance/adapter-cases.ts'
export type {
  ChatCase,
  ChatHarness,
  StartedAdapter,
  StartOptions,
} from './conformance/chat-harness.ts'
export type { ConformanceCase, Declares } from './conformance/conformance-case.ts'
export { ConformanceFailure } from './conformance/conformance-failure.ts'
export { imageAdapterCases } from './conformance/image-adapter-cases.ts'
export type { ImageCase, ImageHarness, StartedImageAdapter } from './conformance/image-harness.ts'
export { register, type RegisterOptions, type TestFunction } from './conformance/register.ts'
export {
  runCases,
  type ConformanceReport,
  type FailedCase,
  type UndeclaredCapability,
} from './conformance/run-cases.ts'
export { sessionStoreCases } from './conformance/session-store-cases.ts'
export type { StartedStore, StoreCase, StoreHarness } from './conformance/store/store-harness.ts'
export { streamAdapterCases } from './conformance/stream-adapter-cases.ts'
export { toolExecutorCases } from './conformance/tool-executor-cases.ts'
export { toolResultEncoderCases } from './conformance/tool-result-encoder-cases.ts'
export type { EncoderCase, EncoderHarness } from './conformance/tool/encoder-harness.ts'
export type { ExecutorCase, ExecutorHarness } from './conformance/tool/executor-harness.ts'
