/** A value that survives `JSON.parse(JSON.stringify(value))` unchanged. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject

/** A JSON object. An absent key is really absent, never present with the value `undefined`. */
export interface JsonObject {
  readonly [key: string]: JsonValue
}

/** Parameters for one provider's API, merged last into the body of its requests. */
export interface ProviderOptions {
  readonly openai?: JsonObject
  readonly anthropic?: JsonObject
  readonly gemini?: JsonObject
  readonly [provider: string]: JsonObject | undefined
}
