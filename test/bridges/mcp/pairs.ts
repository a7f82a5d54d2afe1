import { Client as NewClient } from '@modelcontextprotocol/client'
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js'
import { InMemoryTransport as OldTransport } from '@modelcontextprotocol/sdk/inMemory.js'
import { Server as OldServer } from '@modelcontextprotocol/sdk/server/index.js'
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import {
  InMemoryTransport as NewTransport,
  Server as NewServer,
} from '@modelcontextprotocol/server'
import { chat, createEngine, type Tool } from '../../../src/index.ts'
import type { McpClient } from '../../../src/mcp.ts'
import { fake } from '../../../src/testing.ts'

/** What a scripted server gets with a call. */
export interface ServedCall {
  readonly name: string
  readonly arguments: Readonly<Record<string, unknown>>
  /** Aborted when the client cancels the call. */
  readonly signal: AbortSignal
  /** Sends `notifications/progress` for the call. */
  readonly progress: (params: object) => Promise<void>
  /** Sends `elicitation/create` and gives the answer of the client. */
  readonly elicit: (params: object) => Promise<Readonly<Record<string, unknown>>>
}

/** A server of a few lines. */
export interface ServerScript {
  /** The answer to `tools/list`. Default: one tool of the name `act`. */
  readonly list?: (cursor: string | undefined) => object
  /** The answer to `tools/call`. */
  readonly call?: (call: ServedCall) => object | Promise<object>
}

/** A client and a server in this process. */
export interface Pair {
  readonly client: NewClient | OldClient
  /** Tells the client that the list has changed. */
  readonly listChanged: () => Promise<void>
  /** How many calls the client has told the server to cancel. */
  readonly cancels: () => number
  /** Ends the connection from the server's side. */
  readonly kill: () => Promise<void>
}

/** A tool without arguments, as a server lists it. */
export function listed(name: string, more: object = {}): object {
  return { name, description: `The tool ${name}.`, inputSchema: { type: 'object' }, ...more }
}

/** A result of one text. */
export function said(text: string): object {
  return { content: [{ type: 'text', text }] }
}

/** The packages whose clients are tried, against a server of the same package. */
export const packages = ['client 2.4', 'sdk 1.32'] as const

/** A pair of either package. The client takes questions unless it is told not to. */
export async function connectPair(
  which: (typeof packages)[number],
  script: ServerScript,
  capabilities: object = { elicitation: {} },
): Promise<Pair> {
  return which === 'client 2.4' ? newPair(script, capabilities) : oldPair(script, capabilities)
}

const info = { name: 'test', version: '1.0.0' }
const options = { capabilities: { tools: { listChanged: true } } }
const oneTool = (): object => ({ tools: [listed('act')] })
const done = (): object => said('done')

async function newPair(
  { list = oneTool, call = done }: ServerScript,
  capabilities: object,
): Promise<Pair> {
  const [near, far] = NewTransport.createLinkedPair()
  const server = new NewServer(info, options)
  // The packages' own types of results are stricter than what these scripts try.
  server.setRequestHandler('tools/list', ({ params }) => list(params?.cursor) as never)
  server.setRequestHandler('tools/call', async ({ params }, { mcpReq }) => {
    const { signal, _meta, notify, send } = mcpReq
    const answer = await call({
      name: params.name,
      arguments: params.arguments ?? {},
      signal,
      progress: (more) => notify(progressOf(_meta, more)),
      elicit: async (asked) => ({
        ...(await send({ method: 'elicitation/create', params: { ...asked } })),
      }),
    })
    return answer as never
  })
  const client = new NewClient(info, { capabilities })
  await Promise.all([server.connect(far), client.connect(near)])
  return {
    client,
    listChanged: () => server.notification({ method: 'notifications/tools/list_changed' }),
    cancels: countCancels(far),
    kill: () => server.close(),
  }
}

async function oldPair(
  { list = oneTool, call = done }: ServerScript,
  capabilities: object,
): Promise<Pair> {
  const [near, far] = OldTransport.createLinkedPair()
  const server = new OldServer(info, options)
  server.setRequestHandler(ListToolsRequestSchema, ({ params }) => list(params?.cursor) as never)
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, extra) => {
    const { _meta: meta, signal } = extra
    const answer = await call({
      name: params.name,
      arguments: params.arguments ?? {},
      signal,
      progress: (more) => extra.sendNotification(progressOf(meta, more)),
      elicit: async (asked) => ({ ...(await server.elicitInput(asked as never)) }),
    })
    return answer
  })
  const client = new OldClient(info, { capabilities })
  await Promise.all([server.connect(far), client.connect(near)])
  return {
    client,
    listChanged: () => server.sendToolListChanged(),
    cancels: countCancels(far),
    kill: () => server.close(),
  }
}

interface ProgressMeta {
  readonly progressToken?: string | number | undefined
}

function progressOf(
  meta: ProgressMeta | undefined,
  more: object,
): {
  method: 'notifications/progress'
  params: { progressToken: string | number; progress: number }
} {
  const params = { progressToken: meta?.progressToken ?? '', progress: 0, ...more }
  return { method: 'notifications/progress', params }
}

/** Counts `notifications/cancelled` as they arrive at the server. */
function countCancels(transport: object): () => number {
  let count = 0
  const before: unknown = Reflect.get(transport, 'onmessage')
  const onmessage = (message: object, extra: unknown): void => {
    if (Reflect.get(message, 'method') === 'notifications/cancelled') count++
    if (typeof before === 'function') before.call(transport, message, extra)
  }
  Object.assign(transport, { onmessage })
  return () => count
}

/** The content of the tool message, after a chat whose model calls the tool once. */
export async function resultOfCall(
  tools: readonly Tool[],
  args: object = {},
  name: string | undefined = tools[0]?.name,
): Promise<unknown> {
  const call = ['tool_call', { id: 'c1', name: String(name), arguments: { ...args } }] as const
  const adapter = fake({ scripts: [[call], [['text', 'done']]] })
  const { thread } = await chat(createEngine({ adapter, tools }), 'go')
  return thread.messages[2]?.content
}

/** A client without any of the optional members: only a list and calls. */
export function plainClient(
  tools: readonly object[],
  callTool: (params: never, options: never) => Promise<unknown>,
): McpClient {
  return { listTools: async () => ({ tools }), callTool, close: async () => undefined }
}

/** Lets everything go on until something is true. */
export async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setImmediate(resolve))
}
