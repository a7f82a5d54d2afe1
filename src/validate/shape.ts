import type { Issue } from '../data/error-data.ts'
import { fine, join, refuse, within, type Check } from './check.ts'
import { isPlainObject } from './is-plain-object.ts'
import { unknownKey } from './unknown-keys.ts'

/** The checks of an object's members, by name. */
export type Checks = Readonly<Record<string, Check>>

/** Plain data with these members and no others. A key that holds `undefined` is a problem: JSON would drop it. */
export function shape(required: Checks, optional: Checks = {}): Check {
  const requiredKeys = Object.keys(required)
  const looksRight = members({ ...required, ...optional }, () => [
    { path: '', problem: 'must be absent or have a value, not undefined' },
  ])
  return (value) => {
    let issues = looksRight(value)
    if (!isPlainObject(value)) return issues
    for (const key of requiredKeys) {
      if (!(key in value)) issues = join(issues, [{ path: key, problem: 'is missing' }])
    }
    return issues
  }
}

/** An object of options: every member may be absent or `undefined`, none may be unknown. */
export function optionsOf(optional: Checks): Check {
  return members(optional, () => fine)
}

function members(table: Checks, onUndefined: Check): Check {
  const checks = new Map(Object.entries(table))
  return (value) => {
    if (!isPlainObject(value)) return refuse('an object', value)
    let issues = fine
    for (const key in value) {
      const member = value[key]
      const check = checks.get(key)
      if (check === undefined) issues = join(issues, [unknownKey(key, [...checks.keys()])])
      else issues = join(issues, within(key, (member === undefined ? onUndefined : check)(member)))
    }
    return issues
  }
}

/** A list whose items all pass. */
export function listOf(item: Check): Check {
  return (value) => {
    if (!Array.isArray(value)) return refuse('a list', value)
    let issues = fine
    for (let index = 0; index < value.length; index++) {
      issues = join(issues, within(index, item(value[index])))
    }
    return issues
  }
}

/** An object whose members all pass, under whatever names. */
export function recordOf(member: Check): Check {
  return (value) => {
    if (!isPlainObject(value)) return refuse('an object', value)
    let issues = fine
    for (const key in value) issues = join(issues, within(key, member(value[key])))
    return issues
  }
}

/** A member of a union: its `type` names the shape that it must have. */
export function tagged(shapes: Checks): Check {
  return (value) => {
    if (!isPlainObject(value)) return refuse('an object', value)
    const { type } = value
    const check = typeof type === 'string' && Object.hasOwn(shapes, type) ? shapes[type] : undefined
    return check?.(value) ?? wrongTag(type, Object.keys(shapes))
  }
}

function wrongTag(type: unknown, tags: readonly string[]): readonly Issue[] {
  return within('type', refuse(`one of ${tags.join(', ')}`, type))
}

/** The `type` of a member of a union, which `tagged` has looked at already. */
export const tag: Check = () => fine
