import {
  AdapterError,
  cancelledCall,
  isAllmError,
  type AllmError,
} from '../../core/errors/errors.ts'
import { thrownText } from '../../core/errors/to-json-value.ts'
import { isObject } from '../../core/types/guards.ts'
import type { HttpCall } from './call.ts'
import type { Secrets } from './secrets.ts'

/** The codes of undici's own timeouts, which our options do not control. */
const platformTimeout = /^UND_ERR_(HEADERS|BODY)_TIMEOUT$/

const timeout = /^UND_ERR_\w+_TIMEOUT$|^ETIMEDOUT$|^TimeoutError$/

/** The error of a failed `fetch` or, once the answer is `reading`, of a failed read: a timeout, a cancellation, or a network failure. */
export function transportFailure(
  error: unknown,
  call: Pick<HttpCall, 'provider' | 'requestId'>,
  signal: AbortSignal,
  reading = false,
): AllmError {
  const { provider, requestId } = call
  if (signal.aborted) {
    const reason: unknown = signal.reason
    if (isAllmError(reason)) return reason
    return cancelledCall({ provider, requestId, signal })
  }
  if (isAllmError(error)) return error
  const { code, text } = describe(error)
  const advice = platformTimeout.test(code)
    ? '; the limit is that of this runtime: pass a fetch of your own'
    : ''
  const what = reading
    ? `the connection to ${provider} broke while the answer was being read`
    : `${provider} could not be reached`
  const message = `${what}: ${text}${advice}`
  return new AdapterError(timeout.test(code) ? 'timeout' : 'network_error', message, {
    provider,
    requestId,
    cause: error,
    metadata: code === '' ? {} : { code },
  })
}

/** undici puts the reason into the cause of a bare "fetch failed". */
function describe(error: unknown): { readonly code: string; readonly text: string } {
  if (!(error instanceof Error)) return { code: '', text: thrownText(error) }
  const inner = error.cause instanceof Error ? error.cause : error
  const text = inner.message === '' ? error.message : inner.message
  if ('code' in inner && typeof inner.code === 'string') {
    return { code: inner.code, text: text === '' ? inner.code : text }
  }
  return { code: inner.name === 'TimeoutError' ? inner.name : '', text }
}

/** How much of a foreign body an error quotes. */
const quotedLength = 200

/**
 * The beginning of a body that is not an answer, to end a message with: `: ` and one line without secrets, or nothing.
 *
 * Of a page of HTML or XML only the text is left, if it has any. Secrets are removed before the text is cut, so that no piece of one is left.
 */
export function beginning(body: string, { clean }: Pick<Secrets, 'clean'>): string {
  const shown = body.trimStart().startsWith('<') ? oneLine(pageText(body)) : ''
  const line = clean(shown === '' ? oneLine(body) : shown)
  if (line === '') return ''
  if (line.length <= quotedLength) return `: ${line}`
  return `: ${line.slice(0, quotedLength).replace(/[\uD800-\uDBFF]$/, '')}…`
}

function oneLine(text: string): string {
  return text.replaceAll(/[\s\p{C}]+/gu, ' ').trim()
}

/** What a page shows. Each pattern takes time linear in the page, whatever is in it. */
function pageText(page: string): string {
  return page
    .replaceAll(/<!--[^]*?(?:-->|$)|<(script|style)\b[^]*?(?:<\/\1\s*>|$)|<[^<>]*>/gi, ' ')
    .replaceAll(/&(amp|lt|gt|quot|apos|nbsp|#39);/g, (_, name: string) => entities[name] ?? ' ')
}

const entities: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  '#39': "'",
}

/** The words of a refusal in the places where most APIs have them: `error.message`, `error`, `message` or `detail`. */
export function messageIn(json: unknown): string | undefined {
  const body: unknown = Array.isArray(json) ? json[0] : json
  if (!isObject(body)) return undefined
  const { error, message, detail } = body
  const words = [isObject(error) ? error['message'] : error, message, detail]
  return words.find((text): text is string => typeof text === 'string' && text !== '')
}
