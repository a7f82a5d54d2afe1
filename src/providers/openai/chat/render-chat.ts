import { defined } from '../../../data/defined.ts'
import type { JsonObject, JsonValue } from '../../../data/json.ts'
import type { ModelRequest } from '../../../data/model-request.ts'
import type { ResponseFormat } from '../../../data/response-format.ts'
import type { ToolChoice, ToolSpec } from '../../../data/tool-spec.ts'
import { sharedParameters, type RenderOptions } from '../render-options.ts'
import type { RenderedRequest } from '../rendered-request.ts'
import { renderChatMessages } from './render-messages.ts'

/** A request as the body of `/chat/completions`. A summary of the reasoning is not to be had there. */
export function renderChat(request: ModelRequest, options: RenderOptions): RenderedRequest {
  const { temperature, effort, cache, dropped } = sharedParameters(request, options)
  const { tools, toolChoice, responseFormat, maxTokens } = request
  const { family, stream } = options
  const body = defined<JsonObject>({
    model: request.model,
    messages: renderChatMessages(request.messages, options),
    temperature,
    [family.maxTokensField]: maxTokens,
    tools: tools.length === 0 ? undefined : tools.map(renderTool),
    tool_choice:
      tools.length === 0 || toolChoice === undefined ? undefined : renderChoice(toolChoice),
    response_format: responseFormat === undefined ? undefined : renderFormat(responseFormat),
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

function renderTool({ name, description, schema, strict }: ToolSpec): JsonObject {
  const made = defined<JsonObject>({
    name,
    description: description === '' ? undefined : description,
    parameters: schema,
    // Not every server of this kind knows the word, so it is only said when it matters.
    strict: strict === true ? true : undefined,
  })
  return { type: 'function', function: made }
}

function renderChoice(choice: ToolChoice): JsonValue {
  return choice === 'auto' || choice === 'none' || choice === 'required'
    ? choice
    : { type: 'function', function: { name: choice } }
}

function renderFormat(format: ResponseFormat): JsonObject | undefined {
  switch (format.type) {
    case 'text':
      return undefined
    case 'json_object':
      return { type: 'json_object' }
    case 'json_schema': {
      const { name, schema, strict } = format
      return { type: 'json_schema', json_schema: { name, schema, strict } }
    }
  }
}
