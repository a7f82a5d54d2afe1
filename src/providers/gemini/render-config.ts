import { openApiSchema } from './open-api-schema.ts'
import { plainSchema } from './plain-schema.ts'
import type { RenderTarget } from './render-target.ts'
import { thinkingConfig } from './thinking-config.ts'
import { assertNever, defined } from '../../types/guards.ts'
import type { JsonObject } from '../../types/json.ts'
import type { ModelRequest, ResponseFormat } from '../../types/request.ts'

/** How the answer is made: its length, its form, its thinking. Empty when the request says nothing about it. */
export function renderConfig(request: ModelRequest, target: RenderTarget): JsonObject {
  const { temperature, maxTokens, responseFormat, reasoning } = request
  return {
    ...defined<JsonObject>({
      temperature,
      maxOutputTokens: maxTokens,
      thinkingConfig: reasoning && thinkingConfig(reasoning, target.family),
    }),
    ...(responseFormat === undefined ? {} : renderFormat(responseFormat, target)),
  }
}

function renderFormat(format: ResponseFormat, { provider, schemas }: RenderTarget): JsonObject {
  const responseMimeType = 'application/json'
  switch (format.type) {
    case 'text':
      return {}
    case 'json_object':
      return { responseMimeType }
    case 'json_schema': {
      const place = { provider, path: 'responseFormat.schema' }
      const plain = plainSchema(format.schema, place)
      return schemas === 'json_schema'
        ? { responseMimeType, responseJsonSchema: plain }
        : { responseMimeType, responseSchema: openApiSchema(plain, place) }
    }
    default:
      return assertNever(format)
  }
}
