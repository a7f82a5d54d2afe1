import { isObject } from './is-object.ts'
import type { JsonObject, JsonValue } from '../../types/json.ts'

/**
 * Merges `providerOptions` into a body, as the last word.
 *
 * A list of `tools` is added to the request's; an object is merged with the one that is there, unless its `type` is another;
 * anything else takes the place of what was there.
 */
export function mergeOptions(body: JsonObject, options: JsonObject): JsonObject {
  const merged: Record<string, JsonValue> = { ...body }
  for (const [key, value] of Object.entries(options))
    merged[key] = mergeMember(key, body[key], value)
  return merged
}

function mergeMember(key: string, ours: JsonValue | undefined, theirs: JsonValue): JsonValue {
  if (key === 'tools' && Array.isArray(ours) && Array.isArray(theirs)) {
    return [...(ours as readonly JsonValue[]), ...(theirs as readonly JsonValue[])] // isArray forgets the items' type.
  }
  if (key === 'tool_choice' && isObject(theirs)) return { type: 'auto', ...sameKind(ours, theirs) }
  return isObject(theirs) ? sameKind(ours, theirs) : theirs
}

function sameKind(ours: JsonValue | undefined, theirs: JsonObject): JsonObject {
  const differ = isObject(ours) && 'type' in theirs && ours['type'] !== theirs['type']
  return isObject(ours) && !differ ? { ...ours, ...theirs } : theirs
}
