import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'
import {
  Client as NewClient,
  StreamableHTTPClientTransport as NewHttp,
} from '@modelcontextprotocol/client'
import { StdioClientTransport as NewStdio } from '@modelcontextprotocol/client/stdio'
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as OldStdio } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport as OldHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { build } from 'esbuild'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { anthropic } from '../../../src/anthropic.ts'
import { gemini } from '../../../src/gemini.ts'
import { chat, createEngine, Session, streamChat, type Tool } from '../../../src/index.ts'
import {
  connectMcp,
  mcpTools,
  type McpConnectOptions,
  type McpConnection,
} from '../../../src/mcp.ts'
import { openaiChat, openaiResponses } from '../../../src/openai.ts'
import { createFakeServer } from '../../../src/server.ts'
import { collectEvents, fake } from '../../../src/testing.ts'
import { root } from '../../support/root.ts'
import { packages, resultOfCall, until } from './pairs.ts'

const everything = join(root, 'node_modules/@modelcontextprotocol/server-everything/dist/index.js')
const filesystem = join(root, 'node_modules/@modelcontextprotocol/server-filesystem/dist/index.js')
const info = { name: 'test', version: '1.0.0' }
const capabilities = { elicitation: { form: {} } }

/** Connects a client of a package to a program. */
const program =
  (which: (typeof packages)[number], args: readonly string[], pids: number[] = []) =>
  async (options: McpConnectOptions) => {
    const parameters = { command: process.execPath, args: [...args], stderr: 'ignore' as const }
    if (which === 'client 2.4') {
      const client = new NewClient(info, { capabilities })
      const transport = new NewStdio(parameters)
      const connected = client.connect(transport, options)
      await until(() => transport.pid !== null)
      pids.push(transport.pid ?? 0)
      await connected
      return client
    }
    const client = new OldClient(info, { capabilities })
    const transport = new OldStdio(parameters)
    const connected = client.connect(transport, options)
    await until(() => transport.pid !== null)
    pids.push(transport.pid ?? 0)
    await connected
    return client
  }

/** Connects a client of a package to an address. */
const address =
  (which: (typeof packages)[number], url: string) => async (options: McpConnectOptions) => {
    const client =
      which === 'client 2.4'
        ? new NewClient(info, { capabilities })
        : new OldClient(info, { capabilities })
    const transport = which === 'client 2.4' ? new NewHttp(new URL(url)) : new OldHttp(new URL(url))
    await client.connect(transport, options)
    return client
  }

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** A chat whose model calls one tool, as events. */
function callEvents(tools: readonly Tool[], name: string, args: object = {}) {
  const call = ['tool_call', { id: 'c1', name, arguments: { ...args } }] as const
  const adapter = fake({ scripts: [[call], [['text', 'done']]] })
  return streamChat(createEngine({ adapter, tools }), 'go')
}

const longRunning = 'trigger-long-running-operation'

interface Sent {
  readonly id?: unknown
  readonly method?: string
  readonly params?: unknown
}

/** What a client sends and gets from now on. */
function watched(client: unknown): {
  readonly sent: readonly Sent[]
  readonly received: readonly Sent[]
  leave(): void
} {
  const { transport } = client as { transport: Record<'send' | 'onmessage', Pass> }
  const { send, onmessage } = transport
  const sent: Sent[] = []
  const received: Sent[] = []
  const noting =
    (list: Sent[], pass: Pass): Pass =>
    (message, ...rest) => {
      list.push(message)
      return pass.call(transport, message, ...rest)
    }
  Object.assign(transport, { send: noting(sent, send), onmessage: noting(received, onmessage) })
  return { sent, received, leave: () => void Object.assign(transport, { send, onmessage }) }
}

type Pass = (message: Sent, ...rest: unknown[]) => unknown

/** server-everything over HTTP. It says its port when it listens. */
async function startHttp(
  port = '0',
): Promise<{ readonly child: ChildProcess; readonly port: string }> {
  const tell = `import net from 'node:net'
const { listen } = net.Server.prototype
net.Server.prototype.listen = function (...args) {
  this.once('listening', () => console.error('PORT ' + this.address().port))
  return listen.apply(this, args)
}`
  const loader = `data:text/javascript,${encodeURIComponent(tell)}`
  const child = spawn(process.execPath, ['--import', loader, everything, 'streamableHttp'], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { PATH: process.env['PATH'], PORT: port },
  })
  for await (const line of createInterface(child.stderr)) {
    const [, found] = /^PORT (\d+)$/.exec(line) ?? []
    if (found !== undefined) return { child, port: found }
  }
  throw new Error('server-everything did not start')
}

async function kill(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}

describe.each(packages)('%s and server-everything', (which) => {
  let http: Awaited<ReturnType<typeof startHttp>>
  const connections: McpConnection<NewClient | OldClient>[] = []
  const pids: number[] = []

  beforeAll(async () => {
    http = await startHttp()
    connections.push(await connectMcp(program(which, [everything], pids)))
    connections.push(await connectMcp(address(which, `http://127.0.0.1:${http.port}/mcp`)))
  })
  afterAll(async () => {
    for (const connection of connections) await connection.close()
    http.child.kill('SIGKILL')
    expect(pids.filter(isAlive)).toEqual([])
  })

  describe.each([
    ['stdio', 0],
    ['HTTP', 1],
  ])('over %s', (_title, at) => {
    const tools = (): readonly Tool[] => connections[at]?.tools ?? []
    const call = (name: string, args: object = {}) => resultOfCall(tools(), args, name)

    test('lists its tools', () => {
      expect(tools().length).toBeGreaterThan(12)
      expect(tools().find(({ name }) => name === 'get-sum')).toMatchObject({
        description: 'Returns the sum of two numbers',
        schema: { type: 'object', required: ['a', 'b'] },
      })
    })

    test('every API takes its tools, under any prefix', async () => {
      await using server = await createFakeServer({ script: [['text', 'Hello']], repeat: true })
      const { openaiBaseUrl: baseUrl } = server
      const adapters = [
        openaiChat({ baseUrl, apiKey: 'any' }),
        openaiResponses({ baseUrl, apiKey: 'any' }),
        anthropic({ baseUrl: server.anthropicBaseUrl, apiKey: 'any' }),
        gemini({ baseUrl: server.geminiBaseUrl, apiKey: 'any' }),
      ]
      const client = connections[at]?.client
      if (client === undefined) throw new Error('there is no client')
      const prefixed = await mcpTools(client, { prefix: `7.${'long'.repeat(12)}/` })
      expect(prefixed).toHaveLength(tools().length)
      for (const adapter of adapters) {
        for (const offered of [tools(), prefixed]) {
          const engine = createEngine({ adapter, model: 'a-model', tools: offered })
          expect((await chat(engine, 'Hello')).outputText).toBe('Hello')
        }
      }
    })

    test('texts, structured content, images and resources arrive', async () => {
      expect(await call('echo', { message: 'hi' })).toBe('Echo: hi')
      expect(
        JSON.parse(String(await call('get-structured-content', { location: 'Chicago' }))),
      ).toMatchObject({
        temperature: 36,
      })
      expect(await call('get-tiny-image')).toMatchObject([
        { type: 'text' },
        { type: 'image', image: { mimeType: 'image/png' } },
        { type: 'text' },
      ])
      expect(
        await call('get-resource-reference', { resourceType: 'Text', resourceId: 1 }),
      ).toMatchObject([
        { type: 'text' },
        {
          type: 'text',
          text: expect.stringMatching(/^demo:\/\/resource\/dynamic\/text\/1\nResource 1/),
        },
        { type: 'text' },
      ])
      expect(
        await call('get-resource-reference', { resourceType: 'Blob', resourceId: 1 }),
      ).toMatchObject([
        { type: 'text' },
        { type: 'file', file: { mimeType: 'text/plain', name: '1' } },
        { type: 'text' },
      ])
      expect(await call('get-resource-links', { count: 1 })).toMatchObject([
        { type: 'text' },
        {
          type: 'text',
          text: 'Blob Resource 1: demo://resource/dynamic/blob/1: Resource 1: plaintext resource',
        },
      ])
    })

    test('a call that fails there is one that the model reads about', async () => {
      expect(await call('get-sum', { a: 1, b: 'two' })).toMatch(
        /^\{"error":"MCP error -32602: .*expected number/,
      )
    })

    test('progress arrives as it is made', async () => {
      const events = await collectEvents(
        callEvents(tools(), 'trigger-long-running-operation', { duration: 0.03, steps: 3 }),
      )
      const told = events.flatMap((event) => (event.type === 'tool_progress' ? [event.data] : []))
      // The older package drops progress that comes together with the result.
      expect(told.slice(0, 2)).toEqual([
        { progress: 1, total: 3 },
        { progress: 2, total: 3 },
      ])
    })

    test.each(['at the deadline of the tool', 'when the run is stopped'])(
      'a call is cancelled %s, and the server does not answer it',
      async (when) => {
        const isDeadline = when.startsWith('at')
        const wire = watched(connections[at]?.client)
        const stop = new AbortController()
        const slow = { id: 'c1', name: longRunning, arguments: { duration: 0.4, steps: 4 } }
        const adapter = fake({ scripts: [[['tool_call', slow]], [['text', 'done']]] })
        const toolTimeoutMs = isDeadline ? 50 : 60_000
        const engine = createEngine({ adapter, tools: tools(), toolTimeoutMs })
        for await (const event of streamChat(engine, 'go', { signal: stop.signal })) {
          if (!isDeadline && event.type === 'tool_progress') stop.abort()
        }
        // A later call that takes as long has its result, so the cancelled one would have it, too.
        await call(longRunning, { duration: 0.4, steps: 1 })
        const [cancelled, later] = wire.sent.filter(({ method }) => method === 'tools/call')
        expect(wire.sent).toContainEqual(
          expect.objectContaining({
            method: 'notifications/cancelled',
            params: expect.objectContaining({ requestId: cancelled?.id }),
          }),
        )
        const answered = wire.received.filter((message) => 'result' in message)
        expect(answered.map(({ id }) => id)).toContain(later?.id)
        expect(answered.map(({ id }) => id)).not.toContain(cancelled?.id)
        wire.leave()
      },
    )

    test('a question of the server is answered by the user', async () => {
      const call = { id: 'c1', name: 'trigger-elicitation-request', arguments: {} }
      const adapter = fake({ scripts: [[['tool_call', call]], [['text', 'done']]] })
      const engine = createEngine({ adapter, tools: tools() })
      const { session } = await Session.start(engine, 'go')
      expect(session.pendingQuestion).toBe('Please provide inputs for the following fields:')
      const answer = JSON.stringify({ name: 'Ada', check: true, integer: 7 })
      const { session: after } = await Session.reply(engine, session, answer)
      expect(JSON.stringify(after.thread.messages[2]?.content)).toContain('- Favorite Integer: 7')
    })
  })

  test.each([
    ['stdio', 0],
    ['HTTP', 1],
  ])(
    'over %s it is killed in the middle of a chat: the call fails, the next one is made by a new client',
    async (_title, at) => {
      const connection = connections[at]
      const before = connection?.client
      const slow = { duration: 600, steps: 60_000 }
      const adapter = fake({
        scripts: [
          [['tool_call', { id: 'c1', name: 'trigger-long-running-operation', arguments: slow }]],
          [['tool_call', { id: 'c2', name: 'echo', arguments: { message: 'again' } }]],
          [['text', 'done']],
        ],
      })
      const engine = createEngine({ adapter, tools: connection?.tools ?? [] })
      const contents: unknown[] = []
      let isKilled = false
      for await (const event of streamChat(engine, 'go')) {
        if (event.type === 'tool_progress' && !isKilled) {
          isKilled = true
          if (at === 0) process.kill(pids.at(-1) ?? 0, 'SIGKILL')
          else await kill(http.child)
        }
        if (event.type !== 'tool_result_encoded') continue
        contents.push(event.content)
        if (at === 1 && contents.length === 1) {
          http = await startHttp(http.port)
          // This is how the clients themselves go on.
          await expect(
            before?.callTool({ name: 'echo', arguments: { message: 'again' } }),
          ).rejects.toThrow()
        }
      }
      expect(contents).toEqual([
        '{"error":"the connection to the MCP server was lost before the call had a result; it may have taken effect"}',
        'Echo: again',
      ])
      expect(connection?.client).not.toBe(before)
    },
  )
})

test('server-filesystem reads a file of its folder, and nothing else', async () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'allm-mcp-')))
  try {
    writeFileSync(join(folder, 'a.txt'), 'Hello')
    const connect = program('client 2.4', [filesystem, folder])
    await using connection = await connectMcp(connect, { prefix: 'fs', trustAnnotations: true })
    const { tools } = connection
    expect(tools.find(({ name }) => name === 'fs_write_file')).toMatchObject({
      needsApproval: true,
    })
    expect(tools.find(({ name }) => name === 'fs_read_text_file')).toMatchObject({
      idempotent: true,
    })
    const read = (path: string) => resultOfCall(tools, { path }, 'fs_read_text_file')
    expect(await read(join(folder, 'a.txt'))).toContain('Hello')
    expect(await read('/etc/passwd')).toContain('Access denied')
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

describe('nothing is left running', () => {
  test.each(packages)('behind a server that never answers initialize: %s', async (which) => {
    const pids: number[] = []
    // It reads what it is sent, and says nothing.
    const connect = program(which, ['-e', 'process.stdin.resume()'], pids)
    const connecting = connectMcp(connect, { connectTimeoutMs: 50 })
    await expect(connecting).rejects.toMatchObject({ reason: 'timeout' })
    await until(() => !isAlive(pids[0] ?? 0))
  })

  test('when this process is killed', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'allm-mcp-'))
    try {
      const bundle = join(folder, 'mcp.mjs')
      await build({
        entryPoints: [join(root, 'src/mcp.ts')],
        outfile: bundle,
        bundle: true,
        format: 'esm',
      })
      const packageUrl = (file: string): string =>
        pathToFileURL(join(root, 'node_modules/@modelcontextprotocol/client/dist', file)).href
      const script = `
import { connectMcp } from '${pathToFileURL(bundle).href}'
import { Client } from '${packageUrl('index.mjs')}'
import { StdioClientTransport } from '${packageUrl('stdio.mjs')}'
const transport = new StdioClientTransport({ command: process.execPath, args: ['${everything}'], stderr: 'ignore' })
await connectMcp(async (options) => {
  const client = new Client({ name: 'test', version: '1.0.0' })
  await client.connect(transport, options)
  return client
})
console.log(transport.pid)`
      const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      let pid = 0
      for await (const line of createInterface(child.stdout)) {
        pid = Number(line)
        break
      }
      expect(isAlive(pid)).toBe(true)
      await kill(child)
      await until(() => !isAlive(pid))
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })
})
