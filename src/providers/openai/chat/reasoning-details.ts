import { asObject } from '../wire-value.ts'
import type { JsonObject, JsonValue } from '../../../types/json.ts'

/** The members of a detail that are streamed in pieces. */
const grows: ReadonlySet<string> = new Set(['text', 'summary', 'data'])

/**
 * Puts the `reasoning_details` of OpenRouter together, so that the streamed ones equal the whole ones.
 *
 * Pieces of one detail have the same type and index and follow each other.
 */
export function mergeDetails(
  known: readonly JsonObject[],
  pieces: readonly unknown[],
): readonly JsonObject[] {
  const merged = [...known]
  for (const value of pieces) {
    const piece = asObject(value)
    if (piece === undefined) continue
    const last = merged.at(-1)
    const continues =
      last !== undefined &&
      piece['index'] !== undefined &&
      last['type'] === piece['type'] &&
      last['index'] === piece['index']
    if (continues) merged[merged.length - 1] = grow(last, piece)
    else merged.push(piece)
  }
  return merged
}

function grow(known: JsonObject, piece: JsonObject): JsonObject {
  const result: Record<string, JsonValue> = { ...known }
  for (const [name, value] of Object.entries(piece)) {
    const before = known[name]
    if (typeof before === 'string' && typeof value === 'string' && grows.has(name)) {
      result[name] = before + value
    } else if (value !== null) {
      result[name] = value
    }
  }
  return result
}

/** What a detail says in plain words. */
export function detailText(detail: JsonObject): string {
  const text = detail['text'] ?? detail['summary']
  return typeof text === 'string' ? text : ''
}
