import { messageOf, toolFailure } from '../chat/failed-calls.ts'
import type { ToolError } from '../errors/errors.ts'
import type { Issue } from '../types/error-data.ts'
import type { ToolCall } from '../types/message.ts'

/** A handler, or an executor, threw. */
export function raised(call: ToolCall, thrown: unknown): ToolError {
  const text = messageOf(thrown)
  const message = text === '' ? `tool ${call.name} failed` : `tool ${call.name} failed: ${text}`
  return toolFailure('handler_raised', call, message, { cause: thrown })
}

/** The arguments are invalid. The message names each place and its problem, as far as they fit. */
export function invalidArguments(call: ToolCall, issues: readonly Issue[]): ToolError {
  let message = 'invalid arguments'
  let told = 0
  for (const { path, problem } of issues) {
    const text = path === '' ? problem : `${path}: ${problem}`
    if (told > 0 && message.length + text.length > 260) break
    message += `${told === 0 ? ':' : ';'} ${text}`
    told++
  }
  if (told < issues.length) message += `; and ${issues.length - told} more`
  return toolFailure('invalid_arguments', call, message, { metadata: { issues } })
}
