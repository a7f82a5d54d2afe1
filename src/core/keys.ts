import { EngineError, ValidationError } from '../errors/errors.ts'

/** Where a key may be looked for, beside the process's own. */
interface KeyPlaces {
  /** The key of this call. */
  readonly apiKey?: string | undefined
  /** The engine's. */
  readonly keys?: KeySource | undefined
}

/** A key and where it was found. */
interface FoundKey {
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

/** The keys that `setKey` gave to this process. Many tenants use the engine's `keys` function instead. */
const keys = new Map<string, string>()

/** Sets the key of a provider for this whole process. A call's `apiKey` and an engine's `keys` go before it. */
export function setKey(provider: string, key: string): void {
  if (typeof key !== 'string' || key.trim() === '') {
    throw new ValidationError('invalid_options', [
      { path: 'key', problem: `of ${provider} must be a non-empty string` },
    ])
  }
  keys.set(provider, key)
}

/** Forgets the key that `setKey` gave. */
export function deleteKey(provider: string): void {
  keys.delete(provider)
}

/** The key that `setKey` gave. */
function storedKey(provider: string): string | undefined {
  return keys.get(provider)
}

/** What an adapter says about its key; the key itself is nowhere to be seen. */
export interface KeyNeed {
  /** Refuse the call with `missing_key` when none is found. */
  readonly required: boolean
  /** The adapter was made with a key of its own: only a key of the call or of the engine goes before it. */
  readonly own: boolean
}

/** Finds the key of a provider, at each call anew. `undefined` means: look elsewhere. */
export type KeySource = (provider: string) => string | undefined
