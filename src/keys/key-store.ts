import { ValidationError } from '../errors/validation-error.ts'

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
export function storedKey(provider: string): string | undefined {
  return keys.get(provider)
}
