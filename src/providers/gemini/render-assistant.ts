import { callEchoOf, echoOf } from './opaque.ts'
import { renderImage } from './render-image.ts'
import type { RenderTarget } from './render-target.ts'
import { assertNever } from '../../types/guards.ts'
import type { JsonObject } from '../../types/json.ts'
import type { Message, ReasoningPart, ToolCall } from '../../types/message.ts'

/**
 * What the model said, as it said it: text, thoughts, pictures, then its calls, each with the signature that it came with.
 *
 * Reasoning of another provider is left out, and nothing else.
 */
export function renderAssistant(
  message: Message,
  path: string,
  target: RenderTarget,
): JsonObject[] {
  const { content, toolCalls = [] } = message
  const parts: JsonObject[] = []
  if (typeof content === 'string') {
    if (content !== '') parts.push({ text: content })
  } else {
    for (const [index, part] of content.entries()) {
      if (part.type === 'image') parts.push(renderImage(part.image, `${path}.content[${index}]`))
      else if (part.type === 'reasoning') {
        if (part.provider === target.provider) addReasoning(parts, part)
      } else if (part.text !== '') parts.push({ text: part.text })
    }
  }
  return [...parts, ...renderCalls(toolCalls, target)]
}

function addReasoning(parts: JsonObject[], reasoning: ReasoningPart): void {
  const echo = echoOf(reasoning)
  switch (echo.type) {
    case 'thought': {
      const { text, signature } = echo
      if (text === '' && signature === undefined) return
      const signed = signature === undefined ? {} : { thoughtSignature: signature }
      parts.push({ text, thought: true, ...signed })
      return
    }
    case 'signature': {
      const previous = parts.at(-1)
      const gone = previous === undefined || 'thought' in previous || 'thoughtSignature' in previous
      // A signature whose part is gone goes back on an empty text.
      if (gone) parts.push({ text: '', thoughtSignature: echo.signature })
      else parts.splice(-1, 1, { ...previous, thoughtSignature: echo.signature })
      return
    }
    case 'part':
      parts.push(echo.part)
      return
    default:
      assertNever(echo)
  }
}

/**
 * What Google documents for calls that its model did not make: from Gemini 3 on, a turn whose first call has
 * no signature is refused, and a thread may come from another provider.
 */
const signatureOfForeignCalls = 'skip_thought_signature_validator'

function renderCalls(calls: readonly ToolCall[], { family }: RenderTarget): JsonObject[] {
  const signed = calls.some(({ opaque }) => callEchoOf(opaque).thoughtSignature !== undefined)
  const needsSignature = family.gemini && family.version >= 300 && !signed
  return calls.map((call, index) => {
    const own = callEchoOf(call.opaque).thoughtSignature
    const thoughtSignature = needsSignature && index === 0 ? signatureOfForeignCalls : own
    return {
      functionCall: { ...wireId(call), name: call.name, args: call.arguments },
      ...(thoughtSignature === undefined ? {} : { thoughtSignature }),
    }
  })
}

/** The id of a call as Gemini knows it: the one that it sent, none if it sent none, else ours. */
export function wireId({ id, opaque }: ToolCall): { readonly id?: string } {
  const { sentId } = callEchoOf(opaque)
  if (sentId === null) return {}
  return { id: sentId ?? id }
}
