import { mergeOptions } from '../../core/messages/provider-options.ts'
import { isErrorResult } from '../../core/messages/tool-messages.ts'
import { toolChoiceModes } from '../../core/schema/validate.ts'
import { assertNever, isObject } from '../../core/types/guards.ts'
import type { JsonObject } from '../../core/types/json.ts'
import type { Image, MediaFile } from '../../core/types/media.ts'
import {
  messageParts,
  messageText,
  type Message,
  type Part,
  type ToolCall,
} from '../../core/types/message.ts'
import type { ModelRequest } from '../../core/types/request.ts'
import type { Warn } from '../../core/types/warning.ts'
import { toolNames } from '../../providers/shared/content.ts'
import { fileMimeType, located, unsupportedFile } from '../../providers/shared/files.ts'
import { leaveOut, requestSettings } from '../../providers/shared/request-body.ts'
import { toolIds, type ToolIds } from '../../providers/shared/tool-ids.ts'
import { fileData, itemParts, kept, type Value } from './echo.ts'
import type { AiSdkTarget, SupportedUrls } from './model.ts'

/** What the parts of one request are rendered with. */
interface Context extends AiSdkTarget {
  readonly urls: SupportedUrls
  /** The names of the called tools by the ids of the calls. */
  readonly names: ReadonlyMap<string, string>
  readonly ids: ToolIds
}

/**
 * The options of `doStream` for a request, in the words of the model's specification. A setting that the specification does not have
 * is told to `warn`; a file that the model does not take is an `AdapterError`.
 */
export async function renderCall(
  request: ModelRequest,
  target: AiSdkTarget,
  warn: Warn,
): Promise<Value> {
  const context: Context = {
    ...target,
    urls: (await target.model.supportedUrls) ?? {},
    names: toolNames(request.messages),
    ids: toolIds((id) => (target.optionsName === 'anthropic' ? id.replaceAll(/[^\w-]/g, '_') : id)),
  }
  const isNew = target.version === 'v4'
  leaveOut(request, isNew ? ['promptCache'] : ['promptCache', 'reasoning'], { warn }, noPlace)
  const { effort, summary } = (isNew ? request.reasoning : undefined) ?? {}
  if (summary === true) warn('reasoning.summary', `it is not sent${noPlace}`)
  // Every field of a request is decided about. A member that is `undefined` counts as absent.
  const fields = {
    tools: toolsOf(request, context, warn),
    toolChoice: choiceOf(request),
    responseFormat: formatOf(request),
    reasoning: effort,
    providerOptions: optionsOf(request, context, target.options.providerOptions),
  } satisfies Record<Exclude<keyof ModelRequest, keyof typeof parameters | NotSent>, unknown>
  const settings = requestSettings(request, parameters, { warn })
  return { ...settings, ...fields, prompt: promptOf(request, context) }
}

/** The model has its name, the messages are the prompt, and the cache has no setting. */
type NotSent = 'model' | 'messages' | 'promptCache' | 'metadata'

/** The settings that the specification has, under its names. */
const parameters = {
  maxTokens: 'maxOutputTokens',
  temperature: 'temperature',
  topP: 'topP',
  topK: 'topK',
  stopSequences: 'stopSequences',
  seed: 'seed',
  presencePenalty: 'presencePenalty',
  frequencyPenalty: 'frequencyPenalty',
  parallelToolCalls: undefined,
} as const

const noPlace = ': the AI SDK has no such setting'

// Settings

function toolsOf(
  { tools }: ModelRequest,
  context: Context,
  warn: Warn,
): readonly Value[] | undefined {
  const isOld = context.version === 'v2'
  const own = tools.map((tool): Value => {
    const { name, description, schema: inputSchema, strict } = tool
    if (strict === true && isOld) warn(`tools.${name}.strict`, `it is not sent${noPlace}`)
    const providerOptions = optionsOf(tool, context)
    return { type: 'function', name, description, inputSchema, strict, providerOptions }
  })
  const type = isOld ? 'provider-defined' : 'provider'
  for (const [name, tool] of Object.entries(context.options.providerTools ?? {})) {
    own.push({ ...tool, type, name })
  }
  return own.length === 0 ? undefined : own
}

function choiceOf({ toolChoice, tools }: ModelRequest): Value | undefined {
  if (toolChoice === undefined || tools.length === 0) return undefined
  const isMode = toolChoiceModes.includes(toolChoice)
  return isMode ? { type: toolChoice } : { type: 'tool', toolName: toolChoice }
}

/** The provider decides whether it enforces a schema. */
function formatOf({ responseFormat }: ModelRequest): Value | undefined {
  if (responseFormat === undefined || responseFormat.type === 'text') return undefined
  const { name, schema } = responseFormat.type === 'json_schema' ? responseFormat : {}
  return { type: 'json', name, schema: closed(schema) }
}

/**
 * A schema in which an object that names properties, and says nothing about others, has no others: OpenAI must be told. The parts of an
 * `allOf` stay open, because each would refuse what the others name.
 */
function closed(node: unknown, isMembers = false): unknown {
  if (Array.isArray(node)) return node.map((one) => closed(one))
  if (!isObject(node)) return node
  const result = Object.entries(node).map(([key, value]) => {
    const hasMembers = !isMembers && /^(properties|\$defs|definitions)$/.test(key)
    const isSchema = isMembers || hasMembers || /tems$|(y|ne)Of$|^addit/.test(key)
    return [key, isSchema ? closed(value, hasMembers) : value]
  })
  const isOpen = !isMembers && 'properties' in node && !('allOf' in node)
  return { ...(isOpen && { additionalProperties: false }), ...Object.fromEntries(result) }
}

/** The options of a request, a message, a part or a tool, under the name that the AI SDK knows, over those that came with an answer. */
function optionsOf(
  { providerOptions = {} }: Pick<Partial<ModelRequest>, 'providerOptions'>,
  { provider, optionsName }: AiSdkTarget,
  base: JsonObject = {},
): JsonObject {
  // They were checked to be JSON objects.
  const own = providerOptions[provider] as JsonObject | undefined
  return own === undefined ? base : mergeOptions(base, { [optionsName]: own })
}

// Messages

type Turn = { readonly providerOptions?: JsonObject } & (
  | { readonly role: 'system'; readonly content: string }
  | { readonly role: 'user' | 'assistant' | 'tool'; readonly content: Value[] }
)

function promptOf(request: ModelRequest, context: Context): readonly Turn[] {
  const prompt: Turn[] = []
  try {
    for (const turn of request.messages.flatMap((message) => turnsOf(message, context))) {
      const last = prompt.at(-1)
      // The results of one answer are one message.
      if (turn.role === 'tool' && last?.role === 'tool') last.content.push(...turn.content)
      else prompt.push(turn)
    }
  } catch (error) {
    throw located(error, request)
  }
  return prompt
}

function turnsOf(message: Message, context: Context): readonly Turn[] {
  const { role } = message
  const providerOptions = optionsOf(message, context)
  switch (role) {
    case 'system':
      return [{ role, content: messageText(message), providerOptions }]
    case 'user': {
      const parts = messageParts(message).flatMap((part) => partOf(part, context))
      // The answer to a request of the provider for approval is a turn of its own.
      const approvals = parts.filter(({ type }) => type === 'tool-approval-response')
      const content = parts.filter((part) => !approvals.includes(part))
      const turns: Turn[] = [
        { role: 'tool', content: approvals },
        { role, content, providerOptions },
      ]
      return turns.filter((turn) => turn.content.length > 0)
    }
    case 'assistant': {
      // An answer of which the model takes nothing back is left out.
      const content = answerParts(message, context)
      return content.length === 0 ? [] : [{ role, content, providerOptions }]
    }
    case 'tool': {
      const { toolCallId: id = '' } = message
      const toolName = context.names.get(id) ?? 'unknown'
      const output = outputOf(message, context)
      const toolCallId = context.ids.result(id)
      const result = { type: 'tool-result', toolCallId, toolName, output, providerOptions }
      return [{ role, content: [result] }]
    }
    default:
      return assertNever(role)
  }
}

/** A part of a message. What another provider made is left out. */
function partOf(part: Part, context: Context): Value[] {
  const { provider } = context
  switch (part.type) {
    case 'text':
      return [{ type: 'text', text: part.text, providerOptions: optionsOf(part, context) }]
    case 'image': {
      const { image, detail } = part
      const { metadata } = kept(image.metadata, provider)
      // Where the packages of OpenAI and Azure look for it. Others ignore it, as they do without the AI SDK.
      const set = detail && { imageDetail: detail }
      const base = mergeOptions(metadata, set && { openai: set, azure: set })
      return [{ ...filePart(image, context), providerOptions: optionsOf(part, context, base) }]
    }
    case 'file':
      return [{ ...filePart(part.file, context), providerOptions: optionsOf(part, context) }]
    case 'provider_item':
      return part.provider === provider ? [part.item] : []
    case 'reasoning':
      return []
    default:
      return assertNever(part)
  }
}

/** The content of an answer. Calls are a list of their own in a message; reasoning and items know how many came before them. */
function answerParts(message: Message, context: Context): Value[] {
  const { provider, version } = context
  const { toolCalls = [] } = message
  const parts: Value[] = []
  let placed = 0
  const placeCalls = (count: number): void => {
    parts.push(...toolCalls.slice(placed, count).map((call) => callPart(call, context)))
    placed = Math.max(placed, count)
  }
  const content = messageParts(message)
  for (const [at, part] of content.entries()) {
    const isOwn = 'provider' in part && part.provider === provider
    if (part.type === 'provider_item' && isOwn) {
      placeCalls(part.callsBefore ?? 0)
      parts.push(...itemParts(part.item, version))
    } else if (part.type === 'text' || (part.type === 'reasoning' && isOwn)) {
      const { type, text } = part
      const next = content[at + 1]
      const mark = type === 'text' ? next?.type === 'provider_item' && next.item : part.opaque
      const { metadata, callsBefore } = kept(mark, provider)
      placeCalls(callsBefore)
      const providerOptions = optionsOf(part, context, metadata)
      if (type === 'reasoning' || text !== '') parts.push({ type, text, providerOptions })
    } else parts.push(...partOf(part, context))
  }
  placeCalls(toolCalls.length)
  return parts
}

function callPart({ id, name, arguments: input, opaque }: ToolCall, context: Context): Value {
  const providerOptions = kept(opaque, context.provider).metadata
  return {
    type: 'tool-call',
    toolCallId: context.ids.call(id),
    toolName: name,
    input,
    providerOptions,
  }
}

/** What a tool returned. */
function outputOf(message: Message, context: Context): Value {
  const parts = messageParts(message)
  return parts.every(({ type }) => type === 'text')
    ? { type: isErrorResult(message) ? 'error-text' : 'text', value: messageText(message) }
    : {
        type: 'content',
        value: parts
          .flatMap((part) => partOf(part, context))
          .map((part) => inResult(part, context)),
      }
}

/** A part of a result. Older versions have other names for a file there. */
function inResult(part: Value, { version }: Context): Value {
  const { type, data, mediaType } = part
  if (type !== 'file' || version === 'v4') return part
  if (version === 'v2') return { type: 'media', data, mediaType }
  const kind = String(mediaType).startsWith('image/') ? 'image' : 'file'
  return data instanceof URL
    ? { ...part, type: `${kind}-url`, url: data.href }
    : { ...part, type: `${kind}-data` }
}

/** A file. One that only its provider knows by an id has no place in most versions of the AI SDK. */
function filePart(file: Image | MediaFile, { provider, version, urls }: Context): Value {
  const mediaType = fileMimeType(file) ?? 'image/*'
  if (file.type === 'id' || (file.type === 'url' && !isSupported(file.url, mediaType, urls))) {
    throw unsupportedFile(provider, file, 'pass its bytes')
  }
  return { type: 'file', mediaType, data: fileData({ ...file }, version), filename: file.name }
}

/** Whether the model fetches a file by itself. Nothing else does: an address in a conversation is not trusted. */
function isSupported(url: string, mediaType: string, urls: SupportedUrls): boolean {
  const family = mediaType.replace(/\/.*/, '/*')
  return ['*', '*/*', family, mediaType].some((type) =>
    urls[type]?.some((pattern) => url.toLowerCase().search(pattern) >= 0),
  )
}
