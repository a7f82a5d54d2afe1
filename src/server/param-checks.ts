import type { JsonObject, JsonValue } from '../types/json.ts'

/** The kinds of JSON values that parameters have. */
export type ParamKind = 'string' | 'number' | 'integer' | 'boolean' | 'array' | 'object'

/** The parameters that an API knows, each with the kinds that it takes; an empty list takes any. */
export type ParamTable = Readonly<Record<string, readonly ParamKind[]>>

/** How an API words what is wrong with a parameter. */
export interface ParamWords {
  unknown(name: string): RequestProblem
  wrongKind(name: string, expected: readonly ParamKind[], actual: string): RequestProblem
  /** Whether `null` stands for a parameter that is left out. */
  readonly nullable: boolean
}

/** The first parameter that the API does not know, or that is of another kind than it takes. */
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

/** Why a provider refuses a request: its sentence, and what it names beside it. */
export interface RequestProblem {
  readonly message: string
  /** OpenAI: the parameter that is at fault. */
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

/** The name of a value's kind, as JSON has it. */
export function kindOf(value: JsonValue | undefined): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number'
  return typeof value
}

/** A value inside a sentence. */
export function shown(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? 'undefined')
}

/** The objects of a list; what is no object is an empty one, and what is no list has none. */
export function objectsOf(value: JsonValue | undefined): readonly JsonObject[] {
  if (!Array.isArray(value)) return []
  return value.map((item: JsonValue) => objectOf(item))
}

/** The value when it is an object, else an empty one. */
export function objectOf(value: JsonValue | undefined): JsonObject {
  // The kind was looked at, and a list is not of it.
  return kindOf(value) === 'object' ? (value as JsonObject) : {}
}
