import type { JsonObject, JsonValue } from './json.ts'

/** A tool invocation that the model asked for. */
export interface ToolCall {
  /** Unique within one response; the tool's result carries it back. */
  readonly id: string
  readonly name: string
  /** The decoded arguments; `{}` when `rawArguments` is not a JSON object. */
  readonly arguments: JsonObject
  /** The arguments as the model wrote them, also when they can not be parsed. */
  readonly rawArguments?: string
  /** What the provider wants echoed with this call, such as a thought signature. */
  readonly opaque?: JsonValue
}
