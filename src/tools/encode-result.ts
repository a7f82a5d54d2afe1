import type { ToolResultEncoder } from '../contracts/tool.ts'
import { toJsonValue } from '../errors/to-json-value.ts'
import { plainJson } from './plain-json.ts'
import { disown } from './thenable.ts'
import type { JsonValue } from '../types/json.ts'

/** A handler's value in its two forms: what the model reads, and plain data for events. */
export interface EncodedResult {
  readonly content: string
  readonly json: JsonValue
}

/**
 * The default encoder: strings as they are, everything else as JSON, `undefined` as `null`.
 *
 * A value that JSON would change in silence throws a `TypeError` that names the place.
 */
export const encodeJson: ToolResultEncoder = (value) =>
  typeof value === 'string' ? value : JSON.stringify(plainJson(value))

/**
 * Encodes a value with the given encoder, or as JSON. Throws what the encoder throws, and a `TypeError` when
 * it does not give a string.
 */
export function encodeResult(
  value: unknown,
  encoder: ToolResultEncoder | undefined,
): EncodedResult {
  if (encoder === undefined) {
    const json = plainJson(value)
    return { content: typeof value === 'string' ? value : JSON.stringify(json), json }
  }
  const content: unknown = encoder(value)
  if (typeof content !== 'string') {
    disown(content)
    throw new TypeError(`the encoder gave ${describe(content)} in place of a string`)
  }
  return { content, json: describedJson(value) }
}

function describe(value: unknown): string {
  return value === null ? 'null' : typeof value
}

/** An encoder of one's own may know how to write what JSON does not; events then hold a description of it. */
function describedJson(value: unknown): JsonValue {
  try {
    return plainJson(value)
  } catch {
    return toJsonValue(value)
  }
}
