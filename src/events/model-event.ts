import type { ErrorData } from '../data/error-data.ts'
import type { FinishReason } from '../data/finish-reason.ts'
import type { Image } from '../data/image.ts'
import type { JsonObject, JsonValue } from '../data/json.ts'
import type { Message } from '../data/message.ts'
import type { ToolCall } from '../data/tool-call.ts'
import type { Usage } from '../data/usage.ts'

/**
 * Everything that an adapter can say, in the order in which it can say it.
 *
 * `message_started` comes first. `message_completed` or `error` comes last, exactly one of them.
 */
export type ModelEvent =
  | {
      readonly type: 'message_started'
      readonly requestId: string
      readonly provider: string
      readonly id?: string
      readonly model?: string
      /** What is known of the usage by then. */
      readonly usage?: Usage
    }
  | { readonly type: 'text_delta'; readonly delta: string; readonly index?: number }
  /** One text block is complete; `text` is all of that block. */
  | { readonly type: 'text_completed'; readonly text: string; readonly index?: number }
  | { readonly type: 'reasoning_delta'; readonly delta: string; readonly index?: number }
  | {
      readonly type: 'reasoning_completed'
      readonly text: string
      readonly index?: number
      readonly opaque?: JsonValue
    }
  | { readonly type: 'tool_call_started'; readonly id: string; readonly name: string }
  | { readonly type: 'tool_call_delta'; readonly id: string; readonly argumentsDelta: string }
  | { readonly type: 'tool_call_completed'; readonly call: ToolCall }
  | { readonly type: 'image_completed'; readonly image: Image }
  /** What the provider sent, as it sent it. Only with `includeRawChunks`. */
  | { readonly type: 'raw_chunk'; readonly chunk: JsonValue }
  | {
      readonly type: 'message_completed'
      readonly message: Message
      readonly finishReason: FinishReason
      readonly rawFinishReason?: string
      readonly usage?: Usage
      readonly metadata?: JsonObject
    }
  | ErrorEvent

/** A failure after the first event. Always the last event of its stream. */
export interface ErrorEvent {
  readonly type: 'error'
  readonly error: ErrorData
}
