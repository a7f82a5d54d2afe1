import { canonicalJson } from '../../core/base/digest.ts'
import { sha256 } from '../../core/base/sha256.ts'
import type { CallQuestion, PendingKind } from '../../core/types/call.ts'
import type { JsonObject, JsonValue } from '../../core/types/json.ts'

/** A wait of a call: of which session, and how often the call has waited before. */
export interface Wait {
  /** The session whose thread has the call: for a call of an agent, that of the agent. */
  readonly sessionId: string
  /** The id of the call in that session. */
  readonly id: string
  readonly name: string
  readonly kind: PendingKind
  /** How many questions, approvals and results of the call were settled before. */
  readonly waits: number
}

/**
 * The ticket of a wait, for which the question or the arguments are shown. It is derived, so every process has the same, and a call that comes
 * again with other arguments has another. It is no secret: it says what was seen, and not who may decide.
 */
export function ticketOf(
  { sessionId, id, name, kind, waits }: Wait,
  shown: CallQuestion | JsonObject,
): string {
  // A question is JSON too.
  const digest = sha256(canonicalJson([sessionId, id, name, kind, waits, shown as JsonValue]))
  const bytes = (digest.slice(0, 24).match(/../g) ?? []).map((byte) => Number.parseInt(byte, 16))
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
}
