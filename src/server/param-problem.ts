import { kindOf } from './json-kind.ts'
import type { RequestProblem } from './request-problem.ts'
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
