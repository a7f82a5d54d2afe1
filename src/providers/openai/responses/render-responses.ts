import { sharedParameters, type RenderOptions } from '../render-options.ts'
import type { RenderedRequest } from '../rendered-request.ts'
import { renderInput } from './render-input.ts'
import { defined } from '../../../types/guards.ts'
import type { JsonObject, JsonValue } from '../../../types/json.ts'
import type { ModelRequest, ToolChoice } from '../../../types/request.ts'

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
