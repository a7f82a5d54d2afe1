export { createEngine, extendEngine } from './engine/create-engine.ts'
export { generate, streamGenerate } from './engine/generate.ts'
export type { GenerateResult, RequestInput } from './engine/generate.ts'
export { step, streamStep } from './chat/step.ts'
export { chat, streamChat } from './chat/chat.ts'
export type { ChatResultOf } from './chat/chat.ts'
export type { ThreadInput } from './chat/create-loop.ts'

export { assistant, system, toolResult, user } from './make/messages.ts'
export { imagePart, textPart } from './make/parts.ts'
export {
  imageFromBase64,
  imageFromBytes,
  imageFromDataUri,
  imageFromFile,
  imageFromUrl,
} from './make/images.ts'
export { sniffMimeType } from './make/sniff-mime-type.ts'
export { modelRequest } from './make/model-request.ts'
export { jsonSchema } from './make/response-format.ts'
export { imageRequest } from './make/image-request.ts'
export { tool } from './make/tool.ts'
export { askUser, fail, halt } from './make/outcomes.ts'
export { appendMessages, thread } from './data/thread.ts'
export { messageText } from './data/message.ts'
export { addUsage } from './data/usage.ts'
export { assertNever } from './data/assert-never.ts'

export { collect, collectChat, collectStep } from './collect/collect.ts'
export { createCollector } from './collect/collector-state.ts'
export { applyEvent } from './collect/collector.ts'
export { toResponse } from './collect/to-response.ts'
export { toChatResult, toStepResult } from './collect/to-results.ts'
export { unwrap } from './collect/unwrap.ts'
export { textDeltas } from './collect/text-deltas.ts'

export { Session } from './session/session-api.ts'
export type { SessionOptions } from './session/create-session.ts'
export type { SessionInput } from './session/begin.ts'
export type { SessionReducer, SessionResult } from './session/reducer.ts'
export type { SessionResultOf } from './session/operations.ts'
export type { SessionStream } from './session/session-stream.ts'
export type { ToolResultContent, ToolResultInput } from './session/tool-results.ts'

export { validateImageRequest } from './validate/validate-image-request.ts'
export { validateMessage } from './validate/validate-message.ts'
export { validateRequest } from './validate/validate-request.ts'
export { validateSession } from './validate/validate-session.ts'
export { isSendable, validateThread } from './validate/validate-thread.ts'
export { validateTool } from './validate/validate-tool.ts'

export { AdapterError } from './errors/adapter-error.ts'
export { isAllmError, AllmError } from './errors/allm-error.ts'
export { EngineError } from './errors/engine-error.ts'
export { errorFromJSON, errorToJSON } from './errors/error-json.ts'
export { ImageAdapterError } from './errors/image-adapter-error.ts'
export { SessionError } from './errors/session-error.ts'
export { StreamError } from './errors/stream-error.ts'
export { ToolError } from './errors/tool-error.ts'
export { ValidationError } from './errors/validation-error.ts'
export { redact } from './errors/redact.ts'

export { deleteKey, setKey } from './keys/key-store.ts'
export { findKey, resolveKey } from './keys/find-key.ts'
export { onTelemetry } from './telemetry/telemetry.ts'
export { eventTypes, isStreamEvent } from './events/event.ts'
export { systemClock } from './async/clock.ts'

export type { AdapterErrorReason } from './errors/adapter-error.ts'
export type { EngineErrorReason } from './errors/engine-error.ts'
export type { ImageAdapterErrorReason } from './errors/image-adapter-error.ts'
export type { SessionErrorReason } from './errors/session-error.ts'
export type { StreamErrorReason } from './errors/stream-error.ts'
export type { ToolErrorReason } from './errors/tool-error.ts'
export type { ValidationErrorReason } from './errors/validation-error.ts'
export type { AdapterOptions } from './adapter/adapter-options.ts'
export type { CallOptions, FormatOption, OnToolError } from './adapter/call-options.ts'
export type { ChatAdapter, KeyNeed } from './adapter/chat-adapter.ts'
export type { EngineOptions, KeySource } from './adapter/engine.ts'
export type { Engine } from './adapter/engine-handle.ts'
export type { HandlerOutcome } from './adapter/handler-outcome.ts'
export type { ImageAdapter } from './adapter/image-adapter.ts'
export type { RetryOption, RetryPolicy } from './adapter/retry-policy.ts'
export type {
  HandlerOptions,
  Tool,
  ToolExecutor,
  ToolHandler,
  ToolResultEncoder,
} from './adapter/tool.ts'
export type { Clock } from './async/clock.ts'
export type { NewId } from './async/new-id.ts'
export type { Collector } from './collect/collector-state.ts'
export type { EventSource } from './collect/collect.ts'
export type { ChatResult, HaltedReason } from './data/chat-result.ts'
export type { ErrorData, ErrorKind, Issue } from './data/error-data.ts'
export type { FinishReason } from './data/finish-reason.ts'
export type { FileImage, Image, InlineImage, RemoteImage } from './data/image.ts'
export type { ImageOperation, ImageRequest, ImageSize } from './data/image-request.ts'
export type { ImageResponse, ImageUsage } from './data/image-response.ts'
export type { JsonObject, JsonValue } from './data/json.ts'
export type { Message, Role } from './data/message.ts'
export type {
  ModelRequest,
  PromptCache,
  ProviderOptions,
  ReasoningEffort,
  ReasoningOptions,
} from './data/model-request.ts'
export type { ModelResponse } from './data/model-response.ts'
export type { ImageDetail, ImagePart, Part, ReasoningPart, TextPart } from './data/part.ts'
export type { PartialResult } from './data/partial-result.ts'
export type { JsonSchemaFormat, ResponseFormat } from './data/response-format.ts'
export type { RunProgress, SessionStatus } from './data/session.ts'
export type { StandardSchema } from './data/standard-schema.ts'
export type { StepResult, ToolHalt } from './data/step-result.ts'
export type { Thread } from './data/thread.ts'
export type { ToolCall } from './data/tool-call.ts'
export type { ToolChoice, ToolSpec } from './data/tool-spec.ts'
export type { Usage } from './data/usage.ts'
export type { Batch, StreamEvent } from './events/event.ts'
export type { ModelEvent } from './events/model-event.ts'
export type { RunEvent } from './events/run-event.ts'
export type { ToolEvent } from './events/tool-event.ts'
export type { RunStream } from './stream/run-stream.ts'
export type { TelemetryEvent } from './telemetry/telemetry-event.ts'
export { fileStore, type FileStoreOptions, type StoreFiles } from './store/file-store.ts'
export { memoryStore } from './store/memory-store.ts'
export type { SaveOptions, SessionStore, StoredSession } from './store/session-store.ts'
