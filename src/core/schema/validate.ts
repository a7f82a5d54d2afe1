import type { toolTypes } from '../contracts/engine.ts'
import type { ApprovalNeed, Tool, toolNeeds } from '../contracts/tool.ts'
import type { Issue } from '../types/error-data.ts'
import { isObject } from '../types/guards.ts'
import type { Image, MediaFile } from '../types/media.ts'
import {
  endedByItself,
  finishReasons,
  isBlank,
  roles,
  sourceTypes,
  type Message,
  type Part,
  type Source,
  type Thread,
  type ToolCall,
} from '../types/message.ts'
import {
  reasoningEfforts,
  type ModelRequest,
  type PromptCache,
  type ReasoningOptions,
  type ResponseFormat,
  type ToolSpec,
} from '../types/request.ts'
import { isStandardSchema } from '../types/standard-schema.ts'
import type { Warning } from '../types/warning.ts'
import {
  anyFunction,
  between,
  brief,
  positiveInteger,
  fine,
  flag,
  isFull,
  isPlainObject,
  join,
  json,
  jsonObject,
  listOf,
  maxIssues,
  must,
  nonNegativeInteger,
  oneOf,
  recordOf,
  refuse,
  shapeOf,
  someText,
  tagged,
  text,
  timeoutMs,
  within,
  type Check,
} from './checks.ts'

// Messages

/** The problems of one message by itself. `validateThread` also checks its place in a conversation. */
export function validateMessage(value: unknown): readonly Issue[] {
  const issues = message(value)
  return isPlainObject(value) ? join(issues, roleIssues(value)) : issues
}

/** A tool call as it is in an assistant message and in a session. */
export const toolCall: Check = shapeOf<ToolCall>(
  { id: someText, name: someText, arguments: jsonObject },
  { rawArguments: text, opaque: json },
)

const partOptions = { providerOptions: recordOf(jsonObject) }

/** One part of a message's content. */
export const part: Check = tagged<Part>({
  text: [{ text }, partOptions],
  image: [{ image: validateImage }, { detail: oneOf(['auto', 'low', 'high']), ...partOptions }],
  file: [{ file: validateFile }, partOptions],
  reasoning: [{ text }, { opaque: json, provider: text, ...partOptions }],
  provider_item: [
    { provider: someText, item: jsonObject },
    { callsBefore: positiveInteger, ...partOptions },
  ],
})

const parts = listOf(part)

/** The parts of a tool's result: at least one, none of them the model's own. */
export const resultParts: Check = (value) => {
  const issues = parts(value)
  if (issues.length > 0 || !Array.isArray(value)) return issues
  if (value.length === 0) return refuse('a list of at least one part', value)
  const at = value.findIndex((item: Part) => !resultTypes.includes(item.type))
  return at === -1 ? fine : [{ path: `[${at}].type`, problem: `must be ${resultTypes.join(', ')}` }]
}

const resultTypes: readonly string[] = ['text', 'image', 'file']

export const content: Check = (value) => {
  if (typeof value === 'string') return fine
  return Array.isArray(value) ? parts(value) : refuse('a string or a list of parts', value)
}

/** A source that a message cites. */
export const source: Check = shapeOf<Source>(
  { type: oneOf(sourceTypes) },
  {
    url: text,
    title: text,
    text,
    start: nonNegativeInteger,
    end: nonNegativeInteger,
    providerMetadata: jsonObject,
  },
)

/** A setting that was not sent as it is. */
export const warning: Check = shapeOf<Warning>({ setting: text, problem: text }, {})

/** The name of an engine, on the engine and on its answers. */
export const agentName: Check = must(
  'a text of 1 to 100 characters',
  (value) => typeof value === 'string' && /^[^]{1,100}$/.test(value),
)

const message = shapeOf<Message>(
  { role: oneOf(roles), content },
  {
    toolCalls: listOf(toolCall),
    toolCallId: someText,
    name: someText,
    sources: listOf(source),
    finishReason: oneOf(finishReasons.filter((reason) => !endedByItself(reason))),
    agent: agentName,
    metadata: jsonObject,
    ...partOptions,
  },
)

function roleIssues(value: Readonly<Record<string, unknown>>): readonly Issue[] {
  const { role, toolCalls, toolCallId } = value
  let issues = fine
  if (role === 'tool' && toolCallId === undefined) {
    issues = [{ path: 'toolCallId', problem: 'is missing: a tool message answers one call' }]
  }
  if (role !== 'tool' && toolCallId !== undefined) {
    issues = [{ path: 'toolCallId', problem: 'is for tool messages only' }]
  }
  if (role === 'assistant') {
    return toolCalls === undefined ? issues : join(issues, repeatedIds(toolCalls))
  }
  for (const path of answerFields) {
    if (value[path] === undefined) continue
    issues = join(issues, [{ path, problem: 'is for assistant messages only' }])
  }
  return issues
}

/** What only an answer has. */
const answerFields = ['toolCalls', 'finishReason', 'agent'] as const

function repeatedIds(toolCalls: unknown): readonly Issue[] {
  return repeated(toolCalls, 'id').map(([index, id]) => ({
    path: `toolCalls[${index}].id`,
    problem: `is used twice in this message: ${id}`,
  }))
}

/** The items of a list whose member has the same text as that of an item before them: their index and that text. */
function repeated(list: unknown, member: string): readonly (readonly [number, string])[] {
  if (!Array.isArray(list) || list.length < 2) return []
  const seen = new Set<string>()
  const found: [number, string][] = []
  list.forEach((item: unknown, index) => {
    const word = isPlainObject(item) ? item[member] : undefined
    if (typeof word !== 'string') return
    if (seen.has(word) && found.length < maxIssues) found.push([index, brief(word)])
    seen.add(word)
  })
  return found
}

// Tools

/** The problems of a tool, with or without a handler. Its schema must be JSON; what the schema means is not checked. */
export function validateTool(value: unknown): readonly Issue[] {
  return tool(value)
}

/** The problems of a list of tools in which a name occurs twice. */
export function repeatedNames(tools: unknown): readonly Issue[] {
  return repeated(tools, 'name').map(([index, name]) => ({
    path: `[${index}].name`,
    problem: `is used twice among the tools: ${name}`,
  }))
}

/** The modes of `toolChoice`. A tool cannot have such a name. */
export const toolChoiceModes: readonly string[] = ['auto', 'none', 'required']

const toolName: Check = (value) => {
  if (typeof value !== 'string' || !/^[\w-]{1,64}$/.test(value)) {
    return refuse('1 to 64 letters, digits, _ or -', value)
  }
  return toolChoiceModes.includes(value)
    ? [{ path: '', problem: `must not be ${value}: that is a mode of toolChoice` }]
    : fine
}

const specFields = { name: toolName, description: text, schema: jsonObject }

const toolSpec = shapeOf<ToolSpec>(specFields, { strict: flag, ...partOptions })

/** How long a call waits for somebody. */
export const expiresInMs: Check = between(1, Number.MAX_SAFE_INTEGER)

const approvalRule = must(
  'a boolean or a function of the arguments',
  (value) => typeof value === 'boolean' || typeof value === 'function',
)

const needsApproval: Check = (value) =>
  isPlainObject(value) ? limitedApproval(value) : approvalRule(value)

const limitedApproval = shapeOf<Extract<ApprovalNeed, object>>(
  { expiresInMs },
  { when: approvalRule },
)

const tool = shapeOf<ToolSpec & Partial<Omit<Tool, typeof toolTypes | typeof toolNeeds>>>(
  specFields,
  {
    ...partOptions,
    strict: flag,
    input: must('a Standard Schema', isStandardSchema),
    handler: anyFunction,
    manual: flag,
    needsApproval,
    compact: flag,
    summary: text,
    timeoutMs,
    idempotent: flag,
    reconcile: anyFunction,
    agent: must('made by agentTool', (value) => isPlainObject(value) && 'engine' in value),
    handoff: must('made by handoff', (value) => isPlainObject(value) && 'engine' in value),
  },
)

// Requests

/** The problems of a request: of each field, each message and tool, and of tool calls and answers that do not match. */
export function validateRequest(value: unknown): readonly Issue[] {
  const issues = request(value)
  if (!isPlainObject(value)) return issues
  const conversation = Array.isArray(value['messages']) ? transcriptIssues(value['messages']) : fine
  return join(join(issues, conversation), choiceIssues(value))
}

/** The format of an answer, as plain data. */
export const responseFormat: Check = tagged<ResponseFormat>({
  text: [{}],
  json_object: [{}],
  json_schema: [{ name: someText, schema: jsonObject, strict: flag }],
})

const cacheOptions = shapeOf<Exclude<PromptCache, true>>(
  {},
  { key: someText, retention: oneOf(['short', 'long']) },
)

const promptCache: Check = (value) => {
  if (value === true) return fine
  return typeof value === 'object'
    ? cacheOptions(value)
    : refuse('true or an object with key and retention', value)
}

/** The fields of a request that are also options of a call, where they have the same check. */
type SharedField = Exclude<keyof ModelRequest, 'messages' | 'tools' | 'responseFormat'>

/** The checks that a request and the options of a call share. */
export const requestFields: Readonly<Record<SharedField, Check>> = {
  model: someText,
  toolChoice: someText,
  parallelToolCalls: flag,
  temperature: between(0, 2),
  topP: between(0, 1),
  topK: positiveInteger,
  maxTokens: positiveInteger,
  stopSequences: listOf(someText),
  seed: must('an integer', (value) => Number.isSafeInteger(value)),
  presencePenalty: between(-2, 2),
  frequencyPenalty: between(-2, 2),
  reasoning: shapeOf<ReasoningOptions>({ effort: oneOf(reasoningEfforts) }, { summary: flag }),
  promptCache,
  providerOptions: recordOf(jsonObject),
  metadata: jsonObject,
}

const messages = listOf(validateMessage)

const toolSpecs = listOf(toolSpec)

const { providerOptions, metadata, ...optionalFields } = requestFields

const request = shapeOf<ModelRequest>(
  {
    messages: (value) =>
      Array.isArray(value) && value.length === 0
        ? refuse('a list of at least one message', value)
        : messages(value),
    tools: (value) => join(toolSpecs(value), repeatedNames(value)),
    providerOptions,
    metadata,
  },
  { ...optionalFields, responseFormat },
)

function choiceIssues(value: Readonly<Record<string, unknown>>): readonly Issue[] {
  const { toolChoice, tools } = value
  if (typeof toolChoice !== 'string' || !Array.isArray(tools)) return fine
  if (toolChoice === 'required' && tools.length === 0) {
    return [{ path: 'toolChoice', problem: 'is required, but the request has no tools' }]
  }
  const known = tools.some((item: unknown) => isPlainObject(item) && item['name'] === toolChoice)
  if (known || toolChoice === '' || toolChoiceModes.includes(toolChoice)) return fine
  const modes = toolChoiceModes.join(', ')
  return within('toolChoice', refuse(`${modes} or the name of a tool of the request`, toolChoice))
}

// Threads

/**
 * The problems of a conversation: of each message, and of tool calls and answers that do not match. An empty thread is
 * valid.
 */
export function validateThread(value: unknown): readonly Issue[] {
  return join(thread(value), threadTranscript(value))
}

/**
 * Whether a thread can be sent to every provider as it is: valid, every tool call answered, and at least one message that is sent.
 * Answers without content are not.
 */
export function isSendable(value: unknown): boolean {
  return (
    isPlainObject(value) &&
    Array.isArray(value['messages']) &&
    validateThread(value).length === 0 &&
    // They are messages.
    !(value['messages'] as readonly Message[]).every(isBlank)
  )
}

const thread = /* @__PURE__ */ shapeOf<Thread>({ messages, metadata: jsonObject }, {})

/** A conversation whose last tool calls may still be unanswered. */
export const openThread: Check = (value) =>
  join(
    thread(value),
    threadTranscript(value, () => true),
  )

/** The problems of a thread's messages as a conversation. */
export function threadTranscript(value: unknown, mayWait?: MayWait): readonly Issue[] {
  if (!isPlainObject(value) || !Array.isArray(value['messages'])) return fine
  return transcriptIssues(value['messages'], mayWait)
}

/** The tool calls of the last assistant message: the message's index, the index of each call by id, and the answered ids. */
interface Turn {
  index: number
  readonly calls: Map<string, number>
  readonly answered: Set<string>
}

/** Which calls of the last turn may be unanswered. Without it none may. */
type MayWait = (callId: string) => boolean

/** The problems of messages as a conversation: each tool call must be answered exactly once, before any other message. */
function transcriptIssues(messages: readonly unknown[], mayWait?: MayWait): readonly Issue[] {
  const turn: Turn = { index: 0, calls: new Map(), answered: new Set() }
  let issues = fine
  for (let index = 0; index < messages.length && !isFull(issues); index++) {
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
  return join(issues, endTurn(turn, mayWait))
}

function takeAnswer(turn: Turn, id: unknown, index: number): readonly Issue[] {
  if (typeof id !== 'string') return fine
  if (turn.calls.has(id) && !turn.answered.has(id)) {
    turn.answered.add(id)
    return fine
  }
  const problem = turn.calls.has(id)
    ? `answers ${brief(id)} a second time`
    : `answers ${brief(id)}, which is not a call of the assistant message before it`
  return [{ path: `messages[${index}].toolCallId`, problem }]
}

function endTurn({ index, calls, answered }: Turn, mayWait?: MayWait): readonly Issue[] {
  let issues = fine
  if (answered.size < calls.size) {
    for (const [id, at] of calls) {
      if (answered.has(id) || mayWait?.(id)) continue
      if (isFull(issues)) break
      const path = `messages[${index}].toolCalls[${at}]`
      issues = join(issues, [{ path, problem: `tool call ${brief(id)} is not answered` }])
    }
  }
  calls.clear()
  answered.clear()
  return issues
}

function startTurn(turn: Turn, calls: readonly unknown[], index: number): void {
  turn.index = index
  calls.forEach((call, at) => {
    if (isObject(call) && typeof call['id'] === 'string') turn.calls.set(call['id'], at)
  })
}

// Images and files

/** The problems of an image: its kind, its bytes, URL or id, its type. Nothing is fetched. */
export function validateImage(value: unknown): readonly Issue[] {
  if (!isObject(value) || value['type'] !== 'file') return image(value)
  const problem = 'must not be a file: no value names a local path; use imageFromFile(path)'
  return [{ path: 'type', problem }]
}

/** The problems of a file: its kind, its bytes, URL or id, its type. Nothing is fetched. */
export function validateFile(value: unknown): readonly Issue[] {
  return file(value)
}

/** A MIME type without parameters. */
const mimeType: Check = must(
  'a media type such as "application/pdf"',
  (value) => typeof value === 'string' && /^[a-z0-9][\w.+-]*\/[\w.+-]+$/.test(value),
)

/** The MIME type of an image. */
export const imageMimeType: Check = must(
  'an image type such as "image/png"',
  (value) => typeof value === 'string' && /^image\/[a-z0-9][a-z0-9.+-]*$/.test(value),
)

/**
 * The problem of a base64 text, as the end of a sentence, or `undefined`.
 *
 * Padding is required. Line breaks and the URL alphabet (`-`, `_`) are refused, since providers do not accept them.
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

const base64: Check = (value) => {
  if (typeof value !== 'string') return refuse('a base64 string', value)
  const problem = base64Problem(value)
  return problem === undefined ? fine : [{ path: '', problem }]
}

const webUrl: Check = must(
  'an http or https URL',
  (value) => typeof value === 'string' && /^https?:\/\/[^\s/]/i.test(value),
)

const imageFacts = {
  width: positiveInteger,
  height: positiveInteger,
  revisedPrompt: text,
  metadata: jsonObject,
}

const image = tagged<Image>({
  base64: [
    { base64, mimeType: imageMimeType },
    { name: someText, ...imageFacts },
  ],
  url: [{ url: webUrl }, { mimeType: imageMimeType, name: someText, ...imageFacts }],
  id: [
    { id: someText, provider: someText },
    { mimeType: imageMimeType, ...imageFacts },
  ],
})

const file = tagged<MediaFile>({
  base64: [{ base64, mimeType }, { name: someText }],
  url: [{ url: webUrl }, { mimeType, name: someText }],
  id: [{ id: someText, provider: someText }, { mimeType }],
})
