import type { JsonObject, JsonValue } from '../../core/types/json.ts'
import type { ImageOperation } from '../../core/types/media.ts'
import {
  firstProblem,
  kindOf,
  objectOf,
  objectsOf,
  paramProblem,
  shown,
  type ParamKind,
  type ParamTable,
  type ParamWords,
  type RequestProblem,
} from './check-params.ts'

/** OpenAI's error messages about parameters. */
export const openaiWords: ParamWords = {
  nullable: true,
  unknown: (name) => ({
    message: `Unknown parameter: '${name}'.`,
    param: name,
    code: 'unknown_parameter',
  }),
  wrongKind: (name, expected, actual) =>
    wrongType(name, expected.map(article).join(' or '), actual),
}

const articles: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a decimal',
  integer: 'an integer',
  boolean: 'a boolean',
  array: 'an array',
  object: 'an object',
  null: 'null',
}

function article(kind: string): string {
  return articles[kind] ?? kind
}

export function wrongType(param: string, expected: string, actual: string): RequestProblem {
  const message = `Invalid type for '${param}': expected ${expected}, but got ${article(actual)} instead.`
  return { message, param, code: 'invalid_type' }
}

/** A required parameter is missing. */
export function missing(param: string): RequestProblem {
  const message = `Missing required parameter: '${param}'.`
  return { message, param, code: 'missing_required_parameter' }
}

/** Checks that a value is one of those that the parameter accepts. */
export function wordProblem(
  param: string,
  value: JsonValue | undefined,
  supported: readonly string[],
): RequestProblem | undefined {
  if (value === undefined) return missing(param)
  if (typeof value === 'string' && supported.includes(value)) return undefined
  const names = supported.map((word) => `'${word}'`).join(', ')
  const message = `Invalid value: '${shown(value)}'. Supported values are: ${names}.`
  return { message, param, code: 'invalid_value' }
}

const toolName = /^[a-zA-Z0-9_-]{1,64}$/

/** A function's name: 1 to 64 letters, digits, `_` and `-`. */
export function nameProblem(name: unknown, param: string): RequestProblem | undefined {
  if (typeof name !== 'string') return missing(param)
  if (toolName.test(name)) return undefined
  const message = `Invalid '${param}': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.`
  return name.length > 64
    ? {
        message: `Invalid '${param}': string too long. Expected a string with maximum length 64, but got a string with length ${name.length} instead.`,
        param,
        code: 'string_above_max_length',
      }
    : { message, param, code: 'invalid_value' }
}

/** The smallest and the largest value of number parameters. */
const ranges: readonly (readonly [string, number, number])[] = [
  ['temperature', 0, 2],
  ['top_p', 0, 1],
  ['frequency_penalty', -2, 2],
  ['presence_penalty', -2, 2],
  ['n', 1, 128],
  ['max_tokens', 1, Infinity],
  ['max_completion_tokens', 1, Infinity],
  ['max_output_tokens', 16, Infinity],
  ['top_logprobs', 0, 20],
]

/** The first number that is out of its range. */
export function rangeProblem(body: JsonObject): RequestProblem | undefined {
  for (const [param, least, most] of ranges) {
    const value = body[param]
    if (typeof value !== 'number') continue
    const kind =
      Number.isInteger(least) && !/temp|top_p|penalty/.test(param) ? 'integer' : 'decimal'
    if (value < least) {
      const message = `Invalid '${param}': ${kind} below minimum value. Expected a value >= ${least}, but got ${value} instead.`
      return { message, param, code: `${kind}_below_min_value` }
    }
    if (value > most) {
      const message = `Invalid '${param}': ${kind} above maximum value. Expected a value <= ${most}, but got ${value} instead.`
      return { message, param, code: `${kind}_above_max_value` }
    }
  }
  return undefined
}

/** Some settings are allowed only with tools. */
export function toolSettingProblem(
  body: JsonObject,
  toolCount: number,
): RequestProblem | undefined {
  for (const param of ['tool_choice', 'parallel_tool_calls']) {
    const given = body[param] !== undefined && body[param] !== null && body[param] !== 'none'
    if (given && toolCount === 0 && body['tools'] === undefined) {
      const message = `Invalid value for '${param}': '${param}' is only allowed when 'tools' are specified.`
      return { message, param }
    }
  }
  return undefined
}

/** Table rows for parameters of the same kinds. */
export function params(
  kind: readonly ParamKind[],
  names: string,
): [string, readonly ParamKind[]][] {
  return names.split(' ').map((name) => [name, kind])
}

/** The function of a tool: its parameters are an object, its name is legal, and a strict schema is one. */
export function functionProblem(
  { name, parameters, strict }: JsonObject,
  at: string,
): RequestProblem | undefined {
  if (parameters !== undefined && parameters !== null && kindOf(parameters) !== 'object')
    return wrongType(`${at}.parameters`, 'an object', kindOf(parameters))
  const misnamed = nameProblem(name, `${at}.name`)
  if (misnamed !== undefined || strict !== true) return misnamed
  return strictSchemaProblem(parameters, {
    of: `function '${shown(name)}'`,
    param: `${at}.parameters`,
    code: 'invalid_function_parameters',
  })
}

/** The schema of an answer. `param` is the parameter that OpenAI names for a strict schema that is not one. */
export function formatSchemaProblem(
  { name, schema, strict }: JsonObject,
  at: string,
  param: string,
): RequestProblem | undefined {
  if (schema === undefined) return missing(`${at}.schema`)
  const misnamed = nameProblem(name, `${at}.name`)
  if (misnamed !== undefined || strict !== true) return misnamed
  const of = `response_format '${shown(name)}'`
  return strictSchemaProblem(schema, { of, param, code: 'invalid_json_schema' })
}

/** A choice of tools: a mode, or one of the named functions. `nameOf` finds the name in a tool, and in a choice. */
export function choiceProblem(
  choice: JsonValue | undefined,
  tools: readonly JsonObject[],
  nameOf: (tool: JsonObject) => JsonValue | undefined,
): RequestProblem | undefined {
  if (typeof choice === 'string')
    return wordProblem('tool_choice', choice, ['none', 'auto', 'required'])
  const chosen = objectOf(choice)
  const name = nameOf(chosen)
  if (chosen['type'] !== 'function' || tools.some((tool) => nameOf(tool) === name)) return undefined
  const message = `Tool choice 'function' not found in 'tools' parameter: '${shown(name)}'.`
  return { message, param: 'tool_choice' }
}

/** The place of a strict schema in a request. */
interface StrictPlace {
  /** The owner of the schema, such as `function 'get_weather'`. */
  readonly of: string
  readonly param: string
  readonly code: string
}

/**
 * Checks a strict schema: every object must list all its properties as required and forbid others.
 */
function strictSchemaProblem(
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
  const problem = (rule: string): RequestProblem => ({
    message: `Invalid schema for ${of}: In context=${where}, ${rule}`,
    param,
    code,
  })
  if (schema['additionalProperties'] !== false)
    return problem("'additionalProperties' is required to be supplied and to be false.")
  const required = Array.isArray(schema['required']) ? schema['required'] : []
  const left = Object.keys(objectOf(schema['properties'])).find((name) => !required.includes(name))
  return left === undefined
    ? undefined
    : problem(
        `'required' is required to be supplied and to be an array including every key in properties. Missing '${left}'.`,
      )
}

/** Numbers are not checked here, because the fields of a form are text. */
const imageParams = [
  ...params([], 'n output_compression partial_images stream'),
  ...params(['string'], 'prompt model quality response_format output_format size'),
  ...params(['string'], 'background user'),
]

const imageTables: Readonly<Record<ImageOperation, ParamTable>> = {
  generate: Object.fromEntries([
    ...imageParams,
    ...params(['string'], 'moderation style'),
    ...params(['integer'], 'n output_compression partial_images'),
    ...params(['boolean'], 'stream'),
  ]),
  edit: Object.fromEntries([...imageParams, ...params([], 'image images mask input_fidelity')]),
  variation: Object.fromEntries([...imageParams, ...params([], 'image')]),
}

/** Checks a request of the images endpoints: unknown fields, wrong kinds, a missing prompt or image. */
export function checkOpenaiImages(
  operation: ImageOperation,
  body: JsonObject,
): RequestProblem | undefined {
  const image = body['image'] ?? body['images']
  return (
    paramProblem(body, imageTables[operation], openaiWords) ??
    (operation !== 'variation' && body['prompt'] === undefined ? missing('prompt') : undefined) ??
    (operation !== 'generate' && image === undefined ? missing('image') : undefined)
  )
}
