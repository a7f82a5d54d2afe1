import { tracedLoop } from '../chat/loop.ts'
import { foldEvent, type Collector } from '../run/collector.ts'
import { keepEvent } from '../run/context.ts'
import { runStream, type BatchSource, type DoorOptions, type RunStream } from '../run/run-stream.ts'
import { isFailure } from './is-failure.ts'
import type { Prepared } from './prepare.ts'
import { restore } from './restore.ts'
import { snapshot } from './snapshot.ts'
import type { Session } from '../types/session.ts'

/** A session's run as a stream of events. */
export interface SessionStream extends RunStream {
  /**
   * The session as of the last event that was handed out, the user's input included from the start. Saving it after
   * every event makes the run resumable at every event. It is made when it is read.
   */
  readonly session: Session
}

/** The stream of a prepared run. */
export function sessionStream({ base, loop }: Prepared, kind: 'step' | 'chat'): SessionStream {
  const source = tracedLoop(loop, kind)
  return withSession(base, restore(base), source, { keep: keepEvent(loop.scene) })
}

/** Adds the session to a stream of its events. */
export function withSession(
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
