import { AdapterError } from '../../core/errors/errors.ts'
import { keysOf } from '../../core/types/guards.ts'
import type { JsonObject, JsonValue } from '../../core/types/json.ts'
import {
  reasoningEfforts,
  type ModelRequest,
  type ReasoningEffort,
} from '../../core/types/request.ts'
import type { Warn } from '../../core/types/warning.ts'

/** Members of a body. A member without a value is left out. */
type Members = Readonly<Record<string, JsonValue | undefined>>

/**
 * Builds a body from the members that each field of the request becomes.
 *
 * Every field needs an entry, `{}` when it is not sent, so that a new field is a compile error in each renderer.
 */
export function requestBody<T>(fields: Readonly<Record<keyof T, Members>>): JsonObject {
  const body: Record<string, JsonValue> = {}
  for (const field in fields) {
    const members = fields[field]
    for (const name in members) {
      const value = members[name]
      if (value !== undefined) body[name] = value
    }
  }
  return body
}

/**
 * The body that a request becomes. `Table` names the parameter of each field, and `never` for one that is not sent: as with `requestBody`
 * a new field is a compile error in each renderer, and the fields are not in the program.
 */
export type BodyOf<Table extends Readonly<Record<keyof ModelRequest, string>>> = Readonly<
  Record<Table[keyof ModelRequest], JsonValue | undefined>
>

/** The settings that are one value, for which most APIs have a parameter. */
export type Setting = Exclude<
  keyof ModelRequest,
  | 'model'
  | 'messages'
  | 'tools'
  | 'toolChoice'
  | 'responseFormat'
  | 'reasoning'
  | 'promptCache'
  | 'providerOptions'
  | 'metadata'
>

/**
 * The settings of a request under the names of an API's parameters. A setting that is `undefined` in the table has no parameter:
 * the request's warnings name it. The table has every setting, so that a new one is a compile error in each adapter.
 */
export function requestSettings(
  request: ModelRequest,
  parameters: Readonly<Record<Setting, string | undefined>>,
  context: { readonly warn: Warn },
): JsonObject {
  const settings: Record<string, JsonValue> = {}
  for (const setting of keysOf<Record<Setting, unknown>>(parameters)) {
    const name = parameters[setting]
    const value = request[setting]
    if (value === undefined) continue
    if (name === undefined) leaveOut(request, [setting], context, ': the API has no such parameter')
    else settings[name] = value
  }
  return settings
}

/** Warns about every one of these settings that the request has. `when` ends the sentence: "takes no seed while it reasons". */
export function leaveOut<Request extends { readonly model?: string }>(
  request: Request,
  settings: readonly (keyof NoInfer<Request> & string)[],
  { warn }: { readonly warn: Warn },
  when = '',
): void {
  for (const setting of settings) {
    if (request[setting] !== undefined)
      warn(setting, `${modelName(request)} takes no ${setting}${when}`)
  }
}

/** What a warning calls the model: its name, or what it is when the request names none. */
function modelName({ model }: { readonly model?: string }): string {
  return model === undefined || model === '' ? 'the model' : model
}

/**
 * The effort to send: the one that the request asks for, or the nearest of those that the model takes, with a warning. `undefined`
 * when the request does not ask for one.
 */
export function nearestEffort<Effort extends ReasoningEffort>(
  request: ModelRequest,
  taken: readonly Effort[],
  { warn }: { readonly warn: Warn },
): Effort | undefined {
  const { reasoning } = request
  if (reasoning === undefined) return undefined
  const wanted = reasoningEfforts.indexOf(reasoning.effort)
  const distance = (effort: Effort): number => Math.abs(reasoningEfforts.indexOf(effort) - wanted)
  // Of two that are equally near, the one that thinks more.
  const [sent] = taken.toReversed().toSorted((one, other) => distance(one) - distance(other))
  const problem = otherEffort(reasoning.effort, sent ?? 'none')
  if (problem !== undefined) warn('reasoning', `${modelName(request)} ${problem}`)
  return sent
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
