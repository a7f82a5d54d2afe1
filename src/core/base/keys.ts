import { EngineError, ValidationError } from '../errors/errors.ts'

/** Where to look for a key, beside the process and its environment. */
interface KeyPlaces {
  /** The key of this call. */
  readonly apiKey?: string | undefined
  /** The engine's source of keys. */
  readonly keys?: ((provider: string) => string | undefined) | undefined
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

/** The key of a provider. If there is none, throws `EngineError` `missing_key` with the places that were searched. */
export function resolveKey(provider: string, places: KeyPlaces = {}): string {
  const found = findKey(provider, places)
  if (found !== undefined) return found.key
  const variables = keyVariables(provider).join(' or ')
  throw new EngineError(
    'missing_key',
    `no API key for ${provider}; searched the call's apiKey, the engine's keys, setKey('${provider}', …) and the environment (${variables})`,
    { provider, metadata: { checked: ['call', 'engine', 'process', 'environment'] } },
  )
}

/** The key for a call of an adapter. `undefined` if the adapter needs none or has its own. */
export function keyFor(
  adapter: { readonly provider: string; readonly key?: KeyNeed },
  { apiKey, keys }: { readonly apiKey?: string | undefined; readonly keys?: KeySource | undefined },
): string | undefined | Promise<string | undefined> {
  const { provider, key: need } = adapter
  if (need === undefined) return undefined
  const key = isKey(apiKey) ? undefined : keys?.(provider)
  if (!(key instanceof Promise)) return neededKey(provider, need, { apiKey, keys: () => key })
  return key.then(
    (later) => neededKey(provider, need, { apiKey, keys: () => later }),
    (cause: unknown) => {
      const message = `no API key for ${provider}: the engine's keys failed`
      throw new EngineError('missing_key', message, { provider, cause })
    },
  )
}

function neededKey(provider: string, need: KeyNeed, places: KeyPlaces): string | undefined {
  if (need.own) return givenKey(provider, places)?.key
  return need.required ? resolveKey(provider, places) : findKey(provider, places)?.key
}

/** The environment variables that may hold a provider's key. The first that is set wins. */
export function keyVariables(provider: string): readonly string[] {
  const own = `${provider.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_')}_API_KEY`
  if (provider === 'gemini') return [own, 'GOOGLE_API_KEY']
  return provider === 'azure' ? ['AZURE_OPENAI_API_KEY', own] : [own]
}

function givenKey(provider: string, places: KeyPlaces): FoundKey | undefined {
  if (isKey(places.apiKey)) return { key: places.apiKey, source: 'call' }
  const key = places.keys?.(provider)
  return isKey(key) ? { key, source: 'engine' } : undefined
}

/** Whether a value is a key. An empty text is none. */
export function isKey(value: string | undefined): value is string {
  return typeof value === 'string' && value.trim() !== ''
}

/** A variable of the environment, if the runtime has one. Read at each call, never at import. */
export function fromEnvironment(variable: string): string | undefined {
  // Not every runtime has a process, so its type is not used here.
  const host = globalThis as { process?: { env?: Record<string, string | undefined> } }
  try {
    return host.process?.env?.[variable]
  } catch {
    // Deno throws without permission. A variable that may not be read is treated as absent.
    return undefined
  }
}

/** The keys that `setKey` set in this process. For many tenants, use the engine's `keys` function instead. */
const keys = new Map<string, string>()

/** Sets the key of a provider for the whole process. A call's `apiKey` and an engine's `keys` take precedence. */
export function setKey(provider: string, key: string): void {
  if (typeof key !== 'string' || key.trim() === '') {
    throw new ValidationError('invalid_options', [
      { path: 'key', problem: `of ${provider} must be a non-empty string` },
    ])
  }
  keys.set(provider, key)
}

/** Removes the key that `setKey` set. */
export function deleteKey(provider: string): void {
  keys.delete(provider)
}

/** The key that `setKey` set. */
function storedKey(provider: string): string | undefined {
  return keys.get(provider)
}

/** What an adapter needs of a key. The key itself is not part of it. */
export interface KeyNeed {
  /** Fail the call with `missing_key` if no key is found. */
  readonly required: boolean
  /** The adapter was made with a key of its own. Only a key of the call or of the engine takes precedence. */
  readonly own: boolean
}

/** Finds the key of a provider, at each call; it may be async. `undefined` means: look elsewhere. */
export type KeySource = (provider: string) => string | undefined | Promise<string | undefined>
