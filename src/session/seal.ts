import { SessionError, ValidationError } from '../errors/errors.ts'
import { base64ToBytes, bytesToBase64 } from '../make/media.ts'
import type { Session } from '../types/session.ts'
import { parseSession, stringifySession } from './saved.ts'

/** A secret for signing: text or bytes. Use 32 random bytes: a short or guessable secret can be found from one sealed session. */
export type SealSecret = string | Uint8Array

/**
 * A session as a signed text, for a client to keep: a cookie, a hidden field, a message. Only letters, digits, `-` and `_`.
 *
 * The signature shows that this server wrote the session. It does not hide it, and it does not show which of two sealed
 * sessions is the newer one. With several secrets the first one signs.
 */
export async function sealSession(
  session: Session,
  secret: SealSecret | readonly SealSecret[],
): Promise<string> {
  const [newest] = secretsOf(secret)
  const text = new TextEncoder().encode(stringifySession(session))
  const key = await importKey(newest)
  const signature = new Uint8Array(await crypto.subtle.sign('HMAC', key, signed(text)))
  return toBase64Url(joined([Uint8Array.of(sealVersion), signature, text]))
}

/**
 * Reads a session that `seal` wrote. With several secrets, one of them must have signed it, so that a secret can be replaced.
 *
 * A text that was changed, cut off or signed with another secret throws `SessionError` `unreadable` before the session in it
 * is looked at.
 */
export async function unsealSession(
  sealed: string,
  secret: SealSecret | readonly SealSecret[],
): Promise<Session> {
  const secrets = secretsOf(secret)
  const bytes = fromBase64Url(sealed)
  const [version] = bytes
  // Any other text has some first byte too.
  if (version === undefined || version < 1 || version > 16) {
    throw unreadable('it is not a sealed session')
  }
  if (version !== sealVersion) {
    throw unreadable(`its seal has version ${version}; this release reads ${sealVersion}`)
  }
  if (bytes.length <= headLength) throw unreadable('it is cut off')
  const signature = bytes.slice(1, headLength)
  const text = bytes.slice(headLength)
  for (const one of secrets) {
    // The platform compares in constant time.
    const key = await importKey(one)
    if (await crypto.subtle.verify('HMAC', key, signature, signed(text))) {
      return parseSession(new TextDecoder().decode(text))
    }
  }
  throw unreadable(
    'its signature does not match: it was changed, cut off or sealed with another secret',
  )
}

/** The first byte of a sealed session. It is signed too. */
const sealVersion = 1

/** The version, and a signature of HMAC-SHA-256. */
const headLength = 1 + 32

/** What is signed: the text, and before it what it is, so that a signature made for something else does not fit. */
function signed(text: Uint8Array): Bytes {
  return joined([new TextEncoder().encode(`allm-ts session ${sealVersion}\n`), text])
}

/** Bytes over memory that is not shared, as Web Crypto takes them. (`Uint8Array<ArrayBuffer>` needs TypeScript 5.7.) */
type Bytes = ReturnType<typeof Uint8Array.from>

function joined(pieces: readonly Uint8Array[]): Bytes {
  const bytes = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const piece of pieces) {
    bytes.set(piece, at)
    at += piece.length
  }
  return bytes
}

function toBytes(secret: SealSecret): Bytes {
  return joined([typeof secret === 'string' ? new TextEncoder().encode(secret) : secret])
}

function importKey(secret: SealSecret): Promise<CryptoKey> {
  const algorithm = { name: 'HMAC', hash: 'SHA-256' }
  return crypto.subtle.importKey('raw', toBytes(secret), algorithm, false, ['sign', 'verify'])
}

/** The secrets as a list. The value of a wrong secret is not shown. */
function secretsOf(
  secret: SealSecret | readonly SealSecret[],
): readonly [SealSecret, ...SealSecret[]] {
  const [first, ...others] =
    typeof secret === 'string' || secret instanceof Uint8Array ? [secret] : Array.from(secret ?? [])
  if (first !== undefined && [first, ...others].every(isSecret)) return [first, ...others]
  const problem = 'must be a non-empty string or Uint8Array, or a list of them, the newest first'
  throw new ValidationError('invalid_options', [{ path: 'secret', problem }])
}

function isSecret(value: unknown): boolean {
  return (typeof value === 'string' || value instanceof Uint8Array) && value.length > 0
}

function toBase64Url(bytes: Uint8Array): string {
  const base64 = bytesToBase64(bytes)
  return base64.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')
}

function fromBase64Url(text: string): Bytes {
  if (typeof text !== 'string' || !/^[\w-]+$/.test(text) || text.length % 4 === 1) {
    throw unreadable('it is not a sealed session')
  }
  const base64 = text.replaceAll('-', '+').replaceAll('_', '/')
  return base64ToBytes(base64.padEnd(Math.ceil(base64.length / 4) * 4, '='))
}

function unreadable(what: string): SessionError {
  return new SessionError('unreadable', `the sealed session cannot be read: ${what}`)
}
