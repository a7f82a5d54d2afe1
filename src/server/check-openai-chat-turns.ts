import { kindOf, objectOf, objectsOf, shown } from './json-kind.ts'
import { missing, nameProblem, wordProblem, wrongType } from './openai-words.ts'
import { firstProblem, type RequestProblem } from './request-problem.ts'
import type { JsonObject, JsonValue } from '../types/json.ts'

const roles = ['system', 'assistant', 'user', 'function', 'tool', 'developer']

/** What is wrong with the messages, each by itself and one after the other. */
export function chatTurnsProblem(messages: readonly JsonObject[]): RequestProblem | undefined {
  return firstProblem(messages, messageProblem) ?? orderProblem(messages)
}

function messageProblem(message: JsonObject, index: number): RequestProblem | undefined {
  const at = `messages[${index}]`
  const { role, content, tool_calls, tool_call_id } = message
  const unknownRole = wordProblem(`${at}.role`, role, roles)
  if (unknownRole !== undefined) return unknownRole
  const silent = content === undefined || content === null
  if (silent && (role !== 'assistant' || !speaksOtherwise(message)))
    return {
      message: `Invalid value for 'content': expected a string, got null.`,
      param: `messages.[${index}].content`,
    }
  if (!silent && typeof content !== 'string' && !Array.isArray(content))
    return wrongType(`${at}.content`, 'a string or an array', kindOf(content))
  if (role === 'tool' && typeof tool_call_id !== 'string') return missing(`${at}.tool_call_id`)
  if (tool_calls !== undefined && role !== 'assistant')
    return { message: `Unknown parameter: '${at}.tool_calls'.`, param: `${at}.tool_calls` }
  return (
    firstProblem(objectsOf(content), (part, i) => partProblem(part, `${at}.content[${i}]`)) ??
    firstProblem(objectsOf(tool_calls), (call, i) => callProblem(call, `${at}.tool_calls[${i}]`))
  )
}

/** An assistant message may be without content when it holds something else. */
function speaksOtherwise({ tool_calls, function_call, refusal, audio }: JsonObject): boolean {
  return [tool_calls, function_call, refusal, audio].some(
    (member) => member !== undefined && member !== null,
  )
}

const partTypes = ['text', 'image_url', 'input_audio', 'file', 'refusal']

function partProblem(part: JsonObject, at: string): RequestProblem | undefined {
  const { type } = part
  if (type === 'text' && typeof part['text'] !== 'string') return missing(`${at}.text`)
  if (type === 'image_url' && typeof objectOf(part['image_url'])['url'] !== 'string')
    return missing(`${at}.image_url.url`)
  return wordProblem(`${at}.type`, type, partTypes)
}

function callProblem(call: JsonObject, at: string): RequestProblem | undefined {
  if (typeof call['id'] !== 'string') return missing(`${at}.id`)
  if (call['type'] === 'custom') return undefined
  const { name, arguments: text } = objectOf(call['function'])
  if (text === undefined) return missing(`${at}.function.arguments`)
  if (typeof text !== 'string')
    return wrongType(`${at}.function.arguments`, 'a string', kindOf(text))
  return nameProblem(name, `${at}.function.name`)
}

/** Every call is answered by the tool messages right after it, and every tool message answers a call. */
function orderProblem(messages: readonly JsonObject[]): RequestProblem | undefined {
  let open = new Set<JsonValue | undefined>()
  for (const [index, message] of messages.entries()) {
    const param = `messages.[${index}].role`
    if (message['role'] === 'tool') {
      if (!open.delete(message['tool_call_id'])) return orphan(param)
      continue
    }
    if (open.size > 0) return unanswered(open, param)
    open = new Set(objectsOf(message['tool_calls']).map((call) => call['id']))
  }
  return open.size > 0 ? unanswered(open, `messages.[${messages.length - 1}].role`) : undefined
}

function orphan(param: string): RequestProblem {
  const message =
    "Invalid parameter: messages with role 'tool' must be a response to a preceding message with 'tool_calls'."
  return { message, param }
}

function unanswered(ids: ReadonlySet<JsonValue | undefined>, param: string): RequestProblem {
  const names = Array.from(ids, shown).join(', ')
  const message = `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${names}`
  return { message, param }
}
