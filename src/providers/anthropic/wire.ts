import type { JsonObject, JsonValue } from '../../core/types/json.ts'

/** One server-sent event of the Messages API, with the members that are read. Any member may be missing or `null`. */
export interface WireEvent {
  readonly type?: string
  readonly index?: number
  readonly message?: WireMessage
  readonly content_block?: WireBlock
  readonly delta?: WireDelta
  readonly usage?: JsonObject | null
  readonly error?: WireError
  readonly request_id?: string | null
  readonly [other: string]: unknown
}

/** A whole answer, or the head of a streamed one. */
export interface WireMessage {
  readonly type?: string
  readonly id?: string
  readonly model?: string
  readonly content?: readonly WireBlock[]
  readonly usage?: JsonObject | null
  readonly error?: WireError
  readonly request_id?: string | null
  readonly [other: string]: unknown
}

/** A content block: text, thinking, a tool call, or a type that is unknown here. */
export interface WireBlock {
  readonly type?: string
  readonly text?: string
  readonly thinking?: string
  readonly signature?: string
  readonly data?: string
  readonly id?: string
  readonly name?: string
  readonly input?: JsonValue
  readonly citations?: readonly JsonValue[] | null
  readonly [other: string]: unknown
}

/** The delta of a block, or the end of a message in `message_delta`. */
export interface WireDelta {
  readonly type?: string
  readonly text?: string
  readonly thinking?: string
  readonly signature?: string
  readonly partial_json?: string
  readonly citation?: JsonValue
  readonly stop_reason?: string | null
  readonly [other: string]: unknown
}

/** The error in a refusal or in an answer. */
export interface WireError {
  readonly type?: string | null
  readonly message?: string | null
  readonly details?: { readonly error_code?: string | null } | null
}

/** A member as a text. A value of another type counts as empty. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
