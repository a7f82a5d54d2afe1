export { createEngine, extendEngine } from './run/engine.ts'
export { generate, streamGenerate, type GenerateResult, type RequestInput } from './run/generate.ts'
export { step, streamStep, chat, streamChat, type ChatResultOf } from './chat/chat.ts'
export type { ThreadInput } from './chat/prepare.ts'
export { assistant, system, toolResult, user, imagePart, textPart } from './make/messages.ts'
export {
  imageFromBase64,
  imageFromBytes,
  imageFromDataUri,
  imageFromFile,
  imageFromUrl,
  sniffMimeType,
} from './make/media.ts'
export { modelRequest, jsonSchema, imageRequest } from './make/requests.ts'
export { tool, askUser, fail, halt } from './make/tools.ts'
export {
  appendMessages,
  thread,
  messageText,
  type Message,
  type Role,
  type ImageDetail,
  type ImagePart,
  type Part,
  type ReasoningPart,
  type TextPart,
  type Thread,
  type ToolCall,
} from './types/message.ts'
export { addUsage, type FinishReason, type ModelResponse, type Usage } from './types/response.ts'
export { assertNever } from './types/guards.ts'
export {
  collect,
  collectChat,
  collectStep,
  type EventSource,
  unwrap,
  textDeltas,
} from './run/read-stream.ts'
export {
  createCollector,
  type Collector,
  applyEvent,
  toResponse,
  toChatResult,
  toStepResult,
} from './run/collector.ts'
export { Session } from './session/session.ts'
export type {
  SessionOptions,
  SessionInput,
  ToolResultContent,
  ToolResultInput,
} from './session/changes.ts'
export type { SessionReducer, SessionResult } from './session/reduce.ts'
export type { SessionResultOf, SessionStream } from './session/operations.ts'
export {
  validateMessage,
  validateRequest,
  isSendable,
  validateThread,
  validateTool,
} from './schema/validate.ts'
export { validateImageRequest } from './schema/validate-images.ts'
export { validateSession } from './schema/validate-session.ts'
export {
  AdapterError,
  type AdapterErrorReason,
  isAllmError,
  AllmError,
  EngineError,
  type EngineErrorReason,
  ImageAdapterError,
  type ImageAdapterErrorReason,
  SessionError,
  type SessionErrorReason,
  StreamError,
  type StreamErrorReason,
  ToolError,
  type ToolErrorReason,
  ValidationError,
  type ValidationErrorReason,
} from './errors/errors.ts'
export { errorFromJSON, errorToJSON } from './errors/error-json.ts'
export { redact } from './errors/redact.ts'
export {
  deleteKey,
  setKey,
  findKey,
  resolveKey,
  type KeyNeed,
  type KeySource,
} from './core/keys.ts'
export { onTelemetry, type TelemetryEvent } from './core/telemetry.ts'
export {
  eventTypes,
  isStreamEvent,
  type Batch,
  type StreamEvent,
  type ModelEvent,
  type RunEvent,
  type ToolEvent,
} from './types/events.ts'
export { systemClock, type Clock } from './core/clock.ts'
export type { AdapterOptions, ChatAdapter, ImageAdapter } from './contracts/adapter.ts'
export type {
  CallOptions,
  FormatOption,
  OnToolError,
  RetryOption,
  RetryPolicy,
  EngineOptions,
} from './contracts/options.ts'
export type { Engine } from './contracts/engine.ts'
export type {
  HandlerOutcome,
  HandlerOptions,
  Tool,
  ToolExecutor,
  ToolHandler,
  ToolResultEncoder,
} from './contracts/tool.ts'
export type { NewId } from './core/ids.ts'
export type {
  ChatResult,
  HaltedReason,
  PartialResult,
  StepResult,
  ToolHalt,
} from './types/results.ts'
export type { ErrorData, ErrorKind, Issue } from './types/error-data.ts'
export type {
  FileImage,
  Image,
  InlineImage,
  RemoteImage,
  ImageOperation,
  ImageRequest,
  ImageSize,
  ImageResponse,
  ImageUsage,
} from './types/media.ts'
export type { JsonObject, JsonValue, ProviderOptions } from './types/json.ts'
export type {
  ModelRequest,
  PromptCache,
  ReasoningEffort,
  ReasoningOptions,
  JsonSchemaFormat,
  ResponseFormat,
  ToolChoice,
  ToolSpec,
} from './types/request.ts'
export type { RunProgress, SessionStatus } from './types/session.ts'
export type { StandardSchema } from './types/standard-schema.ts'
export type { RunStream } from './run/run-stream.ts'
export { fileStore, type FileStoreOptions, type StoreFiles } from './stores/file-store.ts'
export {
  memoryStore,
  type SaveOptions,
  type SessionStore,
  type StoredSession,
} from './stores/memory-store.ts'
export {
  runToolCalls,
  streamToolCalls,
  type ToolCallsOptions,
  type ToolCallsResult,
} from './tools/run-tools.ts'
export {
  editImage,
  generateImage,
  imageVariations,
  type ImageCallOptions,
} from './images/images.ts'
