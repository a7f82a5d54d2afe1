export { sendAgUi, type AgUiInput, type SendAgUiOptions } from './ui/ag-ui-runs.ts'
export {
  toAgUi,
  toAgUiResponse,
  type AgUiEvent,
  type AgUiIds,
  type AgUiOptions,
  type AgUiResponseOptions,
} from './ui/ag-ui.ts'
export {
  fromUiMessages,
  sendWhenSettled,
  uiApprovals,
  uiCommands,
  type AcceptedFromUi,
  type FromUiOptions,
} from './ui/from-ui-messages.ts'
export type { PageOptions } from './ui/to-chunks.ts'
export { toUiMessages, uiPast, type Conversation, type UiPast } from './ui/to-ui-messages.ts'
export {
  resumeUiMessages,
  sendUiMessages,
  type PageAction,
  type PageAuthority,
  type ResumeUiOptions,
  type SendUiOptions,
} from './ui/ui-runs.ts'
export {
  toUiMessageResponse,
  toUiMessageStream,
  type RunEvents,
  type SseOptions,
  type UiResponseOptions,
  type UiStreamOptions,
} from './ui/ui-stream.ts'
export type { Permission } from './schema/permission.ts'
export type {
  AiSdkVersion,
  UiApproval,
  UiMessage,
  UiMessageChunk,
  UiMessageInput,
  UiMessagePart,
  UiProgress,
  UiQuestion,
} from './ui/ui-types.ts'
