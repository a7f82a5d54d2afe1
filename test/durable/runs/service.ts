import { createEngine, askUser, tool, type Engine } from '../../../src/index.ts'
import {
  createRuns,
  type HandlerOptions,
  type RunMessage,
  type Runs,
  type RunsHandler,
  type RunsOptions,
  type RunView,
} from '../../../src/runs.ts'
import { memoryStore } from '../../../src/stores.ts'
import { fake, type Script } from '../../../src/testing.ts'

/** A chat service in memory, as the tests of the handler and of the client use it. */
export interface Service {
  readonly runs: Runs
  readonly handle: RunsHandler
  /** A request for the session `ada`, or for another path. */
  readonly get: (path: string, headers?: Record<string, string>) => Promise<Response>
  readonly post: (
    path: string,
    body: unknown,
    headers?: Record<string, string>,
  ) => Promise<Response>
  /** Lets the tool `slow` return, now and later. */
  readonly open: () => void
  /** Resolves when the tool `slow` runs. */
  readonly reached: Promise<void>
}

/** What the model says: the first words of the last user message name a script. */
const scripts: Readonly<Record<string, Script>> = {
  hello: [
    ['text', 'Hello'],
    ['text', ', Ada.'],
  ],
  slow: [
    ['text', 'Let me see.'],
    ['tool_call', { id: 'c1', name: 'slow', arguments: {} }],
  ],
  pay: [['tool_call', { id: 'c2', name: 'pay', arguments: { euros: 3 } }]],
  ask: [['tool_call', { id: 'c3', name: 'ask', arguments: {} }]],
  hand: [['tool_call', { id: 'c4', name: 'hand', arguments: { ticket: 7 } }]],
  fail: [
    ['text', 'Half'],
    ['error', 'provider_unavailable'],
  ],
}

/** A service whose handler lets everybody in unless the options say otherwise. */
export function service(
  options: Partial<HandlerOptions> = {},
  runsOptions: Partial<RunsOptions> = {},
): Service {
  let open: () => void = () => undefined
  let reach: () => void = () => undefined
  const gate = new Promise<void>((resolve) => (open = resolve))
  const reached = new Promise<void>((resolve) => (reach = resolve))
  const runs = createRuns({
    engine: serviceEngine(async () => {
      reach()
      await gate
      return 'seen'
    }),
    store: memoryStore(),
    ...runsOptions,
  })
  const handle = runs.handler({ authorize: () => ({}), ...options })
  return {
    runs,
    handle,
    open,
    reached,
    get: (path, headers = {}) => handle(new Request(address(path), { headers })),
    post: (path, body, headers = {}) =>
      handle(
        new Request(address(path), {
          method: 'POST',
          headers: { 'content-type': 'application/json', ...headers },
          body: typeof body === 'string' ? body : JSON.stringify(body),
        }),
      ),
  }
}

/** An engine whose answers depend on what the user said last. */
export function serviceEngine(slow: () => Promise<string>): Engine {
  const adapter = fake({
    script: ({ messages }) => {
      const last = messages.at(-1)
      if (last?.role !== 'user') return [['text', 'Done.']]
      const words = typeof last.content === 'string' ? last.content : 'hello'
      return scripts[words.split(' ')[0] ?? ''] ?? [['text', `You said ${words}.`]]
    },
  })
  const schema = { type: 'object' } as const
  return createEngine({
    adapter,
    retry: false,
    toolTimeoutMs: 600_000,
    tools: [
      tool({ name: 'slow', description: 'Takes long.', schema, handler: slow }),
      tool({
        name: 'pay',
        description: 'Pays.',
        schema,
        needsApproval: true,
        handler: () => 'paid',
      }),
      tool({
        name: 'ask',
        description: 'Asks.',
        schema,
        handler: () => askUser('Which seat?', { choices: ['14C', '2A'] }),
      }),
      tool({ name: 'hand', description: 'By hand.', schema, manual: true }),
    ],
  })
}

function address(path: string): string {
  return path.startsWith('http') ? path : `http://localhost/api/runs/${path}`
}

/** The server-sent events of an answer, one after the other. */
export interface SentEvent {
  readonly id: string | undefined
  readonly data: RunMessage | undefined
  /** The text of a comment, if it was nothing else. */
  readonly comment?: string
}

/** Reads server-sent events as they come. */
export async function* sentEvents(response: Response): AsyncGenerator<SentEvent, void> {
  let buffer = ''
  if (response.body === null) return
  const decoder = new TextDecoder()
  for await (const chunk of response.body) {
    buffer += decoder.decode(chunk, { stream: true })
    for (let end = buffer.indexOf('\n\n'); end >= 0; end = buffer.indexOf('\n\n')) {
      const lines = buffer.slice(0, end).split('\n')
      buffer = buffer.slice(end + 2)
      const field = (name: string): string | undefined =>
        lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2)
      const data = field('data')
      const comment = lines.find((line) => line.startsWith(':'))
      yield {
        id: field('id'),
        data: data === undefined ? undefined : (JSON.parse(data) as RunMessage),
        ...(comment === undefined ? {} : { comment }),
      }
    }
  }
}

/** All messages of an answer, up to `rest`. */
export async function messagesOf(response: Response): Promise<readonly SentEvent[]> {
  const all: SentEvent[] = []
  for await (const event of sentEvents(response)) if (event.data !== undefined) all.push(event)
  return all
}

/** The view of a session. */
export async function viewOf(response: Response): Promise<RunView> {
  return (await response.json()) as RunView
}

/** The ticket of a call that waits for approval, as a page gets it. */
export async function ticketOf(response: Promise<Response>, id: string): Promise<string> {
  const { pendingApprovals } = await viewOf(await response)
  return pendingApprovals.find((call) => call.id === id)?.ticket ?? ''
}
