import type { CallOptions } from '../adapter/call-options.ts'
import type { Engine } from '../adapter/engine-handle.ts'
import { withOutput } from '../chat/chat.ts'
import { chatBatches } from '../chat/chat-batches.ts'
import { drainLoop } from '../chat/run-loop.ts'
import { stepBatches } from '../chat/step-batches.ts'
import { toChatResult, toStepResult } from '../collect/to-results.ts'
import type { ChatResult } from '../data/chat-result.ts'
import type { Session } from '../data/session.ts'
import type { StepResult } from '../data/step-result.ts'
import { isAllmError } from '../errors/allm-error.ts'
import { prepare, type Prepared } from './prepare.ts'
import type { SessionResult } from './reducer.ts'
import { isFailure, sessionStream, type SessionStream } from './session-stream.ts'
import { snapshot } from './snapshot.ts'

/** Runs the loop from where a session is. A call that fails gives the session in status `error`; it does not reject. */
export async function runChat(
  engine: Engine,
  session: Session,
  options?: CallOptions,
): Promise<SessionResult> {
  const prepared = prepare(engine, session, options)
  const { loop } = prepared
  const ended = drainLoop(loop, chatBatches(loop), 'chat', toChatResult)
  const { session: after, result } = await recorded(prepared, ended, toChatResult)
  return await validated(prepared, after, result)
}

/** Runs one step from where a session is. */
export async function runStep(
  engine: Engine,
  session: Session,
  options?: CallOptions,
): Promise<SessionResult<StepResult>> {
  const prepared = prepare(engine, session, options)
  const { loop } = prepared
  const ended = drainLoop(loop, stepBatches(loop), 'step', toStepResult)
  return await recorded(prepared, ended, toStepResult)
}

/** The loop from where a session is, as events. */
export function streamChatOf(
  engine: Engine,
  session: Session,
  options?: CallOptions,
): SessionStream {
  const prepared = prepare(engine, session, options)
  return sessionStream(prepared, chatBatches(prepared.loop), 'chat')
}

/** One step from where a session is, as events. */
export function streamStepOf(
  engine: Engine,
  session: Session,
  options?: CallOptions,
): SessionStream {
  const prepared = prepare(engine, session, options)
  return sessionStream(prepared, stepBatches(prepared.loop), 'step')
}

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

/** An answer that does not match its schema is the session's error: the answer itself stays in the thread. */
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
    return {
      session: { ...session, status: 'error', error: data },
      result: { ...result, error: data },
    }
  }
}
