import { callFields } from './call-fields.ts'
import { isObject } from './is-object.ts'
import { parseArguments } from './parse-arguments.ts'
import { echoedBlock } from './reasoning-opaque.ts'
import { renderText } from './render-blocks.ts'
import { wireName, type ToolIds } from './tool-ids.ts'
import type { JsonObject } from '../../types/json.ts'
import type { Message, Part, ToolCall } from '../../types/message.ts'

/** What is needed to render the assistant's messages. */
export interface AssistantContext {
  readonly provider: string
  readonly ids: ToolIds
  /** Nothing follows the message, so a tool on the provider's side may still be at work. */
  readonly isLast: boolean
}

/**
 * The blocks of an assistant message: thinking and its like where they were, then text, with the calls in their places.
 *
 * Images are left out: the API takes none from the assistant. Empty when there is nothing that can be sent.
 */
export function renderAssistant(message: Message, context: AssistantContext): JsonObject[] {
  const { content, toolCalls = [] } = message
  const parts: readonly Part[] =
    typeof content === 'string' ? [{ type: 'text', text: content }] : content
  const answered = answeredServerTools(parts, context)
  const blocks: JsonObject[] = []
  let placed = 0
  const placeCalls = (until: number): void => {
    for (const call of toolCalls.slice(placed, until)) blocks.push(renderCall(call, context.ids))
    placed = Math.max(placed, until)
  }
  for (const part of parts) {
    if (part.type === 'text') blocks.push(...renderText(part.text))
    if (part.type !== 'reasoning') continue
    const echo = echoedBlock(part, context.provider)
    if (echo === undefined || !isComplete(echo.block, answered, context.isLast)) continue
    placeCalls(echo.toolCalls)
    blocks.push(echo.block)
  }
  placeCalls(toolCalls.length)
  // The API refuses a message that ends in thinking, as one that was cut while it thought does.
  while (isThinking(blocks.at(-1))) blocks.pop()
  return blocks
}

/** Whether a block is a call of a tool on the provider's side. */
export function isServerToolUse(block: JsonObject | undefined): boolean {
  const type = block?.['type']
  return type === 'server_tool_use' || type === 'mcp_tool_use'
}

function isThinking(block: JsonObject | undefined): boolean {
  const type = block?.['type']
  return type === 'thinking' || type === 'redacted_thinking'
}

/** The API refuses a server tool's call without its result, save where it paused over it. */
function isComplete(block: JsonObject, answered: ReadonlySet<unknown>, isLast: boolean): boolean {
  return isLast || !isServerToolUse(block) || answered.has(block['id'])
}

function answeredServerTools(
  parts: readonly Part[],
  { provider }: AssistantContext,
): ReadonlySet<unknown> {
  const answered = new Set<unknown>()
  for (const part of parts) {
    if (part.type === 'reasoning') answered.add(echoedBlock(part, provider)?.block['tool_use_id'])
  }
  return answered
}

function renderCall(call: ToolCall, ids: ToolIds): JsonObject {
  const block = {
    type: 'tool_use',
    id: ids.call(call.id),
    name: wireName(call.name, 'unnamed'),
    input: renderInput(call),
  }
  return isObject(call.opaque) ? { ...block, ...callFields(call.opaque) } : block
}

/** Arguments that are no JSON object can not be echoed as they were; the model is shown them in this wrapping. */
function renderInput({ arguments: input, rawArguments = '' }: ToolCall): JsonObject {
  if (Object.keys(input).length > 0 || parseArguments(rawArguments) !== undefined) return input
  return { INVALID_JSON: rawArguments }
}
