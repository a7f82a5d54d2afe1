import { idSegment } from '../../../src/apps/inspector/api.ts'
import type { cassetteRuns } from '../../../src/apps/inspector/cassette-sessions.ts'
import {
  makeInspector,
  type Inspector,
  type InspectorOptions,
} from '../../../src/apps/inspector/inspector.ts'
import { createEngine, type Engine, type Tool } from '../../../src/index.ts'
import type {
  ForkRequest,
  LogPage,
  SessionAt,
  SessionDetail,
  SessionPage,
} from '../../../src/inspector.ts'
import { createRuns, type Runs } from '../../../src/runs.ts'
import { memoryStore, type LogEntry, type RunStore } from '../../../src/stores.ts'
import { fake, virtualClock, type ScriptInput, type VirtualClock } from '../../../src/testing.ts'

/** An inspector on runs, and how to ask it. */
export interface Desk {
  readonly runs: Runs
  readonly store: RunStore
  readonly clock: VirtualClock
  readonly handle: Inspector
  readonly get: <T>(path: string, headers?: Readonly<Record<string, string>>) => Promise<T>
  readonly ask: (path: string, init?: RequestInit) => Promise<Response>
  readonly post: (path: string, body: unknown) => Promise<Response>
}

export const origin = 'http://127.0.0.1:4000'
const token = 'Bearer secret-of-the-page'

/** What refuses a request without the token. */
function withToken(request: Request): true | Response {
  if (request.headers.get('authorization') === token) return true
  return Response.json({ error: { reason: 'unauthorized', message: 'no token' } }, { status: 401 })
}

export interface DeskOptions extends Partial<InspectorOptions> {
  readonly scripts?: readonly ScriptInput[]
  readonly tools?: readonly Tool[]
  readonly runsEngine?: Engine
  readonly store?: RunStore
  readonly clock?: VirtualClock
  readonly execute?: boolean
  /** What the module of the engine is called in saved tests. */
  readonly engineModule?: (file: string) => string
  /** Sessions of a cassette instead of those of the engine. */
  readonly played?: Awaited<ReturnType<typeof cassetteRuns>>
  /** Stores of databases have their own clock, so that nothing may stand still beside them. */
  readonly systemTime?: boolean
}

export function desk(options: DeskOptions = {}): Desk {
  const {
    scripts = [],
    tools = [],
    store: given,
    execute,
    runsEngine,
    systemTime,
    engineModule,
    played,
    ...rest
  } = options
  const clock = options.clock ?? virtualClock({ auto: true })
  const store = given ?? memoryStore({ clock })
  const engine =
    runsEngine ??
    createEngine({ adapter: fake({ scripts }), model: 'small-1', tools, clock, retry: false })
  const runs =
    played?.runs ??
    createRuns({
      engine,
      store,
      ...(systemTime === true ? {} : { clock }),
      ...(execute === undefined ? {} : { execute }),
    })
  const { clock: _clock, ...inspectorOptions } = rest
  const handle = makeInspector(
    runs,
    { authorize: withToken, ...inspectorOptions },
    { pageFolder: new URL('stub/', import.meta.url), engineModule, recorded: played?.recorded },
  )
  const ask = (path: string, init: RequestInit = {}): Promise<Response> => {
    const headers = { authorization: token, ...(init.headers as Record<string, string>) }
    return handle(new Request(`${origin}/inspect/${path}`, { ...init, headers }))
  }
  return {
    runs,
    store,
    clock,
    handle,
    ask,
    async get<T>(path: string, headers: Readonly<Record<string, string>> = {}): Promise<T> {
      const response = await ask(path, { headers })
      const body: unknown = await response.json()
      if (!response.ok) throw new Error(`${response.status} ${JSON.stringify(body)}`)
      return body as T
    },
    post: (path, body) =>
      ask(path, {
        method: 'POST',
        body: JSON.stringify(body),
        headers: { 'content-type': 'application/json', origin },
      }),
  }
}

export function pathOf(id: string, action?: string): string {
  const path = `api/sessions/${idSegment(id)}`
  return action === undefined ? path : `${path}/${action}`
}

export function listed({ get }: Desk, query: string = ''): Promise<SessionPage> {
  return get<SessionPage>(`api/sessions${query}`)
}

export function detailOf({ get }: Desk, id: string): Promise<SessionDetail> {
  return get<SessionDetail>(pathOf(id))
}

export function logOf({ get }: Desk, id: string, query: string = ''): Promise<LogPage> {
  return get<LogPage>(pathOf(id, `log${query}`))
}

export function sessionAtOf({ get }: Desk, id: string, at: number): Promise<SessionAt> {
  return get<SessionAt>(pathOf(id, `session?at=${at}`))
}

/** The body of a stream of events, read to its end. */
export async function followedOf(
  { ask }: Desk,
  id: string,
  query: string = '',
): Promise<{ readonly entries: readonly LogEntry[]; readonly end: string | undefined }> {
  const response = await ask(pathOf(id, `follow${query}`))
  const entries: LogEntry[] = []
  let end: string | undefined
  for (const block of (await response.text()).split('\n\n')) {
    const data = /^data: (.*)$/m.exec(block)?.[1]
    const name = /^event: (.*)$/m.exec(block)?.[1]
    if (name !== undefined) end = name
    else if (data !== undefined) entries.push(JSON.parse(data) as LogEntry)
  }
  return { entries, end }
}

/** The id of a fork, when it is at rest. */
export async function forked(own: Desk, id: string, request: ForkRequest): Promise<string> {
  const response = await own.post(pathOf(id, 'fork'), request)
  const body = (await response.json()) as { readonly id?: string }
  if (body.id === undefined) throw new Error(`${response.status} ${JSON.stringify(body)}`)
  await followedOf(own, body.id)
  return body.id
}
