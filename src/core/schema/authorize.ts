import type { ValidationError } from '../errors/errors.ts'
import type { Issue } from '../types/error-data.ts'
import { describe, meantKey, refusal, within, type Checks } from './checks.ts'

/**
 * What an `authorize` may return. `true` and an object of the known members allow. Everything else refuses: a `Response` is sent as it is,
 * anything else is status 403. So a forgotten `return` opens nothing.
 */
export type Permission<Allowed extends object = Readonly<Record<string, never>>> =
  | boolean
  | Allowed
  | Response
  | null
  | undefined

/** What became of a request: it is allowed with these members, or it is refused. */
export type Verdict<Allowed extends object> =
  | { readonly allowed: Allowed }
  | {
      readonly allowed?: undefined
      /** The refusal that `authorize` returned. Without it the status is 403. */
      readonly response?: Response
      /** The value is a mistake in `authorize`, which is reported. */
      readonly mistake?: ValidationError
    }

/**
 * Decides about the value that an `authorize` returned, for every server of the library. `members` are the known members of the object that allows, with
 * their checks. A value that cannot be read refuses.
 */
export function verdictOf<Allowed extends object>(
  answer: unknown,
  members: Checks,
): Verdict<Allowed> {
  if (answer === true) return { allowed: {} as Allowed } // All of its members may be absent.
  if (answer === false || answer === undefined || answer === null) return {}
  let problem = 'returned an object that cannot be read'
  try {
    if (answer instanceof Response) return { response: answer }
    if (isOwnPlain(answer)) {
      const { given, issues } = membersOf(answer, members)
      const [issue] = issues
      if (issue === undefined) return { allowed: given as Allowed } // Its members were just checked.
      problem = `returned an object that does not allow: ${[issue.path, issue.problem].filter(Boolean).join(' ')}`
    } else problem = problemOf(answer, Object.keys(members))
  } catch {
    // A getter or a trap threw.
  }
  const fix = 'return true or false, or a Response that refuses'
  return { mistake: refusal('invalid_options', 'authorize', `${problem}; ${fix}`) }
}

/** Whether a value is an object of this realm as a literal makes it, or one without a prototype. */
function isOwnPlain(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || prototype === Object.prototype
}

/** The members of an object, read once, and what is wrong with them. Getters are not called. */
function membersOf(
  value: object,
  members: Checks,
): { readonly given: object; readonly issues: readonly Issue[] } {
  const given: Record<string, unknown> = {}
  const issues = Reflect.ownKeys(value).flatMap((key): readonly Issue[] => {
    const name = String(key)
    const check = typeof key === 'string' && Object.hasOwn(members, key) ? members[key] : undefined
    if (check === undefined) {
      const known = Object.keys(members)
      const advice = known.length === 0 ? 'no key is known here' : meantKey(name, known)
      return [{ path: '', problem: `unknown key ${describe(name)}, ${advice}` }]
    }
    const own: { readonly value?: unknown } | undefined = Object.getOwnPropertyDescriptor(
      value,
      key,
    )
    if (own === undefined || !('value' in own)) {
      return within(name, [{ path: '', problem: 'must be a value, not a getter' }])
    }
    const member = own.value
    if (member === undefined) return []
    given[name] = member
    return within(name, check(member))
  })
  return { given, issues }
}

function problemOf(value: unknown, known: readonly string[]): string {
  if (value instanceof Error) return 'returned an Error, which cannot be sent: throw it'
  const name = typeof value === 'object' && value !== null ? value.constructor?.name : undefined
  if (name === 'Response') {
    return 'returned a Response of another package or realm, which cannot be sent: use the global Response'
  }
  const allowed = known.length === 0 ? 'an empty object' : `an object of ${known.join(' and ')}`
  const given = name === 'Object' ? 'an object with another prototype' : describe(value)
  return `must return true or ${allowed} to allow, not ${given}`
}
