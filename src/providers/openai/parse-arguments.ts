import { asObject } from './wire-value.ts'
import type { JsonObject } from '../../types/json.ts'
import type { ToolCall } from '../../types/message.ts'

/**
 * The arguments of a tool call as the model wrote them, decoded.
 *
 * What is no JSON object gives `{}` beside the raw text. Nothing at all is a call without arguments, and has no raw text.
 */
export function parseArguments(raw: string): Pick<ToolCall, 'arguments' | 'rawArguments'> {
  if (raw.trim() === '') return { arguments: {} }
  return { arguments: parseObject(raw) ?? {}, rawArguments: raw }
}

function parseObject(raw: string): JsonObject | undefined {
  try {
    return asObject(JSON.parse(raw))
  } catch {
    return undefined
  }
}
