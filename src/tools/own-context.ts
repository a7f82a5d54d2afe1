import type { EngineContext } from '../contracts/engine.ts'
import { isPlainObject } from '../schema/checks.ts'
import { setMember } from '../types/guards.ts'

/**
 * A context that its holder may change without being seen by anybody else: objects and lists of data are copied, at any depth.
 *
 * Handles are shared: instances of classes, functions, and objects with methods.
 */
export function ownContext(context: EngineContext): EngineContext {
  const copies = new Map<unknown, Record<string, unknown>>()
  const copyOf = (value: unknown): unknown => {
    if (!isData(value)) return value
    // The index of a list is a name too.
    return copies.get(value) ?? copied(value, (Array.isArray(value) ? [] : {}) as never)
  }
  const copied = (from: object, copy: Record<string, unknown>): EngineContext => {
    copies.set(from, copy)
    for (const [name, member] of Object.entries(from)) setMember(copy, name, copyOf(member))
    return copy
  }
  return copied(context, {})
}

/** Whether a value is a list, or a plain object without methods. */
function isData(value: unknown): value is object {
  if (Array.isArray(value)) return true
  return isPlainObject(value) && Object.values(value).every((one) => typeof one !== 'function')
}
