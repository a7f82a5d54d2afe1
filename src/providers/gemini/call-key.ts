import { EngineError } from '../../errors/errors.ts'
import type { Settings } from './settings.ts'

/** The key of a call: the call's own, else the adapter's. Without one, where one is needed, nothing is sent. */
export function callKey(settings: Settings, apiKey: string | undefined): string | undefined {
  const given = apiKey ?? ''
  const key = given.trim() === '' ? settings.ownKey() : given
  if (key !== undefined || !settings.key.required) return key
  const { provider } = settings
  const message = `no key for ${provider}: give the call or the adapter an apiKey`
  throw new EngineError('missing_key', message, { provider })
}
