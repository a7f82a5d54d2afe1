/**
 * An object whose maker writes what others only read.
 *
 * An object that is made for each call has such fields instead of getters: V8 makes a hidden class for every object literal with a getter, and
 * keeps it, with all that the getter refers to, until its next full collection.
 */
export type Written<T> = { -readonly [K in keyof T]: T[K] }

/** Ends a `switch` over a closed union: it does not compile while a member is not handled. */
export function assertNever(value: never): never {
  throw new TypeError(`unexpected value: ${JSON.stringify(value)}`)
}

/** Every key may also hold `undefined`, as in an object literal with conditional values. */
type Loose<T> = { readonly [K in keyof T]: T[K] | undefined }

/**
 * Drops the keys whose value is `undefined`, so that optional fields are absent, not present and empty.
 *
 * Name the type at the call: `defined<Usage>({ inputTokens: maybe })`.
 */
export function defined<T extends object>(fields: Loose<T>): T {
  const result: Record<string, unknown> = {}
  for (const key in fields) {
    const value = fields[key]
    if (value !== undefined) setMember(result, key, value)
  }
  // The keys that remain are exactly those of T that have a value.
  return result as T
}

/**
 * `{ ...first, ...second }` for objects whose keys are known, of which every call makes some: on Node 20 each key that comes after a spread in a
 * literal makes a hidden class of its own, which costs a microsecond and stays until the next full collection.
 */
export function merged<First extends object, Second extends object>(
  first: First,
  second: Second,
): Omit<First, keyof Second> & Second {
  return Object.assign({}, first, second)
}

/** Sets a member whose name comes from outside: one named `__proto__` becomes a member like any other. */
export function setMember<T>(target: Record<string, T>, name: string, value: T): void {
  if (name !== '__proto__') target[name] = value
  else {
    const member = { value, writable: true, enumerable: true, configurable: true }
    Object.defineProperty(target, name, member)
  }
}

/** Whether a value is an object: not `null`, not an array. Class instances count; see `isPlainObject` for those that do not. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The JSON value in a text; `undefined` if the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/**
 * `JSON.parse` without the members named `__proto__`, which `Object.assign({}, value)` would take for a prototype.
 *
 * Nearly no text can have one, which is seen without looking at the value.
 */
export function parseWithoutProto(text: string): unknown {
  const value: unknown = JSON.parse(text)
  if (!/__proto__|\\u00(?:5f|6f|7[024])/i.test(text)) return value
  // Not by recursion: nothing bounds how deep the value is.
  const open: unknown[] = [value]
  while (open.length > 0) {
    const next = open.pop()
    if (typeof next !== 'object' || next === null) continue
    Reflect.deleteProperty(next, '__proto__')
    for (const member of Object.values(next)) {
      if (typeof member === 'object' && member !== null) open.push(member)
    }
  }
  return value
}

/** The keys of a table, typed. With `keysOf<T>({ … })` the list holds every key of `T`, or it does not compile. */
export function keysOf<T extends object>(table: Readonly<Record<keyof T, unknown>>): (keyof T)[] {
  // `Object.keys` returns string[]; the keys of the table are those of T.
  return Object.keys(table) as (keyof T)[]
}

/** Whether a value is a promise or anything that `await` would treat as one. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    ((typeof value === 'object' && value !== null) || typeof value === 'function') &&
    'then' in value &&
    typeof value.then === 'function'
  )
}
