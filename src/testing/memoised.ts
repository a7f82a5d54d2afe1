/** The same function, which works once for each object that it is given. */
export function memoised<Key extends object, Value>(
  work: (key: Key) => Value,
): (key: Key) => Value {
  const known = new Map<Key, Value>()
  return (key) => {
    const found = known.get(key)
    if (found !== undefined) return found
    const value = work(key)
    known.set(key, value)
    return value
  }
}
