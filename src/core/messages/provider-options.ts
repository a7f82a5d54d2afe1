import { meantKey } from '../schema/checks.ts'
import type { Issue } from '../types/error-data.ts'
import { isObject } from '../types/guards.ts'
import type { JsonObject, JsonValue } from '../types/json.ts'
import type { ProviderOptions } from '../types/provider-options.ts'

/** The providers of this package. Their options may be in any request, whichever adapter it goes to. */
export const builtInProviders: readonly string[] = ['openai', 'azure', 'anthropic', 'gemini']

/**
 * A body with provider options merged over it, by the one rule for all providers and all layers of options.
 *
 * Objects are merged member by member, all the way down; one whose `type` differs replaces the other. Lists are replaced,
 * except the `tools` and the `include` of a body, which are added to: a hosted tool does not replace the tools of the request.
 */
export function mergeOptions(body: JsonObject, options: JsonObject | undefined): JsonObject {
  if (options === undefined) return body
  const merged: Record<string, JsonValue> = { ...body }
  for (const [key, value] of Object.entries(options)) {
    const known = merged[key]
    const adds = (key === 'tools' || key === 'include') && isList(known) && isList(value)
    merged[key] = adds
      ? [...known, ...value.filter((item) => !known.includes(item))]
      : mergeValue(known, value)
  }
  return merged
}

function mergeValue(known: JsonValue | undefined, over: JsonValue): JsonValue {
  if (!isObject(known) || !isObject(over)) return over
  if ('type' in over && known['type'] !== over['type']) return over
  const merged: Record<string, JsonValue> = { ...known }
  for (const [key, value] of Object.entries(over)) merged[key] = mergeValue(merged[key], value)
  return merged
}

function isList(value: JsonValue | undefined): value is readonly JsonValue[] {
  return Array.isArray(value)
}

/** The options for an adapter: those of the API that it speaks, then those under the adapter's own name when it has another. */
export function optionsFor(api: string, provider: string, options: ProviderOptions): JsonObject {
  // They were checked to be JSON objects.
  const { [api]: shared = {}, [provider]: own } = options as Readonly<Record<string, JsonObject>>
  return provider === api ? shared : mergeOptions(shared, own)
}

/**
 * Whether reasoning of one provider can be sent back to another: they are the same, or the same API on different platforms
 * (`anthropic` and `anthropic-bedrock`), where signatures are valid for both.
 */
export function sharesReasoning(from: string | undefined, to: string): boolean {
  return from?.replace(platform, '') === to.replace(platform, '')
}

const platform = /-(?:vertex|bedrock)$/

/** What may have options for providers. */
interface OptionsHolder {
  readonly providerOptions?: ProviderOptions
  /** The members that may have options of their own. */
  readonly messages?: readonly OptionsHolder[]
  readonly tools?: readonly OptionsHolder[]
  readonly content?: string | readonly OptionsHolder[]
}

/**
 * The problem of options for a provider that nobody reads: a name that is neither one of the adapter's nor one of the built-in ones.
 * The nearest legal name is suggested. The options of messages, parts and tools are looked through too.
 */
export function unknownProviders(
  holder: OptionsHolder,
  providers: readonly string[],
  place = '',
): readonly Issue[] {
  const { providerOptions } = holder
  const issues: Issue[] = []
  if (providerOptions !== undefined) {
    for (const name of Object.keys(providerOptions)) {
      if (providers.includes(name) || builtInProviders.includes(name)) continue
      const legal = [...new Set([...providers, ...builtInProviders])]
      const problem = `is not a provider: ${meantKey(name, legal)}`
      issues.push({ path: `${place}providerOptions.${name}`, problem })
    }
  }
  for (const key of holderLists) {
    const list = holder[key]
    if (typeof list !== 'object') continue
    list.forEach((one, at) => {
      // A thread may be long, and few of its messages have options.
      if (one.providerOptions === undefined && typeof one.content !== 'object') return
      issues.push(...unknownProviders(one, providers, `${place}${key}[${at}].`))
    })
  }
  return issues
}

const holderLists = ['messages', 'tools', 'content'] as const

const none: ProviderOptions = {}

/** Each provider's parameters: the call's over the request's over the engine's. */
export function mergeProviderOptions(
  ...layers: readonly (ProviderOptions | undefined)[]
): ProviderOptions {
  const given = layers.filter((layer) => layer !== undefined)
  if (given.length < 2) return given[0] ?? none
  const merged: Record<string, JsonObject> = {}
  for (const layer of given) {
    for (const [provider, options] of Object.entries(layer)) {
      // They were checked to be JSON objects.
      if (options !== undefined) {
        merged[provider] = mergeOptions(merged[provider] ?? {}, options as JsonObject)
      }
    }
  }
  return merged
}
