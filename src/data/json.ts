/** A value that survives `JSON.parse(JSON.stringify(value))` unchanged. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject

/** A JSON object. Keys that are absent are absent: never present with the value `undefined`. */
export interface JsonObject {
  readonly [key: string]: JsonValue
}
