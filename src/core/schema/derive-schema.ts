import type { ValidationError, ValidationErrorReason } from '../errors/errors.ts'
import { thrownText } from '../errors/to-json-value.ts'
import type { Issue } from '../types/error-data.ts'
import { isObject } from '../types/guards.ts'
import type { JsonObject } from '../types/json.ts'
import {
  isStandardSchema,
  type SchemaInput,
  type SchemaOutput,
  type SchemaWithJson,
  type StandardSchema,
} from '../types/standard-schema.ts'
import {
  assertValid,
  brief,
  describe,
  fine,
  flag,
  isPlainObject,
  join,
  listOf,
  must,
  nearest,
  oneOf,
  recordOf,
  refusal,
  refuse,
  text,
  within,
  type Check,
} from './checks.ts'
import { targetOf } from './flatten-schema.ts'

/** A schema as the caller passes it: JSON Schema, or a schema of Zod, Valibot or ArkType. */
export type AnySchema = StandardSchema | JsonObject

/**
 * Adds a JSON Schema to a schema whose library does not give one: Zod 3, Zod 4.0 and 4.1, Valibot.
 *
 * The JSON Schema is what the model sees, made by the converter of your choice; it describes the input. The schema validates
 * and types the value.
 */
export function withJsonSchema<S extends StandardSchema>(
  schema: S,
  json: object,
): SchemaWithJson<SchemaInput<S>, SchemaOutput<S>> {
  if (!isStandardSchema(schema)) {
    const problem = `must be a schema of a library, not ${describe(schema)}`
    throw refusal('invalid_request', 'schema', problem)
  }
  if (!isPlainObject(json)) {
    throw refusal('invalid_request', 'json', `must be a JSON Schema, not ${describe(json)}`)
  }
  const { version, vendor, validate } = schema['~standard']
  const told = (): Record<string, unknown> => ({ ...json })
  const standard = { version, vendor, validate, jsonSchema: { input: told, output: told } }
  // The types of a schema exist only for the compiler.
  return { '~standard': standard } as SchemaWithJson<SchemaInput<S>, SchemaOutput<S>>
}

/**
 * The JSON Schema of any schema. JSON Schema is returned unchanged.
 *
 * For a library's schema it describes the input, since that is what a model writes. A schema without a JSON Schema is
 * refused, and the error says how to add one.
 */
export function toJsonSchema(schema: AnySchema, reason: ValidationErrorReason): JsonObject {
  if (!isStandardSchema(schema)) return schema
  const { vendor, jsonSchema } = schema['~standard']
  const refused = (why: string, cause?: unknown): ValidationError =>
    refusal(
      reason,
      `schema${placeIn(schema)}`,
      `of ${vendor} cannot be converted to JSON Schema${why}`,
      cause,
    )
  if (jsonSchema === undefined) {
    throw refused(
      '; use withJsonSchema(schema, json), Zod 4.2, or toStandardJsonSchema of @valibot/to-json-schema',
    )
  }
  let derived: Record<string, unknown>
  try {
    derived = jsonSchema.input(dialect)
  } catch (cause) {
    const why = thrownText(cause)
    throw refused(`: ${why}; use a type that JSON has, or withJsonSchema(schema, json)`, cause)
  }
  const { $schema: _dialect, ...rest } = derived
  // A JSON Schema is JSON by its own definition.
  return rest as JsonObject
}

/**
 * Throws if a JSON Schema that a person wrote accepts everything by mistake: it has members, but no keyword of JSON Schema, or a keyword
 * has a value that it cannot have, such as `type: 'strng'` or a reference that leads nowhere, which would check nothing. The schema must be JSON. Those that others wrote,
 * such as servers, may have any members.
 */
export function assertMeaning(schema: JsonObject, reason: ValidationErrorReason): void {
  const keys = Object.keys(schema)
  const isMeant = keys.length === 0 || keys.some((key) => keyword.test(key))
  assertValid(reason, within('schema', isMeant ? keywordIssues(schema, schema) : notSchema))
}

/** The keywords, by their endings where several have one. A name that only looks like one does no harm: the schema is taken as it is. */
const keyword =
  /^\$|^depend|(?:Of|roperties|tems|imum|Length|ontains|Only)$|^(?:type|enum|const|not|if|required|propertyNames|pattern|format|title|description|default|examples?|definitions|nullable)$/

const notSchema: readonly Issue[] = [
  {
    path: '',
    problem:
      "is not JSON Schema; write { type: 'object', properties: { city: { type: 'string' } } }, or use a schema of Zod",
  },
]

/** The problems of a schema's keywords, and of the schemas inside of it. References start at `root`. */
function keywordIssues(
  schema: Readonly<Record<string, unknown>>,
  root: JsonObject,
): readonly Issue[] {
  let issues = fine
  for (const [key, value] of Object.entries(schema)) {
    const [kind] = kinds.find(([, keywords]) => keywords.split(' ').includes(key)) ?? []
    if (kind !== undefined) issues = join(issues, within(key, kind(value, root)))
  }
  return issues
}

/** Checks the value of a keyword in the schema `root`. */
type Kind = (value: unknown, root: JsonObject) => readonly Issue[]

const anySchema: Kind = (value, root) => {
  if (typeof value === 'boolean') return fine
  return isObject(value) ? keywordIssues(value, root) : notSchema
}

const schemas: Kind = (value, root) => listOf((schema) => anySchema(schema, root))(value)

/** A reference to a schema. One to another document is for the provider to judge. */
const reference: Kind = (value, root) => {
  if (typeof value !== 'string') return text(value)
  const target = targetOf(value, root)?.target
  if (!value.startsWith('#') || isObject(target) || typeof target === 'boolean') return fine
  const known = ['$defs', 'definitions'].flatMap((key) =>
    Object.keys(isObject(root[key]) ? root[key] : {}).map((name) => `#/${key}/${brief(name)}`),
  )
  const near = nearest(lastStep(value), known.map(lastStep))
  const meant = known.find((pointer) => lastStep(pointer) === near)
  const hint = meant === undefined ? '' : `; did you mean ${meant}?`
  const listed = known.length === 0 ? 'none' : known.slice(0, 24).join(', ')
  const problem = `must lead to a schema, not ${describe(value)}${hint} (definitions: ${listed})`
  return [{ path: '', problem }]
}

/** The name at the end of a pointer, or of a reference that is only a name. */
function lastStep(pointer: string): string {
  return pointer.replace(/^.*[#/]/, '')
}

const typeName: Check = /* @__PURE__ */ oneOf([
  'string',
  'number',
  'integer',
  'boolean',
  'object',
  'array',
  'null',
])

const list: Check = /* @__PURE__ */ must('a list', Array.isArray)

const number: Check = /* @__PURE__ */ must('a number', Number.isFinite)

const regularExpression: Check = (value) => {
  if (typeof value !== 'string') return text(value)
  return patternOf(value) === undefined ? refuse('a regular expression', value) : fine
}

/** The regular expression of a pattern: by the syntax of JSON Schema, or by the older one, which takes `\-`. */
export function patternOf(pattern: string): RegExp | undefined {
  for (const flags of ['u', '']) {
    try {
      return new RegExp(pattern, flags)
    } catch {
      // The other syntax is tried.
    }
  }
  return undefined
}

/** What the values of keywords are. Older drafts have some that are not in 2020-12: lists as `items`, and flags for exclusive bounds. */
const kinds: readonly (readonly [kind: Kind, keywords: string])[] = [
  [(value) => (Array.isArray(value) ? listOf(typeName) : typeName)(value), 'type'],
  [(value) => listOf(text)(value), 'required'],
  [
    (value) =>
      Array.isArray(value) && value.length === 0 ? refuse('a list of values', value) : list(value),
    'enum',
  ],
  [list, 'examples'],
  [
    (value, root) => recordOf((schema) => anySchema(schema, root))(value),
    'properties patternProperties $defs definitions',
  ],
  [schemas, 'allOf anyOf oneOf prefixItems'],
  [(value, root) => (Array.isArray(value) ? schemas : anySchema)(value, root), 'items'],
  [anySchema, 'additionalProperties propertyNames contains not if then else'],
  [
    (value) => (typeof value === 'boolean' ? fine : number(value)),
    'exclusiveMinimum exclusiveMaximum',
  ],
  [
    number,
    'minimum maximum multipleOf minLength maxLength minItems maxItems minProperties maxProperties minContains maxContains',
  ],
  [(value) => regularExpression(value), 'pattern'],
  [text, 'format title description'],
  [reference, '$ref'],
  [flag, 'uniqueItems nullable'],
]

/**
 * The path of the part that cannot be converted, in libraries that list the members of objects as `shape` and have the items
 * of lists as `element`. A schema may contain itself, so the path has an end.
 */
function placeIn(schema: object, depth = 0): string {
  const inside = 'shape' in schema ? schema.shape : 'element' in schema ? [schema.element] : []
  if (depth > 8 || typeof inside !== 'object' || inside === null) return ''
  for (const [key, member] of Object.entries<unknown>({ ...inside })) {
    if (!isStandardSchema(member)) continue
    try {
      member['~standard'].jsonSchema?.input(dialect)
    } catch {
      return (Array.isArray(inside) ? '[]' : `.${key}`) + placeIn(member, depth + 1)
    }
  }
  return ''
}

const dialect = { target: 'draft-2020-12' } as const
