import { isPlainObject } from '../schema/checks.ts'
import type { ScriptedToolCall } from './script-entry.ts'
import { defined } from '../types/guards.ts'
import type { JsonObject } from '../types/json.ts'
import type { ToolCall } from '../types/message.ts'

/**
 * The call that an entry stands for.
 *
 * Arguments that are not given are read from `rawArguments`, or from what was streamed before. What does not parse to a JSON
 * object gives `{}`, with the text kept in `rawArguments`.
 */
export function scriptedCall(call: ScriptedToolCall, streamed?: string): ToolCall {
  const { id, name, opaque } = call
  const raw = call.rawArguments ?? (call.arguments === undefined ? streamed : undefined)
  return defined<ToolCall>({
    id,
    name,
    arguments: call.arguments ?? parseArguments(raw),
    rawArguments: raw,
    opaque,
  })
}

function parseArguments(raw: string | undefined): JsonObject {
  if (raw === undefined || raw.trim() === '') return {}
  try {
    const value: unknown = JSON.parse(raw)
    // What JSON.parse gives as an object is a JSON object.
    return isPlainObject(value) ? (value as JsonObject) : {}
  } catch {
    return {}
  }
}
