import type { JsonObject } from './json.ts'

/** A tool as the model sees it: plain data. The handler stays in the engine. */
export interface ToolSpec {
  /** 1 to 64 letters, digits, `_` or `-`; not `auto`, `none` or `required`. */
  readonly name: string
  readonly description: string
  /** JSON Schema of the arguments. */
  readonly schema: JsonObject
  /** Ask the provider to enforce the schema, where it can. */
  readonly strict?: boolean
}

/** Which tools the model may or must use: a mode, or the name of one tool. */
export type ToolChoice = 'auto' | 'none' | 'required' | (string & {})
