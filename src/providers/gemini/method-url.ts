import { EngineError } from '../../errors/errors.ts'
import type { Settings } from './settings.ts'

/** The ways to ask for an answer: whole, or in pieces. */
export type Method = 'generateContent' | 'streamGenerateContent'

/**
 * The address of a model's method. A name with a slash (`tunedModels/…`) is a path of its own.
 *
 * A model that is not named is `missing_model`.
 */
export function methodUrl(settings: Settings, model: string | undefined, method: Method): string {
  const { provider, baseUrl } = settings
  if (model === undefined || model === '') {
    throw new EngineError('missing_model', `no model for ${provider}`, { provider })
  }
  const path = model.includes('/') ? model : `models/${model}`
  const query = method === 'streamGenerateContent' ? '?alt=sse' : ''
  return `${baseUrl}/${path.split('/').map(encodeURIComponent).join('/')}:${method}${query}`
}
