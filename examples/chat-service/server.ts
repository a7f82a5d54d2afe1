// A chat service: conversations that survive a reload, a crash and a deploy. The routes are those of `runs.handler`; what is
// here is the page, who may see what, and how the process begins and ends.
//
//     npm run example chat-service [-- --provider openai --model gpt-5-mini]
import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createEngine } from 'allm-ts'
import { createRuns, toNodeHandler } from 'allm-ts/runs'
import { choose } from '../choose.ts'
import { demoModel } from './demo-model.ts'
import { openStore } from './open-store.ts'
import { tools } from './tools.ts'

const engine = createEngine({
  ...choose(demoModel),
  tools,
  instructions: 'You sell train tickets. Search first, let the customer choose a seat, then book.',
})
// Text is stored, and seen, at most this late. A larger number is fewer writes.
const runs = createRuns({ engine, store: await openStore(), saveEveryMs: 60 })
// Goes on with the runs of processes that died.
const worker = runs.work()

/** The page gives every browser a cookie, so each is a tenant. A real service looks at its sign-in here. */
const visitorOf = (request: Request): string | undefined =>
  /(?:^|; )visitor=([\w-]+)/.exec(request.headers.get('cookie') ?? '')?.[1]

const chat = runs.handler({
  mount: '/runs',
  authorize: (request, id) => {
    const visitor = visitorOf(request)
    if (visitor !== undefined && id.startsWith(`${visitor}.`)) return { metadata: { visitor } }
    return Response.json({ reason: 'forbidden', message: 'not your conversation' }, { status: 403 })
  },
})

const files: Readonly<Record<string, readonly [name: string, type: string]>> = {
  '/': ['page.html', 'text/html; charset=utf-8'],
  '/page.js': ['page.js', 'text/javascript; charset=utf-8'],
}

async function handle(request: Request): Promise<Response> {
  const { pathname } = new URL(request.url)
  if (pathname.startsWith('/runs/')) return chat(request)
  const [name, type] = files[pathname] ?? []
  if (name === undefined || type === undefined) return new Response('not found', { status: 404 })
  const headers = new Headers({ 'content-type': type, 'cache-control': 'no-cache' })
  if (visitorOf(request) === undefined) {
    headers.set('set-cookie', `visitor=${randomUUID()}; Path=/; SameSite=Lax; Max-Age=31536000`)
  }
  return new Response(await readFile(new URL(name, import.meta.url)), { headers })
}

const server = createServer(toNodeHandler(handle))
server.listen(Number(process.env['PORT'] ?? 3000), process.env['HOST'] ?? '127.0.0.1', () => {
  const { address, port } = server.address() as AddressInfo
  console.log(`open http://${address}:${port}  (model: ${engine.provider}; stop with Ctrl+C)`)
})

/** For a deploy: tools may end (`drainMs`), runs are saved as they are, and the next process goes on with them. */
async function shutDown(): Promise<void> {
  server.close()
  await worker.close()
  await runs.close()
  process.exit()
}
process.once('SIGTERM', () => void shutDown())
process.once('SIGINT', () => void shutDown())
