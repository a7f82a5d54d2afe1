import type { ChatAdapter } from '../../../core/contracts/adapter.ts'
import { isAllmError } from '../../../core/errors/errors.ts'
import {
  assertValid,
  between,
  fine,
  must,
  oneOf,
  optionsOf,
  refusal,
  type Check,
} from '../../../core/schema/checks.ts'
import { isObject, parseJson } from '../../../core/types/guards.ts'
import type { JsonObject } from '../../../core/types/json.ts'
import type { ModelRequest } from '../../../core/types/request.ts'
import { anthropic } from '../../../providers/anthropic/anthropic.ts'
import { gemini } from '../../../providers/gemini/gemini.ts'
import type { Fetch } from '../../../providers/http/call.ts'
import { openaiChat, openaiResponses } from '../../../providers/openai/openai.ts'
import { parseCassette, type Cassette, type CassetteCall } from '../../fakes/cassette.ts'
import type { Script } from '../../fakes/script.ts'
import { createFakeServer, type FakeServer } from '../../server/fake-server.ts'
import { routeOf, type ServedRequest } from '../../server/request.ts'
import type { WireFormat } from '../../server/wire-format.ts'
import { differencesOf, matchable, shownDifferences, type Difference } from '../match.ts'
import { redactorOf, redactRequest } from '../redaction.ts'
import { inShort } from '../replay.ts'
import { readRequest } from './read-request.ts'

/** Options of `createReplayServer`. */
export interface ReplayServerOptions {
  /**
   * Which recorded call answers a request: the next one of its format, if its request is the same (`in_order`, the default), or the first
   * that was not played and whose request is the same (`any_order`, for calls that are made side by side).
   */
  readonly match?: 'in_order' | 'any_order' | undefined
  /** The port on 127.0.0.1; 0, the default, is any free port. */
  readonly port?: number | undefined
}

/** A server that plays a cassette in the formats in which it was recorded. */
export interface ReplayServer extends Omit<FakeServer, 'assertDone'> {
  /** The recorded calls that were not played, each in a few words. */
  readonly unused: readonly string[]
  /** The requests that were refused because no such call was recorded, each with the reason. */
  readonly unknown: readonly string[]
  /** Throws a `ValidationError` if recorded calls were not played, or requests were refused. */
  assertDone(): void
}

/**
 * Starts a server on 127.0.0.1 that answers each request as it was answered when the cassette was recorded: in the same format, each call once. A request
 * that was not recorded is refused, and the refusal says how it differs from the nearest one.
 *
 * A call that was recorded without its format is served in that of its provider; OpenAI has two, so such a call of OpenAI is refused by a
 * `ValidationError`.
 */
export async function createReplayServer(
  cassette: Cassette | string,
  options: ReplayServerOptions = {},
): Promise<ReplayServer> {
  assertValid('invalid_options', checkOptions(options))
  const { match = 'in_order', port } = options
  const tape = await loadTape(parseCassette(cassette))
  const unknown: string[] = []
  const server = await createFakeServer({
    port,
    requireKey: false,
    script(request, { call }) {
      const found = takeCall(tape, request, match)
      if (typeof found !== 'string') return found.script
      if (unknown.length < maxUnknown) unknown.push(`request ${call}: ${found}`)
      return refused(found)
    },
  })
  const unused = (): readonly string[] =>
    [...tape].map(({ index, call }) => `call ${index + 1}: ${inShort(call.request)}`)
  return {
    ...server,
    get openAnswers() {
      return server.openAnswers
    },
    get unused() {
      return unused()
    },
    unknown,
    assertDone() {
      const issues = [
        ...unused().map((words) => ({ path: 'calls', problem: `${words} was not played` })),
        ...unknown.map((words) => ({ path: 'requests', problem: words })),
      ]
      assertValid('invalid_script', issues)
    },
  }
}

/** How many refused requests are kept. */
const maxUnknown = 100

const checkOptions: Check = optionsOf({
  match: oneOf(['in_order', 'any_order']),
  port: must('a port', (value) => Number.isInteger(value) && between(0, 65_535)(value) === fine),
} satisfies Readonly<Record<keyof ReplayServerOptions, Check>>)

/** A call that was not played. */
interface LoadedCall {
  readonly index: number
  readonly call: CassetteCall
  readonly format: WireFormat
  /** What a request is compared with: the recorded request, and what its adapter sends for it. */
  readonly forms: readonly JsonObject[]
}

type LoadedTape = Set<LoadedCall>

async function loadTape({ calls }: Cassette): Promise<LoadedTape> {
  const loaded = calls.map(async (call, index): Promise<LoadedCall> => {
    const format = call.format ?? providerFormats[call.provider]
    if (format === undefined) {
      const problem = `is not known for ${call.provider}; record with format, or add it: openai_chat, openai_responses, anthropic or gemini`
      throw refusal('invalid_script', `calls[${index}].format`, problem)
    }
    const sent = await sentFor(format, call.request)
    const read = sent === undefined ? [] : [matchable(sent)]
    return { index, call, format, forms: [matchable(call.request), ...read] }
  })
  return new Set(await Promise.all(loaded))
}

const providerFormats: Readonly<Record<string, WireFormat>> = {
  anthropic: 'anthropic',
  gemini: 'gemini',
}

const adapters: Readonly<Record<WireFormat, (fetch: Fetch) => ChatAdapter>> = {
  openai_chat: (fetch) => openaiChat({ fetch, apiKey: 'none' }),
  openai_responses: (fetch) => openaiResponses({ fetch, apiKey: 'none' }),
  anthropic: (fetch) => anthropic({ fetch, apiKey: 'none' }),
  gemini: (fetch) => gemini({ fetch, apiKey: 'none' }),
}

/**
 * What the adapter of a format sends for a request, read again. A recording of an engine has the request before it was rendered, and a
 * server sees it after that. `undefined` if the adapter refuses the request.
 */
async function sentFor(
  format: WireFormat,
  request: ModelRequest,
): Promise<ModelRequest | undefined> {
  let sent: JsonObject | undefined
  const adapter = adapters[format](async (_url, { body }) => {
    const value = typeof body === 'string' ? parseJson(body) : undefined
    // Parsed from JSON.
    if (isObject(value)) sent = value as JsonObject
    throw new TypeError('nothing is sent')
  })
  try {
    for await (const batch of adapter.stream(request)) void batch
  } catch (error) {
    if (!isAllmError(error)) throw error
  }
  return sent === undefined ? undefined : readRequest(format, sent, request.model)
}

/** The call that answers a request, which is then played; or why there is none. */
function takeCall(
  tape: LoadedTape,
  { method, path, headers, format, body }: ServedRequest,
  match: 'in_order' | 'any_order',
): CassetteCall | string {
  const route = routeOf(method, path, { ...headers })
  const model = route.type === 'chat' ? route.model : undefined
  const asked = redactRequest(readRequest(format, body, model), redactorOf())
  const form = matchable(asked)
  let nearest: { index: number; differences: readonly Difference[] } | undefined
  for (const loaded of tape) {
    if (loaded.format !== format) continue
    const { index, call, forms } = loaded
    const [differences = []] = forms
      .map((recorded) => differencesOf(recorded, form))
      .toSorted((left, right) => left.length - right.length)
    if (differences.length === 0) {
      tape.delete(loaded)
      return call
    }
    if (nearest === undefined || differences.length < nearest.differences.length) {
      nearest = { index, differences }
    }
    if (match === 'in_order') break
  }
  const what = `the request was not recorded: ${inShort(asked)}`
  if (nearest === undefined) return `${what}; no call in the format ${format} is left`
  const which = match === 'in_order' ? 'the next one' : 'the nearest one'
  return `${what}; ${which}, call ${nearest.index + 1}, differs:\n${shownDifferences(nearest.differences)}`
}

function refused(message: string): Script {
  return [
    ['preflight_error', 'no_scripted_response', { message: `no_scripted_response: ${message}` }],
  ]
}
