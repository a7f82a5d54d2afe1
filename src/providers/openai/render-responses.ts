import { assertNever, defined } from '../../types/guards.ts'
import type { JsonObject, JsonValue } from '../../types/json.ts'
import {
  messageText,
  type ImagePart,
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
  type PartTable,
  type RenderedRequest,
  type RenderOptions,
  type ToolIds,
} from './render-options.ts'
import { asCount, asObject, asText } from './wire.ts'

/**
 * Renders a request as the body of `/responses`.
 *
 * Nothing is stored at the provider, so reasoning is requested in its encrypted form, to be sent back with the next call.
 */
export function renderResponses(request: ModelRequest, options: RenderOptions): RenderedRequest {
  const { temperature, effort, cache, tools, toolChoice, format, leftOut } = sharedParameters(
    request,
    options,
  )
  const { family, stream } = options
  const summary =
    request.reasoning?.summary === true && !leftOut.includes('reasoning') ? 'auto' : undefined
  const reasoning = defined<JsonObject>({ effort, summary })
  const body = requestBody<ModelRequest>({
    model: { model: request.model },
    messages: { input: renderInput(request.messages, options) },
    temperature: { temperature },
    maxTokens: { max_output_tokens: request.maxTokens },
    tools: { tools: tools?.map(renderTool) },
    toolChoice: { tool_choice: toolChoice === undefined ? undefined : renderChoice(toolChoice) },
    responseFormat: { text: format === undefined ? undefined : { format } },
    reasoning: {
      reasoning: Object.keys(reasoning).length === 0 ? undefined : reasoning,
      store: false,
      include: family.reasons ? ['reasoning.encrypted_content'] : undefined,
    },
    promptCache: cache,
    // Merged over the whole body later.
    providerOptions: {},
    // Never sent.
    metadata: {},
  })
  return { path: '/responses', body: stream ? { ...body, stream } : body, leftOut }
}

/** `strict` is always sent, because its default is true here. */
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
      return [{ role, content: renderContent(message, contentTable(options)) }]
    case 'assistant':
      return renderAssistant(message, options, ids)
    case 'tool':
      return [
        {
          type: 'function_call_output',
          call_id: ids.result(message.toolCallId),
          output: renderContent(message, contentTable(options)),
        },
      ]
    default:
      return assertNever(role)
  }
}

function contentTable({ provider }: RenderOptions): Omit<PartTable<JsonObject>, 'reasoning'> {
  return {
    text: ({ text }) => ({ type: 'input_text', text }),
    image: ({ image, detail }) => ({
      type: 'input_image',
      image_url: imageAddress(image, provider),
      detail: detail ?? 'auto',
    }),
  }
}

/** The items in their original order. A reasoning item knows how many calls came before it. */
function renderAssistant(
  message: Message,
  options: RenderOptions,
  ids: ToolIds,
): readonly JsonObject[] {
  const calls = (message.toolCalls ?? []).map((call) => renderCall(call, ids))
  let rendered = 0
  const items = eachPart<readonly JsonObject[]>(message, {
    text: ({ text }) => (text === '' ? [] : [spoken(text)]),
    image: (part) => [renderOwnImage(part)],
    reasoning(part) {
      const before = asCount(asObject(part.opaque)?.['calls_before']) ?? 0
      const due = calls.slice(rendered, before)
      rendered = Math.max(rendered, before)
      return [...due, ...renderReasoning(part, options)]
    },
  })
  return [...items.flat(), ...calls.slice(rendered)]
}

/** Text of the model. Not every server recognises a message by its role alone, so the type is sent too. */
function spoken(text: string): JsonObject {
  return { type: 'message', role: 'assistant', content: text }
}

/** An image that the model made goes back as the item it was. Any other image becomes a placeholder. */
function renderOwnImage({ image }: ImagePart): JsonObject {
  const id = asText(image.metadata?.['id'])
  if (image.type !== 'base64' || id === undefined) return spoken('[image]')
  return { type: 'image_generation_call', id, status: 'completed', result: image.base64 }
}

/**
 * Reasoning goes back to the provider that it came from, and only if it can be read there: encrypted, or stored by its id.
 *
 * It is not sent to a model that is known not to reason.
 */
function renderReasoning(
  part: ReasoningPart,
  { provider, family, stored }: RenderOptions,
): readonly JsonObject[] {
  const opaque = asObject(part.opaque)
  const id = asText(opaque?.['id'])
  const encrypted = asText(opaque?.['encrypted_content'])
  if (part.provider !== provider || id === undefined) return []
  const refused = !family.reasons && family.efforts !== undefined
  if (refused || (encrypted === undefined && !stored)) return []
  return [
    defined<JsonObject>({
      type: 'reasoning',
      id,
      summary: part.text === '' ? [] : [{ type: 'summary_text', text: part.text }],
      encrypted_content: encrypted,
    }),
  ]
}

function renderCall(call: ToolCall, ids: ToolIds): JsonObject {
  return {
    type: 'function_call',
    call_id: ids.call(call.id),
    name: call.name,
    arguments: argumentsJson(call),
  }
}
