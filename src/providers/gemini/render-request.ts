import { isJsonList, isJsonObject } from './json-kind.ts'
import { renderConfig } from './render-config.ts'
import { renderContents } from './render-contents.ts'
import { renderTarget, type TargetOptions } from './render-target.ts'
import { renderToolChoice, renderTools } from './render-tools.ts'
import type { JsonObject, JsonValue } from '../../types/json.ts'
import type { ModelRequest } from '../../types/request.ts'

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
