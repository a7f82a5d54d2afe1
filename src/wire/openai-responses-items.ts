import { assertNever } from '../types/guards.ts'
import type { JsonObject, JsonValue } from '../types/json.ts'
import { asString, isJsonObject } from './json-object.ts'
import type { PlanBlock } from './plan.ts'

/** The id of the output item of a block. That of a reasoning item may be in its opaque data. */
export function itemId(block: PlanBlock, index: number, id: string): string {
  const own =
    block.type === 'reasoning' && isJsonObject(block.opaque) ? block.opaque['id'] : undefined
  if (typeof own === 'string') return own
  const prefix = { text: 'msg', reasoning: 'rs', tool_call: 'fc', image: 'ig' }[block.type]
  return `${prefix}_${id}_${index}`
}

/** A text part of a message item. */
export function textPart(text: string): JsonObject {
  return { type: 'output_text', annotations: [], logprobs: [], text }
}

/** A summary part of a reasoning item. */
export function summaryPart(text: string): JsonObject {
  return { type: 'summary_text', text }
}

/** The output item of a block, as it is when it is added and empty, or when it is done. */
export function outputItem(
  block: PlanBlock,
  id: string,
  status: 'in_progress' | 'completed' | 'incomplete',
): JsonObject {
  const started = status === 'in_progress'
  switch (block.type) {
    case 'text':
      return {
        id,
        type: 'message',
        status,
        content: started ? [] : [textPart(block.text)],
        role: 'assistant',
      }
    case 'reasoning':
      return reasoningItem(block.text, started ? undefined : block.opaque, id, started)
    case 'tool_call':
      return {
        id,
        type: 'function_call',
        status,
        arguments: started ? '' : block.text,
        call_id: block.id,
        name: block.name,
      }
    case 'image':
      return {
        id,
        type: 'image_generation_call',
        status,
        result: started || block.image.type !== 'base64' ? null : block.image.base64,
      }
    default:
      return assertNever(block)
  }
}

function reasoningItem(
  text: string,
  opaque: JsonValue | undefined,
  id: string,
  started: boolean,
): JsonObject {
  const summary = started || text === '' ? [] : [summaryPart(text)]
  return { id, type: 'reasoning', summary, ...encrypted(opaque) }
}

/** Opaque data in the form of this provider, `{id, encrypted_content}`; a string is the content, anything else is JSON in it. */
function encrypted(opaque: JsonValue | undefined): JsonObject {
  if (opaque === undefined) return {}
  if (!isJsonObject(opaque) || typeof opaque['id'] !== 'string')
    return { encrypted_content: asString(opaque) }
  const { encrypted_content } = opaque
  return encrypted_content === undefined ? {} : { encrypted_content }
}
