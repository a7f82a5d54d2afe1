import type { KeyNeed } from '../adapter/chat-adapter.ts'
import type { KeySource } from '../adapter/engine.ts'
import { EngineError } from '../errors/engine-error.ts'
import { storedKey } from './key-store.ts'

/** Where a key may be looked for, beside the process's own. */
export interface KeyPlaces {
  /** The key of this call. */
  readonly apiKey?: string | undefined
  /** The engine's. */
  readonly keys?: KeySource | undefined
}

/** A key and where it was found. */
export interface FoundKey {
  readonly key: string
  readonly source: 'call' | 'engine' | 'process' | 'environment'
  /** The environment variable that held it. */
  readonly variable?: string
}

/**
 * Finds a provider's key: the call's, then the engine's, then that of `setKey`, then the provider's environment variable.
 *
 * An empty string counts as missing everywhere. Nothing is stored.
 */
export function findKey(provider: string, places: KeyPlaces = {}): FoundKey | undefined {
  const given = givenKey(provider, places)
  if (given !== undefined) return given
  const stored = storedKey(provider)
  if (stored !== undefined) return { key: stored, source: 'process' }
  for (const variable of keyVariables(provider)) {
    const key = fromEnvironment(variable)
    if (isKey(key)) return { key, source: 'environment', variable }
  }
  return undefined
}

/** The key of a provider, or `EngineError` `missing_key` that says where it was looked for. */
export function resolveKey(provider: string, places: KeyPlaces = {}): string {
  const found = findKey(provider, places)
  if (found !== undefined) return found.key
  const variables = keyVariables(provider).join(' or ')
  throw new EngineError(
    'missing_key',
    `no key for ${provider}: looked at the call's apiKey, the engine's keys, setKey('${provider}', …) and the environment (${variables})`,
    { provider, metadata: { checked: ['call', 'engine', 'process', 'environment'] } },
  )
}

/** The key that goes with a call of an adapter; `undefined` when it needs none or has its own. */
export function keyFor(
  adapter: { readonly provider: string; readonly key?: KeyNeed },
  places: KeyPlaces,
): string | undefined {
  const { provider, key: need } = adapter
  if (need === undefined) return undefined
  if (need.own) return givenKey(provider, places)?.key
  return need.required ? resolveKey(provider, places) : findKey(provider, places)?.key
}

/** The environment variables that hold a provider's key, the first that is set winning. */
export function keyVariables(provider: string): readonly string[] {
  const own = `${provider.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_')}_API_KEY`
  return provider === 'gemini' ? [own, 'GOOGLE_API_KEY'] : [own]
}

function givenKey(provider: string, places: KeyPlaces): FoundKey | undefined {
  if (isKey(places.apiKey)) return { key: places.apiKey, source: 'call' }
  const key = places.keys?.(provider)
  return isKey(key) ? { key, source: 'engine' } : undefined
}

function isKey(value: string | undefined): value is string {
  return typeof value === 'string' && value.trim() !== ''
}

/** A variable of the environment, where the runtime has one. Read at each call, never at import. */
function fromEnvironment(variable: string): string | undefined {
  // Not every runtime has a process, and no type of this room may say that one has.
  const host = globalThis as { process?: { env?: Record<string, string | undefined> } }
  try {
    return host.process?.env?.[variable]
  } catch {
    // Deno throws unless it was permitted to look; what may not be read is not there.
    return undefined
  }
}
