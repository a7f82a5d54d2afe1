import { isObject } from './is-object.ts'
import type { JsonObject } from '../../types/json.ts'

/**
 * The members of a tool's call that the API wants back: who called it, when it was not the model itself, and its toolset.
 *
 * They are picked from a block of the wire, or from what a call keeps; anything else there belongs to someone else.
 */
export function callFields(from: JsonObject): JsonObject {
  const { caller, toolset_name } = from
  return {
    ...(isObject(caller) && caller['type'] !== 'direct' ? { caller } : {}),
    ...(typeof toolset_name === 'string' ? { toolset_name } : {}),
  }
}
