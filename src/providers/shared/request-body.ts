import { AdapterError } from '../../errors/errors.ts'
import type { JsonObject, JsonValue } from '../../types/json.ts'

/** Members of a body. A member without a value is left out. */
type Members = Readonly<Record<string, JsonValue | undefined>>

/**
 * Builds a body from the members that each field of the request becomes.
 *
 * Every field needs an entry, `{}` when it is not sent, so that a new field is a compile error in each renderer.
 */
export function requestBody<T>(fields: Readonly<Record<keyof T, Members>>): JsonObject {
  const body: Record<string, JsonValue> = {}
  for (const members of Object.values<Members>(fields)) {
    for (const [name, value] of Object.entries(members)) {
      if (value !== undefined) body[name] = value
    }
  }
  return body
}

/** What is told when a model is sent another effort than the caller asked for, the same on every provider. */
export function otherEffort(asked: string, sent: string): string | undefined {
  return asked === sent ? undefined : `takes no effort ${asked}: the effort is ${sent}`
}

/** The error of a request whose parts a model does not take together. */
export function notTogether(provider: string, one: string, other: string): AdapterError {
  const message = `this model does not take ${one} together with ${other}`
  return new AdapterError('unsupported_feature', message, { provider })
}
