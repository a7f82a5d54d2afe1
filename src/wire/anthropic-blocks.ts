import { assertNever } from '../types/guards.ts'
import type { JsonObject, JsonValue } from '../types/json.ts'
import { asString, isJsonObject, parseJsonObject } from './json-object.ts'
import type { PlanBlock } from './plan.ts'

/** A content block with all of its content. */
export function contentBlock(block: PlanBlock): JsonObject {
  switch (block.type) {
    case 'text':
      return { type: 'text', text: block.text }
    case 'reasoning':
      return reasoningBlock(block.text, block.opaque)
    case 'tool_call':
      return {
        type: 'tool_use',
        id: block.id,
        name: block.name,
        // A body holds decoded arguments; text that is not a JSON object can not stand there.
        input: parseJsonObject(block.text),
      }
    case 'image':
      // Claude does not draw.
      return { type: 'text', text: '' }
    default:
      return assertNever(block)
  }
}

/** A content block as it is when it starts. What comes in deltas is empty; other blocks come whole. */
export function startedBlock(block: PlanBlock): JsonObject {
  const whole = contentBlock(block)
  return { ...whole, ...emptyMembers[typeOf(whole)] }
}

const emptyMembers: Readonly<Record<string, JsonObject>> = {
  text: { text: '' },
  thinking: { thinking: '', signature: '' },
  tool_use: { input: {} },
}

/** The delta that adds text to a block; `undefined` for a block that takes none. */
export function textDelta(block: PlanBlock, text: string): JsonObject | undefined {
  return deltas[typeOf(contentBlock(block))]?.(text)
}

const deltas: Readonly<Record<string, (text: string) => JsonObject>> = {
  text: (text) => ({ type: 'text_delta', text }),
  thinking: (thinking) => ({ type: 'thinking_delta', thinking }),
  tool_use: (partial_json) => ({ type: 'input_json_delta', partial_json }),
}

function typeOf({ type }: JsonObject): string {
  return typeof type === 'string' ? type : ''
}

/** The signature of a thinking block, which comes after its last delta. */
export function signatureOf(block: PlanBlock): string | undefined {
  const { type, signature } = contentBlock(block)
  return type === 'thinking' && typeof signature === 'string' && signature !== ''
    ? signature
    : undefined
}

/**
 * Opaque data in the form of this provider becomes what it stands for: `{signature}`, `{redacted}` without text, or
 * a whole `{block}` without text. A string is a signature, and so is any other value, as JSON.
 */
function reasoningBlock(text: string, opaque: JsonValue | undefined): JsonObject {
  if (isJsonObject(opaque)) {
    const { signature, redacted, block } = opaque
    if (typeof signature === 'string') return { type: 'thinking', thinking: text, signature }
    if (text === '' && typeof redacted === 'string')
      return { type: 'redacted_thinking', data: redacted }
    if (text === '' && isJsonObject(block)) return block
  }
  const signature = opaque === undefined ? '' : asString(opaque)
  return { type: 'thinking', thinking: text, signature }
}
