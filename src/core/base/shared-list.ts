/**
 * A list that is never changed. A list with one more item, or with another item in its place, shares the rest with the list before.
 *
 * Both cost a few short copies, however long the list is. It is plain data.
 */
export interface SharedList<T> {
  readonly length: number
  /** How many branches are above an item. */
  readonly height: number
  readonly root: Branch<T>
}

/** Items, or branches of the height below. */
type Branch<T> = readonly (T | Branch<T>)[]

/** How many items or branches a branch has. */
const width = 32

/** A list without items. */
export const noItems: SharedList<never> = { length: 0, height: 0, root: [] }

/** A list of these items. */
export function sharedList<T>(items: readonly T[]): SharedList<T> {
  let list: SharedList<T> = noItems
  for (const item of items) list = withItem(list, list.length, item)
  return list
}

/** The list with an item at a place, which is one of its own or the one behind its end. */
export function withItem<T>(list: SharedList<T>, at: number, item: T): SharedList<T> {
  let { root, height } = list
  if (at === width ** (height + 1)) {
    root = [root]
    height++
  }
  return { length: Math.max(list.length, at + 1), height, root: placed(root, height, at, item) }
}

function placed<T>(branch: Branch<T>, height: number, at: number, item: T): Branch<T> {
  const copy = branch.slice()
  const slot = slotOf(height, at)
  // Above the lowest height there are branches only.
  copy[slot] = height === 0 ? item : placed((branch[slot] ?? []) as Branch<T>, height - 1, at, item)
  return copy
}

function slotOf(height: number, at: number): number {
  return Math.floor(at / width ** height) % width
}

/** The item at a place, if there is one. */
export function itemAt<T>({ root, height }: SharedList<T>, at: number): T | undefined {
  let branch: Branch<T> | undefined = root
  // As above: branches, and items at the lowest height.
  for (let above = height; above > 0; above--) {
    branch = branch?.[slotOf(above, at)] as Branch<T> | undefined
  }
  return branch?.[slotOf(0, at)] as T | undefined
}

/** All items, as a list of its own. */
export function itemsOf<T>({ root, height }: SharedList<T>): readonly T[] {
  let items: readonly unknown[] = root
  for (let above = height; above > 0; above--) items = items.flat()
  // Every branch was opened.
  return items as readonly T[]
}

/** The place of the last item with a key, if there is one. A list is searched once, whatever is looked for in it and in those that are made of it. */
export function placeOf<T>(
  list: SharedList<T>,
  key: string,
  keyOf: (item: T) => string,
): number | undefined {
  if (list.height > 0) return placesIn(list, keyOf).get(key)
  // Of a short list nothing is remembered: to look is cheaper.
  const at = (list.root as readonly T[]).findLastIndex((item) => keyOf(item) === key)
  return at < 0 ? undefined : at
}

/** `withItem` for a list whose items are looked for by their keys. */
export function withKeyed<T>(
  list: SharedList<T>,
  at: number,
  item: T,
  keyOf: (item: T) => string,
): SharedList<T> {
  const next = withItem(list, at, item)
  if (next.height === 0) return next
  const places = placesIn(list, keyOf)
  // From here on they are the places of the new list. Those of the old one are found again if anybody asks.
  known.delete(list)
  known.set(next, places.set(keyOf(item), at))
  return next
}

function placesIn<T>(list: SharedList<T>, keyOf: (item: T) => string): Map<string, number> {
  let places = known.get(list)
  if (places === undefined) {
    places = new Map(itemsOf(list).map((item, at) => [keyOf(item), at]))
    // All lists without items are one.
    if (list.length > 0) known.set(list, places)
  }
  return places
}

const known = /* @__PURE__ */ new WeakMap<object, Map<string, number>>()
