import { onAbort } from '../../core/base/abort.ts'
import { paced, type Clock } from '../../core/base/clock.ts'
import { warnOnce } from '../../core/base/warning.ts'
import { isAllmError, type SessionErrorReason } from '../../core/errors/errors.ts'
import { verdictOf } from '../../core/schema/authorize.ts'
import {
  anyFunction,
  assertValid,
  brief,
  fine,
  flag,
  join,
  json,
  jsonObject,
  listOf,
  must,
  oneOf,
  positiveInteger,
  refuse,
  shape,
  someText,
  tagged,
  text,
  timeoutMs,
  within,
  type Check,
  type Checks,
} from '../../core/schema/checks.ts'
import { assertPrintableId } from '../../core/schema/session-id.ts'
import type { Issue } from '../../core/types/error-data.ts'
import { assertNever, defined, isObject, parseJson } from '../../core/types/guards.ts'
import type { JsonObject, JsonValue } from '../../core/types/json.ts'
import type { FilePart, ImagePart, Part, TextPart } from '../../core/types/message.ts'
import { person } from '../../engine/calls/settle.ts'
import {
  hidesApprovals,
  showsOf,
  shownEvent,
  viewChecks,
  type ViewEvent,
  type ViewOptions,
} from '../../engine/model-call/view-event.ts'
import { shownAuthor, toView, type SessionView } from '../../engine/session/view.ts'
import type { LogEntry, RunStore } from '../stores/run-store.ts'
import { assertSessionId } from '../stores/session-store.ts'
import {
  acceptedParts,
  type AcceptedPart,
  type Authorized,
  type HandlerOptions,
  type RunAction,
  type RunInfo,
  type Runs,
  type RunsHandler,
} from './contract.ts'
import { mountCheck, noRoute, pathOf, type MountedPath } from './mount.ts'

/** The view of a session, and what is going on with it. */
export interface RunView extends SessionView {
  /** Whether a command, a wake-up or an owner is there. */
  readonly running: boolean
  /** The number of the last event that is in the view: `GET :id/events?after=` goes on from there. */
  readonly lastEventId: number
  /** The number of saves until here, at rest: `GET :id/events?after=…&version=` begins with another view if something was saved since. */
  readonly version?: number | undefined
}

/** What one `data:` of `GET :id/events` holds. */
export type RunMessage =
  | ViewEvent
  /** The state of the session, which replaces everything that is known. */
  | { readonly type: 'view'; readonly view: RunView }
  /** Nothing more comes by itself. It is the last one. */
  | { readonly type: 'rest' }

/** What a handler serves, and from where. */
export interface Served {
  readonly runs: Omit<Runs, 'handler'>
  readonly store: Pick<RunStore, 'look' | 'readSnapshot'>
  readonly clock: Clock
}

/** A handler of web requests for runs. See `Runs.handler`. */
export function runsHandler(served: Served, options: HandlerOptions): RunsHandler {
  assertValid('invalid_options', handlerOptions(options))
  const { include = [], hide = [], accept = [], maxBodyBytes = 8 * 1024 * 1024 } = options
  const { authorize, heartbeatMs, mount, implicitAnswers = false } = options
  const { onError = warnOnce('runs.handler without onError: a request failed') } = options
  const settings = { accept, maxBodyBytes, heartbeatMs, implicitAnswers, onError }
  return async (request) => {
    let view: ViewOptions = { include, hide }
    try {
      const route = routeOf(request, mount)
      if (route instanceof Response) return route
      assertSessionId(route.id)
      assertPrintableId(route.id)
      const { id, ...asked } = route
      const verdict = verdictOf<Authorized>(await authorize(request, id, asked), authorizedMembers)
      const { allowed } = verdict
      if (allowed !== undefined) {
        view = {
          include: [...include, ...(allowed.include ?? [])],
          hide: [...hide, ...(allowed.hide ?? [])],
        }
        return await serve({ ...served, ...settings, view }, route, request, allowed)
      }
      if (verdict.mistake !== undefined) onError(verdict.mistake, request)
      return verdict.response ?? refusal(forbidden)
    } catch (error) {
      const problem = problemOf(error, view)
      if (problem.status >= 500) onError(error, request)
      return refusal(problem)
    }
  }
}

/** What all requests share. */
interface Service extends Served {
  readonly view: ViewOptions
  readonly accept: readonly AcceptedPart[]
  readonly maxBodyBytes: number
  readonly heartbeatMs: HandlerOptions['heartbeatMs']
  readonly implicitAnswers: boolean
  readonly onError: NonNullable<HandlerOptions['onError']>
}

const optional: Record<Exclude<keyof HandlerOptions, 'authorize'>, Check> = {
  mount: mountCheck,
  accept: listOf(oneOf(acceptedParts)),
  maxBodyBytes: positiveInteger,
  heartbeatMs: timeoutMs,
  implicitAnswers: flag,
  onError: anyFunction,
  ...viewChecks,
}

const handlerShape = shape({ authorize: anyFunction }, optional)

const handlerOptions: Check = (value) => {
  if (!isObject(value)) return refuse('an object with authorize(request, id, asked)', value)
  // An option that is `undefined` is absent.
  const given = Object.entries(value).filter(([, member]) => member !== undefined)
  return handlerShape(Object.fromEntries(given))
}

/** What the object of an `authorize` may have. */
const authorizedMembers = {
  context: jsonObject,
  metadata: jsonObject,
  by: person,
  ...viewChecks,
} satisfies Record<keyof Authorized, Check>

/** What a request asks for, of which session. */
type Route = { readonly id: string } & (
  | { readonly action: Exclude<RunAction, 'approvals' | 'tools'> }
  | { readonly action: 'approvals' | 'tools'; readonly callId: string }
)

const methods: Readonly<Record<RunAction, 'GET' | 'POST'>> = {
  view: 'GET',
  events: 'GET',
  messages: 'POST',
  stop: 'POST',
  resume: 'POST',
  approvals: 'POST',
  tools: 'POST',
}

/** What the path behind the mount asks for. */
function routeOf(request: Request, mount: string | undefined): Route | Response {
  const path = pathOf(request, mount)
  if (path === undefined) return refusal({ ...notFound, message: noRoute(path, undefined) })
  const parts = path.segments.map((word): Segment => ({ word, text: decoded(word) }))
  if (!parts.every(isDecoded)) {
    return refusal({ status: 400, reason: 'invalid_path', message: 'the path is not valid UTF-8' })
  }
  const { route, spared } = matched(path, parts)
  if (route === undefined || spared > path.spare) {
    return refusal({ ...notFound, message: noRoute(path, spared) })
  }
  const allow = methods[route.action]
  if (request.method === allow) return route
  const message = `use ${allow}, not ${brief(request.method)}`
  return refusal({ status: 405, reason: 'method_not_allowed', message }, { allow })
}

/** A part of a path, as it is written and as it is meant. */
interface Segment {
  readonly word: string
  /** `undefined` if it has a malformed code. */
  readonly text: string | undefined
}

interface DecodedSegment extends Segment {
  readonly text: string
}

/** What a part of a path says. The result is used: bundlers leave out a call that is made only to see whether it throws. */
function decoded(word: string): string | undefined {
  try {
    return decodeURIComponent(word)
  } catch {
    return undefined
  }
}

function isDecoded(segment: Segment): segment is DecodedSegment {
  return segment.text !== undefined
}

/**
 * The route at the end of a path, and how many segments come before it. Its words count only as they are written here, so that nobody gets past a
 * check of the path by encoding one of their letters. Ids are decoded.
 */
function matched(
  { spare }: MountedPath,
  all: readonly DecodedSegment[],
): { readonly route?: Route; readonly spared: number } {
  // Where the mount is known an empty segment counts, so that no path is served that looks like another one.
  const segments = spare === 0 ? all : all.filter(({ word }) => word !== '')
  if (segments.some(({ word }) => word === '')) return { spared: 0 }
  const [last, before, first] = segments.toReversed()
  const found = (length: number, route: Route): { route: Route; spared: number } => ({
    route,
    spared: segments.length - length,
  })
  if (last === undefined) return { spared: 0 }
  if (first !== undefined && (before?.word === 'approvals' || before?.word === 'tools')) {
    return found(3, { id: first.text, action: before.word, callId: last.text })
  }
  switch (last.word) {
    case 'events':
    case 'messages':
    case 'stop':
    case 'resume':
      if (before === undefined) return { spared: 0 }
      return found(2, { id: before.text, action: last.word })
    default:
      return found(1, { id: last.text, action: 'view' })
  }
}

async function serve(
  service: Service,
  route: Route,
  request: Request,
  { context, metadata, by }: Authorized,
): Promise<Response> {
  const { runs } = service
  const { action, id } = route
  switch (action) {
    case 'view': {
      const info = await runs.get(id)
      return info === undefined ? refusal(unknownSession) : answer(200, runView(info, service.view))
    }
    case 'events':
      return followed(service, id, request)
    case 'messages': {
      const body = await bodyOf(service, request, messageBody(service.accept))
      const { text: words, content, idempotencyKey } = body
      // One of them is there: it was checked.
      const input = (words ?? content) as string | readonly Part[]
      const answers = service.implicitAnswers ? body.answers : (body.answers ?? null)
      const options = { idempotencyKey, context, metadata, answers, by }
      return answer(202, await runs.send(id, input, options))
    }
    case 'stop':
      await bodyOf(service, request, stopBody)
      await runs.stop(id)
      return answer(202, {})
    case 'resume': {
      const { idempotencyKey } = await bodyOf(service, request, resumeBody)
      return answer(202, await runs.resume(id, { idempotencyKey }))
    }
    case 'approvals': {
      const body = await bodyOf(service, request, approvalBody)
      if (hidesApprovals(service.view)) return refusal(unseen)
      const { approve, arguments: args, reason, ticket, idempotencyKey } = body
      const options = { idempotencyKey, ticket, by }
      const sent =
        approve === true
          ? runs.approve(id, route.callId, { arguments: args, ...options })
          : runs.deny(id, route.callId, reason, options)
      return answer(202, await sent)
    }
    case 'tools': {
      const body = await bodyOf(service, request, resultBody)
      const { result = null, isError, ticket, idempotencyKey } = body
      const options = { isError, idempotencyKey, ticket, by }
      return answer(202, await runs.submitToolResult(id, route.callId, result, options))
    }
    default:
      return assertNever(action)
  }
}

/** What a browser may see of a session, and what is going on with it. */
function runView(
  { session, running, lastEventId, version }: Omit<RunInfo, 'version'> & Partial<RunInfo>,
  options: ViewOptions,
): RunView {
  const view = toView(session, options)
  return defined<RunView>({ ...view, running, lastEventId, version: running ? undefined : version })
}

/** The members of any body. Which of them it may have, and of which kind, its check says. */
interface Body {
  readonly text?: string
  readonly content?: readonly Part[]
  readonly idempotencyKey?: string
  readonly answers?: string | null
  readonly ticket?: string
  readonly approve?: boolean
  readonly arguments?: JsonObject
  readonly reason?: string
  readonly result?: JsonValue
  readonly isError?: boolean
}

const key: Check = must(
  'a string of 1 to 256 characters',
  (value) => typeof value === 'string' && value !== '' && value.length <= 256,
)

const stopBody = shape({}, {})
const resumeBody = shape({}, { idempotencyKey: key })
const resultBody = shape({ result: json }, { isError: flag, ticket: key, idempotencyKey: key })

const approvalShape = shape(
  { approve: flag, ticket: key },
  { arguments: jsonObject, reason: text, idempotencyKey: key },
)

const approvalBody: Check = (value) => {
  const issues = approvalShape(value)
  if (issues.length > 0 || !isObject(value)) return issues
  const other = value['approve'] === true ? 'reason' : 'arguments'
  const problem = `cannot be combined with approve: ${String(value['approve'])}`
  return value[other] === undefined ? fine : [{ path: other, problem }]
}

function messageBody(accept: readonly AcceptedPart[]): Check {
  const parts: Check = (value) =>
    Array.isArray(value) && value.length === 0
      ? refuse('a list of at least one part', value)
      : listOf(partCheck(accept))(value)
  const answers: Check = (value) => (value === null ? fine : key(value))
  const body = shape({}, { text: someText, content: parts, answers, idempotencyKey: key })
  return (value) => {
    const issues = body(value)
    if (!isObject(value)) return issues
    if ('text' in value !== 'content' in value) return issues
    return join(issues, [{ path: '', problem: 'must have either text or content' }])
  }
}

/** The type, by which the check was found. */
const known: Check = () => fine

const base64Shape: Checks = { type: known, base64: someText, mimeType: someText }
const urlShape: Checks = { type: known, url: someText }

/** A part that a browser may send. It says nothing to a provider, and names nothing that is not in it unless that is accepted. */
function partCheck(accept: readonly AcceptedPart[]): Check {
  const media = (url: AcceptedPart): Check => {
    const checks = new Map([['base64', shape(base64Shape, { name: text })]])
    if (accept.includes(url)) checks.set('url', shape(urlShape, { mimeType: someText, name: text }))
    return (value) => {
      if (!isObject(value)) return refuse('an object', value)
      const { type } = value
      const check = typeof type === 'string' ? checks.get(type) : undefined
      if (check !== undefined) return check(value)
      return within('type', refuse([...checks.keys()].join(' or '), type))
    }
  }
  return tagged<Bare<TextPart> | Bare<ImagePart> | Bare<FilePart>>({
    text: [{ text }],
    image: [{ image: media('image_url') }, { detail: oneOf(['auto', 'low', 'high']) }],
    file: [{ file: media('file_url') }],
  })
}

/** A part without options for providers. */
type Bare<T extends TextPart | ImagePart | FilePart> = Omit<T, 'providerOptions'>

/** Reads the JSON of a request and checks it. Throws a refusal that says what is wrong. */
async function bodyOf(service: Service, request: Request, check: Check): Promise<Body> {
  return (await jsonBody(request, service.maxBodyBytes, check)) as Body // Its members were just checked.
}

/** The JSON of a request, bounded and checked. Throws a refusal that says what is wrong; `problemOf` knows it. */
export async function jsonBody(
  request: Request,
  maxBytes: number,
  check: Check,
): Promise<JsonValue> {
  // A page of another origin cannot send this type without asking first.
  const type = request.headers.get('content-type') ?? ''
  if (!/^application\/json\s*(?:;|$)/i.test(type)) {
    throw refused(415, 'unsupported_media_type', 'the content type must be application/json')
  }
  const body = await boundedText(request, maxBytes)
  const value = body === '' ? {} : parseJson(body)
  if (value === undefined) throw refused(400, 'invalid_body', 'the body is not JSON')
  const issues = check(value)
  if (issues.length > 0) throw refused(400, 'invalid_body', 'the body is invalid', issues)
  return value as JsonValue // Parsed from JSON.
}

async function boundedText(request: Request, maxBytes: number): Promise<string> {
  const tooLarge = (): Error =>
    refused(413, 'too_large', `the body has more than ${maxBytes} bytes`)
  if (Number(request.headers.get('content-length')) > maxBytes) throw tooLarge()
  const reader = request.body?.getReader()
  if (reader === undefined) return ''
  const decoder = new TextDecoder()
  let size = 0
  let whole = ''
  try {
    for (;;) {
      const { done, value } = await reader.read().catch(() => {
        throw refused(400, 'invalid_body', 'the body broke off')
      })
      if (done) return whole + decoder.decode()
      size += value.byteLength
      if (size > maxBytes) throw tooLarge()
      whole += decoder.decode(value, { stream: true })
    }
  } finally {
    // A sender that is refused need not send the rest.
    reader.cancel().catch(() => undefined)
  }
}

/**
 * The events of a session as server-sent events. Without a number to go on from, the view of the session comes first, and the events
 * after it. What a command changes is in no event: where one was applied, the view of the session as of there is sent.
 */
async function followed(service: Service, id: string, request: Request): Promise<Response> {
  const { runs, store } = service
  const header = request.headers.get('last-event-id') ?? undefined
  const params = new URL(request.url).searchParams
  const query = params.get('after') ?? undefined
  const known = numberOf(header === undefined ? 'after' : 'Last-Event-ID', header ?? query)
  const version = numberOf('version', params.get('version') || undefined)
  const asksForChanges = params.has('version')
  // Before the view is read: a command that is applied in between is younger than the view, and must not count as part of it.
  const lastCommandId = (await store.look(id))?.lastCommandId ?? 0
  const info = await runs.get(id)
  if (info === undefined) return refusal(unknownSession)
  const { lastEventId, running } = info
  const after = known ?? lastEventId
  // The session was deleted and made again.
  if (after > lastEventId) return refusal(sessionProblems.stale)
  // An EventSource reconnects when its stream ends, until it is told that there is nothing more.
  if (header !== undefined && after === lastEventId && !running) {
    return new Response(null, { status: 204, headers: noStore })
  }
  const stop = new AbortController()
  const log = runs.follow(id, { after, commands: true, signal: stop.signal })
  const entries: LogEntries = log[Symbol.asyncIterator]()
  // A session at rest may have been changed without an event: by a rewind, or by somebody's decision.
  const isOld = asksForChanges && !running && after === lastEventId && version !== info.version
  const view = known === undefined || isOld ? runView(info, service.view) : undefined
  // What is in the log already tells whether it goes on from there. Otherwise the answer does not wait for something to happen.
  const ahead = after < lastEventId ? await upToEvent(entries) : []
  const body = eventStream(service, id, request, {
    entries,
    ahead,
    view,
    after,
    lastCommandId,
    stop,
  })
  return new Response(body, {
    headers: {
      'content-type': 'text/event-stream; charset=utf-8',
      ...noStore,
      // Proxies would otherwise hold events back.
      'x-accel-buffering': 'no',
    },
  })
}

/** Entries of a log, one after the other. */
type LogEntries = AsyncIterator<LogEntry, void>

/** The entries up to the first event. */
async function upToEvent(entries: LogEntries): Promise<LogEntry[]> {
  const read: LogEntry[] = []
  for (;;) {
    const step = await entries.next()
    if (step.done === true) return read
    read.push(step.value)
    if ('event' in step.value) return read
  }
}

/** The number of an event in a request. */
function numberOf(name: string, given: string | undefined): number | undefined {
  if (given === undefined) return undefined
  if (/^\d{1,15}$/.test(given)) return Number(given)
  throw refused(
    400,
    'invalid_request',
    `${name} must be the number of an event, not ${brief(given)}`,
  )
}

/** A connection that follows a session. */
interface Following {
  readonly entries: LogEntries
  /** The first entries, if they were read already. */
  readonly ahead: LogEntry[]
  /** What is sent before all others. */
  readonly view: RunView | undefined
  readonly after: number
  /** The number of the last command that had been applied when it began. */
  readonly lastCommandId: number
  /** Ends the reading of the log. */
  readonly stop: AbortController
}

/** The body of a stream of events. */
function eventStream(
  service: Service,
  id: string,
  request: Request,
  following: Following,
): ReadableStream<Uint8Array> {
  const { stop, entries } = following
  return pulledStream(eventChunks(service, id, following), request.signal, {
    end() {
      stop.abort()
      entries.return?.().catch(() => undefined)
    },
    // A store that is gone ends the stream without `rest`, so the client comes back.
    onError: (error) => service.onError(error, request),
  })
}

/** What happens around a body that is pulled. */
interface Pulling {
  /** Called when the body has ended or the client is gone, once or twice. */
  readonly end: () => void
  /** Told about a failure that ends the body, unless the client is gone. */
  readonly onError: (error: unknown) => void
}

/** The body of an answer that is made piece by piece. It is pulled: a client that does not read costs nothing. */
export function pulledStream(
  chunks: AsyncGenerator<string, void>,
  signal: AbortSignal,
  { end: ended, onError }: Pulling,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  const end = (): void => {
    unlink()
    ended()
    chunks.return().catch(() => undefined)
  }
  /** The client is gone. What fails because of that is nobody's mistake. */
  let isLeft = false
  const leave = (): void => {
    isLeft = true
    end()
  }
  const unlink = onAbort(signal, leave)
  if (signal.aborted) leave()
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await chunks.next()
          if (done !== true && !isLeft) return controller.enqueue(encoder.encode(value))
        } catch (error) {
          if (!isLeft) onError(error)
        }
        end()
        // It has no effect on a stream that was cancelled meanwhile: what is thrown then is ignored.
        controller.close()
      },
      cancel: leave,
    },
    { highWaterMark: 0 },
  )
}

async function* eventChunks(
  service: Service,
  id: string,
  { entries, ahead, view, after, lastCommandId, stop }: Following,
): AsyncGenerator<string, void> {
  const { runs, store, view: options } = service
  let last = after
  /** The type of the last event that was read. */
  let latest: string | undefined
  /** The last place of the log where a run may have begun that was looked at. */
  let lookedAt: number | undefined
  /** The last numbers were of events that are not shown. They are told with the next sign of life. */
  let isHidden = false
  const told = (shown: RunMessage): string => {
    isHidden = false
    return message(last, shown)
  }
  /** The view as of here, if a command has begun a run here. */
  const begun = async (): Promise<string | undefined> => {
    lookedAt = last
    const snapshot = await store.readSnapshot(id, last)
    if (snapshot?.lastEventId !== last) return undefined
    return told({ type: 'view', view: runView({ ...snapshot, running: true }, options) })
  }
  const read = (): Promise<IteratorResult<LogEntry, void>> => {
    const value = ahead.shift()
    return value === undefined ? entries.next() : Promise.resolve({ done: false, value })
  }
  const log = paced({ next: read }, service.clock, service.heartbeatMs)
  try {
    // How soon an EventSource comes back, and something that makes proxies send the head of the answer.
    yield 'retry: 1000\n\n'
    if (view !== undefined) {
      lookedAt = last
      yield told({ type: 'view', view })
    }
    for (;;) {
      const { done, value: entry } = await log.next()
      if (done === true) break
      if (entry === undefined) {
        yield isHidden ? `id: ${last}\n\n` : ':\n\n'
        isHidden = false
      } else if ('event' in entry) {
        last = entry.id
        latest = entry.event.type
        const shown = shownEvent(entry.event, options)
        isHidden = shown === undefined
        if (shown !== undefined) yield told(shown)
      } else if (entry.id > lastCommandId || lookedAt !== last) {
        // Of the commands that are older than the connection, all but the last in a place are older than the place.
        const shown = await begun()
        if (shown !== undefined) yield shown
      }
    }
    if (stop.signal.aborted) return
    // The end of a run is in its last event, unless it failed or its process died.
    if (latest !== undefined && latest !== 'chat_completed') {
      const info = await runs.get(id)
      // It goes on: the client comes back.
      if (info?.running === true) return
      if (info !== undefined) yield told({ type: 'view', view: runView(info, options) })
    }
    yield told({ type: 'rest' })
  } finally {
    stop.abort()
    await log.return?.()
    await entries.return?.()
  }
}

function message(id: number, data: RunMessage): string {
  return `id: ${id}\ndata: ${JSON.stringify(data)}\n\n`
}

/** Why a request is refused, in words that are safe for browsers. */
export interface Problem {
  readonly status: number
  readonly reason: string
  readonly message: string
  readonly issues?: readonly Issue[]
  readonly retryAfter?: number
  /** Of what somebody else has settled: how, when, and by whom where that may be seen. */
  readonly decision?: string
  readonly at?: number
  readonly by?: string
}

const notFound: Problem = { status: 404, reason: 'not_found', message: 'there is nothing here' }

const forbidden: Problem = {
  status: 403,
  reason: 'forbidden',
  message: 'authorize did not allow this',
}

const unseen: Problem = {
  status: 403,
  reason: 'forbidden',
  message: 'what is decided here is not shown to you',
}

const unknownSession: Problem = {
  status: 404,
  reason: 'unknown_session',
  message: 'there is no such conversation yet',
}

const internal: Problem = {
  status: 500,
  reason: 'internal',
  message: 'something went wrong on the server',
}

/** The errors of sessions. Their own messages are for the people who run the service. */
const sessionProblems: Readonly<Record<SessionErrorReason, Problem>> = {
  busy: {
    status: 409,
    reason: 'busy',
    message: 'an answer is being written; wait for it or stop it',
  },
  illegal_status: {
    status: 409,
    reason: 'illegal_status',
    message: 'this is not possible in the present state of the conversation',
  },
  session_in_error_state: {
    status: 409,
    reason: 'session_in_error_state',
    message: 'the last answer failed; try it again or write something else',
  },
  unknown_tool_call_id: {
    status: 404,
    reason: 'unknown_tool_call_id',
    message: 'no such call waits for this; it may be settled already',
  },
  stale: {
    status: 410,
    reason: 'stale',
    message: 'the events after this number are not kept; read the conversation again',
  },
  key_reused: {
    status: 409,
    reason: 'key_reused',
    message: 'the idempotencyKey came before with something else; use a new one',
  },
  already_answered: {
    status: 409,
    reason: 'already_answered',
    message: 'this question was answered already',
  },
  already_decided: {
    status: 409,
    reason: 'already_decided',
    message: 'somebody has decided about this already',
  },
  stale_ticket: {
    status: 409,
    reason: 'stale_ticket',
    message: 'what this was about has changed or is gone; look at what waits now',
  },
  lease_lost: { status: 503, reason: 'unavailable', message: 'try again', retryAfter: 1 },
  unavailable: {
    status: 503,
    reason: 'unavailable',
    message: 'the service is not available at the moment; try again',
    retryAfter: 1,
  },
  unreadable: internal,
}

/** The paths of what a client sent. Problems of anything else are mistakes of the service. */
const ownPaths = /^(?:id|content|text|command|toolCallId|arguments|idempotencyKey|reason)\b/

/** What a browser may know of who was first. */
function settledBy(
  { decision, at, by }: JsonObject,
  view: ViewOptions,
): Pick<Problem, 'decision' | 'at' | 'by'> {
  return defined<Pick<Problem, 'decision' | 'at' | 'by'>>({
    decision: typeof decision === 'string' ? decision : undefined,
    at: typeof at === 'number' ? at : undefined,
    by: typeof by === 'string' ? shownAuthor(by, showsOf(view)) : undefined,
  })
}

/** Why a command is refused, in words that are safe for browsers. Of any other error they say nothing, and the status is 500. */
export function problemOf(error: unknown, view: ViewOptions = {}): Problem {
  const own = refusalIn(error)
  if (own !== undefined) return own
  if (!isAllmError(error)) return internal
  if (error.kind === 'session') {
    const isUnknown = error.metadata['unknown'] === true
    if (isUnknown) return unknownSession
    const problem = sessionProblems[error.reason]
    return { ...problem, ...settledBy(error.metadata, view) }
  }
  if (error.kind !== 'validation') return internal
  const issues = error.issues.filter(({ path }) => ownPaths.test(path))
  if (issues.length === 0) return internal
  const { reason } = error
  return { status: 400, reason, message: 'what was sent is invalid', issues }
}

/** The refusals that handlers throw by themselves. */
const problems = /* @__PURE__ */ new WeakMap<Error, Problem>()

/** The refusal that an error is, if a handler threw it by itself. */
export function refusalIn(error: unknown): Problem | undefined {
  return error instanceof Error ? problems.get(error) : undefined
}

/** An error that refuses a request. */
export function refused(
  status: number,
  reason: string,
  message: string,
  issues?: readonly Issue[],
): Error {
  const error = new Error(message)
  problems.set(error, { status, reason, message, ...(issues && { issues }) })
  return error
}

function refusal(
  { status, retryAfter, ...body }: Problem,
  more: Record<string, string> = {},
): Response {
  const wait: Record<string, string> =
    retryAfter === undefined ? {} : { 'retry-after': `${retryAfter}` }
  return answer(status, body, { ...wait, ...more })
}

const noStore = { 'cache-control': 'no-store' }

function answer(status: number, body: object, headers: Record<string, string> = {}): Response {
  return Response.json(body, { status, headers: { ...noStore, ...headers } })
}
