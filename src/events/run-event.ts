import type { ChatResult, HaltedReason } from '../data/chat-result.ts'
import type { Message } from '../data/message.ts'
import type { ModelResponse } from '../data/model-response.ts'
import type { ToolHalt } from '../data/step-result.ts'
import type { ToolCall } from '../data/tool-call.ts'

/** The boundaries of the loop. */
export type RunEvent =
  | {
      readonly type: 'step_completed'
      readonly response: ModelResponse
      /** What this step added to the thread; the history is not repeated. */
      readonly newMessages: readonly Message[]
      readonly manualToolCalls: readonly ToolCall[]
      readonly mode: 'auto' | 'manual'
      readonly halt?: ToolHalt
      /** The loop ends with this step, and why. Absent when it goes on, and for a single step. */
      readonly haltedReason?: HaltedReason
    }
  | { readonly type: 'chat_completed'; readonly result: ChatResult }
