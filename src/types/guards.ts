/** Ends a `switch` over a closed union: the compiler refuses it as long as a member is not handled. */
export function assertNever(value: never): never {
  throw new TypeError(`unexpected value: ${JSON.stringify(value)}`)
}

/** Every key may also hold `undefined`, as in an object literal with conditional values. */
type Loose<T> = { readonly [K in keyof T]: T[K] | undefined }

/**
 * Drops the keys whose value is `undefined`, so that optional fields are absent, not present and empty.
 *
 * The type is the one that was asked for: `defined<Usage>({ inputTokens: maybe })`.
 */
export function defined<T extends object>(fields: Loose<T>): T {
  const result: Record<string, unknown> = {}
  for (const key in fields) {
    const value = fields[key]
    if (value !== undefined) result[key] = value
  }
  // The keys that remain are exactly those of T that have a value.
  return result as T
}

/** Whether a value is an object, and not `null` or a list. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
