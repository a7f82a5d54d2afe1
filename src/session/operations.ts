import { drainLoop, withOutput, type ChatResultOf } from '../chat/chat.ts'
import { loopSource } from '../chat/loop.ts'
import { createLoop, type LoopState } from '../chat/prepare.ts'
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
import {
  runStream,
  type BatchSource,
  type RunStream,
  type StreamOptions,
} from '../run/run-stream.ts'
import type { Batch, StreamEvent } from '../types/events.ts'
import { defined } from '../types/guards.ts'
import { appendMessages, type Part } from '../types/message.ts'
import type { ChatResult, PartialResult, StepResult } from '../types/results.ts'
import type { Session } from '../types/session.ts'
import { checked, replied, started, type SessionInput } from './changes.ts'
import {
  failedRun,
  isFailure,
  restingRun,
  restore,
  snapshot,
  type SessionResult,
} from './reduce.ts'

/** The result of a session's run. With a schema as `responseFormat`, a completed one has its validated, typed `output`. */
export type SessionResultOf<Format> = SessionResult<ChatResultOf<Format>>

/**
 * Starts a session from messages, a thread, or a session made with `Session.create`, and runs the loop.
 *
 * Resolves also when a call fails: the session is then in status `error`, with everything received. Rejects only for
 * mistakes of the caller, before anything happened.
 */
export async function start<Format extends FormatOption = FormatOption>(
  engine: Engine,
  input: SessionInput,
  options?: CallOptions<Format>,
): Promise<SessionResultOf<Format>> {
  return typed(await runChat(engine, started(input), options))
}

/** Adds the user's message and runs the loop. If the session awaits the user, the message answers its question. */
export async function reply<Format extends FormatOption = FormatOption>(
  engine: Engine,
  session: Session,
  text: string | readonly Part[],
  options?: CallOptions<Format>,
): Promise<SessionResultOf<Format>> {
  const answered = replied(session, text)
  const next = nextQuestion(session, answered)
  if (next === undefined) return typed(await runChat(engine, answered, options))
  return typed({ session: next.session, result: next.event.result })
}

/** Goes on without new input: after tool results were submitted, after an error, or from the point where a run was cut. */
export async function resume<Format extends FormatOption = FormatOption>(
  engine: Engine,
  session: Session,
  options?: CallOptions<Format>,
): Promise<SessionResultOf<Format>> {
  return typed(await runChat(engine, checked(session, 'resume'), options))
}

/** Runs one step: a model call and its tools. A session that is not done is idle afterwards, for the next step. */
export async function step(
  engine: Engine,
  session: Session,
  options?: CallOptions,
): Promise<SessionResult<StepResult>> {
  return recorded(prepare(engine, checked(session, 'step'), 'step', options), toStepResult)
}

/** The type of the output is the one that the schema declares. */
function typed<Format>(result: SessionResult): SessionResultOf<Format> {
  return result as SessionResultOf<Format>
}

/** `start` as a stream of events. */
export function streamStart(
  engine: Engine,
  input: SessionInput,
  options?: CallOptions,
): SessionStream {
  return sessionStream(prepare(engine, started(input), 'chat', options))
}

/** `reply` as a stream of events. */
export function streamReply(
  engine: Engine,
  session: Session,
  text: string | readonly Part[],
  options?: CallOptions,
): SessionStream {
  const answered = replied(session, text)
  const next = nextQuestion(session, answered)
  return next === undefined
    ? sessionStream(prepare(engine, answered, 'chat', options))
    : streamQuestion(next)
}

/** `resume` as a stream of events. */
export function streamResume(
  engine: Engine,
  session: Session,
  options?: CallOptions,
): SessionStream {
  return sessionStream(prepare(engine, checked(session, 'resume'), 'chat', options))
}

/** `step` as a stream of events. */
export function streamStep(engine: Engine, session: Session, options?: CallOptions): SessionStream {
  return sessionStream(prepare(engine, checked(session, 'step'), 'step', options))
}

/** A run of a session that has not started. */
interface Prepared {
  /** The session with the run's input, as it is saved before anything happens. `Session.reduce` starts from it. */
  readonly base: Session
  readonly loop: LoopState
}

/** Settles a run that goes on where the session is. The run keeps its mode, unless the call sets another one. */
function prepare(
  engine: Engine,
  session: Session,
  kind: LoopState['kind'],
  options?: CallOptions,
): Prepared {
  const { id: sessionId, context, error: _error, ...rest } = session
  const turns = session.run?.turns ?? 0
  const mode = options?.mode ?? session.run?.mode
  const state = restore(session)
  const loop = createLoop(engine, { kind, state, turns, mode }, options, { sessionId, context })
  const run = { ...(session.run ?? restingRun(loop.mode)), mode: loop.mode }
  return { loop, base: { ...rest, id: sessionId, context, status: 'idle', run } }
}

/** Runs the loop from where a session is. A call that fails gives the session in status `error` and does not reject. */
async function runChat(
  engine: Engine,
  session: Session,
  options?: CallOptions,
): Promise<SessionResult> {
  const prepared = prepare(engine, session, 'chat', options)
  const { session: after, result } = await recorded(prepared, toChatResult)
  return validated(prepared, after, result)
}

/** The session after a run, also after a failed one: the session is the record. A mistake of the caller is thrown. */
async function recorded<Result extends PartialResult>(
  { base, loop }: Prepared,
  project: (state: Collector) => Result,
): Promise<SessionResult<Result>> {
  const { state } = loop
  try {
    const result = await drainLoop(loop, project)
    return { session: snapshot(base, state), result }
  } catch (error) {
    if (!isFailure(error)) throw error
    return { session: snapshot(base, state), result: project(state) }
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

/** A session's run as a stream of events. */
export interface SessionStream extends RunStream {
  /**
   * The session as of the last event that was handed out, the user's input included from the start. Saving it after
   * every event makes the run resumable at every event. It is built when it is read.
   */
  readonly session: Session
}

function sessionStream({ base, loop }: Prepared): SessionStream {
  return withSession(base, loop.state, loopSource(loop), { keep: keepEvent(loop.context) })
}

/**
 * Adds the session to a stream of its events.
 *
 * The source folds a whole batch into `state` before its first event is handed out. A session that is read in the middle of
 * a batch is therefore built from the state before the batch, into which the events handed out since are folded.
 */
function withSession(
  base: Session,
  state: Collector,
  source: BatchSource,
  options: StreamOptions = {},
): SessionStream {
  let before = { ...state }
  let batch: Batch | undefined
  let handedOut = 0
  let folded = 0
  const reading: BatchSource = {
    async next() {
      before = { ...state }
      batch = undefined
      handedOut = 0
      folded = 0
      try {
        const read = await source.next()
        batch = read.done === true ? [] : read.value
        return read
      } catch (error) {
        if (isFailure(error)) before.error = state.error = error.toJSON()
        throw error
      }
    },
    return: () => source.return(),
  }
  const current = (): Collector => {
    if (handedOut === batch?.length) return state
    for (const event of batch?.slice(folded, handedOut) ?? []) foldEvent(before, event)
    folded = handedOut
    return before
  }
  const stream = runStream(reading, { ...options, onPass: () => handedOut++ })
  return Object.defineProperty(stream, 'session', {
    enumerable: true,
    get: () => snapshot(base, current()),
  }) as SessionStream // The property was just defined.
}

/** The next of several questions, which is asked without a model call. */
interface NextQuestion {
  /** The session with the last answer, which awaits the next one. */
  readonly session: Session
  readonly event: Extract<StreamEvent, { type: 'chat_completed' }>
}

/** What to ask next, if the session that was replied to has more questions. */
function nextQuestion(asked: Session, answered: Session): NextQuestion | undefined {
  const [next, ...more] = asked.moreQuestions ?? []
  if (next?.question === undefined) return undefined
  const { question, toolCallId } = next
  const result: ChatResult = {
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

/** The question as a stream of one event. It is in the session from the start, so no cut can lose it. */
function streamQuestion({ session, event }: NextQuestion): SessionStream {
  const state = createCollector(session.thread)
  async function* source(): AsyncGenerator<Batch, void> {
    foldEvent(state, event)
    yield [event]
  }
  return withSession(session, state, source())
}
