import { toolChoiceModes } from '../../core/schema/validate.ts'
import { assertNever, defined, merged } from '../../core/types/guards.ts'
import type { JsonObject, JsonValue } from '../../core/types/json.ts'
import type { Image, InlineFile, MediaFile } from '../../core/types/media.ts'
import {
  isBlank,
  messageText,
  type ImageDetail,
  type Message,
  type ReasoningPart,
  type ToolCall,
} from '../../core/types/message.ts'
import type { ModelRequest, ToolChoice } from '../../core/types/request.ts'
import { fileKind, fileText, unsupportedFile } from '../shared/files.ts'
import { asList, asObject } from '../shared/read-json.ts'
import { leaveOut, type BodyOf } from '../shared/request-body.ts'
import type { ToolIds } from '../shared/tool-ids.ts'
import { systemRole, type ModelFamily } from './model-family.ts'
import {
  argumentsJson,
  callIds,
  dataUri,
  imageAddress,
  eachPart,
  renderContent,
  sharedParameters,
  type RenderedRequest,
  type RenderOptions,
} from './render-options.ts'

/** Renders a request as the body of `/chat/completions`, which has no summaries of reasoning. */
export function renderChat(request: ModelRequest, options: RenderOptions): RenderedRequest {
  const shared = sharedParameters(request, options)
  const { effort, cache, tools, toolChoice, format, forms } = shared
  const { family, stream, warn } = options
  const { presencePenalty, frequencyPenalty, stopSequences } = family.reasons ? {} : request
  // The reasoning models of OpenAI refuse these; its other models do not know topK, which many other servers take.
  if (family.reasons) {
    leaveOut(request, ['presencePenalty', 'frequencyPenalty', 'stopSequences'], options)
  }
  if (family.efforts !== undefined) leaveOut(request, ['topK'], options)
  // Other servers have limits of their own.
  const hasManyStops = family.efforts !== undefined && (stopSequences?.length ?? 0) > maxStops
  if (hasManyStops) {
    warn('stopSequences', `${request.model} takes at most ${maxStops} stopSequences: none is sent`)
  }
  if (request.reasoning?.summary === true && effort !== undefined) {
    warn(
      'reasoning.summary',
      `${request.model} takes no reasoning.summary: Chat Completions has no such parameter`,
    )
  }
  const body = defined<JsonObject>({
    model: request.model,
    messages: renderChatMessages(request.messages, options),
    parallel_tool_calls: shared.parallelToolCalls,
    temperature: shared.temperature,
    top_p: shared.topP,
    top_k: family.efforts === undefined ? request.topK : undefined,
    stop: hasManyStops ? undefined : stopSequences,
    [options.seedField ?? 'seed']: request.seed,
    presence_penalty: presencePenalty,
    frequency_penalty: frequencyPenalty,
    [family.maxTokensField]: request.maxTokens,
    tools: tools?.map(renderTool),
    tool_choice: toolChoice === undefined ? undefined : renderChoice(toolChoice),
    response_format: format === undefined ? undefined : renderFormat(format),
    reasoning_effort: effort,
    ...cache,
  } satisfies Parameters)
  return {
    path: '/chat/completions',
    body: stream ? merged(body, streamOptions(family)) : body,
    forms,
  }
}

type Parameters = BodyOf<{
  model: 'model'
  messages: 'messages'
  parallelToolCalls: 'parallel_tool_calls'
  temperature: 'temperature'
  topP: 'top_p'
  topK: 'top_k'
  stopSequences: 'stop'
  presencePenalty: 'presence_penalty'
  frequencyPenalty: 'frequency_penalty'
  tools: 'tools'
  toolChoice: 'tool_choice'
  responseFormat: 'response_format'
  reasoning: 'reasoning_effort'
  // `cacheParameters` has them.
  promptCache: never
  // Their names depend on the server.
  seed: never
  maxTokens: never
  // Merged over the whole body later.
  providerOptions: never
  // Never sent.
  metadata: never
}>

/** The most stop sequences that OpenAI takes. */
const maxStops = 4

/** The count of tokens of a streamed answer has to be asked for. */
function streamOptions(family: ModelFamily): JsonObject {
  return family.streamOptions === false
    ? { stream: true }
    : { stream: true, stream_options: { include_usage: true } }
}

/** Not every compatible server knows `strict`, so it is sent only when it is true. */
function renderTool({ strict, ...tool }: JsonObject): JsonObject {
  return { type: 'function', function: strict === true ? { ...tool, strict } : tool }
}

function renderChoice(choice: ToolChoice): JsonValue {
  return toolChoiceModes.includes(choice)
    ? choice
    : { type: 'function', function: { name: choice } }
}

function renderFormat({ type = '', ...format }: JsonObject): JsonObject {
  return type === 'json_schema' ? { type, json_schema: format } : { type }
}

/** The messages as they are sent, without answers that have no content. */
function renderChatMessages(
  messages: readonly Message[],
  options: RenderOptions,
): readonly JsonObject[] {
  const ids = callIds(options)
  const rendered: JsonObject[] = []
  let attached: JsonObject[] = []
  for (const message of messages) {
    if (isBlank(message)) continue
    if (message.role === 'tool') {
      const result = renderToolResult(message, options, ids)
      rendered.push(result.message)
      attached.push(...result.attached)
      continue
    }
    // All results of a turn come first.
    if (attached.length > 0) rendered.push({ role: 'user', content: attached })
    attached = []
    rendered.push(renderMessage(message, options, ids))
  }
  if (attached.length > 0) rendered.push({ role: 'user', content: attached })
  return rendered
}

function renderImage(
  image: Image,
  { provider }: RenderOptions,
  detail: ImageDetail | undefined,
): JsonObject {
  const url = imageAddress(image, provider)
  return { type: 'image_url', image_url: defined<JsonObject>({ url, detail }) }
}

/** Chat Completions takes PDFs, and recordings as `wav` or `mp3`. A text file is sent as text, as OpenAI recommends. */
function renderFile(file: MediaFile, options: RenderOptions): JsonObject {
  const kind = fileKind(file)
  if (kind === 'image') return renderImage(file, options, undefined)
  if (file.type === 'id') return { type: 'file', file: { file_id: file.id } }
  const instead =
    kind === 'pdf' || kind === 'text'
      ? 'pass its bytes, or set api: "responses"'
      : kind === 'audio'
        ? 'pass the bytes of a wav or mp3'
        : kind === 'video'
          ? 'no API of OpenAI does'
          : 'api: "responses" takes more types'
  if (file.type === 'base64') {
    const { mimeType, base64, name } = file
    const format = audioFormats.get(mimeType)
    if (format !== undefined) {
      return { type: 'input_audio', input_audio: { data: base64, format } }
    }
    if (kind === 'text') return { type: 'text', text: namedText(file) }
    if (kind === 'pdf') {
      return { type: 'file', file: { filename: name ?? 'file.pdf', file_data: dataUri(file) } }
    }
  }
  throw unsupportedFile(options.provider, file, instead)
}

const audioFormats: ReadonlyMap<string, string> = new Map([
  ['audio/wav', 'wav'],
  ['audio/x-wav', 'wav'],
  ['audio/mpeg', 'mp3'],
  ['audio/mp3', 'mp3'],
])

function namedText(file: InlineFile): string {
  return file.name === undefined ? fileText(file) : `${file.name}:\n\n${fileText(file)}`
}

function renderMessage(message: Message, options: RenderOptions, ids: ToolIds): JsonObject {
  const { role, name } = message
  switch (role) {
    case 'system':
      return defined<JsonObject>({
        role: systemRole(options.family),
        content: messageText(message),
        name,
      })
    case 'user':
      return defined<JsonObject>({
        role,
        content: renderContent(message, {
          text: ({ text }) => ({ type: 'text', text }),
          image: ({ image, detail }) => renderImage(image, options, detail),
          file: ({ file }) => renderFile(file, options),
          provider_item: noItem,
        }),
        name,
      })
    case 'assistant':
      return renderAssistant(message, options, ids)
    case 'tool':
      return renderToolResult(message, options, ids).message
    default:
      return assertNever(role)
  }
}

/** Chat Completions has no items: those in a thread came from the Responses API, or from another provider. */
const noItem = (): undefined => undefined

/** Chat Completions does not take back the images that a model made, and files were left out before. */
function renderAssistant(message: Message, { provider }: RenderOptions, ids: ToolIds): JsonObject {
  const calls = message.toolCalls ?? []
  const sentBack: Record<string, JsonValue> = {}
  let text = ''
  eachPart(message, {
    text(part) {
      text += part.text
    },
    image: noItem,
    file: noItem,
    reasoning(part) {
      if (part.provider === provider) addReasoning(sentBack, part)
    },
    provider_item: noItem,
  })
  return defined<JsonObject>({
    role: 'assistant',
    content: text === '' && calls.length > 0 ? null : text,
    name: message.name,
    // Reasoning goes back only with the calls that it led to: there servers require it, elsewhere they ignore or refuse it.
    ...(calls.length === 0
      ? {}
      : { tool_calls: calls.map((call) => renderCall(call, ids)), ...sentBack }),
  })
}

/** Adds reasoning in the field in which it came. */
function addReasoning(sentBack: Record<string, JsonValue>, part: ReasoningPart): void {
  const opaque = asObject(part.opaque)
  const field = opaque?.['field']
  if (field === 'reasoning_content' || field === 'reasoning') {
    const before = sentBack[field]
    sentBack[field] = typeof before === 'string' ? `${before}\n\n${part.text}` : part.text
  }
  const details = asList(opaque?.['reasoning_details'])
  if (details.length > 0) {
    sentBack['reasoning_details'] = [...asList(sentBack['reasoning_details']), ...details]
  }
}

function renderCall(call: ToolCall, ids: ToolIds): JsonObject {
  return defined<JsonObject>({
    id: ids.call(call.id),
    type: 'function',
    function: { name: call.name, arguments: argumentsJson(call) },
    extra_content: asObject(call.opaque)?.['extra_content'],
  })
}

interface RenderedResult {
  readonly message: JsonObject
  /** What the message cannot hold. */
  readonly attached: readonly JsonObject[]
}

/** Chat Completions takes only text as a tool result. Images and files follow in a message of the user. */
function renderToolResult(message: Message, options: RenderOptions, ids: ToolIds): RenderedResult {
  const attached: JsonObject[] = []
  const texts = eachPart(message, {
    text: ({ text }) => text,
    image({ image, detail }) {
      attached.push(renderImage(image, options, detail))
      return ''
    },
    file({ file }) {
      const rendered = renderFile(file, options)
      // A text file begins on a line of its own.
      if (typeof rendered['text'] === 'string') return `\n${rendered['text']}\n`
      attached.push(rendered)
      return ''
    },
    reasoning: () => '',
    provider_item: () => '',
  })
  const id = ids.result(message.toolCallId)
  const text = texts.join('')
  const elsewhere = text === '' && attached.length > 0
  const content = elsewhere ? 'The result is in the next message of the user.' : text
  const label = { type: 'text', text: `Attached to the result of the tool call ${id}:` }
  return {
    message: { role: 'tool', tool_call_id: id, content },
    attached: attached.length === 0 ? attached : [label, ...attached],
  }
}
