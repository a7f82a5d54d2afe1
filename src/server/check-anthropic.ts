import { anthropicWords, patternProblem, required } from './anthropic-words.ts'
import { anthropicTurnsProblem } from './check-anthropic-turns.ts'
import { kindOf, objectOf, objectsOf, shown } from './json-kind.ts'
import { paramProblem, type ParamTable } from './param-problem.ts'
import { firstProblem, type RequestProblem } from './request-problem.ts'
import type { JsonObject, JsonValue } from '../types/json.ts'

const table: ParamTable = {
  model: ['string'],
  max_tokens: ['integer'],
  messages: ['array'],
  system: ['string', 'array'],
  tools: ['array'],
  tool_choice: ['object'],
  thinking: ['object'],
  output_config: ['object'],
  metadata: ['object'],
  stop_sequences: ['array'],
  stream: ['boolean'],
  temperature: ['number'],
  top_p: ['number'],
  top_k: ['integer'],
  service_tier: ['string'],
  speed: ['string'],
  inference_geo: ['string'],
  container: [],
  diagnostics: [],
  cache_control: [],
  user_profile_id: ['string'],
  workspace_id: ['string'],
}

/** Known only to requests that name a beta. */
const betaTable: ParamTable = {
  ...table,
  betas: ['array'],
  compaction: [],
  context_management: [],
  fallback_credit_token: [],
  fallbacks: [],
  mcp_servers: ['array'],
  output_format: ['object'],
  thread: [],
}

/** What the Messages API refuses: missing and unknown members, wrong kinds, bad tools, and turns that do not fit. */
export function checkAnthropic(body: JsonObject, beta = false): RequestProblem | undefined {
  const { messages, max_tokens } = body
  const tools = objectsOf(body['tools'])
  return (
    firstProblem(['model', 'max_tokens', 'messages'], (name) =>
      body[name] === undefined ? required(name) : undefined,
    ) ??
    paramProblem(body, beta ? betaTable : table, anthropicWords) ??
    (typeof max_tokens === 'number' && max_tokens < 1
      ? { message: 'max_tokens: Input should be greater than or equal to 1' }
      : undefined) ??
    anthropicTurnsProblem(objectsOf(messages)) ??
    systemProblem(body['system']) ??
    firstProblem(tools, toolProblem) ??
    duplicateProblem(tools) ??
    choiceProblem(body['tool_choice'], tools) ??
    settingsProblem(body) ??
    cacheProblem(body)
  )
}

function systemProblem(system: JsonValue | undefined): RequestProblem | undefined {
  return firstProblem(objectsOf(system), ({ type, text }, index) => {
    const at = `system.${index}`
    if (type !== 'text') return { message: `${at}.type: Input should be 'text'` }
    return text === '' ? { message: 'system: text content blocks must be non-empty' } : undefined
  })
}

const toolName = /^[a-zA-Z0-9_-]{1,128}$/

/** Tools that run on the provider's side have a type of their own and are taken as they are. */
function toolProblem(tool: JsonObject, index: number): RequestProblem | undefined {
  const { type, name, input_schema, description } = tool
  if (type !== undefined && type !== null && type !== 'custom') return undefined
  const at = `tools.${index}.custom`
  const misnamed = patternProblem(`${at}.name`, name, toolName)
  if (misnamed !== undefined) return misnamed
  if (description !== undefined && typeof description !== 'string')
    return { message: `${at}.description: Input should be a valid string` }
  if (input_schema === undefined) return required(`${at}.input_schema`)
  if (kindOf(input_schema) !== 'object')
    return { message: `${at}.input_schema: Input should be a valid dictionary` }
  const { type: schemaType } = objectOf(input_schema)
  if (schemaType === undefined) return required(`${at}.input_schema.type`)
  return schemaType === 'object'
    ? undefined
    : { message: `${at}.input_schema.type: Input should be 'object'` }
}

function duplicateProblem(tools: readonly JsonObject[]): RequestProblem | undefined {
  const names = tools.flatMap(({ name }) => (typeof name === 'string' ? [name] : []))
  return new Set(names).size === names.length
    ? undefined
    : { message: 'tools: Tool names must be unique.' }
}

function choiceProblem(
  choice: JsonValue | undefined,
  tools: readonly JsonObject[],
): RequestProblem | undefined {
  if (choice === undefined) return undefined
  const { type, name } = objectOf(choice)
  const types = ['auto', 'any', 'tool', 'none']
  if (typeof type !== 'string' || !types.includes(type)) {
    const tags = types.map((tag) => `'${tag}'`).join(', ')
    const message = `tool_choice: Input tag '${shown(type)}' found using 'type' does not match any of the expected tags: ${tags}`
    return { message }
  }
  if (tools.length === 0 && type !== 'none')
    return { message: 'tool_choice: may only be specified while providing tools' }
  if (type === 'tool' && !tools.some((tool) => tool['name'] === name))
    return { message: `Tool '${shown(name)}' not found in provided tools` }
  return undefined
}

function settingsProblem(body: JsonObject): RequestProblem | undefined {
  const { temperature, max_tokens, thinking } = body
  if (typeof temperature === 'number' && (temperature < 0 || temperature > 1))
    return { message: 'temperature: range: 0..1' }
  const { type, budget_tokens } = objectOf(thinking)
  if (type !== 'enabled') return undefined
  if (typeof budget_tokens !== 'number') return required('thinking.enabled.budget_tokens')
  if (budget_tokens < 1024)
    return {
      message: 'thinking.enabled.budget_tokens: Input should be greater than or equal to 1024',
    }
  return typeof max_tokens === 'number' && budget_tokens >= max_tokens
    ? { message: '`max_tokens` must be greater than `thinking.budget_tokens`.' }
    : undefined
}

/** No more than four places of a request may be marked for the cache. */
function cacheProblem(body: JsonObject): RequestProblem | undefined {
  const { cache_control: _own, ...rest } = body
  const found = countMarks(rest)
  if (found <= 4) return undefined
  return {
    message: `A maximum of 4 blocks with cache_control may be provided. Found ${found}.`,
  }
}

function countMarks(value: JsonValue | undefined): number {
  let sum = 0
  for (const item of Array.isArray(value) ? objectsOf(value) : []) sum += countMarks(item)
  for (const [name, member] of Object.entries(objectOf(value))) {
    if (name === 'input' || name === 'input_schema') continue
    sum += name === 'cache_control' && member !== null ? 1 : countMarks(member)
  }
  return sum
}
