import { sameJson } from '../../core/schema/json-schema.ts'
import { isObject } from '../../core/types/guards.ts'
import { show } from './demands.ts'

/**
 * Reads what an adapter sent without knowing its format: a request is a tree of values, and the kit looks for its own words in
 * it. Every text of a request is a word that occurs nowhere else, so its place tells what the adapter made of it.
 */
export interface Sent {
  readonly tree: unknown
  /** Every scalar, in the order of the document. */
  readonly leaves: readonly Leaf[]
}

/** A scalar and its path. */
export interface Leaf {
  readonly path: readonly string[]
  readonly value: unknown
}

/**
 * What was sent, with JSON inside of texts read as well: some formats have bodies and arguments as text. Left out are headers,
 * which differ from call to call and hold no part of a request, and what a record may have of the answer.
 */
export function readSent(record: unknown): Sent {
  const tree = unpacked(Array.isArray(record) ? record.map(requestPart) : requestPart(record))
  return { tree, leaves: leavesOf(tree, []) }
}

function requestPart(record: unknown): unknown {
  if (!isObject(record)) return record
  const members = Object.entries(record).filter(
    ([key]) => !/^(?:headers|status|number)$/i.test(key),
  )
  return Object.fromEntries(members)
}

function unpacked(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(unpacked)
  if (isObject(value))
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, unpacked(member)]))
  if (typeof value !== 'string' || !/^\s*[[{]/.test(value)) return value
  try {
    return unpacked(JSON.parse(value))
  } catch {
    return value
  }
}

function leavesOf(value: unknown, path: readonly string[]): readonly Leaf[] {
  if (Array.isArray(value) || isObject(value)) {
    return Object.entries(value).flatMap(([key, member]) => leavesOf(member, [...path, key]))
  }
  return [{ path, value }]
}

/** Where a text is: the number of its leaf, and its place in it. */
export interface Place {
  readonly leaf: number
  readonly offset: number
}

/** Every place of a text. */
export function placesOf({ leaves }: Sent, text: string): readonly Place[] {
  const places: Place[] = []
  for (const [leaf, { value }] of leaves.entries()) {
    if (typeof value !== 'string') continue
    for (
      let offset = value.indexOf(text);
      offset !== -1;
      offset = value.indexOf(text, offset + 1)
    ) {
      places.push({ leaf, offset })
    }
  }
  return places
}

/** Whether a place comes before another. */
export function isBefore(left: Place, right: Place): boolean {
  return left.leaf < right.leaf || (left.leaf === right.leaf && left.offset < right.offset)
}

/**
 * The largest part of the tree that has a place and none of the others, as its leaves with their paths in it. `undefined` when
 * the leaf of the place has one of the others too.
 */
export function surroundings(
  { leaves }: Sent,
  place: Place,
  others: readonly Place[],
): readonly Leaf[] | undefined {
  const path = leaves[place.leaf]?.path ?? []
  for (let depth = 0; depth <= path.length; depth++) {
    const root = path.slice(0, depth)
    const isInside = (leaf: Leaf | undefined): boolean =>
      leaf !== undefined && root.every((key, at) => leaf.path[at] === key)
    if (others.some((other) => isInside(leaves[other.leaf]))) continue
    return leaves
      .filter(isInside)
      .map(({ path: whole, value }) => ({ path: whole.slice(depth), value }))
  }
  return undefined
}

/** Every object and list of a tree, the tree itself included. */
export function nodesOf(tree: unknown): readonly unknown[] {
  if (!Array.isArray(tree) && !isObject(tree)) return []
  return [tree, ...Object.values(tree).flatMap(nodesOf)]
}

/** A change between two trees. */
export interface Change {
  readonly path: string
  readonly before?: unknown
  readonly after?: unknown
}

/** The leaves that differ between two records of calls. */
export function changesOf(before: Sent, after: Sent): readonly Change[] {
  const old = byPath(before)
  const now = byPath(after)
  const changes: Change[] = []
  for (const [path, value] of now) {
    if (!old.has(path)) changes.push({ path, after: value })
    else if (!sameJson(old.get(path), value))
      changes.push({ path, before: old.get(path), after: value })
  }
  for (const [path, value] of old) if (!now.has(path)) changes.push({ path, before: value })
  return changes
}

function byPath({ leaves }: Sent): ReadonlyMap<string, unknown> {
  return new Map(leaves.map(({ path, value }) => [path.join('.'), value]))
}

/** Where two values first differ, in one line, such as `.messages[0].content is "b", not "a"`. `undefined` when they are equal. */
export function differenceOf(wanted: unknown, given: unknown, path = ''): string | undefined {
  if (sameJson(wanted, given)) return undefined
  const areLists = Array.isArray(wanted) && Array.isArray(given)
  if (areLists || (isObject(wanted) && isObject(given))) {
    const [left, right] = [Object.entries(wanted), new Map(Object.entries(given))]
    for (const [key, member] of left) {
      const at = areLists ? `${path}[${key}]` : `${path}.${key}`
      if (!right.has(key)) return `${at} is missing`
      const difference = differenceOf(member, right.get(key), at)
      if (difference !== undefined) return difference
    }
    const known = new Set(left.map(([key]) => key))
    const more = [...right.keys()].find((key) => !known.has(key))
    if (more !== undefined)
      return `${areLists ? `${path}[${more}]` : `${path}.${more}`} is one too many: ${show(right.get(more))}`
  }
  return `${path} is ${show(JSON.stringify(given))}, not ${show(JSON.stringify(wanted))}`
}
