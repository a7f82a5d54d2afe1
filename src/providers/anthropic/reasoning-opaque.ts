import { isObject } from './is-object.ts'
import type { JsonObject } from '../../types/json.ts'
import type { ReasoningPart } from '../../types/message.ts'

/**
 * What a reasoning part keeps for the echo: the signature of a thinking block, the data of a redacted one, or a whole block
 * of a tool that ran on the provider's side.
 *
 * `toolCalls` counts the calls that came before the block; it is there only when some did, so that the order can be restored.
 */
export type ReasoningOpaque = (
  | { readonly signature: string }
  | { readonly redacted: string }
  | { readonly block: JsonObject }
) & { readonly toolCalls?: number }

/** A block to echo, and how many of the message's tool calls stand before it. */
export interface EchoedBlock {
  readonly block: JsonObject
  readonly toolCalls: number
}

/**
 * The block that a reasoning part came from.
 *
 * `undefined` for a part of another provider, and for thinking that was cut before its signature: both would be refused.
 */
export function echoedBlock(part: ReasoningPart, provider: string): EchoedBlock | undefined {
  const { opaque } = part
  if (part.provider !== provider || !isObject(opaque)) return undefined
  const { signature, redacted, block, toolCalls } = opaque
  const before = typeof toolCalls === 'number' ? toolCalls : 0
  if (typeof signature === 'string') {
    return { block: { type: 'thinking', thinking: part.text, signature }, toolCalls: before }
  }
  if (typeof redacted === 'string') {
    return { block: { type: 'redacted_thinking', data: redacted }, toolCalls: before }
  }
  return isObject(block) ? { block, toolCalls: before } : undefined
}
