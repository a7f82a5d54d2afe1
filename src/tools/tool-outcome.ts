import type { ToolError } from '../errors/errors.ts'
import type { JsonObject } from '../types/json.ts'

/** How one tool call came out, before anything is encoded. */
export type ToolOutcome =
  | { readonly type: 'value'; readonly value: unknown }
  | { readonly type: 'ask_user'; readonly question: string; readonly options: JsonObject }
  | { readonly type: 'halt'; readonly reason: string; readonly result: unknown }
  | { readonly type: 'error'; readonly error: ToolError }
