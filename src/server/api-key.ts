import type { IncomingHttpHeaders } from 'node:http'
import type { Provider } from './route.ts'
import { assertNever } from '../types/guards.ts'

/** The key that a request carries where its provider looks for one; `undefined` when there is none. */
export function apiKeyOf(
  provider: Provider,
  headers: IncomingHttpHeaders,
  url: string,
): string | undefined {
  const [, bearer] = /^Bearer\s+(\S+)/i.exec(headers.authorization ?? '') ?? []
  switch (provider) {
    case 'openai':
      return bearer
    case 'anthropic':
      return headerText(headers['x-api-key']) ?? bearer
    case 'gemini': {
      const [, inAddress] = /[?&]key=([^&]+)/.exec(url) ?? []
      return headerText(headers['x-goog-api-key']) ?? inAddress ?? bearer
    }
    default:
      return assertNever(provider)
  }
}

function headerText(value: string | readonly string[] | undefined): string | undefined {
  const text = typeof value === 'string' ? value : value?.[0]
  return text === '' ? undefined : text
}

const keyHeaders = new Set([
  'authorization',
  'proxy-authorization',
  'x-api-key',
  'x-goog-api-key',
  'api-key',
  'cookie',
])

/** The headers of a request without those that carry keys. */
export function headersWithoutKeys(headers: IncomingHttpHeaders): Record<string, string> {
  const kept: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && !keyHeaders.has(name))
      kept[name] = typeof value === 'string' ? value : value.join(', ')
  }
  return kept
}

/** An address without the key that it may carry. */
export function pathWithoutKey(url: string): string {
  if (!url.includes('key=')) return url
  return url.replace(/([?&])key=[^&]*(&|$)/, (_, lead: string, tail: string) =>
    tail === '&' ? lead : '',
  )
}
