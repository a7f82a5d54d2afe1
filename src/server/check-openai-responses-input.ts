import { kindOf, objectsOf, shown } from './json-kind.ts'
import { missing, nameProblem, wordProblem, wrongType } from './openai-words.ts'
import { firstProblem, type RequestProblem } from './request-problem.ts'
import type { JsonObject } from '../types/json.ts'

const roles = ['assistant', 'system', 'developer', 'user']

/** What is wrong with the input items, each by itself and one after the other. */
export function responsesInputProblem(
  items: readonly JsonObject[],
  remembered: boolean,
): RequestProblem | undefined {
  return firstProblem(items, itemProblem) ?? (remembered ? undefined : callsProblem(items))
}

function itemProblem(item: JsonObject, index: number): RequestProblem | undefined {
  const { type = 'message' } = item
  // Items of tools that run on the provider's side are taken as they are.
  return itemChecks[shown(type)]?.(item, `input[${index}]`)
}

const itemChecks: Readonly<
  Record<string, (item: JsonObject, at: string) => RequestProblem | undefined>
> = {
  message: messageProblem,
  function_call: callProblem,
  function_call_output({ call_id, output }, at) {
    if (typeof call_id !== 'string') return missing(`${at}.call_id`)
    return output === undefined ? missing(`${at}.output`) : undefined
  },
  reasoning: ({ summary }, at) => (Array.isArray(summary) ? undefined : missing(`${at}.summary`)),
}

function messageProblem(item: JsonObject, at: string): RequestProblem | undefined {
  const { role, content } = item
  const unknownRole = wordProblem(`${at}.role`, role, roles)
  if (unknownRole !== undefined) return unknownRole
  if (content === undefined) return missing(`${at}.content`)
  if (typeof content !== 'string' && !Array.isArray(content))
    return wrongType(`${at}.content`, 'a string or an array', kindOf(content))
  const types = role === 'assistant' ? outputTypes : inputTypes
  return firstProblem(objectsOf(content), (part, i) =>
    wordProblem(`${at}.content[${i}]`, part['type'], types),
  )
}

const inputTypes = ['input_text', 'input_image', 'input_file', 'input_audio']
const outputTypes = ['output_text', 'refusal']

function callProblem(item: JsonObject, at: string): RequestProblem | undefined {
  const { call_id, name, arguments: text } = item
  if (typeof call_id !== 'string') return missing(`${at}.call_id`)
  if (text === undefined) return missing(`${at}.arguments`)
  if (typeof text !== 'string') return wrongType(`${at}.arguments`, 'a string', kindOf(text))
  return nameProblem(name, `${at}.name`)
}

/** Every call has an output somewhere after it, and every output has a call before it. */
function callsProblem(items: readonly JsonObject[]): RequestProblem | undefined {
  const open = new Set<string>()
  const known = new Set<string>()
  for (const { type, call_id } of items) {
    const id = shown(call_id)
    if (type === 'function_call') {
      open.add(id)
      known.add(id)
    }
    if (type !== 'function_call_output') continue
    if (!known.has(id)) {
      const message = `No tool call found for function call output with call_id ${id}.`
      return { message, param: 'input' }
    }
    open.delete(id)
  }
  const [first] = open
  if (first === undefined) return undefined
  return { message: `No tool output found for function call ${first}.`, param: 'input' }
}
