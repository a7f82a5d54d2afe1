import { ImageAdapterError } from '../errors/errors.ts'
import type { ImageRequest } from '../types/media.ts'

const provider = 'fake'

/** The operation is none that the fake offers. */
export function unsupportedOperation(
  { operation }: ImageRequest,
  requestId: string,
): ImageAdapterError {
  const message = `the fake has no operation ${JSON.stringify(operation)}`
  const metadata = { operation }
  return new ImageAdapterError('unsupported_operation', message, { provider, requestId, metadata })
}

/** There is no entry for this call. */
export function noScriptedImage(entryCount: number, requestId: string): ImageAdapterError {
  const entries = entryCount === 1 ? '1 entry' : `${entryCount} entries`
  const message = `no scripted image: the script has ${entries} and all were played`
  const metadata = { cause: 'no_scripted_image' }
  return new ImageAdapterError('unknown', message, { provider, requestId, metadata })
}

/** A failure that goes away by itself. */
export function tryAgain(firstGoodCall: number, requestId: string): ImageAdapterError {
  const message = `a scripted rate limit: the next entry is played from call ${firstGoodCall} on`
  return new ImageAdapterError('rate_limited', message, { provider, requestId, retryAfterMs: 0 })
}
