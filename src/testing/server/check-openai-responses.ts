import type { JsonObject } from '../../core/types/json.ts'
import {
  choiceProblem,
  formatSchemaProblem,
  functionProblem,
  missing,
  nameProblem,
  openaiWords,
  params,
  rangeProblem,
  toolSettingProblem,
  wordProblem,
  wrongType,
} from './check-openai.ts'
import {
  firstProblem,
  kindOf,
  objectOf,
  objectsOf,
  paramProblem,
  shown,
  type ParamTable,
  type RequestProblem,
} from './check-params.ts'

const table: ParamTable = Object.fromEntries([
  ...params(['string'], 'model previous_response_id service_tier truncation user'),
  ...params(['string'], 'safety_identifier prompt_cache_key prompt_cache_retention'),
  ...params(['string', 'array'], 'input instructions'),
  ...params(['array'], 'tools include context_management'),
  ...params(['number'], 'temperature top_p'),
  ...params(['integer'], 'max_output_tokens max_tool_calls top_logprobs'),
  ...params(['boolean'], 'stream store background parallel_tool_calls'),
  ...params(['object'], 'metadata text reasoning prompt stream_options prompt_cache_options'),
  ...params(['object'], 'moderation'),
  ...params(['string', 'object'], 'tool_choice conversation'),
])

/** Checks a Responses request: unknown parameters, wrong kinds and ranges, invalid tools, and the order of items. */
export function checkOpenaiResponses(body: JsonObject): RequestProblem | undefined {
  const tools = objectsOf(body['tools'])
  return (
    paramProblem(body, table, openaiWords) ??
    (body['model'] === undefined && body['prompt'] === undefined ? missing('model') : undefined) ??
    inputProblem(body) ??
    rangeProblem(body) ??
    firstProblem(tools, toolProblem) ??
    toolSettingProblem(body, tools.length) ??
    choiceProblem(body['tool_choice'], tools, ({ name }) => name) ??
    formatProblem(objectOf(objectOf(body['text'])['format']))
  )
}

/** With a stored conversation, the call of an output may be in the stored part. */
function inputProblem(body: JsonObject): RequestProblem | undefined {
  const { input } = body
  const remembered = ['previous_response_id', 'conversation', 'prompt'].some(
    (name) => body[name] !== undefined && body[name] !== null,
  )
  if (input === undefined || input === null) return remembered ? undefined : missing('input')
  return Array.isArray(input) ? responsesInputProblem(objectsOf(input), remembered) : undefined
}

function toolProblem(tool: JsonObject, index: number): RequestProblem | undefined {
  const at = `tools[${index}]`
  if (tool['type'] === undefined) return missing(`${at}.type`)
  return tool['type'] === 'function' ? functionProblem(tool, at) : undefined
}

function formatProblem(format: JsonObject): RequestProblem | undefined {
  const types = ['text', 'json_object', 'json_schema', 'grammar', 'python']
  const { type } = format
  if (type === undefined) return undefined
  if (type !== 'json_schema') return wordProblem('text.format.type', type, types)
  return formatSchemaProblem(format, 'text.format', 'text.format.schema')
}

const roles = ['assistant', 'system', 'developer', 'user']

/** Checks each input item, then their order. */
function responsesInputProblem(
  items: readonly JsonObject[],
  remembered: boolean,
): RequestProblem | undefined {
  return firstProblem(items, itemProblem) ?? (remembered ? undefined : callsProblem(items))
}

function itemProblem(item: JsonObject, index: number): RequestProblem | undefined {
  const { type = 'message' } = item
  // Items of the provider's own tools are not checked.
  return itemChecks[shown(type)]?.(item, `input[${index}]`)
}

const outputTypes = ['output_text', 'refusal']

const inputTypes = ['input_text', 'input_image', 'input_file', 'input_audio']

const resultTypes = ['input_text', 'input_image', 'input_file']

const itemChecks: Readonly<
  Record<string, (item: JsonObject, at: string) => RequestProblem | undefined>
> = {
  message: messageProblem,
  function_call: callProblem,
  function_call_output({ call_id, output }, at) {
    if (typeof call_id !== 'string') return missing(`${at}.call_id`)
    if (output === undefined) return missing(`${at}.output`)
    return firstProblem(objectsOf(output), (part, i) =>
      contentProblem(part, `${at}.output[${i}]`, resultTypes),
    )
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
    contentProblem(part, `${at}.content[${i}]`, types),
  )
}

/** A file has a source. Its data is a data URL, at least in the result of a tool. */
function contentProblem(
  part: JsonObject,
  at: string,
  types: readonly string[],
): RequestProblem | undefined {
  const { type, file_data, file_id, file_url, image_url } = part
  if (type === 'input_file') {
    if ([file_data, file_id, file_url].every((member) => member === undefined || member === null))
      return missing(`${at}.file_id`)
    if (types === resultTypes && file_data !== undefined && !shown(file_data).startsWith('data:')) {
      const param = `${at}.file_data`
      return { message: `Invalid '${param}'.`, param, code: 'invalid_value' }
    }
    const wrongFile = fileTypeProblem(part, at)
    if (wrongFile !== undefined) return wrongFile
  }
  if (type === 'input_image' && image_url === undefined && file_id === undefined)
    return missing(`${at}.image_url`)
  return wordProblem(at, type, types)
}

/** Files are told by the ending of their names. Images, recordings and films are not among those that are read. */
function fileTypeProblem(
  { filename, file_data }: JsonObject,
  param: string,
): RequestProblem | undefined {
  const [, media] = /^data:(?:image|audio|video)\/([\w+.-]+)/.exec(shown(file_data)) ?? []
  const hasNoEnding = typeof filename === 'string' && !/\.\w+$/.test(filename)
  if (media === undefined && !hasNoEnding) return undefined
  const found = hasNoEnding ? 'none' : `.${media}`
  const message = `Invalid input: Expected context stuffing file type to be a supported format: .csv, .docx, .json, .md, .pdf, .txt, … but got ${found}.`
  return { message, param, code: 'invalid_value' }
}

function callProblem(item: JsonObject, at: string): RequestProblem | undefined {
  const { call_id, name, arguments: text } = item
  if (typeof call_id !== 'string') return missing(`${at}.call_id`)
  if (text === undefined) return missing(`${at}.arguments`)
  if (typeof text !== 'string') return wrongType(`${at}.arguments`, 'a string', kindOf(text))
  return nameProblem(name, `${at}.name`)
}

/** Every call needs an output somewhere after it, and every output needs a call before it. */
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
