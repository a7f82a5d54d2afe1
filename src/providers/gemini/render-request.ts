import { mergeOptions, optionsFor } from '../../core/messages/provider-options.ts'
import { geminiJson, geminiOpenApi, type SchemaDialect } from '../../core/schema/dialects.ts'
import { assertNever, defined, isObject } from '../../core/types/guards.ts'
import type { JsonObject } from '../../core/types/json.ts'
import type {
  JsonSchemaFormat,
  ModelRequest,
  ReasoningEffort,
  ReasoningOptions,
  ResponseFormat,
  ToolChoice,
  ToolSpec,
} from '../../core/types/request.ts'
import type { Warn } from '../../core/types/warning.ts'
import type { RenderedCall } from '../shared/call.ts'
import { asList } from '../shared/read-json.ts'
import { notTogether, otherEffort, type BodyOf } from '../shared/request-body.ts'
import { requestSchemas, type RequestSchemas } from '../shared/schemas.ts'
import { renderContents, type ContentsTarget } from './render-contents.ts'

/**
 * A request without its address; the same for a whole answer and for a streamed one. Pure: images in files have to be read before.
 *
 * Every field of a request is decided here. A new one does not compile until it is in `Parameters`.
 */
export function renderRequest(
  request: ModelRequest,
  options: TargetOptions = {},
): Pick<RenderedCall, 'body' | 'forms'> {
  const {
    model = '',
    messages,
    tools,
    toolChoice,
    parallelToolCalls,
    temperature,
    topP,
    topK,
    maxTokens,
    stopSequences,
    seed,
    presencePenalty,
    frequencyPenalty,
    responseFormat,
    reasoning,
    // Gemini caches prompts by itself. A cache of the caller's own is `providerOptions.gemini.cachedContent`.
    promptCache,
    providerOptions,
  } = request
  const { warn = () => undefined } = options
  const cache = promptCache === true ? undefined : promptCache
  const leftOut = {
    parallelToolCalls: parallelToolCalls === false && tools.length > 0,
    'promptCache.retention': cache?.retention === 'long',
    'promptCache.key': cache?.key !== undefined,
  }
  for (const [name, isAsked] of Object.entries(leftOut)) {
    if (isAsked) warn(name, `${model} takes no ${name}`)
  }
  const target = renderTarget(model, options)
  for (const { name, strict } of tools) {
    if (strict === true) warn(`tools.${name}.strict`, `${model} takes no strict tools`)
  }
  const hasManyStops =
    target.family.gemini && stopSequences !== undefined && stopSequences.length > maxStops
  if (hasManyStops) {
    warn('stopSequences', `${model} takes at most ${maxStops} stopSequences: none is sent`)
  }
  const { system, contents } = renderContents(messages, target)
  const schemas = requestSchemas(target.provider, warn)
  const declared = tools.map((spec, index) => renderTool(spec, index, target, schemas))
  const own = optionsFor('gemini', target.provider, providerOptions)
  const hosted = hasHostedTools(own)
  const hasTools = tools.length > 0
  if (
    hosted &&
    !target.toolsWithFormat &&
    (hasTools || (responseFormat?.type ?? 'text') !== 'text')
  ) {
    throw notTogether(
      target.provider,
      'hosted tools',
      hasTools ? 'tools' : 'responseFormat: use structuredFinalize',
    )
  }
  const structured =
    responseFormat && renderFormat(responseFormat, { tools, toolChoice, target, schemas })
  const functionDeclarations = structured?.tool ? [...declared, structured.tool] : declared
  const config = defined<JsonObject>({
    temperature,
    topP,
    topK,
    stopSequences: hasManyStops ? undefined : stopSequences,
    seed,
    presencePenalty,
    frequencyPenalty,
    maxOutputTokens: maxTokens,
    thinkingConfig: reasoning && thinkingConfig(reasoning, target.family, warn, maxTokens),
    ...structured?.config,
  })
  const ownToolConfig =
    tools.length === 0 || toolChoice === undefined ? undefined : renderToolChoice(toolChoice)
  // Together with functions, calls of hosted tools have to be in the answer, to be sent back. Vertex AI has no such field.
  const mixed = hosted && hasTools && !options.baseUrl?.includes('/publishers/')
  const toolConfig = structured?.toolConfig ?? ownToolConfig
  const body = defined<JsonObject>({
    systemInstruction: system.length === 0 ? undefined : { parts: system },
    contents,
    tools: tools.length === 0 ? undefined : [{ functionDeclarations }],
    toolConfig: mixed ? { ...toolConfig, includeServerSideToolInvocations: true } : toolConfig,
    generationConfig: Object.keys(config).length === 0 ? undefined : config,
  } satisfies Parameters)
  const { forms } = schemas
  return { body: mergeOptions(body, own), forms }
}

type Parameters = BodyOf<{
  messages: 'systemInstruction' | 'contents'
  tools: 'tools'
  toolChoice: 'toolConfig'
  responseFormat: 'generationConfig' | 'tools'
  reasoning: 'generationConfig'
  temperature: 'generationConfig'
  topP: 'generationConfig'
  topK: 'generationConfig'
  maxTokens: 'generationConfig'
  stopSequences: 'generationConfig'
  seed: 'generationConfig'
  presencePenalty: 'generationConfig'
  frequencyPenalty: 'generationConfig'
  // Part of the address.
  model: never
  // Left out, with a warning.
  parallelToolCalls: never
  promptCache: never
  // Merged over the whole body later.
  providerOptions: never
  // Never sent.
  metadata: never
}>

/** Whether options add a tool that Google runs, such as `googleSearch`. */
function hasHostedTools({ tools }: JsonObject): boolean {
  return asList(tools).some((tool) => isObject(tool) && !('functionDeclarations' in tool))
}

/** The most stop sequences that the API takes. */
const maxStops = 5

/** The API and the model that a request is rendered for. */
interface RenderTarget extends ContentsTarget {
  readonly family: ModelFamily
  /** How schemas are written: as JSON Schema, or in the older subset of OpenAPI. */
  readonly dialect: SchemaDialect
  /** Whether it takes tools and a JSON format in one request. */
  readonly toolsWithFormat: boolean
}

/** What is known of the API beside the model. */
interface TargetOptions {
  readonly provider?: string | undefined
  /** The address of the API, such as `…/v1beta`. */
  readonly baseUrl?: string | undefined
  /** Told about every setting that is left out, or of which the nearest is sent. */
  readonly warn?: Warn | undefined
}

/** Models before 2.5 and version 1 of the API do not take JSON Schema. */
function renderTarget(model: string, options: TargetOptions): RenderTarget {
  const { provider = 'gemini', baseUrl = '' } = options
  const family = modelFamily(model)
  const fromThree = family.version >= 300
  return {
    provider,
    family,
    needsSignatures: family.gemini && fromThree,
    mediaInResults: fromThree,
    dialect: family.version < 205 || baseUrl.endsWith('/v1') ? geminiOpenApi : geminiJson,
    toolsWithFormat: fromThree,
  }
}

/** What the name of a model tells about it. */
interface ModelFamily {
  /** 205 for Gemini 2.5, 300 for 3; `Infinity` for a Gemini without a number, which is the newest. */
  readonly version: number
  readonly tier: 'pro' | 'flash' | 'other'
  /** Whether it is a Gemini, and not another model behind the same API. */
  readonly gemini: boolean
}

const modelName = /^gemini-(?:(\d+)(?:\.(\d+))?(?:-|$))?/

/** Reads a model's name: `gemini-2.5-flash`, `models/gemini-3-pro-preview`, `gemini-flash-latest`. */
export function modelFamily(model: string): ModelFamily {
  const name = model.slice(model.lastIndexOf('/') + 1)
  const match = modelName.exec(name)
  const [, major, minor = '0'] = match ?? []
  return {
    version: major === undefined ? Number.POSITIVE_INFINITY : Number(major) * 100 + Number(minor),
    tier: name.includes('flash') ? 'flash' : name.includes('pro') ? 'pro' : 'other',
    gemini: match !== null,
  }
}

/** How the format of the answer is asked for. */
interface StructuredOutput {
  readonly config?: JsonObject
  /** One more function, whose arguments are the answer. */
  readonly tool?: JsonObject
  readonly toolConfig?: JsonObject
}

interface FormatContext {
  readonly tools: readonly ToolSpec[]
  readonly toolChoice: ToolChoice | undefined
  readonly target: RenderTarget
  readonly schemas: RequestSchemas
}

/**
 * Models before Gemini 3 do not take a JSON format beside tools. For them the answer is one more tool, which they do not take
 * beside hosted ones.
 */
function renderFormat(format: ResponseFormat, context: FormatContext): StructuredOutput {
  const { tools, target, schemas } = context
  const { dialect } = target
  const responseMimeType = 'application/json'
  const byTool = tools.length > 0 && !target.toolsWithFormat
  switch (format.type) {
    case 'text':
      return {}
    case 'json_object':
      if (!byTool) return { config: { responseMimeType } }
      throw notTogether(target.provider, 'tools', 'json_object: use structuredFinalize')
    case 'json_schema': {
      if (byTool) return renderAnswerTool(format, context)
      const { schema } = schemas.answer(format.schema, dialect)
      const field = dialect === geminiJson ? 'responseJsonSchema' : 'responseSchema'
      return { config: { responseMimeType, [field]: schema } }
    }
    default:
      return assertNever(format)
  }
}

/** The model must call a function: one of the caller's or, when the answer is ready, the one that takes the answer. */
function renderAnswerTool(
  { name, schema }: JsonSchemaFormat,
  { tools, toolChoice = 'auto', target, schemas }: FormatContext,
): StructuredOutput {
  // The caller wants one of their own tools first; the answer comes in a later turn.
  if (toolChoice !== 'auto' && toolChoice !== 'none') return {}
  const lowered = schemas.answer(schema, { ...target.dialect, objectRoot: true })
  const declared = schemas.answerTool(`respond_with_${name}`, tools)
  return {
    tool: { ...declared, ...renderParameters(lowered.schema, target) },
    toolConfig: renderToolChoice(toolChoice === 'none' ? declared.name : 'required'),
  }
}

/**
 * How hard the model thinks: a level from Gemini 3 on, a budget of tokens before.
 *
 * A model that does not support the effort gets the nearest one: Gemini 3 and 2.5 Pro always think a little. A budget is at
 * most three quarters of `maxTokens`: the rest is for the answer. Models before 2.5 do not think, so nothing is sent to them.
 */
export function thinkingConfig(
  { effort, summary }: ReasoningOptions,
  family: ModelFamily,
  warn: Warn,
  maxTokens: number = Number.POSITIVE_INFINITY,
): JsonObject | undefined {
  const { version, tier } = family
  const tell = (sent: string): void => {
    const problem = otherEffort(effort, sent)
    if (problem !== undefined) warn('reasoning', `this model ${problem}`)
  }
  if (version < 205) {
    tell('none')
    return undefined
  }
  const thoughts: JsonObject = summary === true ? { includeThoughts: true } : {}
  if (version >= 300) {
    const thinkingLevel = levelOf(effort, family)
    tell(thinkingLevel.toLowerCase())
    return { thinkingLevel, ...thoughts }
  }
  const wanted = budgets[effort]
  const [least, most] = tier === 'pro' ? [128, budgets.max] : [0, budgets.high]
  const room = Math.min(wanted, most, Math.floor(maxTokens * 0.75))
  // The lighter models take 0, or 512 and more.
  const thinkingBudget = Math.max(least, least === 0 && room < 512 ? 0 : room)
  tell(thinkingBudget === wanted ? effort : `${thinkingBudget} tokens`)
  // Without thinking the API refuses to be asked for thoughts.
  return { thinkingBudget, ...(thinkingBudget > 0 && thoughts) }
}

/** The nearest level. Only these models are known to take the lowest one, and Gemini 3 Pro has two levels only. */
function levelOf(effort: ReasoningEffort, { tier, version }: ModelFamily): string {
  if (effort === 'none' || effort === 'minimal') {
    return tier === 'flash' && version <= 306 ? 'MINIMAL' : 'LOW'
  }
  const isHigh = effort === 'max' || (effort === 'medium' && tier === 'pro' && version === 300)
  return isHigh ? 'HIGH' : effort.toUpperCase()
}

/** The budgets in tokens. */
const budgets: Readonly<Record<ReasoningEffort, number>> = {
  none: 0,
  minimal: 512,
  low: 1024,
  medium: 8192,
  high: 24_576,
  max: 32_768,
}

/** A tool as a function declaration. */
function renderTool(
  spec: ToolSpec,
  index: number,
  target: RenderTarget,
  schemas: RequestSchemas,
): JsonObject {
  const { name, description, providerOptions: own = {} } = spec
  const isBare = Object.keys(spec.schema).every((key) => key === 'type')
  return {
    name,
    description,
    ...(!isBare && renderParameters(schemas.tool(spec, index, target.dialect).schema, target)),
    ...optionsFor('gemini', target.provider, own),
  }
}

/** The parameters of a function. One without arguments is declared without parameters. */
function renderParameters(schema: JsonObject, { dialect }: RenderTarget): JsonObject {
  if (hasNoParameters(schema)) return {}
  return { [dialect === geminiJson ? 'parametersJsonSchema' : 'parameters']: schema }
}

function hasNoParameters({ properties, additionalProperties }: JsonObject): boolean {
  const named = isObject(properties) && Object.keys(properties).length > 0
  return !named && additionalProperties !== true && !isObject(additionalProperties)
}

/** Which functions the model may or must call. */
function renderToolChoice(choice: ToolChoice): JsonObject {
  switch (choice) {
    case 'auto':
      return { functionCallingConfig: { mode: 'AUTO' } }
    case 'none':
      return { functionCallingConfig: { mode: 'NONE' } }
    case 'required':
      return { functionCallingConfig: { mode: 'ANY' } }
    default:
      return { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: [choice] } }
  }
}
