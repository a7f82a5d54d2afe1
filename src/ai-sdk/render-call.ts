import { mergeProviderOptions } from '../make/provider-options.ts'
import { isErrorResult } from '../make/tool-messages.ts'
import { toolNames } from '../providers/shared/content.ts'
import { fileMimeType, located, unsupportedFile } from '../providers/shared/files.ts'
import { leaveOut, requestSettings } from '../providers/shared/request-body.ts'
import { toolIds, type ToolIds } from '../providers/shared/tool-ids.ts'
import { assertNever, defined, isObject } from '../types/guards.ts'
import type { JsonObject } from '../types/json.ts'
import type { Image, MediaFile } from '../types/media.ts'
import {
  messageText,
  type Message,
  type Part,
  type PartOptions,
  type ToolCall,
} from '../types/message.ts'
import type { ModelRequest } from '../types/request.ts'
import type { Warn } from '../types/warning.ts'
import { itemParts, kept, textMark } from './echo.ts'
import type { AiSdkTarget, SupportedUrls } from './model.ts'

/** A value of the AI SDK. It may hold a `URL`, so it is not JSON. */
type Value = Readonly<Record<string, unknown>>

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
    ids: toolIds(/anthropic/.test(target.optionsName) ? plainId : (id) => id),
  }
  const settings = requestSettings(request, parameters, { warn })
  leaveOut(request, ['promptCache'], { warn }, noPlace)
  // Every field of a request is decided about here or in the table of parameters.
  const fields: Readonly<Record<Exclude<keyof ModelRequest, keyof typeof parameters>, Value>> = {
    model: {},
    messages: { prompt: promptOf(request, context) },
    tools: toolsOf(request, context, warn),
    toolChoice: choiceOf(request),
    responseFormat: formatOf(request),
    reasoning: reasoningOf(request, context, warn),
    promptCache: {},
    providerOptions: callOptions(request, target),
    metadata: {},
  }
  return Object.assign({}, settings, ...Object.values(fields)) as Value
}

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

const noPlace = ': this version of the AI SDK has no such setting; providerOptions may have one'

function plainId(id: string): string {
  return id.replaceAll(/[^\w-]/g, '_')
}

// Settings

function toolsOf({ tools }: ModelRequest, context: Context, warn: Warn): Value {
  const { model, options } = context
  const isOld = model.specificationVersion === 'v2'
  const own = tools.map((tool) => {
    const { name, description, schema: inputSchema, strict } = tool
    if (strict === true && isOld) warn(`tools.${name}.strict`, `it is not sent${noPlace}`)
    return {
      type: 'function',
      name,
      description,
      inputSchema,
      ...(strict === undefined || isOld ? {} : { strict }),
      ...ownOptions(tool, context),
    }
  })
  const type = isOld ? 'provider-defined' : 'provider'
  const hosted = Object.entries(options.providerTools ?? {}).map(([name, tool]) => {
    // They were checked to have both.
    const { id, args } = tool as Value
    return { type, id, name, args }
  })
  return own.length + hosted.length === 0 ? {} : { tools: [...own, ...hosted] }
}

function choiceOf({ toolChoice, tools }: ModelRequest): Value {
  if (toolChoice === undefined || tools.length === 0) return {}
  return {
    toolChoice: ['auto', 'none', 'required'].includes(toolChoice)
      ? { type: toolChoice }
      : { type: 'tool', toolName: toolChoice },
  }
}

function formatOf({ responseFormat }: ModelRequest): Value {
  if (responseFormat === undefined) return {}
  switch (responseFormat.type) {
    case 'text':
      return { responseFormat: { type: 'text' } }
    case 'json_object':
      return { responseFormat: { type: 'json' } }
    case 'json_schema': {
      // The provider decides whether the schema is enforced.
      const { name, schema } = responseFormat
      return { responseFormat: { type: 'json', name, schema } }
    }
    default:
      return assertNever(responseFormat)
  }
}

function reasoningOf(request: ModelRequest, { model }: Context, warn: Warn): Value {
  const { reasoning } = request
  if (reasoning === undefined) return {}
  if (model.specificationVersion !== 'v4') {
    leaveOut(request, ['reasoning'], { warn }, noPlace)
    return {}
  }
  if (reasoning.summary === true) warn('reasoning.summary', `it is not sent${noPlace}`)
  return { reasoning: reasoning.effort }
}

function callOptions(
  { providerOptions: given }: ModelRequest,
  { provider, optionsName, options: { providerOptions } }: AiSdkTarget,
): Value {
  const own = given[provider]
  const all = mergeProviderOptions(providerOptions, own && { [optionsName]: own })
  return Object.keys(all).length === 0 ? {} : { providerOptions: all }
}

/** The options of a part, a message or a tool for this provider, under the name that the AI SDK knows. */
function ownOptions(
  { providerOptions = {} }: PartOptions,
  { provider, optionsName }: AiSdkTarget,
  metadata: JsonObject = {},
): Value {
  const own = providerOptions[provider]
  const all =
    own === undefined
      ? metadata
      : { ...metadata, [optionsName]: { ...asOptions(metadata[optionsName]), ...own } }
  return Object.keys(all).length === 0 ? {} : { providerOptions: all }
}

function asOptions(value: unknown): Value {
  return isObject(value) ? value : {}
}

// Messages

type Turn =
  | { readonly role: 'system'; readonly content: string }
  | { readonly role: 'user' | 'assistant' | 'tool'; readonly content: Value[] }

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
  const options = ownOptions(message, context)
  switch (role) {
    case 'system':
      return [{ role, content: messageText(message), ...options }]
    case 'user': {
      const parts = partsOf(message).flatMap((part): Value[] => userPart(part, context))
      const isApproval = ({ type }: Value): boolean => type === 'tool-approval-response'
      const approvals = parts.filter(isApproval)
      const content = parts.filter((part) => !isApproval(part))
      const turns: readonly Turn[] = [
        { role: 'tool', content: approvals },
        { role, content, ...options },
      ]
      return turns.filter((turn) => turn.content.length > 0)
    }
    case 'assistant':
      return [{ role, content: assistantParts(message, context), ...options }]
    case 'tool': {
      const { toolCallId = '', name } = message
      const result = {
        type: 'tool-result',
        toolCallId: context.ids.result(toolCallId),
        toolName: context.names.get(toolCallId) ?? name ?? 'unknown',
        output: outputOf(message, context),
      }
      return [{ role, content: [{ ...result, ...options }] }]
    }
    default:
      return assertNever(role)
  }
}

function partsOf({ content }: Message): readonly Part[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content
}

/** A part of the user's. What another provider made is left out. */
function userPart(part: Part, context: Context): Value[] {
  switch (part.type) {
    case 'text':
      return [{ type: 'text', text: part.text, ...ownOptions(part, context) }]
    case 'image': {
      const { detail: imageDetail } = part
      const isKnown = imageDetail !== undefined && /openai|azure/.test(context.optionsName)
      const detail = isKnown ? { [context.optionsName]: { imageDetail } } : {}
      return [filePart(part.image, context, ownOptions(part, context, detail))]
    }
    case 'file':
      return [filePart(part.file, context, ownOptions(part, context))]
    case 'provider_item':
      return part.provider === context.provider ? [part.item] : []
    case 'reasoning':
      return []
    default:
      return assertNever(part)
  }
}

/** The content of an answer. Calls are a list of their own in a message; reasoning and items know how many came before them. */
function assistantParts(message: Message, context: Context): Value[] {
  const { provider } = context
  const { toolCalls = [] } = message
  const parts: Value[] = []
  let placed = 0
  const placeCalls = (count: number): void => {
    parts.push(...toolCalls.slice(placed, count).map((call) => callPart(call, context)))
    placed = Math.max(placed, count)
  }
  const content = partsOf(message)
  for (const [at, part] of content.entries()) {
    switch (part.type) {
      case 'text': {
        if (part.text === '') break
        const { metadata, callsBefore } = textMark(content[at + 1], provider)
        placeCalls(callsBefore)
        parts.push({ type: 'text', text: part.text, ...ownOptions(part, context, metadata) })
        break
      }
      case 'image': {
        const { metadata } = kept(part.image.metadata, provider)
        parts.push(filePart(part.image, context, ownOptions(part, context, metadata)))
        break
      }
      case 'file':
        parts.push(filePart(part.file, context, ownOptions(part, context)))
        break
      case 'reasoning': {
        if (part.provider !== provider) break
        const { metadata, callsBefore } = kept(part.opaque, provider)
        placeCalls(callsBefore)
        parts.push({ type: 'reasoning', text: part.text, ...ownOptions(part, context, metadata) })
        break
      }
      case 'provider_item': {
        if (part.provider !== provider) break
        placeCalls(part.callsBefore ?? 0)
        parts.push(...itemParts(part.item, context.model.specificationVersion))
        break
      }
      default:
        assertNever(part)
    }
  }
  placeCalls(toolCalls.length)
  return parts
}

function callPart(call: ToolCall, context: Context): Value {
  const { metadata } = kept(call.opaque, context.provider)
  return {
    type: 'tool-call',
    toolCallId: context.ids.call(call.id),
    toolName: call.name,
    input: call.arguments,
    ...ownOptions({}, context, metadata),
  }
}

/** What a tool returned. */
function outputOf(message: Message, context: Context): Value {
  const parts = partsOf(message)
  if (parts.every(({ type }) => type === 'text')) {
    return { type: isErrorResult(message) ? 'error-text' : 'text', value: messageText(message) }
  }
  return { type: 'content', value: parts.flatMap((part) => resultPart(part, context)) }
}

function resultPart(part: Part, context: Context): Value[] {
  if (part.type !== 'image' && part.type !== 'file') return userPart(part, context)
  const options = ownOptions(part, context)
  const file = part.type === 'image' ? part.image : part.file
  switch (context.model.specificationVersion) {
    case 'v4':
      return [filePart(file, context, options)]
    case 'v3':
      return [{ ...resultFile(file, isImage(part), context), ...options }]
    case 'v2':
      if (file.type !== 'base64') throw unsupportedFile(context.provider, file, 'pass its bytes')
      return [{ type: 'media', data: file.base64, mediaType: file.mimeType }]
  }
}

// Files

function isImage(part: Extract<Part, { type: 'image' | 'file' }>): boolean {
  return part.type === 'image' || fileMimeType(part.file)?.startsWith('image/') === true
}

/** A file in a result, as V3 has it. */
function resultFile(file: Image | MediaFile, isImage: boolean, context: Context): Value {
  const kind = isImage ? 'image' : 'file'
  switch (file.type) {
    case 'base64': {
      const { base64: data, mimeType: mediaType, name: filename } = file
      const named = isImage ? {} : defined<Value>({ filename })
      return { type: `${kind}-data`, data, mediaType, ...named }
    }
    case 'url':
      return defined<Value>({
        type: `${kind}-url`,
        url: file.url,
        mediaType: isImage ? undefined : fileMimeType(file),
      })
    case 'id':
      return { type: isImage ? 'image-file-id' : 'file-id', fileId: ownId(file, context) }
    default:
      return assertNever(file)
  }
}

function filePart(file: Image | MediaFile, context: Context, options: Value): Value {
  const mediaType = fileMimeType(file) ?? '*/*'
  const { name: filename } = file.type === 'id' ? {} : file
  return defined<Value>({
    type: 'file',
    filename,
    mediaType,
    data: dataOf(file, context),
    ...options,
  })
}

function dataOf(file: Image | MediaFile, context: Context): unknown {
  const isTagged = context.model.specificationVersion === 'v4'
  switch (file.type) {
    case 'base64':
      return isTagged ? { type: 'data', data: file.base64 } : file.base64
    case 'url': {
      if (!isSupported(file, context)) {
        throw unsupportedFile(context.provider, file, 'pass its bytes')
      }
      const url = new URL(file.url)
      return isTagged ? { type: 'url', url } : url
    }
    case 'id':
      if (!isTagged) throw unsupportedFile(context.provider, file, 'pass its bytes')
      return { type: 'reference', reference: ownId(file, context) }
    default:
      return assertNever(file)
  }
}

/** The id of a file that this provider knows. */
function ownId(
  file: Extract<MediaFile, { type: 'id' }>,
  { provider, optionsName }: Context,
): Value {
  if (file.provider !== provider)
    throw unsupportedFile(provider, file, 'its id is that of another provider')
  return { [optionsName]: file.id }
}

/** Whether the model fetches a file by itself. Nothing else does: an address in a conversation is not trusted. */
function isSupported(
  file: Extract<Image | MediaFile, { type: 'url' }>,
  { urls }: Context,
): boolean {
  const url = file.url.toLowerCase()
  const mediaType = fileMimeType(file) ?? 'image/*'
  const [family = ''] = mediaType.split('/')
  return ['*', '*/*', `${family}/*`, mediaType].some((type) =>
    urls[type]?.some((pattern) =>
      new RegExp(pattern.source, pattern.flags.replaceAll(/[gy]/g, '')).test(url),
    ),
  )
}
