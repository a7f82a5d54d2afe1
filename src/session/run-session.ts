import { drainLoop, singleStep } from '../chat/chat.ts'
import type { Engine } from '../contracts/engine.ts'
import type { CallOptions } from '../contracts/options.ts'
import { toChatResult, toStepResult } from '../run/collector.ts'
import { prepare } from './prepare.ts'
import { recorded, validated } from './recorded.ts'
import type { SessionResult } from './reducer.ts'
import type { Session } from '../types/session.ts'

/** Runs the loop from where a session is. A call that fails gives the session in status `error`; it does not reject. */
export async function runChat(
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
export async function runStep(
  engine: Engine,
  session: Session,
  options?: CallOptions,
): Promise<SessionResult<ReturnType<typeof toStepResult>>> {
  const prepared = prepare(engine, session, singleStep(options))
  const { loop } = prepared
  const ended = drainLoop(loop, 'step', toStepResult)
  return recorded(prepared, ended, toStepResult)
}
