import { randomId } from '../core/base/ids.ts'
import { keyFor } from '../core/base/keys.ts'
import { retry } from '../core/base/retry.ts'
import type { AdapterOptions, ChatAdapter } from '../core/contracts/adapter.ts'
import type { EngineParts, RetryOption } from '../core/contracts/options.ts'
import { AdapterError, cancelledCall, isAllmError } from '../core/errors/errors.ts'
import { retryPlan } from '../engine/model-call/retry-policy.ts'
import { attributed } from '../providers/http/answer.ts'
import type { HttpCall } from '../providers/http/call.ts'
import { postForJson } from '../providers/http/post.ts'
import { unsentCall, urlOf, type LeanWire } from '../providers/shared/call.ts'

/** What a call needs beside what it asks for. */
interface AskOptions extends Pick<
  AdapterOptions,
  'signal' | 'apiKey' | 'headers' | 'requestTimeoutMs'
> {
  readonly requestId: string
  readonly retry?: RetryOption | undefined
}

/**
 * Asks a provider something that is not a chat, with the key, the retries and the clock of an engine. `ask` makes one attempt.
 *
 * Every failure names the provider and the call. An abort ends it at once, also between two attempts.
 */
export async function askProvider<T>(
  { keys, clock, newId, defaults }: EngineParts,
  adapter: ChatAdapter,
  options: AskOptions,
  ask: (options: AdapterOptions & { readonly requestId: string }) => Promise<T>,
): Promise<T> {
  const { signal, apiKey: given, requestId, retry: own, ...rest } = options
  const call = { provider: adapter.provider, requestId, signal }
  try {
    if (signal?.aborted === true) throw cancelledCall(call)
    const credentials = await credentialsOf(adapter, { apiKey: given, keys })
    return await retry(
      () => retryPlan(own ?? defaults.retry, { clock, signal }),
      () => ask({ ...rest, requestId, signal, ...credentials, clock, newId }),
    )
  } catch (error) {
    if (signal?.aborted === true) throw cancelledCall(call)
    throw isAllmError(error) ? attributed(error, call) : error
  }
}

/** The key of a call. An adapter in front of several finds that of its first one by itself, unless it has the wire of that one. */
async function credentialsOf(
  adapter: ChatAdapter,
  given: Pick<AdapterOptions, 'apiKey' | 'keys'>,
): Promise<Pick<AdapterOptions, 'apiKey' | 'keys'>> {
  const { provider, key = wireOf(adapter)?.connection.key } = adapter
  if (key === undefined && adapter.providers !== undefined) return given
  return { apiKey: await keyFor({ provider, ...(key && { key }) }, given) }
}

/** What an adapter of this library was made of. */
export function wireOf(adapter: ChatAdapter): LeanWire | undefined {
  // Only `leanAdapter` sets it.
  return adapter.wire?.() as LeanWire | undefined
}

/** The error of an adapter that cannot do what it is asked for. The provider may have calls for it that are not known here. */
export function unsupported({ provider }: ChatAdapter, what: string, more = ''): AdapterError {
  const message = `allm-ts does not ${what} ${provider}${more}`
  return new AdapterError('unsupported_feature', message, { provider, retryable: false })
}

/** How much of an answer is read. */
const maxResponseBytes = 16 * 1024 * 1024

/** Calls a path of an adapter's API and reads the answer: with a body by POST, without one by GET. */
export async function askPath(
  wire: LeanWire,
  path: string,
  options: AdapterOptions & { readonly query?: Readonly<Record<string, string>> },
  json?: HttpCall['json'],
): Promise<unknown> {
  const { query, requestId = randomId('request'), ...rest } = options
  const url = urlOf(wire.connection, path, query)
  const call = await unsentCall(wire, url, { ...rest, requestId, stream: false })
  const asked = json === undefined ? byGet(call) : { ...call, json }
  return (await postForJson({ maxResponseBytes, ...asked })).value
}

function byGet(call: HttpCall): HttpCall {
  const { fetch = globalThis.fetch } = call
  return { ...call, fetch: (url, init) => fetch(url, { ...init, method: 'GET' }) }
}
