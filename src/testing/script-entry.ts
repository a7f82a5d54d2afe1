import type { JsonObject, JsonValue } from '../types/json.ts'
import type { ToolCall } from '../types/message.ts'
import type { FinishReason, ModelResponse, Usage } from '../types/response.ts'

/** A whole tool call. `rawArguments` is for arguments that do not parse. */
export type ScriptedToolCall = Pick<ToolCall, 'id' | 'name'> &
  Partial<Pick<ToolCall, 'arguments' | 'rawArguments' | 'opaque'>>

/** A piece of a tool call's arguments; `name` stands on the first piece. */
export interface ScriptedToolCallDelta {
  readonly id: string
  readonly argumentsDelta: string
  readonly name?: string
}

/** The facts of a scripted failure: `message`, `status`, `retryAfterMs` and the like. */
export type ScriptedErrorDetails = JsonObject

/** The vocabulary of tests: what a model says, one entry after the other. */
export type SpecEntry =
  | readonly ['text', string]
  | readonly ['reasoning', string]
  | readonly ['reasoning', string, { readonly opaque?: JsonValue }]
  | readonly ['tool_call', ScriptedToolCall]
  | readonly ['tool_call_delta', ScriptedToolCallDelta]
  | readonly ['usage', Usage]
  | readonly ['raw_chunk', JsonValue]
  | readonly ['finish', FinishReason]
  | readonly ['error', JsonValue]
  | readonly ['delay', number]
  /** Deprecated: say `delay`. */
  | readonly ['sleep', number]

/** The vocabulary of conformance harnesses: whole answers, and failures of a chosen kind. */
export type HarnessEntry =
  | readonly ['ok', Partial<ModelResponse>]
  | readonly ['error', string, ScriptedErrorDetails]
  | readonly ['text_delta', string]
  | readonly ['preflight_error', string, ScriptedErrorDetails]
  | readonly ['error_event', string, ScriptedErrorDetails]
  | readonly ['stream_error', string, ScriptedErrorDetails]
  | readonly ['tool_call', ScriptedToolCall]
  | readonly ['finish', FinishReason]

/** One entry of a script. */
export type ScriptEntry = SpecEntry | HarnessEntry

/** What one call of a model does. A script is JSON. */
export type Script = readonly ScriptEntry[]
