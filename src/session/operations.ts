import type { ChatResultOf } from '../chat/chat.ts'
import type { Engine } from '../contracts/engine.ts'
import type { CallOptions, FormatOption } from '../contracts/options.ts'
import { begun, replied, type SessionInput } from './begin.ts'
import { checked } from './checked.ts'
import { askNext, nextQuestion } from './next-question.ts'
import type { SessionResult } from './reducer.ts'
import { runChat, runStep } from './run-session.ts'
import type { Part } from '../types/message.ts'
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
