/** A value that survives `JSON.parse(JSON.stringify(value))` unchanged. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject

/** A JSON object. An absent key is really absent, never present with the value `undefined`. */
export interface JsonObject {
  readonly [key: string]: JsonValue
}
