import type { JsonObject, JsonValue } from '../../types/json.ts'

/**
 * One chunk of an answer, or a whole one. Every member is as Gemini sends it and none is certain to be there.
 *
 * It is what a parsed body is taken for; whoever reads a member checks its type where a wrong one would do harm.
 */
export interface WireAnswer {
  readonly candidates?: readonly WireCandidate[]
  readonly promptFeedback?: JsonObject
  readonly usageMetadata?: JsonObject
  readonly modelVersion?: string
  readonly responseId?: string
  readonly error?: JsonValue
  readonly [key: string]: unknown
}

/** One of the answers that were asked for; only the first is read. */
export interface WireCandidate {
  readonly content?: { readonly parts?: readonly WirePart[] }
  readonly finishReason?: string
  readonly index?: number
  readonly [key: string]: unknown
}

/** A piece of an answer: text, a thought, a call, an image, or something that only Gemini knows. */
export interface WirePart {
  readonly text?: string
  readonly thought?: boolean
  readonly thoughtSignature?: string
  readonly functionCall?: WireFunctionCall
  readonly inlineData?: { readonly mimeType?: string; readonly data?: string }
  readonly [key: string]: unknown
}

/** A call, or a piece of one when its arguments are streamed. */
export interface WireFunctionCall {
  readonly id?: string
  readonly name?: string
  readonly args?: JsonValue
  readonly partialArgs?: readonly WirePartialArg[]
  readonly willContinue?: boolean
}

/** A value inside the arguments of a call that is being streamed. */
export interface WirePartialArg {
  readonly jsonPath?: string
  readonly stringValue?: string
  readonly numberValue?: number
  readonly boolValue?: boolean
  readonly nullValue?: JsonValue
  readonly willContinue?: boolean
}

/** Whether a value that came from JSON is an object: no list, no `null`. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Whether a value that came from JSON is a list. */
export function isJsonList(value: unknown): value is readonly JsonValue[] {
  return Array.isArray(value)
}
