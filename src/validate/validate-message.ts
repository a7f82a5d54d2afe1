import type { Issue } from '../data/error-data.ts'
import type { Role } from '../data/message.ts'
import { fine, join, refuse, type Check } from './check.ts'
import { isPlainObject } from './is-plain-object.ts'
import { json, jsonObject } from './json-value.ts'
import { listOf, shape, tag, tagged } from './shape.ts'
import { validateImage } from './validate-image.ts'
import { oneOf, someText, text } from './values.ts'

const roles: readonly Role[] = ['system', 'user', 'assistant', 'tool']

/** A tool call as it stands in an assistant message and in a session. */
export const toolCall: Check = shape(
  { id: someText, name: someText, arguments: jsonObject },
  { rawArguments: text, opaque: json },
)

/** One piece of content. */
export const part: Check = tagged({
  text: shape({ type: tag, text }),
  image: shape({ type: tag, image: validateImage }, { detail: oneOf(['auto', 'low', 'high']) }),
  reasoning: shape({ type: tag, text }, { opaque: json, provider: text }),
})

const parts = listOf(part)

/** A message's content: a string, or a list of parts. */
const content: Check = (value) => {
  if (typeof value === 'string') return fine
  return Array.isArray(value) ? parts(value) : refuse('a string or a list of parts', value)
}

const message = shape(
  { role: oneOf(roles), content },
  {
    toolCalls: listOf(toolCall),
    toolCallId: someText,
    name: someText,
    metadata: jsonObject,
  },
)

/** The problems of one message by itself; its place in a conversation is for `validateThread`. */
export function validateMessage(value: unknown): readonly Issue[] {
  const issues = message(value)
  return isPlainObject(value) ? join(issues, byRole(value)) : issues
}

function byRole(value: Readonly<Record<string, unknown>>): readonly Issue[] {
  const { role, toolCalls, toolCallId } = value
  let issues = fine
  if (role === 'tool' && toolCallId === undefined) {
    issues = [{ path: 'toolCallId', problem: 'is missing: a tool message answers one call' }]
  }
  if (role !== 'tool' && toolCallId !== undefined) {
    issues = [{ path: 'toolCallId', problem: 'is for tool messages only' }]
  }
  if (toolCalls === undefined) return issues
  return role === 'assistant'
    ? join(issues, repeatedIds(toolCalls))
    : join(issues, [{ path: 'toolCalls', problem: 'is for assistant messages only' }])
}

function repeatedIds(toolCalls: unknown): readonly Issue[] {
  if (!Array.isArray(toolCalls) || toolCalls.length < 2) return fine
  const seen = new Set<unknown>()
  let issues = fine
  toolCalls.forEach((call: unknown, index) => {
    if (!isPlainObject(call)) return
    const { id } = call
    if (seen.has(id)) {
      const path = `toolCalls[${index}].id`
      issues = join(issues, [{ path, problem: `is used twice in this message: ${String(id)}` }])
    }
    seen.add(id)
  })
  return issues
}
