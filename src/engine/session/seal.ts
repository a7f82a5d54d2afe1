import { seal, unseal, type SealSecret } from '../../core/base/seal.ts'
import { SessionError, ValidationError } from '../../core/errors/errors.ts'
import type { Session } from '../../core/types/session.ts'
import { parseSession, stringifySession } from './saved.ts'

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
  return seal('session', stringifySession(session), newest)
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
  const read = await unseal('session', sealed, secretsOf(secret))
  if ('text' in read) return parseSession(read.text)
  throw new SessionError('unreadable', `the sealed session cannot be read: ${read.problem}`)
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
