import { AdapterError } from '../../errors/errors.ts'
import { assertNever, defined } from '../../types/guards.ts'
import type { JsonObject, JsonValue } from '../../types/json.ts'
import {
  messageText,
  type Message,
  type ReasoningPart,
  type ToolCall,
} from '../../types/message.ts'
import type { ModelRequest, ToolChoice } from '../../types/request.ts'
import { requestBody } from '../shared/merge-options.ts'
import {
  argumentsJson,
  imageAddress,
  eachPart,
  renderContent,
  sharedParameters,
  toolIds,
  type RenderedRequest,
  type RenderOptions,
  type ToolIds,
} from './render-options.ts'
import { asList, asObject } from './wire.ts'

/** Renders a request as the body of `/chat/completions`, which has no summaries of reasoning. */
export function renderChat(request: ModelRequest, options: RenderOptions): RenderedRequest {
  const { temperature, effort, cache, tools, toolChoice, format, leftOut } = sharedParameters(
    request,
    options,
  )
  const { family, stream } = options
  const body = requestBody<ModelRequest>({
    model: { model: request.model },
    messages: { messages: renderChatMessages(request.messages, options) },
    temperature: { temperature },
    maxTokens: { [family.maxTokensField]: request.maxTokens },
    tools: { tools: tools?.map(renderTool) },
    toolChoice: { tool_choice: toolChoice === undefined ? undefined : renderChoice(toolChoice) },
    responseFormat: { response_format: format === undefined ? undefined : renderFormat(format) },
    reasoning: { reasoning_effort: effort },
    promptCache: cache,
    // Merged over the whole body later.
    providerOptions: {},
    // Never sent.
    metadata: {},
  })
  const noSummary = request.reasoning?.summary === true && !leftOut.includes('reasoning')
  return {
    path: '/chat/completions',
    body: stream ? { ...body, stream, stream_options: { include_usage: true } } : body,
    leftOut: noSummary ? [...leftOut, 'reasoning.summary'] : leftOut,
  }
}

/** Not every compatible server knows `strict`, so it is sent only when it is true. */
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
        content: renderContent(message, {
          text: ({ text }) => ({ type: 'text', text }),
          image: ({ image, detail }) => ({
            type: 'image_url',
            image_url: defined<JsonObject>({ url: imageAddress(image, options.provider), detail }),
          }),
        }),
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

/** Chat Completions does not take back the images that a model made. A message of images alone becomes a placeholder. */
function renderAssistant(message: Message, { provider }: RenderOptions, ids: ToolIds): JsonObject {
  const calls = message.toolCalls ?? []
  const sentBack: Record<string, JsonValue> = {}
  let text = ''
  let placeholder = ''
  eachPart(message, {
    text(part) {
      text += part.text
    },
    image() {
      placeholder = '[image]'
    },
    reasoning(part) {
      if (part.provider === provider) addReasoning(sentBack, part)
    },
  })
  text ||= placeholder
  return defined<JsonObject>({
    role: 'assistant',
    content: text === '' && calls.length > 0 ? null : text,
    name: message.name,
    // Reasoning goes back only with the calls that it led to: there servers require it, elsewhere they ignore or refuse it.
    ...(calls.length === 0
      ? {}
      : { tool_calls: calls.map((call) => renderCall(call, ids)), ...sentBack }),
  })
}

/** Adds reasoning in the field in which it came. */
function addReasoning(sentBack: Record<string, JsonValue>, part: ReasoningPart): void {
  const opaque = asObject(part.opaque)
  const field = opaque?.['field']
  if (field === 'reasoning_content' || field === 'reasoning') {
    const before = sentBack[field]
    sentBack[field] = typeof before === 'string' ? `${before}\n\n${part.text}` : part.text
  }
  const details = asList(opaque?.['reasoning_details'])
  if (details.length > 0) {
    sentBack['reasoning_details'] = [...asList(sentBack['reasoning_details']), ...details]
  }
}

function renderCall(call: ToolCall, ids: ToolIds): JsonObject {
  return defined<JsonObject>({
    id: ids.call(call.id),
    type: 'function',
    function: { name: call.name, arguments: argumentsJson(call) },
    extra_content: asObject(call.opaque)?.['extra_content'],
  })
}

/** Chat Completions takes only text as a tool result. */
function renderToolResult(message: Message, { provider }: RenderOptions, ids: ToolIds): JsonObject {
  const content = eachPart(message, {
    text: ({ text }) => text,
    image() {
      const problem =
        'images in tool results need the Responses API: use openai({ api: "responses" })'
      throw new AdapterError('unsupported_feature', problem, { provider })
    },
    reasoning: () => '',
  })
  return {
    role: 'tool',
    tool_call_id: ids.result(message.toolCallId),
    content: content.join(''),
  }
}
