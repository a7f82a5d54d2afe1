import type { JsonObject, JsonValue } from '../../types/json.ts'

/** One server-sent event of the Messages API, as far as it is read. Any member may be missing or `null`. */
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

/** A content block: text, thinking, a tool's call, or anything that the servers add. */
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

/** The growth of a block, or what `message_delta` says about the end of the message. */
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

/** What a refusal says about itself. */
export interface WireError {
  readonly type?: string | null
  readonly message?: string | null
  readonly details?: { readonly error_code?: string | null } | null
}

/** A member as a text; what is none says nothing. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** A member as a text that says something. */
export function someText(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** Whether a JSON value is an object. */
export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The arguments that a model wrote. No text at all is `{}`; what is not a JSON object is `undefined`. */
export function parseArguments(raw: string): JsonObject | undefined {
  if (raw.trim() === '') return {}
  try {
    const value: unknown = JSON.parse(raw)
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
    // JSON.parse makes JSON values, and this one is an object.
    return value as JsonObject
  } catch {
    return undefined
  }
}
