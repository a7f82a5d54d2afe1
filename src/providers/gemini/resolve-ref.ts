import { inexpressible, type SchemaPlace } from './schema-place.ts'
import type { JsonObject, JsonValue } from '../../types/json.ts'

/** What a `$ref` points at inside its own schema: `#`, `#/$defs/Name`. Whatever is elsewhere is refused. */
export function resolveRef(root: JsonObject, ref: JsonValue, place: SchemaPlace): JsonValue {
  const pointer = typeof ref === 'string' ? decode(ref) : undefined
  if (pointer !== '#' && pointer?.startsWith('#/') !== true) {
    throw inexpressible(place, `refers to ${JSON.stringify(ref)}, which is outside the schema`)
  }
  let target: JsonValue | undefined = root
  for (const step of pointer.split('/').slice(1)) {
    target = member(target, step.replaceAll('~1', '/').replaceAll('~0', '~'))
  }
  if (target === undefined) throw inexpressible(place, `refers to ${pointer}, which does not exist`)
  return target
}

function member(value: JsonValue | undefined, key: string): JsonValue | undefined {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
  // A list is indexed by the digits of the pointer.
  return (value as JsonObject)[key]
}

function decode(ref: string): string | undefined {
  try {
    return decodeURIComponent(ref)
  } catch {
    return undefined
  }
}
