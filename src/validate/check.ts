import type { Issue } from '../data/error-data.ts'
import { describe } from './describe.ts'

/** Looks at a value and gives its problems, with paths relative to it. A legal value costs no allocation. */
export type Check = (value: unknown) => readonly Issue[]

/** What a check gives when there is nothing to say. */
export const fine: readonly Issue[] = Object.freeze([])

/** A check by a predicate; `wording` ends the sentence "must be …". */
export function must(wording: string, test: (value: unknown) => boolean): Check {
  return (value) => (test(value) ? fine : refuse(wording, value))
}

/** Any function. */
export const anyFunction: Check = must('a function', (value) => typeof value === 'function')

/** The one problem of a value that is not what it must be. */
export function refuse(wording: string, value: unknown): readonly Issue[] {
  return [{ path: '', problem: `must be ${wording}, not ${describe(value)}` }]
}

/** The problems of a member, with the member's place put before their paths. */
export function within(key: string | number, issues: readonly Issue[]): readonly Issue[] {
  if (issues.length === 0) return fine
  const name = typeof key === 'string' && /^[A-Za-z_$][\w$]*$/.test(key)
  const place = name ? key : `[${JSON.stringify(key)}]`
  return issues.map(({ path, problem }) => ({
    path: path === '' || path.startsWith('[') ? place + path : `${place}.${path}`,
    problem,
  }))
}

/** Both lists as one; no list is made when one of them is empty. */
export function join(left: readonly Issue[], right: readonly Issue[]): readonly Issue[] {
  if (right.length === 0) return left
  return left.length === 0 ? right : [...left, ...right]
}

/**
 * The same check, but an object that has passed is not looked into again.
 *
 * Data is readonly, so a history that grows is walked once and not at every step.
 */
export function remembered(check: Check): Check {
  const passed = new WeakSet()
  return (value) => {
    if (typeof value !== 'object' || value === null) return check(value)
    if (passed.has(value)) return fine
    const issues = check(value)
    if (issues.length === 0) passed.add(value)
    return issues
  }
}
