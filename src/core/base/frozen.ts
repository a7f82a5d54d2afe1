import { setMember } from '../types/guards.ts'

/**
 * Plain data that nobody can change: the value itself if it is frozen all the way down, else a frozen copy. What the caller holds stays as
 * it is. Anything but lists and plain objects is left as it is.
 *
 * What a run keeps and callbacks see passes here, so that a callback that writes to it fails in its own code and changes nothing.
 */
export function frozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return frozenList(value) as T
  return isPlain(value) ? (frozenObject(value) as T) : value
}

function frozenList(list: readonly unknown[]): readonly unknown[] {
  let copy: unknown[] | undefined = Object.isFrozen(list) ? undefined : list.slice()
  for (let index = 0; index < list.length; index++) {
    const member = list[index]
    const kept = frozen(member)
    if (kept !== member) (copy ??= list.slice())[index] = kept
  }
  return copy === undefined ? list : Object.freeze(copy)
}

function frozenObject(value: Members): Members {
  let copy: Record<string, unknown> | undefined = Object.isFrozen(value)
    ? undefined
    : shallow(value)
  for (const key of Object.keys(value)) {
    const member = value[key]
    const kept = frozen(member)
    if (kept !== member) setMember((copy ??= shallow(value)), key, kept)
  }
  return copy === undefined ? value : Object.freeze(copy)
}

/**
 * The same as `{ ...value }`. On Node 20 every object that is made by a spread and then frozen has a hidden class of its own, and a thread of
 * such messages is read four times slower.
 */
function shallow(value: Members): Record<string, unknown> {
  // `Object.assign` would take such a member for a prototype.
  return Object.hasOwn(value, '__proto__') ? { ...value } : Object.assign({}, value)
}

type Members = Readonly<Record<string, unknown>>

function isPlain(value: object): value is Members {
  const proto: unknown = Object.getPrototypeOf(value)
  return proto === Object.prototype || proto === null
}

/** An object whose members are frozen, and that itself may be changed: an event that was folded is nobody's but its reader's. */
export function withFrozenMembers<T extends object>(value: T): T {
  let copy: T | undefined
  for (const key in value) {
    const member = value[key]
    if (typeof member !== 'object' || member === null) continue
    const kept = frozen(member)
    if (kept !== member) (copy ??= { ...value })[key] = kept
  }
  return copy ?? value
}

/** Events whose members are frozen. What the maker of an event holds stays its own. */
export function frozenEvents<Event extends { readonly type: string }>(
  batch: readonly Event[],
): readonly Event[] {
  let copy: Event[] | undefined
  for (let index = 0; index < batch.length; index++) {
    const event = batch[index]
    // Most events are deltas, and a delta has texts and numbers only.
    if (event === undefined || event.type.endsWith('_delta')) continue
    const kept = withFrozenMembers(event)
    if (kept !== event) (copy ??= batch.slice())[index] = kept
  }
  return copy ?? batch
}

/** A copy of plain data that its holder may change. Anything but lists and plain objects is left as it is. */
export function copyOf<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(copyOf) as T
  if (!isPlain(value)) return value
  const copy: Record<string, unknown> = {}
  for (const key of Object.keys(value)) setMember(copy, key, copyOf(value[key]))
  return copy as T
}
