import type { Provider } from './route.ts'
import { assertNever } from '../types/guards.ts'
import type { JsonObject } from '../types/json.ts'
import { wireEpoch } from '../wire/wire-renderer.ts'

const createdAt = new Date(wireEpoch * 1000).toISOString()

/** The names that are listed when the options say none. */
export const defaultModels: Readonly<Record<Provider, readonly string[]>> = {
  openai: ['gpt-5', 'gpt-4o-mini', 'gpt-image-1'],
  anthropic: ['claude-sonnet-4-5-20250929', 'claude-haiku-4-5-20251001'],
  gemini: ['gemini-2.5-flash', 'gemini-2.5-pro', 'gemini-2.5-flash-image'],
}

/** The list of models in the provider's own shape. */
export function modelsList(provider: Provider, names: readonly string[]): JsonObject {
  const models = names.map((name) => modelEntry(provider, name))
  switch (provider) {
    case 'openai':
      return { object: 'list', data: models }
    case 'anthropic':
      return {
        data: models,
        has_more: false,
        first_id: names[0] ?? null,
        last_id: names.at(-1) ?? null,
      }
    case 'gemini':
      return { models }
    default:
      return assertNever(provider)
  }
}

/** One model in the provider's own shape. */
export function modelEntry(provider: Provider, name: string): JsonObject {
  switch (provider) {
    case 'openai':
      return { id: name, object: 'model', created: wireEpoch, owned_by: 'allm' }
    case 'anthropic':
      return { type: 'model', id: name, display_name: name, created_at: createdAt }
    case 'gemini':
      return {
        name: `models/${name.replace(/^models\//, '')}`,
        version: '001',
        displayName: name,
        inputTokenLimit: 1_048_576,
        outputTokenLimit: 65_536,
        supportedGenerationMethods: ['generateContent', 'countTokens'],
      }
    default:
      return assertNever(provider)
  }
}
