import type { Issue } from '../data/error-data.ts'
import { fine, join, refuse, within, type Check } from './check.ts'
import { describe } from './describe.ts'
import { isPlainObject } from './is-plain-object.ts'

/** A JSON value. Whatever JSON can not hold is named with its place: a `Map`, `NaN`, a function, a cycle. */
export const json: Check = (value) => jsonIssues(value, [])

/** A JSON object. */
export const jsonObject: Check = (value) =>
  isPlainObject(value) ? jsonIssues(value, []) : refuse('a JSON object', value)

function jsonIssues(value: unknown, above: readonly unknown[]): readonly Issue[] {
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return fine
  if (typeof value === 'number' && Number.isFinite(value)) return fine
  const list = Array.isArray(value)
  if (!list && !isPlainObject(value)) {
    return [{ path: '', problem: `must be a JSON value, not ${describe(value)}` }]
  }
  if (above.includes(value)) {
    return [{ path: '', problem: 'must be a JSON value, not a cycle: it holds itself' }]
  }
  const path = [...above, value]
  let issues = fine
  if (list) {
    for (let index = 0; index < value.length; index++) {
      issues = join(issues, within(index, jsonIssues(value[index], path)))
    }
  } else {
    for (const key in value) issues = join(issues, within(key, jsonIssues(value[key], path)))
  }
  return issues
}
