import { isJsonObject } from './json-kind.ts'
import type { JsonObject, JsonValue } from '../../types/json.ts'
import type { ReasoningPart } from '../../types/message.ts'

/**
 * What a reasoning part stands for when it goes back to Gemini. Its text and its `opaque` say it:
 *
 * - a thought, with the signature (a string) that came with it, if one did;
 * - the signature of the part before it (`{thoughtSignature, on: 'previous'}`): signatures also come on text and on
 *   images, and go back on the part that they came with;
 * - a part that has no form of ours (`{part}`): code that Gemini ran, or a signature on an empty text. It goes back as it is.
 */
export type Echo =
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

/** Reads a reasoning part of ours. What can not be read is a thought without a signature. */
export function echoOf({ text, opaque }: ReasoningPart): Echo {
  if (typeof opaque === 'string') return { type: 'thought', text, signature: opaque }
  if (isJsonObject(opaque)) {
    const { thoughtSignature, on, part } = opaque
    if (isJsonObject(part)) return { type: 'part', part }
    if (typeof thoughtSignature === 'string' && on === 'previous') {
      return { type: 'signature', signature: thoughtSignature }
    }
  }
  return { type: 'thought', text }
}

/** What a call has to be echoed with. */
export interface CallEcho {
  readonly thoughtSignature?: string
  /** The id as Gemini sent it where ours is another; `null` when it sent none. */
  readonly sentId?: string | null
}

/** The `opaque` of a call; `undefined` when there is nothing to echo. */
export function callOpaque(echo: CallEcho): JsonObject | undefined {
  return Object.keys(echo).length === 0 ? undefined : { ...echo }
}

/** Reads the `opaque` of a call. That of another provider has none of these members and is passed over. */
export function callEchoOf(opaque: JsonValue | undefined): CallEcho {
  if (!isJsonObject(opaque)) return {}
  const { thoughtSignature, sentId } = opaque
  return {
    ...(typeof thoughtSignature === 'string' ? { thoughtSignature } : {}),
    ...(typeof sentId === 'string' || sentId === null ? { sentId } : {}),
  }
}
