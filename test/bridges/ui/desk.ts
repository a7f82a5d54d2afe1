import { createServer, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { toNodeHandler, type Runs } from '../../../src/runs.ts'
import { resumeUiMessages, sendUiMessages, type UiMessageInput } from '../../../src/ui.ts'

/** A server on the loopback interface that lasts for one test. */
export interface Desk {
  readonly url: string
  /** The bodies that were posted to `/api/chat`. */
  readonly posted: readonly Posted[]
  /** Breaks every connection. */
  cut(): void
  [Symbol.asyncDispose](): Promise<void>
}

interface Posted {
  readonly id: string
  readonly messages: readonly UiMessageInput[]
  readonly trigger?: string
  readonly messageId?: string
}

/** Serves `useChat` by the given answer to its posts, and a page that comes back by `resume`. */
export async function openDesk(
  answer: (posted: Posted, request: Request) => Response | Promise<Response>,
  resume: (id: string) => Response | Promise<Response> = () => new Response(null, { status: 204 }),
): Promise<Desk> {
  const posted: Posted[] = []
  const handle = async (request: Request): Promise<Response> => {
    const [, , , id, action] = new URL(request.url).pathname.split('/')
    if (request.method === 'GET' && action === 'stream') return resume(decodeURIComponent(id ?? ''))
    const body = (await request.json()) as Posted
    posted.push(body)
    try {
      return await answer(body, request)
    } catch (error) {
      return new Response(error instanceof Error ? error.message : 'failed', { status: 400 })
    }
  }
  const sockets = new Set<Socket>()
  const server: Server = createServer(toNodeHandler(handle))
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const cut = (): void => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    url: `http://127.0.0.1:${port}/api/chat`,
    posted,
    cut,
    [Symbol.asyncDispose]: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      cut()
      await closed
    },
  }
}

/** Serves `useChat` from runs, as a user's server does. */
export function openRunsDesk(runs: Runs, version: 5 | 6 | 7 = 6): Promise<Desk> {
  return openDesk(
    ({ id, messages, trigger, messageId }) =>
      sendUiMessages(runs, id, messages, {
        version,
        trigger,
        messageId,
        authorize: () => true,
      }),
    (id) => resumeUiMessages(runs, id, { version }),
  )
}
