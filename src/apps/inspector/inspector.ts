import { warnOnce } from '../../core/base/warning.ts'
import type { Engine } from '../../core/contracts/engine.ts'
import { verdictOf, type Permission } from '../../core/schema/authorize.ts'
import {
  anyFunction,
  assertValid,
  brief,
  describe,
  fine,
  flag,
  json,
  listOf,
  nonNegativeInteger,
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
} from '../../core/schema/checks.ts'
import { assertNever, defined, isObject } from '../../core/types/guards.ts'
import type { JsonValue } from '../../core/types/json.ts'
import { sessionStatuses, type SessionCommand } from '../../core/types/session.ts'
import type { Runs } from '../../durable/runs/contract.ts'
import { jsonBody, refused } from '../../durable/runs/handler.ts'
import { mountCheck, noRoute, pathOf, type MountedPath } from '../../durable/runs/mount.ts'
import type { RunState } from '../../durable/stores/run-store.ts'
import { person } from '../../engine/calls/settle.ts'
import { engineParts } from '../../engine/model-call/context.ts'
import { pricesCheck, type PriceTable } from '../../models/cost.ts'
import { answer, refusal, refusalOf, safeHeaders, type Refusal } from './answers.ts'
import {
  segmentId,
  type ForkChanges,
  type ForkEngine,
  type ForkRequest,
  type InspectorInfo,
  type SessionDetail,
} from './api.ts'
import { createForks, type Forks } from './fork-store.ts'
import { followed, logPage, sessionAt, sessionDetail } from './history.ts'
import { renderedRequests, type RecordedCalls } from './model-requests.ts'
import { isPageFile, pageFile } from './page-files.ts'
import { findSession, placeOf, type Place, type Places } from './places.ts'
import { savedTest } from './save-test.ts'
import {
  forkOrigin,
  sessionPage,
  summariesWith,
  type ListQuery,
  type Summaries,
} from './sessions.ts'

/** The options of `inspector`. */
export interface InspectorOptions {
  /**
   * Decides about every request for data before anything is read or written: `true` or `{}` allows it, a `Response` refuses it and is sent as it is, and
   * everything else, `undefined` too, refuses it with status 403. The inspector shows everything that is in the store, so only people who run the service
   * may see it. The files of the page hold no data and are not asked about.
   *
   * `by` of an object says who decides and answers with this request. Without it the records of calls name `inspector`: a person did it here, and nobody
   * knows who.
   */
  readonly authorize: (
    request: Request,
  ) => Permission<InspectorPermission> | Promise<Permission<InspectorPermission>>
  /** The path under which the inspector is mounted, as `mount` of `runs.handler`: `/inspect`. Without it at most two segments may come before `api`. */
  readonly mount?: string | undefined
  /** Refuses whatever would change something: commands, stops, forks and saved tests. */
  readonly readOnly?: boolean | undefined
  /** What forks may run on besides a fake. Model requests are shown with its instructions, tools and settings, as they are now. */
  readonly engine?: Engine | undefined
  /** What models cost, by their names, for each million tokens. */
  readonly prices?: PriceTable | undefined
  /** What is looked at, for the head of the page. */
  readonly name?: string | undefined
  /** Whether forks are saved into the store when they are at rest (`save`, the default) or end with this process (`memory`). */
  readonly forks?: 'save' | 'memory' | undefined
  /** The folder for tests that are made from sessions. Without it, the page offers them as downloads. */
  readonly testFolder?: string | undefined
  /** How often something is sent on a quiet connection that follows a session (15 000). */
  readonly heartbeatMs?: number | undefined
  /** The largest body (8 MiB). */
  readonly maxBodyBytes?: number | undefined
  /**
   * Told about every failure whose text is not sent, and about values of `authorize` that are mistakes. It must not throw. Without it, the first one is a
   * warning of the process (`AllmWarning`).
   */
  readonly onError?: ((error: unknown) => void) | undefined
}

/** What an allowed request brings along. */
export interface InspectorPermission {
  /** Who asks: the author of what this request decides or answers, at most 256 characters. It never comes from the body. */
  readonly by?: string | undefined
}

/** A web request in, a web response out, as `runs.handler`. `close` ends the forks that are under way. */
export interface Inspector {
  (request: Request): Promise<Response>
  close(): Promise<void>
}

/**
 * A page that shows the sessions of runs: their timelines, transcripts, events and model requests. It follows them live, answers them, and forks
 * them at any event. Mount it under any path, with a slash at the end: `app.use('/inspect', toNodeHandler(inspector(runs, { authorize })))`.
 *
 * Forks run in this process, and never in the store: a worker cannot take one.
 */
export function inspector(runs: Runs, options: InspectorOptions): Inspector {
  return makeInspector(runs, options)
}

/** What only the library and its tests set. */
export interface InternalOptions {
  /** Where the files of the page are, unless beside the module. */
  readonly pageFolder?: URL | undefined
  /** Nobody runs these sessions: they are copies in memory. */
  readonly unattended?: boolean | undefined
  /** The id of the only session, if there can be no other. */
  readonly single?: string | undefined
  /** The module that exports the engine, as a file at this place imports it: saved tests run its tools. */
  readonly engineModule?: ((file: string) => string) | undefined
  /** The calls of the cassette that the sessions play. */
  readonly recorded?: RecordedCalls | undefined
}

/** An inspector, with what only the library and its tests set. */
export function makeInspector(
  runs: Runs,
  options: InspectorOptions,
  { pageFolder, unattended = false, single, engineModule, recorded }: InternalOptions = {},
): Inspector {
  assertValid('invalid_options', inspectorOptions(options))
  const { authorize, mount, readOnly = false, prices } = options
  const { onError: report = warnOnce('inspector without onError: something failed') } = options
  const store = placeOf('store', runs)
  const forks = createForks({
    store: store.store,
    isSaved: options.forks !== 'memory',
    clock: store.clock,
    engine: options.engine,
    onError: report,
  })
  const service: Service = {
    places: { store, forks: forks.place },
    forks,
    engine: options.engine,
    testFolder: options.testFolder,
    engineModule,
    recorded,
    summaries: summariesWith(prices),
    info: defined<InspectorInfo>({
      ...infoOf(options),
      single,
      unattended: unattended ? true : undefined,
    }),
    readOnly,
    heartbeatMs: options.heartbeatMs ?? 15_000,
    maxBodyBytes: options.maxBodyBytes ?? 8 * 1024 * 1024,
    onError: report,
  }
  const respond = async (request: Request): Promise<Response> => {
    const route = routeOf(request, mount)
    if ('file' in route) return pageFile(route.file, pageFolder)
    if ('redirect' in route) return redirect(route.redirect)
    refuseForeign(request)
    const verdict = verdictOf<InspectorPermission>(await authorize(request), permissionMembers)
    if (verdict.allowed !== undefined) return serve(service, route, request, verdict.allowed)
    if (verdict.mistake !== undefined) service.onError(verdict.mistake)
    return verdict.response ?? refusal(forbidden)
  }
  const handle = async (request: Request): Promise<Response> => {
    try {
      return await respond(request)
    } catch (error) {
      const problem = refusalOf(error)
      if (problem.status === 500) service.onError(error)
      const { allow } = isObject(error) ? error : {}
      return refusal(problem, typeof allow === 'string' ? { allow } : {})
    }
  }
  return Object.assign(handle, { close: () => forks.close() })
}

const permissionMembers = { by: person } satisfies Record<keyof InspectorPermission, Check>

const forbidden: Refusal = {
  status: 403,
  reason: 'forbidden',
  message: 'authorize did not allow this',
}

/** What all requests share. */
interface Service {
  readonly places: Places
  readonly forks: Forks
  readonly engine: Engine | undefined
  readonly testFolder: string | undefined
  readonly engineModule: InternalOptions['engineModule']
  readonly recorded: InternalOptions['recorded']
  readonly summaries: Summaries
  readonly info: InspectorInfo
  readonly readOnly: boolean
  readonly heartbeatMs: number
  readonly maxBodyBytes: number
  readonly onError: (error: unknown) => void
}

function infoOf({ name, readOnly = false, engine }: InspectorOptions): InspectorInfo {
  const { provider, model } = engine ?? {}
  return defined<InspectorInfo>({
    name: name ?? 'sessions',
    readOnly,
    engines: engine === undefined ? ['fake', 'recorded'] : ['fake', 'recorded', 'given'],
    engine: engine && defined<NonNullable<InspectorInfo['engine']>>({ provider, model }),
  })
}

const optional: Record<Exclude<keyof InspectorOptions, 'authorize'>, Check> = {
  mount: mountCheck,
  readOnly: flag,
  engine: (value) => {
    engineParts(value as Engine) // It refuses any other value.
    return fine
  },
  prices: pricesCheck,
  name: someText,
  forks: oneOf(['save', 'memory']),
  testFolder: someText,
  heartbeatMs: timeoutMs,
  maxBodyBytes: positiveInteger,
  onError: anyFunction,
}

const optionsShape = shape({ authorize: anyFunction }, optional)

const inspectorOptions: Check = (value) => {
  if (!isObject(value)) return refuse('an object with authorize(request)', value)
  // An option that is `undefined` is absent.
  const given = Object.entries(value).filter(([, member]) => member !== undefined)
  return optionsShape(Object.fromEntries(given))
}

const actions = {
  session: 'GET',
  log: 'GET',
  follow: 'GET',
  request: 'GET',
  command: 'POST',
  stop: 'POST',
  fork: 'POST',
  test: 'POST',
} as const

type Action = keyof typeof actions

/** What a request asks for. */
type Route =
  | { readonly file: string }
  | { readonly redirect: string }
  | { readonly ask: 'info' | 'sessions'; readonly id?: undefined }
  | { readonly ask: 'detail' | Action; readonly id: string }

/** What the path behind the mount asks for. */
function routeOf(request: Request, mount: string | undefined): Route {
  const { method } = request
  const path = pathOf(request, mount)
  const { route: found, spared } = apiRoute(path)
  if (found !== undefined && spared <= (path?.spare ?? 0)) {
    const allow =
      'ask' in found && found.id !== undefined && found.ask !== 'detail'
        ? actions[found.ask]
        : 'GET'
    if (method !== allow) {
      const error = refused(405, 'method_not_allowed', `use ${allow}, not ${brief(method)}`)
      throw Object.assign(error, { allow })
    }
    return found
  }
  const segments = path?.segments ?? new URL(request.url).pathname.split('/').slice(1)
  const last = segments.at(-1) ?? ''
  const isGet = method === 'GET' || method === 'HEAD'
  if (isGet && !segments.includes('api')) {
    if (last === '') return { file: 'index.html' }
    if (isPageFile(last)) return { file: last }
    // Without the slash the page would look for its files in the folder above. The dot keeps `https:` in a segment from being a scheme.
    if (!last.includes('.')) return { redirect: `./${last}/` }
  }
  throw refused(404, 'not_found', noRoute(path, spared))
}

/** The route at the end of a path, and how many segments come before it. */
function apiRoute(path: MountedPath | undefined): {
  readonly route?: Exclude<Route, { file: string }>
  readonly spared: number
} {
  const segments = path?.segments ?? []
  const [last = '', second = '', third, fourth] = segments.toReversed()
  const found = (
    length: number,
    route: Exclude<Route, { file: string }>,
  ): ReturnType<typeof apiRoute> => ({ route, spared: segments.length - length })
  if (fourth === 'api' && third === 'sessions' && isAction(last)) {
    return found(4, { ask: last, id: decoded(second) })
  }
  if (third === 'api' && second === 'sessions' && last !== '') {
    return found(3, { ask: 'detail', id: decoded(last) })
  }
  if (second !== 'api' || (last !== 'info' && last !== 'sessions')) return { spared: 0 }
  return found(2, { ask: last })
}

function isAction(word: string): word is Action {
  return Object.hasOwn(actions, word)
}

function decoded(segment: string): string {
  try {
    return segmentId(segment)
  } catch {
    throw refused(400, 'invalid_path', 'the path is not valid UTF-8')
  }
}

function redirect(location: string): Response {
  return new Response(null, { status: 308, headers: { ...safeHeaders, location } })
}

/** A page of another site cannot use the inspector, even if the browser would send what `authorize` looks at. */
function refuseForeign({ url, headers }: Request): void {
  const origin = headers.get('origin')
  const isForeign =
    headers.get('sec-fetch-site') === 'cross-site' ||
    (origin !== null && (!URL.canParse(origin) || new URL(origin).host !== new URL(url).host))
  if (!isForeign) return
  throw refused(403, 'foreign_origin', `a page of ${brief(origin ?? 'another site')} may not ask`)
}

async function serve(
  service: Service,
  route: Exclude<Route, { file: string } | { redirect: string }>,
  request: Request,
  { by = 'inspector' }: InspectorPermission,
): Promise<Response> {
  const { places, summaries, forks, engine } = service
  const query = new URL(request.url).searchParams
  if (route.id === undefined) {
    if (route.ask === 'info') return answer(200, service.info)
    return answer(200, await sessionPage(places, summaries, listQuery(query)))
  }
  const { ask, id } = route
  const { place, state } = await findSession(places, id)
  switch (ask) {
    case 'detail':
      return answer(200, await detailOf(service, place, state, id))
    case 'session':
      return answer(200, await sessionAt(place, id, numberIn(query, 'at') ?? state.lastEventId))
    case 'log': {
      const limit = Math.min(numberIn(query, 'limit') ?? 1000, 5000)
      const after = numberIn(query, 'after') ?? 0
      const afterCommand = numberIn(query, 'afterCommand')
      return answer(200, await logPage(place, id, { after, afterCommand, limit: limit || 1 }))
    }
    case 'follow': {
      const after = numberIn(query, 'after') ?? 0
      if (after > state.lastEventId) {
        throw refused(
          410,
          'stale',
          `session ${id} has no event ${after}: its log ends with ${state.lastEventId}`,
        )
      }
      const { heartbeatMs, onError } = service
      const afterCommand = numberIn(query, 'afterCommand')
      return followed(place, id, request, { after, afterCommand, heartbeatMs, onError })
    }
    case 'request': {
      const at = numberIn(query, 'at') ?? state.lastEventId
      const sources = place.name === 'forks' ? {} : { engine, recorded: service.recorded }
      const next = query.has('next')
      return answer(200, await renderedRequests(place, id, { at, next }, sources))
    }
    case 'command': {
      const command = await bodyOf(service, request, commandBody)
      assertAttended(await detailOf(service, place, state, id))
      // `applyCommand` checks the members of a command.
      const given = withAuthor(command as unknown as SessionCommand, by)
      await (place.name === 'forks' ? forks.give(id, given) : place.give(id, given))
      return answer(200, { ok: true })
    }
    case 'stop':
      await bodyOf(service, request, noBody)
      assertAttended(await detailOf(service, place, state, id))
      await place.runs.stop(id)
      return answer(200, { ok: true })
    case 'fork': {
      const body = await bodyOf(service, request, forkBody)
      // It was just checked.
      return answer(200, { id: await forks.fork(place, id, body as unknown as ForkRequest) })
    }
    case 'test': {
      await bodyOf(service, request, noBody)
      const { testFolder: folder, engineModule } = service
      return answer(200, await savedTest(place, id, { engine, folder, engineModule }))
    }
    default:
      return assertNever(ask)
  }
}

/** The body of a request that changes something. */
async function bodyOf(
  { readOnly, maxBodyBytes }: Service,
  request: Request,
  check: Check,
): Promise<JsonValue> {
  if (readOnly) {
    const words = 'this inspector only reads: start it without --read-only, or without readOnly'
    throw refused(403, 'read_only', words)
  }
  return jsonBody(request, maxBodyBytes, check)
}

/** What is known of a session, and whether it takes commands: a fork that an earlier inspector saved has lost its engine, and that of the store is another. */
async function detailOf(
  { info, summaries }: Service,
  place: Place,
  state: RunState,
  id: string,
): Promise<SessionDetail> {
  const detail = await sessionDetail(place, state, id, summaries)
  if (place.name === 'forks') return detail
  if (forkOrigin(detail.session) !== undefined) return { ...detail, unattended: 'fork_ended' }
  return info.unattended === true ? { ...detail, unattended: 'nobody' } : detail
}

function assertAttended({ unattended, item: { id } }: SessionDetail): void {
  if (unattended === undefined) return
  const [reason, message] = {
    nobody: [
      'no_engine',
      `nobody runs ${id}: it is a recording, or a file that was opened without --engine. Fork it to go on`,
    ] as const,
    fork_ended: [
      'fork_ended',
      `the fork ${id} does not run in this inspector: fork it again to go on`,
    ] as const,
  }[unattended]
  throw refused(409, reason, message)
}

const noBody = shape({}, {})

const commandBody: Check = (value) => {
  if (!isObject(value)) return refuse('a command, such as { "type": "resume" }', value)
  const issues = within('type', commandType(value['type']))
  const problem = 'comes from authorize and not from the body: leave it out'
  return 'by' in value ? [...issues, { path: 'by', problem }] : issues
}

const commandType = oneOf([
  'send',
  'approve',
  'deny',
  'submitToolResult',
  'resume',
] satisfies readonly SessionCommand['type'][])

/** The command of a person. What goes on with a run decides nothing. */
function withAuthor(command: SessionCommand, by: string): SessionCommand {
  return command.type === 'resume' ? command : { ...command, by }
}

const changesBody = shape({}, {
  message: shape({ index: nonNegativeInteger, text }),
  toolResult: shape({ toolCallId: someText, text }),
  instructions: text,
  model: someText,
} satisfies Record<keyof ForkChanges, Check>)

const engineBody = tagged<ForkEngine>({
  fake: [{ script: listOf(json) }],
  recorded: [{}],
  given: [{}],
})

const forkShape = shape({ changes: changesBody, engine: engineBody }, {
  event: nonNegativeInteger,
  messages: nonNegativeInteger,
  askBeforeTools: flag,
} satisfies Record<Exclude<keyof ForkRequest, 'changes' | 'engine'>, Check>)

const forkBody: Check = (value) => {
  const issues = forkShape(value)
  if (issues.length > 0 || !isObject(value)) return issues
  const isOne = 'event' in value !== 'messages' in value
  return isOne ? fine : [{ path: '', problem: 'must have either event or messages' }]
}

/** A number of the query: of an event or a command, or a limit. */
function numberIn(query: URLSearchParams, name: string): number | undefined {
  const given = query.get(name)
  if (given === null) return undefined
  if (/^\d{1,15}$/.test(given)) return Number(given)
  throw refused(400, 'invalid_request', `${name} must be a whole number, not ${describe(given)}`)
}

function listQuery(query: URLSearchParams): ListQuery {
  const status = query.get('status') ?? undefined
  if (status !== undefined && !isStatus(status)) {
    const words = `status must be one of ${listStatuses.join(', ')}, not ${describe(status)}`
    throw refused(400, 'invalid_request', words)
  }
  const limit = Math.min(numberIn(query, 'limit') ?? 50, 200) || 1
  const search = query.get('search')?.slice(0, 200)
  return { status, search, after: query.get('after') ?? undefined, limit }
}

const listStatuses = ['running', ...sessionStatuses] as const

function isStatus(word: string): word is (typeof listStatuses)[number] {
  return listStatuses.some((status) => status === word)
}
