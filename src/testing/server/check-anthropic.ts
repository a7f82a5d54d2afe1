import type { JsonObject, JsonValue } from '../../core/types/json.ts'
import {
  firstProblem,
  kindOf,
  objectOf,
  objectsOf,
  paramProblem,
  shown,
  type ParamKind,
  type ParamTable,
  type ParamWords,
  type RequestProblem,
} from './check-params.ts'
import type { WirePlatform } from './wire-format.ts'

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

/** With parameters that are allowed only in requests with a beta header. */
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

/** Checks a Messages request: missing and unknown members, wrong kinds, invalid tools, and the order of turns. */
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

/**
 * Checks a Messages request as a platform takes it: the version is in the body, the model is not, and neither platform finds the place of
 * a cache mark by itself. Bedrock also has the beta features in the body, and the kind of answer in the path only.
 */
export function checkPlacedAnthropic(
  body: JsonObject,
  platform: WirePlatform,
  beta: boolean,
): RequestProblem | undefined {
  const { anthropic_version, anthropic_beta, ...rest } = body
  const isBedrock = platform === 'bedrock'
  const foreign = ['model', 'cache_control', ...(isBedrock ? ['stream'] : ['anthropic_beta'])]
  const hasBeta = isBedrock ? anthropic_beta !== undefined : beta
  return (
    (typeof anthropic_version === 'string' ? undefined : required('anthropic_version')) ??
    firstProblem(foreign, (name) =>
      body[name] === undefined ? undefined : anthropicWords.unknown(name),
    ) ??
    checkAnthropic({ ...rest, model: platform }, hasBeta)
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

/** The provider's own tools have another type and are not checked. */
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

/** A request may have at most four cache marks. */
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

/** Checks each message, then their order. */
function anthropicTurnsProblem(messages: readonly JsonObject[]): RequestProblem | undefined {
  const [first] = messages
  if (first === undefined) return { message: 'messages: at least one message is required' }
  return (
    firstProblem(messages, (message, index) =>
      messageProblem(message, index, index === messages.length - 1),
    ) ??
    (first['role'] === 'user'
      ? undefined
      : { message: 'messages: first message must use the "user" role' }) ??
    toolOrderProblem(messages)
  )
}

function messageProblem(
  message: JsonObject,
  index: number,
  last: boolean,
): RequestProblem | undefined {
  const at = `messages.${index}`
  const { role, content } = message
  const extra = Object.keys(message).find((name) => name !== 'role' && name !== 'content')
  if (extra !== undefined) return { message: `${at}.${extra}: Extra inputs are not permitted` }
  if (role === undefined) return required(`${at}.role`)
  if (role !== 'user' && role !== 'assistant' && role !== 'system')
    return {
      message: `messages: Unexpected role "${shown(role)}". Allowed roles are "user" or "assistant".`,
    }
  if (content === undefined) return required(`${at}.content`)
  if (typeof content !== 'string' && !Array.isArray(content))
    return { message: `${at}.content: Input should be a valid list` }
  if (content.length === 0 && !(last && role === 'assistant')) {
    const rule =
      'all messages must have non-empty content except for the optional final assistant message'
    return { message: `${at}: ${rule}` }
  }
  if (last && role === 'assistant' && endsInSpace(content))
    return { message: 'messages: final assistant content cannot end with trailing whitespace' }
  return firstProblem(objectsOf(content), (block, i) =>
    blockProblem(block, `${at}.content.${i}`, role),
  )
}

function endsInSpace(content: JsonValue): boolean {
  const last = typeof content === 'string' ? content : objectsOf(content).at(-1)?.['text']
  return typeof last === 'string' && last !== '' && last !== last.trimEnd()
}

const blockIds = /^[a-zA-Z0-9_-]+$/

function blockProblem(block: JsonObject, at: string, role: string): RequestProblem | undefined {
  const { type, text, id, name, input, tool_use_id } = block
  if (type === undefined) return required(`${at}.type`)
  if (type === 'text') {
    if (typeof text !== 'string') return required(`${at}.text.text`)
    if (text === '') return { message: 'messages: text content blocks must be non-empty' }
    if (text.trim() === '')
      return { message: 'messages: text content blocks must contain non-whitespace text' }
  }
  if (type === 'tool_use') {
    if (role !== 'assistant') return misplaced(type, role)
    if (name === undefined) return required(`${at}.tool_use.name`)
    if (input === undefined) return required(`${at}.tool_use.input`)
    return patternProblem(`${at}.tool_use.id`, id, blockIds)
  }
  if (type === 'tool_result') {
    if (role !== 'user') return misplaced(type, role)
    return (
      patternProblem(`${at}.tool_result.tool_use_id`, tool_use_id, blockIds) ??
      firstProblem(objectsOf(block['content']), (inner, index) =>
        mediaProblem(inner, `${at}.tool_result.content.${index}`),
      )
    )
  }
  if (type === 'image' || type === 'document') {
    return role === 'user' ? mediaProblem(block, at) : misplaced(type, role)
  }
  if (type === 'thinking' && typeof block['signature'] !== 'string')
    return required(`${at}.thinking.signature`)
  return undefined
}

/** The sources of images and documents, with the one type that a source takes. */
const mediaSources: Readonly<Record<string, readonly string[]>> = {
  image: ['base64', 'url', 'file'],
  document: ['base64', 'text', 'content', 'url', 'file'],
}

const sourceTypes: Readonly<Record<string, readonly string[]>> = {
  'image.base64': ['image/jpeg', 'image/png', 'image/gif', 'image/webp'],
  'document.base64': ['application/pdf'],
  'document.text': ['text/plain'],
}

function mediaProblem(block: JsonObject, at: string): RequestProblem | undefined {
  const kind = shown(block['type'])
  const tags = mediaSources[kind]
  if (tags === undefined) return undefined
  if (block['source'] === undefined) return required(`${at}.${kind}.source`)
  const source = objectOf(block['source'])
  const { type, media_type } = source
  const place = `${at}.${kind}.source`
  if (typeof type !== 'string' || !tags.includes(type)) {
    const expected = tags.map((tag) => `'${tag}'`).join(', ')
    const message = `${place}: Input tag '${shown(type)}' found using 'type' does not match any of the expected tags: ${expected}`
    return { message }
  }
  const member = { base64: 'data', text: 'data', url: 'url', file: 'file_id' }[type]
  if (member !== undefined && typeof source[member] !== 'string')
    return required(`${place}.${type}.${member}`)
  const types = sourceTypes[`${kind}.${type}`]
  if (types === undefined || types.includes(shown(media_type))) return undefined
  const expected = types.map((name) => `'${name}'`).join(' or ')
  return { message: `${place}.${type}.media_type: Input should be ${expected}` }
}

function misplaced(type: string, role: string): RequestProblem {
  const other = role === 'user' ? 'assistant' : 'user'
  return { message: `messages: \`${type}\` blocks can only be in \`${other}\` messages` }
}

/** Every tool call needs a result at the start of the next turn, and every result needs its call in the turn before. */
function toolOrderProblem(messages: readonly JsonObject[]): RequestProblem | undefined {
  const seen = new Set<string>()
  let open: readonly string[] = []
  let openedAt = 0
  for (const { index, blocks } of turnsOf(messages)) {
    const problem = answersProblem(blocks, open, { index, openedAt })
    if (problem !== undefined) return problem
    open = idsOf(blocks, 'tool_use', 'id')
    openedAt = index
    const repeated = open.find((id, i) => seen.has(id) || open.indexOf(id) !== i)
    if (repeated !== undefined)
      return { message: `messages.${index}: \`tool_use\` ids must be unique` }
    for (const id of open) seen.add(id)
  }
  return open.length === 0 ? undefined : unanswered(openedAt, open)
}

/** Consecutive messages of the same role are one turn. */
function turnsOf(
  messages: readonly JsonObject[],
): readonly { readonly index: number; readonly blocks: JsonObject[] }[] {
  const turns: { role: JsonValue | undefined; index: number; blocks: JsonObject[] }[] = []
  for (const [index, { role, content }] of messages.entries()) {
    const blocks = typeof content === 'string' ? [{ type: 'text' }] : objectsOf(content)
    const turn = turns.at(-1)
    if (turn?.role === role) turn?.blocks.push(...blocks)
    else turns.push({ role, index, blocks: [...blocks] })
  }
  return turns
}

function answersProblem(
  blocks: readonly JsonObject[],
  open: readonly string[],
  { index, openedAt }: { readonly index: number; readonly openedAt: number },
): RequestProblem | undefined {
  const answered = idsOf(blocks, 'tool_result', 'tool_use_id')
  const orphan = answered.find((id) => !open.includes(id))
  if (orphan !== undefined) {
    const at = blocks.findIndex((block) => block['tool_use_id'] === orphan)
    const message = `messages.${index}.content.${at}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${orphan}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`
    return { message }
  }
  // Results must come before all other blocks.
  const leading = blocks.findIndex((block) => block['type'] !== 'tool_result')
  const inPlace = leading === -1 ? answered : answered.slice(0, leading)
  const rest = open.filter((id) => !inPlace.includes(id))
  return rest.length === 0 ? undefined : unanswered(openedAt, rest)
}

function unanswered(index: number, ids: readonly string[]): RequestProblem {
  const names = ids.join(', ')
  const message = `messages.${index}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${names}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`
  return { message }
}

function idsOf(blocks: readonly JsonObject[], type: string, member: string): readonly string[] {
  return blocks.flatMap((block) => (block['type'] === type ? [shown(block[member])] : []))
}

const expectations: Readonly<Record<ParamKind, string>> = {
  string: 'a valid string',
  number: 'a valid number',
  integer: 'a valid integer',
  boolean: 'a valid boolean',
  array: 'a valid list',
  object: 'a valid dictionary',
}

/** Anthropic's error messages about parameters. */
const anthropicWords: ParamWords = {
  nullable: false,
  unknown: (name) => ({ message: `${name}: Extra inputs are not permitted` }),
  wrongKind: (name, [expected = 'object']) => ({
    message: `${name}: Input should be ${expectations[expected]}`,
  }),
}

/** A required member is missing. */
function required(place: string): RequestProblem {
  return { message: `${place}: Field required` }
}

/** Checks that a value is a string that matches a pattern. */
function patternProblem(
  place: string,
  value: unknown,
  pattern: RegExp,
): RequestProblem | undefined {
  if (value === undefined) return required(place)
  if (typeof value === 'string' && pattern.test(value)) return undefined
  return { message: `${place}: String should match pattern '${pattern.source}'` }
}
