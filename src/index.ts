export { createEngine, extendEngine } from './run/engine.ts'
export { currentEngine, setEngine, unsetEngine, withEngine } from './run/current-engine.ts'
export { generate, streamGenerate, type GenerateResult, type RequestInput } from './run/generate.ts'
export { step, streamStep, chat, streamChat, type ChatResultOf } from './chat/chat.ts'
export type { ThreadInput } from './chat/prepare.ts'
export { compactMessages, type CompactOptions } from './chat/compact-messages.ts'
export {
  appendMessages,
  assistant,
  messageText,
  system,
  toolResult,
  user,
  imagePart,
  filePart,
  providerItem,
  textPart,
  type SubmitOptions,
} from './make/messages.ts'
export {
  imageFromBase64,
  imageFromBytes,
  imageFromDataUri,
  imageFromFile,
  imageFromId,
  imageFromUrl,
  imageToBytes,
  imageToDataUri,
  fileFromBase64,
  fileFromBytes,
  fileFromId,
  fileFromPath,
  fileFromUrl,
} from './make/media.ts'
export { sniffMimeType } from './make/sniff.ts'
export { modelRequest, jsonSchema, imageRequest } from './make/requests.ts'
export { tool } from './tools/tool.ts'
export { askUser, content, fail, halt } from './make/outcomes.ts'
export { countTokens } from './models/count-tokens.ts'
export { listModels, type ListModelsOptions } from './models/list-models.ts'
export {
  budget,
  cost,
  costOf,
  priceOf,
  type BudgetOptions,
  type Cost,
  type Price,
  type Priced,
  type PriceTable,
} from './make/cost.ts'
export {
  thread,
  type Message,
  type MessagesInput,
  type Role,
  type ImageDetail,
  type FilePart,
  type ImagePart,
  type Part,
  type ProviderItemPart,
  type ReasoningPart,
  type Source,
  type TextPart,
  type Thread,
  type ToolCall,
} from './types/message.ts'
export {
  addUsage,
  type AnswerUsage,
  type FinishReason,
  type ModelResponse,
  type Usage,
} from './types/response.ts'
export { assertNever } from './types/guards.ts'
export {
  collect,
  collectChat,
  collectStep,
  type EventSource,
  unwrap,
  textDeltas,
} from './run/read-stream.ts'
export { applyEvent, toChatResult, toStepResult } from './run/collector.ts'
export { createCollector, type Collector, toResponse } from './run/state.ts'
export { partialOutput, type PartialOutput } from './run/partial-output.ts'
export { agentTool, type AgentToolOptions } from './agents/agent-tool.ts'
export { handoff, type HandoffOptions } from './agents/handoff.ts'
export { Session } from './session/session.ts'
export type {
  ApproveOptions,
  Operation as SessionOperation,
  SessionOptions,
  SessionInput,
  ToolResultContent,
  ToolResultInput,
} from './session/changes.ts'
export type { SessionReducer, SessionResult } from './session/reduce.ts'
export {
  toView,
  type SessionView,
  type ShownMessage,
  type ShownQuestion,
  type ShownTool,
  type ViewCursor,
} from './session/view.ts'
export type {
  ReplyOptions,
  SessionResultOf,
  SessionStream,
  StartOptions,
} from './session/operations.ts'
export {
  validateMessage,
  validateRequest,
  isSendable,
  validateThread,
  validateTool,
} from './schema/validate.ts'
export { validateImageRequest } from './schema/validate-images.ts'
export { validateModerationRequest } from './schema/validate-moderation.ts'
export { validateSession } from './schema/validate-session.ts'
export {
  AdapterError,
  type AdapterErrorReason,
  isAllmError,
  AllmError,
  type AnyAllmError,
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
export { consoleTelemetry, type ConsoleTelemetryOptions } from './run/console-telemetry.ts'
export { onTelemetry, type TelemetryListener, type TelemetryOptions } from './core/on-telemetry.ts'
export type {
  SpanDetail,
  SpanFacts,
  SpanName,
  SpanOutcome,
  SpanSettings,
  TelemetryEvent,
} from './core/telemetry.ts'
export {
  eventTypes,
  innerEvent,
  isBoundary,
  isStreamEvent,
  type Batch,
  type StreamEvent,
  type FailedAttempt,
  type ModelEvent,
  type RunEvent,
  type TypedEvent,
  type ToolEvent,
} from './types/events.ts'
export { systemClock, type Clock } from './core/clock.ts'
export type {
  AdapterOptions,
  CallQueue,
  ChatAdapter,
  EmbeddingAdapter,
  EmbeddingLimits,
  ImageAdapter,
  ModelInfo,
  ModerationAdapter,
  RerankAdapter,
  RateLimit,
  RateLimits,
  TokenCount,
  SpeechAdapter,
  SpeechEvent,
  TranscriptionAdapter,
} from './contracts/adapter.ts'
export type {
  Approval,
  ApprovalVerdict,
  ApprovePolicy,
  CallOptions,
  FormatOption,
  Instructions,
  NextStep,
  OnToolError,
  ToolErrorDecision,
  PrepareStep,
  StepChanges,
  RetryOption,
  RetryPolicy,
  EngineOptions,
  EngineOptionsFor,
  ToolMode,
  ToolsOption,
} from './contracts/options.ts'
export type { Engine, EngineContext, EventOf } from './contracts/engine.ts'
export type {
  AskOutcome,
  ContentOutcome,
  FailOutcome,
  HaltOutcome,
  HandlerOutcome,
  ResultPart,
  HandlerOptions,
  NeedsApproval,
  Tool,
  ToolExecutor,
  ToolHandler,
  ToolResultEncoder,
} from './contracts/tool.ts'
export type { NewId } from './core/ids.ts'
export type {
  ChatOutcome,
  ChatResult,
  ChatStep,
  HaltedReason,
  PartialResult,
  PendingApproval,
  RunUsage,
  StepResult,
  ToolHalt,
} from './types/results.ts'
export type { CauseData, ErrorData, ErrorKind, Issue } from './types/error-data.ts'
export type {
  Image,
  InlineImage,
  RemoteImage,
  StoredImage,
  InlineFile,
  MediaFile,
  RemoteFile,
  StoredFile,
  ImageOperation,
  ImageRequest,
  ImageSize,
  ImageResponse,
  ImageUsage,
} from './types/media.ts'
export type {
  DocumentRank,
  Embedding,
  EmbeddingRequest,
  EmbeddingResponse,
  EmbeddingTask,
  ModerationRequest,
  ModerationResponse,
  ModerationResult,
  PartialEmbeddings,
  RankedDocument,
  RerankRequest,
  RerankResponse,
  RerankResult,
} from './types/models.ts'
export type { FromSchema } from './types/infer-schema.ts'
export type { JsonObject, JsonValue } from './types/json.ts'
export type { ProviderOptions, ProviderParameters } from './types/provider-options.ts'
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
export type { CallDecision, RunProgress, SessionCommand, SessionStatus } from './types/session.ts'
export type {
  SchemaInput,
  SchemaOutput,
  SchemaWithJson,
  StandardSchema,
} from './types/standard-schema.ts'
export { withJsonSchema } from './schema/derive-schema.ts'
export type { CallOf, OtherName, ToolTypes } from './types/tool-types.ts'
export type { Warning } from './types/warning.ts'
export type { HttpResponseInit, RunStream } from './run/run-stream.ts'
export {
  toViewEvent,
  type ViewApproval,
  type ViewError,
  type ViewEvent,
  type ViewInclude,
  type ViewMessage,
  type ViewSource,
  type ViewOptions,
  type ViewResult,
  type ViewToolCall,
  type ViewToolEnd,
  type ViewToolResult,
} from './run/view-event.ts'
export {
  runToolCalls,
  streamToolCalls,
  type ToolCallsOptions,
  type ToolCallsResult,
} from './tools/run-tools.ts'
export { moderate, type ModerationCallOptions, type ModerationInput } from './models/moderate.ts'
export {
  editImage,
  generateImage,
  imageVariations,
  type ImageCallOptions,
} from './models/images.ts'
export { embed, type EmbeddingBatch, type EmbeddingCallOptions } from './models/embed.ts'
export { rerank, type RerankCallOptions } from './models/rerank.ts'
export { cosineSimilarity } from './models/similarity.ts'
export { speak, streamSpeech, type SpeechCallOptions, type SpeechStream } from './models/speak.ts'
export { transcribe, type TranscriptionCallOptions } from './models/transcribe.ts'
export type {
  SpeechFormat,
  SpeechRequest,
  SpeechResponse,
  SpeechStart,
  TranscriptionRequest,
  TranscriptionResponse,
  TranscriptSegment,
  TranscriptWord,
} from './types/models.ts'
