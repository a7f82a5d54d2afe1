// A chat for a page that is written with the AI SDK: `useChat` and `DefaultChatTransport` find their routes here. Answers go on when the
// page is closed, and a page that comes back has them.
//
//     npm run example use-chat [-- --provider openai --model gpt-5-mini]
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createEngine } from 'allm-ts'
import { createRuns, toNodeHandler } from 'allm-ts/runs'
import { memoryStore } from 'allm-ts/stores'
import {
  resumeUiMessages,
  sendUiMessages,
  toUiMessages,
  type PageAction,
  type UiMessageInput,
} from 'allm-ts/ui'
import { demoModel } from '../chat-service/demo-model.ts'
import { tools } from '../chat-service/tools.ts'
import { choose } from '../choose.ts'

const engine = createEngine({
  ...choose(demoModel),
  tools,
  instructions: 'You sell train tickets. Search first, let the customer choose a seat, then book.',
})
// `openStore` of the example chat-service opens one that survives a restart.
const runs = createRuns({ engine, store: memoryStore(), saveEveryMs: 60 })

/** Whether a conversation is the visitor's. Here its id is a secret; a real service looks at its sign-in. */
const isAllowed = (_request: Request, id: string): boolean => /^[\w-]{36}$/.test(id)

/** Customers write, and confirm what they book themselves. What protects the service is not theirs to decide. */
async function mayDo(id: string, action: PageAction, callId?: string): Promise<boolean> {
  if (action === 'messages' || action === 'resume') return true
  const { session } = (await runs.get(id)) ?? {}
  const call = session?.pendingApprovals.find((pending) => pending.id === callId)
  return action === 'approvals' && call?.name === 'book_ticket'
}

/** What the page posts. It is checked where it is used. */
interface Posted {
  readonly id: string
  readonly messages: readonly UiMessageInput[]
  readonly trigger?: string
  readonly messageId?: string
}

async function chat(request: Request): Promise<Response> {
  const [, , , part, action] = new URL(request.url).pathname.split('/')
  const isPost = request.method === 'POST' && part === undefined
  // Another site cannot send this type.
  if (isPost && request.headers.get('content-type') !== 'application/json') {
    return new Response('the content type must be application/json', { status: 415 })
  }
  const body = isPost ? ((await request.json()) as Posted) : undefined
  const id = body?.id ?? part ?? ''
  if (!isAllowed(request, id)) return new Response('not your conversation', { status: 403 })
  if (body !== undefined) {
    const { messages, trigger, messageId } = body
    return sendUiMessages(runs, id, messages, {
      trigger,
      messageId,
      authorize: (what, callId) => mayDo(id, what, callId),
    })
  }
  if (action === 'stream') return resumeUiMessages(runs, id)
  if (action === 'stop') {
    await runs.stop(id)
    return Response.json({})
  }
  const info = await runs.get(id)
  return Response.json({ messages: info ? toUiMessages(info.session) : [], running: info?.running })
}

const files: Readonly<Record<string, readonly [name: string, type: string]>> = {
  '/': ['page.html', 'text/html; charset=utf-8'],
  '/page.js': ['page.js', 'text/javascript; charset=utf-8'],
}

async function handle(request: Request): Promise<Response> {
  const { pathname } = new URL(request.url)
  if (/^\/api\/chat(\/|$)/.test(pathname)) return chat(request)
  const [name, type] = files[pathname] ?? []
  if (name === undefined || type === undefined) return new Response('not found', { status: 404 })
  return new Response(await readFile(new URL(name, import.meta.url)), {
    headers: { 'content-type': type, 'cache-control': 'no-cache' },
  })
}

const server = createServer(toNodeHandler(handle))
server.listen(Number(process.env['PORT'] ?? 3000), process.env['HOST'] ?? '127.0.0.1', () => {
  const { address, port } = server.address() as AddressInfo
  console.log(`open http://${address}:${port}  (model: ${engine.provider}; stop with Ctrl+C)`)
})
for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, () => process.exit())
