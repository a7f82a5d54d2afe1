import { AdapterError } from '../../errors/errors.ts'
import {
  refusesTemperature,
  wireEffort,
  type ModelFamily,
  type WireEffort,
} from './model-family.ts'
import { strictSchema } from './strict-schema.ts'
import { assertNever, defined } from '../../types/guards.ts'
import type { JsonObject, JsonValue } from '../../types/json.ts'
import type { Image } from '../../types/media.ts'
import {
  messageText,
  type ImagePart,
  type Message,
  type Part,
  type ToolCall,
} from '../../types/message.ts'
import type { ModelRequest, ResponseFormat, ToolSpec } from '../../types/request.ts'

/** What rendering needs beside the request. */
export interface RenderOptions {
  /** The adapter's name: only reasoning that came from it is echoed. */
  readonly provider: string
  readonly family: ModelFamily
  readonly stream: boolean
  /** The default key of a prompt cache. */
  readonly sessionId: string | undefined
  /** The server is told to keep responses, so that their items can be named by id. */
  readonly stored: boolean
}

/** What both endpoints have, and what the model's family does not take. */
interface SharedParameters extends RenderedSchemas {
  readonly temperature: number | undefined
  readonly effort: WireEffort | undefined
  readonly cache: JsonObject
}

/** Settles the parameters that depend on the model's family. What is refused is left out, and named in `dropped`. */
export function sharedParameters(
  request: ModelRequest,
  { family, sessionId }: RenderOptions,
): SharedParameters {
  const { reasoning, temperature } = request
  const effort = reasoning === undefined ? undefined : wireEffort(reasoning.effort, family)
  const refused = temperature !== undefined && refusesTemperature(family, effort)
  const silent = reasoning !== undefined && reasoning.effort !== 'none' && effort === undefined
  const schemas = renderSchemas(request)
  return {
    ...schemas,
    temperature: refused ? undefined : temperature,
    effort,
    cache: cacheParameters(request.promptCache, sessionId),
    dropped: [
      ...(refused ? ['temperature'] : []),
      ...(silent ? ['reasoning'] : []),
      ...schemas.dropped,
    ],
  }
}

/** OpenAI caches by itself; the key keeps related calls together, and `long` keeps the cache for a day. */
function cacheParameters(
  cache: ModelRequest['promptCache'],
  sessionId: string | undefined,
): JsonObject {
  if (cache === undefined) return {}
  const { key = sessionId, retention } = cache === true ? {} : cache
  return {
    ...(key === undefined ? {} : { prompt_cache_key: key }),
    ...(retention === 'long' ? { prompt_cache_retention: '24h' } : {}),
  }
}

/** A request in the words of one endpoint. */
export interface RenderedRequest {
  /** The endpoint's path under the base address. */
  readonly path: string
  readonly body: JsonObject
  /** What the request had and the model's family, or the endpoint, does not take. */
  readonly dropped: readonly string[]
}

/** The schemas of a request: its tools and the form of its answer. */
interface RenderedSchemas {
  /** `{name, description?, parameters, strict?}`, as both endpoints have it somewhere. */
  readonly tools: readonly JsonObject[]
  /** `{type, …}`; absent when any text will do. */
  readonly format: JsonObject | undefined
  /** Whose strictness could not be had. */
  readonly dropped: readonly string[]
}

/**
 * Renders the schemas. One that OpenAI can not enforce is sent as it is, and not as a strict one: the model follows it as
 * well as it can, and whoever gave it still validates by it.
 */
function renderSchemas({ tools, responseFormat }: ModelRequest): RenderedSchemas {
  const dropped: string[] = []
  const enforce = (schema: JsonObject, strict: boolean | undefined, place: string) => {
    const enforced = strict === true ? strictSchema(schema) : undefined
    if (strict === true && enforced === undefined) dropped.push(place)
    return { schema: enforced ?? schema, strict: strict === true ? enforced !== undefined : strict }
  }
  const renderTool = (tool: ToolSpec): JsonObject => {
    const { schema, strict } = enforce(tool.schema, tool.strict, `tools.${tool.name}.strict`)
    return defined<JsonObject>({
      name: tool.name,
      description: tool.description === '' ? undefined : tool.description,
      parameters: schema,
      strict,
    })
  }
  const renderFormat = (format: ResponseFormat): JsonObject | undefined => {
    if (format.type === 'text') return undefined
    if (format.type === 'json_object') return { type: 'json_object' }
    const { schema, strict } = enforce(format.schema, format.strict, 'responseFormat.strict')
    return { type: 'json_schema', name: format.name, schema, strict: strict === true }
  }
  return {
    tools: tools.map(renderTool),
    format: responseFormat === undefined ? undefined : renderFormat(responseFormat),
    dropped,
  }
}

/** The parts of a message; a string is one text part. */
export function partsOf(message: Message): readonly Part[] {
  const { content } = message
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content
}

/** How an endpoint spells the two kinds of content. */
export interface ContentWords {
  text(text: string): JsonObject
  image(part: ImagePart): JsonObject
}

/** Content without reasoning: text alone is a string, with an image it is a list. */
export function renderContent(message: Message, words: ContentWords): JsonValue {
  const parts = partsOf(message).filter((part) => part.type !== 'reasoning')
  const [only] = parts
  if (only === undefined) return ''
  if (parts.length === 1 && only.type === 'text') return only.text
  return parts.map((part) => (part.type === 'text' ? words.text(part.text) : words.image(part)))
}

/** The text of a tool result, for Chat Completions, which takes nothing else there. */
export function textAlone(message: Message, provider: string): string {
  if (partsOf(message).some((part) => part.type === 'image')) {
    const problem = 'Chat Completions takes no images in tool results; api: "responses" does'
    throw new AdapterError('unsupported_feature', problem, { provider })
  }
  return messageText(message)
}

/** An image as OpenAI takes it: an address, or a data URI. Files have been read before. */
export function imageAddress(image: Image, provider: string): string {
  switch (image.type) {
    case 'url':
      return image.url
    case 'base64':
      return `data:${image.mimeType};base64,${image.base64}`
    case 'file':
      throw new AdapterError('unsupported_feature', `the image ${image.path} was not read`, {
        provider,
      })
    default:
      return assertNever(image)
  }
}

/** The arguments of a call as JSON text: as the model wrote them, unless that is no JSON object. */
export function argumentsJson(call: ToolCall): string {
  const { rawArguments, arguments: decoded } = call
  const usable = rawArguments !== undefined && Object.keys(decoded).length > 0
  return usable ? rawArguments : JSON.stringify(decoded)
}

/** The ids of a conversation's tool calls, as they go to the wire. */
export interface ToolIds {
  /** The id of a call. Each call of a conversation gets its own, also where two answers used the same. */
  call(id: string): string
  /** The id that a result refers to: that of the last call with this id. */
  result(id: string | undefined): string
}

/** The longest id that OpenAI takes everywhere. */
const longest = 40

/**
 * Makes the ids of one conversation.
 *
 * OpenAI's own pass as they are. Other providers write longer ones, or count from 0 in every answer; their calls are renamed, the
 * results with them, and always alike, so that what a cache knows of a conversation stays true.
 */
export function toolIds(): ToolIds {
  const used = new Set<string>()
  const latest = new Map<string, string>()
  return {
    call(id) {
      const base = shortened(id)
      let unique = base
      for (let count = 2; used.has(unique); count++) unique = `${base.slice(0, 32)}_${count}`
      used.add(unique)
      latest.set(id, unique)
      return unique
    },
    result: (id = '') => latest.get(id) ?? shortened(id),
  }
}

function shortened(id: string): string {
  return id === '' ? 'call' : id.slice(0, longest)
}
