import { bytesToBase64 } from '../../core/base/base64.ts'
import type { Clock } from '../../core/base/clock.ts'
import { canonicalJson } from '../../core/base/digest.ts'
import { randomId } from '../../core/base/ids.ts'
import { seal, unseal, type SealSecret } from '../../core/base/seal.ts'
import type { Check } from '../../core/schema/checks.ts'
import { isObject, parseJson } from '../../core/types/guards.ts'
import type { JsonObject, JsonValue } from '../../core/types/json.ts'

// A call that asks its user is left, and made again with the answer. What is known of it meanwhile goes to the client as `requestState`
// and comes back from there. A client may write whatever it likes, so a state is signed, is for one call, expires, and is used once.

/** What is known of a call when a round of it begins. */
export interface Round {
  /** Random, and the same in all rounds of the call: its idempotency key is made of it. */
  readonly id: string
  /** How many rounds there were before. */
  readonly number: number
  /** Whether the user has approved the call. */
  readonly isApproved: boolean
  /** What was asked in the round before. Absent in the first one. */
  readonly asked?: Asked | undefined
}

/** A question to the user. */
export interface Asked {
  /** What the answer is for: the approval of the call, its handler, or the result itself. */
  readonly answers: 'approval' | 'handler' | 'result'
  readonly question: string
  /** The schema of the form that is to be filled in. */
  readonly form: JsonObject
}

/** A call as states are bound to it. */
export interface StateSubject {
  /** Its name, description and schema: another server may have another tool of the same name. */
  readonly tool: JsonValue
  readonly args: JsonObject
  /** The session and the client that the transport knows, if it does. */
  readonly caller: readonly (string | undefined)[]
}

/** Why a state is not taken, as a sentence that says what to do. */
export interface RefusedState {
  readonly refused: string
}

/** The first round of a call. */
export function firstRound(): Round {
  return { id: randomId('call'), number: 0, isApproved: false }
}

/** Writes states, and reads them when they come back. */
export interface States {
  /** The state with which the next round begins. */
  write(round: Round, subject: StateSubject): Promise<string>
  /** The round that a state of the client begins. A state is taken once. */
  read(state: unknown, subject: StateSubject): Promise<Round | RefusedState>
}

/** How long a user may take to answer. */
const lifetimeMs = 600_000

/** The longest state, in characters. Forms are small, and the rest of a state is some hundred characters. */
const mostCharacters = 262_144

/** States of this process, or with a key of all processes that have it. */
export function createStates(key: SealSecret | undefined, clock: Clock): States {
  return {
    async write(round, subject) {
      const state: Written = {
        round: await withoutQuestion(round),
        subject: await digestOf(subject),
        expires: clock.now() + lifetimeMs,
      }
      return seal('state', JSON.stringify(state), key ?? keyOfProcess())
    },
    async read(state, subject) {
      if (typeof state !== 'string' || state.length > mostCharacters) return refuse(notOurs)
      const read = await unseal('state', state, [key ?? keyOfProcess()])
      if ('problem' in read) return refuse(notOurs)
      const written = parseJson(read.text)
      if (!isWritten(written)) return refuse(notOurs)
      if (written.subject !== (await digestOf(subject))) return refuse(otherCall)
      const { round, expires } = written
      if (clock.now() > expires) return refuse(expired)
      // Nothing is awaited from here on, so of two requests with one state only one gets through.
      return used.take(`${round.id} ${round.number}`, expires, clock) ? round : refuse(usedBefore)
    },
  }
}

/** The round with a digest of its question, which may have all arguments in it and is not needed again. */
async function withoutQuestion(round: Round): Promise<Round> {
  const { asked } = round
  if (asked === undefined) return round
  return { ...round, asked: { ...asked, question: await sha256(asked.question) } }
}

/** What is signed. */
interface Written {
  readonly round: Round
  /** A digest of the call. */
  readonly subject: string
  readonly expires: number
}

/** It was signed by us, perhaps by another version. */
function isWritten(value: unknown): value is Written {
  return isObject(value) && isObject(value['round']) && typeof value['expires'] === 'number'
}

/** The SHA-256 of a call. The order of the members of its arguments does not matter. */
async function digestOf({ tool, args, caller }: StateSubject): Promise<string> {
  const facts: JsonValue = [tool, args, caller.map((one) => one ?? null)]
  return sha256(canonicalJson(facts))
}

async function sha256(text: string): Promise<string> {
  const bytes = new TextEncoder().encode(text)
  return bytesToBase64(new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)))
}

const refuse = (why: string): RefusedState => ({
  refused: `requestState ${why}; nothing was run for this request. Call the tool again without requestState.`,
})

const notOurs =
  'was not signed by this server, or was changed on its way (for its operator: a server that is stateless, was restarted or has replicas needs the same stateKey of serveMcp in every process)'
const otherCall =
  'is for another call: the tool, the arguments or the client are not those that the user was asked about'
const expired = `has expired: the user has ${lifetimeMs / 60_000} minutes to answer`
const usedBefore = 'was used before, by a request that may have run the call'

/** The secret of a server that was given none. A process has one, because over HTTP each request may have a server of its own. */
let ownKey: Uint8Array | undefined
function keyOfProcess(): Uint8Array {
  ownKey ??= crypto.getRandomValues(new Uint8Array(32))
  return ownKey
}

/** A secret that is long enough. Its value is not shown. */
export const stateKeyCheck: Check = (value) => {
  const bytes = typeof value === 'string' ? new TextEncoder().encode(value) : value
  const length = bytes instanceof Uint8Array ? bytes.length : undefined
  if (length !== undefined && length >= 32) return []
  const problem = 'must be a secret of at least 32 bytes, text or bytes'
  return [{ path: '', problem: length === undefined ? problem : `${problem}; it has ${length}` }]
}

/** The states that were used. */
export interface UsedStates {
  /** Takes a state. Returns `false` if it was taken before, or may have been. */
  take(name: string, expires: number, clock: Clock): boolean
  /** How many are remembered. */
  readonly size: number
}

/**
 * Remembers states until they expire, and at most `limit` of them. When there are more, the oldest is forgotten, and every state that
 * expires no later is refused from then on: a flood shortens the life of states, and lets none be used twice.
 */
export function createUsedStates(limit: number): UsedStates {
  const known = new Map<string, { readonly expires: number; readonly clock: Clock }>()
  /** States that expire up to here may have been forgotten, by clock. It also holds if the clock is set back. */
  const forgotten = new WeakMap<Clock, number>()
  const forgottenUpTo = (clock: Clock): number => forgotten.get(clock) ?? -Infinity
  return {
    take(name, expires, clock) {
      if (known.has(name) || expires <= forgottenUpTo(clock)) return false
      known.set(name, { expires, clock })
      for (const [oldest, at] of known) {
        if (at.clock.now() <= at.expires && known.size <= limit) break
        known.delete(oldest)
        forgotten.set(at.clock, Math.max(forgottenUpTo(at.clock), at.expires))
      }
      return true
    },
    get size() {
      return known.size
    },
  }
}

/** All servers of a process share them, because a client may come back to another one. */
const used = /* @__PURE__ */ createUsedStates(50_000)
