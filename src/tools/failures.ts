import { ToolError, type ToolErrorReason } from '../errors/errors.ts'
import { nearest } from '../schema/checks.ts'
import type { Issue } from '../types/error-data.ts'
import type { ToolCall } from '../types/message.ts'

/** Details that only some failures have. */
interface FailureDetails {
  readonly cause?: unknown
  readonly metadata?: Readonly<Record<string, unknown>>
}

/** The error of one call, with the names of its tool and of the call. */
export function toolFailure(
  reason: ToolErrorReason,
  call: ToolCall,
  message: string,
  details: FailureDetails = {},
): ToolError {
  return new ToolError(reason, message, { toolName: call.name, toolCallId: call.id, ...details })
}

/** There is no tool of that name. The message suggests the nearest one. */
export function noSuchTool(call: ToolCall, names: Iterable<string>): ToolError {
  const near = nearest(call.name, [...names])
  const advice = near === undefined ? '' : `; did you mean ${near}?`
  return toolFailure('not_found', call, `there is no tool ${call.name}${advice}`)
}

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

/** The message of a thrown value; empty if it has none, or one that cannot be read. */
export function messageOf(thrown: unknown): string {
  try {
    const text: unknown =
      typeof thrown === 'string' ? thrown : Reflect.get(Object(thrown), 'message')
    return typeof text === 'string' ? text : ''
  } catch {
    return ''
  }
}

/** A value cannot be encoded, or the encoder failed. */
export function unencodable(call: ToolCall, thrown: unknown): ToolError {
  const message = `the result of ${call.name} cannot be encoded: ${messageOf(thrown)}`
  return toolFailure('encoding_failed', call, message, { cause: thrown })
}
