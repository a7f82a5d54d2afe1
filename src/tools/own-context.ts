import type { EngineContext } from '../contracts/engine.ts'
import { isPlainObject } from '../schema/checks.ts'
import { setMember } from '../types/guards.ts'

/**
 * A context that its holder may change without being seen by anybody else: objects and lists of data are copied, at any depth.
 *
 * Handles are shared: instances of classes, functions, and objects with methods.
 */
export function ownContext(context: EngineContext): EngineContext {
  const copies = new Map<unknown, unknown>()
  const copyOf = (value: unknown): unknown => {
    const isList = Array.isArray(value)
    if (!isList && !isRecord(value)) return value
    // The index of a list is a name too.
    if (!copies.has(value)) copyMembers(value, (isList ? [] : {}) as Record<string, unknown>)
    return copies.get(value)
  }
  const copyMembers = (from: object, to: Record<string, unknown>): EngineContext => {
    copies.set(from, to)
    for (const [name, member] of Object.entries(from)) setMember(to, name, copyOf(member))
    return to
  }
  return copyMembers(context, {})
}

/** Whether a value is a plain object without methods. */
function isRecord(value: unknown): value is object {
  return (
    isPlainObject(value) && Object.values(value).every((member) => typeof member !== 'function')
  )
}
