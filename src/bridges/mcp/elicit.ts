import type { HandlerOutcome } from '../../core/contracts/tool.ts'
import { askUser } from '../../core/messages/outcomes.ts'
import { listOf } from '../../core/schema/flatten-schema.ts'
import { defined, isObject, parseJson } from '../../core/types/guards.ts'
import type { JsonObject } from '../../core/types/json.ts'
import { messageText, type Part } from '../../core/types/message.ts'
import { objectOf } from './peer.ts'
import { foreignIssues, isUsable } from './schemas.ts'

/** A question of a server, as `askUser` tells it: the schema of a form, or an address that the user has to visit. */
export interface Asked {
  readonly question: string
  readonly schema: JsonObject
  readonly url?: string
}

/** What is sent back. */
export interface Reply {
  readonly action: 'accept' | 'decline' | 'cancel'
  readonly content?: object
}

/** Nobody answers. */
export const cancelled: Reply = { action: 'cancel' }

/** Reads the parameters of `elicitation/create`. */
export function readQuestion(params: unknown): Asked {
  const { message, requestedSchema, url } = objectOf(params)
  return {
    question: (String(message) || '?').slice(0, 4000),
    schema: isUsable(requestedSchema) ? requestedSchema : {},
    ...(isWebAddress(url) ? { url } : {}),
  }
}

/** Whether a page may make a link of an address: other schemes than these could run code, or read files. */
function isWebAddress(url: unknown): url is string {
  return typeof url === 'string' && url.length <= 2048 && /^https?:\/\//i.test(url)
}

/** The question for the user. The handler is called again with the answer. `problem` says what is wrong with the answer before. */
export function askedOf({ question, ...options }: Asked, problem = ''): HandlerOutcome {
  return askUser(`${problem} ${question}`.trim(), { resume: true, ...options })
}

/**
 * The reply to a question, or what is wrong with the answer.
 *
 * An answer is a JSON object with the fields of the form, or with `action` and `content` as MCP has them; the word `accept`, `decline` or
 * `cancel`; or a plain text for the first required field, or the first. What is left out has its default.
 */
export function readReply(answer: string | readonly Part[], { schema }: Asked): Reply | string {
  const text = messageText({ role: 'user', content: answer }).trim()
  const parsed = parseJson(text)
  const { action = text.toLowerCase(), content } = objectOf(parsed)
  if (action === 'decline' || action === 'cancel') return { action }
  const fields = Object.entries(objectOf(schema['properties']))
  const given =
    action === 'accept' ? content : isObject(parsed) ? parsed : fieldOf(text, fields, schema)
  const defaults = fields.map(([name, field]) => [name, objectOf(field)['default']] as const)
  const filled = defined<object>({ ...Object.fromEntries(defaults), ...objectOf(given) })
  const [issue] = foreignIssues(schema, filled)
  return issue === undefined
    ? { action: 'accept', content: filled }
    : `${issue.path} ${issue.problem}.`
}

/** A plain text as a field: the first required one, or the first. */
function fieldOf(
  text: string,
  fields: readonly (readonly [string, unknown])[],
  { required }: JsonObject,
): object {
  const one = fields.find(([name]) => listOf(required).includes(name)) ?? fields[0]
  if (one === undefined) return {}
  const [name, field] = one
  const json = text.replace(/^yes$/i, 'true').replace(/^no$/i, 'false')
  return { [name]: objectOf(field)['type'] === 'string' ? text : (parseJson(json) ?? text) }
}
