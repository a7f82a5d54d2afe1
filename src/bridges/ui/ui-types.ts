import type { JsonObject, JsonValue } from '../../core/types/json.ts'
import type { Message } from '../../core/types/message.ts'

/** A version of the AI SDK, whose `useChat` reads the chunks. */
export type AiSdkVersion = 5 | 6 | 7

/**
 * One piece of a UI message stream of the AI SDK: what `useChat`, `readUIMessageStream` and `createUIMessageStreamResponse` take. Which kinds
 * there are depends on the version that the page has.
 */
export type UiMessageChunk<Version extends AiSdkVersion = AiSdkVersion> =
  | CommonChunk
  | (Version extends 6 | 7 ? ApprovalChunk : never)
  | (Version extends 7 ? LatestChunk : never)

/** What every version has. */
type CommonChunk =
  | {
      readonly type: 'start'
      readonly messageId?: string
      readonly messageMetadata?: unknown
    }
  | { readonly type: 'start-step' | 'finish-step' | 'abort' }
  | { readonly type: `${BlockKind}-start` | `${BlockKind}-end`; readonly id: string }
  | { readonly type: `${BlockKind}-delta`; readonly id: string; readonly delta: string }
  | {
      readonly type: 'tool-input-start'
      readonly toolCallId: string
      readonly toolName: string
      readonly dynamic?: boolean
    }
  | {
      readonly type: 'tool-input-delta'
      readonly toolCallId: string
      readonly inputTextDelta: string
    }
  | {
      readonly type: 'tool-input-available'
      readonly toolCallId: string
      readonly toolName: string
      readonly input: unknown
      readonly dynamic?: boolean
    }
  | {
      readonly type: 'tool-output-available'
      readonly toolCallId: string
      readonly output: unknown
      readonly dynamic?: boolean
    }
  | {
      readonly type: 'tool-output-error'
      readonly toolCallId: string
      readonly errorText: string
      readonly dynamic?: boolean
    }
  | SourceUrl
  | SourceDocument
  | UiFile
  | UiData
  | { readonly type: 'message-metadata'; readonly messageMetadata: unknown }
  | { readonly type: 'error'; readonly errorText: string }
  | {
      readonly type: 'finish'
      readonly finishReason?: UiFinishReason
      readonly messageMetadata?: unknown
    }

type ApprovalChunk =
  | {
      readonly type: 'tool-approval-request'
      readonly approvalId: string
      readonly toolCallId: string
    }
  | { readonly type: 'tool-output-denied'; readonly toolCallId: string }

type LatestChunk =
  | { readonly type: 'reset-step' }
  | {
      readonly type: 'finish'
      readonly finishReason: 'interrupted'
      readonly messageMetadata?: unknown
    }

/** What streams in pieces. */
export type BlockKind = 'text' | 'reasoning'

/** Why a message ended. */
export type UiFinishReason = 'stop' | 'length' | 'tool-calls' | 'content-filter' | 'error' | 'other'

type SourceUrl = {
  readonly type: 'source-url'
  readonly sourceId: string
  readonly url: string
  readonly title?: string
  readonly providerMetadata?: SourcePlace
}

type SourceDocument = {
  readonly type: 'source-document'
  readonly sourceId: string
  readonly mediaType: string
  readonly title: string
  readonly providerMetadata?: SourcePlace
}

/** The passage of a source that is cited, and the place in the text that cites it. */
type SourcePlace = {
  readonly allm: { readonly text?: string; readonly start?: number; readonly end?: number }
}

/** A file, as a chunk or a part. */
export type UiFile = {
  readonly type: 'file'
  readonly url: string
  readonly mediaType: string
  readonly filename?: string
}

/** What a UI message has no part for. */
type UiData =
  /** A tool asks the user. The next message of the user is the answer, and so is an output that the page gives to the call. */
  | { readonly type: 'data-question'; readonly id: string; readonly data: UiQuestion }
  /** What a handler reported last. */
  | { readonly type: 'data-progress'; readonly id: string; readonly data: UiProgress }
  /** A call that waits for approval. Versions after AI SDK 5 have a state of the call for it, and this part only if the approval expires. */
  | { readonly type: 'data-approval'; readonly id: string; readonly data: UiApproval }
  /** AI SDK 5 and 6 only: the parts of the step before this one are replaced by those after it. */
  | { readonly type: 'data-restart'; readonly data: object }

/** The data of a `data-question` part. */
export interface UiQuestion {
  readonly toolCallId: string
  readonly toolName: string
  readonly question: string
  /** Choices, or anything else that the handler passed on. */
  readonly options: JsonObject
  /** While it is open: the page sends it back with its messages, and so answers this question and no other. Without a session there is none. */
  readonly ticket?: string
  /** When it is answered by `noAnswer` if nobody has answered, by the clock of the engine. */
  readonly expiresAt?: number
  /** What the user answered, in a conversation that is read again. */
  readonly answer?: string
  /** Nobody has answered in time: the answer is `noAnswer`. */
  readonly expired?: true
}

/** The data of a `data-progress` part. */
export interface UiProgress {
  readonly toolCallId: string
  readonly toolName: string
  /** What the handler reported. With `inner`, an event of the agent inside the call, as `toViewEvent` shows it. */
  readonly data: JsonValue
  readonly inner?: 'event'
}

/** The data of a `data-approval` part. */
export interface UiApproval {
  readonly toolCallId: string
  readonly toolName: string
  readonly input: JsonObject
  /** AI SDK 5: the page sends it back with its messages, and so decides about this input and no other. Without a session there is none. */
  readonly ticket?: string
  /** When it is denied if nobody has decided, by the clock of the engine. */
  readonly expiresAt?: number
}

/** A message of `useChat`, in the form that a version of the AI SDK has. */
export interface UiMessage<Version extends AiSdkVersion = AiSdkVersion> {
  id: string
  role: 'user' | 'assistant'
  /** Of an answer: who gave it, and why it ended. Absent if there is nothing to say. */
  metadata?: UiAnswerMetadata
  parts: UiMessagePart<Version>[]
}

/** What the metadata of a message says about its last answer. */
export interface UiAnswerMetadata {
  /** The `name` of the engine that answered. */
  readonly agent?: string
  /**
   * Why the answer ended, if it did not end by itself: `length` or `content_filter`, for example. `null` only in a page that follows: an
   * earlier answer of the message had a reason, and this one has none.
   */
  readonly finishReason?: Message['finishReason'] | null
}

/** A part of a message of `useChat`. */
export type UiMessagePart<Version extends AiSdkVersion = AiSdkVersion> =
  | { type: BlockKind; text: string; state?: 'streaming' | 'done' }
  | { type: 'step-start' }
  | SourceUrl
  | SourceDocument
  | UiFile
  | UiData
  | ToolPart<Version>

type ToolPart<Version> = (
  | { type: `tool-${string}` }
  | { type: 'dynamic-tool'; toolName: string }
) & {
  toolCallId: string
} & (
    | { state: 'input-streaming' | 'input-available'; input: unknown }
    | { state: 'output-available'; input: unknown; output: unknown }
    | { state: 'output-error'; input: unknown; errorText: string }
    | (Version extends 6 | 7 ? ApprovalState : never)
  )

/** What somebody decided before the call ran. */
type GivenApproval = { id: string; approved: true }

type ApprovalState =
  | { state: 'approval-requested'; input: unknown; approval: { id: string } }
  | { state: 'output-available'; input: unknown; output: unknown; approval: GivenApproval }
  | { state: 'output-error'; input: unknown; errorText: string; approval: GivenApproval }
  | {
      state: 'output-denied'
      input: unknown
      approval: { id: string; approved: false; reason?: string }
    }

/** A message that a page sent. Nothing about it is trusted: its members are checked where they are read. */
export interface UiMessageInput {
  readonly id: string
  readonly role: string
  readonly parts: readonly { readonly type: string; readonly [member: string]: unknown }[]
  readonly metadata?: unknown
}
