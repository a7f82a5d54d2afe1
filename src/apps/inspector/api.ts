import type { JsonObject, JsonValue } from '../../core/types/json.ts'
import type { Usage } from '../../core/types/response.ts'
import type { Session, SessionCommand, SessionStatus } from '../../core/types/session.ts'
import type { LogEntry } from '../../durable/stores/run-store.ts'

/**
 * What the page of the inspector asks for and gets: JSON, under the path where the inspector is mounted, each request with
 * `Authorization: Bearer <token>` (or whatever `authorize` wants). Ids in paths are written by `idSegment`. A refusal is
 * `{error: {reason, message}}` with its status.
 *
 * | route                              | gives                                                                 |
 * | ---------------------------------- | --------------------------------------------------------------------- |
 * | `GET api/info`                     | `InspectorInfo`                                                       |
 * | `GET api/sessions`                 | `SessionPage`; `?status=` (or `running`), `?search=`, `?after=`, `?limit=` |
 * | `GET api/sessions/:id`             | `SessionDetail`                                                       |
 * | `GET api/sessions/:id/session`     | `SessionAt`; `?at=` is the number of an event                         |
 * | `GET api/sessions/:id/log`         | `LogPage`; `?after=`, `?afterCommand=`, `?limit=`                     |
 * | `GET api/sessions/:id/follow`      | server-sent events, each a `LogEntry`, then an event named `rest`; `?after=`, `?afterCommand=` |
 * | `GET api/sessions/:id/request`     | `RenderedRequests`; `?at=` is the number of an event, `&next=1` asks for what would come after the last call |
 * | `POST api/sessions/:id/command`    | takes a `SessionCommand` without `by`, gives `{ok: true}`             |
 * | `POST api/sessions/:id/stop`       | takes `{}`, gives `{ok: true}`                                        |
 * | `POST api/sessions/:id/fork`       | takes a `ForkRequest`, gives `{id}`                                   |
 * | `POST api/sessions/:id/test`       | takes `{}`, gives `SavedTest`                                         |
 */
export interface InspectorInfo {
  /** What is looked at: a directory, a database without its password, a file. */
  readonly name: string
  readonly readOnly: boolean
  /** What a fork may run on. */
  readonly engines: readonly ForkEngine['type'][]
  /** Nobody runs the sessions that are looked at, so that only forks can be answered. */
  readonly unattended?: true
  /** The id of the only session of a file: it is what the page opens with. */
  readonly single?: string
  /** The provider and the model of the engine that was given, if there is one. */
  readonly engine?: { readonly provider?: string; readonly model?: string }
}

/** A session in the list. */
export interface SessionItem {
  readonly id: string
  readonly status: SessionStatus
  /** It has something to do. */
  readonly running: boolean
  /** It has something to do, and nobody has taken it: it waits for a worker, or for its next attempt. */
  readonly queued?: true
  readonly updatedAt: number
  /** The first words of the user, cut. */
  readonly title: string
  /** The answers of the model. */
  readonly turns: number
  readonly messages: number
  readonly usage: Usage
  /** What it cost, if prices were given and all of its models have one. */
  readonly cost?: number
  readonly models: readonly string[]
  readonly forkOf?: ForkOrigin
}

/** Where a fork comes from. */
export interface ForkOrigin {
  readonly id: string
  /** The last event that it shares with its origin, or the number of the messages that it kept. */
  readonly event?: number
  readonly messages?: number
  /** What was changed, in words. */
  readonly changes: readonly string[]
  readonly engine: ForkEngine['type']
}

/** A page of the list, newest first. */
export interface SessionPage {
  readonly items: readonly SessionItem[]
  /** Give it as `after` for what follows. Absent at the end. */
  readonly next?: string
}

/** Everything about a session except its log. */
export interface SessionDetail {
  readonly item: SessionItem
  readonly session: Session
  readonly lastEventId: number
  /** The oldest session that the kept log goes on from. `Session.reduce` of it and the events gives the session at each of them. */
  readonly base?: { readonly session: Session; readonly lastEventId: number }
  /** The system text that the engine adds, if it is known. */
  readonly instructions?: string
  readonly owner?: string
  readonly dueAt?: number
  /** The commands that are stored, and that nobody has taken yet. */
  readonly inbox?: readonly SessionCommand[]
  /** Why it takes no commands: nobody runs what is looked at, or it is a fork that does not run in this inspector. */
  readonly unattended?: 'nobody' | 'fork_ended'
}

/** A session as of an event. What commands do is in no event, so that each run of the log has a base of its own. */
export interface SessionAt {
  /** The session after the event, and before the commands that were applied then. */
  readonly session: Session
  /** What the run of that event began with: `Session.reduce` of it and its events gives the session at each of them. */
  readonly base: { readonly session: Session; readonly lastEventId: number }
}

/** A piece of the log, in order of time. */
export interface LogPage {
  readonly entries: readonly LogEntry[]
  /** Whether there are more now. */
  readonly more: boolean
}

/** The model request that belongs to an event, as each provider would get it. */
export interface RenderedRequests {
  /** What it was made from: unless it was recorded, it may differ from the request that was sent. */
  readonly basis: RequestBasis
  readonly wires: readonly RenderedRequest[]
}

/** What a request is made from, and what the log says about the call. */
export interface RequestBasis {
  /**
   * - `recorded`: the request of a cassette, as it was recorded.
   * - `session`: the messages of the session alone. The instructions, tools and settings of a run are not saved with it.
   * - `engine`: the messages, and the engine as it is now, which may not be as it was then.
   * - `fork`: the messages, and the engine that the fork runs on in this inspector.
   */
  readonly source: 'recorded' | 'session' | 'engine' | 'fork'
  /** The same for people: one to three sentences, with what is known to differ. */
  readonly note: string
  /** Who answered, as the log says. Absent when it has no answer to this request. */
  readonly answered?: { readonly provider: string; readonly model?: string }
  /** The answer came from another model or provider than the one that this request is for. */
  readonly differs?: true
  /** The log of the run has no call after the event: the request is the last one that was made. */
  readonly isLast?: true
  /** The log of the run has no call after the event: the request is the one that would come next. */
  readonly isNext?: true
}

/** One of them. Keys are never in it. */
export interface RenderedRequest {
  readonly wire: 'openai' | 'openaiChat' | 'anthropic' | 'gemini'
  readonly method?: string
  readonly url?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: JsonValue
  /** Why this provider cannot get it. */
  readonly problem?: string
  readonly warnings?: readonly JsonValue[]
}

/** What a fork runs on: a script for the fake, the answers that were recorded after this point, or the engine that was given. */
export type ForkEngine =
  | { readonly type: 'fake'; readonly script: JsonValue }
  | { readonly type: 'recorded' }
  | { readonly type: 'given' }

/** What is changed before a fork goes on. */
export interface ForkChanges {
  /** Another text for the message at this place of the thread as of the event. What follows it is dropped if it is a user message. */
  readonly message?: { readonly index: number; readonly text: string }
  /** Another result of a call that is answered in the thread as of the event. What follows it is dropped. */
  readonly toolResult?: { readonly toolCallId: string; readonly text: string }
  readonly instructions?: string
  readonly model?: string
}

/** Where a session is forked, what is changed, and what the new one runs on. */
export interface ForkRequest {
  /** The session as of this event. Absent: as of the message `messages`, beyond the kept log. */
  readonly event?: number
  /** Keep so many messages of the thread. */
  readonly messages?: number
  readonly changes: ForkChanges
  readonly engine: ForkEngine
  /** Tools of a given engine wait for approval before they run. `true` unless given. */
  readonly askBeforeTools?: boolean
}

/** The recording of a session and the test that replays it. */
export interface SavedTest {
  readonly files: readonly { readonly path: string; readonly text: string }[]
  /** Whether they were written beside the sessions. If not, the page offers them as downloads. */
  readonly written: boolean
  /** Whether the test runs the tools of the engine that the inspector was started with, or tools that answer what was recorded. */
  readonly tools: 'engine' | 'recorded'
}

/** The body of a command. */
export type CommandRequest = SessionCommand | (JsonObject & { readonly type: string })

/** An id as a segment of a path. Dots alone would be a step in it: such an id gets a slash more, which reading takes away. */
export function idSegment(id: string): string {
  return encodeURIComponent(/^\/*\.{1,2}$/.test(id) ? `/${id}` : id)
}

/** The id that a segment stands for. Throws for a segment that is not valid UTF-8. */
export function segmentId(segment: string): string {
  const id = decodeURIComponent(segment)
  return /^\/+\.{1,2}$/.test(id) ? id.slice(1) : id
}
