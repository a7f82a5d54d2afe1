/** Whether two JSON values are equal; the order of keys does not matter. */
export function sameJson(left: unknown, right: unknown): boolean {
  if (left === right) return true
  if (typeof left !== 'object' || typeof right !== 'object') return false
  if (left === null || right === null || Array.isArray(left) !== Array.isArray(right)) return false
  const keys = Object.keys(left)
  return (
    keys.length === Object.keys(right).length &&
    keys.every(
      (key) => Object.hasOwn(right, key) && sameJson(member(left, key), member(right, key)),
    )
  )
}

/** Whether a list holds no value twice. */
export function allDifferent(items: readonly unknown[]): boolean {
  const plain = new Set<unknown>()
  const others: unknown[] = []
  for (const item of items) {
    if (typeof item !== 'object' || item === null) {
      if (plain.has(item)) return false
      plain.add(item)
    } else {
      if (others.some((other) => sameJson(other, item))) return false
      others.push(item)
    }
  }
  return true
}

function member(value: object, key: string): unknown {
  return Reflect.get(value, key)
}
