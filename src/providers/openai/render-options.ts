import { AdapterError } from '../../errors/errors.ts'
import { assertNever, defined } from '../../types/guards.ts'
import type { JsonObject, JsonValue, ProviderOptions } from '../../types/json.ts'
import type { Image } from '../../types/media.ts'
import type { Message, Part, ToolCall } from '../../types/message.ts'
import type { ModelRequest, ResponseFormat, ToolChoice, ToolSpec } from '../../types/request.ts'
import { mergeOptions } from '../shared/merge-options.ts'
import {
  refusesTemperature,
  wireEffort,
  type ModelFamily,
  type WireEffort,
} from './model-family.ts'
import { strictSchema } from './strict-schema.ts'

/** What a renderer needs beside the request. */
export interface RenderOptions {
  /** The adapter's name: only reasoning that came from it is sent back. */
  readonly provider: string
  readonly family: ModelFamily
  readonly stream: boolean
  /** The default key of the prompt cache. */
  readonly sessionId: string | undefined
  /** Whether the provider is asked to store responses, so that their items can be named by id. */
  readonly stored: boolean
}

/** The parameters of both endpoints, and the settings that the model's family does not accept. */
interface SharedParameters extends RenderedSchemas {
  readonly temperature: number | undefined
  readonly effort: WireEffort | undefined
  readonly toolChoice: ToolChoice | undefined
  readonly cache: JsonObject
}

/** Renders the parameters that depend on the model's family. Settings that it refuses are named in `leftOut`. */
export function sharedParameters(
  request: ModelRequest,
  { family, sessionId }: RenderOptions,
): SharedParameters {
  const { reasoning, temperature } = request
  const effort = reasoning === undefined ? undefined : wireEffort(reasoning.effort, family)
  const noTemperature = temperature !== undefined && refusesTemperature(family, effort)
  const noReasoning = reasoning !== undefined && reasoning.effort !== 'none' && effort === undefined
  const schemas = renderSchemas(request)
  return {
    ...schemas,
    temperature: noTemperature ? undefined : temperature,
    effort,
    // Without tools a choice is refused.
    toolChoice: schemas.tools === undefined ? undefined : request.toolChoice,
    cache: cacheParameters(request.promptCache, sessionId),
    leftOut: [
      ...(noTemperature ? ['temperature'] : []),
      ...(noReasoning ? ['reasoning'] : []),
      ...schemas.leftOut,
    ],
  }
}

/** OpenAI always caches. The key groups related calls, and `long` keeps the cache for a day. */
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

/** A request, rendered for one endpoint. */
export interface RenderedRequest {
  /** The path of the endpoint below the base address. */
  readonly path: string
  readonly body: JsonObject
  /** The settings that the model's family, or the endpoint, does not accept. */
  readonly leftOut: readonly string[]
}

/** The schemas of a request: its tools and the form of its answer. */
interface RenderedSchemas {
  /** `{name, description?, parameters, strict?}`: both endpoints have it in some place. Absent without tools. */
  readonly tools: readonly JsonObject[] | undefined
  /** `{type, …}`; absent for free text. */
  readonly format: JsonObject | undefined
  /** The schemas that could not be made strict. */
  readonly leftOut: readonly string[]
}

/**
 * Renders the schemas. A schema that OpenAI cannot enforce is sent as it is, without `strict`: the model follows it as well
 * as it can, and the answer is still validated by it here.
 */
function renderSchemas({ tools, responseFormat }: ModelRequest): RenderedSchemas {
  const leftOut: string[] = []
  const enforce = (schema: JsonObject, strict: boolean | undefined, place: string) => {
    const enforced = strict === true ? strictSchema(schema) : undefined
    if (strict === true && enforced === undefined) leftOut.push(place)
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
    switch (format.type) {
      case 'text':
        return undefined
      case 'json_object':
        return { type: 'json_object' }
      case 'json_schema': {
        const { schema, strict } = enforce(format.schema, format.strict, 'responseFormat.strict')
        return { type: 'json_schema', name: format.name, schema, strict: strict === true }
      }
      default:
        return assertNever(format)
    }
  }
  return {
    tools: tools.length === 0 ? undefined : tools.map(renderTool),
    format: responseFormat === undefined ? undefined : renderFormat(responseFormat),
    leftOut,
  }
}

/** The provider options of a call: those under `openai`, then those under the name of a compatible server. */
export function optionsFor(provider: string, options: ProviderOptions): JsonObject {
  const { openai = {}, [provider]: own } = options
  return provider === 'openai' ? openai : mergeOver(openai, own)
}

/**
 * The body with provider options merged over it.
 *
 * Objects are merged all the way down. `tools` and `include` are added to, so that a built-in tool does not replace the
 * tools of the request.
 */
export function mergeOver(body: JsonObject, options: JsonObject | undefined): JsonObject {
  return mergeOptions(body, options, { objects: 'deep', addedTo: ['tools', 'include'] })
}

/** What becomes of each type of part. A new type needs a decision in every table of a renderer. */
export type PartTable<T> = {
  readonly [Type in Part['type']]: (part: Extract<Part, { readonly type: Type }>) => T
}

/** Passes each part of a message to its function in the table and returns the results. A string is one text part. */
export function eachPart<T>({ content }: Message, table: PartTable<T>): readonly T[] {
  const parts: readonly Part[] =
    typeof content === 'string' ? [{ type: 'text', text: content }] : content
  return parts.map((part) => {
    switch (part.type) {
      case 'text':
        return table.text(part)
      case 'image':
        return table.image(part)
      case 'reasoning':
        return table.reasoning(part)
      default:
        return assertNever(part)
    }
  })
}

/** Content without reasoning: a single text is a string, anything else a list. */
export function renderContent(
  message: Message,
  table: Omit<PartTable<JsonObject>, 'reasoning'>,
): JsonValue {
  const items = eachPart(message, { ...table, reasoning: () => undefined }).filter(
    (item) => item !== undefined,
  )
  const [only] = items
  if (only === undefined) return ''
  return items.length === 1 && only['text'] !== undefined ? only['text'] : items
}

/** An image as OpenAI takes it: a URL or a data URI. Files have been read before. */
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

/** The arguments of a call as JSON text: as the model wrote them, if that is a JSON object. */
export function argumentsJson(call: ToolCall): string {
  const { rawArguments, arguments: decoded } = call
  const usable = rawArguments !== undefined && Object.keys(decoded).length > 0
  return usable ? rawArguments : JSON.stringify(decoded)
}

/** The ids of the tool calls of a conversation, as they are sent. */
export interface ToolIds {
  /** The id of a call. Each call of a conversation gets its own, also when two answers used the same id. */
  call(id: string): string
  /** The id that a result refers to: that of the last call with this id. */
  result(id: string | undefined): string
}

/** The longest id that all of OpenAI's models accept. */
const longest = 40

/**
 * Makes the ids of one conversation.
 *
 * OpenAI's own ids are not changed. Other providers write longer ids, or count from 0 in every answer: their calls and results
 * are renamed, always in the same way, so that the cached prefix of a conversation stays valid.
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
