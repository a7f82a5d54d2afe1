import type { Issue } from '../data/error-data.ts'
import { fine, join, type Check } from './check.ts'
import { isPlainObject } from './is-plain-object.ts'
import { jsonObject } from './json-value.ts'
import { listOf, shape } from './shape.ts'
import { transcriptIssues } from './transcript.ts'
import { validateMessage } from './validate-message.ts'

const thread = shape({ messages: listOf(validateMessage), metadata: jsonObject })

/** The problems of a conversation: of each message, and of calls and answers that do not match. An empty one is legal. */
export function validateThread(value: unknown): readonly Issue[] {
  return join(thread(value), transcriptOf(value, false))
}

/** The problems of a conversation whose last calls may still wait for their answers. */
export const openThread: Check = (value) => join(thread(value), transcriptOf(value, true))

function transcriptOf(value: unknown, openEnd: boolean): readonly Issue[] {
  if (!isPlainObject(value) || !Array.isArray(value['messages'])) return fine
  return transcriptIssues(value['messages'], openEnd)
}

/** Whether a thread can be sent to every provider as it is: legal, not empty, and every tool call answered. */
export function isSendable(value: unknown): boolean {
  return (
    isPlainObject(value) &&
    Array.isArray(value['messages']) &&
    value['messages'].length > 0 &&
    validateThread(value).length === 0
  )
}
