import { kindOf, objectOf, objectsOf } from './json-kind.ts'
import { firstProblem, type RequestProblem } from './request-problem.ts'
import type { JsonObject, JsonValue } from '../types/json.ts'

/** Where a schema that shall be enforced stands. */
export interface StrictPlace {
  /** What the schema is of: `function 'get_weather'`. */
  readonly of: string
  readonly param: string
  readonly code: string
}

/**
 * What OpenAI refuses in a schema that it shall enforce: every object names all its properties as required and allows no
 * others.
 */
export function strictSchemaProblem(
  schema: JsonValue | undefined,
  place: StrictPlace,
  context: readonly string[] = [],
): RequestProblem | undefined {
  const members = objectOf(schema)
  const { properties, items, anyOf, $defs, definitions } = members
  return (
    (members['type'] === 'object' ? objectProblem(members, place, context) : undefined) ??
    nested(objectOf(properties), place, [...context, 'properties']) ??
    (kindOf(items) === 'object'
      ? strictSchemaProblem(items, place, [...context, 'items'])
      : undefined) ??
    firstProblem(objectsOf(anyOf), (option, index) =>
      strictSchemaProblem(option, place, [...context, 'anyOf', String(index)]),
    ) ??
    nested(objectOf($defs ?? definitions), place, [...context, '$defs'])
  )
}

function nested(
  schemas: JsonObject,
  place: StrictPlace,
  context: readonly string[],
): RequestProblem | undefined {
  return firstProblem(Object.entries(schemas), ([name, schema]) =>
    strictSchemaProblem(schema, place, [...context, name]),
  )
}

function objectProblem(
  schema: JsonObject,
  { of, param, code }: StrictPlace,
  context: readonly string[],
): RequestProblem | undefined {
  const where = context.length === 0 ? '()' : `(${context.map((name) => `'${name}'`).join(', ')})`
  const say = (rule: string): RequestProblem => ({
    message: `Invalid schema for ${of}: In context=${where}, ${rule}`,
    param,
    code,
  })
  if (schema['additionalProperties'] !== false)
    return say("'additionalProperties' is required to be supplied and to be false.")
  const required = Array.isArray(schema['required']) ? schema['required'] : []
  const left = Object.keys(objectOf(schema['properties'])).find((name) => !required.includes(name))
  return left === undefined
    ? undefined
    : say(
        `'required' is required to be supplied and to be an array including every key in properties. Missing '${left}'.`,
      )
}
