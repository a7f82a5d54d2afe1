import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import {
  connectRun,
  RunClientError,
  type ClientMessage,
  type ConnectOptions,
  type RunClientState,
  type RunConnection,
} from '../../../src/client.ts'
import { createEngine, handoff } from '../../../src/index.ts'
import { createRuns } from '../../../src/runs.ts'
import { memoryStore, type RunStore } from '../../../src/stores.ts'
import { fake, virtualClock, type Script } from '../../../src/testing.ts'
import { service, serviceEngine, type Service } from '../runs/service.ts'

type Fetch = NonNullable<ConnectOptions['fetch']>

/** Time passes only when a test says so. */
let clock = virtualClock({ auto: false })
let open: RunConnection[] = []

beforeEach(() => {
  clock = virtualClock({ auto: false })
})

afterEach(() => {
  for (const run of open) run.close()
  open = []
  vi.unstubAllGlobals()
})

/** The handler of a service as a `fetch`. */
const fetchOf =
  ({ handle }: Pick<Service, 'handle'>): Fetch =>
  async (url, init) =>
    handle(new Request(url, init))

const connect = (fetch: Fetch, options: Partial<ConnectOptions> = {}): RunConnection => {
  const run = connectRun({
    url: 'http://localhost/runs/ada',
    fetch,
    sleep: (ms, signal) => clock.sleep(ms, signal),
    ...options,
  })
  open.push(run)
  return run
}

/** Waits for a state. It is told after every change. */
const until = (
  run: RunConnection,
  test: (state: RunClientState) => boolean,
): Promise<RunClientState> =>
  new Promise((resolve) => {
    const look = (): void => {
      if (!test(run.state)) return
      end()
      resolve(run.state)
    }
    const end = run.subscribe(look)
    look()
  })

const atRest = (state: RunClientState): boolean => state.loaded && !state.running
const texts = ({ messages }: RunClientState): readonly string[] => messages.map(({ text }) => text)

/** A fetch that fails as long as it is told to, and notes what it was asked. */
interface Net {
  readonly fetch: Fetch
  readonly asked: string[]
  down: boolean
  /** What a server that cannot answer says. Without it there is no server. */
  answer?: () => Response
}

function faulty(fetch: Fetch): Net {
  const net: Net = {
    asked: [],
    down: false,
    fetch: async (url, init) => {
      const { pathname, search } = new URL(new Request(url).url)
      net.asked.push(`${init?.method ?? 'GET'} ${pathname.replace('/runs/ada', '')}${search}`)
      if (!net.down) return fetch(url, init)
      if (net.answer !== undefined) return net.answer()
      throw new TypeError('fetch failed')
    },
  }
  return net
}

/** A store whose process can be killed: nothing that it asks for after that comes back. */
function mortal(store: RunStore): { readonly store: RunStore; kill(): void } {
  let isDead = false
  const guarded = Object.entries(store).map(([name, member]: [string, unknown]) => [
    name,
    typeof member === 'function' && name !== 'watch'
      ? (...args: unknown[]): unknown =>
          isDead ? new Promise(() => undefined) : Reflect.apply(member, store, args)
      : member,
  ])
  return {
    // The same members, each with its own arguments.
    store: Object.fromEntries(guarded) as RunStore,
    kill: () => {
      isDead = true
    },
  }
}

describe('a conversation', () => {
  test('begins empty, shows the words at once, and the answer as it is written', async () => {
    const run = connect(fetchOf(service()))
    expect(run.state).toMatchObject({ messages: [], running: false, loaded: false })
    const empty = await until(run, ({ loaded }) => loaded)
    expect(empty).toMatchObject({ messages: [], status: 'idle', running: false })
    expect(empty.error).toBeUndefined()
    const sent = run.send('hello')
    expect(run.state).toMatchObject({ running: true, messages: [{ text: 'hello', sending: true }] })
    await sent
    const state = await until(run, atRest)
    expect(state).toMatchObject({ status: 'completed' })
    expect(state.messages).toMatchObject([
      { id: 'm0', role: 'user', text: 'hello' },
      { id: 'm1', role: 'assistant', text: 'Hello, Ada.' },
    ])
    expect(state.messages.some(({ sending }) => sending === true)).toBe(false)
  })

  test('a slash at the end of its url makes no difference', async () => {
    const paths: string[] = []
    const { handle } = service()
    const run = connect(
      async (url, init) => {
        paths.push(new URL(url).pathname)
        return handle(new Request(url, init))
      },
      { url: 'http://localhost/runs/ada/' },
    )
    await run.send('hello')
    expect(paths).toContain('/runs/ada/messages')
    expect(paths.filter((path) => path.includes('//'))).toEqual([])
  })

  test('has a new state for every change, and the same one without', async () => {
    const run = connect(fetchOf(service()))
    const seen: RunClientState[] = []
    run.subscribe(() => seen.push(run.state))
    await run.send('first')
    await until(run, atRest)
    await run.send('hello')
    await until(run, (state) => atRest(state) && state.messages.length === 4)
    expect(new Set(seen).size).toBe(seen.length)
    expect(run.state).toBe(run.state)
    expect(seen.some(({ messages }) => messages[3]?.partial === true)).toBe(true)
    const words = seen.map(({ messages }) => messages.filter(({ text }) => text === 'hello').length)
    // The words are neither shown twice nor lost on the way from being sent to being there.
    expect(new Set(words.slice(words.indexOf(1)))).toEqual(new Set([1]))
  })

  test('goes on with a question, an approval, a denial and a result', async () => {
    const run = connect(fetchOf(service()))
    await run.send('ask')
    const asked = await until(run, ({ pendingQuestion }) => pendingQuestion !== undefined)
    expect(asked.pendingQuestion).toMatchObject({ options: { choices: ['14C', '2A'] } })
    await run.send('14C')
    await until(run, ({ status }) => status === 'completed')
    await until(run, atRest)
    await run.send('pay')
    const waiting = await until(run, ({ status }) => status === 'awaiting_approval')
    expect(waiting.pendingApprovals).toMatchObject([
      { id: 'c2', name: 'pay', arguments: { euros: 3 } },
    ])
    await until(run, atRest)
    await run.approve('c2', { arguments: { euros: 1 } })
    await until(run, (state) => atRest(state) && state.status === 'completed')
    await run.send('pay')
    await until(run, (state) => atRest(state) && state.status === 'awaiting_approval')
    const [call] = run.state.pendingApprovals
    await run.deny(call?.id ?? '', 'no')
    await until(run, (state) => atRest(state) && state.status === 'completed')
    await run.send('hand')
    await until(run, (state) => atRest(state) && state.pendingToolCalls.length > 0)
    await run.submitToolResult('c4', { done: true })
    const end = await until(run, (state) => atRest(state) && state.status === 'completed')
    expect(end.tools.map(({ name, ok, denied }) => [name, ok, denied])).toEqual([
      ['ask', true, undefined],
      ['pay', true, undefined],
      ['pay', false, true],
      ['hand', true, undefined],
    ])
    expect(texts(end)).toEqual([
      'ask',
      '',
      '14C',
      'Done.',
      'pay',
      '',
      'Done.',
      'pay',
      '',
      'Done.',
      'hand',
      '',
      'Done.',
    ])
  })

  test('is stopped and resumed', async () => {
    const chat = service()
    const run = connect(fetchOf(chat))
    await run.send('slow')
    await chat.reached
    await until(run, ({ tools }) => tools.length > 0)
    expect(run.state.tools[0]).toEqual({ id: 'c1', name: 'slow', messageId: 'm1' })
    await run.stop()
    chat.open()
    const halted = await until(run, (state) => atRest(state) && state.status === 'halted')
    expect(halted).toMatchObject({ haltedReason: 'cancelled' })
    await run.resume()
    await until(run, (state) => atRest(state) && state.status === 'completed')
  })

  test('that is loaded again in the middle of an answer shows what was there, and goes on', async () => {
    const chat = service()
    const before = connect(fetchOf(chat))
    await before.send('slow')
    await chat.reached
    await until(before, ({ tools }) => tools.length > 0)
    before.close()
    const run = connect(fetchOf(chat))
    const state = await until(run, ({ loaded }) => loaded)
    expect(texts(state)).toEqual(['slow', 'Let me see.'])
    expect(state.running).toBe(true)
    chat.open()
    expect(texts(await until(run, atRest))).toEqual(['slow', 'Let me see.', 'Done.'])
  })

  test('shows the same in two tabs', async () => {
    const chat = service({}, { whenBusy: 'queue' })
    const one = connect(fetchOf(chat))
    const two = connect(fetchOf(chat))
    await one.send('slow')
    await chat.reached
    await until(one, ({ tools }) => tools.length > 0)
    vi.stubGlobal('document', undefined)
    // The second tab was at rest, and looks again when it says something itself.
    await two.send('hello')
    await until(two, ({ messages }) => messages.length >= 3)
    expect(two.state.messages.at(-1)).toMatchObject({ text: 'hello', sending: true })
    chat.open()
    const [first, second] = [await until(one, atRest), await until(two, atRest)]
    expect(texts(first)).toEqual(['slow', 'Let me see.', 'Done.', 'hello', 'Hello, Ada.'])
    expect(second).toEqual(first)
  })

  test('that failed says why, and can be tried again', async () => {
    const run = connect(fetchOf(service()))
    await run.send('fail')
    const state = await until(run, (now) => atRest(now) && now.status === 'error')
    expect(state.error).toEqual({
      kind: 'adapter',
      reason: 'provider_unavailable',
      message: 'the run ended with provider_unavailable',
    })
    expect(state.messages.at(-1)).toMatchObject({ text: 'Half', partial: true })
  })
})

describe('a bad connection', () => {
  test('a server that is gone for a while is asked less and less often, and then the run is there', async () => {
    const chat = service()
    const net = faulty(fetchOf(chat))
    const run = connect(net.fetch)
    await run.send('slow')
    await chat.reached
    await until(run, ({ tools }) => tools.length > 0)
    net.down = true
    // The connection breaks with the next sign of life that does not come.
    await clock.advance(100_000)
    const state = await until(run, ({ error }) => error !== undefined)
    expect(state.error).toMatchObject({ kind: 'connection', reason: 'unreachable' })
    expect(texts(state)).toEqual(['slow', 'Let me see.'])
    const before = net.asked.length
    await clock.advance(60_000)
    expect(net.asked.length - before).toBeLessThan(20)
    net.down = false
    chat.open()
    await clock.advance(20_000)
    const end = await until(run, atRest)
    expect(end.error).toBeUndefined()
    expect(texts(end)).toEqual(['slow', 'Let me see.', 'Done.'])
    expect(net.asked.at(-1)).toMatch(/^GET \/events\?after=\d+&version=\d*$/)
  })

  test('a process that is killed, and another one that goes on with its runs', async () => {
    const shared = memoryStore({ clock })
    const process = mortal(shared)
    const begin = (store: RunStore, slow: () => Promise<string>) => {
      const runs = createRuns({ engine: serviceEngine(slow), store, clock, leaseMs: 1000 })
      return { runs, handle: runs.handler({ authorize: () => ({}) }) }
    }
    let reach: () => void = () => undefined
    const reached = new Promise<void>((resolve) => (reach = resolve))
    const first = begin(process.store, () => {
      reach()
      return new Promise(() => undefined)
    })
    let current = first
    let isDead = false
    const net = faulty(async (url, init) => {
      const response = await current.handle(new Request(url, init))
      if (current !== first || response.body === null) return response
      // What is open when the process dies breaks.
      const reader = response.body.getReader()
      const broken = new ReadableStream<Uint8Array>({
        async pull(controller) {
          const { done, value } = await reader.read()
          if (isDead) controller.error(new TypeError('terminated'))
          else if (done) controller.close()
          else controller.enqueue(value)
        },
      })
      return new Response(broken, response)
    })
    const run = connect(net.fetch)
    await run.send('slow')
    await reached
    await until(run, ({ tools }) => tools.length > 0)
    isDead = true
    process.kill()
    net.down = true
    await clock.advance(20_000)
    current = begin(shared, async () => 'never')
    net.down = false
    await current.runs.recover()
    await clock.advance(60_000)
    const end = await until(run, (state) => atRest(state) && state.status === 'completed')
    expect(texts(end)).toEqual(['slow', 'Let me see.', 'Done.'])
    expect(end.tools).toMatchObject([{ name: 'slow', ok: false, interrupted: true }])
  })

  test('a command whose answer got lost is repeated, and has one effect', async () => {
    const chat = service()
    const lossy = fetchOf(chat)
    let lost = 0
    const run = connect(async (url, init) => {
      const response = await lossy(url, init)
      if (init?.method === 'POST' && lost++ < 2) throw new TypeError('fetch failed')
      return response
    })
    const sent = run.send('hello')
    await clock.advance(10_000)
    await sent
    expect(lost).toBe(3)
    expect(texts(await until(run, atRest))).toEqual(['hello', 'Hello, Ada.'])
  })

  test('a command that is refused rejects with the reason, and its words are gone', async () => {
    const chat = service()
    const run = connect(fetchOf(chat))
    await run.send('slow')
    await chat.reached
    await until(run, ({ messages }) => messages.length > 1)
    const refused = await run.send('hello').catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(RunClientError)
    expect(refused).toMatchObject({ reason: 'busy', status: 409 })
    expect(texts(run.state)).toEqual(['slow', 'Let me see.'])
    chat.open()
    await until(run, atRest)
  })

  test('a command that cannot be delivered is given up in the end', async () => {
    const net = faulty(fetchOf(service()))
    const run = connect(net.fetch)
    await until(run, ({ loaded }) => loaded)
    net.down = true
    const refused = run.send('hello').catch((error: unknown) => error)
    await clock.advance(60_000)
    expect(await refused).toMatchObject({ reason: 'unreachable', status: 0 })
    expect(run.state).toMatchObject({ messages: [], running: false })
  })

  test.each([401, 403, 404])('%i is told, and not asked for again', async (status) => {
    const net = faulty(fetchOf(service()))
    net.down = true
    net.answer = () => Response.json({ reason: 'nope', message: 'no' }, { status })
    const run = connect(net.fetch)
    const { error } = await until(run, (state) => state.error !== undefined)
    expect(error).toEqual({ kind: 'connection', reason: 'nope', message: 'no' })
    await clock.advance(100_000)
    expect(net.asked).toEqual(['GET /events'])
    net.down = false
    await run.send('hello')
    expect(texts(await until(run, atRest))).toEqual(['hello', 'Hello, Ada.'])
    expect(run.state.error).toBeUndefined()
  })

  test('a page with status 200, such as that of a login, is not taken for an answer of the handler', async () => {
    const headers = { 'content-type': 'text/html; charset=utf-8' }
    const answer = (): Response => new Response('<!doctype html>', { headers })
    const net = faulty(fetchOf(service()))
    net.down = true
    net.answer = answer
    const run = connect(net.fetch)
    const { error } = await until(run, (state) => state.error !== undefined)
    expect(error).toMatchObject({ kind: 'connection', reason: 'http_error' })
    const commands = [run.send('hello'), run.approve('c1'), run.stop()]
    for (const outcome of await Promise.allSettled(commands)) {
      const reason: unknown = outcome.status === 'rejected' ? outcome.reason : undefined
      expect(reason).toBeInstanceOf(RunClientError)
      expect(reason).toMatchObject({ message: 'HTTP 200 text/html; charset=utf-8', status: 200 })
    }
    expect(run.state).toMatchObject({ messages: [], running: false })
  })

  test('what is not kept any more is read anew', async () => {
    const chat = service()
    const net = faulty(fetchOf(chat))
    const run = connect(net.fetch)
    await run.send('hello')
    await until(run, atRest)
    await chat.runs.delete('ada')
    await chat.runs.send('ada', 'ask')
    await chat.runs.wait('ada')
    // The new log has fewer events than the page knows.
    await run.send('14C')
    await clock.advance(5000)
    const state = await until(run, (now) => atRest(now) && texts(now).includes('14C'))
    // It did not show the question, so the words are no answer to it.
    expect(texts(state)).toEqual(['ask', '', '14C', 'You said 14C.'])
  })

  test('a connection on which nothing comes counts as dead', async () => {
    const chat = service()
    let hangs = true
    const run = connect(async (url, init) => {
      if (!hangs) return fetchOf(chat)(url, init)
      hangs = false
      return new Promise((_resolve, reject) => {
        init?.signal?.addEventListener('abort', () => reject(new TypeError('aborted')))
      })
    })
    await clock.advance(100_000)
    await until(run, ({ loaded }) => loaded)
  })
})

describe('the page', () => {
  /** A page that can be hidden and focused. */
  const stubPage = (): {
    readonly page: { visibilityState: string } & EventTarget
    readonly happens: (type: string) => void
  } => {
    const target = Object.assign(new EventTarget(), { visibilityState: 'visible' })
    vi.stubGlobal('document', target)
    const window = new EventTarget()
    vi.stubGlobal('addEventListener', window.addEventListener.bind(window))
    vi.stubGlobal('removeEventListener', window.removeEventListener.bind(window))
    return { page: target, happens: (type) => void window.dispatchEvent(new Event(type)) }
  }

  test('looks again when it is focused, online or shown, and never while it is hidden', async () => {
    const { page, happens } = stubPage()
    const chat = service()
    const net = faulty(fetchOf(chat))
    const run = connect(net.fetch)
    await until(run, ({ loaded }) => loaded)
    await chat.runs.send('ada', 'hello')
    await chat.runs.wait('ada')
    await clock.advance(100_000)
    expect(net.asked).toHaveLength(1)
    page.visibilityState = 'hidden'
    page.dispatchEvent(new Event('visibilitychange'))
    happens('focus')
    await clock.advance(0)
    expect(net.asked).toHaveLength(1)
    page.visibilityState = 'visible'
    page.dispatchEvent(new Event('visibilitychange'))
    await until(run, ({ messages }) => messages.length === 2)
    await clock.advance(0)
    happens('online')
    await clock.advance(0)
    expect(net.asked).toHaveLength(3)
    run.close()
    happens('focus')
    await clock.advance(0)
    expect(net.asked).toHaveLength(3)
  })

  test('sends its headers with every request, and asks for them each time', async () => {
    const seen: (string | null)[] = []
    let token = 0
    const chat = service({
      authorize: (request) => {
        seen.push(request.headers.get('authorization'))
        return {}
      },
    })
    const run = connect(fetchOf(chat), {
      headers: async () => ({ authorization: `Bearer ${token++}` }),
    })
    await until(run, ({ loaded }) => loaded)
    await run.send('hello')
    await until(run, atRest)
    expect(seen.slice(0, 3)).toEqual(['Bearer 0', 'Bearer 1', 'Bearer 2'])
  })

  test('a listener that is given twice is told twice, until it is taken back', async () => {
    const run = connect(fetchOf(service()))
    let told = 0
    const listener = (): void => void told++
    const [first, second] = [run.subscribe(listener), run.subscribe(listener)]
    await until(run, ({ loaded }) => loaded)
    expect(told % 2).toBe(0)
    first()
    second()
    const before = told
    await run.send('hello')
    expect(told).toBe(before)
    await until(run, atRest)
  })

  test('that waits for somebody looks from time to time while it is visible', async () => {
    const { page } = stubPage()
    const chat = service()
    const net = faulty(fetchOf(chat))
    const run = connect(net.fetch)
    await run.send('pay')
    await until(run, (state) => atRest(state) && state.status === 'awaiting_approval')
    page.visibilityState = 'hidden'
    const before = net.asked.length
    await clock.advance(60_000)
    expect(net.asked).toHaveLength(before)
    page.visibilityState = 'visible'
    page.dispatchEvent(new Event('visibilitychange'))
    await clock.advance(0)
    await chat.runs.approve('ada', 'c2')
    await chat.runs.wait('ada')
    await clock.advance(15_000)
    await until(run, (state) => atRest(state) && state.status === 'completed')
    // Nobody is awaited any more.
    const after = net.asked.length
    await clock.advance(100_000)
    expect(net.asked).toHaveLength(after)
  })

  test('looks when it is told to', async () => {
    const chat = service()
    const run = connect(fetchOf(chat))
    await until(run, ({ loaded }) => loaded)
    await chat.runs.send('ada', 'hello')
    await chat.runs.wait('ada')
    run.refresh()
    expect(texts(await until(run, ({ messages }) => messages.length === 2))[0]).toBe('hello')
  })

  test('a listener that throws disturbs nobody, and what it throws is thrown apart', async () => {
    const thrown: unknown[] = []
    const queue = queueMicrotask
    const guarded = (task: () => void) => (): void => {
      try {
        task()
      } catch (error) {
        thrown.push(error)
      }
    }
    vi.stubGlobal('queueMicrotask', (task: () => void) => queue(guarded(task)))
    const run = connect(fetchOf(service()))
    run.subscribe(() => {
      throw new Error('a bug of the page')
    })
    await run.send('hello')
    expect(texts(await until(run, atRest))).toEqual(['hello', 'Hello, Ada.'])
    expect(thrown[0]).toMatchObject({ message: 'a bug of the page' })
  })

  test('is told of changes only, and what did not change stays the same object', async () => {
    const run = connect(fetchOf(service()))
    const seen: string[] = [JSON.stringify(run.state)]
    run.subscribe(() => seen.push(JSON.stringify(run.state)))
    await run.send('hello')
    const { messages } = await until(run, atRest)
    await run.send('pay')
    const later = await until(run, (state) => atRest(state) && state.pendingApprovals.length > 0)
    expect(later.messages.slice(0, 2).every((message, at) => message === messages[at])).toBe(true)
    const before = run.state
    await run.approve('nope').catch(() => undefined)
    await until(run, atRest)
    expect(run.state.pendingApprovals).toBe(before.pendingApprovals)
    expect(seen.filter((state, at) => state === seen[at - 1])).toEqual([])
  })
})

describe('a stale page', () => {
  test('shows what is true after its command was refused', async () => {
    const chat = service()
    const run = connect(fetchOf(chat))
    await run.send('pay')
    await until(run, (state) => atRest(state) && state.status === 'awaiting_approval')
    await chat.runs.approve('ada', 'c2')
    await chat.runs.wait('ada')
    await expect(run.deny('c2')).rejects.toMatchObject({ status: 409 })
    const state = await until(run, (now) => atRest(now) && now.status === 'completed')
    expect(state.pendingApprovals).toEqual([])
  })

  test('of a new conversation has no error any more when the server is back', async () => {
    const net = faulty(fetchOf(service()))
    net.down = true
    const run = connect(net.fetch)
    await clock.advance(5000)
    await until(run, ({ error }) => error !== undefined)
    net.down = false
    await clock.advance(60_000)
    expect((await until(run, ({ loaded }) => loaded)).error).toBeUndefined()
  })
})

describe('a connection that is closed', () => {
  test('refuses commands, and leaves nothing that is being sent or runs', async () => {
    const chat = service()
    const net = faulty(fetchOf(chat))
    const run = connect(net.fetch)
    await run.send('slow')
    await chat.reached
    await until(run, ({ tools }) => tools.length > 0)
    net.down = true
    const waiting = run.send('hello').catch((error: unknown) => error)
    await clock.advance(0)
    let told = 0
    run.subscribe(() => told++)
    run.close()
    expect(told).toBe(1)
    expect(await waiting).toBeInstanceOf(RunClientError)
    expect(await waiting).toMatchObject({ reason: 'closed', status: 0 })
    const asked = net.asked.length
    await expect(run.stop()).rejects.toMatchObject({ reason: 'closed' })
    await expect(run.send('x')).rejects.toMatchObject({ reason: 'closed' })
    await clock.advance(100_000)
    expect(net.asked).toHaveLength(asked)
    expect(run.state.running).toBe(false)
    expect(texts(run.state)).toEqual(['slow', 'Let me see.'])
    chat.open()
  })

  test.each(['null', '{}', '{"messages":null}'])(
    'a view that is %s counts as an answer that cannot be read, and close does not throw',
    async (view) => {
      const asked: string[] = []
      const run = connect(async (url) => {
        asked.push(new URL(new Request(url).url).search)
        return new Response(`data: {"type":"view","view":${view}}\n\n`)
      })
      const told = until(run, ({ error }) => error !== undefined)
      await clock.advance(500)
      expect((await told).error).toEqual({
        kind: 'connection',
        reason: 'unexpected_response',
        message: 'no view',
      })
      expect(run.state).toMatchObject({ messages: [], loaded: false })
      // It does not count as the place to go on from.
      expect(asked).toEqual(['', ''])
      expect(() => run.close()).not.toThrow()
    },
  )

  test.each([undefined, '', 5])('the address %s is refused at once', (url) => {
    // A mistake that a program without types makes.
    expect(() => connectRun({ url } as ConnectOptions)).toThrow(/url is not/)
  })
})

describe('an answer on the page', () => {
  /** A service whose engine answers by scripts, one after the other. */
  const answering = (...scripts: readonly Script[]): Service =>
    service({}, { engine: createEngine({ name: 'Desk', adapter: fake({ scripts }) }) })

  /** What a page shows that follows the run, and one that is loaded after it. */
  const shownBy = async (
    chat: Service,
    words: string,
    look: (state: RunClientState) => void = () => undefined,
  ): Promise<readonly ClientMessage[]> => {
    const run = connect(fetchOf(chat))
    run.subscribe(() => look(run.state))
    await run.send(words)
    const { messages } = await until(run, (state) => atRest(state) && state.status !== 'idle')
    const loaded = await until(connect(fetchOf(chat)), ({ loaded: isLoaded }) => isLoaded)
    expect(loaded.messages).toEqual(messages)
    expect(loaded.tools).toEqual(run.state.tools)
    return messages
  }

  test('says that it was cut at the length limit', async () => {
    const chat = answering([
      ['text', 'half a'],
      ['finish', 'length'],
    ])
    expect((await shownBy(chat, 'hi')).slice(1)).toEqual([
      {
        id: 'm1',
        index: 1,
        role: 'assistant',
        text: 'half a',
        finishReason: 'length',
        agent: 'Desk',
        at: expect.any(Number) as number,
      },
    ])
  })

  test('that was cut in the middle of a call shows the call as interrupted', async () => {
    const chat = answering([
      ['tool_call', { id: 'c1', name: 'pay', rawArguments: '{"euros": 3' }],
      ['finish', 'length'],
    ])
    const [, answer] = await shownBy(chat, 'hi')
    expect(answer).toMatchObject({ text: '', finishReason: 'length' })
    const { tools } = await until(connect(fetchOf(chat)), ({ loaded }) => loaded)
    expect(tools).toEqual([
      { id: 'c1', name: 'pay', messageId: 'm1', ok: false, interrupted: true },
    ])
  })

  test('of which everything was filtered is there, and says so', async () => {
    const chat = answering([['finish', 'content_filter']], [['text', 'Hello.']])
    const filtered = {
      id: 'm1',
      index: 1,
      role: 'assistant',
      text: '',
      finishReason: 'content_filter',
      agent: 'Desk',
      at: expect.any(Number) as number,
    }
    expect((await shownBy(chat, 'hi')).slice(1)).toEqual([filtered])
    const later = await shownBy(chat, 'hello?')
    expect(later.slice(1)).toMatchObject([filtered, { text: 'hello?' }, { text: 'Hello.' }])
    expect(later[3]).not.toHaveProperty('finishReason')
  })

  test('that had only thoughts when it was filtered says so, too', async () => {
    const chat = answering([
      ['reasoning', 'secret'],
      ['finish', 'content_filter'],
    ])
    const [, answer] = await shownBy(chat, 'hi')
    expect(answer).toMatchObject({ text: '', finishReason: 'content_filter' })
    expect(JSON.stringify(answer)).not.toContain('secret')
  })

  test('names the engine that gave it, also after a handoff and while it is written', async () => {
    const expert = createEngine({ name: 'Expert', adapter: fake({ script: () => ['I know.'] }) })
    const desk = createEngine({
      name: 'Desk',
      adapter: fake({ scripts: [['One moment.', ['tool_call', { id: 'h', name: 'handoff' }]]] }),
      tools: [handoff(expert)],
    })
    const chat = service({}, { engine: desk })
    const writing = new Set<unknown>()
    const look = ({ messages }: RunClientState): void => {
      const last = messages.at(-1)
      if (last?.partial === true) writing.add(last.agent)
    }
    const messages = await shownBy(chat, 'help', look)
    const speakers = messages.map(({ role, text, agent }) => [role, text, agent])
    expect(speakers).toEqual([
      ['user', 'help', undefined],
      ['assistant', 'One moment.', 'Desk'],
      ['assistant', 'I know.', 'Expert'],
    ])
    const later = await shownBy(chat, 'and now?', look)
    expect(later.at(-1)).toMatchObject({ text: 'I know.', agent: 'Expert' })
    expect(writing).toContain('Expert')
    expect(writing).not.toContain(undefined)
  })
})
