import type { SessionErrorReason, AnyAllmError } from '../../core/errors/errors.ts'
import { isAllmError } from '../../core/errors/errors.ts'
import { redact } from '../../core/errors/redact.ts'
import { assertNever } from '../../core/types/guards.ts'
import { refusalIn, refused } from '../../durable/runs/handler.ts'
import { expiry } from '../../engine/calls/settle.ts'

/** Nothing that the inspector sends is kept, framed, guessed at, or tells other sites where it was. */
export const safeHeaders: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
}

/** An answer in JSON. */
export function answer(status: number, body: object, headers: HeadersRecord = {}): Response {
  return Response.json(body, { status, headers: { ...safeHeaders, ...headers } })
}

type HeadersRecord = Readonly<Record<string, string>>

/** Why a request is refused: the body of the answer is `{error: {reason, message}}`. */
export interface Refusal {
  readonly status: number
  readonly reason: string
  readonly message: string
}

/** The answer that refuses a request. */
export function refusal(
  { status, reason, message }: Refusal,
  headers: HeadersRecord = {},
): Response {
  return answer(status, { error: { reason, message } }, headers)
}

/** The error of a session that the inspector does not find. */
export function unknownSession(id: string): Error {
  return refused(404, 'unknown_session', `there is no session ${id}`)
}

/**
 * Why something failed, for the people who run the service: the messages of the library as they are, which hold no key. What is not an error
 * of the library may say anything, so its text is not sent.
 */
export function refusalOf(error: unknown): Refusal {
  const own = refusalIn(error)
  if (own !== undefined) {
    const { status, reason, issues = [] } = own
    const details = issues.map(({ path, problem }) => `${path === '' ? 'it' : path} ${problem}`)
    return { status, reason, message: [own.message, ...details].join('; ') }
  }
  if (!isAllmError(error)) {
    const message = 'something went wrong in the inspector; its onError was told'
    return { status: 500, reason: 'internal', message }
  }
  const { reason, message } = error
  // Who was first is for people who run the service, too.
  const by = error.kind === 'session' ? error.metadata['by'] : undefined
  const author = typeof by === 'string' ? ` (${authorWords(by)})` : ''
  return { status: statusOf(error), reason, message: redact(message) + author }
}

function authorWords(by: string): string {
  return by === expiry ? 'it had expired' : `by ${by}`
}

function statusOf(error: AnyAllmError): number {
  switch (error.kind) {
    case 'session':
      return error.metadata['unknown'] === true ? 404 : sessionStatus[error.reason]
    case 'validation':
      return 400
    case 'engine':
      return 409
    case 'adapter':
    case 'stream':
    case 'tool':
    case 'image_adapter':
      return 502
    default:
      return assertNever(error)
  }
}

const sessionStatus: Readonly<Record<SessionErrorReason, number>> = {
  busy: 409,
  illegal_status: 409,
  key_reused: 409,
  session_in_error_state: 409,
  already_answered: 409,
  already_decided: 409,
  stale_ticket: 409,
  unknown_tool_call_id: 404,
  stale: 410,
  lease_lost: 503,
  unavailable: 503,
  unreadable: 422,
}
