/** One place in a value: the keys that lead to it. */
export type Place = readonly (string | number)[]

/** Every place in a value except the value itself: members and items at any depth. */
export function placesIn(value: unknown, at: Place = []): readonly Place[] {
  if (typeof value !== 'object' || value === null) return []
  const keys = Array.isArray(value) ? value.map((_, index) => index) : Object.keys(value)
  return keys.flatMap((key) => {
    const place = [...at, key]
    return [place, ...placesIn(Reflect.get(value, key), place)]
  })
}

/** A place in the form of an issue path: `messages[2].role`. */
export function pathOf(place: Place): string {
  let path = ''
  for (const key of place) {
    if (typeof key === 'number' || !/^[A-Za-z_$][\w$]*$/.test(key))
      path += `[${JSON.stringify(key)}]`
    else path += path === '' ? key : `.${key}`
  }
  return path
}

/** A copy of a value with another value in one place. */
export function corrupted(value: unknown, place: Place, replacement: unknown): unknown {
  const [key, ...rest] = place
  if (key === undefined) return replacement
  const copy: object = Array.isArray(value) ? [...value] : { ...(value as object) } // a place leads through objects only
  const inside = corrupted(Reflect.get(copy, key), rest, replacement)
  Object.defineProperty(copy, key, { value: inside, enumerable: true, writable: true })
  return copy
}

/** A copy of an object without one of its members. */
export function without(value: object, key: string): object {
  return Object.fromEntries(Object.entries(value).filter(([name]) => name !== key))
}
