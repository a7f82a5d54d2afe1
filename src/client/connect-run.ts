import type { ViewApproval, ViewError, ViewToolCall } from '../run/view-event.ts'
import type { RunMessage, RunView } from '../runs/handler.ts'
import type { ShownMessage, ShownQuestion, ShownTool } from '../session/view.ts'
import type { JsonObject, JsonValue } from '../types/json.ts'
import type { Part } from '../types/message.ts'
import type { HaltedReason } from '../types/results.ts'
import type { SessionStatus } from '../types/session.ts'
import { applyViewEvent, shownMessage } from './apply-view-event.ts'

/** The options of `connectRun`. */
export interface ConnectOptions {
  /** The address of the session: where `runs.handler` is mounted, and the id, encoded as a part of a path. */
  readonly url: string
  readonly fetch?: typeof globalThis.fetch | undefined
  /** Sent with every request: an object, or a function that gives one, for tokens that expire. */
  readonly headers?: HeadersOf | (() => HeadersOf | Promise<HeadersOf>) | undefined
  /** How it waits; for tests. */
  readonly sleep?: ((ms: number, signal: AbortSignal) => Promise<void>) | undefined
}

type HeadersOf = Readonly<Record<string, string>>

/** A session that a page follows and gives commands to. */
export interface RunConnection {
  /** What is known now. A new object whenever something changes, and the same one otherwise. */
  readonly state: RunClientState
  /** Calls the listener after every change; returns the end of it. `useSyncExternalStore(run.subscribe, () => run.state)` is the hook for React. */
  readonly subscribe: (listener: () => void) => () => void
  /**
   * Sends the user's words, which are shown at once. Resolves when they are stored; a request that got lost is repeated, and has one
   * effect. Rejects with a `RunClientError` if they are refused, and then they are no longer shown.
   */
  readonly send: (input: string | readonly Part[]) => Promise<void>
  readonly stop: () => Promise<void>
  /** Goes on with a run that was stopped or failed. */
  readonly resume: () => Promise<void>
  /** Lets a pending call run, with other arguments if they are given. */
  readonly approve: (
    toolCallId: string,
    options?: { readonly arguments?: JsonObject | undefined },
  ) => Promise<void>
  readonly deny: (toolCallId: string, reason?: string) => Promise<void>
  readonly submitToolResult: (
    toolCallId: string,
    result: JsonValue,
    options?: { readonly isError?: boolean | undefined },
  ) => Promise<void>
  /** Ends the connection. The run goes on. */
  readonly close: () => void
}

/** What a page shows of a session. */
export interface RunClientState {
  /** With those that are being sent at the end. */
  readonly messages: readonly ClientMessage[]
  readonly status: SessionStatus
  /** Whether an answer is being written, or will be without anybody doing anything. */
  readonly running: boolean
  readonly pendingQuestion?: ShownQuestion
  readonly pendingApprovals: readonly ViewApproval[]
  readonly pendingToolCalls: readonly ViewToolCall[]
  readonly tools: readonly ShownTool[]
  /** Why the run was stopped, when the status is `halted`. */
  readonly haltedReason?: HaltedReason
  /** What failed: the run (`status` is `error`), or the connection, which then has a `kind` of its own. */
  readonly error?: ViewError | ConnectionProblem
  /** Whether the first view has arrived. */
  readonly loaded: boolean
}

/** A message of the state. One that is being sent has no place yet: its `index` is -1. */
export interface ClientMessage extends ShownMessage {
  readonly sending?: true
}

/** Why there is no connection. It is tried again by itself unless the server has refused it. */
export interface ConnectionProblem {
  readonly kind: 'connection'
  /** The `reason` of the server, or `unreachable`. */
  readonly reason: string
  readonly message: string
}

/** A command that was refused, or could not be delivered (`unreachable`). */
export class RunClientError extends Error {
  override readonly name = 'RunClientError'
  /** The `reason` of the server, such as `busy`. */
  readonly reason: string
  /** The HTTP status; 0 if there was no answer. */
  readonly status: number

  constructor(reason: string, message: string, status: number) {
    super(message)
    this.reason = reason
    this.status = status
  }
}

/** How long nothing may come before a connection counts as dead. The server sends a sign of life every 15 s. */
const silenceMs = 45_000
const firstWaitMs = 500
const longestWaitMs = 15_000
/** How often a command is sent before it counts as undeliverable. */
const mostAttempts = 6

/**
 * Follows a session of `runs.handler`, and gives it commands.
 *
 * It begins with the view of the session and follows the run to its rest, over any number of connections. At rest there is no
 * connection: it looks again after its own commands, and when the page is shown, focused or online again. A page that is
 * loaded again with the same address shows the same.
 */
export function connectRun(options: ConnectOptions): RunConnection {
  const { url, fetch = globalThis.fetch.bind(globalThis), headers, sleep = realSleep } = options
  const listeners = new Set<() => void>()
  const closing = new AbortController()
  let view: RunView = emptyView
  /** Whether the server has told where the session is, so that events can follow. */
  let isPlaced = false
  let loaded = false
  let sending: readonly Sending[] = []
  let problem: ConnectionProblem | undefined
  /** Commands that are on their way. */
  let posts = 0
  let isFollowing = false
  /** A command was stored, and no view has come since. A rest may be older than it. */
  let isAwaited = false
  /** Ends a pause between two connections. */
  let wake: (() => void) | undefined

  const currentState = (): RunClientState => {
    const { cursor: _cursor, lastEventId: _last, metadata: _own, ...shown } = view
    return {
      ...shown,
      messages: [...view.messages, ...sending.map(({ message }) => message)],
      running: view.running || posts > 0,
      loaded,
      ...(problem && { error: problem }),
    }
  }
  let state = currentState()
  const changed = (): void => {
    state = currentState()
    for (const listener of listeners) listener()
  }

  const request = async (path: string, init: RequestInit, type?: HeadersOf): Promise<Response> => {
    const own = typeof headers === 'function' ? await headers() : headers
    const response = await fetch(url + path, {
      ...init,
      headers: { ...own, ...type },
    })
    if (response.ok) return response
    const { reason = 'http_error', message = `the server answered ${response.status}` } =
      // Whatever it is, these two are looked for.
      ((await response.json().catch(() => ({}))) ?? {}) as Partial<ConnectionProblem>
    throw new RunClientError(reason, message, response.status)
  }

  const received = (id: number, message: RunMessage): void => {
    isPlaced = loaded = true
    problem = undefined
    if (message.type === 'view') {
      view = message.view
      isAwaited = false
      sending = sending.filter(({ message: { text }, seen }) => countOf(view, text) <= seen)
    } else if (message.type === 'rest') view = { ...view, running: false, lastEventId: id }
    else view = { ...applyViewEvent(view, message), running: true, lastEventId: id }
  }

  /** Reads one connection to its end. Resolves with whether the session is at rest. */
  const followOnce = async (signal: AbortSignal, alive: () => void): Promise<boolean> => {
    const { status, body } = await request(
      `/events${isPlaced ? `?after=${view.lastEventId}` : ''}`,
      { signal },
    )
    let isAtRest = status === 204
    if (body) {
      await readEvents(body, (events) => {
        alive()
        for (const [id, message] of events) {
          received(id, message)
          isAtRest = message.type === 'rest'
        }
        if (events.length > 0) changed()
      })
    }
    return isAtRest
  }

  /** What a failed connection means. Resolves with whether to try again. */
  const failed = (error: RunClientError, failures: number): boolean => {
    const { reason, message, status } = error
    if (reason === 'unknown_session') {
      // Nobody has said anything yet, or it was deleted.
      view = emptyView
      isPlaced = false
      loaded = true
      return false
    }
    // What comes after the last number is not kept: it begins with the view again.
    if (status === 410) isPlaced = false
    else if (failures > 1 || status > 0) problem = { kind: 'connection', reason, message }
    return status === 410 || !isRefusal(status)
  }

  /** Follows the session until it is at rest, or the server refuses. */
  const follow = async (): Promise<void> => {
    if (isFollowing || closing.signal.aborted) return wake?.()
    isFollowing = true
    let failures = 0
    for (let goesOn = true; goesOn && !closing.signal.aborted;) {
      const before = view
      const connection = new AbortController()
      const end = (): void => connection.abort()
      closing.signal.addEventListener('abort', end)
      const watch = watchSilence(sleep, end)
      try {
        const isAtRest = await followOnce(connection.signal, watch.alive)
        failures = isAtRest ? 0 : view === before ? failures + 1 : 1
        // What was done just now may not have been seen there.
        goesOn = !isAtRest || isAwaited
        isAwaited &&= !isAtRest
        if (!goesOn) view = { ...view, running: false }
      } catch (error) {
        failures = view === before ? failures + 1 : 1
        if (!closing.signal.aborted) goesOn = failed(known(error), failures)
      } finally {
        watch.end()
        closing.signal.removeEventListener('abort', end)
      }
      // At rest, everything that was stored is applied or refused.
      if (!goesOn && posts === 0) sending = []
      changed()
      if (goesOn && failures > 0) await pause(failures)
    }
    isFollowing = false
  }

  /** Waits longer each time, and never exactly as long as others do. Something that happens on the page ends it. */
  const pause = async (failures: number): Promise<void> => {
    const ending = new AbortController()
    wake = () => ending.abort()
    closing.signal.addEventListener('abort', wake)
    const ms = Math.min(longestWaitMs, firstWaitMs * 2 ** (failures - 1))
    await sleep(ms * (0.5 + Math.random() / 2), ending.signal).catch(() => undefined)
    closing.signal.removeEventListener('abort', wake)
    wake = undefined
  }
  const look = (): void => {
    if (page.document?.visibilityState !== 'hidden') follow().catch(() => undefined)
  }

  /** Delivers a command. It has the same key each time, so it has one effect. */
  const command = async (path: string, body: object): Promise<void> => {
    const init = { method: 'POST', body: JSON.stringify(body) }
    posts++
    changed()
    try {
      for (let attempt = 1; ; attempt++) {
        try {
          await request(path, init, { 'content-type': 'application/json' })
          break
        } catch (error) {
          const refused = known(error)
          if (isRefusal(refused.status) || attempt === mostAttempts) throw refused
        }
        await sleep(firstWaitMs * 2 ** (attempt - 1), closing.signal)
      }
      isAwaited = true
      view = { ...view, running: true }
    } finally {
      posts--
      changed()
    }
    follow().catch(() => undefined)
  }
  const keyed = (path: string, body: object): Promise<void> =>
    command(path, { ...body, idempotencyKey: newKey() })

  for (const type of signs) page.addEventListener?.(type, look)
  page.document?.addEventListener('visibilitychange', look)
  follow().catch(() => undefined)

  return {
    get state() {
      return state
    },
    subscribe: (listener) => {
      const own = (): void => listener()
      listeners.add(own)
      return () => void listeners.delete(own)
    },
    send: async (input) => {
      const words = { role: 'user', content: input } as const
      const message = {
        ...shownMessage(words, { id: newKey(), index: -1 }),
        sending: true,
      } as const
      const same = sending.filter((other) => other.message.text === message.text)
      const own: Sending = { message, seen: countOf(view, message.text) + same.length }
      sending = [...sending, own]
      try {
        await keyed('/messages', typeof input === 'string' ? { text: input } : { content: input })
      } catch (error) {
        sending = sending.filter((other) => other !== own)
        changed()
        throw error
      }
    },
    stop: () => command('/stop', {}),
    resume: () => keyed('/resume', {}),
    approve: (id, { arguments: args } = {}) =>
      keyed(`/approvals/${encodeURIComponent(id)}`, { approve: true, arguments: args }),
    deny: (id, reason) => keyed(`/approvals/${encodeURIComponent(id)}`, { approve: false, reason }),
    submitToolResult: (id, result, { isError } = {}) =>
      keyed(`/tools/${encodeURIComponent(id)}`, { result, isError }),
    close: () => {
      closing.abort()
      for (const type of signs) page.removeEventListener?.(type, look)
      page.document?.removeEventListener('visibilitychange', look)
      listeners.clear()
    },
  }
}

const emptyView: RunView = {
  status: 'idle',
  messages: [],
  tools: [],
  pendingApprovals: [],
  pendingToolCalls: [],
  running: false,
  lastEventId: 0,
}

/** Words of the user that are in no view yet. */
interface Sending {
  readonly message: ClientMessage
  /** How many messages of the user had the same text when it was sent. */
  readonly seen: number
}

/** How many messages of the user have this text. */
function countOf({ messages }: RunView, text: string): number {
  return messages.filter((message) => message.role === 'user' && message.text === text).length
}

/** A text that nobody else has. `crypto.randomUUID` is not there on pages without TLS. */
function newKey(): string {
  return [Date.now(), Math.random(), Math.random()].map((part) => part.toString(36)).join('-')
}

/** Whether the server will say the same again. */
function isRefusal(status: number): boolean {
  return status >= 400 && status < 500 && status !== 408 && status !== 429
}

function known(error: unknown): RunClientError {
  if (error instanceof RunClientError) return error
  const reason = error instanceof Error ? error.message : String(error)
  return new RunClientError('unreachable', `the server cannot be reached: ${reason}`, 0)
}

/** The part of a page that is used. Elsewhere there is none of it. */
interface Page extends Partial<Pick<EventTarget, 'addEventListener' | 'removeEventListener'>> {
  readonly document?: EventTarget & { readonly visibilityState: string }
}

const page: Page = globalThis

/** What makes a page look again. */
const signs = ['focus', 'online', 'pageshow']

/** Ends a connection on which nothing has come for so long that it must be dead. */
function watchSilence(
  sleep: Sleep,
  onSilence: () => void,
): { readonly alive: () => void; readonly end: () => void } {
  const ending = new AbortController()
  let isAlive = true
  const watch = async (): Promise<void> => {
    while (isAlive) {
      isAlive = false
      await sleep(silenceMs, ending.signal)
    }
    onSilence()
  }
  watch().catch(() => undefined)
  return {
    alive: () => {
      isAlive = true
    },
    end: () => ending.abort(),
  }
}

/** Reads server-sent events, and hands on those that arrived together. */
async function readEvents(
  body: ReadableStream<Uint8Array>,
  onEvents: (events: readonly (readonly [number, RunMessage])[]) => void,
): Promise<void> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let buffer = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    // Only what is new can have the end of an event.
    let from = Math.max(0, buffer.length - 1)
    buffer += decoder.decode(value, { stream: true })
    const events: (readonly [number, RunMessage])[] = []
    for (let end = buffer.indexOf('\n\n', from); end >= 0; end = buffer.indexOf('\n\n')) {
      const lines = buffer.slice(0, end).split('\n')
      buffer = buffer.slice(end + 2)
      from = 0
      const field = (name: string): string | undefined =>
        lines.find((line) => line.startsWith(name))?.slice(name.length)
      const data = field('data: ')
      if (data) events.push([Number(field('id: ')), JSON.parse(data) as RunMessage])
    }
    onEvents(events)
  }
}

type Sleep = NonNullable<ConnectOptions['sleep']>

const realSleep: Sleep = (ms, signal) =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      reject(new Error('closed'))
    })
  })
