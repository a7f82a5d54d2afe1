import { isObject, parseJson } from '../../../core/types/guards.ts'
import type { LogEntry } from '../../../durable/stores/run-store.ts'
import {
  idSegment,
  type CommandRequest,
  type ForkRequest,
  type InspectorInfo,
  type LogPage,
  type RenderedRequests,
  type SavedTest,
  type SessionDetail,
  type SessionPage,
} from '../api.ts'

/** What the page asks its server. Every refusal is an `InspectorRefusal`. */
export interface Client {
  readonly info: () => Promise<InspectorInfo & TabAccess>
  readonly sessions: (query: ListQuery, signal?: AbortSignal) => Promise<SessionPage>
  readonly session: (id: string, signal?: AbortSignal) => Promise<SessionDetail>
  readonly log: (id: string, from: LogPlace, signal?: AbortSignal) => Promise<LogPage>
  /** Calls `onEntries` with the entries that come. Resolves with whether the session is at rest. */
  readonly follow: (
    id: string,
    from: LogPlace,
    onEntries: (entries: readonly LogEntry[]) => void,
    signal: AbortSignal,
  ) => Promise<boolean>
  /** The request that belongs to an event. Where no call follows it: the last one, or with `next` the one that would come. */
  readonly request: (id: string, at: number | undefined, next: boolean) => Promise<RenderedRequests>
  readonly command: (id: string, command: CommandRequest) => Promise<void>
  readonly stop: (id: string) => Promise<void>
  readonly fork: (id: string, request: ForkRequest) => Promise<{ readonly id: string }>
  readonly saveTest: (id: string) => Promise<SavedTest>
}

/** What this tab may do. */
export interface TabAccess {
  /** It has no token, and the server lets it read only. */
  readonly isReader: boolean
}

/** What is asked for of the list. */
export interface ListQuery {
  readonly status?: string | undefined
  readonly search?: string | undefined
  readonly after?: string | undefined
  readonly limit?: number | undefined
}

/** The last event and the last command that are known. */
export interface LogPlace {
  readonly after: number
  readonly afterCommand?: number | undefined
}

/** The server refused, or did not answer (`status` 0). */
export class InspectorRefusal extends Error {
  override readonly name = 'InspectorRefusal'
  readonly reason: string
  readonly status: number

  constructor(reason: string, message: string, status: number) {
    super(message)
    this.reason = reason
    this.status = status
  }
}

/** Makes a client for the routes below an address, which ends with a slash. */
export function createClient(
  base: string,
  token: () => string | undefined,
  fetch: typeof globalThis.fetch = globalThis.fetch.bind(globalThis),
): Client {
  const send = async (path: string, init: RequestInit = {}): Promise<Response> => {
    const known = token()
    const headers: Record<string, string> = {
      ...(known !== undefined && { authorization: `Bearer ${known}` }),
      ...(init.body !== undefined && { 'content-type': 'application/json' }),
    }
    let response: Response
    try {
      response = await fetch(new URL(path, base), { ...init, headers })
    } catch (error) {
      if (init.signal?.aborted === true) throw error
      throw new InspectorRefusal('unreachable', 'the inspector does not answer', 0)
    }
    if (response.ok) return response
    throw await refusalOf(response)
  }
  // What the server gives has the shapes of `api.ts`.
  const get = async <Value>(path: string, signal?: AbortSignal): Promise<Value> =>
    (await (await send(path, signal === undefined ? {} : { signal })).json()) as Value
  const post = async <Value>(path: string, body: unknown): Promise<Value> =>
    (await (await send(path, { method: 'POST', body: JSON.stringify(body) })).json()) as Value
  return {
    info: async () => {
      const response = await send('api/info')
      const info = (await response.json()) as InspectorInfo
      return { ...info, isReader: response.headers.get('allm-access') === 'read' }
    },
    sessions: (query, signal) => get(`api/sessions${queryText({ ...query })}`, signal),
    session: (id, signal) => get(pathOf(id), signal),
    log: (id, from, signal) =>
      get(`${pathOf(id)}/log${queryText({ ...from, limit: 1000 })}`, signal),
    async follow(id, from, onEntries, signal) {
      const { body } = await send(`${pathOf(id)}/follow${queryText({ ...from })}`, { signal })
      return body === null ? true : readEntries(body, onEntries)
    },
    request: (id, at, next) =>
      get(`${pathOf(id)}/request${queryText({ at, next: next ? 1 : undefined })}`),
    command: (id, command) => post(`${pathOf(id)}/command`, command),
    stop: (id) => post(`${pathOf(id)}/stop`, {}),
    fork: (id, request) => post(`${pathOf(id)}/fork`, request),
    saveTest: (id) => post(`${pathOf(id)}/test`, {}),
  }
}

function pathOf(id: string): string {
  return `api/sessions/${idSegment(id)}`
}

async function refusalOf(response: Response): Promise<InspectorRefusal> {
  const body = parseJson(await response.text().catch(() => ''))
  const error = isObject(body) && isObject(body['error']) ? body['error'] : {}
  const { reason = 'http_error', message = `the inspector answered with ${response.status}` } =
    error
  return new InspectorRefusal(String(reason), String(message), response.status)
}

function queryText(values: Readonly<Record<string, string | number | undefined>>): string {
  const params = new URLSearchParams()
  for (const [name, value] of Object.entries(values)) {
    if (value !== undefined && value !== '') params.set(name, String(value))
  }
  return params.size === 0 ? '' : `?${params}`
}

/** Reads server-sent events, and hands on those that arrived together. Returns whether `rest` came. */
async function readEntries(
  body: ReadableStream<Uint8Array>,
  onEntries: (entries: readonly LogEntry[]) => void,
): Promise<boolean> {
  const reader = body
    .pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>)
    .getReader()
  let rest = ''
  let isAtRest = false
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return isAtRest
      const blocks = (rest + value).replaceAll('\r\n', '\n').split('\n\n')
      rest = blocks.pop() ?? ''
      const entries: LogEntry[] = []
      for (const block of blocks) {
        const { name, data } = fieldsOf(block)
        if (name === 'rest') isAtRest = true
        // What has no name is an entry.
        else if (name === '' && data !== '') entries.push(JSON.parse(data) as LogEntry)
      }
      if (entries.length > 0) onEntries(entries)
      if (isAtRest) return true
    }
  } finally {
    await reader.cancel()
  }
}

function fieldsOf(block: string): { readonly name: string; readonly data: string } {
  let name = ''
  const data: string[] = []
  for (const line of block.split('\n')) {
    if (line.startsWith('event:')) name = line.slice(6).trim()
    else if (line.startsWith('data:')) data.push(line.slice(5).replace(/^ /, ''))
  }
  return { name, data: data.join('\n') }
}
