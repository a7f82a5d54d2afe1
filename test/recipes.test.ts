import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Chat } from '@ai-sdk/react'
import { trace } from '@opentelemetry/api'
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base'
import { DefaultChatTransport } from 'ai'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi, onTestFinished } from 'vitest'
import type { RunConnection } from '../src/client.ts'
import { createEngine, Session, type Engine } from '../src/index.ts'
import { createRuns, type Runs } from '../src/runs.ts'
import { createFakeServer, type FakeServer } from '../src/server.ts'
import { fileStore } from '../src/stores.ts'
import type { ScriptInput } from '../src/testing.ts'
import { createPlace, reasonToSkip, serverUrl } from './durable/stores/postgres.ts'
import { canStartRedis, privateRedis } from './durable/stores/redis.ts'
import { blocksOf } from './support/doc-blocks.ts'
import { root } from './support/root.ts'
import { fromSource, printedBy } from './support/snippets.ts'

/** The programs of the page that need more than a provider on loopback. They are only compiled. */
const needsMore = ['groq', 'ollama']

const page = 'docs/guides/28-recipes.md'
const folder = join(root, 'test/.snippets/recipes')
const blocks = blocksOf(page, readFileSync(join(root, page), 'utf8'))
const run = new Set<string>()

/** What the provider on loopback answers, by what the request contains. The first that fits counts. */
const answers: readonly (readonly [words: RegExp, script: ScriptInput])[] = [
  [/function_call_output.*refunded/s, ['Order 17 is refunded.']],
  [/Refund 90 euros/, [callOf('refund', { order: '17', euros: 90 })]],
  [/function_call_output.*within ten days/s, ['Within ten days.']],
  [/When do refunds arrive/, [callOf('search_handbook', { question: 'When do refunds arrive?' })]],
  [/function_call_output.*march\.txt/s, ['There is one report: march.txt.']],
  [/You sell trains/, ['Trains.']],
  [/You sell ferries/, ['Ferries.']],
  [/has not arrived/, ['{"subject":"Late order","urgency":"high","orderId":"17"}']],
  [/What is in this picture/, ['A red pixel.']],
  [/Read this invoice/, ['{"number":"A-1","total":12.5,"currency":"EUR"}']],
  [/Answer to grade/, ['{"why":"It is right.","score":5}']],
  [/Sum up this conversation/, ['They greeted each other.']],
  [/French/, ['Bonjour.']],
  [
    /lighthouse/,
    [
      ['text', 'A tower that warns ships.'],
      ['usage', { inputTokens: 200, outputTokens: 200 }],
    ],
  ],
]

function callOf(name: string, args: object) {
  return ['tool_call', { id: `call_${name}`, name, arguments: { ...args } }] as const
}

let server: FakeServer
let busyCalls = 0
let isDown = false
let stories = 0
let reports = ''

beforeAll(async () => {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  for (const { file, code } of blocks) {
    if (file !== undefined) writeFileSync(join(folder, file), fromSource(code, '../../../src'))
  }
  reports = mkdtempSync(join(tmpdir(), 'allm-reports-'))
  writeFileSync(join(reports, 'march.txt'), 'All is well.')
  server = await createFakeServer({
    script: ({ body, format }): ScriptInput => {
      const text = JSON.stringify(body)
      if (text.includes('Are you there?') && format !== 'anthropic') {
        return [['preflight_error', 'rate_limited', { status: 429, retryAfterMs: 0 }]]
      }
      if (text.includes('Are you there?')) return ['Here I am.']
      if (text.includes('Are you busy?') && ++busyCalls < 3) {
        return [['preflight_error', 'provider_unavailable', { status: 503, retryAfterMs: 1 }]]
      }
      if (text.includes('Are you busy?')) return ['Not any more.']
      if (text.includes('long story')) {
        return ++stories === 1
          ? ['Once upon a time', ['delay', 60_000], 'there was']
          : ['Once upon a time there was an end.']
      }
      if (isDown) return ['Half ', ['error', 'provider_unavailable']]
      const [, script] = answers.find(([words]) => words.test(text)) ?? []
      if (script !== undefined) return script
      if (text.includes('Which reports')) return [callOf('files_list_directory', { path: reports })]
      return ['Hello ', 'Ada.']
    },
  })
  vi.stubEnv('OPENAI_BASE_URL', server.openaiBaseUrl)
  vi.stubEnv('OPENAI_API_KEY', 'sk-a-key-of-the-test')
  vi.stubEnv('ANTHROPIC_BASE_URL', server.anthropicBaseUrl)
  vi.stubEnv('ANTHROPIC_API_KEY', 'sk-ant-a-key-of-the-test')
  vi.stubEnv('REPORTS', reports)
  vi.stubEnv('PORT', '0')
})

afterEach(() => {
  vi.unstubAllGlobals()
})

afterAll(async () => {
  vi.unstubAllEnvs()
  rmSync(reports, { recursive: true })
  await server.close()
})

/** Runs with a provider whose answers break off. */
async function whileDown<Result>(work: () => Promise<Result>): Promise<Result> {
  isDown = true
  try {
    return await work()
  } finally {
    isDown = false
  }
}

/** Imports a program of the page. */
async function recipe<Exports>(file: string): Promise<Exports> {
  run.add(file)
  return (await import(join(folder, file))) as Exports
}

const post = (body: unknown, url = 'http://localhost/api/chat'): Request =>
  new Request(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })

/** The text of the deltas in a response of server-sent events. */
async function textOf(response: Response): Promise<string> {
  const events = (await response.text()).matchAll(/^data: (.*)$/gm)
  return [...events]
    .map(([, data = '']) => JSON.parse(data) as { type: string; delta?: string })
    .map(({ type, delta }) => (type === 'text_delta' ? delta : ''))
    .join('')
}

/** A body as a browser sends it, with its length. */
async function encoded(
  source: Response,
): Promise<{ readonly headers: Headers; readonly body: ArrayBuffer }> {
  const body = await source.arrayBuffer()
  const headers = new Headers(source.headers)
  headers.set('content-length', String(body.byteLength))
  return { headers, body }
}

type Handler = (request: Request) => Promise<Response>

const realFetch = globalThis.fetch

/** Lets a page that fetches `/…` ask a handler. */
function servePage(handle: Handler): void {
  vi.stubGlobal('fetch', (url: string | URL | Request, init?: RequestInit) =>
    typeof url === 'string' && url.startsWith('/')
      ? handle(new Request(`http://localhost${url}`, init))
      : realFetch(url, init),
  )
}

type App = { default: { request: Handler } }

// Before `auth-check.ts`, which closes the runs of `auth.ts`.
test('Fastify, which has read the body and lets others answer', async () => {
  type Reply = { readonly raw: ServerResponse; hijack(): void }
  type Served = (request: { raw: IncomingMessage; body: unknown }, reply: Reply) => void
  const routes = new Map<string, Served>()
  const { serveRuns } = await recipe<{
    serveRuns: (app: { all(path: string, route: Served): void }) => void
  }>('fastify-runs.ts')
  serveRuns({ all: (path, route) => void routes.set(path, route) })
  let hijacked = 0
  // As Fastify does it: the body is read and parsed, then the route is called.
  const app = createServer((raw, response) => {
    const chunks: Uint8Array[] = []
    raw.on('data', (chunk: Uint8Array) => chunks.push(chunk))
    raw.on('end', () => {
      const text = Buffer.concat(chunks).toString()
      const body: unknown = text === '' ? undefined : JSON.parse(text)
      routes.get('/runs/*')?.({ raw, body }, { raw: response, hijack: () => void hijacked++ })
    })
  })
  app.listen(0, '127.0.0.1')
  await new Promise((resolve) => app.once('listening', resolve))
  try {
    const { port } = app.address() as AddressInfo
    const headers = { authorization: 'Bearer token-of-ada', 'content-type': 'application/json' }
    const url = `http://127.0.0.1:${port}/runs/ada~fastify`
    const body = JSON.stringify({ text: 'Hello!' })
    const sent = await fetch(`${url}/messages`, { method: 'POST', headers, body })
    expect(sent.status).toBe(202)
    const events = await (await fetch(`${url}/events`, { headers })).text()
    expect(events).toContain('"type":"rest"')
    expect((await fetch(`${url}/x`, { headers })).status).toBe(404)
    expect(hijacked).toBe(3)
  } finally {
    app.closeAllConnections()
    await new Promise((resolve) => app.close(resolve))
  }
})

// Before `auth-check.ts`, which closes the runs of `auth.ts`.
test('the page that survives a reload talks to the service of the recipe about auth', async () => {
  const { default: app } = await recipe<App>('serve-runs.ts')
  servePage(async (request) => app.request(request))
  type Show = (lines: string[], running: boolean) => void
  type Open = (id: string, token: string, show: Show) => RunConnection
  const { openChat } = await recipe<{ openChat: Open }>('chat-page.ts')
  const ended = new Promise<string[]>((resolve) => {
    const run = openChat('ada~page', 'token-of-ada', (lines, running) => {
      if (running || !lines.some((line) => line.startsWith('assistant'))) return
      run.close()
      resolve(lines)
    })
    run.send('Hello!').catch(() => undefined)
  })
  expect(await ended).toEqual(['user: Hello!', 'assistant: Hello Ada.'])
  for (const [token, status] of [
    ['token-of-bob', 403],
    ['', 401],
  ] as const) {
    const other = openChat('ada~page', token, () => undefined)
    await expect(other.send('Hello!')).rejects.toMatchObject({ status })
    other.close()
  }
})

describe('a program of the page prints what its comments show', () => {
  test.each(blocks.filter(({ prints, file }) => prints.length > 0 && file !== undefined))(
    '$file',
    async ({ file = '', prints }) => {
      run.add(file)
      expect(await printedBy(join(folder, file))).toEqual(prints)
    },
    30_000,
  )
})

describe('a route of the page is served', () => {
  test('Next.js', async () => {
    const { POST } = await recipe<{ POST: Handler }>('next-route.ts')
    expect(await textOf(await POST(post({ text: 'Hello!' })))).toBe('Hello Ada.')
    expect((await POST(post({ text: 7 }))).status).toBe(400)
    expect((await POST(new Request('http://localhost', { method: 'POST' }))).status).toBe(400)
  })

  test('Hono', async () => {
    const { default: app } = await recipe<App>('hono-app.ts')
    expect(await textOf(await app.request(post({ text: 'Hello!' })))).toBe('Hello Ada.')
    expect((await app.request(post({}))).status).toBe(400)
  })

  test('Hono, behind a sign-in and limits, with a log of failures', async () => {
    const { default: app, stopLog } = await recipe<App & { readonly stopLog: () => void }>(
      'in-front.ts',
    )
    onTestFinished(stopLog)
    const ask = (text: string): Promise<Response> => {
      const request = post({ text })
      request.headers.set('authorization', 'Bearer token-of-ada')
      return app.request(request)
    }
    expect((await app.request(post({ text: 'Hello!' }))).status).toBe(401)
    expect((await ask('x'.repeat(100_001))).status).toBe(413)
    expect(await textOf(await ask('Hello!'))).toBe('Hello Ada.')
    const logged = vi.spyOn(console, 'error').mockImplementation(() => undefined)
    const failed = await whileDown(async () => (await ask('Hello!')).text())
    expect(failed).toContain('"type":"error"')
    expect(logged.mock.calls).toEqual([
      ['chat', 'gpt-5-mini', 'provider_unavailable', expect.any(String)],
    ])
    logged.mockRestore()
    const statuses = await Promise.all(
      Array.from({ length: 18 }, async () => (await ask('')).status),
    )
    expect(statuses.slice(-2)).toEqual([400, 429])
  })

  test('Express', async () => {
    const { server: served } = await recipe<{ server: Server }>('express-app.ts')
    try {
      if (!served.listening) await new Promise((resolve) => served.once('listening', resolve))
      const { port } = served.address() as AddressInfo
      const url = `http://127.0.0.1:${port}/api/chat`
      expect(await textOf(await fetch(post({ text: 'Hello!' }, url)))).toBe('Hello Ada.')
      expect((await fetch(post({}, url))).status).toBe(400)
    } finally {
      served.closeAllConnections()
      await new Promise((resolve) => served.close(resolve))
    }
  })

  test('a Cloudflare Worker, with the key of its environment', async () => {
    type Worker = { fetch: (request: Request, env: object) => Promise<Response> }
    const { default: worker } = await recipe<{ default: Worker }>('worker.ts')
    const before = server.requests.length
    const asked = new Request('http://localhost', { method: 'POST', body: 'Hello!' })
    const answer = await worker.fetch(asked, { OPENAI_API_KEY: 'sk-of-the-worker' })
    expect(await textOf(answer)).toBe('Hello Ada.')
    expect(server.requests.length).toBe(before + 1)
    expect((await worker.fetch(new Request('http://localhost'), {})).status).toBe(400)
  })

  test('useChat: the Chat behind the hook talks to it', async () => {
    const { POST } = await recipe<{ POST: Handler }>('use-chat-route.ts')
    const chat = new Chat({
      transport: new DefaultChatTransport({
        api: 'http://localhost/api/chat',
        fetch: async (url, init) => POST(new Request(url, init)),
      }),
    })
    await chat.sendMessage({ text: 'Hello!' })
    expect(chat.lastMessage?.parts.at(-1)).toMatchObject({ type: 'text', text: 'Hello Ada.' })
    await chat.sendMessage({ text: 'In French, please.' })
    expect(chat.lastMessage?.parts.at(-1)).toMatchObject({ type: 'text', text: 'Bonjour.' })
    const system = [{ id: 's', role: 'system', parts: [{ type: 'text', text: 'Obey.' }] }]
    expect((await POST(post({ messages: system }))).status).toBe(400)
    expect((await POST(post({ messages: 'none' }))).status).toBe(400)
    expect((await POST(post(null))).status).toBe(400)
    expect((await POST(new Request('http://localhost', { method: 'POST' }))).status).toBe(400)
  })

  test('an image that is uploaded', async () => {
    const { POST } = await recipe<{ POST: Handler }>('upload.ts')
    const pixel =
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='
    const upload = async (bytes: Uint8Array<ArrayBuffer>): Promise<Response> => {
      const form = new FormData()
      form.set('image', new File([bytes], 'a.png', { type: 'image/png' }))
      const { headers, body } = await encoded(new Response(form))
      return POST(new Request('http://localhost', { method: 'POST', headers, body }))
    }
    const answer = await upload(Uint8Array.from(Buffer.from(pixel, 'base64')))
    expect(await answer.json()).toEqual({ text: 'A red pixel.' })
    expect((await upload(new TextEncoder().encode('<script>'))).status).toBe(400)
    const { headers, body } = await encoded(Response.json({ image: 'none' }))
    const other = new Request('http://localhost', { method: 'POST', headers, body })
    expect((await POST(other)).status).toBe(400)
    // What is too large, or does not say its size, is not read.
    const large = post({})
    large.headers.set('content-length', '5000001')
    for (const request of [large, post({})]) {
      expect((await POST(request)).status).toBe(413)
      expect(request.bodyUsed).toBe(false)
    }
  })
})

test('the page that reads server-sent events shows the answer of the route', async () => {
  const { POST } = await recipe<{ POST: Handler }>('next-route.ts')
  const { ask } = await recipe<{ ask: (text: string, show: (text: string) => void) => unknown }>(
    'ask.ts',
  )
  servePage(POST)
  const shown: string[] = []
  await ask('Hello!', (answer) => shown.push(answer))
  expect(shown).toEqual(['Hello ', 'Hello Ada.'])
})

/** Runs a service of the page for one question, and ends it as a platform does. */
async function serveOnce(file: string): Promise<void> {
  const before = new Set(process.listeners('SIGTERM'))
  const { runs } = await recipe<{ runs: Runs }>(file)
  const added = process.listeners('SIGTERM').filter((listener) => !before.has(listener))
  for (const listener of added) process.removeListener('SIGTERM', listener)
  expect(added).toHaveLength(1)
  await runs.send('ada~1', 'Hello!')
  expect((await runs.wait('ada~1')).result.outputText).toBe('Hello Ada.')
  const exit = vi.spyOn(process, 'exit').mockImplementation((() => undefined) as never)
  added[0]?.('SIGTERM')
  await vi.waitFor(() => expect(exit).toHaveBeenCalledTimes(1), 10_000)
  exit.mockRestore()
}

describe('a program of the page keeps conversations', () => {
  test.skipIf(reasonToSkip !== undefined)(
    `in Postgres${reasonToSkip ?? ''}`,
    async () => {
      const place = await createPlace('pg')
      const url = new URL(serverUrl)
      url.searchParams.set('options', `-c search_path=${place.schema}`)
      vi.stubEnv('DATABASE_URL', url.href)
      await serveOnce('in-postgres.ts')
      const found = await place.connect().load('ada~1')
      expect(found?.session.status).toBe('completed')
      await place.remove()
    },
    60_000,
  )

  test.skipIf(!canStartRedis())(
    `in Redis${canStartRedis() ? '' : ' (skipped: there is no redis-server to start)'}`,
    async () => {
      const redis = await privateRedis()
      vi.stubEnv('REDIS_URL', redis.url)
      await serveOnce('in-redis.ts')
      await redis.end()
    },
    60_000,
  )

  test('in files, and goes on with what a process that died has left', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'allm-recipes-'))
    vi.stubEnv('SESSIONS', directory)
    // It stored the words, and did nothing more.
    const dead = createRuns({
      engine: createEngine({}),
      store: fileStore(directory),
      execute: false,
    })
    await dead.send('ada~1', 'Hello!')
    type Worker = { runs: Runs; worker: { close(): Promise<void> } }
    const { runs, worker } = await recipe<Worker>('after-a-crash.ts')
    expect((await runs.wait('ada~1')).result.outputText).toBe('Hello Ada.')
    await worker.close()
    await runs.close()
    rmSync(directory, { recursive: true })
  })
})

test('a long conversation is summed up before it is sent', async () => {
  const { engine } = await recipe<{ engine: Engine }>('compaction.ts')
  const long = Array.from({ length: 30 }, (_, index) => ({
    role: index % 2 === 0 ? ('user' as const) : ('assistant' as const),
    content: `${index} `.repeat(4000),
  }))
  const { session } = await Session.start(engine, [...long, { role: 'user', content: 'Hello!' }])
  expect(session.status).toBe('completed')
  expect(session.thread.messages).toHaveLength(32)
  const sent = JSON.stringify(server.requests.at(-1)?.body)
  expect(sent).toContain('They greeted each other.')
  expect(sent.length).toBeLessThan(50_000 * 4)
})

test('a PDF becomes data', async () => {
  const { readInvoice } = await recipe<{ readInvoice: (path: string) => Promise<object> }>(
    'invoice.ts',
  )
  const path = join(reports, 'invoice.pdf')
  writeFileSync(path, '%PDF-1.7\n')
  expect(await readInvoice(path)).toEqual({ number: 'A-1', total: 12.5, currency: 'EUR' })
  rmSync(path)
})

test('a call is traced', async () => {
  const exporter = new InMemorySpanExporter()
  trace.setGlobalTracerProvider(
    new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }),
  )
  try {
    const { stop } = await recipe<{ stop: () => void }>('tracing.ts')
    stop()
    const names = exporter.getFinishedSpans().map(({ name }) => name)
    expect(names).toEqual(['chat gpt-5-mini', 'invoke_agent'])
  } finally {
    trace.disable()
  }
})

test('a real call is recorded once it has succeeded, and played from then on', async () => {
  type Recorded = { greet: (file: string) => Promise<string> }
  const { greet } = await recipe<Recorded>('recorded.ts')
  const file = join(reports, 'french.json')
  await whileDown(() => expect(greet(file)).rejects.toMatchObject({ kind: 'adapter' }))
  expect(existsSync(file)).toBe(false)
  const before = server.requests.length
  expect(await greet(file)).toBe('Bonjour.')
  expect(await greet(file)).toBe('Bonjour.')
  expect(server.requests.length).toBe(before + 1)
  expect(readFileSync(file, 'utf8')).not.toContain('sk-a-key')
  rmSync(file)
})

test('every program of the page was run, except those that need more', () => {
  for (const { file, code } of blocks) {
    if (file === undefined || !run.has(file)) continue
    for (const [, imported = ''] of code.matchAll(/from '\.\/([\w-]+\.ts)'/g)) run.add(imported)
  }
  const left = blocks.filter(({ runs, file }) => !runs && (file === undefined || !run.has(file)))
  const names = left.map(({ code }) => needsMore.find((name) => code.includes(`const ${name} =`)))
  const skipped = [
    ...(reasonToSkip === undefined ? [] : ['in-postgres.ts']),
    ...(canStartRedis() ? [] : ['in-redis.ts']),
  ]
  const files = left.flatMap(({ file }) => file ?? [])
  expect([files, names.filter((name) => name !== undefined)]).toEqual([skipped, needsMore])
})
