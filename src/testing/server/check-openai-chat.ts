import type { JsonObject, JsonValue } from '../../core/types/json.ts'
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
  ...params(['array'], 'messages tools functions modalities'),
  ...params(['string'], 'model reasoning_effort verbosity service_tier user safety_identifier'),
  ...params(['string'], 'prompt_cache_key prompt_cache_retention'),
  ...params(['number'], 'temperature top_p frequency_penalty presence_penalty'),
  ...params(['integer'], 'max_tokens max_completion_tokens n seed top_logprobs'),
  ...params(['boolean'], 'stream store logprobs parallel_tool_calls'),
  ...params(['object'], 'metadata stream_options response_format logit_bias audio prediction'),
  ...params(['object'], 'web_search_options prompt_cache_options moderation'),
  ...params(['string', 'array'], 'stop'),
  ...params(['string', 'object'], 'tool_choice function_call'),
])

/** Checks a Chat Completions request: unknown parameters, wrong kinds and ranges, invalid tools, and the order of messages. */
export function checkOpenaiChat(body: JsonObject): RequestProblem | undefined {
  const { messages, stream, stream_options } = body
  const tools = objectsOf(body['tools'])
  return (
    paramProblem(body, table, openaiWords) ??
    unsupportedProblem(body) ??
    (body['model'] === undefined ? missing('model') : undefined) ??
    messagesProblem(messages) ??
    rangeProblem(body) ??
    firstProblem(tools, toolProblem) ??
    toolSettingProblem(body, tools.length) ??
    choiceProblem(body['tool_choice'], tools, functionName) ??
    (stream_options !== undefined && stream_options !== null && stream !== true
      ? {
          message: "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
          param: 'stream_options',
        }
      : undefined) ??
    formatProblem(objectOf(body['response_format']))
  )
}

/** Reasoning models also count their reasoning, so their limit has another name. */
function unsupportedProblem({ model, max_tokens }: JsonObject): RequestProblem | undefined {
  const limited = max_tokens !== undefined && max_tokens !== null
  if (!limited || !/^(?:o\d|gpt-[5-9])/.test(shown(model))) return undefined
  const message =
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
  return { message, param: 'max_tokens', code: 'unsupported_parameter' }
}

function messagesProblem(messages: JsonValue | undefined): RequestProblem | undefined {
  if (messages === undefined || messages === null) return missing('messages')
  const list = objectsOf(messages)
  if (list.length > 0) return chatTurnsProblem(list)
  const message =
    "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead."
  return { message, param: 'messages', code: 'empty_array' }
}

function toolProblem(tool: JsonObject, index: number): RequestProblem | undefined {
  const at = `tools[${index}]`
  if (tool['type'] !== 'function')
    return wordProblem(`${at}.type`, tool['type'], ['function', 'custom'])
  if (tool['function'] === undefined) return missing(`${at}.function`)
  const called = objectOf(tool['function'])
  const { description } = called
  if (description !== undefined && typeof description !== 'string' && description !== null)
    return wrongType(`${at}.function.description`, 'a string', kindOf(description))
  return functionProblem(called, `${at}.function`)
}

/** The name of a tool, or of the tool that a choice forces. */
function functionName(tool: JsonObject): JsonValue | undefined {
  return objectOf(tool['function'])['name']
}

function formatProblem(format: JsonObject): RequestProblem | undefined {
  const types = ['text', 'json_object', 'json_schema']
  const { type } = format
  if (type === undefined) return undefined
  if (type !== 'json_schema') return wordProblem('response_format.type', type, types)
  const at = 'response_format.json_schema'
  if (format['json_schema'] === undefined) return missing(at)
  return formatSchemaProblem(objectOf(format['json_schema']), at, 'response_format')
}

const roles = ['system', 'assistant', 'user', 'function', 'tool', 'developer']

/** Checks each message, then their order. */
function chatTurnsProblem(messages: readonly JsonObject[]): RequestProblem | undefined {
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
    firstProblem(objectsOf(content), (part, i) =>
      partProblem(part, `${at}.content[${i}]`, shown(role)),
    ) ??
    firstProblem(objectsOf(tool_calls), (call, i) => callProblem(call, `${at}.tool_calls[${i}]`))
  )
}

/** An assistant message needs no content if it has one of these members. */
function speaksOtherwise({ tool_calls, function_call, refusal, audio }: JsonObject): boolean {
  return [tool_calls, function_call, refusal, audio].some(
    (member) => member !== undefined && member !== null,
  )
}

const partTypes = ['text', 'image_url', 'input_audio', 'file', 'refusal']

function partProblem(part: JsonObject, at: string, role: string): RequestProblem | undefined {
  const { type } = part
  const [place = ''] = at.split('.')
  if (role !== 'user' && type === 'image_url') {
    const message = `Invalid '${place}'. Image URLs are only allowed for messages with role 'user', but this message with role '${role}' contains an image URL.`
    return { message, param: place, code: 'invalid_value' }
  }
  if (role === 'tool') return wordProblem(`${at}.type`, type, ['text'])
  if (type === 'text' && typeof part['text'] !== 'string') return missing(`${at}.text`)
  if (type === 'image_url' && typeof objectOf(part['image_url'])['url'] !== 'string')
    return missing(`${at}.image_url.url`)
  if (type === 'input_audio') return audioProblem(objectOf(part['input_audio']), at)
  if (type === 'file') return fileProblem(objectOf(part['file']), at)
  return wordProblem(`${at}.type`, type, partTypes)
}

function audioProblem({ data, format }: JsonObject, at: string): RequestProblem | undefined {
  if (typeof data !== 'string') return missing(`${at}.input_audio.data`)
  return wordProblem(`${at}.input_audio.format`, format, ['wav', 'mp3'])
}

/** Only PDFs, as a data URL or by their id. */
function fileProblem({ file_data, file_id }: JsonObject, at: string): RequestProblem | undefined {
  const param = `${at}.file.file_data`
  if (file_data === undefined || file_data === null) {
    return typeof file_id === 'string' ? undefined : missing(`${at}.file.file_id`)
  }
  const [, type] = /^data:([^;,]*);base64,[\w+/]+={0,2}$/.exec(shown(file_data)) ?? []
  if (type === 'application/pdf') return undefined
  const found =
    type === undefined ? 'an invalid base64-encoded value' : `unsupported MIME type '${type}'`
  const message = `Invalid file data: '${param}'. Expected a base64-encoded data URL with an application/pdf MIME type (e.g. 'data:application/pdf;base64,SGVsbG8sIFdvcmxkIQ=='), but got ${found}.`
  return { message, param, code: 'invalid_value' }
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

/** Every tool call needs an answer in the tool messages right after it, and every tool message needs its call. */
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
