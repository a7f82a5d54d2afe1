import { strictSchema } from './strict-schema.ts'
import { defined } from '../../types/guards.ts'
import type { JsonObject } from '../../types/json.ts'
import type { ModelRequest, ResponseFormat, ToolSpec } from '../../types/request.ts'

/** The schemas of a request: its tools and the form of its answer. */
export interface RenderedSchemas {
  /** `{name, description?, parameters, strict?}`, as both endpoints have it somewhere. */
  readonly tools: readonly JsonObject[]
  /** `{type, …}`; absent when any text will do. */
  readonly format: JsonObject | undefined
  /** Whose strictness could not be had. */
  readonly dropped: readonly string[]
}

/**
 * Renders the schemas. One that OpenAI can not enforce is sent as it is, and not as a strict one: the model follows it as
 * well as it can, and whoever gave it still validates by it.
 */
export function renderSchemas({ tools, responseFormat }: ModelRequest): RenderedSchemas {
  const dropped: string[] = []
  const enforce = (schema: JsonObject, strict: boolean | undefined, place: string) => {
    const enforced = strict === true ? strictSchema(schema) : undefined
    if (strict === true && enforced === undefined) dropped.push(place)
    return { schema: enforced ?? schema, strict: strict === true ? enforced !== undefined : strict }
  }
  const renderTool = (tool: ToolSpec): JsonObject => {
    const { schema, strict } = enforce(tool.schema, tool.strict, `tools.${tool.name}.strict`)
    return defined<JsonObject>({
      name: tool.name,
      description: tool.description === '' ? undefined : tool.description,
      parameters: schema,
      strict,
    })
  }
  const renderFormat = (format: ResponseFormat): JsonObject | undefined => {
    if (format.type === 'text') return undefined
    if (format.type === 'json_object') return { type: 'json_object' }
    const { schema, strict } = enforce(format.schema, format.strict, 'responseFormat.strict')
    return { type: 'json_schema', name: format.name, schema, strict: strict === true }
  }
  return {
    tools: tools.map(renderTool),
    format: responseFormat === undefined ? undefined : renderFormat(responseFormat),
    dropped,
  }
}
