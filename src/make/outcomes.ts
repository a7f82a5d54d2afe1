import { outcomeBrand, type HandlerOutcome } from '../adapter/handler-outcome.ts'
import type { JsonObject, JsonValue } from '../data/json.ts'
import { assertValid } from '../validate/assert-valid.ts'
import { join, within } from '../validate/check.ts'
import { json, jsonObject } from '../validate/json-value.ts'
import { someText } from '../validate/values.ts'

/**
 * A handler's way to ask the user: the loop stops, and the answer becomes the tool's result.
 *
 * `options` is for whoever shows the question: choices, a placeholder, whatever you agree on.
 */
export function askUser(question: string, options: JsonObject = {}): HandlerOutcome {
  assertValid(
    'invalid_options',
    join(within('question', someText(question)), within('options', jsonObject(options))),
  )
  return { [outcomeBrand]: true, type: 'ask_user', question, options }
}

/** A handler's way to end the loop with a result. `reason` is your own word; those of the loop are refused when it runs. */
export function halt(reason: string, result: unknown = null): HandlerOutcome {
  assertValid('invalid_options', within('reason', someText(reason)))
  return { [outcomeBrand]: true, type: 'halt', reason, result }
}

/** A handler's way to report a failure without throwing. The model reads the reason, so it is written for the model. */
export function fail(reason: JsonValue): HandlerOutcome {
  assertValid('invalid_options', within('reason', json(reason)))
  return { [outcomeBrand]: true, type: 'fail', reason }
}
