import type { JsonObject, JsonValue } from '../data/json.ts'

/** Tells an outcome from a value that merely looks like one. */
export const outcomeBrand: unique symbol = Symbol.for('allm-ts.outcome')

/** What a handler may answer instead of a value. Made by `askUser`, `halt` and `fail`. */
export type HandlerOutcome =
  | {
      readonly [outcomeBrand]: true
      readonly type: 'ask_user'
      readonly question: string
      readonly options: JsonObject
    }
  | {
      readonly [outcomeBrand]: true
      readonly type: 'halt'
      readonly reason: string
      readonly result: unknown
    }
  | { readonly [outcomeBrand]: true; readonly type: 'fail'; readonly reason: JsonValue }
