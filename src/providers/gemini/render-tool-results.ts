import { ValidationError } from '../../errors/errors.ts'
import { wireId } from './render-assistant.ts'
import { renderImage } from './render-image.ts'
import type { RenderTarget } from './render-target.ts'
import type { JsonObject } from '../../types/json.ts'
import { messageText, type Message, type ToolCall } from '../../types/message.ts'

/** A tool message and its place. */
export interface ToolResult {
  readonly message: Message
  readonly path: string
}

/**
 * The results of a turn's calls, in the order of the calls, because Gemini may have sent no ids to match them by.
 *
 * Pictures are inside the response from Gemini 3 on, and beside it before. A result that answers none of the calls is a
 * `ValidationError`.
 */
export function renderToolResults(
  results: readonly ToolResult[],
  calls: readonly ToolCall[],
  target: RenderTarget,
): JsonObject[] {
  const answers = results.map((result) => {
    const order = calls.findIndex(({ id }) => id === result.message.toolCallId)
    return { result, order, call: calls[order] }
  })
  answers.sort((left, right) => left.order - right.order)
  return answers.flatMap(({ result, call }) => {
    if (call === undefined) throw unasked(result)
    return renderResult(result, call, target)
  })
}

function renderResult(
  { message, path }: ToolResult,
  call: ToolCall,
  { family }: RenderTarget,
): JsonObject[] {
  const inside: JsonObject[] = []
  const beside: JsonObject[] = []
  const parts = typeof message.content === 'string' ? [] : message.content
  for (const [index, part] of parts.entries()) {
    if (part.type !== 'image') continue
    const image = renderImage(part.image, `${path}.content[${index}]`)
    if (family.version >= 300 && part.image.type === 'base64') inside.push(image)
    else beside.push(image)
  }
  const functionResponse = {
    ...wireId(call),
    name: call.name,
    response: { output: messageText(message) },
    ...(inside.length === 0 ? {} : { parts: inside }),
  }
  return [{ functionResponse }, ...beside]
}

function unasked({ message, path }: ToolResult): ValidationError {
  const problem = `answers ${JSON.stringify(message.toolCallId)}, which the turn before did not call`
  return new ValidationError('invalid_thread', [{ path: `${path}.toolCallId`, problem }])
}
