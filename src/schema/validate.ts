import {
  anyFunction,
  between,
  count,
  fine,
  flag,
  integer,
  isPlainObject,
  join,
  json,
  jsonObject,
  listOf,
  must,
  oneOf,
  recordOf,
  refuse,
  remembered,
  shape,
  someText,
  tag,
  tagged,
  text,
  timeoutMs,
  within,
  type Check,
  type Checks,
} from './checks.ts'
import type { ErrorKind, Issue } from '../types/error-data.ts'
import { imageOperations } from '../types/media.ts'
import type { Role } from '../types/message.ts'
import type { ModelRequest, ReasoningEffort } from '../types/request.ts'
import { finishReasons } from '../types/response.ts'
import { sessionStatuses, sessionVersion } from '../types/session.ts'
import { isStandardSchema } from '../types/standard-schema.ts'

const roles: readonly Role[] = ['system', 'user', 'assistant', 'tool']

/** A tool call as it stands in an assistant message and in a session. */
export const toolCall: Check = shape(
  { id: someText, name: someText, arguments: jsonObject },
  { rawArguments: text, opaque: json },
)

const base64: Check = (value) => {
  if (typeof value !== 'string') return refuse('a base64 string', value)
  const problem = base64Problem(value)
  return problem === undefined ? fine : [{ path: '', problem }]
}

/** A mime type of an image. */
export const imageMimeType: Check = must(
  'an image type such as "image/png"',
  (value) => typeof value === 'string' && /^image\/[a-z0-9][a-z0-9.+-]*$/.test(value),
)

const facts: Checks = { width: count, height: count, revisedPrompt: text, metadata: jsonObject }

/** An address that a provider can fetch. */
const imageUrl: Check = must(
  'an http or https address',
  (value) => typeof value === 'string' && /^https?:\/\/[^\s/]/i.test(value),
)

// Remembered, since a large image would else be read through by every constructor on its way.
const image = remembered(
  tagged({
    base64: shape({ type: tag, base64, mimeType: imageMimeType }, facts),
    url: shape({ type: tag, url: imageUrl }, { ...facts, mimeType: imageMimeType }),
    file: shape({ type: tag, path: someText }, { ...facts, mimeType: imageMimeType }),
  }),
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

/** The problems of an image: its kind, its bytes or address, its type. Nothing is fetched or read. */
export function validateImage(value: unknown): readonly Issue[] {
  return image(value)
}

/**
 * What is wrong with a base64 text, as the end of a sentence; `undefined` when nothing is.
 *
 * Padding is required, line breaks and the URL alphabet (`-`, `_`) are refused: providers do not take them.
 */
export function base64Problem(base64: string): string | undefined {
  if (base64 === '') return 'is empty'
  if (base64.startsWith('data:')) return 'is a data URI; use imageFromDataUri'
  const at = base64.search(/[^A-Za-z0-9+/]/)
  const padding = at === -1 ? 0 : base64.length - at
  if (padding > 0 && (padding > 2 || base64.slice(at) !== '='.repeat(padding))) {
    return `is not base64: character ${at + 1} is ${JSON.stringify(base64[at])}`
  }
  if (base64.length % 4 === 0) return undefined
  return `is not base64: its length, ${base64.length}, is not a multiple of 4 (is the padding missing?)`
}

/** The words of a tool choice, which a tool can therefore not be called. */
const toolChoiceWords: readonly string[] = ['auto', 'none', 'required']

const name: Check = (value) => {
  if (typeof value !== 'string' || !/^[\w-]{1,64}$/.test(value)) {
    return refuse('1 to 64 letters, digits, _ or -', value)
  }
  return toolChoiceWords.includes(value)
    ? [{ path: '', problem: `must not be ${value}: it is a word of toolChoice` }]
    : fine
}

const spec = { name, description: text, schema: remembered(jsonObject) }

/** A tool as it stands in a request: plain data only. */
const toolSpec: Check = shape(spec, { strict: flag })

const tool = shape(spec, {
  strict: flag,
  input: must('a Standard Schema', isStandardSchema),
  handler: anyFunction,
  manual: flag,
  compact: flag,
  summary: text,
  timeoutMs,
  idempotent: flag,
})

/** The problems of a tool, with or without a handler. The schema is checked for being JSON, not for its meaning. */
export function validateTool(value: unknown): readonly Issue[] {
  return tool(value)
}

/** The tools of a list that are named like one before them. */
export function repeatedNames(tools: unknown): readonly Issue[] {
  if (!Array.isArray(tools) || tools.length < 2) return fine
  const seen = new Set<unknown>()
  let issues = fine
  tools.forEach((item: unknown, index) => {
    const toolName = isPlainObject(item) ? item['name'] : undefined
    if (typeof toolName === 'string' && seen.has(toolName)) {
      issues = join(issues, [
        { path: `[${index}].name`, problem: `is used twice among the tools: ${toolName}` },
      ])
    }
    seen.add(toolName)
  })
  return issues
}

const efforts: readonly ReasoningEffort[] = ['none', 'minimal', 'low', 'medium', 'high', 'max']

/** The form of an answer, as data. */
export const responseFormat: Check = tagged({
  text: shape({ type: tag }),
  json_object: shape({ type: tag }),
  json_schema: shape({ type: tag, name: someText, schema: jsonObject, strict: flag }),
})

const cacheOptions = shape({}, { key: someText, retention: oneOf(['short', 'long']) })

const promptCache: Check = (value) => {
  if (value === true) return fine
  return typeof value === 'object'
    ? cacheOptions(value)
    : refuse('true or an object with key and retention', value)
}

/** The fields of a request that are also options of a call. */
type SharedField = Exclude<keyof ModelRequest, 'messages' | 'tools' | 'responseFormat'>

/** The checks that a request and the options of a call have in common. */
export const requestFields: Readonly<Record<SharedField, Check>> = {
  model: someText,
  toolChoice: someText,
  temperature: between(0, 2),
  maxTokens: count,
  reasoning: shape({ effort: oneOf(efforts) }, { summary: flag }),
  promptCache,
  providerOptions: recordOf(jsonObject),
  metadata: jsonObject,
}

const messages = listOf(remembered(validateMessage))

const tools = listOf(toolSpec)

const { providerOptions, metadata, ...optionalFields } = requestFields

const requestShape = shape(
  {
    messages: (value) =>
      Array.isArray(value) && value.length === 0
        ? refuse('a list of at least one message', value)
        : messages(value),
    tools: (value) => join(tools(value), repeatedNames(value)),
    providerOptions,
    metadata,
  },
  { ...optionalFields, responseFormat },
)

/**
 * The problems of a request: of each field, each message and tool, and of calls and answers that do not match.
 *
 * A message that was legal once is not looked into again, so the cost of a growing history stays small.
 */
export function validateRequest(value: unknown): readonly Issue[] {
  const issues = requestShape(value)
  if (!isPlainObject(value)) return issues
  const conversation = Array.isArray(value['messages']) ? transcriptIssues(value['messages']) : fine
  return join(join(issues, conversation), choiceIssues(value))
}

function choiceIssues(value: Readonly<Record<string, unknown>>): readonly Issue[] {
  const { toolChoice, tools: offered } = value
  if (typeof toolChoice !== 'string' || !Array.isArray(offered)) return fine
  if (toolChoice === 'required' && offered.length === 0) {
    return [{ path: 'toolChoice', problem: 'is required, but the request has no tools' }]
  }
  const known = offered.some((tool: unknown) => isPlainObject(tool) && tool['name'] === toolChoice)
  if (known || toolChoice === '' || toolChoiceWords.includes(toolChoice)) return fine
  const words = toolChoiceWords.join(', ')
  return within('toolChoice', refuse(`${words} or the name of a tool of the request`, toolChoice))
}

const thread = shape({ messages: listOf(validateMessage), metadata: jsonObject })

/** The problems of a conversation: of each message, and of calls and answers that do not match. An empty one is legal. */
export function validateThread(value: unknown): readonly Issue[] {
  return join(thread(value), transcriptOf(value, false))
}

/** The problems of a conversation whose last calls may still wait for their answers. */
const openThread: Check = (value) => join(thread(value), transcriptOf(value, true))

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

/** The calls of the last assistant message: its place, theirs in it by id, and those that are answered. */
interface Turn {
  index: number
  readonly calls: Map<string, number>
  readonly answered: Set<string>
}

/**
 * The problems of messages as a conversation: each tool call is answered exactly once, before anything else is said.
 *
 * With `openEnd`, the calls of the last turn may still wait for their answers.
 */
function transcriptIssues(
  messages: readonly unknown[],
  openEnd: boolean = false,
): readonly Issue[] {
  const turn: Turn = { index: 0, calls: new Map(), answered: new Set() }
  let issues = fine
  for (let index = 0; index < messages.length; index++) {
    const message = messages[index]
    if (!isObject(message)) continue
    const { role, toolCalls, toolCallId } = message
    if (role === 'tool') {
      issues = join(issues, takeAnswer(turn, toolCallId, index))
      continue
    }
    if (turn.calls.size > 0) issues = join(issues, endTurn(turn))
    if (Array.isArray(toolCalls)) startTurn(turn, toolCalls, index)
  }
  return openEnd ? issues : join(issues, endTurn(turn))
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}

function startTurn(turn: Turn, calls: readonly unknown[], index: number): void {
  turn.index = index
  calls.forEach((call, at) => {
    if (isObject(call) && typeof call['id'] === 'string') turn.calls.set(call['id'], at)
  })
}

function takeAnswer(turn: Turn, id: unknown, index: number): readonly Issue[] {
  if (typeof id !== 'string') return fine
  if (turn.calls.has(id) && !turn.answered.has(id)) {
    turn.answered.add(id)
    return fine
  }
  const problem = turn.calls.has(id)
    ? `answers ${id} a second time`
    : `answers ${id}, which is no call of the assistant message before it`
  return [{ path: `messages[${index}].toolCallId`, problem }]
}

function endTurn({ index, calls, answered }: Turn): readonly Issue[] {
  let issues = fine
  if (answered.size < calls.size) {
    for (const [id, at] of calls) {
      if (answered.has(id)) continue
      const path = `messages[${index}].toolCalls[${at}]`
      issues = join(issues, [{ path, problem: `tool call ${id} is not answered` }])
    }
  }
  calls.clear()
  answered.clear()
  return issues
}

const dimensions = shape({ width: count, height: count })

const size: Check = (value) => {
  if (typeof value === 'object') return dimensions(value)
  return typeof value === 'string' && value !== ''
    ? fine
    : refuse('auto, a size such as "1024x1024", or {width, height}', value)
}

const imageRequestFields = shape(
  {
    operation: oneOf(imageOperations),
    n: count,
    responseFormat: oneOf(['base64', 'url']),
    inputImages: listOf(validateImage),
    providerOptions: requestFields.providerOptions,
    metadata: requestFields.metadata,
  },
  {
    model: someText,
    prompt: text,
    size,
    quality: someText,
    style: someText,
    background: oneOf(['transparent', 'opaque', 'auto']),
    mask: validateImage,
  },
)

/** The problems of an image request: of its fields, and of what its operation needs. */
export function validateImageRequest(value: unknown): readonly Issue[] {
  const issues = imageRequestFields(value)
  return isPlainObject(value) ? join(issues, operationIssues(value)) : issues
}

/** How many input images each operation takes, at least and at most. */
const inputCounts: Readonly<Record<string, readonly [number, number]>> = {
  generate: [0, 0],
  edit: [1, 16],
  variation: [1, 1],
}

function operationIssues(value: Readonly<Record<string, unknown>>): readonly Issue[] {
  const { operation, prompt, inputImages, mask } = value
  const counts = typeof operation === 'string' ? inputCounts[operation] : undefined
  if (counts === undefined) return fine
  const issues: Issue[] = []
  if (operation !== 'variation' && (prompt === undefined || prompt === '')) {
    issues.push({ path: 'prompt', problem: `is needed to ${String(operation)} an image` })
  }
  if (mask !== undefined && operation !== 'edit') {
    issues.push({ path: 'mask', problem: 'is for the operation edit only' })
  }
  const [least, most] = counts
  if (Array.isArray(inputImages) && (inputImages.length < least || inputImages.length > most)) {
    const wanted = most === 0 ? 'none' : least === most ? `exactly ${least}` : `${least} to ${most}`
    const problem = `must have ${wanted} for ${String(operation)}, not ${inputImages.length}`
    issues.push({ path: 'inputImages', problem })
  }
  return issues
}

const kinds: readonly ErrorKind[] = [
  'adapter',
  'stream',
  'tool',
  'engine',
  'validation',
  'session',
  'image_adapter',
]

const error = shape(
  { kind: oneOf(kinds), reason: someText, message: text },
  {
    metadata: jsonObject,
    cause: json,
    requestId: text,
    provider: text,
    status: integer,
    retryAfterMs: between(0, Number.MAX_VALUE),
    retryable: flag,
    eventIndex: integer,
    toolName: text,
    toolCallId: text,
    issues: listOf(shape({ path: text, problem: text })),
    partial: json,
  },
)

const halt = shape(
  { reason: someText, toolCallId: someText },
  { result: json, question: text, options: jsonObject, error },
)

const answer = shape(
  {
    requestId: text,
    provider: text,
    finishReason: oneOf(finishReasons),
    usage: jsonObject,
    metadata: jsonObject,
  },
  { id: text, model: text, rawFinishReason: text, error },
)

const stored = shape(
  { toolCallId: someText },
  {
    value: json,
    error,
    question: shape({ question: text, options: jsonObject }),
    haltReason: someText,
  },
)

const run = shape(
  {
    mode: oneOf(['auto', 'manual']),
    turns: integer,
    phase: oneOf(['model', 'tools', 'between']),
    started: listOf(someText),
    halts: listOf(halt),
  },
  { answer, silent: must('true', (value) => value === true), results: listOf(stored) },
)

const version: Check = must(
  `a version from 1 to ${sessionVersion} (a newer one needs a newer allm-ts)`,
  (value) => Number.isInteger(value) && Number(value) >= 1 && Number(value) <= sessionVersion,
)

const session = shape(
  {
    version,
    id: someText,
    status: oneOf(sessionStatuses),
    thread: openThread,
    pendingToolCalls: listOf(toolCall),
    context: jsonObject,
    metadata: jsonObject,
  },
  {
    pendingQuestion: text,
    pendingToolCallId: someText,
    moreQuestions: listOf(halt),
    error,
    run,
  },
)

/**
 * The problems of a session: of its fields, of its thread, and of what its status needs.
 *
 * Tool calls may be open at the end of the thread only while the session waits or a run is under way.
 */
export function validateSession(value: unknown): readonly Issue[] {
  const issues = session(value)
  return isPlainObject(value) ? join(issues, statusIssues(value)) : issues
}

function statusIssues(value: Readonly<Record<string, unknown>>): readonly Issue[] {
  const { status, pendingToolCalls, pendingQuestion, thread } = value
  if (status === 'awaiting_user') {
    return pendingQuestion === undefined ? needed('pendingQuestion', status) : fine
  }
  if (status === 'awaiting_tools') {
    const none = Array.isArray(pendingToolCalls) && pendingToolCalls.length === 0
    return none ? needed('pendingToolCalls', status) : fine
  }
  if (status === 'error' && value['error'] === undefined) return needed('error', status)
  return value['run'] === undefined ? openCalls(thread) : fine
}

function needed(path: string, status: string): readonly Issue[] {
  return [{ path, problem: `is needed when the status is ${status}` }]
}

/** What is wrong with a thread only because its last calls are open. */
function openCalls(thread: unknown): readonly Issue[] {
  return openThread(thread).length > 0 ? fine : within('thread', validateThread(thread))
}
