import type { AdapterOptions } from '../../adapter/adapter-options.ts'
import { randomId } from '../../async/new-id.ts'
import { EngineError } from '../../errors/engine-error.ts'
import type { Settings } from './settings.ts'
import type { CallFacts } from './wire-error.ts'

/** A call's facts and its key. */
export interface IdentifiedCall {
  readonly facts: CallFacts
  readonly key: string | undefined
}

/** Finds the key of a call: the call's own, else the adapter's. Without one, where one is needed, nothing is sent. */
export function identifyCall(settings: Settings, options: AdapterOptions): IdentifiedCall {
  const { provider } = settings
  const requestId = options.requestId ?? (options.newId ?? randomId)('request')
  const given = options.apiKey ?? ''
  const key = given.trim() === '' ? settings.ownKey() : given
  if (key === undefined && settings.key.required) {
    const message = `no key for ${provider}: give the call or the adapter an apiKey`
    throw new EngineError('missing_key', message, { provider, requestId })
  }
  return { key, facts: { provider, requestId, hideKey: keyHider(key) } }
}

/** Takes a key out of a text, whatever its shape is. */
function keyHider(key: string | undefined): (text: string) => string {
  // A very short key would be found in every other word.
  if (key === undefined || key.length < 6) return (text) => text
  return (text) => text.replaceAll(key, '[redacted]')
}
