import type { IncomingHttpHeaders } from 'node:http'
import type { ImageOperation } from '../types/media.ts'
import type { WireFormat } from '../wire/wire-answer.ts'

/** Whose API a request is for. */
export type Provider = 'openai' | 'anthropic' | 'gemini'

/** What a request asks for, by its method and address alone. */
export type Route =
  | {
      readonly type: 'chat'
      readonly provider: Provider
      readonly format: WireFormat
      /** Gemini has the model and the kind of answer in its address. */
      readonly model?: string
      readonly stream?: boolean
      readonly framing: 'sse' | 'json_array'
    }
  | { readonly type: 'images'; readonly provider: 'openai'; readonly operation: ImageOperation }
  | { readonly type: 'models'; readonly provider: Provider; readonly model?: string }
  | { readonly type: 'unknown'; readonly provider: Provider; readonly status: 404 | 405 }

const posts: Readonly<Record<string, Route>> = {
  '/v1/chat/completions': {
    type: 'chat',
    provider: 'openai',
    format: 'openai_chat',
    framing: 'sse',
  },
  '/v1/responses': {
    type: 'chat',
    provider: 'openai',
    format: 'openai_responses',
    framing: 'sse',
  },
  '/v1/messages': { type: 'chat', provider: 'anthropic', format: 'anthropic', framing: 'sse' },
  '/v1/images/generations': { type: 'images', provider: 'openai', operation: 'generate' },
  '/v1/images/edits': { type: 'images', provider: 'openai', operation: 'edit' },
  '/v1/images/variations': { type: 'images', provider: 'openai', operation: 'variation' },
}

/** Finds what a request asks for. What no provider has is `unknown`, with the status that it is refused with. */
export function routeOf(method: string, url: string, headers: IncomingHttpHeaders): Route {
  const query = url.indexOf('?')
  const path = query === -1 ? url : url.slice(0, query)
  const known = Object.hasOwn(posts, path) ? posts[path] : undefined
  if (known !== undefined) return method === 'POST' ? known : refusedMethod(known.provider)
  return (
    geminiRoute(method, path, query === -1 ? '' : url.slice(query)) ??
    modelsRoute(method, path, headers) ?? {
      type: 'unknown',
      provider: providerOf(path, headers),
      status: 404,
    }
  )
}

const generate =
  /^\/v1(?:beta|alpha)?\/(?:models|tunedModels)\/(.+):(generateContent|streamGenerateContent)$/

function geminiRoute(method: string, path: string, query: string): Route | undefined {
  const [, model, action] = generate.exec(path) ?? []
  if (model === undefined) return undefined
  if (method !== 'POST') return refusedMethod('gemini')
  return {
    type: 'chat',
    provider: 'gemini',
    format: 'gemini',
    model: decode(model),
    stream: action === 'streamGenerateContent',
    framing: /[?&]alt=sse(?:&|$)/.test(query) ? 'sse' : 'json_array',
  }
}

function modelsRoute(
  method: string,
  path: string,
  headers: IncomingHttpHeaders,
): Route | undefined {
  const [, model] = /^\/v1(?:beta|alpha)?\/models(?:\/(.+))?$/.exec(path) ?? [undefined, null]
  if (model === null) return undefined
  const provider = providerOf(path, headers)
  if (method !== 'GET') return refusedMethod(provider)
  return model === undefined
    ? { type: 'models', provider }
    : { type: 'models', provider, model: decode(model) }
}

/** Two APIs have the same address for their models; their headers tell them apart. */
function providerOf(path: string, headers: IncomingHttpHeaders): Provider {
  if (/^\/v1(?:beta|alpha)\//.test(path) || 'x-goog-api-key' in headers) return 'gemini'
  return 'anthropic-version' in headers || 'x-api-key' in headers ? 'anthropic' : 'openai'
}

function refusedMethod(provider: Provider): Route {
  return { type: 'unknown', provider, status: 405 }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
