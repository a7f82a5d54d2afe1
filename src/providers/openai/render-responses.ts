import { optionsFor } from '../../core/messages/provider-options.ts'
import { endingOf } from '../../core/messages/sniff.ts'
import { toolChoiceModes } from '../../core/schema/validate.ts'
import { assertNever, defined, merged } from '../../core/types/guards.ts'
import type { JsonObject, JsonValue } from '../../core/types/json.ts'
import type { Image, InlineFile, MediaFile } from '../../core/types/media.ts'
import {
  messageText,
  type ImageDetail,
  type ImagePart,
  type Message,
  type ReasoningPart,
  type ToolCall,
} from '../../core/types/message.ts'
import type { ModelRequest, ToolChoice } from '../../core/types/request.ts'
import { fileKind, unsupportedFile } from '../shared/files.ts'
import { asCount, asList, asObject, asText } from '../shared/read-json.ts'
import { leaveOut, type BodyOf } from '../shared/request-body.ts'
import type { ToolIds } from '../shared/tool-ids.ts'
import { systemRole } from './model-family.ts'
import {
  argumentsJson,
  callIds,
  dataUri,
  imageAddress,
  eachPart,
  renderContent,
  sharedParameters,
  type ContentTable,
  type RenderedRequest,
  type RenderOptions,
} from './render-options.ts'
import { answeredBy, askedBy } from './wire.ts'

/**
 * Renders a request as the body of `/responses`.
 *
 * Nothing is stored at the provider, so reasoning is requested in its encrypted form, to be sent back with the next call.
 */
export function renderResponses(request: ModelRequest, options: RenderOptions): RenderedRequest {
  const shared = sharedParameters(request, options)
  const { effort, cache, tools, toolChoice, format, forms } = shared
  leaveOut(request, unknownHere, options, ': the Responses API has no such parameter')
  const { family, stream, warn } = options
  const { maxTokens } = request
  if (maxTokens !== undefined && maxTokens < leastTokens) {
    warn('maxTokens', `the least of the Responses API is ${leastTokens}, which is sent`)
  }
  const summary = request.reasoning?.summary === true && effort !== undefined ? 'auto' : undefined
  const reasoning = defined<JsonObject>({ effort, summary })
  const body = defined<JsonObject>({
    model: request.model,
    input: renderInput(request.messages, options),
    parallel_tool_calls: shared.parallelToolCalls,
    temperature: shared.temperature,
    top_p: shared.topP,
    max_output_tokens: maxTokens && Math.max(maxTokens, leastTokens),
    tools: ownTools(tools?.map(renderTool), request, options),
    tool_choice: toolChoice === undefined ? undefined : renderChoice(toolChoice),
    text: format === undefined ? undefined : { format },
    reasoning: Object.keys(reasoning).length === 0 ? undefined : reasoning,
    store: false,
    include: family.reasons ? ['reasoning.encrypted_content'] : undefined,
    ...cache,
  } satisfies Parameters)
  return { path: '/responses', body: stream ? merged(body, { stream }) : body, forms }
}

type Parameters = BodyOf<{
  model: 'model'
  messages: 'input'
  parallelToolCalls: 'parallel_tool_calls'
  temperature: 'temperature'
  topP: 'top_p'
  maxTokens: 'max_output_tokens'
  tools: 'tools'
  toolChoice: 'tool_choice'
  responseFormat: 'text'
  reasoning: 'reasoning' | 'store' | 'include'
  // `cacheParameters` has them.
  promptCache: never
  // Chat Completions alone takes these.
  topK: never
  stopSequences: never
  seed: never
  presencePenalty: never
  frequencyPenalty: never
  // Merged over the whole body later.
  providerOptions: never
  // Never sent.
  metadata: never
}>

/** The smallest output limit that the Responses API takes. */
const leastTokens = 16

/** The tools of the request, without those that `providerOptions` declare in another form, such as a custom tool. */
function ownTools(
  tools: readonly JsonObject[] | undefined,
  { providerOptions }: ModelRequest,
  { provider }: RenderOptions,
): readonly JsonObject[] | undefined {
  const added = asList(optionsFor('openai', provider, providerOptions)['tools'])
  if (added.length === 0) return tools
  const names = new Set(added.map((tool) => asObject(tool)?.['name']))
  return tools?.filter(({ name }) => !names.has(name))
}

/** The settings that only Chat Completions takes. */
const unknownHere = [
  'topK',
  'stopSequences',
  'seed',
  'presencePenalty',
  'frequencyPenalty',
] as const

/** `strict` is always sent, because its default is true here. */
function renderTool(tool: JsonObject): JsonObject {
  return { type: 'function', strict: false, ...tool }
}

function renderChoice(choice: ToolChoice): JsonValue {
  return toolChoiceModes.includes(choice) ? choice : { type: 'function', name: choice }
}

/** The messages of a request as input items. One message may be several items, or none. */
function renderInput(messages: readonly Message[], options: RenderOptions): readonly JsonObject[] {
  const ids = merged(callIds(options), {
    custom: new Set<string>(),
    answered: answeredItems(messages),
  })
  const items = messages.map((message) => renderMessage(message, options, ids))
  // The options may name what came before: then only what is new is sent.
  const { previous_response_id, conversation } = options.over
  const continues = (previous_response_id ?? conversation) !== undefined
  return items.slice(continues ? firstNew(messages) : 0).flat()
}

/**
 * The first message that the provider does not have: what follows the answer before the user's last message. The messages by
 * which the loop asks again are not the user's: what they ask about was made since.
 */
function firstNew(messages: readonly Message[]): number {
  const asked = messages.findLastIndex(
    ({ role, metadata: { repair, structuredFinalize } = {} }) =>
      role === 'user' && repair !== true && structuredFinalize !== true,
  )
  const before = messages.slice(0, Math.max(asked, 0))
  return before.findLastIndex(({ role }) => role === 'assistant' || role === 'tool') + 1
}

/** The ids of the calls. */
interface ResponsesIds extends ToolIds {
  /** Those of custom tools. */
  readonly custom: Set<string>
  /** The ids that the items of the conversation answer. */
  readonly answered: ReadonlySet<unknown>
}

function answeredItems(messages: readonly Message[]): ReadonlySet<unknown> {
  const answered = new Set<unknown>()
  for (const { content } of messages) {
    if (typeof content === 'string') continue
    for (const part of content)
      if (part.type === 'provider_item') answered.add(answeredBy(part.item))
  }
  return answered
}

function renderMessage(
  message: Message,
  options: RenderOptions,
  ids: ResponsesIds,
): readonly JsonObject[] {
  const { role } = message
  switch (role) {
    case 'system':
      return [{ role: systemRole(options.family), content: messageText(message) }]
    case 'user':
      return renderUser(message, options)
    case 'assistant':
      return renderAssistant(message, options, ids)
    case 'tool': {
      const { toolCallId } = message
      const isCustom = toolCallId !== undefined && ids.custom.has(toolCallId)
      return [
        {
          type: isCustom ? 'custom_tool_call_output' : 'function_call_output',
          call_id: ids.result(toolCallId),
          output: renderContent(message, contentTable(options)),
        },
      ]
    }
    default:
      return assertNever(role)
  }
}

/**
 * The message of a user. Items that are not content, such as the answer to an approval request, come before it, and replace
 * it if there is nothing else.
 */
function renderUser(message: Message, options: RenderOptions): readonly JsonObject[] {
  const parts = typeof message.content === 'string' ? [] : message.content
  const items = parts.flatMap((part) =>
    part.type === 'provider_item' && part.provider === options.provider && !isContent(part.item)
      ? [part.item]
      : [],
  )
  if (items.length > 0 && items.length === parts.length) return items
  return [...items, { role: 'user', content: renderContent(message, contentTable(options)) }]
}

/** Whether an item is a part of a message and not an item of its own. */
function isContent({ type }: JsonObject): boolean {
  return typeof type === 'string' && type.startsWith('input_')
}

function contentTable({ provider }: RenderOptions): ContentTable {
  return {
    text: ({ text }) => ({ type: 'input_text', text }),
    image: ({ image, detail }) => renderImage(image, provider, detail),
    file: ({ file }) => renderFile(file, provider),
    provider_item: ({ item, provider: from }) =>
      from === provider && isContent(item) ? item : undefined,
  }
}

function renderImage(image: Image, provider: string, detail: ImageDetail = 'auto'): JsonObject {
  const source =
    image.type === 'id' ? { file_id: image.id } : { image_url: imageAddress(image, provider) }
  return { type: 'input_image', ...source, detail }
}

/** Documents, tables and texts. The API has no part for audio and video. */
function renderFile(file: MediaFile, provider: string): JsonObject {
  const kind = fileKind(file)
  if (kind === 'image') return renderImage(file, provider)
  if (kind === 'audio' || kind === 'video') {
    const instead = kind === 'audio' ? 'api: "chat" takes wav and mp3' : 'no API of OpenAI does'
    throw unsupportedFile(provider, file, instead)
  }
  switch (file.type) {
    case 'base64':
      return { type: 'input_file', filename: filename(file), file_data: dataUri(file) }
    case 'url':
      return { type: 'input_file', file_url: file.url }
    case 'id':
      return { type: 'input_file', file_id: file.id }
    default:
      return assertNever(file)
  }
}

/** The API tells files by the ending of their names, and refuses one without. */
function filename({ name = 'file', mimeType }: InlineFile): string {
  return /\.\w+$/.test(name) ? name : `${name}.${endingOf(mimeType)}`
}

/**
 * The items in their original order. Reasoning and the provider's own items know how many calls came before them.
 *
 * The API refuses a reasoning item without the item that followed it, an item of the provider's own without the reasoning
 * before it, and a call that nobody answered. They are sent together, or all are left out.
 */
function renderAssistant(
  message: Message,
  options: RenderOptions,
  ids: ResponsesIds,
): readonly JsonObject[] {
  const calls = (message.toolCalls ?? []).map((call) => renderCall(call, ids))
  const items: JsonObject[] = []
  let placed = 0
  let isReasoningSent = true
  const placeCalls = (until: number): void => {
    items.push(...calls.slice(placed, until))
    placed = Math.max(placed, until)
  }
  eachPart(message, {
    text({ text }) {
      if (text !== '') items.push(spoken(text))
    },
    image: (part) => void items.push(...renderOwnImage(part)),
    // Left out before.
    file: () => undefined,
    reasoning(part) {
      if (part.provider !== options.provider) return
      placeCalls(asCount(asObject(part.opaque)?.['calls_before']) ?? 0)
      const item = renderReasoning(part, options)
      isReasoningSent = item !== undefined
      if (item !== undefined) items.push(item)
    },
    provider_item({ provider, item, callsBefore = 0 }) {
      if (provider !== options.provider) return
      placeCalls(callsBefore)
      const asked = askedBy(item)
      const isOpen = asked !== undefined && !ids.answered.has(asked)
      if (isReasoningSent && !isOpen) items.push(item)
      // The reasoning that led to the item has lost it.
      else while (isReasoning(items.at(-1))) items.pop()
    },
  })
  placeCalls(calls.length)
  // Reasoning whose next item was lost ends the message, or is followed by other reasoning.
  return items.filter((item, at) => {
    const next = items[at + 1]
    return !isReasoning(item) || (next !== undefined && !isReasoning(next))
  })
}

function isReasoning(item: JsonObject | undefined): boolean {
  return item?.['type'] === 'reasoning'
}

/** Text of the model. Not every server recognises a message by its role alone, so the type is sent too. */
function spoken(text: string): JsonObject {
  return { type: 'message', role: 'assistant', content: text }
}

/** An image that the model made goes back as the item it was. Any other is left out. */
function renderOwnImage({ image }: ImagePart): readonly JsonObject[] {
  const id = asText(image.metadata?.['id'])
  if (image.type !== 'base64' || id === undefined) return []
  return [{ type: 'image_generation_call', id, status: 'completed', result: image.base64 }]
}

/**
 * Reasoning goes back only if it can be read there: encrypted, or stored by its id. It is not sent to a model that is known
 * not to reason.
 */
function renderReasoning(
  part: ReasoningPart,
  { family, over }: RenderOptions,
): JsonObject | undefined {
  const opaque = asObject(part.opaque)
  const id = asText(opaque?.['id'])
  const encrypted = asText(opaque?.['encrypted_content'])
  const refused = !family.reasons && family.efforts !== undefined
  if (id === undefined || refused || (encrypted === undefined && over['store'] !== true))
    return undefined
  return defined<JsonObject>({
    type: 'reasoning',
    id,
    summary: part.text === '' ? [] : [{ type: 'summary_text', text: part.text }],
    encrypted_content: encrypted,
  })
}

/** A call of a custom tool has a free text as its input. */
function renderCall(call: ToolCall, ids: ResponsesIds): JsonObject {
  if (asObject(call.opaque)?.['type'] === 'custom_tool_call') {
    ids.custom.add(call.id)
    const input = asText(call.arguments['input']) ?? ''
    return { type: 'custom_tool_call', call_id: ids.call(call.id), name: call.name, input }
  }
  ids.custom.delete(call.id)
  return {
    type: 'function_call',
    call_id: ids.call(call.id),
    name: call.name,
    arguments: argumentsJson(call),
  }
}
