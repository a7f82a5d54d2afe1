import { isJsonObject } from './json-kind.ts'
import { openApiSchema } from './open-api-schema.ts'
import { plainSchema } from './plain-schema.ts'
import type { RenderTarget } from './render-target.ts'
import type { JsonObject } from '../../types/json.ts'
import type { ToolChoice, ToolSpec } from '../../types/request.ts'

/** The tools as function declarations. A tool that takes no arguments is declared without parameters. */
export function renderTools(tools: readonly ToolSpec[], target: RenderTarget): JsonObject[] {
  const functionDeclarations = tools.map(({ name, description, schema }, index) => ({
    name,
    description,
    ...renderParameters(schema, `tools[${index}].schema`, target),
  }))
  return [{ functionDeclarations }]
}

function renderParameters(
  schema: JsonObject,
  path: string,
  { provider, schemas }: RenderTarget,
): JsonObject {
  const place = { provider, path }
  // Arguments are an object, also where the schema does not say so.
  const plain = { type: 'object', ...plainSchema(schema, place) }
  if (takesNothing(plain)) return {}
  return schemas === 'json_schema'
    ? { parametersJsonSchema: plain }
    : { parameters: openApiSchema(plain, place) }
}

function takesNothing({ properties, additionalProperties, anyOf }: JsonObject): boolean {
  const named = isJsonObject(properties) && Object.keys(properties).length > 0
  const others = additionalProperties === true || isJsonObject(additionalProperties)
  return !named && !others && anyOf === undefined
}

/** Which functions the model may or must call. */
export function renderToolChoice(choice: ToolChoice): JsonObject {
  switch (choice) {
    case 'auto':
      return { functionCallingConfig: { mode: 'AUTO' } }
    case 'none':
      return { functionCallingConfig: { mode: 'NONE' } }
    case 'required':
      return { functionCallingConfig: { mode: 'ANY' } }
    default:
      return { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: [choice] } }
  }
}
