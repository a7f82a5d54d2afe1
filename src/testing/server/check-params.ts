import { isObject } from '../../core/types/guards.ts'
import type { JsonObject, JsonValue } from '../../core/types/json.ts'

/** The kinds of JSON values that parameters have. */
export type ParamKind = 'string' | 'number' | 'integer' | 'boolean' | 'array' | 'object'

/** The parameters of an API and the kinds that each accepts. An empty list accepts any kind. */
export type ParamTable = Readonly<Record<string, readonly ParamKind[]>>

/** The error messages of an API about parameters. */
export interface ParamWords {
  unknown(name: string): RequestProblem
  wrongKind(name: string, expected: readonly ParamKind[], actual: string): RequestProblem
  /** Whether `null` is the same as leaving the parameter out. */
  readonly nullable: boolean
}

/** The problem of the first parameter that is unknown or of the wrong kind. */
export function paramProblem(
  body: JsonObject,
  table: ParamTable,
  words: ParamWords,
): RequestProblem | undefined {
  for (const [name, value] of Object.entries(body)) {
    const kinds = Object.hasOwn(table, name) ? table[name] : undefined
    if (kinds === undefined) return words.unknown(name)
    if (value === null && words.nullable) continue
    const kind = kindOf(value)
    const fits = kinds.length === 0 || kinds.some((wanted) => isOfKind(value, wanted))
    if (!fits) return words.wrongKind(name, kinds, kind)
  }
  return undefined
}

function isOfKind(value: JsonValue, wanted: ParamKind): boolean {
  const kind = kindOf(value)
  return kind === wanted || (wanted === 'number' && kind === 'integer')
}

/** The reason why a provider refuses a request. */
export interface RequestProblem {
  readonly message: string
  /** OpenAI: the parameter with the problem. */
  readonly param?: string
  /** OpenAI: the code of the refusal. */
  readonly code?: string
}

/** The first problem that a check finds in a list of items. */
export function firstProblem<Item>(
  items: Iterable<Item>,
  check: (item: Item, index: number) => RequestProblem | undefined,
): RequestProblem | undefined {
  let index = 0
  for (const item of items) {
    const problem = check(item, index++)
    if (problem !== undefined) return problem
  }
  return undefined
}

/** The kind of a JSON value. */
export function kindOf(value: JsonValue | undefined): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number'
  return typeof value
}

/** A value as text in a message. */
export function shown(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? 'undefined')
}

/** The items of a list, each as an object: an item of another kind becomes an empty object. Empty for any other value. */
export function objectsOf(value: JsonValue | undefined): readonly JsonObject[] {
  if (!Array.isArray(value)) return []
  return value.map((item: JsonValue) => objectOf(item))
}

/** The value if it is an object, else an empty object. */
export function objectOf(value: JsonValue | undefined): JsonObject {
  return isObject(value) ? value : {}
}
