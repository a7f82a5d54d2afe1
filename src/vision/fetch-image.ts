import { ImageAdapterError } from '../errors/errors.ts'
import type { ImageLimits } from './image-limits.ts'
import { addressProblem, isPublicHost } from './public-address.ts'

/** The part of `fetch` that is used here, so that anything of that shape can be injected. */
export type FetchImage = (url: string, init: RequestInit) => Promise<Response>

/** The addresses that a name stands for. */
export type Lookup = (host: string) => Promise<readonly string[]>

/** How an image gets here from its address. */
export interface Download {
  /** The platform's own unless given. */
  readonly fetch?: FetchImage | undefined
  /** Asked before the platform's own `fetch` is used; an injected one sees to its names itself. */
  readonly lookup?: Lookup | undefined
  readonly signal?: AbortSignal | undefined
  /** The id of the run, for errors. */
  readonly requestId?: string | undefined
}

/** What came from an address, or what was wrong with it, in words that follow the image's place. */
export type Downloaded =
  | {
      /** The bytes, in the pieces in which they came. */
      readonly pieces: readonly Uint8Array[]
      readonly mimeType: string | undefined
      readonly problem?: undefined
    }
  | { readonly problem: string }

/**
 * Fetches an image from a public address, at most `maxBytes` of it.
 *
 * Redirects are refused, and so is every host that is not public: by its name, and on Node also by what the name
 * stands for. Between that look and the connection a name can change; who takes addresses from strangers injects a
 * `fetch` that connects through a proxy. A connection that breaks is an `ImageAdapterError` `network_error`; a stop
 * throws what `fetch` threw.
 */
export async function fetchImage(
  address: string,
  limits: ImageLimits,
  download: Download = {},
): Promise<Downloaded> {
  const refused = addressProblem(address)
  if (refused !== undefined) return { problem: `has an address that ${refused}` }
  const url = new URL(address)
  // What follows the path may be a signature, which is for nobody to read.
  const place = `${url.origin}${url.pathname}`
  const { fetch, lookup = nodeLookup, signal, requestId } = download
  if (fetch === undefined && !(await lookup(url.hostname)).every(isPublicHost)) {
    return { problem: `is at ${place}, which leads to a host that is not public` }
  }
  try {
    const response = await (fetch ?? globalThis.fetch)(url.href, {
      headers: { accept: 'image/*' },
      redirect: 'manual',
      credentials: 'omit',
      ...(signal === undefined ? {} : { signal }),
    })
    return await readAnswer(response, place, limits)
  } catch (cause) {
    if (signal?.aborted === true) throw cause
    const text = cause instanceof Error ? cause.message : String(cause)
    const message = `the image at ${place} could not be fetched: ${text}`
    const { provider } = limits
    throw new ImageAdapterError('network_error', message, { provider, requestId, cause })
  }
}

async function readAnswer(
  response: Response,
  place: string,
  limits: ImageLimits,
): Promise<Downloaded> {
  const problem = answerProblem(response, limits)
  if (problem !== undefined) {
    await response.body?.cancel()
    return { problem: `is at ${place}, which ${problem}` }
  }
  const pieces = await readPieces(response, limits.maxBytes)
  if (pieces === undefined) {
    const { provider, maxBytes } = limits
    return { problem: `at ${place} has more than the ${maxBytes} bytes that ${provider} takes` }
  }
  if (pieces.length === 0) return { problem: `is at ${place}, which answered nothing` }
  return { pieces, mimeType: imageType(response) }
}

function answerProblem(response: Response, limits: ImageLimits): string | undefined {
  const { status, type, redirected } = response
  if (type === 'opaqueredirect' || redirected || (status >= 300 && status < 400)) {
    return 'redirects, and redirects are not followed'
  }
  if (status !== 200) return `answered ${status}`
  const content = mediaType(response)
  if (content.startsWith('text/') || content === 'application/json') {
    return `answered with ${content} instead of an image`
  }
  const length = Number(response.headers.get('content-length'))
  if (length <= limits.maxBytes) return undefined
  return `has ${length} bytes, and ${limits.provider} takes at most ${limits.maxBytes}`
}

/** The type that the answer declares, when it is one of an image. */
function imageType(response: Response): string | undefined {
  const content = mediaType(response)
  if (content === 'image/jpg') return 'image/jpeg'
  return content.startsWith('image/') ? content : undefined
}

function mediaType(response: Response): string {
  const [content = ''] = (response.headers.get('content-type') ?? '').split(';')
  return content.trim().toLowerCase()
}

/** The body as it comes, without a copy. `undefined` beyond `maxBytes`; what is beyond is not read. */
async function readPieces(
  response: Response,
  maxBytes: number,
): Promise<readonly Uint8Array[] | undefined> {
  const pieces: Uint8Array[] = []
  const reader = response.body?.getReader()
  if (reader === undefined) return pieces
  let size = 0
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return pieces
      size += value.byteLength
      if (size > maxBytes) return undefined
      if (value.byteLength > 0) pieces.push(value)
    }
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}

interface NameServer {
  lookup(host: string, options: { all: true }): Promise<ReadonlyArray<{ readonly address: string }>>
}

interface Host {
  readonly process?: { readonly getBuiltinModule?: (name: string) => NameServer | undefined }
}

/** Asks Node's resolver; elsewhere, and for a name that it does not find, there is nothing to judge. */
const nodeLookup: Lookup = async (host) => {
  // Node is optional here, so its global is looked up and not declared.
  const names = (globalThis as Host).process?.getBuiltinModule?.('node:dns/promises')
  if (names === undefined) return []
  try {
    const found = await names.lookup(host.replace(/^\[|\]$/g, ''), { all: true })
    return found.map(({ address }) => address)
  } catch {
    return []
  }
}
