import { chatTurnsProblem } from './check-openai-chat-turns.ts'
import { kindOf, objectOf, objectsOf, shown } from './json-kind.ts'
import { strictSchemaProblem } from './openai-strict-schema.ts'
import {
  missing,
  nameProblem,
  openaiWords,
  params,
  rangeProblem,
  toolSettingProblem,
  wordProblem,
  wrongType,
} from './openai-words.ts'
import { paramProblem, type ParamTable } from './param-problem.ts'
import { firstProblem, type RequestProblem } from './request-problem.ts'
import type { JsonObject, JsonValue } from '../types/json.ts'

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

/** What Chat Completions refuses: unknown parameters, wrong kinds and ranges, bad tools, and turns that do not fit. */
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
    choiceProblem(body['tool_choice'], tools) ??
    (stream_options !== undefined && stream_options !== null && stream !== true
      ? {
          message: "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
          param: 'stream_options',
        }
      : undefined) ??
    formatProblem(objectOf(body['response_format']))
  )
}

/** Reasoning models count their thoughts as well, so they have another name for the limit. */
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
  const { name, parameters, description, strict } = objectOf(tool['function'])
  if (description !== undefined && typeof description !== 'string' && description !== null)
    return wrongType(`${at}.function.description`, 'a string', kindOf(description))
  if (parameters !== undefined && kindOf(parameters) !== 'object' && parameters !== null)
    return wrongType(`${at}.function.parameters`, 'an object', kindOf(parameters))
  const misnamed = nameProblem(name, `${at}.function.name`)
  if (misnamed !== undefined || strict !== true) return misnamed
  return strictSchemaProblem(parameters, {
    of: `function '${shown(name)}'`,
    param: `${at}.function.parameters`,
    code: 'invalid_function_parameters',
  })
}

function choiceProblem(
  choice: JsonValue | undefined,
  tools: readonly JsonObject[],
): RequestProblem | undefined {
  if (typeof choice === 'string')
    return wordProblem('tool_choice', choice, ['none', 'auto', 'required'])
  const { type, function: named } = objectOf(choice)
  if (type !== 'function') return undefined
  const { name } = objectOf(named)
  if (tools.some((tool) => objectOf(tool['function'])['name'] === name)) return undefined
  const message = `Tool choice 'function' not found in 'tools' parameter: '${shown(name)}'.`
  return { message, param: 'tool_choice' }
}

function formatProblem(format: JsonObject): RequestProblem | undefined {
  const types = ['text', 'json_object', 'json_schema']
  const { type } = format
  if (type === undefined) return undefined
  if (type !== 'json_schema') return wordProblem('response_format.type', type, types)
  const at = 'response_format.json_schema'
  if (format['json_schema'] === undefined) return missing(at)
  const { name, schema, strict } = objectOf(format['json_schema'])
  if (schema === undefined) return missing(`${at}.schema`)
  const misnamed = nameProblem(name, `${at}.name`)
  if (misnamed !== undefined || strict !== true) return misnamed
  const of = `response_format '${shown(name)}'`
  return strictSchemaProblem(schema, { of, param: 'response_format', code: 'invalid_json_schema' })
}
