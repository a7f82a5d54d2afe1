/** A value that survives `JSON.parse(JSON.stringify(value))` unchanged. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject

/** A JSON object. Keys that are absent are absent: never present with the value `undefined`. */
export interface JsonObject {
  readonly [key: string]: JsonValue
}

/** Parameters that only one provider knows, merged last into that provider's body. */
export interface ProviderOptions {
  readonly openai?: JsonObject
  readonly anthropic?: JsonObject
  readonly gemini?: JsonObject
  readonly [provider: string]: JsonObject | undefined
}
