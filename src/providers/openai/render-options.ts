import type { AnswerForms } from '../../core/answer/answer-text.ts'
import { AdapterError } from '../../core/errors/errors.ts'
import { optionsFor } from '../../core/messages/provider-options.ts'
import { openaiStrict } from '../../core/schema/dialects.ts'
import { assertNever, defined, merged } from '../../core/types/guards.ts'
import type { JsonObject, JsonValue } from '../../core/types/json.ts'
import type { Image, InlineFile } from '../../core/types/media.ts'
import {
  messageParts,
  type Message,
  type Part,
  type ProviderItemPart,
  type ToolCall,
} from '../../core/types/message.ts'
import type {
  ModelRequest,
  ResponseFormat,
  ToolChoice,
  ToolSpec,
} from '../../core/types/request.ts'
import type { Warn } from '../../core/types/warning.ts'
import { leaveOut, otherEffort } from '../shared/request-body.ts'
import { schemaLowering } from '../shared/schemas.ts'
import { toolIds, type ToolIds } from '../shared/tool-ids.ts'
import {
  refusesTemperature,
  wireEffort,
  type ModelFamily,
  type WireEffort,
} from './model-family.ts'

/** What a renderer needs beside the request. */
export interface RenderOptions {
  /** The adapter's name: only reasoning that came from it is sent back. */
  readonly provider: string
  readonly family: ModelFamily
  readonly stream: boolean
  /** The default key of the prompt cache. */
  readonly sessionId: string | undefined
  /** The `providerOptions` of the request, which are merged over the body. */
  readonly over: JsonObject
  /** Told about every setting that is left out. */
  readonly warn: Warn
  /** The name of the seed: `seed` by default. */
  readonly seedField?: string | undefined
  /** The id of a tool call as the server takes it. By default as it is. */
  readonly callId?: ((id: string) => string) | undefined
}

/** The parameters of both endpoints. */
interface SharedParameters extends RenderedSchemas {
  readonly temperature: number | undefined
  readonly topP: number | undefined
  readonly parallelToolCalls: boolean | undefined
  readonly effort: WireEffort | undefined
  readonly toolChoice: ToolChoice | undefined
  readonly cache: JsonObject
}

/** Renders the parameters that depend on the model's family. Settings that it refuses are left out, with a warning. */
export function sharedParameters(request: ModelRequest, options: RenderOptions): SharedParameters {
  const { family, sessionId, warn } = options
  const { reasoning, temperature, topP, model = '' } = request
  const effort = reasoning && wireEffort(reasoning.effort, family)
  const noSampling = refusesTemperature(family, effort)
  if (noSampling) leaveOut(request, ['temperature', 'topP'], options, reasoningOnly(family))
  const problem = reasoning && otherEffort(reasoning.effort, effort ?? 'none')
  if (problem !== undefined) warn('reasoning', `${model} ${problem}`)
  const schemas = renderSchemas(request, options)
  // Without tools these are refused.
  const hasTools = schemas.tools !== undefined
  const takesParallel = hasTools && family.parallelToolCalls !== false
  if (hasTools && !takesParallel) leaveOut(request, ['parallelToolCalls'], options)
  return merged(schemas, {
    temperature: noSampling ? undefined : temperature,
    topP: noSampling ? undefined : topP,
    effort,
    toolChoice: hasTools ? request.toolChoice : undefined,
    parallelToolCalls: takesParallel ? request.parallelToolCalls : undefined,
    cache: cacheParameters(request.promptCache, sessionId),
  })
}

function reasoningOnly({ refusesTemperature: when }: ModelFamily): string {
  return when === 'thinking' ? ' while it reasons' : ''
}

/** OpenAI always caches. The key groups related calls, and `long` keeps the cache for a day. */
function cacheParameters(
  cache: ModelRequest['promptCache'],
  sessionId: string | undefined,
): JsonObject {
  if (cache === undefined) return {}
  const { key = sessionId, retention } = cache === true ? {} : cache
  return defined<JsonObject>({
    prompt_cache_key: key,
    prompt_cache_retention: retention === 'long' ? '24h' : undefined,
  })
}

/** A request, rendered for one endpoint. */
export interface RenderedRequest {
  /** The path of the endpoint below the base address. */
  readonly path: string
  readonly body: JsonObject
  /** The forms in which the schemas are sent. */
  readonly forms: AnswerForms
}

/** The schemas of a request: its tools and the form of its answer. */
interface RenderedSchemas {
  /** `{name, description?, parameters, strict?}`: both endpoints have it in some place. Absent without tools. */
  readonly tools: readonly JsonObject[] | undefined
  /** `{type, …}`; absent for free text. */
  readonly format: JsonObject | undefined
  readonly forms: AnswerForms
}

/**
 * Renders the schemas. A schema that OpenAI cannot enforce is sent without `strict`: the model follows it as well as it can,
 * and the answer is still validated by it here.
 */
function renderSchemas(
  { tools, responseFormat }: ModelRequest,
  { provider, warn }: RenderOptions,
): RenderedSchemas {
  const schemas = schemaLowering(provider, warn)
  const renderTool = (tool: ToolSpec, index: number): JsonObject => {
    const dialect = tool.strict === true ? openaiStrict : 'plain'
    const { schema, strict } = schemas.tool(tool, index, dialect)
    return defined<JsonObject>({
      name: tool.name,
      description: tool.description === '' ? undefined : tool.description,
      parameters: schema,
      strict: tool.strict === undefined ? undefined : strict,
      ...optionsFor('openai', provider, tool.providerOptions ?? {}),
    })
  }
  const renderFormat = (format: ResponseFormat): JsonObject | undefined => {
    switch (format.type) {
      case 'text':
        return undefined
      case 'json_object':
        return { type: 'json_object' }
      case 'json_schema': {
        const { schema, strict } = schemas.answer(
          format.schema,
          format.strict ? openaiStrict : 'plain',
        )
        return { type: 'json_schema', name: format.name, schema, strict }
      }
      default:
        return assertNever(format)
    }
  }
  return {
    tools: tools.length === 0 ? undefined : tools.map(renderTool),
    format: responseFormat === undefined ? undefined : renderFormat(responseFormat),
    forms: schemas.forms,
  }
}

/** What becomes of each type of part. A new type needs a decision in every table of a renderer. */
export type PartTable<T> = {
  readonly [Type in Part['type']]: (part: Extract<Part, { readonly type: Type }>) => T
}

/** Passes each part of a message to its function in the table and returns the results. A string is one text part. */
export function eachPart<T>(message: Message, table: PartTable<T>): readonly T[] {
  return messageParts(message).map((part) => {
    // The function of a type takes the parts of that type.
    const take = table[part.type] as (part: Part) => T
    return take(part)
  })
}

/** What becomes of the parts of a user's message or a tool's. An item that is not content is left out. */
export type ContentTable = Omit<PartTable<JsonObject>, 'reasoning' | 'provider_item'> & {
  readonly provider_item: (part: ProviderItemPart) => JsonObject | undefined
}

/** Content without reasoning: a single text is a string, anything else a list. */
export function renderContent(message: Message, table: ContentTable): JsonValue {
  if (typeof message.content === 'string') return message.content
  const items = eachPart(message, { ...table, reasoning: () => undefined }).filter(
    (item) => item !== undefined,
  )
  const [only] = items
  if (only === undefined) return ''
  return items.length === 1 && only['text'] !== undefined ? only['text'] : items
}

/** An image as Chat Completions takes it: a URL or a data URI. */
export function imageAddress(image: Image, provider: string): string {
  switch (image.type) {
    case 'url':
      return image.url
    case 'base64':
      return dataUri(image)
    case 'id': {
      const problem =
        'Chat Completions takes no images by file id: set api: "responses", or pass the bytes'
      throw new AdapterError('unsupported_feature', problem, { provider })
    }
    default:
      return assertNever(image)
  }
}

/** An image or file that holds its bytes, as both endpoints take it. */
export function dataUri({ mimeType, base64 }: InlineFile): string {
  return `data:${mimeType};base64,${base64}`
}

/** The arguments of a call as JSON text: as the model wrote them, if that is a JSON object. */
export function argumentsJson(call: ToolCall): string {
  const { rawArguments, arguments: decoded } = call
  const usable = rawArguments !== undefined && Object.keys(decoded).length > 0
  return usable ? rawArguments : JSON.stringify(decoded)
}

/** The ids of a conversation: at most 40 characters, which all of OpenAI's models accept. */
export function callIds({ callId }: RenderOptions): ToolIds {
  return toolIds(callId ?? ((id) => (id === '' ? 'call' : id)), 40)
}
