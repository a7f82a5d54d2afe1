import { assertNever, defined, isObject } from '../../types/guards.ts'
import type { JsonObject, ProviderOptions } from '../../types/json.ts'
import type {
  ModelRequest,
  ReasoningEffort,
  ReasoningOptions,
  ResponseFormat,
  ToolChoice,
  ToolSpec,
} from '../../types/request.ts'
import { mergeOptions } from '../shared/merge-options.ts'
import { renderContents, type ContentsTarget } from './render-contents.ts'
import { openApiSchema, plainSchema } from './schema.ts'

/**
 * The body of a request; the same for a whole answer and for a streamed one. Pure: images in files have to be read before.
 *
 * Every field of a request is decided here. A new one does not compile until it is taken out of `undecided`.
 */
export function renderRequest(request: ModelRequest, options: TargetOptions = {}): JsonObject {
  const {
    model = '',
    messages,
    tools,
    toolChoice,
    temperature,
    maxTokens,
    responseFormat,
    reasoning,
    // Gemini caches prompts by itself. A cache of the caller's own is `providerOptions.gemini.cachedContent`.
    promptCache: _ignored,
    providerOptions,
    // Never sent to a provider.
    metadata: _unsent,
    ...undecided
  } = request
  undecided satisfies Readonly<Record<string, never>>
  const target = renderTarget(model, options)
  const { system, contents } = renderContents(messages, target)
  const config = defined<JsonObject>({
    temperature,
    maxOutputTokens: maxTokens,
    thinkingConfig: reasoning && thinkingConfig(reasoning, target.family),
    ...(responseFormat && renderFormat(responseFormat, target)),
  })
  const body = defined<JsonObject>({
    systemInstruction: system.length === 0 ? undefined : { parts: system },
    contents,
    tools: tools.length === 0 ? undefined : renderTools(tools, target),
    toolConfig:
      tools.length === 0 || toolChoice === undefined ? undefined : renderToolChoice(toolChoice),
    generationConfig: Object.keys(config).length === 0 ? undefined : config,
  })
  return withProviderOptions(body, providerOptions, target.provider)
}

/**
 * A body with the options for `gemini`, and then those for a provider with another name, merged over it: objects member by
 * member, `tools` are appended, and every other value is replaced.
 */
export function withProviderOptions(
  body: JsonObject,
  options: ProviderOptions,
  provider: string,
): JsonObject {
  const rule = { objects: 'deep', addedTo: ['tools'] } as const
  const merged = mergeOptions(body, options.gemini, rule)
  return provider === 'gemini' ? merged : mergeOptions(merged, options[provider], rule)
}

/** The API and the model that a request is rendered for. */
interface RenderTarget extends ContentsTarget {
  readonly family: ModelFamily
  /** How schemas are written: as JSON Schema, or in the older subset of OpenAPI. */
  readonly schemas: 'json_schema' | 'open_api'
}

/** What is known of the API beside the model. */
interface TargetOptions {
  readonly provider?: string | undefined
  /** The address of the API, such as `…/v1beta`. */
  readonly baseUrl?: string | undefined
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
    imagesInResults: fromThree,
    schemas: family.version < 205 || baseUrl.endsWith('/v1') ? 'open_api' : 'json_schema',
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

function renderFormat(format: ResponseFormat, { provider, schemas }: RenderTarget): JsonObject {
  const responseMimeType = 'application/json'
  switch (format.type) {
    case 'text':
      return {}
    case 'json_object':
      return { responseMimeType }
    case 'json_schema': {
      const place = { provider, path: 'responseFormat.schema' }
      const plain = plainSchema(format.schema, place)
      return schemas === 'json_schema'
        ? { responseMimeType, responseJsonSchema: plain }
        : { responseMimeType, responseSchema: openApiSchema(plain, place) }
    }
    default:
      return assertNever(format)
  }
}

/**
 * How hard the model thinks: a level from Gemini 3 on, a budget of tokens before.
 *
 * A model that does not support the effort gets the nearest one: Gemini 3 and 2.5 Pro always think a little. Models
 * before 2.5 do not think, so `none` is not sent to them.
 */
export function thinkingConfig(
  { effort, summary }: ReasoningOptions,
  family: ModelFamily,
): JsonObject | undefined {
  const thoughts: JsonObject = summary === true ? { includeThoughts: true } : {}
  if (family.version >= 300) return { thinkingLevel: levelOf(effort, family), ...thoughts }
  if (family.version < 205 && effort === 'none') return undefined
  return { thinkingBudget: budgetOf(effort, family), ...thoughts }
}

function levelOf(effort: ReasoningEffort, family: ModelFamily): string {
  switch (effort) {
    case 'none':
    case 'minimal':
      // Only these models are known to take the lowest level. The others get the next one.
      return family.tier === 'flash' && family.version <= 306 ? 'MINIMAL' : 'LOW'
    case 'low':
      return 'LOW'
    case 'medium':
      // Gemini 3 Pro has two levels only.
      return family.tier === 'pro' && family.version === 300 ? 'HIGH' : 'MEDIUM'
    case 'high':
    case 'max':
      return 'HIGH'
    default:
      return assertNever(effort)
  }
}

function budgetOf(effort: ReasoningEffort, { tier }: ModelFamily): number {
  switch (effort) {
    case 'none':
      return tier === 'pro' ? 128 : 0
    case 'minimal':
      return 512
    case 'low':
      return 1024
    case 'medium':
      return 8192
    case 'high':
      return 24_576
    case 'max':
      return tier === 'pro' ? 32_768 : 24_576
    default:
      return assertNever(effort)
  }
}

/** The tools as function declarations. A tool without arguments is declared without parameters. */
function renderTools(tools: readonly ToolSpec[], target: RenderTarget): JsonObject[] {
  const functionDeclarations = tools.map(({ name, description, schema }, index) => ({
    name,
    description,
    ...renderParameters(schema, `tools[${index}].schema`, target),
  }))
  return [{ functionDeclarations }]
}

function renderParameters(
  schema: JsonObject,
  path: string,
  { provider, schemas }: RenderTarget,
): JsonObject {
  const place = { provider, path }
  // Arguments are an object, also if the schema does not name the type.
  const plain = { type: 'object', ...plainSchema(schema, place) }
  if (hasNoParameters(plain)) return {}
  return schemas === 'json_schema'
    ? { parametersJsonSchema: plain }
    : { parameters: openApiSchema(plain, place) }
}

function hasNoParameters({ properties, additionalProperties, anyOf }: JsonObject): boolean {
  const named = isObject(properties) && Object.keys(properties).length > 0
  const others = additionalProperties === true || isObject(additionalProperties)
  return !named && !others && anyOf === undefined
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
