import { renderContents } from './render-contents.ts'
import {
  renderTarget,
  type ModelFamily,
  type RenderTarget,
  type TargetOptions,
} from './render-target.ts'
import { openApiSchema, plainSchema } from './schema.ts'
import { isJsonList, isJsonObject } from './wire.ts'
import { assertNever, defined } from '../../types/guards.ts'
import type { JsonObject, JsonValue } from '../../types/json.ts'
import type {
  ModelRequest,
  ReasoningEffort,
  ReasoningOptions,
  ResponseFormat,
  ToolChoice,
  ToolSpec,
} from '../../types/request.ts'

/**
 * The body of a request; the same for a whole answer and for a streamed one. Pure: pictures in files have to be read before.
 *
 * Gemini caches prompts by itself, so `promptCache` says nothing here; a cache of your own goes into
 * `providerOptions.gemini` as `cachedContent`. That bag is merged last: objects member by member, `tools` added to the
 * declared ones, everything else put in the place of what was there.
 */
export function renderRequest(request: ModelRequest, options: TargetOptions = {}): JsonObject {
  const target = renderTarget(request.model ?? '', options)
  const { messages, tools, toolChoice, providerOptions } = request
  const { system, contents } = renderContents(messages, target)
  const config = renderConfig(request, target)
  const body: JsonObject = {
    ...(system.length === 0 ? {} : { systemInstruction: { parts: system } }),
    contents,
    ...(tools.length === 0 ? {} : { tools: renderTools(tools, target) }),
    ...(tools.length === 0 || toolChoice === undefined
      ? {}
      : { toolConfig: renderToolChoice(toolChoice) }),
    ...(Object.keys(config).length === 0 ? {} : { generationConfig: config }),
  }
  const { gemini: shared = {} } = providerOptions
  const own = target.provider === 'gemini' ? {} : (providerOptions[target.provider] ?? {})
  return mergeBody(mergeBody(body, shared), own)
}

function mergeBody(body: JsonObject, extra: JsonObject): JsonObject {
  const merged = mergeObjects(body, extra)
  const { tools } = body
  const { tools: added } = extra
  return isJsonList(tools) && isJsonList(added)
    ? { ...merged, tools: [...tools, ...added] }
    : merged
}

function mergeObjects(left: JsonObject, right: JsonObject): JsonObject {
  const result: Record<string, JsonValue> = { ...left }
  for (const [key, value] of Object.entries(right)) {
    const known = result[key]
    const both = isJsonObject(known) && isJsonObject(value)
    result[key] = both ? mergeObjects(known, value) : value
  }
  return result
}

/** How the answer is made: its length, its form, its thinking. Empty when the request says nothing about it. */
function renderConfig(request: ModelRequest, target: RenderTarget): JsonObject {
  const { temperature, maxTokens, responseFormat, reasoning } = request
  return {
    ...defined<JsonObject>({
      temperature,
      maxOutputTokens: maxTokens,
      thinkingConfig: reasoning && thinkingConfig(reasoning, target.family),
    }),
    ...(responseFormat === undefined ? {} : renderFormat(responseFormat, target)),
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
 * How hard the model thinks, in the words of its family: a level from Gemini 3 on, a budget of tokens before.
 *
 * A model that can not do what was asked gets the nearest that it can: Gemini 3 and the 2.5 Pro always think a
 * little. Models before 2.5 do not think, so `none` says nothing to them.
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
      // Only these are known to take the lowest level; all others take the next.
      return family.tier === 'flash' && family.version <= 306 ? 'MINIMAL' : 'LOW'
    case 'low':
      return 'LOW'
    case 'medium':
      // The first Pro knows two levels only.
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

/** The tools as function declarations. A tool that takes no arguments is declared without parameters. */
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
  // Arguments are an object, also where the schema does not say so.
  const plain = { type: 'object', ...plainSchema(schema, place) }
  if (takesNothing(plain)) return {}
  return schemas === 'json_schema'
    ? { parametersJsonSchema: plain }
    : { parameters: openApiSchema(plain, place) }
}

function takesNothing({ properties, additionalProperties, anyOf }: JsonObject): boolean {
  const named = isJsonObject(properties) && Object.keys(properties).length > 0
  const others = additionalProperties === true || isJsonObject(additionalProperties)
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
