import {
  restore,
  failedRun,
  isFailure,
  restingRun,
  snapshot,
  type SessionResult,
} from './reduce.ts'
import { drainLoop, singleStep, withOutput, type ChatResultOf } from '../chat/chat.ts'
import { tracedLoop } from '../chat/loop.ts'
import { createLoop, type Loop } from '../chat/prepare.ts'
import type { Engine } from '../contracts/engine.ts'
import type { CallOptions, FormatOption } from '../contracts/options.ts'
import { isAllmError } from '../errors/errors.ts'
import { questionMessage } from '../make/tool-messages.ts'
import {
  createCollector,
  foldEvent,
  toChatResult,
  toStepResult,
  type Collector,
} from '../run/collector.ts'
import { keepEvent } from '../run/context.ts'
import { runStream, type BatchSource, type DoorOptions, type RunStream } from '../run/run-stream.ts'
import { begun, checked, replied, type SessionInput } from './changes.ts'
import type { StreamEvent } from '../types/events.ts'
import { defined } from '../types/guards.ts'
import { appendMessages, type Part } from '../types/message.ts'
import type { ChatResult } from '../types/results.ts'
import type { Session } from '../types/session.ts'

/** A session's result; with a schema as `responseFormat`, a completed one has its validated, typed `output`. */
export type SessionResultOf<Format> = SessionResult<ChatResultOf<Format>>

/**
 * Starts a session from messages, a thread, or a session made with `Session.create`, and runs the loop.
 *
 * It resolves also when a call fails: the session is then in status `error`, with everything received. It rejects only for
 * mistakes of the caller, before anything has happened.
 */
export async function start<Format extends FormatOption = FormatOption>(
  engine: Engine,
  input: SessionInput,
  options?: CallOptions<Format>,
): Promise<SessionResultOf<Format>> {
  return typed(await runChat(engine, begun(input), options))
}

/** Adds the user's words and runs the loop. To a session that awaits the user, they answer its question. */
export async function reply<Format extends FormatOption = FormatOption>(
  engine: Engine,
  session: Session,
  text: string | readonly Part[],
  options?: CallOptions<Format>,
): Promise<SessionResultOf<Format>> {
  const answered = replied(session, text)
  const next = nextQuestion(session, answered)
  return typed(next === undefined ? await runChat(engine, answered, options) : askNext(next))
}

/** Goes on without new input: after tool results were submitted, after an error, or from wherever a run was cut. */
export async function resume<Format extends FormatOption = FormatOption>(
  engine: Engine,
  session: Session,
  options?: CallOptions<Format>,
): Promise<SessionResultOf<Format>> {
  return typed(await runChat(engine, checked(session, 'resume'), options))
}

/** Runs one step: a model call and its tools. A session that is not done is idle again, for the next step. */
export async function step(
  engine: Engine,
  session: Session,
  options?: CallOptions,
): ReturnType<typeof runStep> {
  return runStep(engine, checked(session, 'step'), options)
}

/** What a schema gave is what its type says. */
function typed<Format>(result: SessionResult): SessionResultOf<Format> {
  return result as SessionResultOf<Format>
}

/** `start` as a stream of events. */
export function streamStart(
  engine: Engine,
  input: SessionInput,
  options?: CallOptions,
): SessionStream {
  return streamChatOf(engine, begun(input), options)
}

/** `reply` as a stream of events. */
export function streamReply(
  engine: Engine,
  session: Session,
  text: Parameters<typeof replied>[1],
  options?: CallOptions,
): SessionStream {
  const answered = replied(session, text)
  const next = nextQuestion(session, answered)
  return next === undefined ? streamChatOf(engine, answered, options) : streamNext(next)
}

/** `resume` as a stream of events. */
export function streamResume(
  engine: Engine,
  session: Session,
  options?: CallOptions,
): SessionStream {
  return streamChatOf(engine, checked(session, 'resume'), options)
}

/** `step` as a stream of events. */
export function streamStep(engine: Engine, session: Session, options?: CallOptions): SessionStream {
  return streamStepOf(engine, checked(session, 'step'), options)
}

function streamChatOf(engine: Engine, session: Session, options?: CallOptions): SessionStream {
  return sessionStream(prepare(engine, session, options), 'chat')
}

function streamStepOf(engine: Engine, session: Session, options?: CallOptions): SessionStream {
  return sessionStream(prepare(engine, session, singleStep(options)), 'step')
}

/** Runs the loop from where a session is. A call that fails gives the session in status `error`; it does not reject. */
async function runChat(
  engine: Engine,
  session: Session,
  options?: CallOptions,
): Promise<SessionResult> {
  const prepared = prepare(engine, session, options)
  const { loop } = prepared
  const ended = drainLoop(loop, 'chat', toChatResult)
  const { session: after, result } = await recorded(prepared, ended, toChatResult)
  return validated(prepared, after, result)
}

/** Runs one step from where a session is. */
async function runStep(
  engine: Engine,
  session: Session,
  options?: CallOptions,
): Promise<SessionResult<ReturnType<typeof toStepResult>>> {
  const prepared = prepare(engine, session, singleStep(options))
  const { loop } = prepared
  const ended = drainLoop(loop, 'step', toStepResult)
  return recorded(prepared, ended, toStepResult)
}

/** A session's run as a stream of events. */
export interface SessionStream extends RunStream {
  /**
   * The session as of the last event that was handed out, the user's input included from the start. Saving it after
   * every event makes the run resumable at every event. It is made when it is read.
   */
  readonly session: Session
}

/** The stream of a prepared run. */
function sessionStream({ base, loop }: Prepared, kind: 'step' | 'chat'): SessionStream {
  const source = tracedLoop(loop, kind)
  return withSession(base, restore(base), source, { keep: keepEvent(loop.scene) })
}

/** Adds the session to a stream of its events. */
function withSession(
  base: Session,
  state: Collector,
  source: BatchSource,
  door: DoorOptions = {},
): SessionStream {
  const recorded: BatchSource = {
    next: async () => {
      try {
        return await source.next()
      } catch (error) {
        if (isFailure(error)) state.error = error.toJSON()
        throw error
      }
    },
    return: () => source.return(),
  }
  const stream = runStream(recorded, { ...door, onPass: (event) => foldEvent(state, event) })
  return Object.defineProperty(stream, 'session', {
    enumerable: true,
    get: () => snapshot(base, state),
  }) as SessionStream // The property that was just defined.
}

/** A run of a session, ready to begin. */
interface Prepared {
  /** The session with the run's input, as it is saved before anything has happened. */
  readonly base: Session
  readonly loop: Loop
}

/**
 * Settles a run that goes on from where the session is. The run remembers its mode, unless the call says another.
 *
 * `base` is what `Session.reduce` starts from.
 */
function prepare(engine: Engine, session: Session, options?: CallOptions): Prepared {
  const { id: sessionId, context, error: _error, ...rest } = session
  const turns = session.run?.turns ?? 0
  const mode = options?.mode ?? session.run?.mode
  const state = restore(session)
  const loop = createLoop(engine, { state, turns, mode }, options, { sessionId, context })
  const run = { ...(session.run ?? restingRun(loop.mode)), mode: loop.mode }
  return { loop, base: { ...rest, id: sessionId, context, status: 'idle', run } }
}

/** The session after a run, also after one that failed: the session is the record. A mistake of the caller's is thrown. */
async function recorded<Result>(
  { base, loop }: Prepared,
  ended: Promise<Result>,
  project: (state: Prepared['loop']['state']) => Result,
): Promise<SessionResult<Result>> {
  try {
    const result = await ended
    return { session: snapshot(base, loop.state), result }
  } catch (error) {
    if (!isFailure(error)) throw error
    return { session: snapshot(base, loop.state), result: project(loop.state) }
  }
}

/**
 * An answer that does not match its schema is the session's error. The answer itself stays in the thread until it is
 * asked for again.
 */
async function validated(
  { loop }: Prepared,
  session: Session,
  result: ChatResult,
): Promise<SessionResult> {
  try {
    return { session, result: await withOutput(loop, result) }
  } catch (error) {
    if (!isAllmError(error)) throw error
    const { partial: _result, ...data } = error.toJSON()
    const run = failedRun(loop.mode, result.finalResponse)
    return {
      session: { ...session, status: 'error', error: data, run },
      result: { ...result, error: data },
    }
  }
}

/** The next question of several, asked without a model call. */
interface NextQuestion {
  /** The session with the last answer, which awaits the next one. */
  readonly session: Session
  readonly event: Extract<StreamEvent, { type: 'chat_completed' }>
}

/** What is to be asked next, when the session that was replied to has more questions. */
function nextQuestion(asked: Session, answered: Session): NextQuestion | undefined {
  const [next, ...more] = asked.moreQuestions ?? []
  if (next?.question === undefined) return undefined
  const { question, toolCallId } = next
  const result: SessionResult['result'] = {
    thread: appendMessages(answered.thread, questionMessage(question, toolCallId)),
    steps: [],
    haltedReason: 'ask_user',
    pendingQuestion: question,
    pendingToolCallId: toolCallId,
    manualToolCalls: [],
    usage: {},
    metadata: {},
  }
  const base = defined<Session>({
    ...answered,
    moreQuestions: more.length === 0 ? undefined : more,
  })
  const event = { type: 'chat_completed', result } as const
  const state = createCollector(base.thread)
  foldEvent(state, event)
  return { session: snapshot(base, state), event }
}

/** Asks it. */
function askNext({ session, event }: NextQuestion): SessionResult {
  return { session, result: event.result }
}

/** Asks it as a stream of one event. The question is in the session from the start, so no cut can lose it. */
function streamNext({ session, event }: NextQuestion): SessionStream {
  return withSession(session, createCollector(session.thread), once(event))
}

async function* once(event: StreamEvent): AsyncGenerator<readonly StreamEvent[], void> {
  yield [event]
}
