import { base64ToBytes, bytesToBase64, joined } from './base64.ts'

// Texts that a client keeps and gives back. The signature shows that this server wrote one. It does not hide it.

/** A secret for signing: text or bytes. Use 32 random bytes: a short or guessable secret can be found from one signed text. */
export type SealSecret = string | Uint8Array

/** The kinds of texts that are sealed. A kind is signed too, so that a signature made for one does not fit another. */
export type SealKind = 'session' | 'state'

/** The text with a signature before it: letters, digits, `-` and `_` only. */
export async function seal(kind: SealKind, text: string, secret: SealSecret): Promise<string> {
  const bytes = new TextEncoder().encode(text)
  const key = await importKey(secret)
  const signature = new Uint8Array(await crypto.subtle.sign('HMAC', key, signed(kind, bytes)))
  return toBase64Url(joined([Uint8Array.of(sealVersion), signature, bytes]))
}

/** The text in a seal that one of the secrets has signed, or what is wrong with it. Never throws for what a client wrote. */
export async function unseal(
  kind: SealKind,
  sealed: unknown,
  secrets: readonly SealSecret[],
): Promise<{ readonly text: string } | { readonly problem: string }> {
  const bytes = fromBase64Url(sealed)
  const version = bytes?.[0]
  // Any other text has some first byte too.
  if (bytes === undefined || version === undefined || version < 1 || version > 16) {
    return { problem: `it is not a sealed ${kind}` }
  }
  if (version !== sealVersion) {
    return { problem: `its seal has version ${version}; this release reads ${sealVersion}` }
  }
  if (bytes.length <= headLength) return { problem: 'it is cut off' }
  const signature = bytes.slice(1, headLength)
  const text = bytes.slice(headLength)
  for (const secret of secrets) {
    // The platform compares in constant time.
    const key = await importKey(secret)
    if (await crypto.subtle.verify('HMAC', key, signature, signed(kind, text))) {
      return { text: new TextDecoder().decode(text) }
    }
  }
  return {
    problem: 'its signature does not match: it was changed, cut off or sealed with another secret',
  }
}

/** The first byte of a seal. It is signed too. */
const sealVersion = 1

/** The version, and a signature of HMAC-SHA-256. */
const headLength = 1 + 32

/** Bytes over memory that is not shared, as Web Crypto takes them. (`Uint8Array<ArrayBuffer>` needs TypeScript 5.7.) */
type Bytes = ReturnType<typeof Uint8Array.from>

/** What is signed: the text, and before it what it is. */
function signed(kind: SealKind, text: Uint8Array): Bytes {
  return Uint8Array.from(
    joined([new TextEncoder().encode(`allm-ts ${kind} ${sealVersion}\n`), text]),
  )
}

function importKey(secret: SealSecret): Promise<CryptoKey> {
  const bytes = typeof secret === 'string' ? new TextEncoder().encode(secret) : secret
  const algorithm = { name: 'HMAC', hash: 'SHA-256' }
  const usages = ['sign', 'verify'] as const
  return crypto.subtle.importKey('raw', Uint8Array.from(bytes), algorithm, false, [...usages])
}

function toBase64Url(bytes: Uint8Array): string {
  const base64 = bytesToBase64(bytes)
  return base64.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')
}

function fromBase64Url(text: unknown): Bytes | undefined {
  if (typeof text !== 'string' || !/^[\w-]+$/.test(text) || text.length % 4 === 1) return undefined
  const base64 = text.replaceAll('-', '+').replaceAll('_', '/')
  return base64ToBytes(base64.padEnd(Math.ceil(base64.length / 4) * 4, '='))
}
