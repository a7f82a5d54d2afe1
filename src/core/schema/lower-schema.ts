import { AdapterError } from '../errors/errors.ts'
import { defined, isObject } from '../types/guards.ts'
import type { JsonObject, JsonValue } from '../types/json.ts'
import { absentNulls, fits, walkThrough } from './absent-nulls.ts'
import {
  annotations,
  constraintsOf,
  flatten,
  hasType,
  inside,
  isList,
  itemsOf,
  listOf,
  mapMembers,
  resolve,
  typeOf,
  typesOf,
  unsupported,
  type SchemaPosition,
} from './flatten-schema.ts'

/**
 * Rewrites a JSON Schema for a provider that knows only a part of JSON Schema.
 *
 * References are resolved, `allOf` is merged, `oneOf` becomes `anyOf`, and a keyword that only narrows a value and that the
 * dialect does not have moves into the description, where the model still reads it. No value is ruled out that way. What the
 * dialect cannot express is an `AdapterError` `unsupported_feature` that names the path; if the dialect has a plain form, the
 * schema is returned in that form instead, with a warning and without `strict`.
 */
export function lowerSchema(
  schema: JsonObject,
  dialect: SchemaDialect | 'plain',
  place: SchemaPlace = {},
): LoweredSchema {
  const { provider = 'the provider', path = 'schema', use = 'answer' } = place
  const at = { provider, path, root: schema, refs: [{ pointer: '#', passed: 'nothing' }] } as const
  if (dialect === 'plain') return plainSchema(schema, use, at)
  try {
    return strictSchema(schema, use, { ...at, walk: newWalk(dialect) })
  } catch (error) {
    if (!dialect.orPlain || !(error instanceof AdapterError)) throw error
    const warnings = [warningOf(error)]
    return { ...plainSchema(schema, use, at), warnings }
  }
}

/** What a provider knows of JSON Schema. `lowerSchema` rewrites a schema for it. */
export interface SchemaDialect {
  /** Whether a schema that cannot be expressed may be sent in the plain form, which the provider does not enforce. */
  readonly orPlain: boolean
  /** The keywords that are sent unchanged, with spaces between them. The structural ones are always known. */
  readonly keywords: string
  /** The formats that are sent. Absent: all of them. */
  readonly formats?: string
  /** The types whose values can be listed in `enum`. */
  readonly enums: string
  /** Whether a schema may leave the type open. */
  readonly any: boolean
  /** Whether objects are sent with `additionalProperties: false` and all lists of `required`. */
  readonly closed: boolean
  /** A property that may be left out: sent so, or as a required one that may be `null`. */
  readonly optional: 'kept' | 'nullable'
  /** Objects with keys of any name: sent so, or in another form. */
  readonly maps: 'kept' | 'refused' | OtherForm
  /** Lists with a schema for each position: sent so, or in another form. */
  readonly tuples: 'kept' | 'refused' | OtherForm
  /** A schema that contains itself: anywhere, or inside a property that may be left out. */
  readonly recursion: 'kept' | 'optional' | 'refused'
  /** Whether the root of an answer must be an object. The root of a tool's arguments always is. */
  readonly objectRoot: boolean
  /** What a lowered schema has too much of for the provider to enforce it. */
  readonly excess?: (schema: JsonObject) => string | undefined
  /** The last step: the schema in the words of the provider. */
  readonly finish?: (schema: JsonObject) => JsonObject
}

/**
 * Writes the schema of a value that the dialect cannot express as the schema of another value, and marks it with the way
 * back. A form is a function, so that a program has only the forms of its providers.
 */
export type OtherForm = (schema: JsonObject, result: Draft, at: Position) => void

/** What a schema is for, and where it is in the request. */
export interface SchemaPlace {
  /** The name in errors. */
  readonly provider?: string | undefined
  /** As in code: `tools[0].schema`. */
  readonly path?: string | undefined
  /** The arguments of a tool are always an object. An answer is any value. */
  readonly use?: 'tool' | 'answer' | undefined
}

/** A schema as it is sent, and the way back from the values that a model writes by it. */
export interface LoweredSchema {
  readonly schema: JsonObject
  /** Whether the provider can be told to enforce it. */
  readonly strict: boolean
  /** Whether the value is the member `value` of an object, because the provider takes only an object at the root. */
  readonly wrapped: boolean
  /** Why it is not strict: the path of the part that cannot be expressed, and what it is. */
  readonly warnings: readonly { readonly path: string; readonly problem: string }[]
  /**
   * The value that the original schema describes, from one in the lowered form. Absent when both forms are the same.
   *
   * A `null` is dropped, in every form, only from a property that may be left out and does not itself allow `null`: models
   * write it also where the schema that they were sent does not. A value that is not in the lowered form is returned as it is.
   */
  readonly restore?: (value: JsonValue) => JsonValue
}

function warningOf({ message, metadata }: AdapterError): LoweredSchema['warnings'][number] {
  const { path, problem } = metadata
  return {
    path: typeof path === 'string' ? path : '',
    problem: typeof problem === 'string' ? problem : message,
  }
}

/** The state of one lowering. */
export interface Walk {
  readonly dialect: SchemaDialect
  /** The lowered schemas that contain themselves, by name. */
  readonly defs: Record<string, JsonObject>
  /** The lowered schemas whose values have another form than the original's. */
  readonly marks: Map<JsonObject, WayBack>
  /** Leads back from all of these forms. The forms bring it. */
  restored?: (schema: JsonObject, value: JsonValue, walk: Walk) => JsonValue
  nodes: number
}

/** The value in the original's form. Its members are in that form already; `given` is the value as the model wrote it. */
type WayBack = (value: JsonValue, given: JsonValue) => JsonValue

export type Position = SchemaPosition & { readonly walk: Walk }

/** A lowered schema under way. */
export type Draft = Record<string, JsonValue>

function newWalk(dialect: SchemaDialect): Walk {
  return { dialect, defs: {}, marks: new Map(), nodes: 0 }
}

function strictSchema(schema: JsonObject, use: 'tool' | 'answer', at: Position): LoweredSchema {
  const { walk } = at
  const { dialect, defs } = walk
  const source = use === 'tool' && isUntyped(schema) ? { ...schema, type: 'object' } : schema
  const inner = lower(source, at)
  const isObjectRoot = inner['type'] === 'object' && inner['anyOf'] === undefined
  const wrapped = !isObjectRoot && (use === 'tool' || dialect.objectRoot)
  const outer = wrapped ? wrapper(inner) : inner
  const root = Object.keys(defs).length === 0 ? outer : { ...outer, $defs: defs }
  const excess = dialect.excess?.(root)
  if (excess !== undefined) throw unsupported(at, excess)
  const lowered = {
    schema: dialect.finish?.(root) ?? root,
    strict: dialect.closed,
    wrapped,
    warnings: [],
  }
  const { restored } = walk
  const unmarked = restored && ((value: JsonValue): JsonValue => restored(inner, value, walk))
  return { ...lowered, ...wayBack(schema, wrapped, unmarked) }
}

/** The function `restore` of a lowered schema, where both forms are not the same. */
function wayBack(
  schema: JsonObject,
  wrapped: boolean,
  unmarked?: (value: JsonValue) => JsonValue,
): Pick<LoweredSchema, 'restore'> {
  const steps = [unmarked, absentNulls(schema)].filter((step) => step !== undefined)
  if (!wrapped && steps.length === 0) return {}
  return {
    restore(value) {
      const bare = wrapped ? unwrapped(value) : value
      return bare === undefined ? value : steps.reduce((rest, step) => step(rest), bare)
    },
  }
}

/** A schema in the plain form: as it is, but with an object at the root and without patterns that look around. */
function plainSchema(
  schema: JsonObject,
  use: 'tool' | 'answer',
  at: SchemaPosition,
): LoweredSchema {
  const root = plainRoot(schema, use, at)
  const wrapped = root === undefined
  const { $defs, definitions, ...value } = schema
  const outer = root ?? defined<JsonObject>({ ...wrapper(value), $defs, definitions })
  return {
    schema: plainNode(outer, wrapped),
    strict: false,
    wrapped,
    warnings: [],
    ...wayBack(schema, wrapped),
  }
}

/** The root, if its values are objects and it can be written without choices. */
function plainRoot(
  schema: JsonObject,
  use: 'tool' | 'answer',
  at: SchemaPosition,
): JsonObject | undefined {
  try {
    const flat = flatten(schema, { ...at, refs: [] }).schema
    const types = typesOf(flat['type'])
    const isObjectRoot =
      types.length === 0
        ? isUntyped(flat) && (use === 'tool' || 'properties' in flat)
        : types.length === 1 && types[0] === 'object'
    if (isObjectRoot && !hasAny(flat, 'anyOf oneOf enum const not if')) {
      return { ...flat, type: 'object' }
    }
  } catch {
    // It cannot be written in one piece.
  }
  return undefined
}

/** Whether a schema says nothing about the type of its values. */
function isUntyped(schema: JsonObject): boolean {
  return !hasAny(schema, 'type anyOf oneOf allOf $ref enum const items prefixItems')
}

/** Whether a schema has one of these keywords. */
function hasAny(schema: JsonObject, keywords: string): boolean {
  return keywords.split(' ').some((key) => key in schema)
}

function wrapper(value: JsonObject): Draft {
  return {
    type: 'object',
    properties: { value },
    required: ['value'],
    additionalProperties: false,
  }
}

function unwrapped(value: JsonValue): JsonValue | undefined {
  return isObject(value) && Object.keys(value).length === 1 ? value['value'] : undefined
}

const memberKeywords = new Set(['properties', 'patternProperties', '$defs', 'definitions'])

/** Keywords whose values are not schemas. */
const dataKeywords: ReadonlySet<string> = new Set(
  'enum const default examples example required type'.split(' '),
)

/** A copy of a schema in the plain form. When it is wrapped, references to its root move with it. */
function plainNode(node: JsonObject, wrapped: boolean): JsonObject {
  const result: Draft = {}
  const moved: string[] = []
  const visit = (value: JsonValue): JsonValue => {
    if (isList(value)) return value.map(visit)
    return isObject(value) ? plainNode(value, wrapped) : value
  }
  for (const [key, value] of Object.entries(node)) {
    if (key === '$schema') continue
    if (key === 'pattern' && looksAround(value)) {
      // A format says the same in one word.
      if (node['format'] === undefined) moved.push(told(key, value))
    } else if (key === '$ref' && typeof value === 'string' && wrapped) {
      result[key] = value.replace(/^#(?!\/(?:\$defs|definitions)\/)/, '#/properties/value')
    } else if (memberKeywords.has(key) && isObject(value)) {
      result[key] = mapMembers(value, visit)
    } else result[key] = dataKeywords.has(key) ? value : visit(value)
  }
  const isArray = typesOf(node['type']).includes('array')
  if (isArray && !('items' in node || 'prefixItems' in node)) result['items'] = {}
  describe(result, moved)
  return result
}

/** Whether a pattern looks ahead or behind, or refers back to a group: the engines of the providers cannot. */
function looksAround(pattern: JsonValue): boolean {
  return typeof pattern === 'string' && /\(\?<?[=!]|\\[1-9]|\\k</.test(pattern)
}

function told(key: string, value: JsonValue): string {
  return `${key}: ${JSON.stringify(value)}`
}

/** Adds the keywords that cannot be sent to the description. */
function describe(schema: Draft, moved: readonly string[]): void {
  if (moved.length === 0) return
  const { description } = schema
  const lead = typeof description === 'string' ? `${description}\n\n` : ''
  schema['description'] = `${lead}{${moved.join(', ')}}`
}

/** Keywords that no dialect has a word for, and that say more than a description can. */
const refused = ['not', 'if', 'patternProperties', 'dependentSchemas', '$dynamicRef']

/** Keywords that only narrow a value, or explain it. */
const narrowing: ReadonlySet<string> = new Set(
  `default examples pattern format minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength minItems
  maxItems uniqueItems contains minContains maxContains minProperties maxProperties dependentRequired unevaluatedItems
  unevaluatedProperties contentEncoding contentMediaType`.split(/\s+/),
)

/** References that are resolved can multiply. A schema with more nodes than this is refused. */
const maxNodes = 5000

export function lower(node: JsonValue | undefined, at: Position): Draft {
  const { walk } = at
  walk.nodes++
  if (walk.nodes > maxNodes) throw unsupported(at, 'is too large with its references resolved')
  const { schema, at: inner } = flatten(node, at)
  if (typeof schema['$ref'] === 'string') return reference(schema['$ref'], at)
  for (const key of refused) if (key in schema) throw unsupported(at, `uses ${key}`)
  if (hasAny(schema, 'anyOf oneOf')) return choices(schema, inner)
  const values = listedValues(schema, at)
  if (values !== undefined && values.length > 1) {
    const { enum: _enum, const: _const, ...rest } = schema
    const anyOf = values.map((list): JsonObject => ({ enum: list }))
    return choices({ ...rest, anyOf }, inner)
  }
  return single(schema, values?.[0], inner)
}

/** A schema without choices. */
function single(schema: JsonObject, values: readonly JsonValue[] | undefined, at: Position): Draft {
  const { dialect } = at.walk
  const types = knownTypes(schema, values, dialect)
  const isOpen = types.length === 0
  if (isOpen && !dialect.any) throw unsupported(at, 'allows values of any type')
  const result: Draft = {}
  const [type = ''] = types
  if (!isOpen) result['type'] = types.length === 1 ? type : types
  const { minItems: _least, maxItems: _most, ...unbounded } = schema
  const isMembers = 'prefixItems' in schema && typeof dialect.tuples === 'function'
  const moved = copyKeywords(isMembers ? unbounded : schema, result, dialect)
  if (values !== undefined) {
    if (has(dialect.enums, typeOf(values[0] ?? null))) result['enum'] = values
    else if (type !== 'null' && !(type === 'boolean' && values.length > 1)) {
      moved.push(told('enum', values))
    }
  }
  describe(result, moved)
  if (types.includes('array') || (isOpen && hasItems(schema))) addItems(schema, result, at)
  if (types.includes('object') || (isOpen && hasMembers(schema))) addProperties(schema, result, at)
  return result
}

function hasMembers(schema: JsonObject): boolean {
  return hasAny(schema, 'properties additionalProperties required')
}

function hasItems(schema: JsonObject): boolean {
  return hasAny(schema, 'items prefixItems')
}

/** A reference to a schema that contains itself. That schema is lowered once more, as a definition. */
function reference(pointer: string, at: Position): Draft {
  const { walk, path, refs } = at
  const { dialect, defs } = walk
  const passed = refs.find((ref) => ref.pointer === pointer)?.passed
  if (dialect.recursion !== 'kept' && dialect.recursion !== passed) {
    const way =
      dialect.recursion === 'optional'
        ? ', which is possible only inside a property that may be left out'
        : ''
    throw unsupported(at, `is recursive: ${JSON.stringify(pointer)} contains itself${way}`)
  }
  const name =
    pointer === '#'
      ? 'root'
      : pointer.slice(2).replaceAll(/^\$defs\/|\W/g, (text) => (text.length > 1 ? '' : '_'))
  if (!Object.hasOwn(defs, name)) {
    // Until it is lowered, nothing fits it.
    defs[name] = { enum: [] }
    const inner: Position = { ...at, path, refs: [{ pointer, passed: 'nothing' }] }
    defs[name] = lower(resolve(pointer, at).target, inner)
  }
  return { $ref: `#/$defs/${name}` }
}

/** Choices. What is said beside them holds for each. */
function choices(schema: JsonObject, at: Position): Draft {
  const { anyOf, oneOf, ...rest } = schema
  if (anyOf !== undefined && oneOf !== undefined) throw unsupported(at, 'has anyOf and oneOf')
  const shared = constraintsOf(rest)
  const isShared = Object.keys(shared).length > 0
  const drafts = listOf(anyOf ?? oneOf).flatMap((choice, index) => {
    const lowered = lower(
      isShared ? { allOf: [shared, choice] } : choice,
      inside(at, 'nothing', 'anyOf', index),
    )
    const isChoice = Object.keys(lowered).length === 1 && isList(lowered['anyOf'])
    return isChoice ? (lowered['anyOf'] as Draft[]) : [lowered]
  })
  const [only] = drafts
  if (only === undefined) throw unsupported(at, 'allows no value')
  const result: Draft = drafts.length === 1 ? only : { anyOf: drafts }
  if ('$ref' in result) return result
  const said = Object.fromEntries(Object.entries(rest).filter(([key]) => annotations.has(key)))
  describe(result, copyKeywords(said, result, at.walk.dialect))
  return result
}

/** The values of `enum` or `const`, one list for each type. */
function listedValues(
  schema: JsonObject,
  at: Position,
): readonly (readonly JsonValue[])[] | undefined {
  const { enum: list, const: constant } = schema
  const values = constant === undefined ? list : [constant]
  if (!isList(values)) return undefined
  const groups = new Map<string, JsonValue[]>()
  for (const value of values) {
    const type = typeOf(value)
    if (type === 'object' || type === 'array') {
      throw unsupported(at, 'lists an object or array as a value')
    }
    if (hasType(value, typesOf(schema['type']))) {
      const group = groups.get(type)
      if (group === undefined) groups.set(type, [value])
      else group.push(value)
    }
  }
  if (groups.size === 0) throw unsupported(at, 'allows no value')
  return [...groups.values()]
}

/** The types of a schema. Without `type` they are those of its values, or are told by its members. */
function knownTypes(
  schema: JsonObject,
  values: readonly JsonValue[] | undefined,
  dialect: SchemaDialect,
): readonly string[] {
  const types = typesOf(schema['type'])
  if (values !== undefined) {
    const type = typeOf(values[0] ?? null)
    if (type !== 'number' || types.includes(type)) return [type]
    return values.every((value) => Number.isInteger(value)) ? ['integer'] : [type]
  }
  if (types.length > 0 || dialect.any) return types
  if (hasMembers(schema)) return ['object']
  return hasItems(schema) ? ['array'] : []
}

function has(words: string, word: string): boolean {
  return words.split(' ').includes(word)
}

/** Copies the keywords that the dialect has. Returns those that move into the description. */
function copyKeywords(
  schema: JsonObject,
  result: Draft,
  { keywords, formats }: SchemaDialect,
): string[] {
  const moved: string[] = []
  const { format } = schema
  const hasFormat = typeof format === 'string' && (formats === undefined || has(formats, format))
  for (const [key, value] of Object.entries(schema)) {
    const isKnown =
      key === 'format'
        ? hasFormat
        : key === 'description' ||
          (has(keywords, key) && !(key === 'pattern' && looksAround(value)))
    if (isKnown) result[key] = value
    else if (
      key === 'propertyNames'
        ? isObject(value) && !('enum' in value) && 'pattern' in value
        : narrowing.has(key) && !isImplied(key, value, hasFormat)
    ) {
      moved.push(told(key, value))
    }
  }
  return moved
}

/** Whether a keyword goes without saying: the pattern of a format that is sent, and the bounds of every safe integer. */
function isImplied(key: string, value: JsonValue, hasFormat: boolean): boolean {
  return key === 'pattern' ? hasFormat : Math.abs(Number(value)) === Number.MAX_SAFE_INTEGER
}

/** The items of a list, or the positions of a tuple. */
function addItems(schema: JsonObject, result: Draft, at: Position): void {
  const { dialect } = at.walk
  const { positions, rest } = itemsOf(schema)
  if (positions !== undefined) {
    if (dialect.tuples === 'refused') throw unsupported(at, 'is a tuple')
    if (dialect.tuples !== 'kept') {
      dialect.tuples(schema, result, at)
      return
    }
    result['prefixItems'] = lowerPositions(positions, at)
    if (rest === false) result['maxItems'] ??= positions.length
  }
  if (rest !== undefined && rest !== false) {
    result['items'] = lower(rest, inside(at, 'member', 'items'))
  } else if (positions === undefined && !dialect.any) {
    throw unsupported(at, 'is a list of values of any type')
  }
}

export function lowerPositions(positions: readonly JsonValue[], at: Position): readonly Draft[] {
  return positions.map((item, index) => lower(item, inside(at, 'member', 'prefixItems', index)))
}

/** Adds the properties of an object, in the way of the dialect. */
export function addMembers(
  result: Draft,
  properties: JsonObject,
  required: readonly string[],
  { closed }: SchemaDialect,
): void {
  result['properties'] = properties
  if (closed || required.length > 0) result['required'] = required
  if (closed) result['additionalProperties'] = false
}

/** The properties of an object. An object that names properties and says nothing about others has no others. */
function addProperties(schema: JsonObject, result: Draft, at: Position): void {
  const { dialect } = at.walk
  const { additionalProperties, propertyNames, properties: own } = schema
  const listed = isObject(propertyNames) ? propertyNames['enum'] : undefined
  const required = listOf(schema['required']).filter((name) => typeof name === 'string')
  const others = additionalProperties ?? (own === undefined && listed === undefined)
  const named = namedProperties(schema, [...listOf(listed), ...required])
  const names = Object.keys(named)
  const needed = new Set(required)
  if (others !== false && listed === undefined && dialect.maps !== 'kept') {
    if (names.length > 0) throw unsupported(at, 'may have properties of other names')
    if (dialect.maps === 'refused' || others === true) {
      throw unsupported(at, 'has properties of any name')
    }
    dialect.maps(schema, result, at)
    return
  }
  const properties = mapMembers(named, (value, name) => {
    const isRequired = needed.has(name)
    const passed = isRequired ? 'member' : 'optional'
    const lowered = lower(value, inside(at, passed, 'properties', name))
    if (isRequired || dialect.optional === 'kept' || fitsLowered(lowered, null, at.walk)) {
      return lowered
    }
    return nullable(lowered, at.walk)
  })
  if (names.length > 0 || dialect.closed) {
    const isNamed = (name: string): boolean => Object.hasOwn(named, name)
    const all = dialect.optional === 'nullable' ? names : required.filter(isNamed)
    addMembers(result, properties, all, dialect)
  }
  if (dialect.closed) return
  if (listed !== undefined || typeof additionalProperties === 'boolean') {
    result['additionalProperties'] = listed === undefined && others
  } else if (additionalProperties !== undefined) {
    const spot = inside(at, 'member', 'additionalProperties')
    result['additionalProperties'] = lower(additionalProperties, spot)
  }
}

/** The properties that are named, in `properties` or otherwise. */
function namedProperties(schema: JsonObject, names: readonly JsonValue[]): JsonObject {
  const { properties, additionalProperties = true } = schema
  const own = isObject(properties) ? properties : {}
  if (additionalProperties === false) return own
  const named = names.filter((name) => typeof name === 'string')
  const others = Object.fromEntries(named.map((name) => [name, additionalProperties]))
  // Its own properties come first, and are its own.
  return { ...own, ...others, ...own }
}

function nullable(schema: Draft, walk: Walk): Draft {
  const { type, anyOf } = schema
  if (isList(anyOf)) return { ...schema, anyOf: [...anyOf, { type: 'null' }] }
  const isSimple = typeof type === 'string' && !('enum' in schema) && !walk.marks.has(schema)
  return isSimple ? { ...schema, type: [type, 'null'] } : { anyOf: [schema, { type: 'null' }] }
}

/** Whether a value has the form of a lowered schema. What only narrows a value is not looked at. */
export function fitsLowered(schema: JsonValue, value: JsonValue, { dialect, defs }: Walk): boolean {
  const way = { nulls: false, others: false, open: !dialect.closed }
  // Every choice is tried once, so nothing has to be bounded.
  return fits(schema, value, walkThrough({ $defs: defs }, -Infinity), way)
}
