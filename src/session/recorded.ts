import { withOutput } from '../chat/chat.ts'
import { isAllmError } from '../errors/errors.ts'
import { isFailure } from './is-failure.ts'
import type { Prepared } from './prepare.ts'
import type { SessionResult } from './reducer.ts'
import { failedRun } from './resting-run.ts'
import { snapshot } from './snapshot.ts'
import type { ChatResult } from '../types/results.ts'
import type { Session } from '../types/session.ts'

/** The session after a run, also after one that failed: the session is the record. A mistake of the caller's is thrown. */
export async function recorded<Result>(
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
export async function validated(
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
