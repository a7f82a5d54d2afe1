export { sendAgUi, type AgUiInput, type SendAgUiOptions } from './bridges/ui/ag-ui-runs.ts'
export {
  toAgUi,
  toAgUiResponse,
  type AgUiEvent,
  type AgUiIds,
  type AgUiOptions,
  type AgUiResponseOptions,
} from './bridges/ui/ag-ui.ts'
export {
  fromUiMessages,
  sendWhenSettled,
  uiApprovals,
  type AcceptedFromUi,
  type FromUiOptions,
} from './bridges/ui/from-ui-messages.ts'
export type { PageOptions } from './bridges/ui/to-chunks.ts'
export {
  toUiMessages,
  uiPast,
  type Conversation,
  type UiPast,
} from './bridges/ui/to-ui-messages.ts'
export { uiCommands } from './bridges/ui/ui-commands.ts'
export {
  resumeUiMessages,
  sendUiMessages,
  type PageAction,
  type PageAuthority,
  type ResumeUiOptions,
  type SendUiOptions,
} from './bridges/ui/ui-runs.ts'
export {
  toUiMessageResponse,
  toUiMessageStream,
  type RunEvents,
  type SseOptions,
  type UiResponseOptions,
  type UiStreamOptions,
} from './bridges/ui/ui-stream.ts'
export type { Permission } from './core/schema/authorize.ts'
export type {
  AiSdkVersion,
  UiApproval,
  UiMessage,
  UiMessageChunk,
  UiMessageInput,
  UiAnswerMetadata,
  UiMessagePart,
  UiProgress,
  UiQuestion,
} from './bridges/ui/ui-types.ts'
