import type { Tool } from '../contracts/tool.ts'
import type { ToolError } from '../errors/errors.ts'
import { redact } from '../errors/redact.ts'
import { messageOf } from './tool-failure.ts'
import { helpFor } from './tool-help.ts'
import { assertNever } from '../types/guards.ts'

/**
 * What the model reads of a failure: `{"error": "…"}`, one redacted sentence of at most 300 characters.
 *
 * No stack, no class name, no cause. A compact tool whose arguments were refused adds its `help`, because the model
 * has not seen the schema.
 */
export function errorContent(error: ToolError, tool?: Tool): string {
  const sentence = shorten(sentenceFor(error))
  return tool?.compact === true && error.reason === 'invalid_arguments'
    ? JSON.stringify({ error: sentence, help: helpFor(tool) })
    : JSON.stringify({ error: sentence })
}

function sentenceFor(error: ToolError): string {
  switch (error.reason) {
    case 'handler_raised': {
      const [line = ''] = messageOf(error.cause)
        .trim()
        .split(/[\r\n]/, 1)
      return line === '' ? 'the tool failed' : `the tool failed: ${line}`
    }
    case 'handler_failed':
    case 'timeout':
    case 'invalid_arguments':
    case 'not_found':
      return error.message
    case 'invalid_return':
      return 'the tool gave an answer that can not be used'
    case 'encoding_failed':
      return 'the result of the tool could not be encoded'
    default:
      return assertNever(error.reason)
  }
}

const longest = 300

/** One line, without keys and control characters, cut between characters. */
function shorten(text: string): string {
  const line = redact(text)
    .replaceAll(/[\s\p{Cc}]+/gu, ' ')
    .trim()
  if (line.length <= longest) return line
  // A surrogate pair is one character: half of it must not stay.
  return `${line.slice(0, longest - 1).replace(/[\uD800-\uDBFF]$/, '')}…`
}
