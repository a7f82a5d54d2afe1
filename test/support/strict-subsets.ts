import { isObject } from '../../src/core/types/guards.ts'
import type { JsonObject, JsonValue } from '../../src/core/types/json.ts'

/**
 * What each provider documents about the schemas that it takes, as checkers: every problem of a schema, with its place.
 *
 * They are written from the providers' pages and from the messages of their APIs, not from `lowerSchema`, so that the two can
 * disagree.
 */
export type SubsetCheck = (schema: JsonObject) => readonly string[]

/**
 * OpenAI, `strict: true`. The root is an object and no choice; every object is closed and requires all of its properties;
 * every schema has a type (a bare `const` or `enum` is answered with "schema must have a 'type' key"); a `$ref` stands alone;
 * `default`, `oneOf`, `allOf`, `not`, conditions, `patternProperties`, `prefixItems`, `uniqueItems` and lengths are "not
 * permitted"; patterns neither look around nor refer back; nine formats are known; lists have `items`.
 */
export const openaiStrictProblems: SubsetCheck = (schema) => [
  ...(schema['type'] === 'object' && schema['anyOf'] === undefined ? [] : ['root: is no object']),
  ...visit(schema, (node) => [
    ...unknownKeys(
      node,
      `$ref $defs type title description enum properties required additionalProperties items anyOf
      pattern format minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minItems maxItems`,
    ),
    ...typeProblems(node),
    ...closedProblems(node),
    ...(isObjectNode(node) && !sameNames(node['required'], Object.keys(members(node)))
      ? ['does not require all of its properties']
      : []),
    ...patternProblems(node),
    ...formatProblems(node, 'date-time time date duration email hostname ipv4 ipv6 uuid'),
    ...('$ref' in node && Object.keys(node).length > 1 ? ['has keywords beside $ref'] : []),
    ...(types(node).includes('array') && !isObject(node['items'])
      ? ['is a list without items']
      : []),
  ]),
]

/**
 * Anthropic, strict tools and formats. Objects are closed, no schema contains itself, lists and texts and numbers have no
 * bounds but a `minItems` of 0 or 1, values of `enum` are plain, references are local, ten formats are known. At most 24
 * properties may be left out, and at most 16 schemas have a choice of types or an `anyOf`.
 */
export const anthropicStrictProblems: SubsetCheck = (schema) => [
  ...(schema['type'] === 'object' && schema['anyOf'] === undefined ? [] : ['root: is no object']),
  ...(JSON.stringify(schema).includes('"$ref"') ? cycles(schema) : []),
  ...visit(schema, (node) => [
    ...unknownKeys(
      node,
      '$ref $defs type title description default enum const properties required additionalProperties items anyOf allOf format minItems',
    ),
    ...typeProblems(node),
    ...closedProblems(node),
    ...formatProblems(node, 'date-time time date duration email hostname uri ipv4 ipv6 uuid'),
    ...(Number(node['minItems'] ?? 0) > 1 ? ['has a minItems beyond 1'] : []),
  ]),
  ...atMost(
    24,
    'optional properties',
    total(schema, (node) => Object.keys(members(node)).length - lengthOf(node['required'])),
  ),
  ...atMost(
    16,
    'unions',
    total(schema, (node) => ('anyOf' in node || types(node).length > 1 ? 1 : 0)),
  ),
]

function atMost(most: number, what: string, count: number): readonly string[] {
  return count > most ? [`has ${count} ${what}`] : []
}

function lengthOf(value: JsonValue | undefined): number {
  return Array.isArray(value) ? value.length : 0
}

/** The sum of what is counted in a schema and in every schema inside it. */
function total(schema: JsonObject, count: (node: JsonObject) => number): number {
  let sum = 0
  visit(schema, (node) => {
    sum += count(node)
    return []
  })
  return sum
}

/**
 * Gemini, `responseJsonSchema`. `enum` holds texts and numbers; a reference stands alone and is to a definition; a schema may
 * contain itself only inside a property that is not required. Keywords that it does not know are ignored.
 */
export const geminiJsonProblems: SubsetCheck = (schema) => [
  ...requiredCycles(schema),
  ...visit(schema, (node) => [
    ...('$ref' in node && Object.keys(node).some((key) => !key.startsWith('$'))
      ? ['has keywords beside $ref']
      : []),
    ...(Array.isArray(node['enum']) &&
    !node['enum'].every((value) => typeof value === 'string' || typeof value === 'number')
      ? ['lists values that are neither text nor number']
      : []),
    ...['not', 'if', 'allOf', 'oneOf', 'const', 'patternProperties'].flatMap((key) =>
      key in node ? [`has ${key}`] : [],
    ),
  ]),
]

/** Gemini, `responseSchema`: OpenAPI 3.0. One type in capitals, texts in `enum`, four keywords a type, no maps and no tuples. */
export const geminiOpenApiProblems: SubsetCheck = (schema) =>
  visit(schema, (node) => [
    ...unknownKeys(
      node,
      `type format title description nullable enum items maxItems minItems properties required minProperties maxProperties
      minimum maximum minLength maxLength pattern example anyOf propertyOrdering default`,
    ),
    ...('anyOf' in node ||
    /^(?:STRING|NUMBER|INTEGER|BOOLEAN|ARRAY|OBJECT|NULL)$/.test(
      JSON.stringify(node['type'] ?? '').slice(1, -1),
    )
      ? []
      : ['has no type']),
    ...(node['type'] === 'ARRAY' && !isObject(node['items']) ? ['is a list without items'] : []),
    ...(Array.isArray(node['enum']) && node['type'] !== 'STRING'
      ? ['lists other values than texts']
      : []),
    ...(node['type'] === 'STRING' ? formatProblems(node, 'date-time enum') : []),
  ])

/**
 * A tool or format without `strict`, at OpenAI and Anthropic. The root is an object without choices at the top level, patterns
 * do not look around, lists have `items`.
 */
export const plainProblems: SubsetCheck = (schema) => [
  ...(schema['type'] === 'object' ? [] : ['root: is no object']),
  ...['anyOf', 'oneOf', 'allOf', 'enum', 'not'].flatMap((key) =>
    key in schema ? [`root: has ${key}`] : [],
  ),
  ...visit(schema, (node) => [
    ...patternProblems(node),
    ...(types(node).includes('array') && !('items' in node || 'prefixItems' in node)
      ? ['is a list without items']
      : []),
  ]),
]

/** The problems of a schema and of every schema inside it. */
function visit(
  node: JsonValue | undefined,
  look: (node: JsonObject) => readonly string[],
  path = 'root',
): readonly string[] {
  if (!isObject(node)) return []
  const schema = node
  return [
    ...look(schema).map((problem) => `${path}: ${problem}`),
    ...Object.entries(schema).flatMap(([key, value]) => {
      if (['properties', '$defs', 'definitions'].includes(key)) {
        return Object.entries(value as JsonObject).flatMap(([name, member]) =>
          visit(member, look, `${path}.${name}`),
        )
      }
      if (['items', 'additionalProperties'].includes(key))
        return visit(value, look, `${path}.${key}`)
      if (['anyOf', 'oneOf', 'allOf', 'prefixItems'].includes(key) && Array.isArray(value)) {
        return value.flatMap((item: JsonValue, index) =>
          visit(item, look, `${path}.${key}[${index}]`),
        )
      }
      return []
    }),
  ]
}

function unknownKeys(node: JsonObject, legal: string): readonly string[] {
  const words = new Set(legal.split(/\s+/))
  return Object.keys(node).flatMap((key) => (words.has(key) ? [] : [`has ${key}`]))
}

function types(node: JsonObject): readonly JsonValue[] {
  const { type } = node
  return Array.isArray(type) ? type : [type ?? null]
}

function typeProblems(node: JsonObject): readonly string[] {
  return ['type', '$ref', 'anyOf'].some((key) => key in node) ? [] : ['has no type']
}

function isObjectNode(node: JsonObject): boolean {
  return types(node).includes('object') || 'properties' in node
}

function members(node: JsonObject): JsonObject {
  return isObject(node['properties']) ? node['properties'] : {}
}

function closedProblems(node: JsonObject): readonly string[] {
  if (!isObjectNode(node)) return []
  return node['additionalProperties'] === false && 'properties' in node ? [] : ['is not closed']
}

function sameNames(required: JsonValue | undefined, names: readonly string[]): boolean {
  return (
    Array.isArray(required) &&
    new Set([...required, ...names]).size === names.length &&
    required.length === names.length
  )
}

function patternProblems({ pattern }: JsonObject): readonly string[] {
  return typeof pattern === 'string' && /\(\?(?:[=!]|<[=!])|\\[1-9]/.test(pattern)
    ? ['has a pattern that looks around']
    : []
}

function formatProblems({ format }: JsonObject, legal: string): readonly string[] {
  return typeof format !== 'string' || legal.split(' ').includes(format)
    ? []
    : [`has the format ${format}`]
}

function definition(root: JsonObject, ref: string): JsonValue | undefined {
  if (ref === '#') return root
  return (root['$defs'] as JsonObject | undefined)?.[ref.replace('#/$defs/', '')]
}

/** Whether a definition can be reached from itself, by the properties that `passes` lets through. */
function cycles(
  root: JsonObject,
  passes: (node: JsonObject, name: string) => boolean = () => true,
): readonly string[] {
  const reach = (node: JsonValue | undefined, seen: readonly string[]): readonly string[] => {
    if (!isObject(node))
      return Array.isArray(node) ? node.flatMap((item: JsonValue) => reach(item, seen)) : []
    const schema = node
    const ref = schema['$ref']
    if (typeof ref === 'string') {
      return seen.includes(ref)
        ? [`${ref} contains itself`]
        : reach(definition(root, ref), [...seen, ref])
    }
    return Object.entries(schema).flatMap(([key, value]) => {
      if (key === '$defs') return []
      if (key !== 'properties') return reach(value, seen)
      return Object.entries(value as JsonObject).flatMap(([name, member]) =>
        passes(schema, name) ? reach(member, seen) : [],
      )
    })
  }
  return [
    ...reach(root, []),
    ...Object.keys((root['$defs'] as JsonObject | undefined) ?? {}).flatMap((name) =>
      reach({ $ref: `#/$defs/${name}` }, []),
    ),
  ]
}

function requiredCycles(root: JsonObject): readonly string[] {
  return cycles(
    root,
    (node, name) => Array.isArray(node['required']) && node['required'].includes(name),
  )
}
