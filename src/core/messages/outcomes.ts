import {
  outcomeBrand,
  type AskOutcome,
  type ContentOutcome,
  type FailOutcome,
  type HaltOutcome,
  type ResultPart,
} from '../contracts/tool.ts'
import { assertValid, join, json, jsonObject, someText, within } from '../schema/checks.ts'
import { expiresInMs, resultParts } from '../schema/validate.ts'
import type { JsonObject, JsonValue } from '../types/json.ts'
import { typeIssues } from './sniff.ts'

/**
 * Returned by a handler to ask the user. The loop stops, and the user's answer becomes the tool's result, marked `answeredByUser`.
 * With `resume: true` among the options, the handler is called again with the `answer` instead, and what it returns is the result.
 *
 * With `expiresInMs`, a question that nobody has answered by then is answered by `noAnswer`. The other options are for the code that shows
 * the question: choices, a placeholder, or anything else. A question is not an approval: the handler has run already. Use
 * `needsApproval` for a call that must not run before somebody agrees.
 */
export function askUser(question: string, options: JsonObject = {}): AskOutcome {
  assertValid(
    'invalid_options',
    join(within('question', someText(question)), within('options', jsonObject(options))),
  )
  const { expiresInMs: limit, ...shown } = options
  const asked = { [outcomeBrand]: true, type: 'ask_user', question, options: shown } as const
  if (limit === undefined) return asked
  assertValid('invalid_options', within('options', within('expiresInMs', expiresInMs(limit))))
  return { ...asked, expiresInMs: Number(limit) }
}

/** The answer to a question that nobody has answered in time. */
export const noAnswer = 'no answer'

/** Returned by a handler to end the loop with a result. `reason` is yours; a reason of the loop itself is refused when the tool runs. */
export function halt(reason: string): HaltOutcome<null>
export function halt<Result>(reason: string, result: Result): HaltOutcome<Result>
export function halt(reason: string, result: unknown = null): HaltOutcome {
  assertValid('invalid_options', within('reason', someText(reason)))
  return { [outcomeBrand]: true, type: 'halt', reason, result }
}

/** Returned by a handler to report a failure without throwing. The model reads the reason. */
export function fail(reason: JsonValue): FailOutcome {
  assertValid('invalid_options', within('reason', json(reason)))
  return { [outcomeBrand]: true, type: 'fail', reason }
}

/**
 * Returned by a handler, or given to `halt`, for a result of texts, images and files instead of a JSON value.
 *
 * Images and files that an API does not take in a tool result are sent to it right after the result.
 */
export function content(parts: readonly ResultPart[]): ContentOutcome {
  assertValid('invalid_message', within('parts', resultParts(parts)))
  assertValid('invalid_message', within('parts', typeIssues(parts)))
  return { [outcomeBrand]: true, type: 'content', parts }
}
