/// <reference lib="esnext.disposable" preserve="true" />

import type { Clock } from '../../core/base/clock.ts'
import type { NewId } from '../../core/base/ids.ts'
import type { Engine } from '../../core/contracts/engine.ts'
import type { Permission } from '../../core/schema/authorize.ts'
import type { JsonObject, JsonValue } from '../../core/types/json.ts'
import type { Part } from '../../core/types/message.ts'
import type { Session, SessionStatus } from '../../core/types/session.ts'
import type { SettleOptions } from '../../engine/calls/settle.ts'
import type { ViewHide, ViewInclude, ViewOptions } from '../../engine/model-call/view-event.ts'
import type { SessionResult } from '../../engine/session/reduce.ts'
import type {
  EventEntry,
  LogEntry,
  PendingOptions,
  PendingPage,
  RunStore,
} from '../stores/run-store.ts'
import type { ListOptions, SessionRow } from '../stores/session-store.ts'

/** The options of `createRuns`. */
export interface RunsOptions {
  /**
   * The engine of every run, or a function that makes it for a session (a tenant's tools, keys and model). Every process that runs
   * sessions makes the same engine for the same session, because any of them may go on with a run.
   */
  readonly engine: Engine | ((session: Session) => Engine | Promise<Engine>)
  readonly store: RunStore
  /** Rings workers elsewhere when there is something to do. With it, this process runs nothing by itself. */
  readonly queue?: RunQueue | undefined
  /** `false`: this process only stores commands; workers elsewhere run them. */
  readonly execute?: boolean | undefined
  /** The name of this process, for people who look at leases. Random unless given. */
  readonly owner?: string | undefined
  /** How long a run is safe from others without a sign of life of its owner (10 000). It is renewed at a third of it. */
  readonly leaseMs?: number | undefined
  /** How late text may be in the log (250). What must not be lost is saved at once. */
  readonly saveEveryMs?: number | undefined
  /** How often a step goes on after its process died, before the run rests as `error` (20): it may be what they die of. */
  readonly maxTakeOvers?: number | undefined
  /** How long the log and the idempotency keys are kept (24 hours). */
  readonly keepEventsMs?: number | undefined
  /**
   * What `send` does while a run is under way: refuse with `busy` (the default), wait its turn, or stop the run first. Words that answer a
   * question of that run always wait their turn.
   */
  readonly whenBusy?: WhenBusy | undefined
  /**
   * The source of time for everything that waits in this process, and for what expires: the same as that of the engine. Leases are timed by
   * the store.
   */
  readonly clock?: Clock | undefined
  readonly newId?: NewId | undefined
  /**
   * Called when a session could not be advanced, because it cannot be read or the store failed, and when a worker could not ask the store for what
   * is due (without an id). It is tried again. Also when a command is stored and the queue could not be rung: `SessionError` `unavailable`. A sweep
   * finds the command. Failures of a run are in its session, not here. Without it, the first error is a warning of the process (`AllmWarning`).
   */
  readonly onError?: ((error: unknown, id?: string) => void) | undefined
}

/** What `send` does while a run is under way. */
export type WhenBusy = 'refuse' | 'queue' | 'interrupt'

/**
 * A queue of an existing engine, as a doorbell: a worker that hears it calls `runs.advance(id)`. A ring is a hint. A command waits for
 * it for a second at most and does not fail with it: `onError` is told, and `sweep` of `allm-ts/queues` finds what was not rung for.
 */
export interface RunQueue {
  ring(id: string, options?: { readonly delayMs?: number | undefined }): Promise<void>
}

/**
 * Runs that outlive requests and processes.
 *
 * Commands (`send`, `approve`, …) are stored before they resolve, and applied in order, each exactly once, by the process that owns the session. What a
 * run does is in the log of the session before anybody sees it: `follow` reads it from any process, and a run whose process
 * died goes on in another one.
 */
export interface Runs {
  /**
   * Gives a message of the user to a session, which is made if it does not exist: the answer to a question (`answers`), or a user message. Resolves
   * when the command is stored and, if this process starts a run with it, the message is in the thread.
   */
  send(id: string, input: string | readonly Part[], options?: SendOptions): Promise<Sent>
  /** Goes on with a run that was stopped or failed. */
  resume(id: string, options?: CommandOptions): Promise<Sent>
  /** Lets a pending call run, with other arguments if they are given. The run goes on when nothing is pending any more. */
  approve(
    id: string,
    toolCallId: string,
    options?: DecisionOptions & { readonly arguments?: JsonObject | undefined },
  ): Promise<Sent>
  /** Refuses a pending call. The model is told the reason. */
  deny(id: string, toolCallId: string, reason?: string, options?: DecisionOptions): Promise<Sent>
  /** Answers a call of a tool that somebody else runs. */
  submitToolResult(
    id: string,
    toolCallId: string,
    result: JsonValue,
    options?: DecisionOptions & { readonly isError?: boolean | undefined },
  ): Promise<Sent>
  /**
   * Asks the run to stop, in whatever process it is. It comes to rest as `halted`, with everything that it had. Nothing happens where
   * nothing runs: at rest, and where nobody has sent anything.
   */
  stop(id: string): Promise<void>

  /** The session as of the last event of the log, or `undefined` if nobody has sent it anything. */
  get(id: string): Promise<RunInfo | undefined>
  list(options?: ListOptions): Promise<readonly SessionRow[]>
  /**
   * A page of what waits for somebody in all sessions, whatever their status: questions, approvals and results to submit, those that wait
   * longest first. It is as of the last save: what a run under way asks for comes when the run rests.
   */
  pending(options?: PendingOptions): Promise<PendingPage>
  /** Removes a session with its log. A run under way is stopped. */
  delete(id: string): Promise<void>
  /**
   * The events of the session from the log, and then as they are written, from any process. Ends when the session is at rest: no command
   * is queued, nothing is due, nobody owns it. Without `after` it begins with the oldest event that is kept. When the signal is aborted it
   * ends as if it were left. An unknown session throws `SessionError` `illegal_status`.
   */
  follow(id: string, options: FollowOptions & { readonly commands: true }): AsyncIterable<LogEntry>
  follow(id: string, options?: FollowOptions): AsyncIterable<EventEntry>
  /**
   * The routes of a chat service for browsers, under the path where the handler is mounted (see `mount`): `POST :id/messages`, `GET :id/events`, `GET :id`,
   * `POST :id/stop`, `POST :id/resume`, `POST :id/approvals/:callId`, `POST :id/tools/:callId`. Who may do what is decided by
   * `authorize`, which must be given. It sends no CORS headers.
   */
  handler(options: HandlerOptions): RunsHandler

  /**
   * The session and the result of its last run, when it is at rest. Rejects with `SessionError` `illegal_status` if nobody has sent the
   * session anything, and with `StreamError` `cancelled` when the signal is aborted; its reason is the `cause`. The run goes on.
   */
  wait(id: string, options?: { readonly signal?: AbortSignal | undefined }): Promise<RestedRun>

  /**
   * The unit of work, for queues and workers: takes the lease, applies what is in the inbox, settles what has expired, runs to a resting point, gives the
   * lease back. It does not throw when the lease is lost. Aborting the signal saves the run as it is, for another owner.
   */
  advance(id: string, options?: { readonly signal?: AbortSignal | undefined }): Promise<Advanced>
  /**
   * The ids of the sessions that are due: they have something to do, and nobody works on them. Those that are due the longest come first. Those in
   * which something has expired follow. `limit` is 1 000 unless given. `sweep` of `allm-ts/queues` gives them to an engine.
   */
  due(options?: { readonly limit?: number | undefined }): Promise<readonly string[]>
  /** Advances whatever is due: runs whose owner died, queued commands, wake-ups, what has expired. Returns how many. Call it when a process starts. */
  recover(): Promise<number>
  /** Advances what is due until it is disposed, `concurrency` sessions at once, looks once a second for what has expired, and prunes old logs. */
  work(options?: WorkOptions): Worker
  /**
   * Removes logs and idempotency keys that are older than `keepEventsMs`, of at most 1 000 sessions. Returns how many had something to remove.
   * `work` and `sweep` of `allm-ts/queues` call it every ten minutes, and again at once while there is much to remove.
   */
  prune(): Promise<number>
  /** That of the options: what a queue must know too. */
  readonly leaseMs: number
  /** That of the options, or the one that warns: `sweep` of `allm-ts/queues` calls it unless it has its own. */
  readonly onError: NonNullable<RunsOptions['onError']>
  /** Ends this process's part: runs are saved as they are and handed over; see `CloseOptions`. Commands are refused afterwards. */
  close(options?: CloseOptions): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** The options of every command. */
export interface CommandOptions {
  /** A second command with this key is ignored: a request that a client repeats has one effect. */
  readonly idempotencyKey?: string | undefined
}

/** The options of a command that settles what a call waits for. */
export interface DecisionOptions extends CommandOptions, SettleOptions {}

/** The options of `send`. */
export interface SendOptions extends CommandOptions {
  /**
   * The ticket of the question that the message answers (`Session.pending`). If it is not open any more, the message is refused (`already_answered`,
   * `stale_ticket`) and becomes nothing else. `null` makes it a user message, whatever is open. Without it, it answers the question that is open first
   * as this call reads the session; if somebody else answers that before, it is a user message.
   */
  readonly answers?: string | null | undefined
  /** Who answers: a text of at most 256 characters, which the record of the call keeps. */
  readonly by?: string | undefined
  /** Merged into the context of the session, which tool handlers get. It is saved, so it is JSON. */
  readonly context?: JsonObject | undefined
  /** Merged into the metadata of the session. `list` finds sessions by it. */
  readonly metadata?: JsonObject | undefined
  /** Instead of that of `createRuns`. */
  readonly whenBusy?: WhenBusy | undefined
}

/** A command that is stored. */
export interface Sent {
  /** The number of the last event before it: `follow(id, { after })` gives what comes of it. */
  readonly lastEventId: number
  /** A command with the same key came before, so this one was ignored. */
  readonly duplicate: boolean
}

/** A session and what is going on with it. */
export interface RunInfo {
  readonly session: Session
  /** The number of saves; 0 while only a command waits. */
  readonly version: number
  /** Whether a command, a wake-up or an owner is there. */
  readonly running: boolean
  /** The number of the last event that is folded into `session`. */
  readonly lastEventId: number
  /** When the session goes on by itself, if it waits for another attempt of a model call; by the clock of the store. */
  readonly wakeAt?: number
}

/** The options of `follow`. */
export interface FollowOptions {
  /** The number of the last event that is known. If later ones are not kept any more, `follow` throws `SessionError` `stale`. */
  readonly after?: number | undefined
  /** Also the commands that were applied or refused. They are numbered apart from the events. */
  readonly commands?: boolean | undefined
  /**
   * The number of the last command that is known, with `commands`: only later ones come. Without it, those come that were applied when the log had
   * `after` events or more, so that the last ones may come again.
   */
  readonly afterCommand?: number | undefined
  readonly signal?: AbortSignal | undefined
}

/** A session at rest, and the result of its last run. */
export interface RestedRun extends SessionResult {
  /**
   * The log of the run is not kept any more (`keepEventsMs`), so that the result is only what the session tells: its `outputText` and why it
   * halted. What it does not tell is absent or empty: `output`, `usage`, `steps`.
   */
  readonly pruned?: true
}

/** What `advance` did. */
export interface Advanced {
  /**
   * The status of the session; `busy` when somebody else owns it, `lost` when somebody took it over or the store is gone, `drained` when the
   * run was saved for another owner.
   */
  readonly outcome: SessionStatus | 'busy' | 'lost' | 'drained'
  /** The session wants to be advanced again after this time. */
  readonly wakeInMs?: number
  /** The session rests, and after this time something that it waits for is settled by `expiry`: then it wants to be advanced again. */
  readonly expiresInMs?: number
  /** The session wants to be advanced again at once. */
  readonly more: boolean
}

/** The options of `work`. */
export interface WorkOptions {
  /** Sessions that are advanced at once (4). */
  readonly concurrency?: number | undefined
  /** How often the store is asked for what is due (500). */
  readonly everyMs?: number | undefined
}

/** A loop that advances sessions. */
export interface Worker {
  /** Takes no new session, hands over those under way, and resolves when they are. */
  close(options?: CloseOptions): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** The options of `close`. */
export interface CloseOptions {
  /** How long tools in flight may take to end (5 000). A run is left at once when none is. */
  readonly drainMs?: number | undefined
}

/** A web request in, a web response out: what Hono, Next, Bun, Deno and Workers take. `toNodeHandler` makes one for Express and Node. */
export type RunsHandler = (request: Request) => Promise<Response>

/** What a request can ask of a session. */
export type RunAction = 'view' | 'events' | 'messages' | 'stop' | 'resume' | 'approvals' | 'tools'

/** What a request asks of a session, as `authorize` is told. */
export interface RunRequest {
  /** The last word of the route, such as `messages`; `view` if there is none. */
  readonly action: RunAction
  /** The call that is decided or answered, with `approvals` and `tools`. */
  readonly callId?: string
}

/** The options of `handler`. */
export interface HandlerOptions extends ViewOptions {
  /**
   * Decides about every request for a session before anything is read or written. `true` or an object allows it, and what the object has is given to
   * `send`. A `Response` refuses it and is sent as it is. Everything else refuses it with status 403: `false`, `undefined` (a forgotten `return`), an
   * `Error`, a `Response` of another package, an object with other members. Of those that can only be mistakes `onError` is told.
   *
   * `asked` says what the request is going to do: decide by it, and not by the path, in which the same thing can be written in many ways. It must
   * leave the body of the request alone.
   */
  readonly authorize: (
    request: Request,
    id: string,
    asked: RunRequest,
  ) => Permission<Authorized> | Promise<Permission<Authorized>>
  /**
   * The path under which the handler is mounted, as it is written in requests: `/runs`, `/api/runs`, `/`. The path of a request must begin with it, and
   * what follows must be exactly a route; anything else is 404.
   *
   * Behind `toNodeHandler`, `app.use(path, …)` of Express tells it. Where neither does, the end of the path is read as the route, and at most two segments
   * may come before it. Give it where something decides by the path before the handler does, such as a middleware or the rules of a proxy: without
   * it, `/runs/mine/victim` is a path to `victim`.
   */
  readonly mount?: string | undefined
  /** What a message may hold besides texts and base64 images and files: images or files at an address, which the provider fetches. */
  readonly accept?: readonly AcceptedPart[] | undefined
  /**
   * A message without `answers` answers the question that is open first, as `runs.send` does. Without this option it is a user message: a page says
   * which question it shows.
   */
  readonly implicitAnswers?: boolean | undefined
  /** The largest body (8 MiB). */
  readonly maxBodyBytes?: number | undefined
  /** How often something is sent on a quiet stream of events, so that proxies keep it open (15 000). */
  readonly heartbeatMs?: number | undefined
  /**
   * Told about every error whose text is not sent: those with status 500 and 503, such as what `authorize` throws, and about values of `authorize`
   * that are mistakes. It must not throw. Without it, the first one is a warning of the process (`AllmWarning`).
   */
  readonly onError?: ((error: unknown, request: Request) => void) | undefined
}

/** What an allowed request brings along. */
export interface Authorized {
  /** Merged into the context of the session when it is sent a message. */
  readonly context?: JsonObject | undefined
  /** Merged into the metadata of the session when it is sent a message. */
  readonly metadata?: JsonObject | undefined
  /** Who asks: the author of what this request decides or answers. It never comes from the body. */
  readonly by?: string | undefined
  /** What this viewer does not see. One from whom the arguments of approvals are hidden cannot decide either. */
  readonly hide?: readonly ViewHide[] | undefined
  /** What this viewer sees besides what `include` of the handler names. */
  readonly include?: readonly ViewInclude[] | undefined
}

/** Kinds of parts that a browser may send only when they are accepted. */
export const acceptedParts = ['image_url', 'file_url'] as const

/** A kind of part that a browser may send only when it is accepted. */
export type AcceptedPart = (typeof acceptedParts)[number]
