import { AdapterError, type AdapterErrorReason } from '../../../../src/index.ts'
import { refusals } from '../../../../src/testing/conformance/adapter-demands.ts'
import { broken, edit, events, saying, those, throwing, withStream } from './mutant.ts'

/** Adapters that fail in the wrong way. */
export const failingMutants = [
  ...refusals.map(({ reason }) =>
    broken(
      `${reason} is taken for something else`,
      `a call that fails with ${reason} before its first event rejects with it`,
      throwing((error) =>
        error instanceof AdapterError && error.reason === reason && isBare(error)
          ? withReason(error, reason === 'unknown' ? 'invalid_request' : 'unknown')
          : error,
      ),
    ),
  ),
  broken(
    'a refusal is an event',
    'a call that fails with invalid_request before its first event rejects with it',
    throwing((error) =>
      error instanceof AdapterError && error.reason === 'invalid_request'
        ? [{ type: 'error', error: error.toJSON() }]
        : error,
    ),
  ),
  broken(
    'a refusal has no status',
    'a refusal has the status of its answer',
    throwing((error) => {
      if (!(error instanceof AdapterError) || error.reason !== 'invalid_request') return error
      const { reason, message, provider, requestId } = error
      return new AdapterError(reason, message, { provider, requestId })
    }),
  ),
  broken(
    'what fetch throws comes out as it is',
    'a call that fails with network_error before its first event rejects with it',
    throwing((error) =>
      error instanceof AdapterError && error.reason === 'network_error'
        ? new TypeError('fetch failed')
        : error,
    ),
  ),
  broken(
    'a refusal does not say of which run it is',
    'a refusal names its provider and its run',
    throwing((error) => {
      if (!(error instanceof AdapterError) || error.reason !== 'rate_limited') return error
      const { reason, message, provider, status, retryAfterMs } = error
      return new AdapterError(reason, message, { provider, status, retryAfterMs })
    }),
  ),
  broken(
    'Retry-After is told in seconds',
    'a refusal says how long to wait',
    throwing((error) => {
      if (!(error instanceof AdapterError) || error.retryAfterMs === undefined) return error
      const { reason, message, provider, status, requestId, retryAfterMs } = error
      const details = { provider, status, requestId, retryAfterMs: retryAfterMs / 1000 }
      return new AdapterError(reason, message, details)
    }),
  ),
  broken('a refused call is tried again', 'a refused call is not tried again', (adapter) =>
    withStream(adapter, async function* (request, options) {
      try {
        yield* adapter.stream(request, options)
      } catch (error) {
        if (error instanceof AdapterError && error.reason === 'provider_unavailable') {
          await collected(adapter.stream(request, options)).catch(() => [])
        }
        throw error
      }
    }),
  ),
  broken(
    'a failure in the middle is thrown',
    'a failure that the provider reports in the middle is the last event',
    events((event, all) => {
      if (event.type !== 'error' || event.error.reason !== 'provider_unavailable') return event
      if (those(all, 'text_delta').length === 0) return event
      throw new AdapterError('provider_unavailable', 'thrown too late')
    }),
  ),
  broken(
    'a failure in place of an answer is an empty answer',
    'a failure that the provider reports in place of an answer is a failure',
    saying((all) => (all.length === 2 ? all.map(completedInstead) : all)),
  ),
  broken(
    'how long to wait is not told in the middle',
    'a failure in the middle says how long to wait',
    events(
      edit('error', ({ error: { retryAfterMs: _wait, ...error } }) => ({ type: 'error', error })),
    ),
  ),
  broken(
    'the end of the body is taken for the end of the answer',
    'an answer that breaks off is truncated, never complete',
    events((event) =>
      event.type === 'error' && event.error.reason === 'truncated'
        ? completedInstead(event)
        : event,
    ),
  ),
  broken(
    'an event that cannot be read is passed over',
    'an event that cannot be read is malformed_event',
    events((event) =>
      event.type === 'error' && event.error.reason === 'malformed_event'
        ? completedInstead(event)
        : event,
    ),
  ),
]

/** Whether an error says nothing that another case looks at. */
function isBare({ retryAfterMs, message }: AdapterError): boolean {
  return retryAfterMs === undefined && message === 'scripted error'
}

function withReason(error: AdapterError, reason: AdapterErrorReason): AdapterError {
  const { message, provider, status, requestId } = error
  return new AdapterError(reason, message, { provider, status, requestId })
}

function completedInstead(event: { readonly type: string }): unknown {
  if (event.type !== 'error') return event
  const message = { role: 'assistant', content: '' }
  return { type: 'message_completed', message, finishReason: 'stop' }
}

async function collected(stream: AsyncIterable<unknown>): Promise<unknown[]> {
  const items: unknown[] = []
  for await (const item of stream) items.push(item)
  return items
}
