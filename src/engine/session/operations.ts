import { createCollector, type Collector } from '../../core/answer/fold-answer.ts'
import type { Engine } from '../../core/contracts/engine.ts'
import type {
  CallOptions,
  CallSettings,
  FormatOption,
  ToolMode,
  ToolsOption,
} from '../../core/contracts/options.ts'
import type { Tool } from '../../core/contracts/tool.ts'
import { lateResultOf } from '../../core/messages/tool-messages.ts'
import { assertValid, within } from '../../core/schema/checks.ts'
import type { Issue } from '../../core/types/error-data.ts'
import type { Batch, StreamEvent, TypedEvent } from '../../core/types/events.ts'
import { defined } from '../../core/types/guards.ts'
import { callOf, type Part, type ToolCall } from '../../core/types/message.ts'
import type { ChatOutcome, ChatResult, StepResult } from '../../core/types/results.ts'
import type { Session, SessionCommand } from '../../core/types/session.ts'
import type { ToolTypes } from '../../core/types/tool-types.ts'
import { isAnyDue } from '../calls/decided.ts'
import { goneCall, mapCalls } from '../calls/kept.ts'
import { inCall, pendingCalls, waitingStatus, waits, withLists } from '../calls/pending.ts'
import { innerPlace, savedCall, sessionCall, withArguments } from '../calls/places.ts'
import { withCall } from '../calls/settle.ts'
import { ticketOf } from '../calls/tickets.ts'
import { contextOfCall } from '../chat/answering-engine.ts'
import {
  isChatOver,
  isStepOver,
  withOutput,
  type CallTypes,
  type ChatResultOf,
  type ManualCall,
} from '../chat/chat.ts'
import { limitAfterResults } from '../chat/late-results.ts'
import { loopSource } from '../chat/loop.ts'
import { createLoop, type LoopState, type Tickets } from '../chat/prepare.ts'
import { engineParts, keepEvent, runContext } from '../model-call/context.ts'
import { foldEvent, toChatResult, toStepResult } from '../model-call/fold.ts'
import type { FormatFor } from '../model-call/output.ts'
import { goesOn, restore } from '../model-call/restore.ts'
import {
  drained,
  foldedStream,
  type BatchSource,
  type RunEnd,
  type RunFold,
  type RunStream,
  type StreamOptions,
  withGetter,
} from '../model-call/run-stream.ts'
import { shownEvent } from '../model-call/view-event.ts'
import { checkArguments } from '../tools/execute.ts'
import { disown } from '../tools/failed-calls.ts'
import { applyCommand } from './commands.ts'
import { started, type SessionInput } from './create.ts'
import { expired } from './expiry.ts'
import { untoldUsage } from './inner.ts'
import { checked } from './legal.ts'
import {
  afterResult,
  isFailure,
  restingRun,
  snapshot,
  withLateMessages,
  withTrace,
  type SessionResult,
} from './reduce.ts'
import { replied, type ReplyTo } from './reply.ts'

/**
 * The result of a session's run. With a schema as `responseFormat`, a completed one has its validated, typed `output`. Calls that wait
 * narrow by the names of the tools that the run is known to have. A session that was started in manual mode stays in it: to have its
 * calls as the model wrote them, say `mode: 'manual'` again.
 */
export type SessionResultOf<
  Format,
  Types extends ToolTypes = ToolTypes,
  Mode extends ToolMode = 'auto',
> = SessionResult<ChatResultOf<Format, Types, Mode>>

/** The stream of a session's chat: its events and its result narrow by the names of the tools. */
type ChatStream<Format, Types extends ToolTypes, Mode extends ToolMode> = SessionStream<
  SessionResultOf<Format, Types, Mode>,
  TypedEvent<Types, ManualCall<Types, Mode>>
>

/** The stream of a session's step. */
type StepStream<Types extends ToolTypes, Mode extends ToolMode> = SessionStream<
  StepResultOf<Types, Mode>,
  TypedEvent<Types, ManualCall<Types, Mode>>
>

/** The result of one step of a session. */
type StepResultOf<Types extends ToolTypes, Mode extends ToolMode> = SessionResult<
  StepResult<ManualCall<Types, Mode>>
>

/** The options of a run that starts a session. */
export interface StartOptions<Format extends FormatOption = FormatOption>
  extends CallOptions<Format>, StartId {}

interface StartId {
  /** The id of the new session. Random unless given. */
  readonly id?: string | undefined
}

/**
 * Starts a session from messages, a thread, or a session made with `Session.create`, and runs the loop.
 *
 * Resolves also when a call fails: the session is then in status `error`, with everything received. Rejects only for
 * mistakes of the caller, before anything happened.
 */
export async function start<
  Format extends FormatOption | undefined = undefined,
  Types extends ToolTypes = ToolTypes,
  const Added extends readonly Tool[] = readonly [],
  Mode extends ToolMode = 'auto',
  Default = unknown,
>(
  engine: Engine<object, Types, Default>,
  input: SessionInput,
  options?: CallSettings<Format> & StartId & ToolsOption<Types, Added, Mode>,
): Promise<SessionResultOf<FormatFor<Format, Default>, CallTypes<Types, Added>, Mode>> {
  engineParts(engine)
  const { id, ...rest } = options ?? {}
  return runChat(engine, started(input, id), rest)
}

/** The options of a run that the user's words start. */
export interface ReplyOptions<Format extends FormatOption = FormatOption>
  extends CallOptions<Format>, ReplyTo {}

/**
 * Adds a message of the user and runs the loop. If a question is open, it answers the first one, or the one that `answers` names; the loop
 * runs when nothing is pending any more. Otherwise, and with `answers: null`, it is a user message, also while something is pending. In an
 * idle session it answers only the question that it names. What has expired is settled before.
 */
export async function reply<
  Format extends FormatOption | undefined = undefined,
  Types extends ToolTypes = ToolTypes,
  const Added extends readonly Tool[] = readonly [],
  Mode extends ToolMode = 'auto',
  Default = unknown,
>(
  engine: Engine<object, Types, Default>,
  session: Session,
  text: string | readonly Part[],
  options?: CallSettings<Format> & ReplyTo & ToolsOption<Types, Added, Mode>,
): Promise<SessionResultOf<FormatFor<Format, Default>, CallTypes<Types, Added>, Mode>> {
  engineParts(engine)
  const { toolCallId, answers, by, ...rest } = options ?? {}
  return goOn(engine, replied(inTime(engine, session), text, { toolCallId, answers, by }), rest)
}

/**
 * Goes on without new input: after tool results were submitted, after an error, from the point where a run was cut, or when what it waited
 * for has expired.
 */
export async function resume<
  Format extends FormatOption | undefined = undefined,
  Types extends ToolTypes = ToolTypes,
  const Added extends readonly Tool[] = readonly [],
  Mode extends ToolMode = 'auto',
  Default = unknown,
>(
  engine: Engine<object, Types, Default>,
  session: Session,
  options?: CallSettings<Format> & ToolsOption<Types, Added, Mode>,
): Promise<SessionResultOf<FormatFor<Format, Default>, CallTypes<Types, Added>, Mode>> {
  engineParts(engine)
  return goOn(engine, checked(inTime(engine, session), 'resume'), options)
}

/** Runs one step: a model call and its tools. A session that is not done is idle afterwards, for the next step. */
export async function step<
  Format extends FormatOption | undefined = undefined,
  Types extends ToolTypes = ToolTypes,
  const Added extends readonly Tool[] = readonly [],
  Mode extends ToolMode = 'auto',
  Default = unknown,
>(
  engine: Engine<object, Types, Default>,
  session: Session,
  options?: CallSettings<Format> & ToolsOption<Types, Added, Mode>,
): Promise<StepResultOf<CallTypes<Types, Added>, Mode>> {
  const prepared = prepareStep(engine, session, options)
  return drained(loopSource(prepared.loop), stepFold(prepared))
}

/** `start` as a stream of events. */
export function streamStart<
  Format extends FormatOption | undefined = undefined,
  Types extends ToolTypes = ToolTypes,
  const Added extends readonly Tool[] = readonly [],
  Mode extends ToolMode = 'auto',
  Default = unknown,
>(
  engine: Engine<object, Types, Default>,
  input: SessionInput,
  options?: CallSettings<Format> & StartId & ToolsOption<Types, Added, Mode>,
): ChatStream<FormatFor<Format, Default>, CallTypes<Types, Added>, Mode> {
  engineParts(engine)
  const { id, ...rest } = options ?? {}
  return chatStream(prepare(engine, started(input, id), 'chat', rest))
}

/** `reply` as a stream of events. */
export function streamReply<
  Format extends FormatOption | undefined = undefined,
  Types extends ToolTypes = ToolTypes,
  const Added extends readonly Tool[] = readonly [],
  Mode extends ToolMode = 'auto',
  Default = unknown,
>(
  engine: Engine<object, Types, Default>,
  session: Session,
  text: string | readonly Part[],
  options?: CallSettings<Format> & ReplyTo & ToolsOption<Types, Added, Mode>,
): ChatStream<FormatFor<Format, Default>, CallTypes<Types, Added>, Mode> {
  engineParts(engine)
  const { toolCallId, answers, by, ...rest } = options ?? {}
  return streamOn(engine, replied(inTime(engine, session), text, { toolCallId, answers, by }), rest)
}

/** `resume` as a stream of events. */
export function streamResume<
  Format extends FormatOption | undefined = undefined,
  Types extends ToolTypes = ToolTypes,
  const Added extends readonly Tool[] = readonly [],
  Mode extends ToolMode = 'auto',
  Default = unknown,
>(
  engine: Engine<object, Types, Default>,
  session: Session,
  options?: CallSettings<Format> & ToolsOption<Types, Added, Mode>,
): ChatStream<FormatFor<Format, Default>, CallTypes<Types, Added>, Mode> {
  engineParts(engine)
  return streamOn(engine, checked(inTime(engine, session), 'resume'), options)
}

/** `step` as a stream of events. */
export function streamStep<
  Format extends FormatOption | undefined = undefined,
  Types extends ToolTypes = ToolTypes,
  const Added extends readonly Tool[] = readonly [],
  Mode extends ToolMode = 'auto',
  Default = unknown,
>(
  engine: Engine<object, Types, Default>,
  session: Session,
  options?: CallSettings<Format> & ToolsOption<Types, Added, Mode>,
): StepStream<CallTypes<Types, Added>, Mode> {
  const prepared = prepareStep(engine, session, options)
  const base = (): Session => tracedBase(prepared)
  const { loop } = prepared
  return withSession(base, loopSource(loop), stepFold(prepared), {
    keep: keepEvent(loop.context),
    last: 'step_completed',
  })
}

/**
 * Applies a command and goes on as far as that is possible: the loop runs when nothing is pending any more, or by a message of the
 * user. While something is pending, the stream has one event, which says what. Without a command, a run that was cut is resumed. What has
 * expired stays open, unless the command settles it.
 *
 * Arguments of an approval that do not match the schema of the tool throw a `ValidationError`, and the call waits on. (A schema that
 * answers with a promise is asked when the call runs.)
 */
export function streamNext<
  Format extends FormatOption | undefined = undefined,
  Types extends ToolTypes = ToolTypes,
  const Added extends readonly Tool[] = readonly [],
  Mode extends ToolMode = 'auto',
  Default = unknown,
>(
  engine: Engine<object, Types, Default>,
  session: Session,
  command?: SessionCommand,
  options?: CallSettings<Format> & ToolsOption<Types, Added, Mode>,
): ChatStream<FormatFor<Format, Default>, CallTypes<Types, Added>, Mode> {
  engineParts(engine)
  const next = command === undefined ? session : applyCommand(session, command)
  if (command?.type === 'approve') refuseArguments(engine, session, command, options)
  return streamOn(engine, waits(next) ? next : checked(next, 'resume'), options)
}

/** Throws the problems of arguments that replace those of the model, if the schema of the tool can tell them at once. */
function refuseArguments(
  engine: Engine,
  session: Session,
  command: Extract<SessionCommand, { type: 'approve' }>,
  options?: CallOptions,
): void {
  const { toolCallId, arguments: args } = command
  const pending = sessionCall(session, toolCallId)
  if (args === undefined || pending === undefined) return
  const place = innerPlace(session, toolCallId)
  const { name: called } =
    place === undefined ? pending : (callOf(session.thread, place.callId) ?? pending)
  const asked = contextOfCall(
    runContext(engine, options),
    session.thread,
    place?.callId ?? toolCallId,
  )
  const tool = asked.tools.find(({ name }) => name === called)
  if (place !== undefined && tool?.agent !== undefined) {
    refuseArguments(tool.agent.engine, place.session, { ...command, toolCallId: place.id })
  }
  if (tool === undefined || place !== undefined) return
  const issues = argumentIssues(withArguments(pending, args), tool)
  assertValid('invalid_options', within('command', within('arguments', issues)))
}

/** The problems of a call's arguments that are known at once. A schema that throws says so when the call runs. */
function argumentIssues(call: ToolCall, tool: Tool): readonly Issue[] {
  try {
    const checked = checkArguments(call, tool)
    if (!(checked instanceof Promise)) return checked.issues ?? []
    disown(checked)
  } catch {
    // The call fails when it runs.
  }
  return []
}

/** A run of a session that has not started. */
interface Prepared {
  /** The session with the run's input, as it is saved before anything happens. `Session.reduce` starts from it. */
  readonly base: Session
  readonly loop: LoopState
}

/** The session in which is settled what nobody has settled in time. */
function inTime(engine: Engine, session: Session): Session {
  return expired(session, engineParts(engine).clock.now())
}

/** Settles a run of one step. */
function prepareStep(engine: Engine, session: Session, options?: CallOptions): Prepared {
  engineParts(engine)
  const from = withManualCalls(engine, checked(inTime(engine, session), 'step'), options)
  return prepare(engine, from, 'step', options)
}

/** Settles a run that goes on where the session is. The run keeps its mode, unless the call sets another one. */
function prepare(
  engine: Engine,
  session: Session,
  kind: LoopState['kind'],
  options?: CallOptions,
): Prepared {
  const from = withLateMessages(session)
  const { id: sessionId, context, metadata } = from
  const { error: _error, haltedReason: _reason, ...rest } = from
  const { turns = 0, attempts, late, trace: traced } = from.run ?? {}
  const mode = options?.mode ?? from.run?.mode
  const state = restore(from)
  const counts = { kind, turns, attempts, mode, traced }
  const start = { ...counts, state, late, tickets: ticketsOf(from) }
  const loop = createLoop(engine, start, options, { sessionId, context, metadata })
  if (hasResults(session)) loop.haltedReason = limitAfterResults(loop)
  const run = { ...(from.run ?? restingRun(loop.mode)), mode: loop.mode }
  return { loop, base: { ...rest, status: 'idle', run } }
}

/** How a session names what its runs ask for. What was settled before a run counts. */
function ticketsOf(session: Session): Tickets {
  return {
    of: (kind, { id, name }, shown) => {
      const waits = savedCall(session, id)?.settled?.length ?? 0
      return ticketOf({ sessionId: session.id, id, name, kind, waits }, shown)
    },
    before: (callId) => mapCalls(savedCall(session, callId)?.inside, goneCall),
    inside: (callId, agent) =>
      ('status' in agent ? pendingCalls(agent) : agent).map((one) => inCall(callId, one)),
  }
}

/** Whether a run goes on with results that were handed in, in time or late, and has nothing to run before the model reads them. */
function hasResults(session: Session): boolean {
  const { run, thread } = session
  if (run?.phase === 'waiting') return !goesOn(session)
  const isLate = lateResultOf(thread.messages.at(-1) ?? {}) !== undefined
  return run?.phase === 'between' && !isAnyDue(session) && isLate
}

/** Runs the loop, unless the session waits for somebody. */
function goOn<Result extends ChatResult>(
  engine: Engine,
  session: Session,
  options?: CallOptions,
): Promise<SessionResult<Result>> {
  const from = withManualCalls(engine, session, options)
  return waits(from) ? drained(...resting<Result>(from)) : runChat(engine, from, options)
}

/** `goOn` as a stream of events. */
function streamOn<Result extends ChatResult, Event extends StreamEvent>(
  engine: Engine,
  session: Session,
  options?: CallOptions,
): SessionStream<SessionResult<Result>, Event> {
  const from = withManualCalls(engine, session, options)
  return waits(from)
    ? withSession(() => from, ...resting<Result>(from))
    : chatStream(prepare(engine, from, 'chat', options))
}

/**
 * The session in which the calls that were approved late and are the caller's to run wait for their results: those of manual tools,
 * and in manual mode all that were not started. The model knows already that they have none, so it is asked only if there is
 * something else to tell.
 */
function withManualCalls(engine: Engine, session: Session, options?: CallOptions): Session {
  const { run, thread, calls = {} } = session
  const approved = Object.entries(calls).filter(
    ([, { state, told }]) => state === 'approved' && told === 'placeholder',
  )
  if (approved.length === 0) return session
  const entry = runContext(engine, options)
  const isManual = (options?.mode ?? run?.mode) === 'manual'
  const left = approved.filter(([id]) => {
    if (isManual) return true
    const { tools } = contextOfCall(entry, thread, id)
    const name = callOf(thread, id)?.name
    return tools.some((tool) => tool.manual && tool.name === name)
  })
  if (left.length === 0) return session
  const since = entry.engine.clock.now()
  const next = withLists(
    left.reduce((at, [id]) => withCall(at, id, { state: 'awaiting_result', since }), session),
  )
  const { phase = 'between', late } = run ?? {}
  const hasMore = isAnyDue(next) || late !== undefined || phase !== 'between'
  if (hasMore || thread.messages.at(-1)?.role !== 'assistant') return next
  const { haltedReason: _reason, error: _error, ...rest } = next
  return { ...rest, status: waitingStatus(rest) ?? 'idle' }
}

/** Runs the loop from where a session is. A call that fails gives the session in status `error` and does not reject. */
function runChat<Result extends ChatResult>(
  engine: Engine,
  session: Session,
  options?: CallOptions,
): Promise<SessionResult<Result>> {
  const prepared = prepare(engine, session, 'chat', options)
  return drained(loopSource(prepared.loop), chatFold<Result>(prepared))
}

/** What comes of a session's chat. */
function chatFold<Result extends ChatResult>(prepared: Prepared): RunFold<SessionResult<Result>> {
  const { loop } = prepared
  return {
    state: loop.state,
    add: foldEvent,
    isOver: isChatOver,
    settle(end, state) {
      const last = stateAfter(end, state)
      const session = afterResult(snapshot(tracedBase(prepared), last))
      // The schema declares the type of the output, and the tools declare those of their calls.
      return { session, result: withOutput(loop, toChatResult(last)) as Result }
    },
  }
}

/** What comes of a session's step. */
function stepFold<Result extends StepResult>(prepared: Prepared): RunFold<SessionResult<Result>> {
  return {
    state: prepared.loop.state,
    add: foldEvent,
    isOver: isStepOver,
    settle(end, state) {
      const last = stateAfter(end, state)
      // A step tells the usage of its own answer only.
      const session = afterResult(snapshot(tracedBase(prepared), last), last.spent)
      // The types of the tools say what its calls are known to have.
      return { session, result: toStepResult(last) as Result }
    },
  }
}

/** The session that a run started from, with the trace of the run once it has one. */
function tracedBase({ base, loop }: Prepared): Session {
  return withTrace(base, loop.traced)
}

/** The state of a run that ended. A failure before the first event is in no event. A mistake of the caller is thrown. */
function stateAfter(end: RunEnd | undefined, state: Collector): Collector {
  if (end?.type !== 'failed') return state
  if (!isFailure(end.error)) throw end.error
  return { ...state, error: state.error ?? end.error.toJSON() }
}

/** A session's run as a stream of events. Its `result` is the session and the result of the run, also after a failure or `break`. */
export interface SessionStream<
  Result = SessionResult<unknown>,
  Event extends StreamEvent = StreamEvent,
> extends RunStream<Result, Event> {
  /**
   * The session as of the last event that was delivered, the user's input included from the start. Saving it after
   * every event makes the run resumable at every event. It is built when it is read.
   */
  readonly session: Session
}

function chatStream<Result extends ChatResult, Event extends StreamEvent>(
  prepared: Prepared,
): SessionStream<SessionResult<Result>, Event> {
  const base = (): Session => tracedBase(prepared)
  const { loop } = prepared
  const fold = chatFold<Result>(prepared)
  const keep = keepEvent(loop.context)
  return withSession(base, loopSource(loop), fold, { keep, last: 'chat_completed' })
}

/** Adds the session to a stream of its events. Once the result of the stream was read, it is the session of that result. */
function withSession<Result extends SessionResult<unknown>, Event extends StreamEvent>(
  base: () => Session,
  source: BatchSource,
  fold: RunFold<Result>,
  options?: Pick<StreamOptions, 'keep' | 'last'>,
): SessionStream<Result, Event> {
  let settled: Session | undefined
  const settling: RunFold<Result> = {
    ...fold,
    async settle(end, state) {
      const result = await fold.settle(end, state)
      settled = result.session
      return result
    },
  }
  const folded = foldedStream(source, settling, { show: shownEvent, ...options })
  const session = (): Session => {
    if (settled !== undefined) return settled
    const ended = folded.end()
    const failed = ended?.type === 'failed' && isFailure(ended.error)
    return snapshot(base(), failed ? stateAfter(ended, folded.current()) : folded.current())
  }
  const lazy = Object.create(lazySession) as Pick<SessionStream, 'session'>
  const stream: object = Object.assign(lazy, folded.stream, { [makeSession]: session })
  // The getter calls `makeSession`, and the types of the tools say what the events are known to have.
  return stream as SessionStream<Result, Event>
}

/** Makes the session of a stream, when somebody asks for it. */
const makeSession = /* @__PURE__ */ Symbol('session')

/** All streams of sessions share the getter: see `Written`. */
const lazySession = /* @__PURE__ */ withGetter({
  [makeSession]: (): unknown => undefined,
  get session(): unknown {
    return this[makeSession]()
  },
})

/**
 * What a session that still waits gives instead of a run: one event, which says what it waits for. All of it is in the session
 * from the start, so no cut can lose it.
 */
function resting<Result extends ChatResult>(
  session: Session,
): [BatchSource, RunFold<SessionResult<Result>>] {
  const { pendingQuestion, pendingToolCallId, pendingQuestionOptions } = session
  const result = defined<ChatOutcome>({
    outputText: '',
    steps: [],
    haltedReason: haltOf(session),
    pendingQuestion,
    pendingToolCallId,
    pendingQuestionOptions,
    pendingApprovals: session.pendingApprovals,
    manualToolCalls: session.pendingToolCalls,
    pending: pendingCalls(session),
    usage: untoldUsage(session),
    metadata: {},
  })
  const event = { type: 'chat_completed', result } as const
  const state = createCollector(session.thread)
  async function* source(): AsyncGenerator<Batch, void> {
    foldEvent(state, event)
    yield [event]
  }
  return [
    source(),
    {
      state,
      add: foldEvent,
      isOver: isChatOver,
      settle: (end, at) => {
        const last = stateAfter(end, at)
        // A session that waits has no output.
        const outcome = toChatResult(last) as Result
        return { session: snapshot(session, last), result: outcome }
      },
    },
  ]
}

function haltOf({ pendingQuestion, pendingApprovals }: Session): ChatOutcome['haltedReason'] {
  if (pendingQuestion !== undefined) return 'ask_user'
  return pendingApprovals.length > 0 ? 'approval' : 'manual_tool_calls'
}
