import { EngineError } from '../../errors/errors.ts'
import { isObject } from './is-object.ts'
import type { ModelTraits } from './model-traits.ts'
import { strictSchema } from './strict-schema.ts'
import type { JsonObject, JsonValue } from '../../types/json.ts'
import type { ModelRequest } from '../../types/request.ts'

/** How the form of an answer is asked for: not at all, by the API's own field, or by a tool that stands for the answer. */
export type StructuredOutput =
  | { readonly by: 'nothing' }
  | { readonly by: 'format'; readonly format: JsonObject }
  | { readonly by: 'tool'; readonly tool: AnswerTool }

/** The tool whose arguments are the answer. */
export interface AnswerTool {
  readonly name: string
  readonly description: string
  readonly schema: JsonObject
  /** The schema is not of an object, so the answer is the member `value` of the arguments. */
  readonly wrapped: boolean
}

/**
 * Decides how a request's `responseFormat` is asked for.
 *
 * A schema goes by `output_config.format` where the model has it. Elsewhere, and for JSON of any shape, a tool is forced
 * instead; a model that has neither throws `EngineError` `unsupported_response_format`.
 */
export function structuredOutput(
  { responseFormat, tools, model }: ModelRequest,
  traits: ModelTraits,
): StructuredOutput {
  if (responseFormat === undefined || responseFormat.type === 'text') return { by: 'nothing' }
  const isSchema = responseFormat.type === 'json_schema'
  if (isSchema && traits.structuredOutput) {
    const schema = strictSchema(responseFormat.schema)
    return { by: 'format', format: { type: 'json_schema', schema } }
  }
  if (!traits.forcedTools) {
    const message = `${model} has no JSON mode without a schema; give responseFormat a jsonSchema(…)`
    throw new EngineError('unsupported_response_format', message)
  }
  let name = isSchema ? `respond_with_${responseFormat.name}` : 'respond_with_json'
  name = name.replaceAll(/[^\w-]/g, '_').slice(0, 60)
  while (tools.some((tool) => tool.name === name)) name += '_'
  const schema = isSchema ? responseFormat.schema : { type: 'object' }
  return { by: 'tool', tool: answerTool(name, schema) }
}

function answerTool(name: string, schema: JsonObject): AnswerTool {
  const description =
    'Gives the final answer. Call it when the answer is ready, with the answer as its input.'
  if (schema['type'] === 'object') return { name, description, schema, wrapped: false }
  // References count from the root, so the definitions move there with it.
  const { $defs, definitions, ...value } = schema
  const wrapper: Record<string, JsonValue> = {
    type: 'object',
    properties: { value },
    required: ['value'],
  }
  if ($defs !== undefined) wrapper['$defs'] = $defs
  if (definitions !== undefined) wrapper['definitions'] = definitions
  return { name, description, schema: wrapper, wrapped: true }
}

/** The answer that a wrapping tool was called with, as JSON; the text itself when it is not what was asked for. */
export function unwrapAnswer(text: string): string {
  try {
    // Whatever the model wrote: JSON.parse makes a JSON value of it, or throws.
    const parsed = JSON.parse(text) as JsonValue
    const value = isObject(parsed) ? parsed['value'] : undefined
    return value === undefined ? text : JSON.stringify(value)
  } catch {
    return text
  }
}
