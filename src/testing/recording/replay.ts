import { failureOf } from '../../core/answer/fold-answer.ts'
import type { AdapterOptions, ChatAdapter } from '../../core/contracts/adapter.ts'
import { AdapterError, ValidationError } from '../../core/errors/errors.ts'
import { assertValid, must, optionsOf, type Check } from '../../core/schema/checks.ts'
import type { JsonObject } from '../../core/types/json.ts'
import { messageText } from '../../core/types/message.ts'
import type { ModelRequest } from '../../core/types/request.ts'
import type { ModelResponse } from '../../core/types/response.ts'
import { collectBatches } from '../../engine/model-call/read-stream.ts'
import { parseCassette, type Cassette, type CassetteCall } from '../fakes/cassette.ts'
import { callLog, type RecordedCall } from '../fakes/fake.ts'
import { compileScript, stoppedBy } from '../fakes/interpret.ts'
import { playStream, type BegunCall, type ScriptStream } from '../fakes/play.ts'
import { differencesOf, matchable, shownDifferences, type Difference } from './match.ts'
import { redactionRules } from './record.ts'
import { redactorsOf, redactRequest, type RedactionRules, type Redactor } from './redaction.ts'

/**
 * Which recorded call answers a request: the next one, if its request is the same (`in_order`, the default); the first that was not played
 * and whose request is the same (`any_order`, for calls that are made side by side); or the first that was not played and that a
 * function accepts. It gets both requests without secrets.
 */
export type ReplayMatch =
  | 'in_order'
  | 'any_order'
  | ((recorded: ModelRequest, asked: ModelRequest) => boolean)

/** The options of `replay`. */
export interface ReplayOptions {
  readonly match?: ReplayMatch | undefined
  /** The rules of the recording. What they name is left out of requests before they are compared, and of what errors say about them. */
  readonly redact?: RedactionRules | undefined
}

/** An adapter that plays a cassette. It needs no key and sends nothing. */
export interface Replay extends ChatAdapter {
  /** The calls so far, in order, as frozen plain data without key, signal and clock. */
  readonly calls: readonly RecordedCall<ModelRequest>[]
  /** The number of streams that were started and have not ended. */
  readonly openStreams: number
  /** The number of recorded calls that were not played. */
  readonly remaining: number
  stream(request: ModelRequest, options?: AdapterOptions): ScriptStream
  generate(request: ModelRequest, options?: AdapterOptions): Promise<ModelResponse>
  /** Throws a `ValidationError` that names the recorded calls that were not played. */
  assertDone(): void
}

/**
 * Plays a cassette: each request gets the answer that was recorded for it, with the same events. Each recorded call is played once.
 *
 * Requests are compared without secrets, metadata, cache keys and the ids of tool calls; `[redacted]` in a recorded text stands for any text.
 * A request that was not recorded fails with `no_scripted_response`, and the error shows how it differs from the nearest recorded one. A failure is
 * played as it was; an answer that was not read to its end fails where it was left.
 */
export function replay(cassette: Cassette | string, options: ReplayOptions = {}): Replay {
  assertValid('invalid_options', replayIssues(options))
  const tape = createTape(parseCassette(cassette), options)
  const { facts, log } = tape
  const stream = (request: ModelRequest, callOptions: AdapterOptions = {}): ScriptStream =>
    playStream({
      provider: facts.provider,
      request,
      options: callOptions,
      begin() {
        tape.openStreams++
        return beginCall(tape, request, callOptions)
      },
      end() {
        tape.openStreams--
      },
    })
  return {
    ...facts,
    get calls() {
      return log.list()
    },
    get openStreams() {
      return tape.openStreams
    },
    get remaining() {
      return tape.left.size
    },
    stream,
    async generate(request, callOptions) {
      const response = await collectBatches(stream(request, callOptions))
      if (response.error !== undefined) throw failureOf(response.error, response)
      return response
    },
    assertDone() {
      const issues = [...tape.left].map(([index, { call }]) => ({
        path: `calls[${index}]`,
        problem: `was not played: ${inShort(call.request)}`,
      }))
      if (issues.length > 0) throw new ValidationError('invalid_script', issues)
    },
  }
}

const replayIssues: Check = optionsOf({
  match: must(
    '"in_order", "any_order" or a function of two requests',
    (value) => value === 'in_order' || value === 'any_order' || typeof value === 'function',
  ),
  redact: redactionRules,
} satisfies Readonly<Record<keyof ReplayOptions, Check>>)

/** A cassette that is being played. */
interface Tape {
  readonly facts: Pick<ChatAdapter, 'provider' | 'model'>
  /** The number of calls that were recorded. */
  readonly count: number
  /** The calls that were not played, by their places. */
  readonly left: Map<number, { readonly call: CassetteCall; readonly form: JsonObject }>
  readonly match: ReplayMatch
  readonly redactorOf: (options: AdapterOptions) => Redactor
  readonly log: ReturnType<typeof callLog<ModelRequest>>
  openStreams: number
}

function createTape({ calls }: Cassette, options: ReplayOptions): Tape {
  const { provider = 'replay', model } = calls[0] ?? {}
  return {
    facts: model === undefined ? { provider } : { provider, model },
    count: calls.length,
    left: new Map(calls.map((call, at) => [at, { call, form: matchable(call.request) }])),
    match: options.match ?? 'in_order',
    redactorOf: redactorsOf(provider, options.redact),
    log: callLog(),
    openStreams: 0,
  }
}

/** Notes a call and takes its answer from the tape. Throws the failures that come before the first event. */
function beginCall(tape: Tape, request: ModelRequest, options: AdapterOptions): BegunCall {
  const { log, facts } = tape
  log.add({ ...request, messages: [...request.messages] }, options)
  const requestId = options.requestId ?? options.newId?.('request') ?? `replay-request-${log.count}`
  const { signal, includeRawChunks } = options
  if (signal?.aborted === true) throw stoppedBy(signal, { ...facts, requestId }, 0)
  const asked = redactRequest(named(tape, request), tape.redactorOf(options))
  const { provider, script } = takeCall(tape, asked, requestId)
  const { preflight, sections } = compileScript(script, { provider, requestId, includeRawChunks })
  if (preflight !== undefined) throw preflight
  return { requestId, sections }
}

/** An engine names the model of a request; an adapter that is called directly has its own. */
function named({ facts }: Tape, request: ModelRequest): ModelRequest {
  const model = request.model ?? facts.model
  return model === undefined ? request : { ...request, model }
}

function takeCall(tape: Tape, asked: ModelRequest, requestId: string): CassetteCall {
  const { left, match, facts } = tape
  let nearest: Candidate | undefined
  const askedForm = matchable(asked)
  for (const [index, { call, form }] of left) {
    if (typeof match === 'function' && !match(call.request, asked)) continue
    const differences = typeof match === 'function' ? [] : differencesOf(form, askedForm)
    if (differences.length === 0) {
      left.delete(index)
      return call
    }
    if (nearest === undefined || differences.length < nearest.differences.length) {
      nearest = { index, differences }
    }
    if (match === 'in_order') break
  }
  const message = unknownRequest(tape, asked, nearest)
  throw new AdapterError('no_scripted_response', message, { ...facts, requestId })
}

interface Candidate {
  readonly index: number
  readonly differences: readonly Difference[]
}

function unknownRequest(tape: Tape, asked: ModelRequest, nearest: Candidate | undefined): string {
  const { log, count, match } = tape
  const what = `call ${log.count} was not recorded: ${inShort(asked)}`
  if (count === 0) return `${what}; the cassette is empty`
  if (tape.left.size === 0) {
    const all = count === 1 ? 'the recorded call was' : `all ${count} recorded calls were`
    return `${what}; ${all} played before it. A retry of a call that failed counts as a call`
  }
  if (nearest === undefined)
    return `${what}; the function match accepts none of the ${tape.left.size} calls that are left`
  const which = match === 'in_order' ? 'The next one' : 'The nearest one'
  return `${what}. ${which}, call ${nearest.index + 1} of ${count}, differs:\n${shownDifferences(nearest.differences)}`
}

/** A request in a few words: its last message. */
export function inShort({ messages }: ModelRequest): string {
  const last = messages.at(-1)
  if (last === undefined) return 'a request without messages'
  const text = messageText(last).replaceAll(/\s+/g, ' ')
  return `${last.role}: ${JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text)}`
}
