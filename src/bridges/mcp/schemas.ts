import { targetOf } from '../../core/schema/flatten-schema.ts'
import { schemaIssues } from '../../core/schema/json-schema.ts'
import type { Issue } from '../../core/types/error-data.ts'
import { isObject } from '../../core/types/guards.ts'
import type { JsonObject, JsonValue } from '../../core/types/json.ts'

/** The most parts that a schema of a server may have when its references are followed. */
const mostParts = 20_000

/**
 * Why a schema of a server cannot be used, if it cannot. Checks and the renderers of providers follow references, so those that grow
 * without end, or lead elsewhere, are refused here.
 */
export function schemaProblem(schema: unknown): string | undefined {
  let problem = isObject(schema) ? undefined : 'must be a JSON Schema of an object'
  let parts = 0
  const walk = (node: unknown, refs: readonly unknown[]): void => {
    if (++parts > mostParts) problem = `has more than ${mostParts} parts`
    if (typeof node !== 'object' || node === null || problem !== undefined) return
    for (const [key, member] of Object.entries(node)) {
      walk(member, refs)
      if (key !== '$ref' || typeof member !== 'string') continue
      const target = targetOf(member, schema)?.target
      if (target === undefined) problem = `refers to ${member}, which is not in it`
      else if (!refs.includes(target)) walk(target, [...refs, target])
    }
  }
  walk(schema, [])
  return problem
}

/**
 * The problems of a value by a schema of somebody else. None of its regular expressions is run, which could take for ever: they are left out, and the
 * validator is told so too, because a reference may lead to what is data elsewhere, such as a `default`.
 */
export function foreignIssues(schema: JsonObject, value: unknown): readonly Issue[] {
  return schemaIssues(withoutPatterns(schema), value, false)
}

/** Whether a schema of a server can be used: it is an object, and its references end. */
export function isUsable(schema: unknown): schema is JsonObject {
  return schemaProblem(schema) === undefined
}

/**
 * A schema of somebody else by which values can be checked: without its regular expressions, which could take for ever. What the whole
 * schema takes, this one takes.
 */
function withoutPatterns(schema: JsonObject): JsonObject {
  return JSON.stringify(schema).includes('"pattern') ? looser(schema) : schema
}

/** The keywords that go: those with regular expressions, and those that refuse a value because a part of them takes it. */
const leftOut: ReadonlySet<string> = new Set([
  'pattern',
  'patternProperties',
  'not',
  'if',
  'maxContains',
  'unevaluatedProperties',
  'unevaluatedItems',
])

/** The keywords whose members are schemas by name. */
const named: ReadonlySet<string> = new Set(['properties', '$defs', 'definitions'])

/** The keywords whose values are data. */
const data: ReadonlySet<string> = new Set(['const', 'enum', 'default', 'examples'])

function looser(schema: JsonObject): JsonObject {
  const kept = Object.entries(schema).flatMap(([keyword, value]) => {
    if (leftOut.has(keyword)) return []
    // Which members are additional depends on the patterns of names.
    if (keyword === 'additionalProperties' && 'patternProperties' in schema) return []
    if (data.has(keyword)) return [[keyword, value] as const]
    if (keyword === 'oneOf')
      return 'anyOf' in schema ? [] : [['anyOf', looserParts(value)] as const]
    if (!named.has(keyword) || !isJsonObject(value)) return [[keyword, looserParts(value)] as const]
    const members = Object.entries(value).map(([name, part]) => [name, looserParts(part)] as const)
    return [[keyword, Object.fromEntries(members)] as const]
  })
  return Object.fromEntries(kept)
}

/** The value of a keyword, with the schemas in it. */
function looserParts(value: JsonValue): JsonValue {
  if (isJsonObject(value)) return looser(value)
  return typeof value === 'object' && value !== null ? value.map(looserParts) : value
}

function isJsonObject(value: JsonValue): value is JsonObject {
  return isObject(value)
}
