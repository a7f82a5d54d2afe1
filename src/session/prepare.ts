import { createLoop, type Loop } from '../chat/prepare.ts'
import type { Engine } from '../contracts/engine.ts'
import type { CallOptions } from '../contracts/options.ts'
import { restingRun } from './resting-run.ts'
import { restore } from './restore.ts'
import type { Session } from '../types/session.ts'

/** A run of a session, ready to begin. */
export interface Prepared {
  /** The session with the run's input, as it is saved before anything has happened. */
  readonly base: Session
  readonly loop: Loop
}

/**
 * Settles a run that goes on from where the session is. The run remembers its mode, unless the call says another.
 *
 * `base` is what `Session.reduce` starts from.
 */
export function prepare(engine: Engine, session: Session, options?: CallOptions): Prepared {
  const { id: sessionId, context, error: _error, ...rest } = session
  const turns = session.run?.turns ?? 0
  const mode = options?.mode ?? session.run?.mode
  const state = restore(session)
  const loop = createLoop(engine, { state, turns, mode }, options, { sessionId, context })
  const run = { ...(session.run ?? restingRun(loop.mode)), mode: loop.mode }
  return { loop, base: { ...rest, id: sessionId, context, status: 'idle', run } }
}
