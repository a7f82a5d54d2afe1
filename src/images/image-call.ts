import type { ImageAdapter } from '../contracts/adapter.ts'
import type { EngineParts, RetryOption } from '../contracts/options.ts'
import type { Clock } from '../core/clock.ts'
import type { NewId } from '../core/ids.ts'
import { keyFor } from '../core/keys.ts'
import { EngineError } from '../errors/errors.ts'
import type { ImageCallOptions } from './image-options.ts'
import type { ImageRequest } from '../types/media.ts'

/** One image call with everything decided: nothing in it is looked up again. */
export interface ImageCall {
  readonly adapter: ImageAdapter
  readonly provider: string
  readonly request: ImageRequest
  readonly requestId: string
  /** Finds the key when the call starts. It is kept nowhere. */
  readonly findKey: () => string | undefined
  readonly clock: Clock
  readonly newId: NewId
  readonly signal: AbortSignal | undefined
  readonly requestTimeoutMs: number | undefined
  readonly retry: RetryOption | undefined
}

/**
 * Decides everything about a call: its model, its id, where its key is looked for, its deadlines.
 *
 * An operation that the adapter does not offer needs neither a model nor a key, so that the adapter's own refusal is
 * what the caller sees.
 */
export function settleImageCall(
  engine: EngineParts,
  adapter: ImageAdapter,
  request: ImageRequest,
  options: ImageCallOptions,
): ImageCall {
  const { provider } = adapter
  const { keys, clock, newId, defaults } = engine
  const requestId = options.requestId ?? newId('request')
  const model = request.model ?? engine.imageModel
  const offered = adapter.supportedOperations().includes(request.operation)
  if (offered && model === undefined && adapter.needsModel === true) {
    const message = `${provider} needs a model: set imageModel of the engine, or model of the call`
    throw new EngineError('missing_model', message, { provider, requestId })
  }
  const { apiKey, signal } = options
  return {
    adapter,
    provider,
    request: model === undefined ? request : { ...request, model },
    requestId,
    findKey: () => (offered ? keyFor(adapter, { apiKey, keys }) : undefined),
    clock,
    newId,
    signal,
    requestTimeoutMs: options.requestTimeoutMs ?? defaults.requestTimeoutMs,
    retry: options.retry ?? engine.retry,
  }
}
