import { AdapterError } from '../../errors/errors.ts'
import { withoutSecrets } from '../../http/secrets.ts'
import type { ImageHttpCall } from './images-http.ts'
import { judgeFailure, readFailure } from './parse-failure.ts'
import type { JsonObject } from '../../types/json.ts'

/** Why a successful answer has no image: it reports a failure, everything was filtered, or it is no answer at all. */
export function noImage(body: JsonObject, call: ImageHttpCall, status: number): AdapterError {
  const { provider, requestId, headers } = call
  const facts = { provider, requestId, status }
  if (body['error'] !== undefined) {
    const failure = withoutSecrets(judgeFailure(provider, readFailure(body)), headers)
    const { reason, message, ...details } = failure
    return new AdapterError(reason, message, { ...facts, ...details })
  }
  const { data } = body
  return Array.isArray(data) && data.length === 0
    ? new AdapterError('content_filter', `${provider} answered with no image`, facts)
    : new AdapterError('malformed_response', `${provider} answered without images`, facts)
}
