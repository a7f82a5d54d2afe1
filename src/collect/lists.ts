/** A copy of a list with one item replaced: `with`, at a tenth of its price. */
export function replaced<T>(list: readonly T[], at: number, item: T): readonly T[] {
  const copy = [...list]
  copy[at] = item
  return copy
}

/** A copy of a list with one item more. The first item is by far the most frequent; a spread would make room for many. */
export function appended<T>(list: readonly T[], item: T): readonly T[] {
  return list.length === 0 ? [item] : [...list, item]
}
