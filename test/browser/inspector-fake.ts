import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type {
  InspectorInfo,
  RenderedRequests,
  SessionDetail,
  SessionItem,
} from '../../src/apps/inspector/api.ts'
import type { LogEntry } from '../../src/stores.ts'
import { root } from '../support/root.ts'

/** A session that the fake knows. */
export interface FakeSession {
  detail: SessionDetail
  entries: LogEntry[]
}

/** The routes of the inspector by heart: what a test puts in is what the page gets. */
export interface FakeInspector {
  readonly url: string
  readonly sessions: Map<string, FakeSession>
  info: InspectorInfo
  /** What was posted: the path below `api/sessions/`, and the body. */
  readonly posts: { readonly path: string; readonly body: unknown }[]
  /** Gives the answer to a post in place of `{ok: true}`: a status and a body. */
  onPost: (path: string) => readonly [number, unknown]
  /** The headers of every request for data. */
  readonly tokens: Set<string | undefined>
  /** Adds entries to a session, and sends them to those who follow it. `isAtRest` ends their streams. */
  grow(id: string, entries: readonly LogEntry[], isAtRest: boolean): void
  [Symbol.asyncDispose](): Promise<void>
}

const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data: blob:; form-action 'none'"

const types: Readonly<Record<string, string>> = {
  'index.html': 'text/html; charset=utf-8',
  'page.js': 'text/javascript; charset=utf-8',
  'page.css': 'text/css; charset=utf-8',
}

/** The page, bundled once. */
export function bundledPage(): { readonly folder: string; [Symbol.dispose](): void } {
  const folder = mkdtempSync(join(tmpdir(), 'allm-inspector-'))
  execFileSync(process.execPath, [join(root, 'scripts/bundle-page.mjs'), folder])
  return { folder, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) }
}

/** Serves the page and the fake of its routes below a path. */
export async function fakeInspector(folder: string): Promise<FakeInspector> {
  const followers = new Map<string, Set<ServerResponse>>()
  const fake: FakeInspector = {
    url: '',
    sessions: new Map(),
    info: { name: 'a test', readOnly: false, engines: ['fake', 'recorded', 'given'] },
    posts: [],
    onPost: () => [200, { ok: true }],
    tokens: new Set(),
    grow(id, entries, isAtRest) {
      fake.sessions.get(id)?.entries.push(...entries)
      for (const response of followers.get(id) ?? []) {
        for (const entry of entries) response.write(`data: ${JSON.stringify(entry)}\n\n`)
        if (isAtRest) response.end('event: rest\ndata: {}\n\n')
      }
      if (isAtRest) followers.delete(id)
    },
    async [Symbol.asyncDispose]() {
      for (const set of followers.values()) for (const response of set) response.end()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }

  const answer = (response: ServerResponse, status: number, body: unknown): void => {
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(JSON.stringify(body))
  }
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://x')
    const path = pathname.replace(/^\/inspect\//, '')
    const file = path === '' ? 'index.html' : path
    const type = types[file]
    if (type !== undefined) {
      response.writeHead(200, { 'content-type': type, 'content-security-policy': policy })
      response.end(readFileSync(join(folder, file)))
      return
    }
    fake.tokens.add(request.headers.authorization)
    if (path === 'api/info') return answer(response, 200, fake.info)
    if (path === 'api/sessions') return answer(response, 200, pageOf(fake, searchParams))
    const [, , encoded = '', action] = path.split('/')
    const id = decodeURIComponent(encoded)
    const session = fake.sessions.get(id)
    if (session === undefined) {
      return answer(response, 404, { error: { reason: 'unknown_session', message: `no ${id}` } })
    }
    if (request.method === 'POST') {
      const body: unknown = JSON.parse(await text(request))
      fake.posts.push({ path: `${id}/${action}`, body })
      return answer(response, ...fake.onPost(`${id}/${action}`))
    }
    if (action === undefined) return answer(response, 200, session.detail)
    const after = Number(searchParams.get('after') ?? 0)
    const afterCommand = Number(searchParams.get('afterCommand') ?? 0)
    const later = session.entries.filter(
      (entry) => entry.id > ('event' in entry ? after : afterCommand),
    )
    if (action === 'log') {
      const limit = Number(searchParams.get('limit') ?? 1000)
      return answer(response, 200, { entries: later.slice(0, limit), more: later.length > limit })
    }
    if (action === 'request') return answer(response, 200, rendered)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(later.map((entry) => `data: ${JSON.stringify(entry)}\n\n`).join('') + ':\n\n')
    followers.set(id, (followers.get(id) ?? new Set()).add(response))
  }
  const server = createServer((request, response) => {
    serve(request, response).catch((error: unknown) => response.destroy(error as Error))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return Object.assign(fake, { url: `http://127.0.0.1:${port}/inspect/` })
}

function pageOf({ sessions }: FakeInspector, query: URLSearchParams): unknown {
  const search = query.get('search') ?? ''
  const status = query.get('status') ?? ''
  const all = [...sessions.values()]
    .map(({ detail: { item } }): SessionItem => item)
    .filter((item) => item.title.includes(search) && (status === '' || item.status === status))
    .toSorted((a, b) => b.updatedAt - a.updatedAt)
  const from = Number(query.get('after') ?? 0)
  const to = from + Number(query.get('limit') ?? 50)
  return { items: all.slice(from, to), ...(to < all.length && { next: String(to) }) }
}

const rendered: RenderedRequests = {
  basis: {
    source: 'engine',
    note: 'Rebuilt with the engine of today. The answer came from model m; this engine asks m1.',
    answered: { provider: 'openai', model: 'm' },
    differs: true,
  },
  wires: [
    {
      wire: 'openai',
      method: 'POST',
      url: 'https://api.openai.com/v1/responses',
      body: { model: 'm1' },
    },
    { wire: 'openaiChat', body: { messages: [] } },
    { wire: 'anthropic', problem: 'it has no max_tokens' },
    { wire: 'gemini', body: { contents: [] } },
  ],
}
