import { isObject } from '../../core/types/guards.ts'
import type { JsonObject, JsonValue } from '../../core/types/json.ts'
import type { ReasoningPart } from '../../core/types/message.ts'

/**
 * What a reasoning part becomes when it is sent back to Gemini. Its `opaque` tells which:
 *
 * - `thought`: a thought, with the signature (a string) that came with it, if one did;
 * - `signature`: the signature of the part before it (`{thoughtSignature, on: 'previous'}`). Signatures also come on text
 *   and on images, and are sent back on the part that they came with;
 * - `part`: a part that this library has no type for (`{part}`): an image inside a thought, a signature on an empty text,
 *   and in threads that older versions saved code that Gemini ran. It is sent back unchanged.
 */
type Echo =
  | { readonly type: 'thought'; readonly text: string; readonly signature?: string }
  | { readonly type: 'signature'; readonly signature: string }
  | { readonly type: 'part'; readonly part: JsonObject }

/** The `opaque` that keeps the signature of the part before it. */
export function signatureOfPrevious(thoughtSignature: string): JsonObject {
  return { thoughtSignature, on: 'previous' }
}

/** The `opaque` that keeps a whole part. */
export function wholePart(part: JsonObject): JsonObject {
  return { part }
}

/** Reads a reasoning part of this provider. An `opaque` of another form is ignored. */
export function echoOf({ text, opaque }: ReasoningPart): Echo {
  if (typeof opaque === 'string') return { type: 'thought', text, signature: opaque }
  if (isObject(opaque)) {
    const { thoughtSignature, on, part } = opaque
    if (isObject(part)) return { type: 'part', part }
    if (typeof thoughtSignature === 'string' && on === 'previous') {
      return { type: 'signature', signature: thoughtSignature }
    }
  }
  return { type: 'thought', text }
}

/** What is sent back with a call. */
export interface CallEcho {
  readonly thoughtSignature?: string
  /** The id that Gemini sent, where the call has another one; `null` when it sent none. */
  readonly sentId?: string | null
}

/** The `opaque` of a call; `undefined` when there is nothing to send back. */
export function callOpaque(echo: CallEcho): JsonObject | undefined {
  return Object.keys(echo).length === 0 ? undefined : { ...echo }
}

/** Reads the `opaque` of a call. That of another provider has none of these members and is ignored. */
export function callEchoOf(opaque: JsonValue | undefined): CallEcho {
  if (!isObject(opaque)) return {}
  const { thoughtSignature, sentId } = opaque
  return {
    ...(typeof thoughtSignature === 'string' ? { thoughtSignature } : {}),
    ...(typeof sentId === 'string' || sentId === null ? { sentId } : {}),
  }
}
