import { targetOf } from '../schema/flatten-schema.ts'
import { isObject } from '../types/guards.ts'
import type { JsonObject } from '../types/json.ts'

/** The most parts that a schema of a server may have when its references are followed. */
const mostParts = 20_000

/**
 * Why a schema of a server cannot be used, if it cannot. Checks and the renderers of providers follow references, so those that grow
 * without end, or lead elsewhere, are refused here.
 */
export function schemaProblem(schema: unknown): string | undefined {
  let problem = isObject(schema) ? undefined : 'must be a JSON Schema of an object'
  let parts = 0
  const walk = (node: unknown, refs: readonly unknown[]): void => {
    if (++parts > mostParts) problem = `has more than ${mostParts} parts`
    if (typeof node !== 'object' || node === null || problem !== undefined) return
    for (const [key, member] of Object.entries(node)) {
      walk(member, refs)
      if (key !== '$ref' || typeof member !== 'string') continue
      const target = targetOf(member, schema)?.target
      if (target === undefined) problem = `refers to ${member}, which is not in it`
      else if (!refs.includes(target)) walk(target, [...refs, target])
    }
  }
  walk(schema, [])
  return problem
}

/** Whether values can be checked by a schema of a server. Its patterns could take for ever, so one that has patterns is not used. */
export function isCheckable(schema: unknown): schema is JsonObject {
  return schemaProblem(schema) === undefined && !JSON.stringify(schema).includes('"pattern')
}
