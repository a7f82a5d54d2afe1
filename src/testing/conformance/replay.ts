import type { ChatAdapter } from '../../core/contracts/adapter.ts'
import { isAllmError } from '../../core/errors/errors.ts'
import type { ModelEvent } from '../../core/types/events.ts'
import { isObject, parseJson } from '../../core/types/guards.ts'
import type { JsonObject, JsonValue } from '../../core/types/json.ts'
import type { ModelRequest } from '../../core/types/request.ts'
import type { ConformanceCase, Declares } from './cases.ts'
import { demand, show } from './demands.ts'
import { foldEvents, runId, showEvents } from './harness.ts'
import { differenceOf } from './sent.ts'

/** The part of `fetch` that is used here. */
type Fetch = (url: string, init: RequestInit) => Promise<Response>

/** What a server was sent and what it answered, byte for byte. It is JSON, so that it can be kept in a file. */
export interface Exchange {
  /** The address without its query, which may hold a key. */
  readonly url: string
  /** The body of the request, as JSON. */
  readonly sent: JsonValue
  readonly status: number
  /** The headers of the answer, except those of the connection, and those that may hold something of the account. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** A captured call: what the adapter was asked, the exchange, and what is known to be right. */
export interface Recording extends Partial<Omit<Exchange, 'body'>> {
  readonly name: string
  /** The body of the response. */
  readonly body: string
  readonly request: ModelRequest
  /** Members of the response that the answer is. Of an object only the members that are given are compared. */
  readonly expected?: JsonObject | undefined
  /** Members of the error that the call ends with, such as `{ reason: 'rate_limited', retryAfterMs: 2000 }`. */
  readonly failure?: JsonObject | undefined
}

/** What `replayCases` needs: an adapter that sends its calls by this `fetch`. */
export interface ReplayHarness extends Declares {
  adapter(fetch: Fetch): ChatAdapter
}

/**
 * Cases that play captured traffic. A harness and an adapter that one person wrote may share a misunderstanding of an API;
 * what a real server sent does not.
 *
 * For each recording: the request is sent as it was accepted (if the recording has `sent`), the answer is read as `expected` or as
 * `failure`, it is the same wherever its bytes are cut, and half of it is not a whole answer.
 */
export function replayCases(
  recordings: readonly Recording[],
): readonly ConformanceCase<ReplayHarness>[] {
  return recordings.flatMap((recording) => casesOf(recording))
}

function casesOf(recording: Recording): readonly ConformanceCase<ReplayHarness>[] {
  const { name, sent, expected, failure } = recording
  return [
    {
      name: `${name}: the answer is read as it is`,
      async run(harness) {
        const { outcome, requests } = await played(harness, recording)
        demand(requests.length === 1, {
          problem: `${requests.length} requests were sent for one call`,
          expected: 'one request',
          received: requests,
          contract: 'sentOnce',
        })
        demand((failure === undefined) === (outcome.failure === undefined), {
          expected: failure === undefined ? 'an answer' : `an error: ${show(failure)}`,
          received: outcome.failure ?? showEvents(outcome.events),
          contract: failure === undefined ? 'preflight' : 'errorFacts',
        })
        demandMembers(expected, asJson(foldEvents(outcome.events)), outcome)
        demandMembers(failure, outcome.failure, outcome)
      },
    },
    {
      name: `${name}: the answer is the same wherever it is cut`,
      async run(harness) {
        const whole = await played(harness, recording)
        for (const size of [1, 2, 3, 7, 64]) {
          const pieces = await played(harness, recording, size)
          const difference = differenceOf(comparable(whole.outcome), comparable(pieces.outcome))
          demand(difference === undefined, {
            problem: `in pieces of ${size} bytes it is another answer: ${difference}`,
            expected: 'the same outcome, however the body arrives',
            received: pieces.outcome.failure ?? showEvents(pieces.outcome.events),
            contract: 'text',
          })
        }
      },
    },
    ...(failure === undefined ? [halfCase(recording)] : []),
    ...(sent === undefined ? [] : [sentCase(recording, sent)]),
  ]
}

function halfCase(recording: Recording): ConformanceCase<ReplayHarness> {
  const { name, body } = recording
  return {
    name: `${name}: half of the answer is not a whole one`,
    async run(harness) {
      const half = { ...recording, body: body.slice(0, Math.floor(body.length / 2)) }
      const { outcome } = await played(harness, half)
      demand(outcome.failure !== undefined, {
        expected: 'an error, because the body ends without its end marker',
        received: showEvents(outcome.events),
        contract: 'truncated',
      })
    },
  }
}

function sentCase(recording: Recording, sent: JsonValue): ConformanceCase<ReplayHarness> {
  return {
    name: `${recording.name}: the request is sent as it was accepted`,
    async run(harness) {
      const { requests } = await played(harness, recording)
      const difference = differenceOf(sent, requests[0]?.sent)
      demand(difference === undefined, {
        problem: `the request differs from the one that was accepted: ${difference}`,
        expected: show(sent),
        received: requests[0]?.sent,
        contract: 'conversation',
      })
    },
  }
}

/** How a call ended: its events, and the error that it threw or ended with. */
interface Outcome {
  readonly events: readonly ModelEvent[]
  readonly failure?: JsonObject
}

async function played(
  harness: ReplayHarness,
  recording: Recording,
  pieceBytes?: number,
): Promise<{ readonly outcome: Outcome; readonly requests: readonly Exchange[] }> {
  const { fetch, requests } = replay([recording], pieceBytes)
  const adapter = harness.adapter(fetch)
  let made = 0
  const options = { requestId: runId, newId: (kind: string) => `${kind}-${++made}`, apiKey: 'key' }
  const events: ModelEvent[] = []
  try {
    for await (const batch of adapter.stream(recording.request, options)) events.push(...batch)
  } catch (thrown) {
    if (!isAllmError(thrown)) throw thrown
    return { outcome: { events, failure: asJson(thrown.toJSON()) }, requests }
  }
  const last = events.at(-1)
  const failure = last?.type === 'error' ? { failure: asJson(last.error) } : {}
  return { outcome: { events, ...failure }, requests }
}

/** The fold, which does not depend on how the deltas were cut; and the error without what quotes the body. */
function comparable({ events, failure }: Outcome): JsonValue {
  return failure === undefined
    ? asJson(foldEvents(events))
    : { reason: failure['reason'] ?? null, response: asJson(foldEvents(events).message) }
}

function asJson(value: object): JsonObject {
  return JSON.parse(JSON.stringify(value)) as JsonObject
}

function demandMembers(wanted: JsonObject | undefined, given: unknown, outcome: Outcome): void {
  if (wanted === undefined) return
  const difference = differenceOf(wanted, membersOf(given, wanted))
  demand(difference === undefined, {
    problem: `the answer was read as something else: ${difference}`,
    expected: show(wanted),
    received: outcome.failure ?? given,
    contract: outcome.failure === undefined ? 'text' : 'errorFacts',
  })
}

/** Of an object, the members that another one has; of a list, all items. */
function membersOf(given: unknown, wanted: unknown): unknown {
  if (Array.isArray(given) && Array.isArray(wanted)) {
    return given.map((item, index) => membersOf(item, wanted[index]))
  }
  if (!isObject(given) || !isObject(wanted)) return given
  const shared = Object.entries(wanted).filter(([name]) => name in given)
  return Object.fromEntries(shared.map(([name, member]) => [name, membersOf(given[name], member)]))
}

/**
 * A `fetch` that answers with captured exchanges, in their order, whatever it is asked, and the requests that it was given. The body
 * arrives in pieces of `pieceBytes`, or whole.
 */
export function replay(
  exchanges: readonly (Pick<Exchange, 'body'> & Partial<Exchange>)[],
  pieceBytes: number = Infinity,
): { readonly fetch: Fetch; readonly requests: readonly Exchange[] } {
  const left = [...exchanges]
  const requests: Exchange[] = []
  const fetch: Fetch = async (url, init) => {
    const next = left.shift()
    if (next === undefined) throw new TypeError(`no exchange is left for ${withoutQuery(url)}`)
    const { status = 200, headers = {}, body } = next
    requests.push({ url: withoutQuery(url), sent: sentIn(init), status, headers, body })
    init.signal?.throwIfAborted()
    return new Response(streamOf(new TextEncoder().encode(body), pieceBytes), { status, headers })
  }
  return { fetch, requests }
}

function streamOf(bytes: Uint8Array<ArrayBuffer>, size: number): ReadableStream<Uint8Array> {
  let at = 0
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) controller.close()
      else controller.enqueue(bytes.slice(at, (at += Math.min(size, bytes.length))))
    },
  })
}

/** The headers that are about the connection, or about the body before it was decoded. */
const connectionHeaders =
  /^(?:connection|keep-alive|te|trailer|transfer-encoding|upgrade|content-encoding|content-length|proxy-.+|alt-svc)$/i

/** The headers that may hold something of the account. */
const accountHeaders =
  /cookie|authenticat|organi[sz]ation|account|project|(?:^|[-_])(?:authorization|auth|key|apikey|token|secret|password|signature|sig|credentials?|user|tenant)$/i

/**
 * A `fetch` that passes calls on to a real server and keeps what is sent and answered, for `replayCases`. Each answer is read whole
 * before it is handed on. Headers of requests and queries, which hold keys, are not kept, nor are cookies and other headers of answers that
 * may hold something of the account; look through the bodies before you keep them.
 */
export function capture(fetch: Fetch = globalThis.fetch): {
  readonly fetch: Fetch
  readonly exchanges: readonly Exchange[]
} {
  const exchanges: Exchange[] = []
  const capturing: Fetch = async (url, init) => {
    const response = await fetch(url, init)
    const body = await response.text()
    const { status, headers } = response
    const sentValues = [...new Headers(init.headers)].flatMap(([name, value]) =>
      accountHeaders.test(name) ? [value.replace(/^\w+ /, '')] : [],
    )
    const kept = [...headers].filter(
      ([name, value]) =>
        !connectionHeaders.test(name) &&
        !accountHeaders.test(name) &&
        !sentValues.some((secret) => secret !== '' && value.includes(secret)),
    )
    const facts = { status, headers: Object.fromEntries(kept) }
    exchanges.push({ url: withoutQuery(url), sent: sentIn(init), ...facts, body })
    return new Response(body === '' ? null : body, { status, headers })
  }
  return { fetch: capturing, exchanges }
}

function withoutQuery(url: string): string {
  return url.replace(/[?#].*$/s, '')
}

function sentIn({ body }: RequestInit): JsonValue {
  // A parsed body is JSON.
  return typeof body === 'string' ? ((parseJson(body) ?? body) as JsonValue) : null
}
