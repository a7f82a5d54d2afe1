import type { ErrorData } from './error-data.ts'
import type { FinishReason } from './finish-reason.ts'
import type { JsonObject } from './json.ts'
import type { Message } from './message.ts'
import type { ToolCall } from './tool-call.ts'
import type { Usage } from './usage.ts'

/** One call's output. */
export interface ModelResponse {
  /** The id of this run, ours. */
  readonly requestId: string
  /** The provider's id of the answer. */
  readonly id?: string
  readonly model?: string
  readonly provider: string
  readonly message: Message
  /** All text blocks joined; empty when there was no text. */
  readonly outputText: string
  /** In the order in which they were first seen. */
  readonly toolCalls: readonly ToolCall[]
  readonly finishReason: FinishReason
  readonly rawFinishReason?: string
  readonly usage: Usage
  /** Set when the call failed after its first event; the rest of the response is what came before. */
  readonly error?: ErrorData
  /** What the provider said beyond the common fields. */
  readonly metadata: JsonObject
}
