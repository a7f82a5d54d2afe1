import type { NewId } from '../../core/ids.ts'
import { isJsonObject } from './wire.ts'
import type { JsonObject, JsonValue } from '../../types/json.ts'
import type { Message, ReasoningPart } from '../../types/message.ts'

/**
 * What a reasoning part stands for when it goes back to Gemini. Its text and its `opaque` say it:
 *
 * - a thought, with the signature (a string) that came with it, if one did;
 * - the signature of the part before it (`{thoughtSignature, on: 'previous'}`): signatures also come on text and on
 *   images, and go back on the part that they came with;
 * - a part that has no form of ours (`{part}`): code that Gemini ran, or a signature on an empty text. It goes back as it is.
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

/** What the ids of calls are made from. */
interface CallIdSource {
  /** The messages that the answer follows: their calls' ids are taken. */
  readonly history: readonly Message[]
  /** Names the answer: Gemini's id of it, else ours of the run. */
  readonly answerId: () => string
  readonly newId: NewId | undefined
}

/** The id of a call, and what Gemini sent for it where that is something else. */
export interface CallId {
  readonly id: string
  readonly sentId?: string | null
}

/**
 * Gives every call an id that no other call of the thread has.
 *
 * Gemini's own id is used when it sent one and it is free. Otherwise one is made of the answer's id and the position
 * of the call, so that the same answer always gets the same ids; `newId` makes it where it is given.
 */
export function callIds(source: CallIdSource): (sent: unknown) => CallId {
  const taken = new Set<string>()
  let position = 0
  let looked = false
  return (sent) => {
    if (!looked) {
      looked = true
      for (const { toolCalls = [] } of source.history) for (const { id } of toolCalls) taken.add(id)
    }
    const given = typeof sent === 'string' && sent !== '' ? sent : undefined
    let id = given
    while (id === undefined || taken.has(id)) {
      position++
      // An id that is made twice would never come free.
      id =
        source.newId === undefined || position > 64
          ? madeId(source, position)
          : source.newId('call')
    }
    taken.add(id)
    return id === given ? { id } : { id, sentId: given ?? null }
  }
}

/** Short, and of letters that every provider takes in the id of a call. */
function madeId({ answerId }: CallIdSource, position: number): string {
  const base = answerId()
    .replaceAll(/[^A-Za-z0-9_-]/g, '_')
    .slice(0, 32)
  return `call_${base}_${position}`
}
