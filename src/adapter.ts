export {
  chatAdapter,
  settleConnection,
  unsentCall,
  urlOf,
  warningList,
} from './providers/shared/call.ts'
export type {
  CallHeaders,
  Connection,
  ConnectionDefaults,
  ConnectionOptions,
  NamedRequest,
  ProviderWire,
  RenderContext,
  RenderedCall,
  UnsentCall,
} from './providers/shared/call.ts'
export { must, type Check } from './core/schema/checks.ts'
export {
  streamHttp,
  type AnswerDecoder,
  type CallSource,
  type MakeDecoder,
} from './providers/http/stream-http.ts'
export type { AnsweredCall, CallSink } from './providers/http/answer.ts'
export type { Fetch, HttpCall, HttpFailure, Refusal } from './providers/http/call.ts'
export { postForJson, type JsonAnswer } from './providers/http/post.ts'
export { sseSplitter, type BodySplitter, type OnEvent } from './providers/http/sse.ts'
export { ndjsonSplitter } from './providers/http/ndjson.ts'
export { sniffedBody, wholeBody } from './providers/http/whole-body.ts'
export { retryAfterMs } from './providers/http/retry-after.ts'
export { reasonOfStatus } from './core/errors/errors.ts'
export { embeddedStream, type EmbeddedModel } from './providers/shared/embedded-stream.ts'
export {
  assistantMessage,
  messageBuilder,
  parseArguments,
  type MessageBuilder,
  type MessageEnd,
  type MessageSink,
  type StartFacts,
} from './core/answer/message-builder.ts'
export {
  lowerSchema,
  type LoweredSchema,
  type OtherForm,
  type SchemaDialect,
  type SchemaPlace,
} from './core/schema/lower-schema.ts'
export { asEntries, asMembers } from './core/schema/other-forms.ts'
export {
  modelCaller,
  responseFields,
  type AnswerContext,
  type CallOrigin,
  type ModelCallBody,
  type ModelWire,
} from './providers/shared/model-caller.ts'
export { embeddingResponse, refuseTexts } from './providers/shared/embeddings.ts'
export { requestSchemas, type RequestSchemas } from './providers/shared/schemas.ts'
export type { AnswerForms } from './core/answer/answer-text.ts'
export { isBlank } from './core/types/message.ts'
export { mergeOptions, optionsFor } from './core/messages/provider-options.ts'
export {
  leaveOut,
  nearestEffort,
  notTogether,
  requestBody,
  requestSettings,
  type Setting,
} from './providers/shared/request-body.ts'
export {
  base64Of,
  sortedContent,
  toolNames,
  type SortedContent,
} from './providers/shared/content.ts'
export { toolIds, type ToolIds } from './providers/shared/tool-ids.ts'
export {
  fileKind,
  fileMimeType,
  fileText,
  unsupportedFile,
  type FileKind,
} from './providers/shared/files.ts'
export { imageBase64, loadImage, type LoadedImage } from './providers/vision/load-images.ts'
export type { Download, FetchImages, ImageLimits } from './providers/vision/fetch-image.ts'
export { imageFailure, resolveMedia, type MediaLimits } from './providers/vision/resolve-images.ts'
export { textPositions } from './providers/shared/text-positions.ts'
export {
  asCount,
  asList,
  asObject,
  asText,
  asUsage,
  parseChunk,
} from './providers/shared/read-json.ts'
export { defined } from './core/types/guards.ts'
export type { Warn } from './core/types/warning.ts'
