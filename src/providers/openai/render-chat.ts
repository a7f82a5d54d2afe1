import {
  argumentsJson,
  imageAddress,
  partsOf,
  renderContent,
  sharedParameters,
  textAlone,
  toolIds,
  type ContentWords,
  type RenderedRequest,
  type RenderOptions,
  type ToolIds,
} from './render-options.ts'
import { asList, asObject } from './wire.ts'
import { assertNever, defined } from '../../types/guards.ts'
import type { JsonObject, JsonValue } from '../../types/json.ts'
import { messageText, type Message, type Part, type ToolCall } from '../../types/message.ts'
import type { ModelRequest, ToolChoice } from '../../types/request.ts'

/** A request as the body of `/chat/completions`. A summary of the reasoning is not to be had there. */
export function renderChat(request: ModelRequest, options: RenderOptions): RenderedRequest {
  const { temperature, effort, cache, tools, format, dropped } = sharedParameters(request, options)
  const { toolChoice } = request
  const { family, stream } = options
  const body = defined<JsonObject>({
    model: request.model,
    messages: renderChatMessages(request.messages, options),
    temperature,
    [family.maxTokensField]: request.maxTokens,
    tools: tools.length === 0 ? undefined : tools.map(renderTool),
    tool_choice:
      tools.length === 0 || toolChoice === undefined ? undefined : renderChoice(toolChoice),
    response_format: format === undefined ? undefined : renderFormat(format),
    reasoning_effort: effort,
    ...cache,
    ...(stream ? { stream, stream_options: { include_usage: true } } : {}),
  })
  const unheard = request.reasoning?.summary === true && !dropped.includes('reasoning')
  return {
    path: '/chat/completions',
    body,
    dropped: unheard ? [...dropped, 'reasoning.summary'] : dropped,
  }
}

/** Not every server of this kind knows the word `strict`, so it is only said when it matters. */
function renderTool({ strict, ...tool }: JsonObject): JsonObject {
  return { type: 'function', function: strict === true ? { ...tool, strict } : tool }
}

function renderChoice(choice: ToolChoice): JsonValue {
  return choice === 'auto' || choice === 'none' || choice === 'required'
    ? choice
    : { type: 'function', function: { name: choice } }
}

function renderFormat({ type = '', ...format }: JsonObject): JsonObject {
  return type === 'json_schema' ? { type, json_schema: format } : { type }
}

/** The messages of a request as Chat Completions takes them. */
function renderChatMessages(
  messages: readonly Message[],
  options: RenderOptions,
): readonly JsonObject[] {
  const ids = toolIds()
  return messages.map((message) => renderMessage(message, options, ids))
}

function renderMessage(message: Message, options: RenderOptions, ids: ToolIds): JsonObject {
  const { role, name } = message
  switch (role) {
    case 'system':
      return defined<JsonObject>({
        role: options.family.reasons ? 'developer' : 'system',
        content: messageText(message),
        name,
      })
    case 'user':
      return defined<JsonObject>({
        role,
        content: renderContent(message, contentWords(options)),
        name,
      })
    case 'assistant':
      return renderAssistant(message, options, ids)
    case 'tool':
      return renderToolResult(message, options, ids)
    default:
      return assertNever(role)
  }
}

function contentWords({ provider }: RenderOptions): ContentWords {
  return {
    text: (text) => ({ type: 'text', text }),
    image: ({ image, detail }) => ({
      type: 'image_url',
      image_url: defined<JsonObject>({ url: imageAddress(image, provider), detail }),
    }),
  }
}

/** Images that a model made can not be said to it again here; a word stands in for them. */
function renderAssistant(message: Message, { provider }: RenderOptions, ids: ToolIds): JsonObject {
  const calls = message.toolCalls ?? []
  const parts = partsOf(message)
  const text = messageText(message)
  const onlyImages = text === '' && parts.some((part) => part.type === 'image')
  return defined<JsonObject>({
    role: 'assistant',
    content: onlyImages ? '[image]' : text === '' && calls.length > 0 ? null : text,
    name: message.name,
    tool_calls: calls.length === 0 ? undefined : calls.map((call) => renderCall(call, ids)),
    ...(calls.length === 0 ? {} : echoReasoning(parts, provider)),
  })
}

/**
 * Reasoning goes back in the field in which it came, and only with the calls that it led to: there servers ask for it,
 * elsewhere they ignore or refuse it.
 */
function echoReasoning(parts: readonly Part[], provider: string): JsonObject {
  const echo: Record<string, JsonValue> = {}
  for (const part of parts) {
    if (part.type !== 'reasoning' || part.provider !== provider) continue
    const opaque = asObject(part.opaque)
    const field = opaque?.['field']
    if (field === 'reasoning_content' || field === 'reasoning') {
      const before = echo[field]
      echo[field] = typeof before === 'string' ? `${before}\n\n${part.text}` : part.text
    }
    const details = asList(opaque?.['reasoning_details'])
    if (details.length > 0) {
      echo['reasoning_details'] = [...asList(echo['reasoning_details']), ...details]
    }
  }
  return echo
}

function renderCall(call: ToolCall, ids: ToolIds): JsonObject {
  return defined<JsonObject>({
    id: ids.call(call.id),
    type: 'function',
    function: { name: call.name, arguments: argumentsJson(call) },
    extra_content: asObject(call.opaque)?.['extra_content'],
  })
}

function renderToolResult(message: Message, { provider }: RenderOptions, ids: ToolIds): JsonObject {
  const content = textAlone(message, provider)
  return { role: 'tool', tool_call_id: ids.result(message.toolCallId), content }
}
