export { createEngine, extendEngine } from './engine/model-call/engine.ts'
export {
  currentEngine,
  setEngine,
  unsetEngine,
  withEngine,
} from './engine/model-call/current-engine.ts'
export {
  generate,
  streamGenerate,
  type GenerateResult,
  type RequestInput,
} from './engine/model-call/generate.ts'
export { step, streamStep, chat, streamChat, type ChatResultOf } from './engine/chat/chat.ts'
export type { ThreadInput } from './engine/chat/prepare.ts'
export { compactMessages, type CompactOptions } from './engine/chat/compact-messages.ts'
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
} from './core/messages/messages.ts'
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
} from './core/messages/media.ts'
export { sniffMimeType } from './core/messages/sniff.ts'
export { modelRequest, jsonSchema, imageRequest } from './core/messages/requests.ts'
export { tool } from './engine/tools/tool.ts'
export { askUser, content, fail, halt, noAnswer } from './core/messages/outcomes.ts'
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
} from './models/cost.ts'
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
} from './core/types/message.ts'
export {
  addUsage,
  type AnswerUsage,
  type FinishReason,
  type ModelResponse,
  type Usage,
} from './core/types/response.ts'
export { assertNever } from './core/types/guards.ts'
export {
  collect,
  collectChat,
  collectStep,
  type EventSource,
  unwrap,
  textDeltas,
} from './engine/model-call/read-stream.ts'
export { applyEvent, toChatResult, toStepResult } from './engine/model-call/fold.ts'
export { createCollector, type Collector, toResponse } from './core/answer/fold-answer.ts'
export { partialOutput, type PartialOutput } from './engine/model-call/partial-output.ts'
export { agentTool, type AgentToolOptions } from './engine/agents/agent-tool.ts'
export { handoff, type HandoffOptions } from './engine/agents/handoff.ts'
export { Session } from './engine/session/session.ts'
export type { SessionOptions, SessionInput } from './engine/session/create.ts'
export type { ApproveOptions } from './engine/session/decide.ts'
export type { Operation as SessionOperation } from './engine/session/legal.ts'
export type { ToolResultContent, ToolResultInput } from './engine/session/submit.ts'
export type { SessionReducer, SessionResult } from './engine/session/reduce.ts'
export {
  toView,
  type SessionView,
  type ShownMessage,
  type ShownQuestion,
  type ShownTool,
  type ViewCursor,
} from './engine/session/view.ts'
export type {
  ReplyOptions,
  SessionResultOf,
  SessionStream,
  StartOptions,
} from './engine/session/operations.ts'
export {
  validateMessage,
  validateRequest,
  isSendable,
  validateThread,
  validateTool,
} from './core/schema/validate.ts'
export { validateImageRequest } from './core/schema/validate-images.ts'
export { validateModerationRequest } from './core/schema/validate-moderation.ts'
export { validateSession } from './core/schema/validate-session.ts'
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
} from './core/errors/errors.ts'
export { errorFromJSON, errorToJSON } from './core/errors/error-json.ts'
export { redact } from './core/errors/redact.ts'
export {
  deleteKey,
  setKey,
  findKey,
  resolveKey,
  type KeyNeed,
  type KeySource,
} from './core/base/keys.ts'
export {
  consoleTelemetry,
  type ConsoleTelemetryOptions,
} from './engine/model-call/console-telemetry.ts'
export {
  onTelemetry,
  type TelemetryListener,
  type TelemetryOptions,
} from './core/base/on-telemetry.ts'
export type {
  SpanDetail,
  SpanFacts,
  SpanName,
  SpanOutcome,
  SpanSettings,
  TelemetryEvent,
} from './core/base/telemetry.ts'
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
} from './core/types/events.ts'
export { systemClock, type Clock } from './core/base/clock.ts'
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
} from './core/contracts/adapter.ts'
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
} from './core/contracts/options.ts'
export type { Engine, EngineContext, EventOf } from './core/contracts/engine.ts'
export type {
  AskOutcome,
  ContentOutcome,
  FailOutcome,
  HaltOutcome,
  HandlerOutcome,
  ResultPart,
  HandlerOptions,
  ApprovalNeed,
  NeedsApproval,
  Reconcile,
  ReconcileAnswer,
  ReconcileOptions,
  Tool,
  ToolExecutor,
  ToolHandler,
  ToolResultEncoder,
} from './core/contracts/tool.ts'
export type { NewId } from './core/base/ids.ts'
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
} from './core/types/results.ts'
export type { CauseData, ErrorData, ErrorKind, Issue } from './core/types/error-data.ts'
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
} from './core/types/media.ts'
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
} from './core/types/models.ts'
export type { FromSchema } from './core/types/infer-schema.ts'
export type { JsonObject, JsonValue } from './core/types/json.ts'
export type { ProviderOptions, ProviderParameters } from './core/types/provider-options.ts'
export type {
  ModelRequest,
  PromptCache,
  ReasoningEffort,
  ReasoningOptions,
  JsonSchemaFormat,
  ResponseFormat,
  ToolChoice,
  ToolSpec,
} from './core/types/request.ts'
export type {
  CallApproval,
  CallQuestion,
  CallState,
  CallTold,
  PendingCall,
  PendingKind,
} from './core/types/call.ts'
export type {
  CallRecord,
  RunProgress,
  SessionCommand,
  SessionStatus,
} from './core/types/session.ts'
export type {
  SchemaInput,
  SchemaOutput,
  SchemaWithJson,
  StandardSchema,
} from './core/types/standard-schema.ts'
export { withJsonSchema } from './core/schema/derive-schema.ts'
export type { CallOf, OtherName, ToolTypes } from './core/types/tool-types.ts'
export type { Warning } from './core/types/warning.ts'
export type { HttpResponseInit, RunStream } from './engine/model-call/run-stream.ts'
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
} from './engine/model-call/view-event.ts'
export {
  runToolCalls,
  streamToolCalls,
  type ToolCallsOptions,
  type ToolCallsResult,
} from './engine/tools/run-tool-calls.ts'
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
} from './core/types/models.ts'
