import type { JsonObject, JsonValue } from '../types/json.ts'
import { isJsonObject } from './json-object.ts'
import type { PlanBlock } from './plan.ts'

/**
 * The members of a delta that carry a reasoning block; `undefined` for any other block, and for one that says nothing.
 *
 * OpenAI has none. Compatible servers have `reasoning_content` or `reasoning`, as opaque data `{field}` says, and
 * `reasoning_details`, which opaque data `{reasoning_details}` holds.
 */
export function reasoningMembers(block: PlanBlock | undefined): JsonObject | undefined {
  if (block?.type !== 'reasoning') return undefined
  const { field, reasoning_details }: JsonObject = isJsonObject(block.opaque) ? block.opaque : {}
  const details = Array.isArray(reasoning_details) ? { reasoning_details } : {}
  const plain = field === 'reasoning' || Array.isArray(reasoning_details)
  const text = block.text === '' ? {} : { [plain ? 'reasoning' : 'reasoning_content']: block.text }
  const members = { ...text, ...details }
  return Object.keys(members).length === 0 ? undefined : members
}

/** The same for a whole message: the texts of all blocks joined, and the details of the last that has some. */
export function wholeReasoning(blocks: readonly PlanBlock[]): JsonObject {
  const whole: Record<string, JsonValue> = {}
  for (const block of blocks) {
    for (const [name, value] of Object.entries(reasoningMembers(block) ?? {})) {
      const before = whole[name]
      const text = typeof before === 'string' && typeof value === 'string'
      whole[name] = text ? before + value : value
    }
  }
  return whole
}
