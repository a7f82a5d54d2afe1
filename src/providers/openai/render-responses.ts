import {
  argumentsJson,
  imageAddress,
  partsOf,
  renderContent,
  sharedParameters,
  toolIds,
  type ContentWords,
  type RenderedRequest,
  type RenderOptions,
  type ToolIds,
} from './render-options.ts'
import { asCount, asObject, asText } from './wire.ts'
import { assertNever, defined } from '../../types/guards.ts'
import type { JsonObject, JsonValue } from '../../types/json.ts'
import {
  messageText,
  type ImagePart,
  type Message,
  type Part,
  type ReasoningPart,
  type ToolCall,
} from '../../types/message.ts'
import type { ModelRequest, ToolChoice } from '../../types/request.ts'

/**
 * A request as the body of `/responses`.
 *
 * Nothing is stored at the provider, so reasoning is asked for in its encrypted form, to be sent back with the next call.
 */
export function renderResponses(request: ModelRequest, options: RenderOptions): RenderedRequest {
  const { temperature, effort, cache, tools, format, dropped } = sharedParameters(request, options)
  const { toolChoice, maxTokens } = request
  const { family, stream } = options
  const summary = request.reasoning?.summary === true && !dropped.includes('reasoning')
  const body = defined<JsonObject>({
    model: request.model,
    input: renderInput(request.messages, options),
    temperature,
    max_output_tokens: maxTokens,
    tools: tools.length === 0 ? undefined : tools.map(renderTool),
    tool_choice:
      tools.length === 0 || toolChoice === undefined ? undefined : renderChoice(toolChoice),
    text: format === undefined ? undefined : { format },
    reasoning:
      effort === undefined && !summary
        ? undefined
        : defined<JsonObject>({ effort, summary: summary ? 'auto' : undefined }),
    store: false,
    include: family.reasons ? ['reasoning.encrypted_content'] : undefined,
    ...cache,
    ...(stream ? { stream } : {}),
  })
  return { path: '/responses', body, dropped }
}

/** `strict` is said in either case, for here it is on unless told. */
function renderTool(tool: JsonObject): JsonObject {
  return { type: 'function', strict: false, ...tool }
}

function renderChoice(choice: ToolChoice): JsonValue {
  return choice === 'auto' || choice === 'none' || choice === 'required'
    ? choice
    : { type: 'function', name: choice }
}

/** The messages of a request as input items. One message may be several items, or none. */
function renderInput(messages: readonly Message[], options: RenderOptions): readonly JsonObject[] {
  const ids = toolIds()
  return messages.flatMap((message) => renderMessage(message, options, ids))
}

function renderMessage(
  message: Message,
  options: RenderOptions,
  ids: ToolIds,
): readonly JsonObject[] {
  const { role } = message
  switch (role) {
    case 'system':
      return [
        { role: options.family.reasons ? 'developer' : 'system', content: messageText(message) },
      ]
    case 'user':
      return [{ role, content: renderContent(message, contentWords(options)) }]
    case 'assistant':
      return renderAssistant(message, options, ids)
    case 'tool':
      return [
        {
          type: 'function_call_output',
          call_id: ids.result(message.toolCallId),
          output: renderContent(message, contentWords(options)),
        },
      ]
    default:
      return assertNever(role)
  }
}

function contentWords({ provider }: RenderOptions): ContentWords {
  return {
    text: (text) => ({ type: 'input_text', text }),
    image: ({ image, detail }) => ({
      type: 'input_image',
      image_url: imageAddress(image, provider),
      detail: detail ?? 'auto',
    }),
  }
}

/** The items in their order: what a reasoning item says of the calls before it puts them there again. */
function renderAssistant(
  message: Message,
  options: RenderOptions,
  ids: ToolIds,
): readonly JsonObject[] {
  const calls = (message.toolCalls ?? []).map((call) => renderCall(call, ids))
  const items: JsonObject[] = []
  let rendered = 0
  for (const part of partsOf(message)) {
    const before = part.type === 'reasoning' ? asObject(part.opaque)?.['calls_before'] : undefined
    const due = Math.max(rendered, asCount(before) ?? 0)
    items.push(...calls.slice(rendered, due))
    rendered = due
    const item = renderPart(part, options)
    if (item !== undefined) items.push(item)
  }
  return [...items, ...calls.slice(rendered)]
}

function renderPart(part: Part, options: RenderOptions): JsonObject | undefined {
  switch (part.type) {
    case 'text':
      return part.text === '' ? undefined : said(part.text)
    case 'image':
      return renderOwnImage(part)
    case 'reasoning':
      return renderReasoning(part, options)
    default:
      return assertNever(part)
  }
}

/** What the model said. Not every server sees by the role alone that it is a message. */
function said(text: string): JsonObject {
  return { type: 'message', role: 'assistant', content: text }
}

/** An image that the model made goes back as the item it was; any other has no place in an answer. */
function renderOwnImage({ image }: ImagePart): JsonObject {
  const id = asText(image.metadata?.['id'])
  if (image.type !== 'base64' || id === undefined) return said('[image]')
  return { type: 'image_generation_call', id, status: 'completed', result: image.base64 }
}

/**
 * Reasoning goes back to where it came from, and only if it can be read there: encrypted, or stored under its id.
 *
 * A model that is known not to reason takes none.
 */
function renderReasoning(
  part: ReasoningPart,
  { provider, family, stored }: RenderOptions,
): JsonObject | undefined {
  const opaque = asObject(part.opaque)
  const id = asText(opaque?.['id'])
  const encrypted = asText(opaque?.['encrypted_content'])
  if (part.provider !== provider || id === undefined) return undefined
  const refused = !family.reasons && family.efforts !== undefined
  if (refused || (encrypted === undefined && !stored)) return undefined
  return defined<JsonObject>({
    type: 'reasoning',
    id,
    summary: part.text === '' ? [] : [{ type: 'summary_text', text: part.text }],
    encrypted_content: encrypted,
  })
}

function renderCall(call: ToolCall, ids: ToolIds): JsonObject {
  return {
    type: 'function_call',
    call_id: ids.call(call.id),
    name: call.name,
    arguments: argumentsJson(call),
  }
}
