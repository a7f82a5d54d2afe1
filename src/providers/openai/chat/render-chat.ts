import { renderChatMessages } from './render-messages.ts'
import { sharedParameters, type RenderOptions } from '../render-options.ts'
import type { RenderedRequest } from '../rendered-request.ts'
import { defined } from '../../../types/guards.ts'
import type { JsonObject, JsonValue } from '../../../types/json.ts'
import type { ModelRequest, ToolChoice } from '../../../types/request.ts'

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
