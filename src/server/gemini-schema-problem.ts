import { unknownName } from './gemini-words.ts'
import { objectOf, objectsOf } from './json-kind.ts'
import { firstProblem, type RequestProblem } from './request-problem.ts'
import type { JsonValue } from '../types/json.ts'

/** The keywords that a Gemini schema has; it is a part of OpenAPI's, and a JSON Schema may say more. */
const keywords = new Set(
  [
    'type format title description nullable enum items maxItems minItems properties required',
    'minProperties maxProperties minimum maximum minLength maxLength pattern example anyOf',
    'propertyOrdering default max_items min_items min_properties max_properties min_length',
    'max_length any_of property_ordering',
  ].flatMap((line) => line.split(' ')),
)

/** The first keyword of a schema, or of one inside it, that Gemini does not know. */
export function schemaProblem(
  schema: JsonValue | undefined,
  at: string,
): RequestProblem | undefined {
  const members = objectOf(schema)
  const unknown = Object.keys(members).find((name) => !keywords.has(name))
  if (unknown !== undefined) return unknownName(unknown, at)
  const { items, properties, anyOf, any_of } = members
  return (
    (items === undefined ? undefined : schemaProblem(items, `${at}.items`)) ??
    firstProblem(Object.values(objectOf(properties)), (property, index) =>
      schemaProblem(property, `${at}.properties[${index}].value`),
    ) ??
    firstProblem(objectsOf(anyOf ?? any_of), (option, index) =>
      schemaProblem(option, `${at}.any_of[${index}]`),
    )
  )
}
