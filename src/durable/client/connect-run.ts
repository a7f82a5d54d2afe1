import type { JsonObject, JsonValue } from '../../core/types/json.ts'
import type { Part } from '../../core/types/message.ts'
import type { HaltedReason } from '../../core/types/results.ts'
import type { SessionStatus } from '../../core/types/session.ts'
import type { ViewApproval, ViewError, ViewWaiting } from '../../engine/model-call/view-event.ts'
import type { ShownMessage, ShownQuestion, ShownTool } from '../../engine/session/view.ts'
import type { RunMessage, RunView } from '../runs/handler.ts'
import { applyViewEvent, shownMessage } from './apply-view-event.ts'
import { accepted, readEvents, RunClientError } from './read-events.ts'

/** The options of `connectRun`. */
export interface ConnectOptions {
  /** The address of the session: where `runs.handler` is mounted, and the id, encoded as a part of a path. */
  readonly url: string
  readonly fetch?: typeof globalThis.fetch | undefined
  /** Sent with every request: an object, or a function that gives one, for tokens that expire. What it throws counts as no answer. */
  readonly headers?: HeadersOf | (() => HeadersOf | Promise<HeadersOf>) | undefined
  /**
   * How often a visible page looks whether others have decided, while the session awaits somebody (15 000 ms; 0 is never). Where there
   * is no page it does not look by itself unless this is given.
   */
  readonly pollMs?: number | undefined
  /** How it waits; for tests. */
  readonly sleep?: ((ms: number, signal: AbortSignal) => Promise<void>) | undefined
}

type HeadersOf = Readonly<Record<string, string>>

/** A session that a page follows and gives commands to. */
export interface RunConnection {
  /** What is known now. A new object whenever something changes, and the same one otherwise. */
  readonly state: RunClientState
  /** Calls the listener after every change; returns the end of it. What it throws is thrown again apart from the connection. `useSyncExternalStore(run.subscribe, () => run.state)` is the hook for React. */
  readonly subscribe: (listener: () => void) => () => void
  /**
   * Sends the user's words, which are shown at once. Resolves when they are stored; a request that got lost is repeated, and has one
   * effect. Rejects with a `RunClientError` if they are refused, and then they are no longer shown. Like all commands that are
   * refused, it makes the connection look what is true now.
   */
  readonly send: (
    input: string | readonly Part[],
    options?: {
      /**
       * The ticket of the question that it answers; `null` for a user message, whatever is open. Without it, it answers the question that the
       * state shows: if somebody else has answered that, it is refused with `already_answered`, and becomes nothing else.
       */
      readonly answers?: string | null | undefined
    },
  ) => Promise<void>
  readonly stop: () => Promise<void>
  /** Goes on with a run that was stopped or failed. */
  readonly resume: () => Promise<void>
  /**
   * Lets a pending call run, with other arguments if they are given. It decides about what the state shows: if that has changed, or somebody else
   * has decided, it is refused with `stale_ticket` or `already_decided`.
   */
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
  /** Looks whether others have done something. A connection that follows a run need not. */
  readonly refresh: () => void
  /**
   * Ends the connection. The run goes on. Later commands, and those that wait for another attempt, reject with the reason `closed`; a
   * request that is on its way is not taken back.
   */
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
  readonly pendingToolCalls: readonly ViewWaiting[]
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
 * connection: it looks again after its own commands, when the page is shown, focused or online again, and from time to time while
 * the session awaits somebody. A page that is loaded again with the same address shows the same.
 */
export function connectRun(options: ConnectOptions): RunConnection {
  const {
    url,
    fetch = page.fetch.bind(page),
    headers,
    sleep = realSleep,
    pollMs = page.document ? longestWaitMs : 0,
  } = options
  if (typeof url !== 'string' || !url) {
    throw new RunClientError('invalid_options', `url is not a URL: ${url}`)
  }
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
  /** A look is due in a while. */
  let isPolling = false
  /** Ends a pause between two connections. */
  let wake: (() => void) | undefined

  const isOpen = (): boolean => !closing.signal.aborted
  const currentState = (): RunClientState => {
    const { cursor: _cursor, lastEventId: _last, version: _at, metadata: _own, ...shown } = view
    return {
      ...shown,
      messages: [...view.messages, ...sending.map(({ message }) => message)],
      running: isOpen() && (view.running || posts > 0),
      loaded,
      ...(problem && { error: problem }),
    }
  }
  let state = currentState()
  const changed = (): void => {
    const before = state
    state = shared(before, currentState())
    if (state === before) return
    for (const listener of listeners) listener()
  }

  const request = async (path: string, init: RequestInit): Promise<Response> => {
    const own = typeof headers === 'function' ? await headers() : headers
    return accepted(
      await fetch(url.replace(/\/$/, '') + path, {
        ...init,
        headers: { ...own, ...(init.body && { 'content-type': 'application/json' }) },
      }),
    )
  }

  const received = (id: number, message: RunMessage): void => {
    if (message.type === 'view') {
      // It would fail wherever it is shown. What is known stays.
      if (!message.view?.messages) throw new RunClientError('unexpected_response', 'no view')
      // Another object, because something has come; with what is known already, because it did not change.
      view = { ...shared(view, message.view) }
      isAwaited = false
      sending = sending.filter(({ message: { text }, seen }) => countOf(view, text) <= seen)
    } else if (message.type === 'rest') view = { ...view, running: false, lastEventId: id }
    else {
      const running = true
      view = { ...applyViewEvent(view, message), running, lastEventId: id, version: undefined }
    }
    isPlaced = loaded = true
    problem = undefined
  }

  /** Reads one connection to its end. Resolves with whether the session is at rest. */
  const followOnce = async (watch: Watch): Promise<boolean> => {
    const signal = AbortSignal.any([closing.signal, watch.silence.signal])
    const place = isPlaced ? `?after=${view.lastEventId}&version=${view.version ?? ''}` : ''
    const { status, body } = await request(`/events${place}`, { signal })
    let isAtRest = status === 204
    if (body) {
      for await (const events of readEvents<RunMessage>(body.getReader())) {
        watch.isAlive = true
        for (const [id, message] of events) {
          received(id, message)
          isAtRest = message.type === 'rest'
        }
        changed()
      }
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
      problem = undefined
      return false
    }
    // What comes after the last number is not kept: it begins with the view again.
    if (status === 410) isPlaced = false
    else if (failures > 1 || status) problem = { kind: 'connection', reason, message }
    return !isRefusal(error)
  }

  /** Follows the session until it is at rest, or the server refuses. */
  const follow = async (): Promise<void> => {
    if (isFollowing || !isOpen()) return wake?.()
    isFollowing = true
    let failures = 0
    for (let goesOn = true; goesOn && isOpen();) {
      const before = view
      const watch = watchSilence(sleep)
      let isAtRest = false
      let error: RunClientError | undefined
      try {
        isAtRest = await followOnce(watch)
      } catch (caught) {
        error = known(caught)
      }
      watch.silence.abort()
      if (!isOpen()) break
      failures = isAtRest ? 0 : view === before ? failures + 1 : 1
      // What was done just now may not have been seen there.
      goesOn = error ? failed(error, failures) : !isAtRest || isAwaited
      isAwaited &&= !isAtRest
      if (!goesOn) {
        view = { ...view, running: false }
        // At rest, everything that was stored is applied or refused.
        if (!posts) sending = []
      }
      changed()
      if (goesOn && failures > 0) await pause(failures)
    }
    isFollowing = false
    poll().catch(() => undefined)
  }

  /** Looks again in a while, if somebody else may decide. */
  const poll = async (): Promise<void> => {
    const { status, pendingApprovals, pendingToolCalls } = view
    const waits = status.startsWith('awaiting') || pendingApprovals[0] || pendingToolCalls[0]
    if (isPolling || problem || !pollMs || !waits) return
    isPolling = true
    await sleep(pollMs, closing.signal)
    isPolling = false
    look()
  }

  /** Waits longer each time, and never exactly as long as others do. Something that happens on the page ends it. */
  const pause = async (failures: number): Promise<void> => {
    const ending = new AbortController()
    wake = () => ending.abort()
    const ms = Math.min(longestWaitMs, firstWaitMs * 2 ** (failures - 1))
    await sleep(ms * (0.5 + Math.random() / 2), ending.signal).catch(() => undefined)
    wake = undefined
  }
  const begin = (): void => void follow().catch(() => undefined)
  const look = (): void => {
    if (page.document?.visibilityState !== 'hidden') begin()
  }

  /** Delivers a command. It has the same key each time, so it has one effect. */
  const command = async (path: string, body: object): Promise<void> => {
    const init = { method: 'POST', body: JSON.stringify(body) }
    posts++
    changed()
    try {
      for (let attempt = 1; ; attempt++) {
        closing.signal.throwIfAborted()
        try {
          await request(path, init)
          break
        } catch (error) {
          const refused = known(error)
          if (isRefusal(refused) || attempt === mostAttempts) throw refused
        }
        await sleep(firstWaitMs * 2 ** (attempt - 1), closing.signal).catch(() => undefined)
      }
      isAwaited = true
      view = { ...view, running: true }
    } finally {
      posts--
      changed()
      // Also after a refusal: what is shown may be old.
      begin()
    }
  }
  const keyed = (path: string, body: object): Promise<void> =>
    command(path, { ...body, idempotencyKey: newKey() })

  /** Settles what the state shows. */
  const settled = (path: string, id: string, body: object): Promise<void> => {
    const waiting: readonly ViewWaiting[] = [...view.pendingApprovals, ...view.pendingToolCalls]
    const ticket = waiting.find((call) => call.id === id)?.ticket
    return keyed(`/${path}/${encodeURIComponent(id)}`, { ...body, ticket })
  }

  for (const type of signs) page.addEventListener?.(type, look, closing)
  page.document?.addEventListener('visibilitychange', look, closing)
  begin()

  return {
    get state() {
      return state
    },
    subscribe: (listener) => {
      const own = (): void => {
        try {
          listener()
        } catch (error) {
          // It is reported as any error of the page, and disturbs nobody else.
          queueMicrotask(() => {
            throw error
          })
        }
      }
      listeners.add(own)
      return () => void listeners.delete(own)
    },
    send: async (input, { answers = view.pendingQuestion?.ticket ?? null } = {}) => {
      const words = { role: 'user', content: input } as const
      const message = {
        ...shownMessage(words, { id: newKey(), index: -1 }),
        sending: true,
      } as const
      // The state has those that are being sent, too.
      const own: Sending = { message, seen: countOf(state, message.text) }
      sending = [...sending, own]
      try {
        const body = typeof input === 'string' ? { text: input } : { content: input }
        await keyed('/messages', { ...body, answers })
      } catch (error) {
        sending = sending.filter((other) => other !== own)
        changed()
        throw error
      }
    },
    stop: () => command('/stop', {}),
    resume: () => keyed('/resume', {}),
    approve: (id, options) => settled('approvals', id, { approve: true, ...options }),
    deny: (id, reason) => settled('approvals', id, { approve: false, reason }),
    submitToolResult: (id, result, options) => settled('tools', id, { result, ...options }),
    refresh: look,
    close: () => {
      closing.abort(new RunClientError('closed', 'closed'))
      wake?.()
      sending = []
      changed()
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

/** A value, with those parts of the one before that are equal: what did not change stays the same object. */
function shared<Value>(before: unknown, next: Value): Value {
  if (before === next || !isRecord(before) || !isRecord(next)) return next
  // The keys of a list are its places.
  const merged = (Array.isArray(next) ? [] : {}) as Record<string, unknown>
  let isSame = Object.keys(before).length === Object.keys(next).length
  for (const key in next) {
    merged[key] = shared(before[key], next[key])
    isSame &&= merged[key] === before[key]
  }
  // Both are equal to `next`.
  return (isSame ? before : merged) as Value
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return value instanceof Object
}

/** Words of the user that are in no view yet. */
interface Sending {
  readonly message: ClientMessage
  /** How many messages of the user had the same text when it was sent. */
  readonly seen: number
}

/** How many messages of the user have this text. */
function countOf({ messages }: Pick<RunView, 'messages'>, text: string): number {
  return messages.filter((message) => message.role === 'user' && message.text === text).length
}

/** A text that nothing else of a session has. `crypto.randomUUID` is not there on pages without TLS. */
function newKey(): string {
  return `${Date.now()}-${Math.random()}`
}

/** Whether the server will say the same again. */
function isRefusal({ status }: RunClientError): boolean {
  return status > 0 && status < 500 && status !== 408 && status !== 410 && status !== 429
}

function known(error: unknown): RunClientError {
  if (error instanceof RunClientError) return error
  return new RunClientError('unreachable', `no answer: ${String(error)}`)
}

/** The part of a page that is used. Elsewhere there is only `fetch`. */
interface Page extends Partial<Pick<EventTarget, 'addEventListener'>> {
  readonly fetch: typeof globalThis.fetch
  readonly document?: EventTarget & { readonly visibilityState: string }
}

const page: Page = globalThis

/** What makes a page look again. */
const signs = ['focus', 'online', 'pageshow']

/** A connection that is dead when nothing comes on it. */
interface Watch {
  /** Something has come. */
  isAlive: boolean
  /** Ends the connection, and the watch. */
  readonly silence: AbortController
}

/** Ends a connection on which nothing has come for so long that it must be dead. */
function watchSilence(sleep: Sleep): Watch {
  const watch: Watch = { isAlive: true, silence: new AbortController() }
  const look = async (): Promise<void> => {
    while (watch.isAlive) {
      watch.isAlive = false
      await sleep(silenceMs, watch.silence.signal)
    }
    watch.silence.abort()
  }
  look().catch(() => undefined)
  return watch
}

type Sleep = NonNullable<ConnectOptions['sleep']>

/** Also resolves when it is aborted. The caller checks the state then. */
const realSleep: Sleep = (ms, signal) =>
  new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    signal.addEventListener('abort', end)
    if (signal.aborted) end()
  })
