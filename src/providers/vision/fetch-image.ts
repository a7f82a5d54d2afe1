import { ImageAdapterError } from '../../core/errors/errors.ts'
import { must, type Check } from '../../core/schema/checks.ts'

/** The part of `fetch` that is used here. */
export type FetchImage = (url: string, init: RequestInit) => Promise<Response>

/** Resolves a host name to IP addresses. */
type Lookup = (host: string) => Promise<readonly string[]>

/** How an image is downloaded. */
export interface Download {
  /** The platform's own by default. */
  readonly fetch?: FetchImage | undefined
  /** Used before the platform's own `fetch`. With an injected `fetch` it is not called. */
  readonly lookup?: Lookup | undefined
  /** Which addresses may be fetched; none by default. */
  readonly fetchImages?: FetchImages | undefined
  readonly signal?: AbortSignal | undefined
  /** The id of the run, for errors. */
  readonly requestId?: string | undefined
}

/**
 * Which image URLs an adapter fetches itself, for a provider that takes only bytes: none, all that are public, or those of
 * which a function says so.
 */
export type FetchImages = boolean | ((url: URL) => boolean)

/** The problems of the option `fetchImages`. */
export const fetchImagesIssues: Check = must(
  'true, false or a function of a URL',
  (value) => value === undefined || typeof value === 'boolean' || typeof value === 'function',
)

/** Why an address may not be fetched although it could be, as a sentence that follows the image's path. */
export function addressRefusal(
  address: string,
  fetchImages: FetchImages = false,
): string | undefined {
  if (fetchImages === false) {
    return 'is a URL that this adapter would have to fetch itself, which it does only with the option fetchImages'
  }
  if (fetchImages === true || !URL.canParse(address)) return undefined
  // A promise would be truthy whatever it resolves to.
  const allowed: unknown = fetchImages(new URL(address))
  return allowed === true ? undefined : 'is a URL that the option fetchImages does not allow'
}

/** The downloaded image, or its problem as a sentence that follows the image's path. */
type Downloaded =
  | {
      /** The bytes, in the chunks in which they came. */
      readonly pieces: readonly Uint8Array[]
      readonly mimeType: string | undefined
      readonly problem?: undefined
    }
  | { readonly problem: string }

/**
 * Fetches an image of at most `maxBytes` from a public URL.
 *
 * Redirects are refused, and so is every host that is not public: by its name, and on Node also by its IP addresses. A
 * name can change between that lookup and the connection: to accept URLs from strangers, inject a `fetch` that connects
 * through a proxy. A failed connection is an `ImageAdapterError` `network_error`; a cancellation throws what `fetch`
 * threw.
 */
export async function fetchImage(
  address: string,
  limits: ImageLimits,
  download: Download = {},
): Promise<Downloaded> {
  const refused = addressProblem(address)
  if (refused !== undefined) return { problem: `has a URL that ${refused}` }
  const url = new URL(address)
  // The query may contain a signature, which must not be shown.
  const place = `${url.origin}${url.pathname}`
  const { fetch, lookup = nodeLookup, signal, requestId } = download
  if (fetch === undefined && !(await lookup(url.hostname)).every(isPublicHost)) {
    return { problem: `is at ${place}, whose host is not public` }
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
    return { problem: `at ${place} has more than the ${maxBytes} bytes that ${provider} accepts` }
  }
  if (pieces.length === 0) return { problem: `is at ${place}, which returned an empty body` }
  return { pieces, mimeType: imageType(response) }
}

function answerProblem(response: Response, limits: ImageLimits): string | undefined {
  const { status, type, redirected } = response
  if (type === 'opaqueredirect' || redirected || (status >= 300 && status < 400)) {
    return 'redirects, and redirects are not followed'
  }
  if (status !== 200) return `answered with status ${status}`
  const content = mediaType(response)
  if (content.startsWith('text/') || content === 'application/json') {
    return `answered with ${content} instead of an image`
  }
  const length = Number(response.headers.get('content-length'))
  if (length <= limits.maxBytes) return undefined
  return `has ${length} bytes; ${limits.provider} accepts at most ${limits.maxBytes}`
}

/** The type that the response declares, if it is an image type. */
function imageType(response: Response): string | undefined {
  const content = mediaType(response)
  if (content === 'image/jpg') return 'image/jpeg'
  return content.startsWith('image/') ? content : undefined
}

function mediaType(response: Response): string {
  const [content = ''] = (response.headers.get('content-type') ?? '').split(';')
  return content.trim().toLowerCase()
}

/** The chunks of the body, without a copy. Returns `undefined`, and stops reading, beyond `maxBytes`. */
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

/** Uses Node's resolver. Returns nothing on other platforms and for an unknown name. */
const nodeLookup: Lookup = async (host) => {
  // Node is optional here, so its global is looked up, not declared.
  const names = (globalThis as Host).process?.getBuiltinModule?.('node:dns/promises')
  if (names === undefined) return []
  try {
    const found = await names.lookup(host.replace(/^\[|\]$/g, ''), { all: true })
    return found.map(({ address }) => address)
  } catch {
    return []
  }
}

/**
 * Why a URL must not be fetched on behalf of somebody else, or `undefined` if it may.
 *
 * Only http and https to a public host are allowed. The platform's `URL` normalizes decimal, octal, hexadecimal and
 * short forms of an IPv4 address, so the check sees the address that would be connected to.
 */
export function addressProblem(address: string): string | undefined {
  if (!URL.canParse(address)) return 'is not valid'
  const url = new URL(address)
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'is not http or https'
  if (url.username !== '' || url.password !== '') return 'contains a user name or a password'
  return isPublicHost(url.hostname) ? undefined : 'has a host that is not public'
}

/** Whether a host name or IP address is public, judged by its text. */
export function isPublicHost(host: string): boolean {
  // A row of dots is tried from its first one only.
  const name = host.toLowerCase().replace(/(?<!\.)\.+$/, '')
  if (name.startsWith('[') || name.includes(':')) {
    const groups = ipv6Groups(name.replace(/^\[|\]$/g, '').replace(/%.*$/, ''))
    return groups !== undefined && isPublicIpv6(groups)
  }
  const bytes = ipv4Bytes(name)
  if (bytes !== undefined) return isPublicIpv4(bytes)
  return name.includes('.') && !privateNames.test(name)
}

/** Names that are never public: those reserved for local networks, and those of cloud services. */
const privateNames =
  /(?:^|\.)(?:localhost|localdomain|local|internal|intranet|private|corp|home|lan|home\.arpa|test|invalid|onion|arpa)$/

/** Blocks of IPv4 that are not public, as address and prefix length. */
const privateIpv4: ReadonlyArray<readonly [number, number]> = [
  [0x00_00_00_00, 8], // this network
  [0x0a_00_00_00, 8], // private
  [0x64_40_00_00, 10], // shared by carriers
  [0x7f_00_00_00, 8], // loopback
  [0xa9_fe_00_00, 16], // link-local, and the metadata services of clouds
  [0xac_10_00_00, 12], // private
  [0xc0_00_00_00, 24], // protocol assignments
  [0xc0_00_02_00, 24], // documentation
  [0xc0_58_63_00, 24], // relays of 6to4
  [0xc0_a8_00_00, 16], // private
  [0xc6_12_00_00, 15], // benchmarks
  [0xc6_33_64_00, 24], // documentation
  [0xcb_00_71_00, 24], // documentation
  [0xe0_00_00_00, 3], // multicast, reserved, broadcast
]

function isPublicIpv4(bytes: readonly number[]): boolean {
  const value = bytes.reduce((sum, byte) => sum * 256 + byte, 0)
  return !privateIpv4.some(([block, length]) => {
    const size = 2 ** (32 - length)
    return value >= block && value < block + size
  })
}

/** Only global unicast (2000::/3) is public, without its special blocks. An embedded IPv4 address is checked by itself. */
function isPublicIpv6(groups: readonly number[]): boolean {
  const [a = 0, b = 0] = groups
  if (a === 0x64 && b === 0xff9b && groups.slice(2, 6).every((group) => group === 0)) {
    return isPublicIpv4(embedded(groups, 6))
  }
  if (a === 0x2002) return isPublicIpv4(embedded(groups, 1))
  if (a < 0x2000 || a > 0x3fff) {
    const mapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff
    return mapped && isPublicIpv4(embedded(groups, 6))
  }
  // 2001::/23 holds Teredo, benchmarks and other protocols; 2001:db8::/32 and 3fff::/20 are for documentation.
  if (a === 0x2001 && (b < 0x200 || b === 0xdb8)) return false
  return !(a === 0x3fff && b < 0x1000)
}

function embedded(groups: readonly number[], at: number): readonly number[] {
  const [high = 0, low = 0] = groups.slice(at, at + 2)
  return [high >> 8, high & 255, low >> 8, low & 255]
}

function ipv4Bytes(text: string): readonly number[] | undefined {
  if (!/^\d{1,3}(?:\.\d{1,3}){3}$/.test(text)) return undefined
  return text.split('.').map(Number)
}

/** The eight groups of an IPv6 address. A dotted tail stands for two of them. */
function ipv6Groups(text: string): readonly number[] | undefined {
  const tail = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(text)
  if (tail !== null) {
    const [a = 0, b = 0, c = 0, d = 0] = ipv4Bytes(tail[2] ?? '') ?? []
    const groups = `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`
    return ipv6Groups(`${tail[1] ?? ''}${groups}`)
  }
  const halves = text.split('::')
  const [left = [], right = []] = halves.map((half) => (half === '' ? [] : half.split(':')))
  const missing = 8 - left.length - right.length
  if (halves.length > 2 || (halves.length === 1 ? missing !== 0 : missing < 1)) return undefined
  const middle = Array.from({ length: missing }, () => '0')
  const groups = [...left, ...middle, ...right].map((group) => Number.parseInt(group, 16))
  return groups.some((group) => Number.isNaN(group)) ? undefined : groups
}

/** Which images a provider accepts. */
export interface ImageLimits {
  /** The provider's name, for error messages. */
  readonly provider: string
  /** The maximum size of a decoded image. */
  readonly maxBytes: number
  readonly mimeTypes: readonly string[]
}
